//! The calls of objects and bytes as C has them: what remains to be called with a group, and what
//! gives the result once the operation is done.
use crate::bytes::Bytes;
use crate::error::{c_int, Result, Status};
use crate::group::{Call, Group};
use crate::object::Object;
use crate::outgoing::Packed;
use crate::raw::{self, tutti_bytes, tutti_object};
use crate::value::Value;
use std::ptr::{null, null_mut};

/// Room for objects or bytes that come in; C owns what is written there until it is taken.
pub(crate) struct Room<T: Incoming>(Vec<*mut T>);

/// What C hands out in lists.
pub(crate) trait Incoming {
    type Taken;
    /// # Safety
    /// The handle is owned, and nobody else's.
    unsafe fn take(handle: *mut Self) -> Result<Self::Taken>;
    /// # Safety
    /// As `take`.
    unsafe fn release(handle: *mut Self);
}

impl Incoming for tutti_object {
    type Taken = Value;
    unsafe fn take(handle: *mut tutti_object) -> Result<Value> {
        Object::adopt(handle).to_value()
    }
    unsafe fn release(handle: *mut tutti_object) {
        raw::tutti_object_release(handle)
    }
}

impl Incoming for tutti_bytes {
    type Taken = Bytes;
    unsafe fn take(handle: *mut tutti_bytes) -> Result<Bytes> {
        Ok(Bytes::adopt(handle))
    }
    unsafe fn release(handle: *mut tutti_bytes) {
        raw::tutti_bytes_release(handle)
    }
}

// Handles are valid on any thread.
unsafe impl<T: Incoming> Send for Room<T> {}

impl<T: Incoming> Room<T> {
    pub(crate) fn new(count: usize) -> Room<T> {
        Room(vec![null_mut(); count])
    }

    /// Where it is; NULL if there is none.
    pub(crate) fn place(&mut self) -> *mut *mut T {
        if self.0.is_empty() {
            null_mut()
        } else {
            self.0.as_mut_ptr()
        }
    }

    /// All that has come; of what fails the rest is released.
    pub(crate) fn take(mut self) -> Result<Vec<T::Taken>> {
        let places = self.0.iter_mut();
        places.map(|place| unsafe { T::take(std::mem::replace(place, null_mut())) }).collect()
    }

    /// The one thing that has come.
    pub(crate) fn take_one(self) -> Result<T::Taken> {
        self.take().map(|mut all| all.remove(0))
    }
}

impl<T: Incoming> Drop for Room<T> {
    fn drop(&mut self) {
        for &handle in self.0.iter().filter(|handle| !handle.is_null()) {
            unsafe { T::release(handle) }
        }
    }
}

fn handles(sent: &[Packed<'_>]) -> Vec<*mut tutti_object> {
    sent.iter().map(Packed::raw).collect()
}

fn list(handles: &[*mut tutti_object]) -> *const *mut tutti_object {
    if handles.is_empty() {
        null()
    } else {
        handles.as_ptr()
    }
}

/// A call, and what gives its result once the operation is done. It keeps what is sent until then.
type Started<Call, Finish> = Result<(Call, Finish)>;

/// Of `count` values; on rank `src`, which sends them, nothing is received.
pub(crate) fn broadcast<'a>(
    group: &Group,
    sent: Vec<Packed<'a>>,
    count: usize,
    src: usize,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Vec<Value>> + Send + 'a> {
    let mut room = Room::new(if group.rank() == src { 0 } else { count });
    let (src, options) = (c_int(src, "src")?, group.object_options().to_c());
    let (handles, out) = (handles(&sent), room.place());
    let call = move |call: &Call| unsafe {
        let (handles, objects, options) = (list(&handles), &options, call.options);
        raw::tutti_broadcast_object_list(
            call.group, handles, count, out, src, objects, options, call.work, call.error,
        )
    };
    Ok((call, move || keep_until_now(sent, room.take())))
}

pub(crate) fn all_gather<'a>(
    group: &Group,
    sent: Packed<'a>,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Vec<Value>> + Send + 'a> {
    let (count, options) = (group.world_size(), group.object_options().to_c());
    let mut room = Room::new(count);
    let (handle, out) = (sent.raw(), room.place());
    let call = move |call: &Call| unsafe {
        let (objects, options) = (&options, call.options);
        raw::tutti_all_gather_object(
            call.group, handle, out, count, objects, options, call.work, call.error,
        )
    };
    Ok((call, move || keep_until_now(sent, room.take())))
}

pub(crate) fn gather<'a>(
    group: &Group,
    sent: Packed<'a>,
    dst: usize,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Option<Vec<Value>>> + Send + 'a>
{
    let here = group.rank() == dst;
    let count = if here { group.world_size() } else { 0 };
    let (dst, options) = (c_int(dst, "dst")?, group.object_options().to_c());
    let mut room = Room::new(count);
    let (handle, out) = (sent.raw(), room.place());
    let call = move |call: &Call| unsafe {
        let (objects, options) = (&options, call.options);
        raw::tutti_gather_object(
            call.group, handle, out, count, dst, objects, options, call.work, call.error,
        )
    };
    Ok((call, move || keep_until_now(sent, room.take().map(|all| here.then_some(all)))))
}

pub(crate) fn scatter<'a>(
    group: &Group,
    sent: Vec<Packed<'a>>,
    src: usize,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Value> + Send + 'a> {
    let (src, options) = (c_int(src, "src")?, group.object_options().to_c());
    let mut room = Room::new(1);
    let (handles, count, out) = (handles(&sent), sent.len(), room.place());
    let call = move |call: &Call| unsafe {
        let (handles, objects, options) = (list(&handles), &options, call.options);
        raw::tutti_scatter_object_list(
            call.group, handles, count, out, src, objects, options, call.work, call.error,
        )
    };
    Ok((call, move || keep_until_now(sent, room.take_one())))
}

pub(crate) fn send<'a>(
    group: &Group,
    sent: Vec<Packed<'a>>,
    dst: usize,
    tag: usize,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<()> + Send + 'a> {
    let (dst, tag) = (c_int(dst, "dst")?, c_int(tag, "tag")?);
    let (options, handles, count) = (group.object_options().to_c(), handles(&sent), sent.len());
    let call = move |call: &Call| unsafe {
        let (handles, objects, options) = (list(&handles), &options, call.options);
        raw::tutti_send_object_list(
            call.group, handles, count, dst, tag, objects, options, call.work, call.error,
        )
    };
    Ok((call, move || keep_until_now(sent, Ok(()))))
}

/// `out_src` is NULL where there is a work.
pub(crate) fn recv(
    group: &Group,
    count: usize,
    src: i32,
    tag: usize,
    out_src: *mut i32,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Vec<Value>> + Send> {
    let (tag, options) = (c_int(tag, "tag")?, group.object_options().to_c());
    let mut room = Room::new(count);
    let out = room.place();
    let call = move |call: &Call| unsafe {
        let (objects, options) = (&options, call.options);
        raw::tutti_recv_object_list(
            call.group, out, count, src, tag, objects, options, out_src, call.work, call.error,
        )
    };
    Ok((call, move || room.take()))
}

fn keep_until_now<K, R>(kept: K, result: R) -> R {
    drop(kept);
    result
}
