"""Are ranks of tutti's and of PyTorch's one process group over Gloo? See gloo."""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from support.peers import hold_port, skip_without_pytorch, test_seed

tests = pathlib.Path(__file__).resolve().parent.parent
longest_s = 240
together = 10  # schedules that run in one world, one after the other
dtypes = "int8 uint8 int32 int64 float32 float64 complex64 complex128 bool".split()
moves = "broadcast all_gather all_gather_into_tensor gather scatter".split()
moves += "all_to_all all_to_all_single uneven message any_source".split()
reductions = "all_reduce reduce reduce_scatter reduce_scatter_tensor coalesced".split()
integer_ops = "SUM PRODUCT MIN MAX BAND BOR BXOR".split()
# Which ranks are PyTorch's, by the number of ranks: it serves the store, or tutti does.
worlds = ["pt", "tp", "ptt", "tpp", "ptp", "pttt", "tppp", "tptp"]


def ops_of(dtype):
    if dtype.startswith("complex"):
        return ["SUM", "AVG"]
    return ["SUM", "AVG", "PRODUCT", "MIN", "MAX"] if dtype.startswith("float") else integer_ops


def is_known(kind, dtype, count):
    """What PyTorch does not refuse."""
    if kind == "any_source" and count == 0:
        return False
    return kind != "gather" or not dtype.startswith("complex")


class Plan:
    """Lines: number, kind, dtype, op, count, root, group, 1 if tutti's calls have a work + 2 if
    PyTorch's are async; or number, "group" and ranks."""

    def __init__(self):
        self.lines, self.sizes = [], []

    def group(self, ranks):
        self.lines.append(f"{len(self.lines)} group " + " ".join(map(str, ranks)))
        self.sizes.append(len(ranks))

    def call(self, kind, dtype, op, count, root, group=0, is_async=0):
        self.lines.append(f"{len(self.lines)} {kind} {dtype} {op} {count} {root} {group} {is_async}")


def matrix(size):
    """Every collective x dtype x op x count x sync or async on either side."""
    plan = Plan()
    for is_async in range(4):
        plan.call("barrier", "int8", "SUM", 0, 0, 0, is_async)
        for count in (0, 1, 17):
            for dtype in dtypes:
                for kind in moves:
                    if is_known(kind, dtype, count):
                        plan.call(kind, dtype, "SUM", count, count % size, 0, is_async)
                for kind in reductions:
                    for op in ops_of(dtype):
                        plan.call(kind, dtype, op, count, (count + 1) % size, 0, is_async)
        for dtype in ("int8", "float32", "complex128"):
            for kind in moves + reductions:
                if is_known(kind, dtype, 1):
                    plan.call(kind, dtype, "SUM", 1 << 20, size - 1, 0, is_async)
    return plan


def schedule(plan, source, size, steps, groups):
    """Random calls in the world and in new random groups."""
    members, first = [list(range(size))], len(plan.sizes)
    for _ in range(groups):
        members.append(sorted(source.sample(range(size), source.randint(1, size))))
        plan.group(members[-1])
    for _ in range(steps):
        kind = source.choice(moves + reductions + ["barrier"])
        dtype = source.choice(dtypes)
        group = source.randrange(len(members))
        if kind in ("message", "any_source") and len(members[group]) < 2:
            continue
        count = source.choice([0, 1, 2, 3, 17, 100, 5000, 40000])
        root = source.randrange(len(members[group]))
        if not is_known(kind, dtype, count):
            continue
        number = 0 if group == 0 else first + group
        plan.call(kind, dtype, source.choice(ops_of(dtype)), count, root, number, source.randrange(4))


def run(peer, backend, world, plan, how="init"):
    """The outputs of ranks that did not end well."""
    port, size = hold_port(), len(world)
    with tempfile.TemporaryDirectory(prefix="tutti-") as folder:
        path = os.path.join(folder, "plan")
        pathlib.Path(path).write_text("\n".join(plan.lines) + "\n")
        started = []
        for rank, kind in enumerate(world):
            command = [peer, path, rank, size, port, backend, how]
            if kind == "p":
                pytorch = [tests / "support/pytorch", folder, "interop/gloo_peer.py"]
                command = pytorch + ["plan", rank, size, port, how]
            started.append(
                subprocess.Popen(
                    list(map(str, command)),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "TUTTI_SOCKET_IFNAME": "lo"},
                )
            )
        limit = time.monotonic() + longest_s
        bad = []
        for rank, one in enumerate(started):
            try:
                text = one.communicate(timeout=max(limit - time.monotonic(), 0.1))[0].decode()
            except subprocess.TimeoutExpired:
                one.kill()
                text = one.communicate()[0].decode() + f"\nno end within {longest_s} s"
            if one.returncode != 0:
                bad.append(f"rank {rank} of {world} ({one.returncode}): {text[-1500:]}")
        return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", help="tutti's program, tutti_gloo_interop_peer")
    parser.add_argument("--backend", default="gloo?peers=pytorch")
    parser.add_argument("--plugin", action="store_true", help="PyTorch's ranks have backend tutti")
    parser.add_argument("--worlds", default=",".join(worlds))
    parser.add_argument("--schedules", type=int, default=16, help="of 30 calls")
    parser.add_argument("--no-matrix", action="store_true")
    parser.add_argument("--seed", type=int, default=test_seed())
    options = parser.parse_args()
    skip_without_pytorch()
    print(f"seed {options.seed}; p: PyTorch's rank, t: tutti's", flush=True)
    source = random.Random(options.seed)
    right = True

    def tell(what, world, plan, bad):
        print(f"{world}: {what}, {len(plan.lines)} lines: " + ("right" if not bad else "WRONG"))
        print("".join(f"    {one}\n" for one in bad), end="", flush=True)
        return not bad

    chosen = options.worlds.split(",")
    for world in [] if options.no_matrix else chosen:
        plan = matrix(len(world))
        how = "plugin" if options.plugin else "init"
        right &= tell("matrix", world, plan, run(options.peer, options.backend, world, plan, how))
    passed = 0
    for first in range(0, options.schedules, together):
        world = chosen[first // together % len(chosen)]
        plan, count = Plan(), min(together, options.schedules - first)
        for _ in range(count):
            schedule(plan, source, len(world), 30, 3)
        how = "store" if first // together % 3 == 2 else "init"
        how = "plugin" if options.plugin else how
        bad = run(options.peer, options.backend, world, plan, how)
        passed += 0 if bad else count
        if bad:
            right = tell(f"schedules from {first} on", world, plan, bad)
    print(f"{passed} of {options.schedules} schedules are right")
    return 0 if right else 1


sys.exit(main())
