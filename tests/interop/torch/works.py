"""Works: futures, failures, what is refused, and in which words."""

import datetime
import gc
import time

import torch
import torch.distributed as dist

from values import given, reduced, same, since_2_14


def fails(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), str(error)
        assert "Exception raised from" not in str(error), str(error)
        return error
    raise AssertionError(f"no {kind.__name__} with '{words}'")


def total(count):
    return reduced("SUM", [given(r, count, torch.float32) for r in range(dist.get_world_size())])


def test_a_work_has_its_results():
    tensor = given(dist.get_rank(), 17, torch.float32)
    work = dist.all_reduce(tensor, async_op=True)
    while not work.is_completed():
        time.sleep(0)  # lets other threads have Python's lock
    assert work.is_success()
    assert same(work.result()[0], total(17)) and work.result()[0].data_ptr() == tensor.data_ptr()
    work.wait(datetime.timedelta(seconds=5))
    work.synchronize()


def test_futures_complete_without_a_wait():
    for count in (0, 17, 1 << 18):
        for is_strided in (False, True):
            tensor = given(dist.get_rank(), count, torch.float32)
            if is_strided:
                tensor = tensor.reshape(count, 1).repeat(1, 2)[:, 0]
            work = dist.all_reduce(tensor, async_op=True)
            doubled = work.get_future().then(lambda done: done.value()[0] * 2)
            assert same(doubled.wait(), total(count) * 2)
            assert work.is_completed() and same(tensor, total(count))


def test_a_finished_work_has_a_future():
    group = dist.distributed_c10d._get_default_group()
    options = dist.AllreduceOptions()
    if not hasattr(options, "asyncOp"):
        return  # older versions have no calls without a work
    options.asyncOp = False
    tensor = given(dist.get_rank(), 3, torch.float32)
    work = group.allreduce([tensor], options)
    assert work.is_completed() and same(work.get_future().wait()[0], total(3))


def test_a_work_that_nobody_keeps_ends():
    tensors = [given(dist.get_rank(), n, torch.float32) for n in (1, 17, 1 << 18)]
    wide = torch.ones(1 << 16, 2)
    for tensor in tensors + [wide[:, 0]]:
        dist.all_reduce(tensor, async_op=True)
    gc.collect()
    dist.barrier()
    for tensor in tensors:
        assert same(tensor, total(tensor.numel()))
    while wide[0, 0] != dist.get_world_size() or wide[-1, 0] != dist.get_world_size():
        time.sleep(0)  # it is copied back by another thread
    assert wide[:, 1].eq(1).all()


def test_works_overlap():
    tensors = [given(dist.get_rank(), 1 << n, torch.float32) for n in range(17)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    for tensor in tensors:
        assert same(tensor, total(tensor.numel()))


@since_2_14
def test_sequence_numbers_count_collectives():
    group = dist.distributed_c10d._get_default_group()
    before = group._get_sequence_number_for_group()
    dist.barrier()
    dist.all_reduce(torch.ones(1), async_op=True).wait()
    assert group._get_sequence_number_for_group() == before + 2


def test_what_is_refused():
    size = dist.get_world_size()
    eight = torch.zeros(3).to(torch.float8_e4m3fn)
    fails(TypeError, "Float8_e4m3fn", lambda: dist.all_reduce(eight))
    odd = torch.zeros(2 * size + 1)
    out = torch.zeros(2)
    fails(ValueError, "split", lambda: dist.all_to_all_single(odd, odd.clone(), [1], [1]))
    fails(ValueError, "input.count", lambda: dist.reduce_scatter_tensor(out, odd))
    fails(ValueError, "AVG", lambda: dist.all_reduce(torch.ones(2).int(), dist.ReduceOp.AVG))
    group = dist.distributed_c10d._get_default_group()
    two = [torch.zeros(1), torch.zeros(1)]
    fails(ValueError, "takes one tensor", lambda: group.allreduce(two, dist.AllreduceOptions()))
    dist.barrier()


def test_views_and_parameters():
    rank, size = dist.get_rank(), dist.get_world_size()
    parameter = torch.nn.Parameter(torch.full((3, 4), float(rank)))
    dist.broadcast(parameter.t(), size - 1)
    assert parameter.eq(size - 1).all()
    conjugate = torch.complex(torch.ones(3), torch.full((3,), float(rank))).conj()
    lazy = conjugate.imag
    assert lazy.is_neg()
    outs = [torch.zeros(3) for _ in range(size)]
    dist.all_gather(outs, lazy)
    for one, out in enumerate(outs):
        assert out.eq(-one).all(), out


@since_2_14
def test_a_profile_names_the_calls():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        dist.all_reduce(torch.ones(3))
        dist.all_reduce(torch.ones(3), async_op=True).wait()
    named = [one for one in profile.events() if one.name == "tutti:all_reduce"]
    assert len(named) == 2, [one.name for one in profile.events()]
