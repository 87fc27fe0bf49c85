//! Collectives of ranks that have several GPUs each; deprecated.
use crate::calls::pointer_to_list;
use crate::device::DeviceSlice;
use crate::element::Element;
use crate::error::{c_int, Result};
use crate::group::Call;
use crate::memory::{Borrowed, CBuffer, Readable, Writable};
use crate::on_device::{buffers, OnDevice};
use crate::raw::{self, ReduceOp, Status};
use crate::reduce_op::Operator;
use crate::start::Start;
use crate::start_collectives::give_back;
use crate::work::Work;

/// One of the lists' slices: those of a rank, and which of them.
#[derive(Clone, Copy)]
struct Place {
    rank: i32,
    tensor: i32,
}

fn source(src: usize, src_tensor: usize) -> Result<Place> {
    Ok(Place { rank: c_int(src, "src")?, tensor: c_int(src_tensor, "src_tensor")? })
}

fn destination(dst: usize, dst_tensor: usize) -> Result<Place> {
    Ok(Place { rank: c_int(dst, "dst")?, tensor: c_int(dst_tensor, "dst_tensor")? })
}

fn broadcast(buffers: Vec<CBuffer>, src: Place) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options, work) = (call.group, call.options, call.work);
        let (list, count) = (pointer_to_list(&buffers), buffers.len() as i64);
        let Place { rank, tensor } = src;
        raw::tutti_broadcast_multigpu(group, list, count, rank, tensor, options, work, call.error)
    }
}

fn all_reduce(buffers: Vec<CBuffer>, op: ReduceOp) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options, work) = (call.group, call.options, call.work);
        let (list, count) = (pointer_to_list(&buffers), buffers.len() as i64);
        raw::tutti_all_reduce_multigpu(group, list, count, op, options, work, call.error)
    }
}

fn reduce(buffers: Vec<CBuffer>, op: ReduceOp, dst: Place) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options, work, error) = (call.group, call.options, call.work, call.error);
        let (list, count) = (pointer_to_list(&buffers), buffers.len() as i64);
        let Place { rank, tensor } = dst;
        raw::tutti_reduce_multigpu(group, list, count, op, rank, tensor, options, work, error)
    }
}

fn all_gather(inputs: Vec<CBuffer>, outputs: Vec<CBuffer>) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options, work, error) = (call.group, call.options, call.work, call.error);
        let (from, from_count) = (pointer_to_list(&inputs), inputs.len() as i64);
        let (into, into_count) = (pointer_to_list(&outputs), outputs.len() as i64);
        raw::tutti_all_gather_multigpu(
            group, from, from_count, into, into_count, options, work, error,
        )
    }
}

fn reduce_scatter(
    inputs: Vec<CBuffer>,
    outputs: Vec<CBuffer>,
    op: ReduceOp,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options, work, error) = (call.group, call.options, call.work, call.error);
        let (from, from_count) = (pointer_to_list(&inputs), inputs.len() as i64);
        let (into, into_count) = (pointer_to_list(&outputs), outputs.len() as i64);
        raw::tutti_reduce_scatter_multigpu(
            group, from, from_count, into, into_count, op, options, work, error,
        )
    }
}

