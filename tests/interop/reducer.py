"""Has PyTorch's DistributedDataParallel, over Gloo, reduce what reducer_peer.c reduced, and
compares: reducer.py WORK SEED RANKS. The tables, and the numbers that the seed determines, are those
of reducer_peer.c."""

import os
import sys
from unittest import mock

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power_sgd
from torch.nn.parallel import DistributedDataParallel

ROWS = (20, 1, 50, 33, 7, 30, 8, 64, 3)
COLUMNS = (35, 1, 100, 1, 9, 40, 8, 1, 3)
UNUSED_BY_ALL = 4
MODELS = 200
CAP = 8192
# name: passes, find_unused_parameters, static_graph, synchronised every, rank of PowerSGD,
# the greatest difference. That of PowerSGD grows from pass to pass, as small differences turn the
# directions that the next pass begins with.
CASES = {
    "plain": (50, False, False, 1, 0, 1e-6),
    "no_sync": (60, False, False, 3, 0, 1e-6),
    "unused": (1000, True, False, 1, 0, 1e-6),
    "static_graph": (50, False, True, 1, 0, 1e-6),
    "power_sgd_rank_1": (12, False, False, 1, 1, 1e-3),
    "power_sgd_rank_4": (12, False, False, 1, 4, 1e-3),
}
MASK = 2**64 - 1
numpy.seterr(over="ignore")  # the random numbers are those of unsigned C integers


def draw_at(seed, whose, step, what):
    """support/draw.h; `what` may be an array."""
    base = (seed + whose * 0x9E3779B97F4A7C15 + step * 0xBF58476D1CE4E5B9) & MASK
    x = numpy.uint64(base) + numpy.asarray(what, dtype=numpy.uint64)
    for _ in range(3):
        x = (x ^ (x >> numpy.uint64(31))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(29))


def mix_seed(seed, number):
    """impl/reducer/low_rank.cpp; `number` may be an array."""
    number = numpy.asarray(number, dtype=numpy.uint64)
    x = numpy.uint64(seed) + (number + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


def directions(seed, parameter, iteration, length, rank):
    """The columns that tutti draws for a matrix."""
    columns = []
    of_matrix = mix_seed(mix_seed(seed, parameter), iteration)
    for column in range(rank):
        bits = mix_seed(mix_seed(of_matrix, column), numpy.arange(length))
        parts = [(bits >> numpy.uint64(16 * i)) & numpy.uint64(0xFFFF) for i in range(4)]
        columns.append((sum(parts).astype(numpy.float64) - 131070) / 65536)
    return torch.tensor(numpy.stack(columns, 1), dtype=torch.float32)


def shuffled(seed, count, whose, step):
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = int(draw_at(seed, whose, step, i)) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


class Model(torch.nn.Module):
    """A sum whose gradients are the drawn numbers, arriving in the drawn order."""

    def __init__(self, seed, rank, find_unused, static_graph):
        super().__init__()
        self.seed, self.rank = seed, rank
        self.find_unused, self.static_graph = find_unused, static_graph
        self.weights = torch.nn.ParameterList(
            torch.zeros(rows, columns) if columns > 1 else torch.zeros(rows)
            for rows, columns in zip(ROWS, COLUMNS))

    def uses(self, step, parameter):
        if self.static_graph:
            return parameter != UNUSED_BY_ALL
        if not self.find_unused or parameter == step % len(ROWS):
            return True
        return bool(int(draw_at(self.seed, 2000 + self.rank, step, parameter)) & 1)

    def forward(self, step):
        loss = torch.zeros(())
        # The layer that is computed first is differentiated last.
        for i in reversed(shuffled(self.seed, len(ROWS), 3000 + self.rank, step)):
            if not self.uses(step, i):
                continue
            weight = self.weights[i]
            drawn = draw_at(self.seed, 1000 + self.rank * 100 + i, step,
                            numpy.arange(weight.numel()))
            numbers = (drawn >> numpy.uint64(40)).astype(numpy.float64) / 2**23 - 1
            gradient = torch.tensor(numbers.astype(numpy.float32)).view_as(weight)
            loss = loss + (weight * gradient).sum()
        return loss


def compress(ddp, model, seed, rank):
    """torch's hook; only its random numbers are tutti's."""
    state = power_sgd.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=2)
    indices = {id(weight): i for i, weight in enumerate(model.weights)}

    def hook(state, bucket):
        matrices = []
        for parameter in bucket.parameters():
            i = indices[id(parameter)]
            of_matrix = min(ROWS[i], COLUMNS[i], rank)
            if power_sgd._should_compress(ROWS[i], COLUMNS[i], of_matrix, 2)[0]:
                matrices.append(i)

        def randn(*shape, **_):
            return directions(seed, matrices.pop(0), state.iter, *shape[-2:]).view(shape)

        with mock.patch.object(torch, "randn", randn):
            return power_sgd.powerSGD_hook(state, bucket)

    ddp.register_comm_hook(state, hook)


