//! The calls of objects and bytes as C has them: what remains to be called with a group, and what
//! gives the result once the operation is done.
#![allow(clippy::type_complexity)] // a pair of functions has a long name, and no shorter one
use crate::bytes::Bytes;
use crate::error::{c_int, Result, Status};
use crate::group::{Call, Group};
use crate::object::Object;
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

/// Objects that go out.
pub(crate) struct Outgoing(Vec<Object>);

impl Outgoing {
    pub(crate) fn new(values: &[Value]) -> Result<Outgoing> {
        Ok(Outgoing(values.iter().map(Object::from_value).collect::<Result<_>>()?))
    }

    pub(crate) fn handles(&self) -> Vec<*mut tutti_object> {
        self.0.iter().map(Object::raw).collect()
    }
}

fn list(handles: &[*mut tutti_object]) -> *const *mut tutti_object {
    if handles.is_empty() {
        null()
    } else {
        handles.as_ptr()
    }
}

pub(crate) fn broadcast(
    group: &Group,
    values: Vec<Value>,
    src: usize,
) -> Result<(impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Vec<Value>> + Send)> {
    let here = group.rank() == src;
    let (src, options) = (c_int(src, "src")?, group.object_options().to_c());
    let outgoing = Outgoing::new(if here { &values } else { &[] })?;
    let mut room = Room::new(if here { 0 } else { values.len() });
    let (handles, out, count) = (outgoing.handles(), room.place(), values.len());
    let call = move |call: &Call| unsafe {
        raw::tutti_broadcast_object_list(
            call.group,
            list(&handles),
            count,
            out,
            src,
            &options,
            call.options,
            call.work,
            call.error,
        )
    };
    let finish = move || {
        drop(outgoing);
        if here {
            Ok(values)
        } else {
            room.take()
        }
    };
    Ok((call, finish))
}

pub(crate) fn all_gather(
    group: &Group,
    value: Value,
) -> Result<(impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Vec<Value>> + Send)> {
    let (object, options) = (Object::from_value(&value)?, group.object_options().to_c());
    let mut room = Room::new(group.world_size());
    let (handle, out, count) = (object.raw(), room.place(), group.world_size());
    let call = move |call: &Call| unsafe {
        let (group, work, error) = (call.group, call.work, call.error);
        let (objects, options) = (&options, call.options);
        raw::tutti_all_gather_object(group, handle, out, count, objects, options, work, error)
    };
    let finish = move || {
        drop(object);
        room.take()
    };
    Ok((call, finish))
}

pub(crate) fn gather(
    group: &Group,
    value: Value,
    dst: usize,
) -> Result<(impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Option<Vec<Value>>> + Send)> {
    let here = group.rank() == dst;
    let count = if here { group.world_size() } else { 0 };
    let (dst, options) = (c_int(dst, "dst")?, group.object_options().to_c());
    let (object, mut room) = (Object::from_value(&value)?, Room::new(count));
    let (handle, out) = (object.raw(), room.place());
    let call = move |call: &Call| unsafe {
        raw::tutti_gather_object(
            call.group,
            handle,
            out,
            count,
            dst,
            &options,
            call.options,
            call.work,
            call.error,
        )
    };
    let finish = move || {
        drop(object);
        Ok(if here { Some(room.take()?) } else { None })
    };
    Ok((call, finish))
}

pub(crate) fn scatter(
    group: &Group,
    values: &[Value],
    src: usize,
) -> Result<(impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Value> + Send)> {
    let outgoing = Outgoing::new(if group.rank() == src { values } else { &[] })?;
    let (src, options) = (c_int(src, "src")?, group.object_options().to_c());
    let mut room = Room::new(1);
    let (handles, out) = (outgoing.handles(), room.place());
    let call = move |call: &Call| unsafe {
        raw::tutti_scatter_object_list(
            call.group,
            list(&handles),
            handles.len(),
            out,
            src,
            &options,
            call.options,
            call.work,
            call.error,
        )
    };
    let finish = move || {
        drop(outgoing);
        room.take_one()
    };
    Ok((call, finish))
}

pub(crate) fn send(
    group: &Group,
    values: &[Value],
    dst: usize,
    tag: usize,
) -> Result<(impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<()> + Send)> {
    let (dst, tag) = (c_int(dst, "dst")?, c_int(tag, "tag")?);
    let (outgoing, options) = (Outgoing::new(values)?, group.object_options().to_c());
    let handles = outgoing.handles();
    let call = move |call: &Call| unsafe {
        raw::tutti_send_object_list(
            call.group,
            list(&handles),
            handles.len(),
            dst,
            tag,
            &options,
            call.options,
            call.work,
            call.error,
        )
    };
    let finish = move || {
        drop(outgoing);
        Ok(())
    };
    Ok((call, finish))
}

/// `out_src` is NULL where there is a work.
pub(crate) fn recv(
    group: &Group,
    count: usize,
    src: i32,
    tag: usize,
    out_src: *mut i32,
) -> Result<(impl FnOnce(&Call) -> Status, impl FnOnce() -> Result<Vec<Value>> + Send)> {
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
