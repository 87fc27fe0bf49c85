"""How long the smallest program takes with many ranks; see the script start."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))

from bench.others import find_mpi
from bench.quiet import wait_for_quiet
from bench.rounds import in_turn, line, ratios, told, told_load

longest_s = 300


class Tutti:
    def __init__(self, kind, launcher, program, libraries):
        self.kind = kind
        self.command = [launcher, "--nproc-per-node"]
        self.program = program
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(libraries)}

    def start(self, ranks):
        return run([*self.command, str(ranks), self.program], self.environment)


class OpenMpi:
    kind = "openmpi"

    def __init__(self, compiler, launcher, folder):
        self.program = pathlib.Path(folder, "start_mpi_peer")
        source = here / "start_mpi_peer.c"
        subprocess.run([compiler, "-O3", "-o", self.program, source], check=True)
        self.command = [launcher, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        self.command += "--mca btl self,vader --mca pml ob1 --mca mpi_yield_when_idle 1".split()

    def start(self, ranks):
        return run([*self.command, "-n", str(ranks), self.program], os.environ)


def run(command, environment):
    """Its time in seconds, and what its ranks said."""
    began = time.monotonic()
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=longest_s
    )
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.stderr.write(done.stderr[-4000:])
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}")
    said = [text.split("start ")[1] for text in done.stdout.splitlines() if "start " in text]
    return took, [list(map(float, words.split())) for words in said]


def find_peers(options, folder):
    build = pathlib.Path(options.build)
    program = build / "bin/tutti_start_peer"
    peers = [Tutti("tutti", build / "bin/tuttirun", program, build / "lib")]
    if options.beside:
        other = pathlib.Path(options.beside)
        peers.append(Tutti("beside", other / "bin/tuttirun", program, other / "lib"))
    found = find_mpi("openmpi")
    if found:
        peers.append(OpenMpi(*found, folder))
    else:
        print("skipped: openmpi: not installed (Debian: openmpi-bin, libopenmpi-dev)")
    return peers


def measure(peers, ranks, options, loads):
    """By kind: the times of the rounds, and the most of any rank in them."""
    times = {peer.kind: [] for peer in peers}
    details = {peer.kind: [] for peer in peers}
    for turn in range(options.rounds):
        for peer in in_turn(peers, turn):
            loads.append(wait_for_quiet(options.patience))
            took, said = peer.start(ranks)
            times[peer.kind].append(took)
            if said:
                details[peer.kind].append([max(column) for column in zip(*said)])
    return times, details


def show(ranks, times, details):
    for kind, each in times.items():
        cells = [str(ranks), kind, f"{statistics.median(each):.3f} s"]
        if details[kind]:
            most = [statistics.median(column) for column in zip(*details[kind])]
            cells += [f"{most[0]:.0f} ms", f"{most[1]:.0f} ms", f"{most[2]:.0f}", f"{most[3]:.0f}"]
        else:
            cells += ["-"] * 4
        cells.append("" if kind == "tutti" else told(ratios(times["tutti"], each)))
        print(line(cells), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--beside", help="another build, whose library and launcher take turns")
    parser.add_argument("--ranks", default="32,64,128,256")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=int, default=10, help="looks for a quiet moment")
    parser.add_argument("--judge", action="store_true", help="exit with 1 if Open MPI is faster")
    options = parser.parse_args()
    loads = []
    good = True
    with tempfile.TemporaryDirectory(prefix="tutti-") as folder:
        peers = find_peers(options, folder)
        heads = ["ranks", "of", "program", "meeting", "parting", "threads", "descriptors"]
        print(line([*heads, "tutti takes, of theirs"]) + "\n|---|---|---|---|---|---|---|---|")
        for ranks in map(int, options.ranks.split(",")):
            times, details = measure(peers, ranks, options, loads)
            show(ranks, times, details)
            others = times.get("openmpi", [])
            good = good and (not others or ratios(times["tutti"], others)[1] <= 1)
    print(f"\n{told_load(loads)}\nWanted: no slower than Open MPI: {'met' if good else 'MISSED'}")
    return 1 if options.judge and not good else 0


sys.exit(main())
