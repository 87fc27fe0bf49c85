"""Measures the object collectives of PyTorch or mpi4py, as objects_peer.c does tutti's, with the
same commands: objects_peer.py WORK pytorch|mpi4py. PyTorch's ranks are forked from rank 0, mpirun
starts those of mpi4py."""

import os
import pickle
import statistics
import sys
import time

now = time.monotonic
ranks = 4


class PyTorch:
    def __init__(self, work):
        import torch.distributed

        self.library = torch.distributed
        self.rank = 0
        make_pipes(work)
        for rank in range(1, ranks):
            if os.fork() == 0:
                self.rank = rank
                break
        store = f"file://{work}/pytorch.store"
        self.library.init_process_group("gloo", store, rank=self.rank, world_size=ranks)
        self.barrier = self.library.barrier
        self.leave = self.library.destroy_process_group
        self.name = f"PyTorch {torch.__version__}"

    def broadcast(self, value):
        values = [value if self.rank == 0 else None]
        self.library.broadcast_object_list(values, 0)
        return values

    def all_gather(self, value):
        values = [None] * ranks
        self.library.all_gather_object(values, value)
        return values

    def gather(self, value):
        values = [None] * ranks if self.rank == 0 else None
        self.library.gather_object(value, values, 0)
        return values or []

    def scatter(self, value):
        values = [None]
        self.library.scatter_object_list(values, [value] * ranks if self.rank == 0 else None, 0)
        return values


class Mpi4py:
    def __init__(self, work):
        import mpi4py
        from mpi4py import MPI

        self.world = MPI.COMM_WORLD
        self.rank = self.world.rank
        if self.rank == 0:
            make_pipes(work)
        self.barrier = self.world.Barrier
        self.barrier()
        self.leave = lambda: None  # it does so when the process ends
        version = MPI.Get_library_version().split(",")[0].removesuffix("\0")
        self.name = f"mpi4py {mpi4py.__version__} with {version}"

    def broadcast(self, value):
        return [self.world.bcast(value if self.rank == 0 else None, 0)]

    def all_gather(self, value):
        return self.world.allgather(value)

    def gather(self, value):
        return self.world.gather(value, 0) or []

    def scatter(self, value):
        return [self.world.scatter([value] * ranks if self.rank == 0 else None, 0)]


def pipe_of(work, rank, what):
    return os.path.join(work, f"{sys.argv[2]}.{rank}.{what}")


def make_pipes(work):
    for rank in range(1, ranks):
        for what in ("commands", "answers"):
            os.mkfifo(pipe_of(work, rank, what))


values = {}


def value_of(work, name):
    if name not in values:
        with open(os.path.join(work, f"{name}.pickle"), "rb") as file:
            values[name] = pickle.load(file)
    return values[name]


def check(library, operation, value):
    for got in getattr(library, operation)(value):
        if got != value:
            sys.exit(f"{operation} gave another value")


def times(library, operation, value, count):
    """Of each call, how long it took here."""
    call = getattr(library, operation)
    taken = []
    for _ in range(count):
        library.barrier()
        began = now()
        call(value)
        taken.append(now() - began)
    return taken


def run(library, work, line):
    command, operation, name, count = line.split()
    value = value_of(work, name)
    if command == "time":
        return times(library, operation, value, int(count))
    for _ in range(int(count)):
        check(library, operation, value)
    return []


def sent():
    """Bytes that this network, of local processes alone, has seen."""
    with open("/proc/net/dev") as file:
        for line in file:
            name, _, numbers = line.partition(":")
            if name.strip() == "lo":
                return int(numbers.split()[8])
    sys.exit("there is no interface lo")


def lead(library, work):
    others = [
        (open(pipe_of(work, rank, "commands"), "w"), open(pipe_of(work, rank, "answers")))
        for rank in range(1, ranks)
    ]
    print("ok", work, library.name, flush=True)
    for line in sys.stdin:
        command, _, name, count = line.split()
        value_of(work, name)
        before = sent()
        for commands, _ in others:
            commands.write(line)
            commands.flush()
        taken = [run(library, work, line)]
        for _, answers in others:
            taken.append([float(word) for word in answers.readline().split()])
        if command == "time":
            print("ok", statistics.median(max(call) for call in zip(*taken)) * 1e6, flush=True)
        else:
            print("ok", (sent() - before) / int(count), flush=True)


def follow(library, work):
    commands = open(pipe_of(work, library.rank, "commands"))
    answers = open(pipe_of(work, library.rank, "answers"), "w")
    for line in commands:
        answers.write(" ".join(map(str, run(library, work, line))) + "\n")
        answers.flush()


def main():
    work = sys.argv[1]
    library = {"pytorch": PyTorch, "mpi4py": Mpi4py}[sys.argv[2]](work)
    (follow if library.rank else lead)(library, work)
    library.leave()


main()
