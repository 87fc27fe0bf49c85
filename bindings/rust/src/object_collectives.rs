//! Collectives and messages of values, whose sizes may differ freely between ranks.
use crate::calls::c_source;
use crate::error::Result;
use crate::group::Group;
use crate::object_calls;
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
        let given =
            if self.rank() == src { values.to_vec() } else { vec![Value::Nil; values.len()] };
        let (call, finish) = object_calls::broadcast(self, given, src)?;
        self.run(call)?;
        for (place, value) in values.iter_mut().zip(finish()?) {
            *place = value;
        }
        Ok(())
    }

    /// Every rank receives one value of every rank.
    pub fn all_gather_object(&self, value: impl Into<Value>) -> Result<Vec<Value>> {
        let (call, finish) = object_calls::all_gather(self, value.into())?;
        self.run(call)?;
        finish()
    }

    /// Rank `dst` receives one value of every rank; the others receive `None`.
    pub fn gather_object(&self, value: impl Into<Value>, dst: usize) -> Result<Option<Vec<Value>>> {
        let (call, finish) = object_calls::gather(self, value.into(), dst)?;
        self.run(call)?;
        finish()
    }

    /// Every rank receives its value of those that rank `src` has; what others give does not
    /// count.
    pub fn scatter_object_list(&self, values: &[Value], src: usize) -> Result<Value> {
        let (call, finish) = object_calls::scatter(self, values, src)?;
        self.run(call)?;
        finish()
    }

    /// Sends values to a rank, which receives them with [`Group::recv_object_list`] and the same
    /// tag.
    pub fn send_object_list(&self, values: &[Value], dst: usize, tag: usize) -> Result<()> {
        let (call, finish) = object_calls::send(self, values, dst, tag)?;
        self.call(call, null_mut())?;
        finish()
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
        Ok((finish()?, from as usize))
    }
}

impl<'a> Start<'a> {
    /// See [`Group::broadcast_object_list`].
    pub fn broadcast_object_list(
        &self,
        values: Vec<Value>,
        src: usize,
    ) -> Result<Work<'a, Vec<Value>>> {
        let (call, finish) = object_calls::broadcast(self.group(), values, src)?;
        self.begin(call, |_| finish())
    }

    /// See [`Group::all_gather_object`].
    pub fn all_gather_object(&self, value: impl Into<Value>) -> Result<Work<'a, Vec<Value>>> {
        let (call, finish) = object_calls::all_gather(self.group(), value.into())?;
        self.begin(call, |_| finish())
    }

    /// See [`Group::gather_object`].
    pub fn gather_object(
        &self,
        value: impl Into<Value>,
        dst: usize,
    ) -> Result<Work<'a, Option<Vec<Value>>>> {
        let (call, finish) = object_calls::gather(self.group(), value.into(), dst)?;
        self.begin(call, |_| finish())
    }

    /// See [`Group::scatter_object_list`].
    pub fn scatter_object_list(&self, values: &[Value], src: usize) -> Result<Work<'a, Value>> {
        let (call, finish) = object_calls::scatter(self.group(), values, src)?;
        self.begin(call, |_| finish())
    }

    /// See [`Group::send_object_list`].
    pub fn send_object_list(
        &self,
        values: &[Value],
        dst: usize,
        tag: usize,
    ) -> Result<Work<'a, ()>> {
        self.need_at_once()?;
        let (call, finish) = object_calls::send(self.group(), values, dst, tag)?;
        self.begin(call, |_| finish())
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
        self.begin(call, |_| finish())
    }
}
