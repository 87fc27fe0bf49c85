//! Buckets of gradients, and functions of programs that reduce them.
use crate::callback::contained;
use crate::device::DeviceSlice;
use crate::element::Element;
use crate::error::{check, Error, Result};
use crate::group::Group;
use crate::memory::elements_of;
use crate::raw::{self, Dtype, Status};
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Deref, Range};
use std::os::raw::c_void;
use std::ptr::{null, null_mut};
use std::slice;

/// The gradients of some parameters of one type of elements, one after the other.
pub struct Bucket<'a> {
    bucket: raw::tutti_bucket,
    lists: PhantomData<&'a [i64]>,
}

// It is a view of memory that nobody writes as long as it is there.
unsafe impl Send for Bucket<'_> {}
unsafe impl Sync for Bucket<'_> {}

/// A bucket that C fills in.
pub(crate) fn empty_bucket() -> raw::tutti_bucket {
    raw::tutti_bucket {
        struct_size: size_of::<raw::tutti_bucket>() as u32,
        index: -1,
        bucket_count: 0,
        is_last: 0,
        gradients: crate::memory::reading::<f32>(&[]),
        parameters: null(),
        offsets: null(),
        counts: null(),
        parameter_count: 0,
        stream: null_mut(),
    }
}

impl Bucket<'_> {
    /// # Safety
    /// C has filled it in, and it is valid as long as the lifetime says.
    pub(crate) unsafe fn new(bucket: raw::tutti_bucket) -> Self {
        Bucket { bucket, lists: PhantomData }
    }

    /// Its place in the order in which buckets are reduced, from 0.
    pub fn index(&self) -> usize {
        self.bucket.index as usize
    }

    /// How many buckets the reducer has.
    pub fn bucket_count(&self) -> usize {
        self.bucket.bucket_count as usize
    }

    /// Whether it is the one with the highest index.
    pub fn is_last(&self) -> bool {
        self.bucket.is_last != 0
    }

    /// The type of all its elements.
    pub fn dtype(&self) -> Dtype {
        self.bucket.gradients.dtype
    }

    /// All its gradients; an error if they are not of this type.
    pub fn gradients<T: Element>(&self) -> Result<&[T]> {
        Ok(unsafe { self.elements::<T>() }?)
    }

    /// All its gradients on a device; an error if they are not of this type.
    ///
    /// # Safety
    /// As for [`DeviceSlice::new`]: what uses the slice is done, or enqueued on the program's stream,
    /// before the bucket is dropped; in a hook, on [`Bucket::stream`].
    pub unsafe fn device_gradients<T: Element>(&self) -> Result<DeviceSlice<T>> {
        DeviceSlice::of(&self.bucket.gradients, || self.name())
    }

    /// The stream on which a hook reduces gradients on a device: they are there after what it has.
    /// NULL on the CPU.
    pub fn stream(&self) -> *mut c_void {
        self.bucket.stream
    }

    /// Its parameters in their order, each with where its gradient is in [`Bucket::gradients`].
    pub fn parameters(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let (offsets, counts) = (self.list(self.bucket.offsets), self.list(self.bucket.counts));
        let places =
            offsets.iter().zip(counts).map(|(&at, &count)| at as usize..(at + count) as usize);
        self.list(self.bucket.parameters).iter().map(|&index| index as usize).zip(places)
    }

    fn list(&self, first: *const i64) -> &[i64] {
        match self.bucket.parameter_count {
            0 => &[],
            count => unsafe { slice::from_raw_parts(first, count as usize) },
        }
    }

    /// # Safety
    /// Whoever writes them has the bucket for itself.
    #[allow(clippy::mut_from_ref)]
    unsafe fn elements<T: Element>(&self) -> Result<&mut [T]> {
        elements_of(&self.bucket.gradients, || self.name())
    }

    fn name(&self) -> String {
        format!("bucket {}", self.bucket.index)
    }
}

impl fmt::Debug for Bucket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.bucket.gradients.count;
        write!(f, "Bucket({} of {}: {count} {:?})", self.index(), self.bucket_count(), self.dtype())
    }
}

/// The bucket that a hook reduces: this rank's gradients, in whose place it puts the result.
#[derive(Debug)]
pub struct BucketMut<'a>(Bucket<'a>);

impl BucketMut<'_> {
    /// All its gradients, to be written; an error if they are not of this type.
    pub fn gradients_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        unsafe { self.0.elements() }
    }
}

impl<'a> Deref for BucketMut<'a> {
    type Target = Bucket<'a>;
    fn deref(&self) -> &Bucket<'a> {
        &self.0
    }
}

/// The function that a program has given to reduce buckets.
pub(crate) type Hook = Box<dyn FnMut(&Group, &mut BucketMut<'_>) -> Result<()> + Send>;

/// Calls C with a hook, which is C's from then on if it succeeds.
pub(crate) fn give_hook(reducer: *mut raw::tutti_reducer, hook: Hook) -> Result<()> {
    let user = Box::into_raw(Box::new(hook));
    let given = check(|error| unsafe {
        raw::tutti_reducer_set_hook(reducer, Some(reduce), user.cast(), Some(forget as _), error)
    });
    if given.is_err() {
        drop(unsafe { Box::from_raw(user) });
    }
    given
}

unsafe extern "C" fn reduce(
    group: *mut raw::tutti_group,
    bucket: *const raw::tutti_bucket,
    user: *mut c_void,
    error: *mut raw::tutti_error,
) -> Status {
    let hook = &mut *user.cast::<Hook>();
    let ran = contained(|| hook(&another_handle(group)?, &mut BucketMut(Bucket::new(*bucket))));
    let panicked = |panic| Err(Error::new(Status::BACKEND, format!("the hook panicked: {panic}")));
    match ran.unwrap_or_else(panicked) {
        Ok(()) => Status::OK,
        Err(failure) => {
            failure.write_to(&mut *error);
            match failure.status() {
                Status::OK => Status::INTERNAL,
                status => status,
            }
        }
    }
}

/// A hook may keep its group.
unsafe fn another_handle(group: *mut raw::tutti_group) -> Result<Group> {
    let mut handle = null_mut();
    check(|error| raw::tutti_group_retain(group, &mut handle, error))?;
    let ended = || Error::new(Status::INVALID_HANDLE, "the reducer's group has ended");
    Group::adopt(handle).ok_or_else(ended)
}

/// The hook, which nothing can call any more.
unsafe extern "C" fn forget(user: *mut c_void) {
    let hook = Box::from_raw(user.cast::<Hook>());
    let _ = contained(move || drop(hook));
}
