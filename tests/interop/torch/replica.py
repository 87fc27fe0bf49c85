"""A replica in C (replica_peer.c) of a job of DistributedDataParallel over backend tutti: all ranks have
the right gradients, of the same bits; buffers are those of rank 0; a death and a module that differs
are told on either side.

    replica.py PEER [SEED]      PEER: the program tutti_torch_replica_peer
"""

import inspect
import os
import signal
import subprocess
import sys
import time
import zlib

os.environ.setdefault("USE_LIBUV", "0")
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from deaths import free_port, longest_s
from reducer import draw_at, shuffled

SHAPES = [(20, 35), (6,), (50, 100), (33,), (7, 9), (), (30, 40), (0, 5), (8,), (8, 8), (64,), (3, 3)]
FROZEN = (9,)
BUFFERS = [(5,), (), (7,)]
UNUSED_BY_ALL = 4
DTYPES = {8: torch.float16, 9: torch.bfloat16, 10: torch.float32, 11: torch.float64}
# name: passes, synchronised every, find_unused_parameters, static_graph, bytes of a bucket (0: PyTorch's),
# buffers are sent (2: init_sync is False), dtypes, gradient_as_bucket_view
CASES = {
    "plain": (6, 1, 0, 0, 4096, 1, (10,), 0),
    "bucket views": (6, 1, 0, 0, 4096, 1, (10, 11), 1),
    "dtypes": (6, 1, 0, 0, 2000, 1, (10, 9, 11), 0),
    "float16": (4, 1, 0, 0, 1000, 0, (8,), 0),
    "bfloat16": (4, 1, 0, 0, 0, 1, (9,), 1),
    "PyTorch's buckets": (5, 1, 0, 0, 0, 1, (10,), 0),
    "no_sync": (12, 3, 0, 0, 4096, 1, (10,), 0),
    "no_sync, views": (9, 3, 0, 0, 4096, 1, (10,), 1),
    "unused": (30, 1, 1, 0, 4096, 1, (10, 11), 0),
    "unused, views": (30, 1, 1, 0, 4096, 0, (10,), 1),
    "unused, no_sync": (20, 2, 1, 0, 4096, 1, (10,), 0),
    "unused, PyTorch's buckets": (10, 1, 1, 0, 0, 1, (10,), 0),
    "no init_sync": (3, 1, 0, 0, 4096, 2, (10,), 0),
    "static graph": (6, 1, 0, 1, 4096, 1, (10, 11), 0),
    "static graph, views": (6, 1, 0, 1, 4096, 1, (10,), 1),
}
if "init_sync" not in inspect.signature(DistributedDataParallel).parameters:
    del CASES["no init_sync"]  # PyTorch 2.6


class Net(torch.nn.Module):
    """A sum whose gradients are the drawn numbers, arriving in the drawn order."""

    def __init__(self, seed, rank, case):
        super().__init__()
        self.seed, self.rank, self.case = seed, rank, case
        dtypes = case[6]
        self.weights = torch.nn.ParameterList(
            torch.full(shape, rank + 1.0 + i, dtype=DTYPES[dtypes[i % len(dtypes)]])
            for i, shape in enumerate(SHAPES))
        frozen = torch.full(FROZEN, rank + 1.0 + len(SHAPES))
        self.frozen = torch.nn.ParameterList([torch.nn.Parameter(frozen, requires_grad=False)])
        for i, shape in enumerate(BUFFERS):
            dtype = torch.float32 if shape else torch.int64
            value = rank + 2 + len(SHAPES) + i
            self.register_buffer(f"buffer{i}", torch.full(shape, value, dtype=dtype))

    def uses(self, step, parameter):
        if self.case[3]:
            return parameter != UNUSED_BY_ALL
        if not self.case[2] or parameter == step % len(SHAPES):
            return True
        return bool(int(draw_at(self.seed, 2000 + self.rank, step, parameter)) & 1)

    def forward(self, step):
        loss = torch.zeros((), dtype=torch.float64)
        # The layer that is computed first is differentiated last.
        for i in reversed(shuffled(self.seed, len(SHAPES), 3000 + self.rank, step)):
            if not self.uses(step, i):
                continue
            weight = self.weights[i]
            drawn = draw_at(self.seed, 1000 + self.rank * 100 + i, step, numpy.arange(weight.numel()))
            numbers = (drawn >> numpy.uint64(58)).astype(numpy.float64) / 32 - 1
            gradient = torch.tensor(numbers, dtype=weight.dtype).view_as(weight)
            loss = loss + (weight * gradient).sum().double()
        return loss


