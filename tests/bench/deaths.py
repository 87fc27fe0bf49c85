"""How soon survivors learn of a death; see the script deaths."""

import argparse
import itertools
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from support.peers import hold_port, test_seed

patience_s = 60
goal_ms = {"KILL": 1000, "STOP": 2000}
heartbeat_timeout_ms = "1000"  # the stopped ones are known by it


def start(program, backend, size, count):
    port = str(hold_port())
    ranks = []
    for rank in range(size):
        variables = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(size),
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                         TUTTI_HEARTBEAT_TIMEOUT_MS=heartbeat_timeout_ms)
        if backend == "hierarchy":
            variables["TUTTI_HOSTS"] = two_hosts(size)
        ranks.append(subprocess.Popen([program, str(count), backend], env=variables, text=True,
                                      stdout=subprocess.PIPE))
    for rank in ranks:
        if rank.stdout.readline() != "ready\n":
            sys.exit("a rank did not start")
    return ranks


def two_hosts(size):
    return ",".join(str(2 * rank // size) for rank in range(size))


def one_run(program, backend, size, count, name, victim):
    """Returns what each survivor took in milliseconds, and what was wrong."""
    ranks = start(program, backend, size, count)
    time.sleep(random.random() / 5)
    if victim is None:
        victim = random.randrange(size)
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    ranks[victim].send_signal(getattr(signal, "SIG" + name))
    took, wrong = [], []
    for rank, process in enumerate(ranks):
        if rank == victim:
            continue
        try:
            said = process.communicate(timeout=patience_s)[0].split()
        except subprocess.TimeoutExpired:
            wrong.append(f"rank {rank} did not end when rank {victim} got {name}")
            process.kill()
            continue
        if len(said) != 3 or said[0] != "TUTTI_ERR_PEER_LOST" or int(said[1]) != victim:
            wrong.append(f"rank {rank} said {said} when rank {victim} got {name}")
            continue
        took.append((int(said[2]) - began) / 1e6)
    ranks[victim].kill()
    ranks[victim].wait()
    return took, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--backends", default="shm,gloo,hierarchy")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--ranks", default="3,4")
    parser.add_argument("--signals", default="KILL,STOP")
    parser.add_argument("--count", type=int, default=4096)
    parser.add_argument("--victim", type=int, help="a rank; else a random one")
    parser.add_argument("--seed", type=int, default=test_seed())
    parser.add_argument("--any-time", action="store_true", help="only who is named is judged")
    options = parser.parse_args()
    random.seed(options.seed)
    print(f"seed {options.seed}, all_reduce of {options.count} float32s in a loop")
    print(f"{'signal':8}{'backend':12}{'ranks':>6}{'runs':>6}{'wrong':>7}"
          f"{'p50 ms':>9}{'p99 ms':>9}{'worst':>9}")
    cells = list(itertools.product(options.backends.split(","),
                                   map(int, options.ranks.split(","))))
    bad = 0
    for name in options.signals.split(","):
        for backend, size in cells:
            times, faults = [], []
            for _ in range(options.runs):
                took, wrong = one_run(options.program, backend, size, options.count, name,
                                      options.victim)
                times += took
                faults += wrong
            times.sort()
            late = not options.any_time and times and times[-1] > goal_ms[name]
            bad += len(faults) + (1 if late else 0)
            row = [times[len(times) // 2], times[len(times) * 99 // 100], times[-1]] if times else []
            print(f"{name:8}{backend:12}{size:6}{options.runs:6}{len(faults):7}"
                  + "".join(f"{value:9.1f}" for value in row), flush=True)
            for fault in faults:
                print("   ", fault)
    return 1 if bad else 0


sys.exit(main())
