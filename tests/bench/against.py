"""tutti-bench beside MPI, and its plot: what tutti-bench becomes for --against and --plot. Its
arguments come from there and were checked there."""

import argparse
import math
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from plot import size_text, write_plot
from quiet import wait_for_quiet
from rounds import in_turn, line, ratios, told, told_load

here = pathlib.Path(__file__).resolve().parent
longest_run_s = 900
quiet_load = 0.1
as_fast = 1.1  # times the other's time
goals = {"mean": 1.8, "as fast": 0.95, "worst": 0.8}
judged = {
    "all_reduce", "broadcast", "reduce", "reduce_scatter", "all_gather", "all_to_all", "barrier",
    "sendrecv_pingpong",
}  # fmt: skip
blocking = "ddp_4x25MiB_blocking"
columns = "peer,op,ranks,bytes,median_us,min_us,algbw_GBps,quiet,pass_medians"
# MPICH waits without yielding: with more ranks than processors, what is small takes it
# milliseconds, and a round of it minutes.
least_of_mpich = 1 << 20


def run(command):
    """The rows that a peer prints."""
    complaints = tempfile.TemporaryFile()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=complaints, text=True, start_new_session=True
    )
    try:
        output = process.communicate(timeout=longest_run_s)[0]
    except BaseException:
        process.terminate()  # a launcher ends its ranks
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        raise
    if process.returncode != 0:
        complaints.seek(0)
        sys.stderr.write(complaints.read().decode(errors="replace")[-4000:])
        sys.exit(f"tutti-bench: {' '.join(map(str, command))} ended with {process.returncode}")
    rows = []
    for text in output.splitlines():
        words = text.split(",")
        if len(words) == 7 and words[0] != "peer":
            cell = (words[1], int(words[2]), int(words[3]))
            rows.append((words[0], cell, float(words[4]), float(words[5])))
    return rows


class Tutti:
    kind = "tutti"

    def __init__(self, options):
        self.options = options

    def command(self, operation, ranks, sizes):
        options = self.options
        command = [options.program, "--op", operation, "--ranks", str(ranks), "--csv", "-"]
        command += ["--sizes", ",".join(map(str, sizes)), "--dtype", options.dtype]
        command += ["--iterations", options.iterations if options.iterations != "0" else "auto"]
        command += ["--backend", options.backend] if options.backend else []
        flags = ("rewrite", "reproducible", "unbound")
        return command + [f"--{flag}" for flag in flags if flag in options.flags]


class Mpi:
    """An MPI that is installed."""

    def __init__(self, kind, compiler, launcher, options, folder):
        self.kind, self.launcher, self.options = kind, launcher, options
        self.processors = len(os.sched_getaffinity(0))
        self.program = folder / f"mpi_peer_{kind}"
        sources = [here / name for name in ("mpi_peer.c", "cells.c", "contents.c", "measure.c")]
        flags = ["-std=c99", "-D_GNU_SOURCE", "-O3"]
        subprocess.run([compiler, *flags, "-o", self.program, *sources], check=True)

    def launch(self, ranks):
        """How it is started at its best: bound where each rank has a processor, else yielding
        where it can."""
        if self.kind == "mpich":
            return "mpich", [self.launcher, "-n", str(ranks)]
        command = [self.launcher, "--allow-run-as-root", "--oversubscribe"]
        command += "--mca btl self,vader --mca pml ob1".split()
        if ranks <= self.processors:
            return "openmpi", command + ["--bind-to", "core", "-n", str(ranks)]
        command += "--bind-to none --mca mpi_yield_when_idle 1".split()
        return "openmpi-yield", command + ["-n", str(ranks)]

    def command(self, operation, ranks, sizes):
        """Nothing where it is left out."""
        if operation.startswith("store_") or "object" in operation:
            return None
        if self.kind == "mpich" and ranks > self.processors:
            sizes = [size for size in sizes if size >= least_of_mpich]
            if not sizes or operation.endswith("_loop") or operation == "barrier":
                return None
        if operation == "ddp":
            operation = "ddp,ddp_blocking"  # what is faster counts
        name, command = self.launch(ranks)
        command = command + [self.program, name, operation, ",".join(map(str, sizes))]
        options = self.options
        rewrite = "1" if "rewrite" in options.flags else "0"
        return command + [options.dtype, options.iterations, rewrite]


