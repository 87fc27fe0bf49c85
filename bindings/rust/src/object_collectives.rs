//! Collectives and messages of values, whose sizes may differ freely between ranks.
use crate::calls::c_source;
use crate::error::Result;
use crate::group::Group;
use crate::memory::Borrowed;
use crate::object_calls;
use crate::outgoing::{Outgoing, Packed};
use crate::point_to_point::Source;
use crate::start::Start;
use crate::value::Value;
use crate::work::Work;
use std::ptr::null_mut;

/// Collectives and messages of values. What comes in is read within the limits of the group's
/// [`ObjectOptions`](crate::ObjectOptions), and is only ever data.
impl Group {
    /// Every rank receives the values of rank `src`, in place of as many that it has.
    pub fn broadcast_object_list(&self, values: &mut [Value], src: usize) -> Result<()> {
        let sent = Packed::all(if self.rank() == src { &*values } else { &[] })?;
        let (call, finish) = object_calls::broadcast(self, sent, values.len(), src)?;
        self.run(call)?;
        let received = finish(None)?;
        for (place, value) in values.iter_mut().zip(received) {
            *place = value;
        }
        Ok(())
    }

    /// Every rank receives one value of every rank.
    pub fn all_gather_object<'v>(&self, value: impl Into<Outgoing<'v>>) -> Result<Vec<Value>> {
        let (call, finish) = object_calls::all_gather(self, Packed::new(value)?)?;
        self.run(call)?;
        finish(None)
    }

    /// Rank `dst` receives one value of every rank; the others receive `None`.
    pub fn gather_object<'v>(
        &self,
        value: impl Into<Outgoing<'v>>,
        dst: usize,
    ) -> Result<Option<Vec<Value>>> {
        let (call, finish) = object_calls::gather(self, Packed::new(value)?, dst)?;
        self.run(call)?;
        finish(None)
    }

    /// Every rank receives its value of those that rank `src` has; what others give does not
    /// count.
    pub fn scatter_object_list(&self, values: &[Value], src: usize) -> Result<Value> {
        let sent = Packed::all(if self.rank() == src { values } else { &[] })?;
        let (call, finish) = object_calls::scatter(self, sent, src)?;
        self.run(call)?;
        finish(None)
    }

    /// Sends values or [`Object`](crate::Object)s to a rank, which receives them with
    /// [`Group::recv_object_list`] and the same tag.
    pub fn send_object_list<'v, V>(&self, values: &'v [V], dst: usize, tag: usize) -> Result<()>
    where
        &'v V: Into<Outgoing<'v>>,
    {
        let (call, finish) = object_calls::send(self, Packed::all(values)?, dst, tag)?;
        self.call(call, null_mut())?;
        finish(None)
    }

    /// Receives as many values as the sender sends, and its rank.
    pub fn recv_object_list(
        &self,
        count: usize,
        src: impl Into<Source>,
        tag: usize,
    ) -> Result<(Vec<Value>, usize)> {
        let (src, mut from) = (c_source(src.into())?, -1);
        let (call, finish) = object_calls::recv(self, count, src, tag, &mut from)?;
        self.call(call, null_mut())?;
        Ok((finish(None)?, from as usize))
    }
}

impl<'a> Start<'a> {
    /// See [`Group::broadcast_object_list`]; gives back the values, also on rank `src`.
    pub fn broadcast_object_list(
        &self,
        values: Vec<Value>,
        src: usize,
    ) -> Result<Work<'a, Vec<Value>>> {
        let (here, count, values) =
            (self.group().rank() == src, values.len(), Borrowed::new(values));
        // Safety: what is borrowed of them is on the heap, and they are dropped last.
        let lent: &'a [Value] = unsafe { &*(values.get().as_slice() as *const [Value]) };
        let sent = Packed::all(if here { lent } else { &[] })?;
        let (call, finish) = object_calls::broadcast(self.group(), sent, count, src)?;
        self.begin(call, move |work| {
            let received = finish(Some(work))?;
            Ok(if here { values.give_back() } else { received })
        })
    }

    /// See [`Group::all_gather_object`].
    pub fn all_gather_object(
        &self,
        value: impl Into<Outgoing<'a>>,
    ) -> Result<Work<'a, Vec<Value>>> {
        let (call, finish) = object_calls::all_gather(self.group(), Packed::new(value)?)?;
        self.begin(call, |work| finish(Some(work)))
    }

    /// See [`Group::gather_object`].
    pub fn gather_object(
        &self,
        value: impl Into<Outgoing<'a>>,
        dst: usize,
    ) -> Result<Work<'a, Option<Vec<Value>>>> {
        let (call, finish) = object_calls::gather(self.group(), Packed::new(value)?, dst)?;
        self.begin(call, |work| finish(Some(work)))
    }

    /// See [`Group::scatter_object_list`].
    pub fn scatter_object_list(&self, values: Vec<Value>, src: usize) -> Result<Work<'a, Value>> {
        let values = if self.group().rank() == src { values } else { Vec::new() };
        let (call, finish) = object_calls::scatter(self.group(), Packed::all(values)?, src)?;
        self.begin(call, |work| finish(Some(work)))
    }

    /// See [`Group::send_object_list`].
    pub fn send_object_list<V: Into<Outgoing<'a>>>(
        &self,
        values: Vec<V>,
        dst: usize,
        tag: usize,
    ) -> Result<Work<'a, ()>> {
        self.need_at_once()?;
        let (call, finish) = object_calls::send(self.group(), Packed::all(values)?, dst, tag)?;
        self.begin(call, |work| finish(Some(work)))
    }

    /// See [`Group::recv_object_list`]. Who sent them, [`Work::source_rank`] tells.
    pub fn recv_object_list(
        &self,
        count: usize,
        src: impl Into<Source>,
        tag: usize,
    ) -> Result<Work<'a, Vec<Value>>> {
        self.need_at_once()?;
        let src = c_source(src.into())?;
        let (call, finish) = object_calls::recv(self.group(), count, src, tag, null_mut())?;
        self.begin(call, |work| finish(Some(work)))
    }
}
