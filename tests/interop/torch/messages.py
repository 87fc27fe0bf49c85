"""Messages between two ranks."""

import torch
import torch.distributed as dist

from values import dtypes, eights, given, same


def ring():
    size, rank = dist.get_world_size(), dist.get_rank()
    return rank, (rank + 1) % size, (rank - 1) % size


def test_messages_of_every_dtype():
    rank, after, before = ring()
    for dtype in dtypes + eights:
        for count in (0, 1, 17):
            sent = dist.isend(given(rank, count, dtype), after, tag=count)
            got = torch.zeros(count, dtype=dtype)
            dist.irecv(got, before, tag=count).wait()
            sent.wait()
            assert same(got, given(before, count, dtype)), (dtype, count)


def test_a_strided_tensor_is_received():
    rank, after, before = ring()
    sent = dist.isend(given(rank, 12, torch.float32).reshape(3, 4).t(), after)
    got = torch.zeros(3, 4).t()
    dist.irecv(got, before).wait()
    sent.wait()
    assert same(got, given(before, 12, torch.float32).reshape(3, 4).t())


def test_blocking_messages():
    rank, size = dist.get_rank(), dist.get_world_size()
    if size < 2 or rank > 1:
        return
    tensor = torch.full((1 << 18,), float(rank))
    if rank == 0:
        dist.send(tensor, 1)
        dist.recv(tensor, 1)
    else:
        got = torch.zeros(1 << 18)
        assert dist.recv(got, 0) == 0 and got[-1] == 0
        dist.send(tensor, 0)
    assert tensor[-1] == 1


def test_any_source():
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank != 0:
        dist.send(torch.tensor([rank * 10]), 0, tag=3)
        return
    seen = set()
    for _ in range(size - 1):
        got = torch.zeros(1, dtype=torch.int64)
        source = dist.recv(got, tag=3)
        assert got.item() == source * 10
        seen.add(source)
    assert seen == set(range(1, size))


def test_a_batch():
    rank, after, before = ring()
    out, other = torch.zeros(17), torch.zeros(3)
    ops = [
        dist.P2POp(dist.irecv, out, before),
        dist.P2POp(dist.isend, given(rank, 17, torch.float32), after),
        dist.P2POp(dist.isend, given(rank, 3, torch.float32), after),
        dist.P2POp(dist.irecv, other, before),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert same(out, given(before, 17, torch.float32))
    assert same(other, given(before, 3, torch.float32))