def check_bits(net):
    """The gradients have the same bits on all ranks; a checksum of 0 stands for none."""
    own = torch.zeros(len(SHAPES), dtype=torch.int64)
    for i, weight in enumerate(net.weights):
        if weight.grad is not None:
            own[i] = zlib.crc32(weight.grad.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    others = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(others, own)
    for rank, one in enumerate(others):
        assert torch.equal(one, own), f"rank {rank} has other gradients: {one} and {own}"


def train(net, model, rank, case, dies):
    passes, every, _, _, _, sends, _, _ = case
    for step in range(passes):
        for one in net.buffers():
            one.fill_(10 * step + rank + 1)
        synchronises = (step + 1) % every == 0
        if dies and step == 3:
            net.weights[5].register_hook(lambda _: die(rank))
        if synchronises:
            loss = model(step)
            loss.backward()
        else:
            with model.no_sync():
                model(step).backward()
        from_root = sends and step % every == 0
        for one in net.buffers():
            assert (one == 10 * step + (0 if from_root else rank) + 1).all(), (step, one)
        if synchronises:
            check_bits(net)
            for one in net.weights:
                one.grad = None


def report(*words):
    os.write(1, (" ".join(map(str, words)).replace("\n", " ") + "\n").encode())


def die(rank):
    report("died", rank, time.monotonic(), "-")
    os.kill(os.getpid(), signal.SIGKILL)


def torch_rank(rank, size, port, seed, role, case):
    torch.set_num_threads(1)
    dist.init_process_group("tutti", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    _, _, find_unused, static_graph, cap, sends, _, views = case
    net = Net(seed, rank, case)
    told = "TUTTI_OK"
    try:
        model = DistributedDataParallel(
            net, find_unused_parameters=bool(find_unused), static_graph=bool(static_graph),
            bucket_cap_mb=cap / 2**20 if cap else None, broadcast_buffers=bool(sends),
            gradient_as_bucket_view=bool(views), **({"init_sync": False} if sends == 2 else {}))
        states = list(net.parameters()) + (list(net.buffers()) if sends else [])
        for i, one in enumerate(states):
            assert (one == 1 + i + (rank if sends == 2 else 0)).all(), (i, one)
        train(net, model, rank, case, role == "die")
    except (dist.DistError, RuntimeError) as error:
        told = f"{type(error).__name__} {error}"
    report("told", rank, time.monotonic(), told)
    if told == "TUTTI_OK":
        dist.destroy_process_group()


def start_torch(output, *arguments):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(output, 1)
            torch_rank(*arguments)
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return child


def run(peer, world, seed, case, roles):
    """The lines that the ranks print: words, of which the last is a text; and how they ended."""
    port, children, peers = free_port(), {}, {}
    source, output = os.pipe()
    passes, every, find_unused, static_graph, cap, sends, dtypes, _ = case
    for rank, (kind, role) in enumerate(zip(world, roles)):
        if kind == "p":
            children[rank] = start_torch(output, rank, len(world), port, seed, role, case)
            continue
        words = (peer, port, rank, len(world), seed, role, passes, every, find_unused, static_graph, cap, sends)
        command = [*map(str, words), ",".join(map(str, dtypes))]
        peers[rank] = subprocess.Popen(command, stdout=output)
    os.close(output)
    with os.fdopen(source) as lines:
        lines = [line.rstrip().split(" ", 3) for line in lines]
    codes = {rank: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for rank, child in children.items()}
    codes.update((rank, one.wait(60)) for rank, one in peers.items())
    for rank, role in enumerate(roles):
        assert codes[rank] == (-signal.SIGKILL if role == "die" else 0), (world, case, codes, lines)
    return lines


def check_case(peer, world, seed, name):
    lines = run(peer, world, seed, CASES[name], ["live"] * len(world))
    assert len(lines) == len(world) and all(line[3] == "TUTTI_OK" for line in lines), (world, name, lines)


def check_death(peer, world, seed, victim):
    roles = ["die" if rank == victim else "live" for rank in range(len(world))]
    lines = run(peer, world, seed, CASES["plain"], roles)
    (died,) = [float(line[2]) for line in lines if line[0] == "died"]
    told = [line for line in lines if line[0] == "told"]
    assert len(told) == len(world) - 1, lines
    for line in told:
        kind = "TUTTI_ERR_PEER_LOST" if world[int(line[1])] == "c" else "DistBackendError"
        assert line[3].startswith(kind) and f"rank {victim} died" in line[3], line
    slowest = max(float(line[2]) - died for line in told)
    assert slowest <= longest_s, lines
    print(f"{world}: the death of rank {victim} is named after {slowest:.2f} s", flush=True)


def check_difference(peer, world, seed, role):
    """A replica with another module: who sees it says so, and the others name a rank."""
    roles = [role if kind == "c" else "live" for kind in world]
    told = {int(line[1]): line[3] for line in run(peer, world, seed, CASES["plain"], roles)}
    assert len(told) == len(world) and "TUTTI_OK" not in told.values(), told
    by_rank = [told[world.index(kind)] for kind in "pc"]
    if role == "count":
        assert "inconsistent 11 params" in by_rank[0], told
        assert "rank" in by_rank[1] and "12 parameters" in by_rank[1], told
    elif world[0] == "p":
        assert "tensors[0] has other sizes or strides" in by_rank[1], told
    else:
        assert "appears not to match sizes" in by_rank[0], told
    print(f"{world}: another {role} of parameters is told", flush=True)


def main():
    peer, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else os.getpid()
    print(f"seed {seed}", flush=True)
    for world in ("pc", "cp", "pcp", "ccp"):
        started = time.monotonic()
        names = [name for name in CASES if len(world) == 2 or "," not in name]
        for name in names:
            check_case(peer, world, seed, name)
        took = time.monotonic() - started
        print(f"{world}: {len(names)} jobs have the same gradients on all ranks, {took:.0f} s", flush=True)
    for world in ("pc", "cp"):
        for role in ("shape", "count"):
            check_difference(peer, world, seed, role)
        for victim in range(len(world)):
            check_death(peer, world, seed, victim)


if __name__ == "__main__":
    main()
