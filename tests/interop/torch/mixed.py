"""Ranks of PyTorch and of C in one group: a call that differs is told to all, and a death on either
side is named on the other within 2 seconds.

    mixed.py PEER GLOO_PEER [--deaths N] [--seed S]
                           PEER: peer.c; GLOO_PEER: ../gloo_peer.c, for random calls (mixed_deaths.py)
"""

import argparse

import os
import signal
import subprocess
import sys
import time

os.environ.setdefault("USE_LIBUV", "0")

import torch
import torch.distributed as dist

from deaths import free_port, longest_s
from mixed_deaths import check_random_deaths
from support.peers import test_seed


def torch_rank(rank, size, port, role):
    dist.init_process_group(
        "tutti", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size
    )
    for i in range(3):
        four = torch.tensor([rank + 1.0, 0.0, 0.0, i])
        dist.all_reduce(four)
        assert four[0] == size * (size + 1) / 2 and four[3] == size * i
    if role == "die":
        print("died", rank, time.monotonic(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.all_reduce(torch.zeros(7))
        told = "TUTTI_OK"
    except dist.DistError as error:
        told = f"{type(error).__name__} {error}"
    print("told", rank, time.monotonic(), told.replace("\n", " "), flush=True)
    dist.destroy_process_group()


def run(peer, world, roles):
    """The lines that the ranks print: words, of which the last is a text."""
    port, started = free_port(), []
    for rank, (kind, role) in enumerate(zip(world, roles)):
        command = [peer, port, rank, len(world), role]
        if kind == "p":
            command = [sys.executable, __file__, "rank", rank, len(world), port, role]
        started.append(subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE))
    outputs = [one.communicate(timeout=120)[0].decode() for one in started]
    for one, role in zip(started, roles):
        assert one.returncode == (-signal.SIGKILL if role == "die" else 0), (world, roles, outputs)
    return [line.split(" ", 3) for text in outputs for line in text.splitlines()]


def check_difference(peer, world):
    """PyTorch's ranks give 7 elements, those of C one."""
    roles = ["differ" if kind == "c" else "live" for kind in world]
    for _, rank, _, text in run(peer, world, roles):
        kind, words = text.split(" ", 1)
        assert kind == ("TUTTI_ERR_MISMATCH" if world[int(rank)] == "c" else "DistError"), text
        assert "float32 × 7" in words and "float32 × 1" in words, text
    print(f"{world}: all ranks are told of the difference", flush=True)


def check_death(peer, world, victim):
    roles = ["die" if rank == victim else "live" for rank in range(len(world))]
    lines = run(peer, world, roles)
    (died,) = [float(line[2]) for line in lines if line[0] == "died"]
    told = [line for line in lines if line[0] == "told"]
    assert len(told) == len(world) - 1, lines
    for line in told:
        assert f"rank {victim} died" in line[3], line
    slowest = max(float(line[2]) - died for line in told)
    assert slowest <= longest_s, lines
    print(f"{world}: the death of rank {victim} is named after {slowest:.2f} s", flush=True)


def main():
    if sys.argv[1] == "rank":
        rank, size, port = map(int, sys.argv[2:5])
        return torch_rank(rank, size, port, sys.argv[5])
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("gloo_peer")
    parser.add_argument("--deaths", type=int, default=4, help="in the midst of random calls")
    parser.add_argument("--seed", type=int, default=test_seed())
    options = parser.parse_args()
    for world in ("pcc", "cpp"):
        check_difference(options.peer, world)
        for victim in range(len(world)):
            check_death(options.peer, world, victim)
    check_random_deaths(options.gloo_peer, options.deaths, options.seed)


if __name__ == "__main__":
    main()
