//! The calls of objects and bytes as C has them: what remains to be called with a group, and what
//! gives the result once the operation is done.
use crate::bytes::Bytes;
use crate::error::{c_int, check, Result, Status};
use crate::group::{Call, Group};
use crate::object::Object;
use crate::outgoing::Packed;
use crate::raw::{self, tutti_bytes, tutti_object};
use crate::value::Value;
use crate::work::Handle;
use std::ptr::{null, null_mut};

/// Room for objects or bytes that come in: C writes them there, or a work keeps them until they are
/// taken.
pub(crate) struct Room<T: Incoming>(Vec<*mut T>);

/// Where C writes what comes in, and how many; nowhere if there is a work.
#[derive(Clone, Copy)]
pub(crate) struct Out<T> {
    place: *mut *mut T,
    count: i64,
}

impl<T> Out<T> {
    pub(crate) fn place(&self, call: &Call) -> *mut *mut T {
        if call.work.is_null() {
            self.place
        } else {
            null_mut()
        }
    }

    pub(crate) fn count(&self, call: &Call) -> i64 {
        if call.work.is_null() {
            self.count
        } else {
            0
        }
    }
}

/// The handles that C hands out in lists.
pub(crate) trait Incoming: Sized {
    type Taken;
    /// # Safety
    /// There is room for `count` handles, and the work has as many.
    unsafe fn take_from(
        work: *mut raw::tutti_work,
        place: *mut *mut Self,
        count: i64,
        error: *mut raw::tutti_error,
    ) -> Status;
    /// # Safety
    /// The handle is owned, and nobody else's.
    unsafe fn take(handle: *mut Self) -> Result<Self::Taken>;
    /// # Safety
    /// As `take`.
    unsafe fn release(handle: *mut Self);
}

impl Incoming for tutti_object {
    type Taken = Value;
    unsafe fn take_from(
        work: *mut raw::tutti_work,
        place: *mut *mut tutti_object,
        count: i64,
        error: *mut raw::tutti_error,
    ) -> Status {
        raw::tutti_work_take_objects(work, place, count, error)
    }
    unsafe fn take(handle: *mut tutti_object) -> Result<Value> {
        Object::adopt(handle).to_value()
    }
    unsafe fn release(handle: *mut tutti_object) {
        raw::tutti_object_release(handle)
    }
}

impl Incoming for tutti_bytes {
    type Taken = Bytes;
    unsafe fn take_from(
        work: *mut raw::tutti_work,
        place: *mut *mut tutti_bytes,
        count: i64,
        error: *mut raw::tutti_error,
    ) -> Status {
        raw::tutti_work_take_bytes(work, place, count, error)
    }
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

    /// The arguments that tell C of it.
    pub(crate) fn out(&mut self) -> Out<T> {
        let place = if self.0.is_empty() { null_mut() } else { self.0.as_mut_ptr() };
        Out { place, count: self.0.len() as i64 }
    }

    /// All that has come, to the work if there is one; of what fails the rest is released.
    pub(crate) fn take(mut self, work: Option<&Handle>) -> Result<Vec<T::Taken>> {
        let (place, count) = (self.0.as_mut_ptr(), self.0.len() as i64);
        if let (Some(work), true) = (work, count > 0) {
            check(|error| unsafe { T::take_from(work.raw(), place, count, error) })?;
        }
        let places = self.0.iter_mut();
        places.map(|place| unsafe { T::take(std::mem::replace(place, null_mut())) }).collect()
    }

    /// The one thing that has come.
    pub(crate) fn take_one(self, work: Option<&Handle>) -> Result<T::Taken> {
        self.take(work).map(|mut all| all.remove(0))
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

/// Room for `count` values; on rank `src`, which sends them, nothing is received.
pub(crate) fn broadcast<'a>(
    group: &Group,
    sent: Vec<Packed<'a>>,
    count: usize,
    src: usize,
) -> Started<
    impl FnOnce(&Call) -> Status,
    impl FnOnce(Option<&Handle>) -> Result<Vec<Value>> + Send + 'a,
> {
    let mut room = Room::new(if group.rank() == src { 0 } else { count });
    let (src, options) = (c_int(src, "src")?, group.object_options().to_c());
    let (handles, out) = (handles(&sent), room.out());
    let call = move |call: &Call| unsafe {
        let (handles, objects, options) = (list(&handles), &options, call.options);
        raw::tutti_broadcast_object_list(
            call.group,
            handles,
            count as i64,
            src,
            objects,
            options,
            out.place(call),
            call.work,
            call.error,
        )
    };
    Ok((call, move |work: Option<&Handle>| keep_until_now(sent, room.take(work))))
}

pub(crate) fn all_gather<'a>(
    group: &Group,
    sent: Packed<'a>,
) -> Started<
    impl FnOnce(&Call) -> Status,
    impl FnOnce(Option<&Handle>) -> Result<Vec<Value>> + Send + 'a,
