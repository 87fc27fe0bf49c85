"""How soon the others go on after a death; see the script recovery."""

import argparse
import collections
import os
import random
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from bench.quiet import wait_for_quiet
from support.peers import Peers, hold_port, skip_without_pytorch, test_seed

patience_s = 120


class Job:
    """Ranks of tutti. On several hosts, network namespaces, each has as many."""

    def __init__(self, program, backend, size, count, hosts, fallen):
        self.size = size
        self.hosts = hosts
        address = {"MASTER_ADDR": "10.79.0.1", "MASTER_PORT": "29500"} if hosts else {
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(hold_port())}
        output, given = os.pipe()
        self.output = os.fdopen(output)
        self.ranks = []
        for rank in range(size):
            on = ["ip", "netns", "exec", hosts[self.host_of(rank)]] if hosts else []
            self.ranks.append(subprocess.Popen(
                on + [program, backend, str(count), str(size - fallen)], stdout=given,
                env={**os.environ, **address, "RANK": str(rank), "WORLD_SIZE": str(size)}))
        os.close(given)

    def host_of(self, rank):
        return rank * len(self.hosts) // self.size

    def victims(self, fallen):
        if fallen == 1:
            return [random.randrange(self.size)]
        host = random.randrange(len(self.hosts))
        return [rank for rank in range(self.size) if self.host_of(rank) == host]

    def go(self, fallen):
        """When the slowest knew, and had the right sum, in milliseconds after the kill."""
        self.await_ready()
        time.sleep(random.uniform(0.05, 0.3))
        victims = self.victims(fallen)
        killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        for rank in victims:
            self.ranks[rank].kill()
        lost, whole = {}, {}
        for line in self.output:
            rank, what, when, size = line.split()
            after_ms = (int(when) - killed) / 1e6
            if what == "lost":
                lost.setdefault(rank, after_ms)
            elif what == "whole" and int(size) == self.size - fallen:
                whole[rank] = after_ms
        self.end(victims)
        if len(whole) != self.size - fallen:
            sys.exit(f"only the ranks {sorted(whole)} went on after {victims} were killed")
        return max(lost.values()), max(whole.values())

    def await_ready(self):
        for _ in range(self.size):
            if self.output.readline().split()[1:2] != ["ready"]:
                sys.exit("a rank did not start")

    def end(self, victims):
        for rank, process in enumerate(self.ranks):
            code = process.wait(timeout=patience_s)
            if rank not in victims and code != 0:
                sys.exit(f"rank {rank} ended with {code}")
        self.output.close()


class Table:
    def __init__(self):
        self.lost = collections.defaultdict(list)
        self.whole = collections.defaultdict(list)

    def note(self, key, times):
        self.lost[key].append(float(times[0]))
        self.whole[key].append(float(times[1]))

    def show(self):
        print(f"{'':34}{'ranks':>6}{'killed':>7}{'runs':>6}{'know ms':>10}{'sum again ms':>14}"
              f"{'slowest':>10}")
        for (name, size, fallen), whole in self.whole.items():
            lost = [one for one in self.lost[name, size, fallen] if one == one]
            knew = f"{statistics.median(lost):10.1f}" if lost else f"{'-':>10}"
            print(f"{name:34}{size:6}{fallen:7}{len(whole):6}{knew}"
                  f"{statistics.median(whole):14.1f}{max(whole):10.1f}")


def run_all(options, pytorch):
    """The table is shown also of runs that were interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    table = Table()
    try:
        take_turns(options, pytorch, table)
    finally:
        table.show()


def take_turns(options, pytorch, table):
    for _ in range(options.runs):
        for size in options.ranks:
            for backend in options.backends:
                for fallen in options.killed:
                    wait_for_quiet(options.patience)
                    job = Job(options.program, backend, size, options.count, options.hosts, fallen)
                    table.note((f"tutti shrink_group, {backend}", size, fallen), job.go(fallen))
            for way, name in (("reconfigure", "PyTorch reconfigure, gloo"),
                              ("restart", "PyTorch torchrun restart, gloo")):
                if pytorch:
                    wait_for_quiet(options.patience)
                    times = pytorch.ask(way, size, options.count)
                    table.note((name, size, 1), times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    numbers = lambda text: list(map(int, text.split(",")))
    parser.add_argument("--ranks", type=numbers, default=[4, 8])
    parser.add_argument("--backends", type=lambda text: text.split(","),
                        default=["shm", "tcp", "gloo"])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--count", type=int, default=4096)
    parser.add_argument("--killed", type=numbers, default=[1], help="one, or all of a host")
    parser.add_argument("--hosts", type=lambda text: text.split(","), default=[])
    parser.add_argument("--patience", type=int, default=10)
    parser.add_argument("--seed", type=int, default=test_seed())
    parser.add_argument("--without-pytorch", action="store_true")
    options = parser.parse_args()
    random.seed(options.seed)
    print(f"seed {options.seed}, all_reduce of {options.count} float32s in a loop", flush=True)
    if options.without_pytorch:
        run_all(options, None)
        return
    skip_without_pytorch()
    with Peers("true", "bench/recovery_peer.py") as peers:
        pytorch = peers.start("PyTorch")
        run_all(options, pytorch)


main()
