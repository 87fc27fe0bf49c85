//! Collectives that return when they are done; start_collectives.rs has those that run while the
//! caller goes on.
use crate::calls;
use crate::element::Element;
use crate::error::{c_int, Error, Result};
use crate::group::Group;
use crate::memory::{reading, reading_each, writing, writing_each};
use crate::raw;
use crate::reduce_op::Operator;
use std::ptr::null_mut;

/// Collectives: every rank of the group calls the same ones in the same order. Lists have one
/// slice for each rank, in rank order.
impl Group {
    /// Copies `data` of rank `src` to all ranks.
    pub fn broadcast<T: Element>(&self, data: &mut [T], src: usize) -> Result<()> {
        self.run(calls::broadcast(writing(data), c_int(src, "src")?))
    }

    /// Reduces all ranks' `data`, element by element, into `data` of every rank. The result is the
    /// same on all ranks, bit by bit.
    pub fn all_reduce<T: Element>(&self, data: &mut [T], op: impl Into<Operator>) -> Result<()> {
        let op = op.into();
        self.run(calls::all_reduce(None, writing(data), op.number())).map_err(Error::in_place)
    }

    /// As [`Group::all_reduce`], from one place into another.
    pub fn all_reduce_into<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.run(calls::all_reduce(Some(reading(input)), writing(output), op.number()))
    }

    /// Adds all slices that the ranks give, each as many as it has: of a group made with
    /// `reproducible`, the same bits however the slices are spread over the ranks. `op` is
    /// [`ReduceOp::SUM`](crate::ReduceOp::SUM) or [`ReduceOp::AVG`](crate::ReduceOp::AVG).
    pub fn all_reduce_addends<T: Element>(
        &self,
        inputs: &[&[T]],
        output: &mut [T],
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        let inputs = reading_each(inputs);
        self.run(calls::all_reduce_addends(inputs, writing(output), op.number()))
    }

    /// Reduces all ranks' `data`, element by element, into `data` of rank `dst`; no other rank's is
    /// written.
    pub fn reduce<T: Element>(
        &self,
        data: &mut [T],
        op: impl Into<Operator>,
        dst: usize,
    ) -> Result<()> {
        let (op, dst) = (op.into(), c_int(dst, "dst")?);
        let call = calls::reduce(None, Some(writing(data)), op.number(), dst);
        self.run(call).map_err(Error::in_place)
    }

    /// As [`Group::reduce`], from one place into another, which only rank `dst` has.
    pub fn reduce_into<T: Element>(
        &self,
        input: &[T],
        output: Option<&mut [T]>,
        op: impl Into<Operator>,
        dst: usize,
    ) -> Result<()> {
        let (op, output) = (op.into(), output.map(writing));
        self.run(calls::reduce(Some(reading(input)), output, op.number(), c_int(dst, "dst")?))
    }

    /// Every rank receives every rank's input, which may differ in length.
    pub fn all_gather<T: Element>(&self, input: &[T], outputs: &mut [&mut [T]]) -> Result<()> {
        self.run(calls::all_gather(Some(reading(input)), writing_each(outputs)))
    }

    /// As [`Group::all_gather`], of what stands in this rank's place of `outputs`.
    pub fn all_gather_in_place<T: Element>(&self, outputs: &mut [&mut [T]]) -> Result<()> {
        self.run(calls::all_gather(None, writing_each(outputs)))
    }

    /// Every rank receives every rank's input, all of one length, one after the other.
    pub fn all_gather_into_tensor<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        self.run(calls::all_gather_into_tensor(Some(reading(input)), writing(output)))
    }

    /// As [`Group::all_gather_into_tensor`], of this rank's part of `output`.
    pub fn all_gather_into_tensor_in_place<T: Element>(&self, output: &mut [T]) -> Result<()> {
        self.run(calls::all_gather_into_tensor(None, writing(output)))
    }

    /// Rank `dst` receives every rank's input; elsewhere `outputs` is empty.
    pub fn gather<T: Element>(
        &self,
        input: &[T],
        outputs: &mut [&mut [T]],
        dst: usize,
    ) -> Result<()> {
        let dst = c_int(dst, "dst")?;
        self.run(calls::gather(Some(reading(input)), writing_each(outputs), dst))
    }

    /// As [`Group::gather`] on rank `dst`, whose own input is in its place of `outputs`.
    pub fn gather_in_place<T: Element>(&self, outputs: &mut [&mut [T]], dst: usize) -> Result<()> {
        self.run(calls::gather(None, writing_each(outputs), c_int(dst, "dst")?))
    }

    /// Every rank receives its slice of those that rank `src` has; elsewhere `inputs` is empty.
    pub fn scatter<T: Element>(&self, inputs: &[&[T]], output: &mut [T], src: usize) -> Result<()> {
        let src = c_int(src, "src")?;
        self.run(calls::scatter(reading_each(inputs), Some(writing(output)), src))
    }

    /// As [`Group::scatter`] on rank `src`, whose own slice stays where it is.
    pub fn scatter_in_place<T: Element>(&self, inputs: &[&[T]], src: usize) -> Result<()> {
        self.run(calls::scatter(reading_each(inputs), None, c_int(src, "src")?))
    }

    /// Reduces the ranks' lists, slice by slice; each rank receives the result of the slice in its
    /// place. The slices may differ in length.
    pub fn reduce_scatter<T: Element>(
        &self,
        inputs: &[&[T]],
        output: &mut [T],
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.run(calls::reduce_scatter(reading_each(inputs), writing(output), op.number()))
    }

    /// Reduces all ranks' inputs and leaves to each rank its part of the result.
    pub fn reduce_scatter_tensor<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Into<Operator>,
    ) -> Result<()> {
        let op = op.into();
        self.run(calls::reduce_scatter_tensor(reading(input), writing(output), op.number()))
    }

    /// Every rank gives every rank a slice; they may differ in length.
    pub fn all_to_all<T: Element>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<()> {
        self.run(calls::all_to_all(reading_each(inputs), writing_each(outputs)))
    }

    /// As [`Group::all_to_all`], of what stands in `outputs`; takes as much memory again.
    pub fn all_to_all_in_place<T: Element>(&self, outputs: &mut [&mut [T]]) -> Result<()> {
        self.run(calls::all_to_all(Vec::new(), writing_each(outputs)))
    }

    /// Every rank gives every rank a piece of `input` and receives the pieces in `output`, in rank
    /// order; all pieces have one length.
    pub fn all_to_all_single<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        self.run(calls::all_to_all_single(Some(reading(input)), None, writing(output), None))
    }

    /// As [`Group::all_to_all_single`], of what stands in `output`; takes as much memory again.
    pub fn all_to_all_single_in_place<T: Element>(&self, output: &mut [T]) -> Result<()> {
        self.run(calls::all_to_all_single(None, None, writing(output), None))
    }

    /// As [`Group::all_to_all_single`], with pieces of these lengths.
    pub fn all_to_all_single_with_splits<T: Element>(
        &self,
        input: &[T],
        input_splits: &[usize],
        output: &mut [T],
        output_splits: &[usize],
    ) -> Result<()> {
        let (from, into) = (calls::splits(Some(input_splits)), calls::splits(Some(output_splits)));
        self.run(calls::all_to_all_single(Some(reading(input)), from, writing(output), into))
    }

    /// Returns when every rank has called it.
    pub fn barrier(&self) -> Result<()> {
        self.run(calls::barrier())
    }

    /// A barrier that says who is missing, one rank or all of them: for looking into a program that
    /// hangs.
    pub fn monitored_barrier(&self, wait_all_ranks: bool) -> Result<()> {
        let call = |call: &crate::group::Call| unsafe {
            let all = wait_all_ranks.into();
            raw::tutti_monitored_barrier(call.group, all, call.options, call.error)
        };
        self.call(call, null_mut())
    }

    /// Stops that rank of the group, the same on all of them, in a debugger, while the others wait
    /// for it. The rank prints how to attach one. The timeout is for all ranks to call it; for the
    /// debugger there is none.
    pub fn breakpoint(&self, rank: usize) -> Result<()> {
        let rank = c_int(rank, "rank")?;
        let call = |call: &crate::group::Call| unsafe {
            raw::tutti_breakpoint(call.group, rank, call.options, call.error)
        };
        self.call(call, null_mut())
    }
}
