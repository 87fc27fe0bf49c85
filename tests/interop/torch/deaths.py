"""Ranks die: the others name them, within 2 seconds. Ranks are forked: a world
starts at once."""

import datetime
import os
import signal
import socket
import sys
import time

os.environ.setdefault("USE_LIBUV", "0")

import torch
import torch.distributed as dist

from values import version

if version < (2, 14):
    import tutti_torch  # it does not look for the entry point

longest_s = 2.0


def all_reduce():
    dist.all_reduce(torch.ones(3))


def started_all_reduce():
    dist.all_reduce(torch.ones(1 << 20), async_op=True).wait()


def future():
    dist.all_reduce(torch.ones(3), async_op=True).get_future().wait()


def barrier():
    dist.barrier()


def message():
    size, rank = dist.get_world_size(), dist.get_rank()
    got = torch.zeros(1)
    # Each waits for the next, and so at least one for the rank that is dead.
    dist.recv(got, (rank + 1) % size)


def gather():
    size = dist.get_world_size()
    dist.all_gather([torch.zeros(5) for _ in range(size)], torch.ones(5))


def subgroup():
    dist.all_reduce(torch.ones(3), group=subgroup.group)


calls = [all_reduce, started_all_reduce, future, barrier, gather, subgroup, message]


def live(rank, size, port, victim, call, report):
    """A rank: it reports when it learned of the death, and how that was worded."""
    dist.init_process_group(
        "tutti",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=rank,
        world_size=size,
        timeout=datetime.timedelta(seconds=60),
    )
    if call is subgroup:
        subgroup.group = dist.new_group()
    dist.barrier()
    if rank == victim:
        os.write(report, f"died {time.monotonic()}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        call()
        text = "nothing was raised"
    except dist.DistBackendError as error:
        text = str(error)
    except RuntimeError as error:
        text = f"{type(error).__name__}: {error}"
    text = text.replace("\n", " ")
    os.write(report, f"told {rank} {time.monotonic()} {text}\n".encode())


def start(rank, *arguments):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            torch.set_num_threads(1)
            live(rank, *arguments)
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return child


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def read_all(source):
    with os.fdopen(source) as lines:
        return [line.split(" ", 3) for line in lines]


def check(size, victim, call):
    source, report = os.pipe()
    port = free_port()
    children = [start(rank, size, port, victim, call, report) for rank in range(size)]
    os.close(report)
    lines = read_all(source)
    for child in children:
        os.waitpid(child, 0)
    died = [float(line[1]) for line in lines if line[0] == "died"]
    told = [line for line in lines if line[0] == "told"]
    where = f"{call.__name__}, rank {victim} of {size} died"
    assert len(died) == 1 and len(told) == size - 1, f"{where}: {lines}"
    slowest = max(float(line[2]) - died[0] for line in told)
    named = [line for line in told if f"rank {victim} died" in line[3]]
    if call is message:  # the others may wait for a rank that has ended since
        assert named, f"{where}: {told}"
    else:
        assert len(named) == size - 1, f"{where}: {told}"
    assert slowest <= longest_s, f"{where}: told after {slowest:.2f} s"
    return slowest


def main():
    slowest, deaths = 0.0, 0
    for size, victims in ((2, (0, 1)), (3, (0, 2))):
        for victim in victims:
            for call in calls:
                slowest = max(slowest, check(size, victim, call))
                deaths += 1
    print(f"{deaths} deaths: the others name the rank after at most {slowest:.2f} s", flush=True)


if __name__ == "__main__":
    main()
