"""Every collective x dtype x op x size, at once and with a work, contiguous and not."""

import torch
import torch.distributed as dist

from values import dtypes, eights, given, ops_of, reduced, same

counts = (0, 1, 17)
mebi = 1 << 20


def strided(tensor):
    """The same values in every other element of something larger."""
    wide = torch.zeros(tensor.numel(), 2, dtype=torch.float32).to(tensor.dtype)
    wide[:, 0] = tensor
    return wide[:, 0]


class Call:
    """One collective: its tensors as a test has them, made anew for each call."""

    def __init__(self, dtype, count, op, is_async, is_strided):
        self.dtype, self.count, self.op = dtype, count, op
        self.is_async, self.is_strided = is_async, is_strided
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.root = count % self.size
        self.checks = []

    def form(self, tensor):
        return strided(tensor) if self.is_strided else tensor

    def of(self, rank, count=None, step=0):
        return given(rank, self.count if count is None else count, self.dtype, step)

    def own(self, count=None, step=0):
        return self.form(self.of(self.rank, count, step))

    def blank(self, count=None):
        return self.form(torch.zeros(self.count if count is None else count, dtype=self.dtype))

    def sum(self, count=None, step=0):
        return reduced(self.op, [self.of(one, count, step) for one in range(self.size)])

    def expect(self, got, wanted):
        self.checks.append((got, wanted))

    def run(self, kind):
        terms = {"async_op": self.is_async}
        work = getattr(self, kind)(terms)
        if self.is_async:
            work.wait()
            assert work.is_completed() and work.is_success()
        for got, wanted in self.checks:
            where = f"{kind} {self.dtype} {self.op} {self.count} async={self.is_async}"
            where += f" strided={self.is_strided} of {self.size}"
            assert same(got, wanted), f"{where}: {got[:5]} instead of {wanted[:5]}"

    def broadcast(self, terms):
        tensor = self.own()
        self.expect(tensor, self.of(self.root))
        return dist.broadcast(tensor, self.root, **terms)

    def all_gather(self, terms):
        outs = [self.blank() for _ in range(self.size)]
        for one, out in enumerate(outs):
            self.expect(out, self.of(one))
        return dist.all_gather(outs, self.own(), **terms)

    def all_gather_uneven(self, terms):
        outs = [self.blank(self.count + one) for one in range(self.size)]
        for one, out in enumerate(outs):
            self.expect(out, self.of(one, self.count + one))
        return dist.all_gather(outs, self.own(self.count + self.rank), **terms)

    def all_gather_into_tensor(self, terms):
        out = self.blank(self.count * self.size)
        self.expect(out, torch.cat([self.of(one) for one in range(self.size)]))
        return dist.all_gather_into_tensor(out, self.own(), **terms)

    def gather(self, terms):
        outs = [self.blank() for _ in range(self.size)] if self.rank == self.root else None
        for one, out in enumerate(outs or []):
            self.expect(out, self.of(one))
        return dist.gather(self.own(), outs, self.root, **terms)

    def scatter(self, terms):
        ins = None
        if self.rank == self.root:
            ins = [self.form(self.of(one, step=1)) for one in range(self.size)]
        out = self.blank()
        self.expect(out, self.of(self.rank, step=1))
        return dist.scatter(out, ins, self.root, **terms)

    def all_to_all(self, terms):
        ins = [self.own(self.count + one, one) for one in range(self.size)]
        outs = [self.blank(self.count + self.rank) for _ in range(self.size)]
        for one, out in enumerate(outs):
            self.expect(out, self.of(one, self.count + self.rank, self.rank))
        return dist.all_to_all(outs, ins, **terms)

    def all_to_all_single(self, terms):
        out = self.blank(self.count * self.size)
        parts = [self.of(one).repeat(self.size) for one in range(self.size)]
        own = slice(self.rank * self.count, (self.rank + 1) * self.count)
        self.expect(out, torch.cat([part[own] for part in parts]))
        return dist.all_to_all_single(out, self.form(parts[self.rank]), **terms)

    def uneven(self, terms):
        """Rank r gives r + s + count rows of two to rank s."""
        splits = [[one + to + self.count for to in range(self.size)] for one in range(self.size)]
        rows = [sum(row) for row in splits]
        parts = [self.of(one, 2 * rows[one]).reshape(-1, 2) for one in range(self.size)]
        takes = [splits[one][self.rank] for one in range(self.size)]
        out = torch.zeros(sum(takes), 2, dtype=self.dtype)
        wanted = [parts[one].split(splits[one])[self.rank] for one in range(self.size)]
        self.expect(out, torch.cat(wanted))
        return dist.all_to_all_single(out, parts[self.rank], takes, splits[self.rank], **terms)

    def all_reduce(self, terms):
        tensor = self.own()
        self.expect(tensor, self.sum())
        return dist.all_reduce(tensor, getattr(dist.ReduceOp, self.op), **terms)

    def reduce(self, terms):
        tensor = self.own()
        self.expect(tensor, self.sum() if self.rank == self.root else self.of(self.rank))
        return dist.reduce(tensor, self.root, getattr(dist.ReduceOp, self.op), **terms)

    def reduce_scatter(self, terms):
        ins = [self.own(self.count + one, one) for one in range(self.size)]
        out = self.blank(self.count + self.rank)
        self.expect(out, self.sum(self.count + self.rank, self.rank))
        return dist.reduce_scatter(out, ins, getattr(dist.ReduceOp, self.op), **terms)

    def reduce_scatter_tensor(self, terms):
        out = self.blank()
        whole = self.sum(self.count * self.size)
        self.expect(out, whole[self.rank * self.count : (self.rank + 1) * self.count])
        whole = self.own(self.count * self.size)
        return dist.reduce_scatter_tensor(out, whole, getattr(dist.ReduceOp, self.op), **terms)


