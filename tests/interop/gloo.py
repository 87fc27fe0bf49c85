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
longest_s = 480
# Which ranks are PyTorch's, by the number of ranks: it serves the store, or tutti does.
worlds = ["pt", "tp", "ptt", "tpp", "ptp", "pttt", "tppp", "tptp"]


class Calls:
    """Which calls both can make: over Gloo, and over backend tutti, which has more."""

    def __init__(self, is_plugin):
        self.is_plugin = is_plugin
        self.dtypes = "int8 uint8 int32 int64 float32 float64 complex64 complex128 bool".split()
        self.large = ["int8", "float32", "complex128"]  # with 1 Mi elements
        self.moves = "broadcast all_gather all_gather_into_tensor gather scatter".split()
        self.moves += "all_to_all all_to_all_single uneven message any_source".split()
        self.reductions = "all_reduce reduce reduce_scatter reduce_scatter_tensor coalesced".split()
        self.barriers = ["barrier"]
        if is_plugin:
            self.dtypes += "int16 uint16 uint32 uint64 float16 bfloat16 float8_e4m3fn".split()
            self.moves += "all_gather_uneven all_to_all_uneven all_gather_coalesced batch".split()
            self.moves += ["all_gather_into_tensor_coalesced"]
            self.reductions += ["reduce_scatter_uneven", "reduce_scatter_tensor_coalesced"]
            self.barriers += ["monitored_barrier"]

    def ops_of(self, dtype):
        if dtype.startswith("complex"):
            return ["SUM", "AVG"]
        if "float" not in dtype:
            return "SUM PRODUCT MIN MAX BAND BOR BXOR".split()
        ops = ["SUM", "AVG", "PRODUCT", "MIN", "MAX"]
        return ops + ["PREMUL_SUM"] if self.is_plugin else ops

    def is_known(self, kind, dtype, count):
        """What neither refuses."""
        if kind in self.reductions:
            return not dtype.startswith("float8")
        if self.is_plugin:
            return True
        if kind == "any_source" and count == 0:
            return False
        return kind != "gather" or not dtype.startswith("complex")

    def of(self, dtype, count):
        """Kinds and ops."""
        known = [one for one in self.moves + self.reductions if self.is_known(one, dtype, count)]
        return [
            (kind, op)
            for kind in known
            for op in (self.ops_of(dtype) if kind in self.reductions else ["SUM"])
        ]


class Plan:
    """Lines: number, kind, dtype, op, count, root, group, 1 if tutti's calls have a work + 2 if
    PyTorch's are async; or number, "group" and ranks; or number, "die", a rank and
    the signal that ends it."""

    def __init__(self):
        self.lines, self.sizes = [], []

    def group(self, ranks):
        self.lines.append(f"{len(self.lines)} group " + " ".join(map(str, ranks)))
        self.sizes.append(len(ranks))

    def call(self, kind, dtype, op, count, root, group=0, is_async=0):
        self.lines.append(f"{len(self.lines)} {kind} {dtype} {op} {count} {root} {group} {is_async}")


def matrix(calls, size):
    """Every collective x dtype x op x count x sync or async on either side."""
    plan = Plan()
    for is_async in range(4):
        for kind in calls.barriers:
            plan.call(kind, "int8", "SUM", 0, 0, 0, is_async)
        for count in (0, 1, 17):
            for dtype in calls.dtypes:
                for kind, op in calls.of(dtype, count):
                    plan.call(kind, dtype, op, count, (count + len(op)) % size, 0, is_async)
        for dtype in calls.large:
            for kind, op in calls.of(dtype, 1):
                if op == "SUM":
                    plan.call(kind, dtype, op, 1 << 20, size - 1, 0, is_async)
    return plan


def schedule(calls, plan, source, size, steps, groups):
    """Random calls in the world and in new random groups, whose ranks are some of an older one's."""
    members, first = [list(range(size))], len(plan.sizes)
    for _ in range(groups):
        parent = source.choice(members)
        members.append(sorted(source.sample(parent, source.randint(1, len(parent)))))
        plan.group(members[-1])
    for _ in range(steps):
        kind = source.choice(calls.moves + calls.reductions + calls.barriers)
        dtype = source.choice(calls.dtypes)
        group = source.randrange(len(members))
        if kind in ("message", "any_source", "batch") and len(members[group]) < 2:
            continue
        count = source.choice([0, 1, 2, 3, 17, 100, 5000, 40000])
        root = source.randrange(len(members[group]))
        if not calls.is_known(kind, dtype, count):
            continue
        number = 0 if group == 0 else first + group
        op = source.choice(calls.ops_of(dtype))
        plan.call(kind, dtype, op, count, root, number, source.randrange(4))


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
    parser.add_argument("--together", type=int, default=10, help="schedules in one world")
    parser.add_argument("--no-matrix", action="store_true")
    parser.add_argument("--large", action="store_true", help="1 Mi elements of every dtype")
    parser.add_argument("--seed", type=int, default=test_seed())
    options = parser.parse_args()
    skip_without_pytorch()
    print(f"seed {options.seed}; p: PyTorch's rank, t: tutti's", flush=True)
    source, calls = random.Random(options.seed), Calls(options.plugin)
    if options.large:
        calls.large = calls.dtypes
    right = True

    def tell(what, world, plan, bad):
        print(f"{world}: {what}, {len(plan.lines)} lines: " + ("right" if not bad else "WRONG"))
        print("".join(f"    {one}\n" for one in bad), end="", flush=True)
        return not bad

    chosen = options.worlds.split(",")
    for world in [] if options.no_matrix else chosen:
        plan = matrix(calls, len(world))
        how = "plugin" if options.plugin else "init"
        right &= tell("matrix", world, plan, run(options.peer, options.backend, world, plan, how))
    passed, together = 0, options.together
    for first in range(0, options.schedules, together):
        world = chosen[first // together % len(chosen)]
        plan, count = Plan(), min(together, options.schedules - first)
        for _ in range(count):
            schedule(calls, plan, source, len(world), 30, 3)
        how = "store" if first // together % 3 == 2 else "init"
        how = "plugin" if options.plugin else how
        bad = run(options.peer, options.backend, world, plan, how)
        passed += 0 if bad else count
        if bad:
            right = tell(f"schedules from {first} on", world, plan, bad)
    print(f"{passed} of {options.schedules} schedules are right")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
