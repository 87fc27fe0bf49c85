"""tutti-bench beside MPI, and its plot: what tutti-bench becomes for --against and --plot. Its
arguments come from there and were checked there."""

import argparse
import pathlib
import statistics
import sys
import tempfile

from others import Plain, Tutti, find_peers, run
from plot import write_plot
from quiet import wait_for_quiet
from rounds import in_turn
from verdict import report

quiet_load = 0.1
columns = "peer,op,ranks,bytes,median_us,min_us,algbw_GBps,quiet,pass_medians"


class Bench:
    def __init__(self, peers, options):
        self.peers, self.options = peers, options
        self.operations = options.op.split(",")
        self.ranks = [int(word) for word in options.ranks.split(",")]
        self.sizes = [int(word) for word in options.sizes.split(",")]
        self.loads = []
        self.times = {}  # by cell, by name of a peer, by round: median and least
        self.quiet = {}  # by cell, by round
        self.own = {}  # tutti's names, and what goals are named by
        self.ways = {}  # by cell, by name: what was heard last

    def progress(self, text):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()

    def measure(self, turn, operation, ranks):
        load = None
        if self.options.patience > 0:
            load = wait_for_quiet(self.options.patience)
            self.loads.append(load)
        for peer in in_turn(self.peers, turn):
            command = peer.command(operation, ranks, self.sizes)
            if command is None:
                continue
            what = f"{operation}, {ranks} ranks, {peer.kind}"
            self.progress(f"round {turn + 1} of {self.options.rounds}: {what}")
            for name, cell, median, least, way in run(command):
                if isinstance(peer, Plain):
                    name = peer.kind
                elif isinstance(peer, Tutti):
                    self.own[name] = peer.kind
                if way is not None:
                    self.ways.setdefault(cell, {})[name] = way
                self.times.setdefault(cell, {}).setdefault(name, {})[turn] = (median, least)
                self.quiet.setdefault(cell, {})[turn] = load is not None and load < quiet_load

    def run(self):
        for turn in range(self.options.rounds):
            on_store = set()
            for ranks in self.ranks:
                for operation in self.operations:
                    if operation in ("sendrecv_pingpong", "many_receives") and ranks != 2:
                        continue
                    if operation.startswith("store_"):  # one rank, whatever is asked
                        if operation in on_store:
                            continue
                        on_store.add(operation)
                    self.measure(turn, operation, ranks)
            self.progress("")
            # A file has what there is after each round.
            if self.options.csv and (self.options.csv != "-" or turn + 1 == self.options.rounds):
                self.write_csv()

    def rounds_of(self, cell, name):
        """Of its times those that count: of quiet rounds, or of all if there was none."""
        times = self.times[cell][name]
        quiet = {turn: took for turn, took in times.items() if self.quiet[cell][turn]}
        return quiet or times

    def median(self, cell, name):
        return statistics.median(median for median, _ in self.rounds_of(cell, name).values())

    def names(self):
        return {name for peers in self.times.values() for name in peers}

    def way(self, cell, name):
        return self.ways.get(cell, {}).get(name, "-")

    def write_csv(self):
        to = sys.stdout if self.options.csv == "-" else open(self.options.csv, "w")
        ways = "ways" in self.options.flags
        print(columns + (",way" if ways else ""), file=to)
        for cell, peers in self.times.items():
            label, ranks, size = cell
            for name in peers:
                median = self.median(cell, name)
                least = min(least for _, least in self.rounds_of(cell, name).values())
                rate = size / median * 1e-3 if size > 64 else 0
                quiet = int(any(self.quiet[cell][turn] for turn in peers[name]))
                passes = "|".join(f"{t + 1}:{took:.2f}" for t, (took, _) in peers[name].items())
                words = [name, label, ranks, size, f"{median:.3f}", f"{least:.3f}", f"{rate:.4f}"]
                words += [quiet, passes] + ([self.way(cell, name)] if ways else [])
                print(*words, sep=",", file=to)
        if to is not sys.stdout:
            to.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    for name in "op ranks sizes dtype data memory iterations against backend csv plot".split():
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--patience", type=int, required=True)
    parser.add_argument("--flags", nargs="*", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as folder:
        bench = Bench(find_peers(options, pathlib.Path(folder)), options)
        bench.run()
    if options.plot:
        medians = {
            cell: {name: bench.median(cell, name) for name in peers}
            for cell, peers in bench.times.items()
        }
        try:
            what = f"{options.data} {options.dtype}s, median of {options.rounds} rounds"
            write_plot(options.plot, medians, what)
        except ValueError as wrong:
            sys.exit(f"tutti-bench: --plot {options.plot}: {wrong}")
    return report(bench, options)


if __name__ == "__main__":
    sys.exit(main())