def run_case(work, seed, rank, name):
    passes, find_unused, static_graph, every, power_sgd_rank, most = CASES[name]
    model = Model(seed, rank, find_unused, static_graph)
    # torch's hook waits on the two threads on which Gloo completes calls: two buckets block each
    # other.
    cap = 25 if power_sgd_rank else CAP / 2**20
    ddp = DistributedDataParallel(model, bucket_cap_mb=cap, static_graph=static_graph,
                                  find_unused_parameters=find_unused)
    if power_sgd_rank:
        compress(ddp, model, seed, power_sgd_rank)
    size = sum(rows * columns + 1 for rows, columns in zip(ROWS, COLUMNS))
    results = numpy.fromfile(f"{work}/{name}.{rank}", dtype=numpy.float32).reshape(-1, size)
    assert len(results) == passes // every, f"{name}: {len(results)} passes of tutti"
    off = 0.0
    for step in range(passes):
        if (step + 1) % every:
            with ddp.no_sync():
                ddp(step).backward()
            continue
        ddp(step).backward()
        numbers = results[step // every]
        for i, weight in enumerate(model.weights):
            is_used, numbers = numbers[0], numbers[1:]
            where = f"{name}, rank {rank}, pass {step}, parameter {i}"
            assert (weight.grad is not None) == bool(is_used), f"{where}: used by one only"
            if weight.grad is not None:
                ours = numbers[:weight.numel()]
                off = max(off, float(abs(weight.grad.numpy().ravel() - ours).max()))
                assert off <= most, f"{where}: {off} apart"
            numbers = numbers[weight.numel():]
            weight.grad = None
    return off


def run_rank(rank, work, seed, ranks):
    dist.init_process_group("gloo", init_method=f"file://{work}/store", rank=rank,
                            world_size=ranks)
    for name in CASES:
        off = torch.tensor(run_case(work, seed, rank, name))
        dist.all_reduce(off, dist.ReduceOp.MAX)
        if rank == 0:
            print(f"{name}: {CASES[name][0]} passes, at most {off.item():.2g} apart", flush=True)
    dist.destroy_process_group()


def buckets_of(line):
    return [[int(one) for one in bucket.split(",")] for bucket in line.split(" ")]


def compare_buckets(work, seed):
    dtypes = (torch.float32, torch.float16, torch.float64, torch.complex64)
    with open(f"{work}/buckets.0", encoding="ascii") as file:
        lines = file.read().splitlines()
    assert len(lines) == 2 * MODELS
    several = 0
    for model in range(MODELS):
        count = 1 + int(draw_at(seed, 4000, model, 0)) % 40
        caps = [1 + int(draw_at(seed, 4001, model, 0)) % 8192,
                1 + int(draw_at(seed, 4002, model, 0)) % 32768]
        tensors = [torch.zeros(int(draw_at(seed, 4003, model, i)) % 3000,
                               dtype=dtypes[int(draw_at(seed, 4004, model, i)) % 4])
                   for i in range(count)]
        orders = (list(reversed(range(count))), shuffled(seed, count, 5000, model))
        for line, order in zip(lines[2 * model:], orders):
            wanted, limits = dist._compute_bucket_assignment_by_size(
                [tensors[i] for i in order], caps, [False] * count, order)
            # Buckets that are not full come last in both, in PyTorch in the order of a hash table.
            full = [bucket for bucket, limit in zip(wanted, limits)
                    if sum(tensors[i].nbytes for i in bucket) >= limit]
            ours = buckets_of(line)
            assert ours[:len(full)] == full and sorted(ours) == sorted(wanted), \
                f"model {model}: {line}, and torch has {wanted}"
            several += len(wanted) > 1
    print(f"buckets: {MODELS} models, {several} of {2 * MODELS} layouts have several", flush=True)


if __name__ == "__main__":
    folder, chosen, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    compare_buckets(folder, chosen)
    multiprocessing.spawn(run_rank, (folder, chosen, size), size)
    print("tutti's reducer and DistributedDataParallel agree")
