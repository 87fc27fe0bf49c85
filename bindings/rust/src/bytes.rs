//! Bytes that the library returns.
use crate::raw;
use std::fmt;
use std::ops::Deref;

/// Bytes that came from the library, read in place: a `&[u8]` in all but its type.
pub struct Bytes {
    handle: *mut raw::tutti_bytes,
    data: *const u8,
    size: usize,
}

// They are never written, and the library releases them on any thread.
unsafe impl Send for Bytes {}
unsafe impl Sync for Bytes {}

impl Bytes {
    /// Takes over what C has handed out.
    ///
    /// # Safety
    /// The handle is owned, and nobody else's.
    pub(crate) unsafe fn adopt(handle: *mut raw::tutti_bytes) -> Bytes {
        let data = raw::tutti_bytes_data(handle).cast();
        Bytes { handle, data, size: raw::tutti_bytes_size(handle) }
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        if self.data.is_null() {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

impl PartialEq<[u8]> for Bytes {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl PartialEq<&[u8]> for Bytes {
    fn eq(&self, other: &&[u8]) -> bool {
        **self == **other
    }
}

impl<const N: usize> PartialEq<&[u8; N]> for Bytes {
    fn eq(&self, other: &&[u8; N]) -> bool {
        **self == other[..]
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        unsafe { raw::tutti_bytes_release(self.handle) }
    }
}