def find_mpi(kind):
    """Its compiler and its launcher, if it is there."""
    sign = {"openmpi": "Open MPI", "mpich": "HYDRA"}[kind]
    for ending in (f".{kind}", ""):
        compiler, launcher = shutil.which("mpicc" + ending), shutil.which("mpirun" + ending)
        if compiler and launcher:
            version = subprocess.run([launcher, "--version"], capture_output=True, text=True)
            if sign in version.stdout:
                return compiler, launcher
    return None


def find_peers(options, folder):
    peers = [Tutti(options)]
    wanted = {"": [], "both": ["openmpi", "mpich"]}.get(options.against, [options.against])
    for kind in wanted:
        found = find_mpi(kind)
        if options.dtype in ("float16", "bfloat16", "bool"):
            print(f"skipped: {kind}: MPI adds no {options.dtype}s")
        elif found is None:
            print(f"skipped: {kind}: not installed (Debian: {kind}, lib{kind}-dev; openmpi-bin)")
        else:
            peers.append(Mpi(kind, *found, options, folder))
    return peers


class Bench:
    def __init__(self, peers, options):
        self.peers, self.options = peers, options
        self.operations = options.op.split(",")
        self.ranks = [int(word) for word in options.ranks.split(",")]
        self.sizes = [int(word) for word in options.sizes.split(",")]
        self.loads = []
        self.times = {}  # by cell, by name of a peer, by round: median and least
        self.quiet = {}  # by cell, by round

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
            for name, cell, median, least in run(command):
                self.times.setdefault(cell, {}).setdefault(name, {})[turn] = (median, least)
                self.quiet.setdefault(cell, {})[turn] = load is not None and load < quiet_load

    def run(self):
        for turn in range(self.options.rounds):
            on_store = set()
            for ranks in self.ranks:
                for operation in self.operations:
                    if operation == "sendrecv_pingpong" and ranks != 2:
                        continue
                    if operation.startswith("store_"):  # one rank, whatever is asked
                        if operation in on_store:
                            continue
                        on_store.add(operation)
                    self.measure(turn, operation, ranks)
            self.progress("")
            if self.options.csv:
                self.write_csv()

    def rounds_of(self, cell, name):
        """Of its times those that count: of quiet rounds, or of all if there was none."""
        times = self.times[cell][name]
        quiet = {turn: took for turn, took in times.items() if self.quiet[cell][turn]}
        return quiet or times

    def median(self, cell, name):
        return statistics.median(median for median, _ in self.rounds_of(cell, name).values())

    def write_csv(self):
        to = sys.stdout if self.options.csv == "-" else open(self.options.csv, "w")
        print(columns, file=to)
        for cell, peers in self.times.items():
            label, ranks, size = cell
            for name in peers:
                median = self.median(cell, name)
                least = min(least for _, least in self.rounds_of(cell, name).values())
                rate = size / median * 1e-3 if size > 64 else 0
                quiet = int(any(self.quiet[cell][turn] for turn in peers[name]))
                passes = "|".join(f"{t + 1}:{took:.2f}" for t, (took, _) in peers[name].items())
                words = [name, label, ranks, size, f"{median:.3f}", f"{least:.3f}", f"{rate:.4f}"]
                print(*words, quiet, passes, sep=",", file=to)
        if to is not sys.stdout:
            to.close()

    def others_of(self, cell):
        """By name: the cell with which that one is compared."""
        others = {name: cell for name in self.times[cell] if not name.startswith("tutti")}
        if cell[0] == "ddp_4x25MiB":
            in_turns = (blocking, *cell[1:])
            for name in self.times.get(in_turns, {}):
                if not name.startswith("tutti"):
                    others[f"{name}, blocking"] = in_turns
        return others

    def compare(self, cell):
        """tutti's name, and by name of the others their median and the quartiles of the ratios."""
        ours = next((name for name in self.times[cell] if name.startswith("tutti")), None)
        if ours is None:
            return None, {}
        compared = {}
        for name, theirs in self.others_of(cell).items():
            plain = name.removesuffix(", blocking")
            a, b = self.rounds_of(cell, ours), self.rounds_of(theirs, plain)
            both = sorted(a.keys() & b.keys())
            quartiles = ratios([a[turn][0] for turn in both], [b[turn][0] for turn in both])
            compared[name] = (self.median(theirs, plain), quartiles)
        return ours, compared

    def print_table(self):
        """The ratio to the fastest other, by cell."""
        fastest = {}
        print(line(["operation", "ranks", "size", "tutti, µs", "others, µs", "tutti / other"]))
        print("|---|---|---|---|---|---|")
        for cell in self.times:
            ours, others = self.compare(cell)
            if ours is None:
                continue
            label, ranks, size = cell
            cells = [label, str(ranks), size_text(size) if size else "-"]
            cells.append(f"{self.median(cell, ours):,.4g}")
            cells.append(", ".join(f"{name} {took:,.4g}" for name, (took, _) in others.items()))
            cells.append(", ".join(f"{name} {told(each)}" for name, (_, each) in others.items()))
            print(line(cells))
            if others:
                name = min(others, key=lambda name: others[name][0])
                fastest[cell] = (others[name][1][1], name)
        return fastest

    def summarize(self, what, fastest):
        """What a group of cells comes to; what of it is beside the goals."""
        if not fastest:
            return []
        values = [ratio for ratio, _ in fastest.values()]
        mean = math.exp(-statistics.fmean(map(math.log, values)))
        share = sum(ratio <= as_fast for ratio in values) / len(values)
        worst = max(fastest, key=lambda cell: fastest[cell][0])
        ratio, name = fastest[worst]
        size = f" of {size_text(worst[2])}" if worst[2] else ""
        print(
            f"{what}: {mean:.3g} times as fast as the fastest other (geometric mean of "
            f"{len(values)} cells); as fast, within 10 %, in {share:.0%}; worst: {worst[0]}{size} "
            f"among {worst[1]} ranks, {1 / ratio:.2g} times as fast as {name}"
        )
        reached = {"mean": mean, "as fast": share, "worst": 1 / ratio}
        return [f"{goal} {reached[goal]:.2f}" for goal in goals if reached[goal] < goals[goal]]