> {
    let (count, options) = (group.world_size(), group.object_options().to_c());
    let mut room = Room::new(count);
    let (handle, out) = (sent.raw(), room.out());
    let call = move |call: &Call| unsafe {
        let (objects, options) = (&options, call.options);
        raw::tutti_all_gather_object(
            call.group,
            handle,
            objects,
            options,
            out.place(call),
            out.count(call),
            call.work,
            call.error,
        )
    };
    Ok((call, move |work: Option<&Handle>| keep_until_now(sent, room.take(work))))
}

pub(crate) fn gather<'a>(
    group: &Group,
    sent: Packed<'a>,
    dst: usize,
) -> Started<
    impl FnOnce(&Call) -> Status,
    impl FnOnce(Option<&Handle>) -> Result<Option<Vec<Value>>> + Send + 'a,
> {
    let here = group.rank() == dst;
    let count = if here { group.world_size() } else { 0 };
    let (dst, options) = (c_int(dst, "dst")?, group.object_options().to_c());
    let mut room = Room::new(count);
    let (handle, out) = (sent.raw(), room.out());
    let call = move |call: &Call| unsafe {
        let (objects, options) = (&options, call.options);
        raw::tutti_gather_object(
            call.group,
            handle,
            dst,
            objects,
            options,
            out.place(call),
            out.count(call),
            call.work,
            call.error,
        )
    };
    Ok((call, move |work: Option<&Handle>| {
        keep_until_now(sent, room.take(work).map(|all| here.then_some(all)))
    }))
}

pub(crate) fn scatter<'a>(
    group: &Group,
    sent: Vec<Packed<'a>>,
    src: usize,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce(Option<&Handle>) -> Result<Value> + Send + 'a>
{
    let (src, options) = (c_int(src, "src")?, group.object_options().to_c());
    let mut room = Room::new(1);
    let (handles, count, out) = (handles(&sent), sent.len() as i64, room.out());
    let call = move |call: &Call| unsafe {
        let (handles, objects, options) = (list(&handles), &options, call.options);
        raw::tutti_scatter_object_list(
            call.group,
            handles,
            count,
            src,
            objects,
            options,
            out.place(call),
            call.work,
            call.error,
        )
    };
    Ok((call, move |work: Option<&Handle>| keep_until_now(sent, room.take_one(work))))
}

pub(crate) fn send<'a>(
    group: &Group,
    sent: Vec<Packed<'a>>,
    dst: usize,
    tag: usize,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce(Option<&Handle>) -> Result<()> + Send + 'a> {
    let (dst, tag) = (c_int(dst, "dst")?, c_int(tag, "tag")?);
    let (options, handles, count) =
        (group.object_options().to_c(), handles(&sent), sent.len() as i64);
    let call = move |call: &Call| unsafe {
        let (handles, objects, options) = (list(&handles), &options, call.options);
        raw::tutti_send_object_list(
            call.group, handles, count, dst, tag, objects, options, call.work, call.error,
        )
    };
    Ok((call, move |_: Option<&Handle>| keep_until_now(sent, Ok(()))))
}

/// `out_src` is NULL where there is a work.
pub(crate) fn recv(
    group: &Group,
    count: usize,
    src: i32,
    tag: usize,
    out_src: *mut i32,
) -> Started<impl FnOnce(&Call) -> Status, impl FnOnce(Option<&Handle>) -> Result<Vec<Value>> + Send>
{
    let (tag, options) = (c_int(tag, "tag")?, group.object_options().to_c());
    let mut room = Room::new(count);
    let out = room.out();
    let call = move |call: &Call| unsafe {
        let (objects, options) = (&options, call.options);
        raw::tutti_recv_object_list(
            call.group,
            src,
            tag,
            objects,
            options,
            out.place(call),
            count as i64,
            out_src,
            call.work,
            call.error,
        )
    };
    Ok((call, move |work: Option<&Handle>| room.take(work)))
}

fn keep_until_now<K, R>(kept: K, result: R) -> R {
    drop(kept);
    result
}
