"""Ranks of PyTorch and of C in one group, of which one is killed in the midst of random calls: each
of the others names it within 2 seconds, or, if it is stopped, within 3. See mixed.py."""

import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))

from deaths import free_port, longest_s
from gloo import Calls, Plan

longest_stopped_s = longest_s + 1  # a rank's silence is taken for its end after a second
hang_s = 60
worlds = ["pt", "tp", "ptt", "tpp", "ptp", "ttp", "pttt", "tttp", "tppp"]


def random_plan(source, size, victim, number):
    """Calls in the world and in a second group of all ranks, of which the victim ends at one."""
    plan, calls = Plan(), Calls(True)
    kinds = [one for one in calls.moves if one not in ("message", "any_source", "batch")]
    plan.group(range(size))
    fatal = source.randint(1, 40)
    for step in range(fatal + 20):
        kind, dtype = source.choice(kinds + calls.reductions), source.choice(calls.dtypes)
        if step == fatal:
            plan.lines.append(f"{len(plan.lines)} die {victim} {int(number)}")
        if calls.is_known(kind, dtype, 1):
            count = source.choice([0, 1, 17, 5000, 200000])
            op, root = source.choice(calls.ops_of(dtype)), source.randrange(size)
            plan.call(kind, dtype, op, count, root, source.randrange(2), source.randrange(4))
    for group in (0, 1):  # who has taken part in no call since then learns of it here
        plan.call("barrier", "int8", "SUM", 0, 0, group)
    return plan


def start_pytorch(arguments, report):
    """A rank of PyTorch's as a fork of this process, which has imported torch."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.dup2(report, 1)
        os.dup2(report, 2)
        sys.stdout = sys.stderr = os.fdopen(1, "w", closefd=False)
        sys.argv = ["gloo_peer.py"] + list(map(str, arguments))
        with open(os.path.join(here, "..", "gloo_peer.py")) as file:
            exec(compile(file.read(), "gloo_peer.py", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)


def start(peer, folder, world, port):
    """Processes, and files with what they print."""
    children, outputs = [], []
    for rank, kind in enumerate(world):
        outputs.append(os.path.join(folder, str(rank)))
        with open(outputs[-1], "w") as report:
            if kind == "p":
                terms = [folder, "plan", rank, len(world), port, "plugin"]
                children.append(start_pytorch(terms, report.fileno()))
            else:
                path = os.path.join(folder, "plan")
                command = [peer, path, rank, len(world), port, "none", "plugin"]
                command = list(map(str, command))
                started = subprocess.Popen(command, stdout=report, stderr=report)
                started.returncode = 0  # it is waited for here, with the others
                children.append(started.pid)
    return children, outputs


def wait_for_all(children, stopped):
    """Whether all ended in time. `stopped`: the one that is stopped, which is killed once the others
    have ended; or None."""
    limit = time.monotonic() + hang_s
    left = {os.pidfd_open(child): child for child in children}
    while any(child != stopped for child in left.values()):
        ended, _, _ = select.select(list(left), [], [], max(0, limit - time.monotonic()))
        if not ended:
            break
        for one in ended:
            os.waitpid(left.pop(one), 0)
            os.close(one)
    in_time = all(child == stopped for child in left.values())
    for one, child in left.items():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(one)
    return in_time


def check_random_death(peer, source, number):
    """How long it took until the last one knew."""
    world = source.choice(worlds)
    victim = source.randrange(len(world))
    plan = random_plan(source, len(world), victim, number)
    with tempfile.TemporaryDirectory(prefix="tutti-") as folder:
        with open(os.path.join(folder, "plan"), "w") as file:
            file.write("\n".join(plan.lines) + "\n")
        children, outputs = start(peer, folder, world, free_port())
        in_time = wait_for_all(children, children[victim] if number == signal.SIGSTOP else None)
        texts = [open(one).read() for one in outputs]
    where = f"{world}, rank {victim} got {number.name}: " + "".join(f"\n  {one[-700:]}" for one in texts)
    assert in_time, f"no end within {hang_s} s: {where}"
    lines = [[line.split(" ", 2) for line in text.splitlines()] for text in texts]
    died = [float(line[1]) for line in lines[victim] if line[0] == "died"]
    assert len(died) == 1, where
    slowest = 0.0
    for rank, of_rank in enumerate(lines):
        if rank == victim:
            continue
        told = [line for line in of_rank if line[0] == "told"]
        assert len(told) == 1 and f"rank {victim} " in told[0][2], f"rank {rank}: {where}"
        assert not any(words in texts[rank] for words in (" instead of ", " is wrong")), where
        slowest = max(slowest, float(told[0][1]) - died[0])
    assert slowest <= (longest_s if number == signal.SIGKILL else longest_stopped_s), where
    return slowest, world[victim]


def check_random_deaths(peer, count, seed):
    """Every tenth is a rank that is stopped."""
    source, slowest, victims = random.Random(seed), {}, {"p": 0, "t": 0}
    print(f"{count} random deaths, seed {seed}", flush=True)
    for i in range(count):
        number = signal.SIGSTOP if i % 10 == 9 else signal.SIGKILL
        took, kind = check_random_death(peer, source, number)
        slowest[number.name] = max(slowest.get(number.name, 0.0), took)
        victims[kind] += 1
    slowest = ", ".join(f"{name} {took:.2f} s" for name, took in slowest.items())
    print(f"victims: {victims['p']} of PyTorch, {victims['t']} of C; named at the latest after: {slowest}")
