//! Key-value stores, where processes meet.
use crate::bytes::Bytes;
use crate::error::{c_int, c_text, c_texts, check, Result};
use crate::raw;
use crate::timeout::Timeout;
use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::os::unix::io::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

/// A key-value store: of this process ([`Store::hash`]), in a file ([`Store::file`]), or served
/// over TCP ([`Store::tcp`]); torch's stores, which it can meet. Any thread may use it; a wait of
/// one thread does not delay the others. It is closed when it is dropped; groups that were made
/// from it keep what they need.
pub struct Store {
    handle: *mut raw::tutti_store,
}

unsafe impl Send for Store {}
unsafe impl Sync for Store {}

/// Options of [`Store::tcp`]; 0 is a number's default. The limits are the master's.
#[derive(Clone, Debug, Default)]
pub struct TcpStoreOptions<'a> {
    /// Return without waiting for `world_size` clients.
    pub no_wait_for_workers: bool,
    /// The timeout of connecting, and of the store's calls from then on; 300 seconds if it is not
    /// given.
    pub timeout: Timeout,
    /// Masters of one port in this process share the server; all of them must say so.
    pub multi_tenant: bool,
    /// A TCP socket that is bound, for the master to serve at; it is duplicated.
    ///
    /// ```
    /// use std::net::TcpListener;
    /// use std::os::unix::io::AsFd;
    /// use tutti::{Store, TcpStoreOptions};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let port = listener.local_addr()?.port();
    /// let fd = Some(listener.as_fd());
    /// let options = TcpStoreOptions { master_listen_fd: fd, ..Default::default() };
    /// let store = Store::tcp("127.0.0.1", port, None, true, &options)?;
    /// assert_eq!(store.port()?, port);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// ```compile_fail,E0308
    /// let options = tutti::TcpStoreOptions { master_listen_fd: Some(3), ..Default::default() };
    /// ```
    pub master_listen_fd: Option<BorrowedFd<'a>>,
    /// Clients at once; 65,536, or 7/8 of the descriptors if those are fewer.
    pub max_connections: i32,
    /// Bytes of a key with its prefixes; 8192.
    pub max_key_bytes: i64,
    /// Bytes of a value; 1 GiB.
    pub max_value_bytes: i64,
    /// Keys of one call; 131,072.
    pub max_keys_per_request: i64,
    /// Bytes that the server holds; 4 GiB.
    pub max_memory_bytes: i64,
}

impl TcpStoreOptions<'_> {
    fn to_c(&self) -> raw::tutti_tcp_store_options {
        raw::tutti_tcp_store_options {
            struct_size: size_of::<raw::tutti_tcp_store_options>() as u32,
            no_wait_for_workers: self.no_wait_for_workers.into(),
            timeout_ms: self.timeout.milliseconds(),
            multi_tenant: self.multi_tenant.into(),
            has_master_listen_fd: self.master_listen_fd.is_some().into(),
            master_listen_fd: self.master_listen_fd.map_or(0, |fd| fd.as_raw_fd()),
            max_connections: self.max_connections,
            max_key_bytes: self.max_key_bytes,
            max_value_bytes: self.max_value_bytes,
            max_keys_per_request: self.max_keys_per_request,
            max_memory_bytes: self.max_memory_bytes,
        }
    }
}

/// Where C finds each of the texts.
pub(crate) fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

fn store_options(timeout: Timeout) -> raw::tutti_store_options {
    raw::tutti_store_options {
        struct_size: size_of::<raw::tutti_store_options>() as u32,
        reserved: 0,
        timeout_ms: timeout.milliseconds(),
    }
}

pub(crate) fn call_options(timeout: Timeout) -> raw::tutti_store_call_options {
    raw::tutti_store_call_options {
        struct_size: size_of::<raw::tutti_store_call_options>() as u32,
        reserved: 0,
        timeout_ms: timeout.milliseconds(),
    }
}

fn data(value: &[u8]) -> *const c_void {
    value.as_ptr().cast()
}

impl Store {
    fn make(
        call: impl FnOnce(*mut *mut raw::tutti_store, *mut raw::tutti_error) -> raw::Status,
    ) -> Result<Store> {
        let mut handle = null_mut();
        check(|error| call(&mut handle, error))?;
        Ok(Store { handle })
    }

    fn bytes(
        call: impl FnOnce(*mut *mut raw::tutti_bytes, *mut raw::tutti_error) -> raw::Status,
    ) -> Result<Bytes> {
        let mut handle = null_mut();
        check(|error| call(&mut handle, error))?;
        Ok(unsafe { Bytes::adopt(handle) })
    }

    pub(crate) fn raw(&self) -> *mut raw::tutti_store {
        self.handle
    }

    /// A store of this process alone, for ranks that are threads (torch: `HashStore`).
    pub fn hash() -> Result<Store> {
        Store::make(|store, error| unsafe { raw::tutti_hash_store_create(store, error) })
    }