def report(bench, options):
    """The exit status."""
    if options.csv == "-":
        return 0
    fastest = bench.print_table()
    print(f"\nMedians of {options.rounds} rounds in which all take turns; a ratio is the median of")
    print("the rounds', with quartiles. Below 1, tutti is faster.", end=" ")
    print(told_load(bench.loads) if bench.loads else "Nobody looked for other load.")
    fastest = {cell: found for cell, found in fastest.items() if cell[0] in judged}
    for ranks in bench.ranks if len(bench.ranks) > 1 else ():
        of_these = {cell: found for cell, found in fastest.items() if cell[1] == ranks}
        bench.summarize(f"{ranks} ranks", of_these)
    missed = bench.summarize("all", fastest)
    if "judge" in options.flags:
        if not fastest:
            print("judged: there is nothing to judge by")
            return 1
        wanted = ", ".join(f"{goal} {value}" for goal, value in goals.items())
        print(f"judged ({wanted}): {'MISSED ' + ', '.join(missed) if missed else 'met'}")
    return 1 if missed and "judge" in options.flags else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    for name in "op ranks sizes dtype iterations against backend csv plot".split():
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
            write_plot(options.plot, medians, f"{options.dtype}, median of {options.rounds} rounds")
        except ValueError as wrong:
            sys.exit(f"tutti-bench: --plot {options.plot}: {wrong}")
    return report(bench, options)


if __name__ == "__main__":
    sys.exit(main())
