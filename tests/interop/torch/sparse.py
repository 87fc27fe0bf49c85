"""Sums of sparse tensors, at once and in the background."""

import datetime
import time

import torch
import torch.distributed as dist

import tutti_torch

from values import version
from works import fails


def given(rank, entries, dense=(), dtype=torch.float32):
    places = (torch.arange(2 * entries).reshape(2, entries) * 7 + rank) % 5
    values = torch.ones(entries, *dense, dtype=dtype) * (rank + 1)
    return torch.sparse_coo_tensor(places, values, (5, 5, *dense))


def total(entries):
    return sum(given(rank, entries).to_dense() for rank in range(dist.get_world_size()))


def test_sparse_tensors_are_summed():
    rank = dist.get_rank()
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int8, torch.bfloat16):
        for dense in ((), (3,), (2, 0)):
            for entries in (0, 1, 4 + rank, 10 * rank):
                for is_async in (False, True):
                    sparse = given(rank, entries, dense, dtype)
                    wanted = sparse.to_dense()
                    dist.all_reduce(wanted)
                    work = dist.all_reduce(sparse, async_op=is_async)
                    if is_async:
                        work.wait()
                        assert work.is_success() and work.result()[0] is not None
                    assert sparse.is_coalesced() and sparse.dtype == dtype
                    assert sparse.to_dense().equal(wanted), (dtype, dense, entries)


def test_many_entries():
    sparse = torch.eye(300).to_sparse() * (dist.get_rank() + 1)
    dist.all_reduce(sparse)
    size = dist.get_world_size()
    assert sparse.to_dense().equal(torch.eye(300) * (size * (size + 1) // 2))


def test_sums_of_scalars():
    scalar = torch.tensor(2.0).to_sparse()
    dist.all_reduce(scalar)
    assert scalar.to_dense().item() == 2 * dist.get_world_size()


def test_a_call_in_the_background_does_not_wait():
    """Rank 0 sends before it waits; the others receive before they call."""
    rank, size = dist.get_rank(), dist.get_world_size()
    sparse, word = given(rank, 7), torch.full((3,), 5.0)
    if rank == 0:
        work = dist.all_reduce(sparse, async_op=True)
        for other in range(1, size):
            dist.send(word, other)
        work.wait()
    else:
        got = torch.zeros(3)
        dist.recv(got, 0)
        assert got.equal(word)
        dist.all_reduce(sparse)
    assert sparse.to_dense().equal(total(7))


def test_other_collectives_run_beside_it():
    rank = dist.get_rank()
    summed = [given(rank, entries) for entries in range(20)]
    works = [dist.all_reduce(one, async_op=True) for one in summed]
    works.append(dist.barrier(async_op=True))
    dense = torch.ones(3)
    dist.all_reduce(dense)
    for work in reversed(works):
        work.wait()
    assert dense.eq(dist.get_world_size()).all()
    for entries, one in enumerate(summed):
        assert one.to_dense().equal(total(entries)), entries


def test_a_future_has_the_sum():
    sparse = given(dist.get_rank(), 9)
    future = dist.all_reduce(sparse, async_op=True).get_future()
    assert future.wait()[0].to_dense().equal(total(9))
    assert sparse.to_dense().equal(total(9))


def test_a_work_that_nobody_keeps_ends():
    sparse = given(dist.get_rank(), 9)
    before = time.monotonic()
    dist.all_reduce(sparse, async_op=True)
    dist.barrier()
    while not sparse.to_dense().equal(total(9)):  # another thread writes it
        assert time.monotonic() < before + 60
        time.sleep(0)


def test_the_timeout_is_of_the_whole_call():
    rank = dist.get_rank()
    if dist.get_world_size() == 1:
        return
    group = dist.new_group(timeout=datetime.timedelta(milliseconds=400))
    before = time.monotonic()
    if rank == 0:
        work = dist.all_reduce(given(rank, 3), group=group, async_op=True)
        assert time.monotonic() < before + 0.3
        fails(dist.DistBackendError, "Timed out", work.wait)
        assert not work.is_success()
        fails(dist.DistBackendError, "Timed out", lambda: work.get_future().wait())
        assert time.monotonic() < before + 2
    dist.barrier()


def test_what_is_refused():
    sparse = torch.ones(2, 2).to_sparse()
    fails(NotImplementedError, "to_dense()", lambda: dist.all_reduce(sparse, dist.ReduceOp.MAX))
    fails(NotImplementedError, "Sparse", lambda: dist.broadcast(sparse, 0))  # says PyTorch
    complex_ones = torch.ones(2, 2, dtype=torch.complex64).to_sparse()
    group = dist.distributed_c10d._get_default_group()
    options = dist.AllreduceOptions()
    fails(NotImplementedError, "complex", lambda: group.allreduce([complex_ones], options))
    # PyTorch 2.6 cannot make the view that it wants to give the backend.
    refusal = "complex" if version >= (2, 14) else "aten::view_as_real"
    fails(NotImplementedError, refusal, lambda: dist.all_reduce(complex_ones))
    rows = torch.ones(2, 2).to_sparse_csr()
    fails(NotImplementedError, "SparseCsr", lambda: dist.all_reduce(rows))


def test_tensors_that_differ():
    rank = dist.get_rank()
    if dist.get_world_size() == 1:
        return
    several = [
        torch.ones(2, 3 + rank).to_sparse(),
        torch.ones([1] * (1 + rank)).to_sparse(),
        torch.ones(2, 3).to_sparse(1 if rank == 0 else 2),
        torch.ones(2, dtype=torch.int64 if rank == 0 else torch.float64).to_sparse(),
    ]
    for one in several:
        fails(ValueError, "on rank", lambda: dist.all_reduce(one))
        work = dist.all_reduce(one, async_op=True)
        fails(ValueError, "on rank", work.wait)
        assert work.is_completed() and not work.is_success()
        work = dist.all_reduce(one, async_op=True)
        fails(ValueError, "on rank", lambda: work.get_future().wait())
    for wrong in (b"", b"x" * 31, b"\xff" * 100):
        if rank == 0:
            sparse = torch.ones(2, 2).to_sparse()
            fails(ValueError, "on rank 1 ", lambda: dist.all_reduce(sparse))
        else:
            backend = dist.group.WORLD._get_backend(torch.device("cpu"))
            tutti_torch._native.all_gather_bytes(backend, wrong)
    dist.barrier()