    /// A store in a file that all processes can reach and lock (torch: `FileStore`). The file is
    /// made if it is not there, and removed when the last of `world_size` stores is dropped;
    /// without a number it stays.
    pub fn file(path: &str, world_size: Option<usize>) -> Result<Store> {
        Store::file_with_timeout(path, world_size, Timeout::Default)
    }

    /// As [`Store::file`], with a timeout of the store's calls, and of the wait for others that hold
    /// the file's lock.
    pub fn file_with_timeout(
        path: &str,
        world_size: Option<usize>,
        timeout: impl Into<Timeout>,
    ) -> Result<Store> {
        let path = c_text(path, "path")?;
        let size = world_size.map_or(Ok(-1), |size| c_int(size, "world_size"))?;
        let options = store_options(timeout.into());
        Store::make(|store, error| unsafe {
            raw::tutti_file_store_create(path.as_ptr(), size, &options, store, error)
        })
    }

    /// Opens the store of a library `libtutti-NAME.so`, which says what its `address` is.
    pub fn open(name: &str, address: &str) -> Result<Store> {
        Store::open_with_timeout(name, address, Timeout::Default)
    }

    /// As [`Store::open`], with a timeout of opening, and of the store's calls.
    pub fn open_with_timeout(
        name: &str,
        address: &str,
        timeout: impl Into<Timeout>,
    ) -> Result<Store> {
        let (name, address) = (c_text(name, "name")?, c_text(address, "address")?);
        let options = store_options(timeout.into());
        Store::make(|store, error| unsafe {
            raw::tutti_store_open(name.as_ptr(), address.as_ptr(), &options, store, error)
        })
    }

    /// Connects to a store served over TCP, and serves it if this process is the master (torch:
    /// `TCPStore`, which may be the other side). Port 0 is any free one ([`Store::port`]). Blocks
    /// until connected, and the master of a given `world_size` until all clients have come.
    pub fn tcp(
        host: &str,
        port: u16,
        world_size: Option<usize>,
        is_master: bool,
        options: &TcpStoreOptions<'_>,
    ) -> Result<Store> {
        let host = c_text(host, "host")?;
        let size = world_size.map_or(Ok(-1), |size| c_int(size, "world_size"))?;
        let (port, master, options) = (port.into(), is_master.into(), options.to_c());
        Store::make(|store, error| unsafe {
            raw::tutti_tcp_store_create(host.as_ptr(), port, size, master, &options, store, error)
        })
    }

    /// A view of this store that puts `prefix` and "/" before every key (torch: `PrefixStore`).
    pub fn prefix(&self, prefix: &str) -> Result<Store> {
        let prefix = c_text(prefix, "prefix")?;
        Store::make(|store, error| unsafe {
            raw::tutti_prefix_store_create(self.handle, prefix.as_ptr(), store, error)
        })
    }

    /// The very store whose keys a prefix store shows.
    pub fn underlying_store(&self) -> Result<Store> {
        Store::make(|store, error| unsafe {
            raw::tutti_prefix_store_underlying_store(self.handle, store, error)
        })
    }

    /// Another handle of the same store, with a timeout and connections of its own; torch's
    /// `clone`. It can fail, so it is not [`Clone`].
    pub fn try_clone(&self) -> Result<Store> {
        self.try_clone_with_timeout(Timeout::Default)
    }

    /// As [`Store::try_clone`], with a timeout of connecting, and of the new handle's calls.
    pub fn try_clone_with_timeout(&self, timeout: impl Into<Timeout>) -> Result<Store> {
        let options = store_options(timeout.into());
        Store::make(|store, error| unsafe {
            raw::tutti_store_clone(self.handle, &options, store, error)
        })
    }

    /// The port a TCP store is served at.
    pub fn port(&self) -> Result<u16> {
        let mut port = 0;
        check(|error| unsafe { raw::tutti_tcp_store_port(self.handle, &mut port, error) })?;
        Ok(port as u16)
    }

    /// The host of a TCP store, as it was given to [`Store::tcp`].
    pub fn host(&self) -> Result<String> {
        let host = Store::bytes(|out, error| unsafe {
            raw::tutti_tcp_store_host(self.handle, out, error)
        })?;
        Ok(String::from_utf8_lossy(&host).into_owned())
    }

    /// The absolute path of a file store's file.
    pub fn path(&self) -> Result<String> {
        let path = Store::bytes(|out, error| unsafe {
            raw::tutti_file_store_path(self.handle, out, error)
        })?;
        Ok(String::from_utf8_lossy(&path).into_owned())
    }

    /// Stores a value under a key; an old value is replaced.
    pub fn set(&self, key: &str, value: impl AsRef<[u8]>) -> Result<()> {
        let (key, value) = (c_text(key, "key")?, value.as_ref());
        check(|error| unsafe {
            raw::tutti_store_set(self.handle, key.as_ptr(), data(value), value.len(), error)
        })
    }

    /// Reads the value of a key; waits until there is one, up to the store's timeout.
    pub fn get(&self, key: &str) -> Result<Bytes> {
        self.get_within(key, Timeout::Default)
    }

