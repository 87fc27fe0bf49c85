"""Measures PyTorch's operations over Gloo as tutti-bench does tutti's, in the same cells and by the
same method, with fewer iterations, because each takes long:
    torch_peer.py WORK PEER OPERATION RANKS BYTES,... DTYPE ITERATIONS REWRITE
WORK is a folder where the ranks meet. ITERATIONS 0: by time. Rank 0 prints the rows; the others are
forked from it."""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

now = time.perf_counter
large, middle = 1 << 18, 1 << 20
budget_s, most_by_time = 0.1, 200
period, cache_line = 1021, 64
buckets, bucket_bytes = 4, 25 << 20


def contribution(rank, first, count):
    """The same numbers as numbers.c has them."""
    index = torch.arange(first, first + count, dtype=torch.int64) % period
    mixed = (index * 31 + rank * 7 + 5) * 2654435761 & 0xFFFFFFFF
    return (mixed >> 30).to(dtype)


def total(first, count):
    return sum(contribution(rank, first, count).to(torch.int64) for rank in range(ranks)).to(dtype)


def in_pieces(tensor, count):
    return list(tensor[: count * ranks].split(count))


class Cell:
    """`call`, on `input`; `right` pairs what it wrote and what that must be."""

    def __init__(self, operation, size):
        width = torch.empty(0, dtype=dtype).element_size()
        self.size = size
        self.count = size // width
        self.piece = max(self.count // ranks, 1)
        self.label, self.scale, self.right = operation, 1, []
        getattr(self, operation)()

    def mine(self, count):
        self.input = contribution(rank, 0, count)
        return self.input

    def expects(self, output, expected):
        self.right.append((output, expected))
        return output

    def all_reduce(self):
        tensor = self.expects(self.mine(self.count), total(0, self.count))
        self.call = lambda: dist.all_reduce(tensor)

    def broadcast(self):
        tensor = self.expects(self.mine(self.count), contribution(0, 0, self.count))
        self.call = lambda: dist.broadcast(tensor, 0)

    def reduce(self):
        tensor = self.mine(self.count)
        if rank == 0:
            self.expects(tensor, total(0, self.count))
        self.call = lambda: dist.reduce(tensor, 0)

    def reduce_scatter(self):
        tensor = self.mine(self.piece * ranks)
        output = torch.empty(self.piece, dtype=dtype)
        self.expects(output, total(rank * self.piece, self.piece))
        self.call = lambda: dist.reduce_scatter_tensor(output, tensor)

    def all_gather(self):
        tensor = self.mine(self.count)
        output = torch.empty(self.count * ranks, dtype=dtype)
        parts = [contribution(other, 0, self.count) for other in range(ranks)]
        self.expects(output, torch.cat(parts))
        self.call = lambda: dist.all_gather_into_tensor(output, tensor)

    def all_to_all(self):
        tensor = self.mine(self.piece * ranks)
        output = torch.empty(self.piece * ranks, dtype=dtype)
        first = rank * self.piece
        parts = [contribution(other, first, self.piece) for other in range(ranks)]
        self.expects(output, torch.cat(parts))
        self.call = lambda: dist.all_to_all_single(output, tensor)

    def barrier(self):
        self.size, self.input = 0, None
        self.call = dist.barrier

    def gather(self):
        tensor, parts = self.mine(self.count), None
        if rank == 0:
            parts = [torch.empty(self.count, dtype=dtype) for _ in range(ranks)]
            for other, part in enumerate(parts):
                self.expects(part, contribution(other, 0, self.count))
        self.call = lambda: dist.gather(tensor, parts, 0)

    def scatter(self):
        parts = in_pieces(self.mine(self.piece * ranks), self.piece) if rank == 0 else None
        self.input = parts[0] if parts else None
        output = torch.empty(self.piece, dtype=dtype)
        self.expects(output, contribution(0, rank * self.piece, self.piece))
        self.call = lambda: dist.scatter(output, parts, 0)

    def sendrecv_pingpong(self):
        tensor, output = self.mine(self.count), torch.empty(self.count, dtype=dtype)
        self.expects(output, contribution(1 - rank, 0, self.count))
        self.scale = 0.5

        def first():
            dist.send(tensor, 1)
            dist.recv(output, 1)

        def second():
            dist.recv(output, 0)
            dist.send(tensor, 0)

        self.call = second if rank else first

    def ddp(self):
        self.label, self.size = "ddp_4x25MiB", buckets * bucket_bytes
        count = bucket_bytes // torch.empty(0, dtype=dtype).element_size()
        tensors = [self.mine(count) for _ in range(buckets)]
        for tensor in tensors:
            self.expects(tensor, total(0, count))

        def call():
            for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
                work.wait()

        self.call = call

    def check(self):
        self.call()
        for output, expected in self.right:
            if not torch.equal(output, expected):
                sys.exit(f"the result of {self.label} of {self.size} bytes is wrong on rank {rank}")


def largest(values):
    tensor = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return tensor.tolist()


def time_once(cell, rewrite):
    if rewrite and cell.input is not None:
        cell.input[:: cache_line // cell.input.element_size()] += 0
    dist.barrier()
    began = now()
    cell.call()
    return now() - began


def measure(cell, iterations, rewrite):
    """The microseconds of each iteration; an iteration took what the slowest rank took."""
    cell.check()
    warm_ups = 3 if cell.size <= large else 1
    fewest = 10 if cell.size <= large else 5 if cell.size <= middle else 3
    began = now()
    for _ in range(warm_ups):
        time_once(cell, rewrite)
    took = largest([(now() - began) / warm_ups])[0]
    by_time = min(max(int(budget_s / took), fewest), most_by_time)
    times = [time_once(cell, rewrite) for _ in range(iterations or by_time)]
    return [each * cell.scale * 1e6 for each in largest(times)]


def main():
    global ranks, rank, dtype
    work, peer, operation, ranks, sizes, dtype, iterations, rewrite = sys.argv[1:]
    ranks, rank, dtype = int(ranks), 0, getattr(torch, dtype)
    torch.set_num_threads(1)
    children = []
    for other in range(1, ranks):
        children.append(os.fork())
        if children[-1] == 0:
            rank, children = other, []
            break
    store = os.path.join(work, f"pytorch-{os.getppid() if rank else os.getpid()}")
    dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=ranks)
    for size in map(int, sizes.split(",")):
        cell = Cell(operation, size)
        times = measure(cell, int(iterations), rewrite == "1")
        if rank == 0:
            median = statistics.median(times)
            print(peer, cell.label, ranks, cell.size, median, min(times), 0, sep=",", flush=True)
        if cell.size != size:
            break
    dist.barrier()
    dist.destroy_process_group()
    for child in children:
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("a rank failed")


main()
