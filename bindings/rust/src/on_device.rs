//! Collectives and messages of memory on devices that return when they are done, or enqueued;
//! start_collectives.rs has those that run while the caller goes on.
use crate::calls::{self, c_source};
use crate::device::DeviceSlice;
use crate::element::Element;
use crate::error::{c_int, Error, Result};
use crate::group::Group;
use crate::memory::CBuffer;
use crate::point_to_point::Source;
use crate::reduce_op::Operator;
use std::fmt;
use std::ptr::null_mut;

/// The collectives and messages of a [`Group`] for [`DeviceSlice`]s: what they do, the functions of
/// [`Group`] of the same names say. They return when the operation is done; with
/// [`Group::with_stream`], when it is enqueued on the stream.
#[derive(Clone, Copy)]
pub struct OnDevice<'g> {
    pub(crate) group: &'g Group,
}

impl Group {
    /// The calls for memory of devices.
    pub fn on_device(&self) -> OnDevice<'_> {
        OnDevice { group: self }
    }
}

pub(crate) fn buffers<T: Element>(list: &[DeviceSlice<T>]) -> Vec<CBuffer> {
    list.iter().map(|data| data.buffer()).collect()
}

impl OnDevice<'_> {
    /// See [`Group::broadcast`].
    pub fn broadcast<T: Element>(&self, data: DeviceSlice<T>, src: usize) -> Result<()> {
        self.group.run(calls::broadcast(data.buffer(), c_int(src, "src")?))
    }

    /// See [`Group::all_reduce`].
    pub fn all_reduce<T: Element>(
        &self,
        data: DeviceSlice<T>,
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        let call = calls::all_reduce(None, data.buffer(), op.number());
        self.group.run(call).map_err(Error::in_place)
    }

    /// See [`Group::all_reduce_into`].
    pub fn all_reduce_into<T: Element>(
        &self,
        input: DeviceSlice<T>,
        output: DeviceSlice<T>,
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.group.run(calls::all_reduce(Some(input.buffer()), output.buffer(), op.number()))
    }

    /// See [`Group::all_reduce_addends`].
    pub fn all_reduce_addends<T: Element>(
        &self,
        inputs: &[DeviceSlice<T>],
        output: DeviceSlice<T>,
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.group.run(calls::all_reduce_addends(buffers(inputs), output.buffer(), op.number()))
    }

    /// See [`Group::reduce`].
    pub fn reduce<T: Element>(
        &self,
        data: DeviceSlice<T>,
        op: impl Into<Operator>,
        dst: usize,
    ) -> Result<()> {
        let (op, dst) = (op.into(), c_int(dst, "dst")?);
        let call = calls::reduce(None, Some(data.buffer()), op.number(), dst);
        self.group.run(call).map_err(Error::in_place)
    }

    /// See [`Group::reduce_into`].
    pub fn reduce_into<T: Element>(
        &self,
        input: DeviceSlice<T>,
        output: Option<DeviceSlice<T>>,
        op: impl Into<Operator>,
        dst: usize,
    ) -> Result<()> {
        let (op, dst, output) = (op.into(), c_int(dst, "dst")?, output.map(DeviceSlice::buffer));
        self.group.run(calls::reduce(Some(input.buffer()), output, op.number(), dst))
    }

    /// See [`Group::all_gather`].
    pub fn all_gather<T: Element>(
        &self,
        input: DeviceSlice<T>,
        outputs: &[DeviceSlice<T>],
    ) -> Result<()> {
        self.group.run(calls::all_gather(Some(input.buffer()), buffers(outputs)))
    }

    /// See [`Group::all_gather_in_place`].
    pub fn all_gather_in_place<T: Element>(&self, outputs: &[DeviceSlice<T>]) -> Result<()> {
        self.group.run(calls::all_gather(None, buffers(outputs)))
    }

    /// See [`Group::all_gather_into_tensor`].
    pub fn all_gather_into_tensor<T: Element>(
        &self,
        input: DeviceSlice<T>,
        output: DeviceSlice<T>,
    ) -> Result<()> {
        self.group.run(calls::all_gather_into_tensor(Some(input.buffer()), output.buffer()))
    }

    /// See [`Group::all_gather_into_tensor_in_place`].
    pub fn all_gather_into_tensor_in_place<T: Element>(
        &self,
        output: DeviceSlice<T>,
    ) -> Result<()> {
        self.group.run(calls::all_gather_into_tensor(None, output.buffer()))
    }

    /// See [`Group::gather`].
    pub fn gather<T: Element>(
        &self,
        input: DeviceSlice<T>,
        outputs: &[DeviceSlice<T>],
        dst: usize,
    ) -> Result<()> {
        let dst = c_int(dst, "dst")?;
        self.group.run(calls::gather(Some(input.buffer()), buffers(outputs), dst))
    }

    /// See [`Group::gather_in_place`].
    pub fn gather_in_place<T: Element>(
        &self,
        outputs: &[DeviceSlice<T>],
        dst: usize,
    ) -> Result<()> {
        self.group.run(calls::gather(None, buffers(outputs), c_int(dst, "dst")?))
    }

    /// See [`Group::scatter`].
    pub fn scatter<T: Element>(
        &self,
        inputs: &[DeviceSlice<T>],
        output: DeviceSlice<T>,
        src: usize,
    ) -> Result<()> {
        let src = c_int(src, "src")?;
        self.group.run(calls::scatter(buffers(inputs), Some(output.buffer()), src))
    }

    /// See [`Group::scatter_in_place`].
    pub fn scatter_in_place<T: Element>(
        &self,
        inputs: &[DeviceSlice<T>],
        src: usize,
    ) -> Result<()> {
        self.group.run(calls::scatter(buffers(inputs), None, c_int(src, "src")?))
    }

    /// See [`Group::reduce_scatter`].
    pub fn reduce_scatter<T: Element>(
        &self,
        inputs: &[DeviceSlice<T>],
        output: DeviceSlice<T>,
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.group.run(calls::reduce_scatter(buffers(inputs), output.buffer(), op.number()))
    }

    /// See [`Group::reduce_scatter_tensor`].
    pub fn reduce_scatter_tensor<T: Element>(
        &self,
        input: DeviceSlice<T>,
        output: DeviceSlice<T>,
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.group.run(calls::reduce_scatter_tensor(input.buffer(), output.buffer(), op.number()))
    }

    /// See [`Group::all_to_all`].
    pub fn all_to_all<T: Element>(
        &self,
        inputs: &[DeviceSlice<T>],
        outputs: &[DeviceSlice<T>],
    ) -> Result<()> {
        self.group.run(calls::all_to_all(buffers(inputs), buffers(outputs)))
    }

    /// See [`Group::all_to_all_in_place`].
    pub fn all_to_all_in_place<T: Element>(&self, outputs: &[DeviceSlice<T>]) -> Result<()> {
        self.group.run(calls::all_to_all(Vec::new(), buffers(outputs)))
    }

    /// See [`Group::all_to_all_single`].
    pub fn all_to_all_single<T: Element>(
        &self,
        input: DeviceSlice<T>,
        output: DeviceSlice<T>,
    ) -> Result<()> {
        let (input, output) = (Some(input.buffer()), output.buffer());
        self.group.run(calls::all_to_all_single(input, None, output, None))
    }

    /// See [`Group::all_to_all_single_in_place`].
    pub fn all_to_all_single_in_place<T: Element>(&self, output: DeviceSlice<T>) -> Result<()> {
        self.group.run(calls::all_to_all_single(None, None, output.buffer(), None))
    }

    /// See [`Group::all_to_all_single_with_splits`].
    pub fn all_to_all_single_with_splits<T: Element>(
        &self,
        input: DeviceSlice<T>,
        input_splits: &[usize],
        output: DeviceSlice<T>,
        output_splits: &[usize],
    ) -> Result<()> {
        let (from, into) = (calls::splits(Some(input_splits)), calls::splits(Some(output_splits)));
        let (input, output) = (Some(input.buffer()), output.buffer());
        self.group.run(calls::all_to_all_single(input, from, output, into))
    }

    /// See [`Group::send`].
    pub fn send<T: Element>(&self, data: DeviceSlice<T>, dst: usize, tag: usize) -> Result<()> {
        let (dst, tag) = (c_int(dst, "dst")?, c_int(tag, "tag")?);
        self.group.run(calls::send(data.buffer(), dst, tag))
    }

    /// See [`Group::recv`].
    pub fn recv<T: Element>(
        &self,
        data: DeviceSlice<T>,
        src: impl Into<Source>,
        tag: usize,
    ) -> Result<usize> {
        let (src, tag, mut from) = (c_source(src.into())?, c_int(tag, "tag")?, -1);
        self.group.call(calls::recv(data.buffer(), src, tag, &mut from), null_mut())?;
        Ok(from as usize)
    }
}

impl fmt::Debug for OnDevice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnDevice({:?})", self.group)
    }
}
