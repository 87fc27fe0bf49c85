//! Queues, barriers and facts of a store.
use crate::bytes::Bytes;
use crate::error::{c_int, c_text, check, Result};
use crate::raw;
use crate::store::{call_options, Store};
use crate::timeout::Timeout;
use std::fmt;
use std::ptr::null_mut;

impl Store {
    /// Puts a value at the end of a queue; a queue that is not there is made.
    pub fn queue_push(&self, key: &str, value: impl AsRef<[u8]>) -> Result<()> {
        let (key, value) = (c_text(key, "key")?, value.as_ref());
        check(|error| unsafe {
            let (data, size) = (value.as_ptr().cast(), value.len());
            raw::tutti_store_queue_push(self.raw(), key.as_ptr(), data, size, error)
        })
    }

    /// Takes the first value out of a queue. If there is none it waits up to the store's timeout,
    /// or if it shall not `block` fails with [`Status::QUEUE_EMPTY`](crate::Status::QUEUE_EMPTY).
    pub fn queue_pop(&self, key: &str, block: bool) -> Result<Bytes> {
        self.pop(key, block, Timeout::Default)
    }

    /// Takes the first value out of a queue; waits for one as long as the timeout says.
    pub fn queue_pop_within(&self, key: &str, timeout: impl Into<Timeout>) -> Result<Bytes> {
        self.pop(key, true, timeout.into())
    }

    fn pop(&self, key: &str, block: bool, timeout: Timeout) -> Result<Bytes> {
        let (key, options, mut value) = (c_text(key, "key")?, call_options(timeout), null_mut());
        check(|error| unsafe {
            let (key, block, out) = (key.as_ptr(), block.into(), &mut value);
            raw::tutti_store_queue_pop(self.raw(), key, block, &options, out, error)
        })?;
        Ok(unsafe { Bytes::adopt(value) })
    }

    /// Waits until the server has taken every value that this handle set, appended or pushed; fails
    /// if it refused one.
    pub fn flush(&self, timeout: impl Into<Timeout>) -> Result<()> {
        let options = call_options(timeout.into());
        check(|error| unsafe { raw::tutti_store_flush(self.raw(), &options, error) })
    }

    /// Ends the waits of other threads on this handle with
    /// [`Status::ABORTED`](crate::Status::ABORTED).
    pub fn interrupt(&self) -> Result<()> {
        check(|error| unsafe { raw::tutti_store_interrupt(self.raw(), error) })
    }

    /// How many values a queue holds; 0 if there is no such queue.
    pub fn queue_len(&self, key: &str) -> Result<usize> {
        let (key, mut length) = (c_text(key, "key")?, 0);
        check(|error| unsafe {
            raw::tutti_store_queue_len(self.raw(), key.as_ptr(), &mut length, error)
        })?;
        Ok(length as usize)
    }

    /// The keys that are there, in no order; of a prefix store those with its prefix, without it.
    pub fn list_keys(&self) -> Result<Vec<String>> {
        let (mut keys, mut count) = (null_mut(), 0);
        check(|error| unsafe {
            raw::tutti_store_list_keys(self.raw(), &mut keys, &mut count, error)
        })?;
        let keys = unsafe { Bytes::adopt(keys) };
        let texts = keys.split(|&byte| byte == 0).take(count as usize);
        Ok(texts.map(|key| String::from_utf8_lossy(key).into_owned()).collect())
    }

    /// How many keys there are; in a TCP store that waited for its workers one more, "init/".
    pub fn num_keys(&self) -> Result<usize> {
        let mut count = 0;
        check(|error| unsafe { raw::tutti_store_num_keys(self.raw(), &mut count, error) })?;
        Ok(count as usize)
    }

    /// Waits until `world_size` callers have come to the barrier of this key, a fresh one for each
    /// barrier.
    pub fn barrier(&self, key: &str, world_size: usize, timeout: impl Into<Timeout>) -> Result<()> {
        let (key, size) = (c_text(key, "key")?, c_int(world_size, "world_size")?);
        let options = call_options(timeout.into());
        check(|error| unsafe {
            raw::tutti_store_barrier(self.raw(), key.as_ptr(), size, &options, error)
        })
    }

    /// Whether append, multi_get and multi_set work; they do on every store of tutti.
    pub fn has_extended_api(&self) -> Result<bool> {
        let mut has = 0;
        check(|error| unsafe { raw::tutti_store_has_extended_api(self.raw(), &mut has, error) })?;
        Ok(has != 0)
    }

    /// Sets the timeout that calls on this store use by default.
    pub fn set_timeout(&self, timeout: impl Into<Timeout>) -> Result<()> {
        let limit = timeout.into().milliseconds();
        check(|error| unsafe { raw::tutti_store_set_timeout(self.raw(), limit, error) })
    }

    /// The timeout that calls on this store use by default.
    pub fn timeout(&self) -> Result<Timeout> {
        let mut limit = 0;
        check(|error| unsafe { raw::tutti_store_get_timeout(self.raw(), &mut limit, error) })?;
        Ok(Timeout::from_milliseconds(limit))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        unsafe { raw::tutti_store_release(self.raw()) }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}
