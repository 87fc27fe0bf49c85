"""The object collectives of tutti, PyTorch and mpi4py beside each other; see the script objects."""

import argparse
import os
import pathlib
import pickle
import random
import shutil
import statistics
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from bench.quiet import wait_for_quiet
from bench.rounds import in_turn, line, ratios, told, told_load
from support.peers import Peers, skip_without_pytorch, tests

shm, gloo = "tutti over shm", "tutti over gloo"
pytorch, shared, tcp = "PyTorch", "mpi4py", "mpi4py over TCP"
# The two times that are divided; of PyTorch's, tutti's is to be the shorter.
compared = [(shm, shared), (shm, pytorch), (shm, gloo), (gloo, pytorch), (gloo, tcp)]
on_wire = [gloo, pytorch, tcp]
operations = ["broadcast", "all_gather", "gather", "scatter"]
mebi = 1 << 20
most_overhead = 0.02  # of what cannot shrink


def make_text(generator, size):
    """Words of which few are frequent and many are rare, as in a language."""
    letters = "etaoinshrdlucmfwypvbgk"
    weights = [1 / (1 + place) for place in range(len(letters))]
    words = [
        "".join(generator.choices(letters, weights, k=generator.randint(1, 11)))
        for _ in range(20000)
    ]
    weights = [1 / (10 + place) for place in range(len(words))]
    return " ".join(generator.choices(words, weights, k=size // 4))[:size]


def make_nested(generator, count):
    """About 200 bytes for each layer."""
    words = make_text(generator, 20000).split(" ")
    return {
        f"layer.{i}": {
            "name": " ".join(generator.choices(words, k=8)),
            "shape": [generator.randrange(4096) for _ in range(8)],
            "stats": {"step": i, "loss": generator.random(), "frozen": generator.random() < 0.5},
            "tags": [generator.choice(words), None],
        }
        for i in range(count)
    }


def make_values(seed, scale):
    """By name: what it is, the value, how many calls of it are one round."""
    large = int(16 * mebi * scale)
    generator = random.Random(seed)
    small = {"rank": 1, "loss": 0.25, "name": "worker-1", "ok": True, "dims": [1, 2, 3]}
    return {
        "small": ("small dictionary", small, 40),
        "nested": ("nested, 1 MiB", make_nested(generator, int(5900 * scale)), 8),
        "text": ("text, 16 MiB", make_text(generator, large), 3),
        "random": ("random bytes, 16 MiB", generator.randbytes(large), 3),
    }


def pack(value):
    """MessagePack, always with the widest header."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">Bq", 0xD3, value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, bytes):
        return struct.pack(">BI", 0xC6, len(value)) + value
    if isinstance(value, str):
        return struct.pack(">BI", 0xDB, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(pack, value))
    pairs = [part for pair in value.items() for part in pair]
    return struct.pack(">BI", 0xDF, len(value)) + b"".join(map(pack, pairs))


def network_of_its_own():
    """In front of a command: its ranks alone are on its lo. Empty where that is not allowed."""
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    possible = subprocess.run(alone + ["true"], stderr=subprocess.DEVNULL).returncode == 0
    return alone if possible else []


def find_mpi():
    """The Python that has mpi4py, if there is one and an mpirun of Open MPI."""
    for python in ("/usr/bin/python3", "python3"):
        if shutil.which("mpirun.openmpi") and shutil.which(python):
            code = subprocess.run([python, "-c", "import mpi4py"], stderr=subprocess.DEVNULL)
            if code.returncode == 0:
                return python
    return None


def mpi_command(python, folder, transport):
    options = "--allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 --mca pml ob1"
    script = tests / "bench/objects_peer.py"
    return ["mpirun.openmpi", "-n", "4", *options.split(), *transport.split(), python, script]


class Bench:
    def __init__(self, peers, options):
        self.options = options
        self.missed = []
        self.loads = []
        self.values = make_values(options.seed, options.scale)
        folder = pathlib.Path(peers.folder)
        for name, (_, value, _) in self.values.items():
            (folder / f"{name}.msgpack").write_bytes(pack(value))
            (folder / f"{name}.pickle").write_bytes(pickle.dumps(value))
        self.alone = network_of_its_own()
        self.add_commands(peers, folder)
        self.peers = {kind: peers.start(kind) for kind in self.kinds}

    def add_commands(self, peers, folder):
        self.kinds = [shm, gloo]
        for kind in self.kinds:
            command = [self.options.peer, folder, kind.split()[-1]]
            peers.commands[kind] = (self.alone + command, folder)
        if not self.options.without_pytorch:
            self.kinds.append(pytorch)
            command = [tests / "support/pytorch", folder, "bench/objects_peer.py", "pytorch"]
            peers.commands[pytorch] = (self.alone + command, None)
        python = None if self.options.without_mpi4py else find_mpi()
        transports = {
            shared: "--mca btl self,vader",
            tcp: "--mca btl self,tcp --mca btl_tcp_if_include lo",
        }
        for kind, transport in transports.items() if python else ():
            self.kinds.append(kind)
            mine = folder / transport[-2:]
            mine.mkdir()
            for file in folder.glob("*.pickle"):
                (mine / file.name).symlink_to(file)
            command = mpi_command(python, folder, transport) + [mine, "mpi4py"]
            peers.commands[kind] = (self.alone + command, None)

    def measure(self, operation, name, calls):
        """Of each kind the times of the rounds, in which they take turns, and the bytes of a
        call."""
        times = {kind: [] for kind in self.peers}
        sizes = {
            kind: float(peer.ask("wire", operation, name, calls)[0])
            for kind, peer in self.peers.items()
        }
        for turn in range(self.options.rounds):
            for kind in in_turn(self.peers, turn):
                answer = self.peers[kind].ask("time", operation, name, calls)
                times[kind].append(float(answer[0]))
        return times, sizes

    def pairs(self):
        return [pair for pair in compared if pair[1] in self.peers]

    def line(self, what, shrinks, times, sizes):
        cells = [what]
        for kind in self.peers:
            cells.append(f"{statistics.median(times[kind]) * 1e-3:,.4g}")
        for ours, theirs in self.pairs():
            quartiles = ratios(times[ours], times[theirs])
            cells.append(told(quartiles))
            if theirs == pytorch and quartiles[1] >= 1:
                self.missed.append(f"time of {what}, {ours}")
        cells += [f"{sizes[kind] / 1000:,.4g}" for kind in on_wire if kind in self.peers]
        if pytorch in self.peers:
            ratio = sizes[gloo] / sizes[pytorch]
            cells.append(f"{ratio:.2f}")
            if ratio >= (1 if shrinks else 1 + most_overhead):
                self.missed.append(f"bytes of {what}")
        print(line(cells), flush=True)

    def run(self):
        heads = [""] + [f"{kind}, ms" for kind in self.peers]
        heads += [f"{ours} / {theirs.removeprefix('tutti ')}" for ours, theirs in self.pairs()]
        heads += [f"{kind}, kB sent" for kind in on_wire if kind in self.peers]
        heads += ["tutti / PyTorch"] if pytorch in self.peers else []
        print(f"{line(heads)}\n|{'---|' * len(heads)}")
        for name, (what, _, calls) in self.values.items():
            calls = max(1, round(calls * self.options.calls))
            for operation in operations:
                if self.options.only in f"{operation} {name}":
                    self.loads.append(wait_for_quiet(self.options.patience))
                    results = self.measure(operation, name, calls)
                    self.line(f"{operation}, {what}", name != "random", *results)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", help="tutti's program, tutti_objects_peer")
    parser.add_argument("--rounds", type=int, default=9, help="of each measurement")
    parser.add_argument("--calls", type=float, default=1, help="in a round, times the usual")
    parser.add_argument("--scale", type=float, default=1, help="sizes, times what is printed")
    parser.add_argument("--only", default="", help="a part of OPERATION VALUE, such as gather text")
    parser.add_argument("--patience", type=int, default=10, help="looks for a quiet moment")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--without-pytorch", action="store_true")
    parser.add_argument("--without-mpi4py", action="store_true")
    parser.add_argument("--judge", action="store_true", help="exit with 1 if PyTorch is ahead")
    options = parser.parse_args()
    if not options.without_pytorch:
        skip_without_pytorch()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with Peers(options.peer, "bench/objects_peer.py") as peers:
        bench = Bench(peers, options)
        bench.run()
    print(f"\n4 ranks. Medians of {options.rounds} rounds that alternate; of a call, the rank that")
    print("took longest counts. A ratio is the median of the rounds', with quartiles. What is sent")
    print("is what the interface lo has seen, headers and all, of one call on all ranks", end="")
    print(" (each library\nin a network of its own)." if bench.alone else ",\nand of all others.")
    print("mpi4py uses shared memory, and for comparison TCP; what goes through memory counts as no")
    print("bytes sent.")
    print(told_load(bench.loads))
    if bench.missed:
        print(f"MISSED: {', '.join(bench.missed)}")
    return 1 if bench.missed and options.judge else 0


sys.exit(main())