moves = "broadcast all_gather all_gather_uneven all_gather_into_tensor gather scatter all_to_all "
moves = (moves + "all_to_all_single uneven").split()
reductions = "all_reduce reduce reduce_scatter reduce_scatter_tensor".split()


def every_call():
    """kind, dtype, op, count."""
    for count in counts:
        for dtype in dtypes + eights:
            for kind in moves:
                yield kind, dtype, "SUM", count
        for dtype in dtypes:
            for kind in reductions:
                for op in ops_of(dtype):
                    yield kind, dtype, op, count
    for dtype in (torch.int8, torch.float32, torch.bfloat16, torch.complex128):
        for kind in moves + reductions:
            yield kind, dtype, "SUM", mebi


def test_every_collective():
    for kind, dtype, op, count in every_call():
        for is_async in (False, True):
            for is_strided in (False, True) if count < mebi else (False,):
                Call(dtype, count, op, is_async, is_strided).run(kind)


def test_premul_sum():
    size, rank = dist.get_world_size(), dist.get_rank()
    for factor in (0.5, torch.tensor([2.0])):
        op = torch._C._distributed_c10d._make_nccl_premul_sum(factor)
        tensor = given(rank, 17, torch.float64)
        dist.all_reduce(tensor, op)
        wanted = reduced("SUM", [given(one, 17, torch.float64) for one in range(size)])
        assert same(tensor, wanted * float(factor))


def test_several_in_one_call():
    size, rank = dist.get_world_size(), dist.get_rank()
    for is_async in (False, True):
        tensors = [given(rank, n, torch.float32, n) for n in (0, 1, 17)]
        with dist._coalescing_manager(async_ops=is_async) as manager:
            for one in tensors:
                dist.all_reduce(one)
        if is_async:
            manager.wait()
        for one, n in zip(tensors, (0, 1, 17)):
            assert same(one, reduced("SUM", [given(r, n, torch.float32, n) for r in range(size)]))
        outs = [torch.zeros(n * size) for n in (1, 17)]
        with dist._coalescing_manager(async_ops=is_async) as manager:
            for out, n in zip(outs, (1, 17)):
                dist.all_gather_into_tensor(out, given(rank, n, torch.float32))
        if is_async:
            manager.wait()
        for out, n in zip(outs, (1, 17)):
            assert same(out, torch.cat([given(r, n, torch.float32) for r in range(size)]))
        parts = [torch.zeros(n) for n in (1, 17)]
        with dist._coalescing_manager(async_ops=is_async) as manager:
            for out, n in zip(parts, (1, 17)):
                dist.reduce_scatter_tensor(out, given(rank, n * size, torch.float32))
        if is_async:
            manager.wait()
        for out, n in zip(parts, (1, 17)):
            whole = reduced("SUM", [given(r, n * size, torch.float32) for r in range(size)])
            assert same(out, whole[rank * n : (rank + 1) * n])


def test_kinds_that_are_mixed_in_one_call():
    size, rank = dist.get_world_size(), dist.get_rank()
    device = torch.device("cpu")
    tensor, other = given(rank, 5, torch.float32), given(rank, 7, torch.int64)
    with dist._coalescing_manager(device=device):
        dist.broadcast(tensor, size - 1)
        dist.reduce(other, 0)
    assert same(tensor, given(size - 1, 5, torch.float32))
    if rank == 0:
        assert same(other, reduced("SUM", [given(r, 7, torch.int64) for r in range(size)]))


def test_barriers():
    for is_async in (False, True):
        work = dist.barrier(async_op=is_async)
        if work is not None:
            work.wait()
    dist.distributed_c10d._get_default_group().monitored_barrier()


def test_all_gather_coalesced():
    size, rank = dist.get_world_size(), dist.get_rank()
    counts = (0, 3, 17)
    for is_async in (False, True):
        outs = [[torch.zeros(n) for n in counts] for _ in range(size)]
        own = [given(rank, n, torch.float32) for n in counts]
        work = dist.all_gather_coalesced(outs, own, async_op=is_async)
        if is_async:
            work.wait()
        for one, of_rank in enumerate(outs):
            for out, n in zip(of_rank, counts):
                assert same(out, given(one, n, torch.float32))
