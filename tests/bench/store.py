"""The TCP stores of tutti and PyTorch beside each other; see the script store."""

import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from bench.quiet import wait_for_quiet
from bench.rounds import in_turn, line, ratios, told, told_load
from support.peers import Peers, hold_port, skip_without_pytorch

tutti, pytorch = "tutti", "PyTorch"

# The name, the command in front of the port, the most that tutti may need of PyTorch's time.
latencies = [
    ("set", "time set 8 {n}", 1.05),
    ("get", "time get 8 {n}", 0.6),
    ("set, then get", "time set_get 8 {n}", None),
    ("add", "time add 8 {n}", 1.05),
    ("check", "time check 8 {n}", 1.05),
    ("compare_set", "time compare_set 8 {n}", 1.05),
    ("wait, key there", "time wait 8 {n}", 1.05),
    ("delete_key", "time delete_key 8 {n}", 1.05),
    ("num_keys", "time num_keys 8 {n}", 1.05),
    ("multi_get, 16 keys", "time multi_get 8 {n}", 1.05),
    ("multi_set, 16 keys", "time multi_set 8 {n}", 1.05),
    ("set 1 MiB", "time set 1048576 {few}", None),
    ("get 1 MiB", "time get 1048576 {few}", None),
]
rates = [
    ("set + get, 1 client", "rate 1 {ms}", None),
    ("set + get, 4 clients", "rate 4 {ms}", 0.5),
    ("set + get, 16 clients", "rate 16 {ms}", 0.5),
]
connects = [
    ("64 clients connect, 8 processes", "connect 8 8", 0.5),
    ("64 clients connect, 64 processes", "connect 64 1", 0.5),
]
init_goal_ms = 150


class Bench:
    def __init__(self, peers, options):
        self.options = options
        self.peers = {tutti: peers.start(tutti)}
        if not options.without_pytorch:
            self.peers[pytorch] = peers.start(pytorch)
        self.ports = {kind: peer.ask("serve")[0] for kind, peer in self.peers.items()}
        self.missed = []
        self.loads = []

    def pairs(self, command, rounds, own_port=False):
        """What both answer, round by round, the first turn going to one and the other."""
        results = {kind: [] for kind in self.peers}
        for turn in range(rounds):
            for kind in in_turn(self.peers, turn):
                port = hold_port() if own_port else self.ports[kind]
                answer = self.peers[kind].ask(*command.split(), port)
                results[kind].append(float(answer[0]))
        return results

    def line(self, what, unit, results, goal=None, higher_is_better=False, own_goal=None):
        ours = statistics.median(results[tutti])
        theirs = statistics.median(results[pytorch]) if pytorch in results else float("nan")
        ratio, verdict = "", ""
        if pytorch in results:
            both = results[tutti], results[pytorch]
            quartiles = ratios(*reversed(both)) if higher_is_better else ratios(*both)
            ratio = told(quartiles)
            if goal is not None:
                verdict = self.judge(what, quartiles[1] <= goal, f"at most {goal}")
        if own_goal is not None:
            verdict = self.judge(what, ours <= own_goal, f"at most {own_goal} {unit}")
        cells = [what, f"{ours:,.4g} {unit}", f"{theirs:,.4g} {unit}", ratio, verdict]
        print(line(cells), flush=True)

    def judge(self, what, met, goal):
        if not met:
            self.missed.append(what)
        return f"{goal}: {'met' if met else 'MISSED'}"

    def run(self):
        options = self.options
        numbers = {"n": options.calls, "few": max(options.calls // 10, 3), "ms": options.ms}
        print("| | tutti | PyTorch | time of tutti / PyTorch | goal |\n|---|---|---|---|---|")
        for what, command, goal in latencies:
            self.loads.append(wait_for_quiet(options.patience))
            results = self.pairs(command.format(**numbers), options.rounds)
            self.line(what, "µs", results, goal)
        for what, command, goal in rates:
            self.loads.append(wait_for_quiet(options.patience))
            results = self.pairs(command.format(**numbers), options.rounds)
            self.line(what, "ops/s", results, goal, higher_is_better=True)
        for what, command, goal in connects:
            self.loads.append(wait_for_quiet(options.patience))
            self.line(what, "ms", self.pairs(command, options.rounds), goal)
        self.loads.append(wait_for_quiet(options.patience))
        results = self.pairs(f"init {options.ranks}", options.rounds, own_port=True)
        self.line(f"init of {options.ranks} ranks, gloo", "ms", results, own_goal=init_goal_ms)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", help="tutti's program, tutti_store_peer")
    parser.add_argument("--rounds", type=int, default=15, help="pairs of each measurement")
    parser.add_argument("--calls", type=int, default=500, help="of each latency in each round")
    parser.add_argument("--ms", type=int, default=500, help="of each rate in each round")
    parser.add_argument("--ranks", type=int, default=32)
    parser.add_argument("--patience", type=int, default=10, help="looks for a quiet moment")
    parser.add_argument("--without-pytorch", action="store_true")
    parser.add_argument("--judge", action="store_true", help="exit with 1 if a goal is missed")
    options = parser.parse_args()
    if not options.without_pytorch:
        skip_without_pytorch()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with Peers(options.peer, "bench/store_peer.py") as peers:
        bench = Bench(peers, options)
        bench.run()
    print(f"\nMedians of {options.rounds} rounds that alternate; the ratio is the median of the")
    print("rounds', with quartiles. PyTorch is called from Python. Rates are compared as times.")
    print(told_load(bench.loads))
    if bench.missed:
        print(f"MISSED: {', '.join(bench.missed)}")
    return 1 if bench.missed and options.judge else 0


sys.exit(main())
