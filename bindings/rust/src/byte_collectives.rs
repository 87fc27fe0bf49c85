//! Collectives and messages of byte strings, whose sizes may differ freely between ranks. No more
//! may come of one rank than the group's [`ObjectOptions`](crate::ObjectOptions) say.
use crate::bytes::Bytes;
use crate::calls::c_source;
use crate::error::{c_int, Error, Result, Status};
use crate::group::{Call, Group};
use crate::memory::{reading, reading_each, Borrowed, CBuffer, Readable};
use crate::object_calls::{self, Room};
use crate::point_to_point::Source;
use crate::raw;
use crate::start::Start;
use crate::work::Work;
use std::ptr::{null, null_mut};

type Out = object_calls::Out<raw::tutti_bytes>;

fn broadcast(group: &Group, data: CBuffer, out: Out, src: i32) -> impl FnOnce(&Call) -> Status {
    let most = group.object_options().max_bytes;
    move |call| unsafe {
        let (data, size, options) = (data.data, data.count as usize, call.options);
        raw::tutti_broadcast_bytes(
            call.group,
            data,
            size,
            src,
            most,
            options,
            out.place(call),
            call.work,
            call.error,
        )
    }
}

fn all_gather(group: &Group, data: CBuffer, out: Out) -> impl FnOnce(&Call) -> Status {
    let most = group.object_options().max_bytes;
    move |call| unsafe {
        let (data, size, options) = (data.data, data.count as usize, call.options);
        raw::tutti_all_gather_bytes(
            call.group,
            data,
            size,
            most,
            options,
            out.place(call),
            out.count(call),
            call.work,
            call.error,
        )
    }
}

fn gather(group: &Group, data: CBuffer, out: Out, dst: i32) -> impl FnOnce(&Call) -> Status {
    let most = group.object_options().max_bytes;
    move |call| unsafe {
        let (data, size, options) = (data.data, data.count as usize, call.options);
        raw::tutti_gather_bytes(
            call.group,
            data,
            size,
            dst,
            most,
            options,
            out.place(call),
            out.count(call),
            call.work,
            call.error,
        )
    }
}

fn scatter(group: &Group, list: Vec<CBuffer>, out: Out, src: i32) -> impl FnOnce(&Call) -> Status {
    let most = group.object_options().max_bytes;
    move |call| unsafe {
        let places: Vec<_> = list.iter().map(|buffer| buffer.data as *const _).collect();
        let sizes: Vec<_> = list.iter().map(|buffer| buffer.count as usize).collect();
        let (data, lengths) = match list.is_empty() {
            true => (null(), null()),
            false => (places.as_ptr(), sizes.as_ptr()),
        };
        let (count, options) = (list.len() as i64, call.options);
        raw::tutti_scatter_bytes(
            call.group,
            data,
            lengths,
            count,
            src,
            most,
            options,
            out.place(call),
            call.work,
            call.error,
        )
    }
}

fn send(data: CBuffer, dst: i32, tag: i32) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (data, size, options) = (data.data, data.count as usize, call.options);
        raw::tutti_send_bytes(call.group, data, size, dst, tag, options, call.work, call.error)
    }
}

fn recv(
    group: &Group,
    out: Out,
    src: i32,
    tag: i32,
    out_src: *mut i32,
) -> impl FnOnce(&Call) -> Status {
    let most = group.object_options().max_bytes;
    move |call| unsafe {
        let options = call.options;
        raw::tutti_recv_bytes(
            call.group,
            src,
            tag,
            most,
            options,
            out.place(call),
            out_src,
            call.work,
            call.error,
        )
    }
}

/// Refuses bytes that the CPU cannot read.
fn need_cpu<B: Readable>(data: &B) -> Result<()> {
    let refused = |slice| {
        let message = format!("data is a {slice:?}; bytes are in the memory of the CPU");
        Err(Error::new(Status::UNSUPPORTED, message))
    };
    data.on_device().map_or(Ok(()), refused)
}

fn on_cpu<B: Readable>(data: &Borrowed<B>) -> Result<CBuffer> {
    need_cpu(data.get())?;
    Ok(data.reading())
}

impl Group {
    /// Every rank receives the bytes of rank `src`, which gives `Some` and receives `None`.
    pub fn broadcast_bytes(&self, data: Option<&[u8]>, src: usize) -> Result<Option<Bytes>> {
        let mut room = Room::new(usize::from(data.is_none()));
        let (out, data) = (room.out(), reading(data.unwrap_or(&[])));
        self.run(broadcast(self, data, out, c_int(src, "src")?))?;
        Ok(room.take(None)?.pop())
    }

    /// Every rank receives bytes of every rank.
    pub fn all_gather_bytes(&self, data: &[u8]) -> Result<Vec<Bytes>> {
        let mut room = Room::new(self.world_size());
        self.run(all_gather(self, reading(data), room.out()))?;
        room.take(None)
    }

