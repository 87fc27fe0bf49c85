"""Who takes turns: tutti, and the others that are installed; how each is started, and what it
printed."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from verdict import judged

here = pathlib.Path(__file__).resolve().parent
longest_run_s = 900
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
        if len(words) >= 7 and words[0] != "peer":
            cell = (words[1], int(words[2]), int(words[3]))
            way = words[7] if len(words) > 7 else None
            rows.append((words[0], cell, float(words[4]), float(words[5]), way))
    return rows


class Tutti:
    def __init__(self, options, alloc):
        self.options, self.alloc = options, alloc
        self.kind = "tutti-alloc" if alloc else "tutti"

    def command(self, operation, ranks, sizes):
        options = self.options
        command = [options.program, "--op", operation, "--ranks", str(ranks), "--csv", "-"]
        command += ["--sizes", ",".join(map(str, sizes)), "--dtype", options.dtype]
        command += ["--data", options.data]
        command += ["--iterations", options.iterations if options.iterations != "0" else "auto"]
        command += ["--backend", options.backend] if options.backend else []
        command += ["--alloc"] if self.alloc else []
        flags = ("rewrite", "reproducible", "unbound", "ways")
        return command + [f"--{flag}" for flag in flags if flag in options.flags]


class Plain(Tutti):
    """tutti's plain sums, beside its reproducible ones."""

    def __init__(self, options):
        super().__init__(options, options.memory == "alloc")
        self.kind = "plain"

    def command(self, operation, ranks, sizes):
        command = super().command(operation, ranks, sizes)
        return [word for word in command if word != "--reproducible"]


class Pytorch:
    """PyTorch over Gloo, on the interface lo."""

    kind = "pytorch"
    dtypes = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")
    operations = (*judged, "gather", "scatter", "ddp")

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

    def command(self, operation, ranks, sizes):
        if operation not in self.operations:
            return None
        command = [here.parent / "support/pytorch", self.folder, "bench/torch_peer.py"]
        command += [self.kind, operation, str(ranks), ",".join(map(str, sizes))]
        options = self.options
        rewrite = "1" if "rewrite" in options.flags else "0"
        return command + [options.dtype, options.iterations, rewrite]


def compile_peer(compiler, name, program):
    """One of our programs in C that measure others, with what all share."""
    parts = [name, *"peer cells contents halo measure messages numbers overlap".split()]
    sources = [here / f"{part}.c" for part in parts]
    flags = ["-std=c99", "-D_GNU_SOURCE", "-O3"]
    subprocess.run([compiler, *flags, "-o", program, *sources, "-lm"], check=True)


class Sockets:
    """Two processes that poll their sockets: what a message over TCP costs at least."""

    kind = "sockets"

    def __init__(self, compiler, options, folder):
        self.options, self.program = options, folder / "sockets_peer"
        compile_peer(compiler, "sockets_peer", self.program)

    def command(self, operation, ranks, sizes):
        if operation != "sendrecv_pingpong":
            return None
        options = self.options
        command = [self.program, self.kind, operation, ",".join(map(str, sizes)), options.dtype]
        rewrite = "1" if "rewrite" in options.flags else "0"
        return command + [options.data, options.iterations, rewrite]


class Mpi:
    """An MPI that is installed; over TCP alone, if its kind says so."""

    def __init__(self, kind, compiler, launcher, options, folder):
        self.kind, self.launcher, self.options = kind, launcher, options
        self.is_mpich, self.is_tcp = kind.startswith("mpich"), kind.endswith("-tcp")
        self.processors = len(os.sched_getaffinity(0))
        self.program = folder / f"mpi_peer_{kind}"
        compile_peer(compiler, "mpi_peer", self.program)

    def launch(self, ranks):
        """How it is started at its best: bound where each rank has a processor, else yielding
        where it can."""
        if self.is_mpich:
            # Built over libfabric or over UCX.
            over = {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"}
            chosen = [word for item in over.items() for word in ("-genv", *item)]
            return self.kind, [self.launcher, *(chosen if self.is_tcp else ()), "-n", str(ranks)]
        command = [self.launcher, "--allow-run-as-root", "--oversubscribe"]
        command += ["--mca", "btl", "self,tcp" if self.is_tcp else "self,vader"]
        command += "--mca pml ob1".split()
        if ranks <= self.processors:
            return self.kind, command + ["--bind-to", "core", "-n", str(ranks)]
        command += "--bind-to none --mca mpi_yield_when_idle 1".split()
        return f"{self.kind}-yield", command + ["-n", str(ranks)]

    def command(self, operation, ranks, sizes):
        """Nothing where it is left out."""
        if operation.startswith("store_") or "object" in operation:
            return None
        if self.is_mpich and ranks > self.processors:
            sizes = [size for size in sizes if size >= least_of_mpich]
            if not sizes or operation.endswith("_loop") or operation.startswith("barrier"):
                return None
        if operation == "ddp":
            operation = "ddp,ddp_blocking"  # what is faster counts
        name, command = self.launch(ranks)
        command = command + [self.program, name, operation, ",".join(map(str, sizes))]
        options = self.options
        rewrite = "1" if "rewrite" in options.flags else "0"
        return command + [options.dtype, options.data, options.iterations, rewrite]


def find_mpi(kind):
    """Its compiler and its launcher, if it is there."""
    name = kind.removesuffix("-tcp")
    sign = {"openmpi": "Open MPI", "mpich": "HYDRA"}[name]
    for ending in (f".{name}", ""):
        compiler, launcher = shutil.which("mpicc" + ending), shutil.which("mpirun" + ending)
        if compiler and launcher:
            version = subprocess.run([launcher, "--version"], capture_output=True, text=True)
            if sign in version.stdout:
                return compiler, launcher
    return None


def find_pytorch(options, folder):
    """PyTorch, or why it is left out."""
    if options.dtype not in Pytorch.dtypes:
        return None, f"over Gloo it adds no {options.dtype}s"
    if options.data != "whole":
        return None, f"it is given no {options.data} numbers"
    command = [here.parent / "support/pytorch", "--find"]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
        return None, "there is no PyTorch 2 (Debian: python3-torch), see tests/support/pytorch"
    return Pytorch(options, folder), ""


def find_one_mpi(kind, options, folder):
    found = find_mpi(kind)
    if options.dtype in ("float16", "bfloat16", "bool"):
        return None, f"MPI adds no {options.dtype}s"
    if found is None:
        return None, f"not installed (Debian: mpich, libmpich-dev; openmpi-bin, libopenmpi-dev)"
    return Mpi(kind, *found, options, folder), ""


def find_peers(options, folder):
    memories = {"private": [False], "alloc": [True], "both": [False, True]}
    peers = [Tutti(options, alloc) for alloc in memories[options.memory]]
    names = options.against.replace("both", "openmpi,mpich")
    for kind in dict.fromkeys(names.split(",") if names else []):
        if kind == "plain":
            peer, why_not = Plain(options), ""
        elif kind == "pytorch":
            peer, why_not = find_pytorch(options, folder)
        elif kind == "sockets":
            compiler = shutil.which("cc")
            peer = Sockets(compiler, options, folder) if compiler else None
            why_not = "there is no C compiler (Debian: gcc)"
        else:
            peer, why_not = find_one_mpi(kind, options, folder)
        if peer is None:
            print(f"skipped: {kind}: {why_not}")
        else:
            peers.append(peer)
    return peers