/// Collectives of ranks that have several GPUs each. Deprecated: torch has taken them out. A
/// process can be a rank for each of its GPUs instead ([`Group::create`](crate::Group::create)),
/// which leaves it all other calls as well.
///
/// All ranks have as many GPUs, and use the same ones in each call on a group. A list of slices has
/// one on each of them, all of one length. The first call on a group makes the connections: it
/// waits for all ranks, also with [`Start`], and the group must have a store. The calls wait for
/// the default streams, and take no stream of [`Group::with_stream`](crate::Group::with_stream).
impl OnDevice<'_> {
    /// Copies `buffers[src_tensor]` of rank `src` to all slices of all ranks. Deprecated (torch:
    /// `broadcast_multigpu`).
    pub fn broadcast_multigpu<T: Element>(
        &self,
        buffers: &[DeviceSlice<T>],
        src: usize,
        src_tensor: usize,
    ) -> Result<()> {
        self.group.run(broadcast(self::buffers(buffers), source(src, src_tensor)?))
    }

    /// Reduces all slices of all ranks, element by element, into each of them.
    /// [`ReduceOp::AVG`](crate::ReduceOp::AVG) divides by the number of all slices. Deprecated
    /// (torch: `all_reduce_multigpu`).
    pub fn all_reduce_multigpu<T: Element>(
        &self,
        buffers: &[DeviceSlice<T>],
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.group.run(all_reduce(self::buffers(buffers), op.number()))
    }

    /// Reduces all slices of all ranks, element by element, into `buffers[dst_tensor]` of rank
    /// `dst`; no other is written. Deprecated (torch: `reduce_multigpu`).
    pub fn reduce_multigpu<T: Element>(
        &self,
        buffers: &[DeviceSlice<T>],
        op: impl Into<Operator>,
        dst: usize,
        dst_tensor: usize,
    ) -> Result<()> {
        let (op, dst) = (op.into(), destination(dst, dst_tensor)?);
        self.group.run(reduce(self::buffers(buffers), op.number(), dst))
    }

    /// Gathers the inputs of all ranks on each GPU of every rank. `outputs` has first the slices on
    /// the GPU of `inputs[0]`, one for each input of rank 0, then of rank 1, ...; then as many on
    /// the GPU of `inputs[1]`, .... An input may be its own output. Deprecated (torch:
    /// `all_gather_multigpu`).
    pub fn all_gather_multigpu<T: Element>(
        &self,
        inputs: &[DeviceSlice<T>],
        outputs: &[DeviceSlice<T>],
    ) -> Result<()> {
        self.group.run(all_gather(buffers(inputs), buffers(outputs)))
    }

    /// Reduces lists of slices, element by element; each GPU of every rank receives one part.
    /// `inputs` has first the slices on the GPU of `outputs[0]`, one for each output of rank 0,
    /// then of rank 1, ...; then as many on the GPU of `outputs[1]`, .... An output may be its own
    /// input. Deprecated (torch: `reduce_scatter_multigpu`).
    pub fn reduce_scatter_multigpu<T: Element>(
        &self,
        inputs: &[DeviceSlice<T>],
        outputs: &[DeviceSlice<T>],
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.group.run(reduce_scatter(buffers(inputs), buffers(outputs), op.number()))
    }
}

/// Collectives of ranks that have several GPUs each. Deprecated, as those of [`OnDevice`]. They
/// cannot be coalesced.
impl<'a> Start<'a> {
    /// See [`OnDevice::broadcast_multigpu`]. Deprecated.
    pub fn broadcast_multigpu<B: Writable + 'a>(
        &self,
        buffers: Vec<B>,
        src: usize,
        src_tensor: usize,
    ) -> Result<Work<'a, Vec<B>>> {
        self.need_one_device()?;
        let mut buffers = Borrowed::new(buffers);
        let call = broadcast(buffers.writing_each(), source(src, src_tensor)?);
        self.begin(call, move |_| Ok(buffers.give_back()))
    }

    /// See [`OnDevice::all_reduce_multigpu`]. Deprecated.
    pub fn all_reduce_multigpu<B: Writable + 'a>(
        &self,
        buffers: Vec<B>,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, Vec<B>>> {
        self.need_one_device()?;
        let (mut buffers, op) = (Borrowed::new(buffers), op.into());
        let call = all_reduce(buffers.writing_each(), op.number());
        self.begin(call, move |_| give_back(buffers, op))
    }

    /// See [`OnDevice::reduce_multigpu`]. Deprecated.
    pub fn reduce_multigpu<B: Writable + 'a>(
        &self,
        buffers: Vec<B>,
        op: impl Into<Operator>,
        dst: usize,
        dst_tensor: usize,
    ) -> Result<Work<'a, Vec<B>>> {
        self.need_one_device()?;
        let (mut buffers, op) = (Borrowed::new(buffers), op.into());
        let call = reduce(buffers.writing_each(), op.number(), destination(dst, dst_tensor)?);
        self.begin(call, move |_| give_back(buffers, op))
    }

    /// See [`OnDevice::all_gather_multigpu`]; gives back the outputs. Deprecated.
    pub fn all_gather_multigpu<I, O>(
        &self,
        inputs: Vec<I>,
        outputs: Vec<O>,
    ) -> Result<Work<'a, Vec<O>>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        self.need_one_device()?;
        let (inputs, mut outputs) = (Borrowed::new(inputs), Borrowed::new(outputs));
        let call = all_gather(inputs.reading_each(), outputs.writing_each());
        self.begin(call, move |_| give_back(outputs, inputs))
    }

    /// See [`OnDevice::reduce_scatter_multigpu`]; gives back the outputs. Deprecated.
    pub fn reduce_scatter_multigpu<I, O>(
        &self,
        inputs: Vec<I>,
        outputs: Vec<O>,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, Vec<O>>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        self.need_one_device()?;
        let (inputs, mut outputs, op) = (Borrowed::new(inputs), Borrowed::new(outputs), op.into());
        let call = reduce_scatter(inputs.reading_each(), outputs.writing_each(), op.number());
        self.begin(call, move |_| give_back(outputs, (inputs, op)))
    }
}