    /// Rank `dst` receives bytes of every rank; the others receive `None`.
    pub fn gather_bytes(&self, data: &[u8], dst: usize) -> Result<Option<Vec<Bytes>>> {
        let here = self.rank() == dst;
        let count = if here { self.world_size() } else { 0 };
        let mut room = Room::new(count);
        let out = room.out();
        self.run(gather(self, reading(data), out, c_int(dst, "dst")?))?;
        Ok(if here { Some(room.take(None)?) } else { None })
    }

    /// Every rank receives its bytes of those that rank `src` has; elsewhere `data` is empty.
    pub fn scatter_bytes(&self, data: &[&[u8]], src: usize) -> Result<Bytes> {
        let mut room = Room::new(1);
        let out = room.out();
        self.run(scatter(self, reading_each(data), out, c_int(src, "src")?))?;
        room.take_one(None)
    }

    /// Sends bytes to a rank, which receives them with [`Group::recv_bytes`] and the same tag.
    pub fn send_bytes(&self, data: &[u8], dst: usize, tag: usize) -> Result<()> {
        let call = send(reading(data), c_int(dst, "dst")?, c_int(tag, "tag")?);
        self.call(call, null_mut())
    }

    /// Receives bytes, and the sender's rank.
    pub fn recv_bytes(&self, src: impl Into<Source>, tag: usize) -> Result<(Bytes, usize)> {
        let (src, tag, mut from) = (c_source(src.into())?, c_int(tag, "tag")?, -1);
        let mut room = Room::new(1);
        let out = room.out();
        self.call(recv(self, out, src, tag, &mut from), null_mut())?;
        Ok((room.take_one(None)?, from as usize))
    }
}

impl<'a> Start<'a> {
    /// See [`Group::broadcast_bytes`].
    pub fn broadcast_bytes<B>(&self, data: Option<B>, src: usize) -> Result<Work<'a, Option<Bytes>>>
    where
        B: Readable<Element = u8> + 'a,
    {
        let (mut room, data) = (Room::new(usize::from(data.is_none())), data.map(Borrowed::new));
        let buffer = data.as_ref().map_or_else(|| Ok(reading::<u8>(&[])), on_cpu)?;
        let call = broadcast(self.group(), buffer, room.out(), c_int(src, "src")?);
        self.begin(call, move |work| {
            drop(data);
            Ok(room.take(Some(work))?.pop())
        })
    }

    /// See [`Group::all_gather_bytes`].
    pub fn all_gather_bytes<B>(&self, data: B) -> Result<Work<'a, Vec<Bytes>>>
    where
        B: Readable<Element = u8> + 'a,
    {
        let (data, mut room) = (Borrowed::new(data), Room::new(self.group().world_size()));
        let call = all_gather(self.group(), on_cpu(&data)?, room.out());
        self.begin(call, move |work| {
            drop(data);
            room.take(Some(work))
        })
    }

    /// See [`Group::gather_bytes`].
    pub fn gather_bytes<B>(&self, data: B, dst: usize) -> Result<Work<'a, Option<Vec<Bytes>>>>
    where
        B: Readable<Element = u8> + 'a,
    {
        let here = self.group().rank() == dst;
        let count = if here { self.group().world_size() } else { 0 };
        let (data, mut room) = (Borrowed::new(data), Room::new(count));
        let out = room.out();
        let call = gather(self.group(), on_cpu(&data)?, out, c_int(dst, "dst")?);
        self.begin(call, move |work| {
            drop(data);
            Ok(if here { Some(room.take(Some(work))?) } else { None })
        })
    }

    /// See [`Group::scatter_bytes`].
    pub fn scatter_bytes<B>(&self, data: Vec<B>, src: usize) -> Result<Work<'a, Bytes>>
    where
        B: Readable<Element = u8> + 'a,
    {
        let (data, mut room) = (Borrowed::new(data), Room::new(1));
        let out = room.out();
        data.get().iter().try_for_each(need_cpu)?;
        let call = scatter(self.group(), data.reading_each(), out, c_int(src, "src")?);
        self.begin(call, move |work| {
            drop(data);
            room.take_one(Some(work))
        })
    }

    /// See [`Group::send_bytes`].
    pub fn send_bytes<B>(&self, data: B, dst: usize, tag: usize) -> Result<Work<'a, B>>
    where
        B: Readable<Element = u8> + 'a,
    {
        self.need_at_once()?;
        let data = Borrowed::new(data);
        let call = send(on_cpu(&data)?, c_int(dst, "dst")?, c_int(tag, "tag")?);
        self.begin(call, move |_| Ok(data.give_back()))
    }

    /// See [`Group::recv_bytes`]. Who sent them, [`Work::source_rank`] tells.
    pub fn recv_bytes(&self, src: impl Into<Source>, tag: usize) -> Result<Work<'a, Bytes>> {
        self.need_at_once()?;
        let (src, tag) = (c_source(src.into())?, c_int(tag, "tag")?);
        let mut room = Room::new(1);
        let call = recv(self.group(), room.out(), src, tag, null_mut());
        self.begin(call, move |work| room.take_one(Some(work)))
    }
}
