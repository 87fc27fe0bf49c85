//! Memory that the ranks of one host read where it is.
use crate::element::Element;
use crate::error::{check, Error, Result};
use crate::group::Group;
use crate::raw;
use std::fmt;
use std::mem::size_of;
use std::ops::{Deref, DerefMut};
use std::ptr::{null_mut, NonNull};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Elements in memory that the other ranks of the host can read: a slice in all else. It is given
/// back when it is dropped, whatever has become of the group by then; what runs in the background
/// takes it as it takes a `Vec`. Processes made by fork do not have it, so
/// [`spawn`](crate::spawn) makes none while there is one.
pub struct Buffer<T: Element> {
    data: NonNull<T>,
    len: usize,
}

// It is the only way to its elements; others read them only while an operation of ours runs.
unsafe impl<T: Element> Send for Buffer<T> {}
unsafe impl<T: Element> Sync for Buffer<T> {}

static LIVING: AtomicUsize = AtomicUsize::new(0);

/// How many buffers this process has.
pub(crate) fn living() -> usize {
    LIVING.load(SeqCst)
}

impl Group {
    /// Memory for so many elements, all zero, that the other ranks of this host can read.
    /// Collectives and messages of this group whose data lie in such memory, on all ranks that give
    /// data, read them from there instead of copying them first. Every rank calls it, in the same
    /// order as the group's collectives; lengths may differ, and be 0.
    ///
    /// ```no_run
    /// # let world = tutti::world()?;
    /// let mut gradients = world.alloc::<f32>(1_000_000)?;
    /// gradients.fill(0.5);
    /// world.all_reduce(&mut gradients, tutti::ReduceOp::AVG)?;
    /// # Ok::<(), tutti::Error>(())
    /// ```
    ///
    /// What an operation has is nobody else's until it gives it back:
    ///
    /// ```compile_fail,E0382
    /// # let world = tutti::world()?;
    /// let data = world.alloc::<f32>(10)?;
    /// let work = world.start().all_reduce(data, tutti::ReduceOp::SUM)?;
    /// println!("{}", data[0]);
    /// # Ok::<(), tutti::Error>(())
    /// ```
    pub fn alloc<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
        let beyond = || Error::argument(format!("len is {len}, more than memory can hold"));
        let (bytes, mut memory) = (bytes.ok_or_else(beyond)?, null_mut());
        let options = self.memory_options();
        check(|error| unsafe {
            raw::tutti_memory_alloc(self.raw(), bytes as i64, &options, &mut memory, error)
        })?;
        let data = NonNull::new(memory.cast()).expect("memory that C has given is somewhere");
        LIVING.fetch_add(1, SeqCst);
        Ok(Buffer { data, len })
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        unsafe { raw::tutti_memory_release(self.data.as_ptr().cast()) };
        LIVING.fetch_sub(1, SeqCst);
    }
}
