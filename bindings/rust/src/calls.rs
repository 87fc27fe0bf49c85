//! The collectives as C has them, each as what remains to be called with a group: blocking and
//! asynchronous calls differ only in that. The buffers are good until the operation is done; the
//! callers of these functions see to it.
use crate::error::Result;
use crate::group::Call;
use crate::memory::CBuffer;
use crate::raw::{self, ReduceOp, Status};
use std::ptr::null;

fn pointer_to(buffer: &Option<CBuffer>) -> *const CBuffer {
    buffer.as_ref().map_or(null(), |buffer| buffer as *const _)
}

/// Where the buffers are; NULL if there are none.
pub(crate) fn pointer_to_list(list: &[CBuffer]) -> *const CBuffer {
    if list.is_empty() {
        null()
    } else {
        list.as_ptr()
    }
}

pub(crate) fn broadcast(buffer: CBuffer, src: i32) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        raw::tutti_broadcast(call.group, &buffer, src, call.options, call.work, call.error)
    }
}

pub(crate) fn all_reduce(
    input: Option<CBuffer>,
    output: CBuffer,
    op: ReduceOp,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (input, output) = (pointer_to(&input), &output);
        raw::tutti_all_reduce(call.group, input, output, op, call.options, call.work, call.error)
    }
}

pub(crate) fn all_reduce_addends(
    inputs: Vec<CBuffer>,
    output: CBuffer,
    op: ReduceOp,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (list, count, options) = (pointer_to_list(&inputs), inputs.len() as i64, call.options);
        let (group, work, error) = (call.group, call.work, call.error);
        raw::tutti_all_reduce_addends(group, list, count, &output, op, options, work, error)
    }
}

pub(crate) fn reduce(
    input: Option<CBuffer>,
    output: Option<CBuffer>,
    op: ReduceOp,
    dst: i32,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (input, output, options) = (pointer_to(&input), pointer_to(&output), call.options);
        raw::tutti_reduce(call.group, input, output, op, dst, options, call.work, call.error)
    }
}

pub(crate) fn all_gather(
    input: Option<CBuffer>,
    outputs: Vec<CBuffer>,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (input, list, count) =
            (pointer_to(&input), pointer_to_list(&outputs), outputs.len() as i64);
        raw::tutti_all_gather(call.group, input, list, count, call.options, call.work, call.error)
    }
}

pub(crate) fn all_gather_into_tensor(
    input: Option<CBuffer>,
    output: CBuffer,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, input, options) = (call.group, pointer_to(&input), call.options);
        raw::tutti_all_gather_into_tensor(group, input, &output, options, call.work, call.error)
    }
}

pub(crate) fn gather(
    input: Option<CBuffer>,
    outputs: Vec<CBuffer>,
    dst: i32,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (input, list, count) =
            (pointer_to(&input), pointer_to_list(&outputs), outputs.len() as i64);
        let (group, options) = (call.group, call.options);
        raw::tutti_gather(group, input, list, count, dst, options, call.work, call.error)
    }
}

pub(crate) fn scatter(
    inputs: Vec<CBuffer>,
    output: Option<CBuffer>,
    src: i32,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (list, count, output) =
            (pointer_to_list(&inputs), inputs.len() as i64, pointer_to(&output));
        let (group, options) = (call.group, call.options);
        raw::tutti_scatter(group, list, count, output, src, options, call.work, call.error)
    }
}

pub(crate) fn reduce_scatter(
    inputs: Vec<CBuffer>,
    output: CBuffer,
    op: ReduceOp,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (list, count, options) = (pointer_to_list(&inputs), inputs.len() as i64, call.options);
        let (group, work, error) = (call.group, call.work, call.error);
        raw::tutti_reduce_scatter(group, list, count, &output, op, options, work, error)
    }
}

pub(crate) fn reduce_scatter_tensor(
    input: CBuffer,
    output: CBuffer,
    op: ReduceOp,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options, work) = (call.group, call.options, call.work);
        raw::tutti_reduce_scatter_tensor(group, &input, &output, op, options, work, call.error)
    }
}

pub(crate) fn all_to_all(
    inputs: Vec<CBuffer>,
    outputs: Vec<CBuffer>,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (from, from_count) = (pointer_to_list(&inputs), inputs.len() as i64);
        let (into, into_count) = (pointer_to_list(&outputs), outputs.len() as i64);
        let (group, options, work) = (call.group, call.options, call.work);
        raw::tutti_all_to_all(group, from, from_count, into, into_count, options, work, call.error)
    }
}

/// How many elements each piece of a buffer has; nothing: equal pieces.
pub(crate) type Splits = Option<Vec<i64>>;

pub(crate) fn splits(sizes: Option<&[usize]>) -> Splits {
    sizes.map(|sizes| sizes.iter().map(|&size| i64::try_from(size).unwrap_or(-1)).collect())
}

fn pointer_to_splits(sizes: &Splits) -> (*const i64, i64) {
    sizes.as_ref().map_or((null(), 0), |sizes| (sizes.as_ptr(), sizes.len() as i64))
}

pub(crate) fn all_to_all_single(
    input: Option<CBuffer>,
    input_splits: Splits,
    output: CBuffer,
    output_splits: Splits,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (from, (sizes, count)) = (pointer_to(&input), pointer_to_splits(&input_splits));
        let (out_sizes, out_count) = pointer_to_splits(&output_splits);
        raw::tutti_all_to_all_single(
            call.group,
            from,
            sizes,
            count,
            &output,
            out_sizes,
            out_count,
            call.options,
            call.work,
            call.error,
        )
    }
}

pub(crate) fn barrier() -> impl FnOnce(&Call) -> Status {
    |call| unsafe { raw::tutti_barrier(call.group, call.options, call.work, call.error) }
}

pub(crate) fn send(buffer: CBuffer, dst: i32, tag: i32) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options) = (call.group, call.options);
        raw::tutti_send(group, &buffer, dst, tag, options, call.work, call.error)
    }
}

/// `out_src` is NULL where there is a work.
pub(crate) fn recv(
    buffer: CBuffer,
    src: i32,
    tag: i32,
    out_src: *mut i32,
) -> impl FnOnce(&Call) -> Status {
    move |call| unsafe {
        let (group, options) = (call.group, call.options);
        raw::tutti_recv(group, &buffer, src, tag, options, out_src, call.work, call.error)
    }
}

/// The source of a message for C: -1 is any rank.
pub(crate) fn c_source(src: crate::point_to_point::Source) -> Result<i32> {
    match src {
        crate::point_to_point::Source::Any => Ok(-1),
        crate::point_to_point::Source::Rank(rank) => crate::error::c_int(rank, "src"),
    }
}