    /// As [`Store::get`], with a timeout of its own.
    pub fn get_within(&self, key: &str, timeout: impl Into<Timeout>) -> Result<Bytes> {
        let (key, options) = (c_text(key, "key")?, call_options(timeout.into()));
        Store::bytes(|out, error| unsafe {
            raw::tutti_store_get(self.handle, key.as_ptr(), &options, out, error)
        })
    }

    /// Adds to a counter, kept as decimal text, and returns its new value; no key counts as 0.
    pub fn add(&self, key: &str, amount: i64) -> Result<i64> {
        let (key, mut value) = (c_text(key, "key")?, 0);
        check(|error| unsafe {
            raw::tutti_store_add(self.handle, key.as_ptr(), amount, &mut value, error)
        })?;
        Ok(value)
    }

    /// Appends to the value of a key; no key counts as empty.
    pub fn append(&self, key: &str, value: impl AsRef<[u8]>) -> Result<()> {
        let (key, value) = (c_text(key, "key")?, value.as_ref());
        check(|error| unsafe {
            raw::tutti_store_append(self.handle, key.as_ptr(), data(value), value.len(), error)
        })
    }

    /// Whether all of several keys are there.
    pub fn check<S: AsRef<str>>(&self, keys: &[S]) -> Result<bool> {
        let (keys, mut found) = (c_texts(keys, "keys")?, 0);
        let keys = (pointers(&keys), keys);
        check(|error| unsafe {
            raw::tutti_store_check(
                self.handle,
                keys.0.as_ptr(),
                keys.0.len() as i64,
                &mut found,
                error,
            )
        })?;
        Ok(found != 0)
    }

    /// Waits until all of several keys are there.
    pub fn wait<S: AsRef<str>>(&self, keys: &[S], timeout: impl Into<Timeout>) -> Result<()> {
        let (keys, options) = (c_texts(keys, "keys")?, call_options(timeout.into()));
        let keys = (pointers(&keys), keys);
        check(|error| unsafe {
            let (list, count) = (keys.0.as_ptr(), keys.0.len() as i64);
            raw::tutti_store_wait(self.handle, list, count, &options, error)
        })
    }

    /// Sets a key to `desired` if its value is `expected`, or if it is not there and `expected` is
    /// empty; returns the value afterwards. A key that is not there while `expected` is not empty
    /// stays so, and `expected` is returned.
    pub fn compare_set(
        &self,
        key: &str,
        expected: impl AsRef<[u8]>,
        desired: impl AsRef<[u8]>,
    ) -> Result<Bytes> {
        let (key, old, new) = (c_text(key, "key")?, expected.as_ref(), desired.as_ref());
        let (sizes, key) = ((old.len(), new.len()), key.as_ptr());
        Store::bytes(|out, error| unsafe {
            let (store, old, new) = (self.handle, data(old), data(new));
            raw::tutti_store_compare_set(store, key, old, sizes.0, new, sizes.1, out, error)
        })
    }

    /// Removes a key; says whether it was there.
    pub fn delete_key(&self, key: &str) -> Result<bool> {
        let (key, mut deleted) = (c_text(key, "key")?, 0);
        check(|error| unsafe {
            raw::tutti_store_delete_key(self.handle, key.as_ptr(), &mut deleted, error)
        })?;
        Ok(deleted != 0)
    }

    /// Reads several values at once; waits until all keys are there, up to the store's timeout.
    pub fn multi_get<S: AsRef<str>>(&self, keys: &[S]) -> Result<Vec<Bytes>> {
        self.multi_get_within(keys, Timeout::Default)
    }

    /// As [`Store::multi_get`], with a timeout of its own.
    pub fn multi_get_within<S: AsRef<str>>(
        &self,
        keys: &[S],
        timeout: impl Into<Timeout>,
    ) -> Result<Vec<Bytes>> {
        let (keys, options) = (c_texts(keys, "keys")?, call_options(timeout.into()));
        let keys = (pointers(&keys), keys);
        let mut values = vec![null_mut(); keys.0.len()];
        check(|error| unsafe {
            let (list, count, out) = (keys.0.as_ptr(), keys.0.len() as i64, values.as_mut_ptr());
            raw::tutti_store_multi_get(self.handle, list, count, &options, out, error)
        })?;
        Ok(values.into_iter().map(|value| unsafe { Bytes::adopt(value) }).collect())
    }

    /// Stores several values at once.
    pub fn multi_set<S: AsRef<str>, V: AsRef<[u8]>>(&self, pairs: &[(S, V)]) -> Result<()> {
        let keys: Vec<&str> = pairs.iter().map(|(key, _)| key.as_ref()).collect();
        let keys = c_texts(&keys, "pairs")?;
        let keys = (pointers(&keys), keys);
        let values: Vec<_> = pairs.iter().map(|(_, value)| data(value.as_ref())).collect();
        let sizes: Vec<_> = pairs.iter().map(|(_, value)| value.as_ref().len()).collect();
        check(|error| unsafe {
            let (keys, count) = (keys.0.as_ptr(), values.len() as i64);
            let (values, sizes) = (values.as_ptr(), sizes.as_ptr());
            raw::tutti_store_multi_set(self.handle, keys, values, sizes, count, error)
        })
    }
}
