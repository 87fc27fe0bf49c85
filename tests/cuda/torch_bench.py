"""How fast PyTorch's collectives of CUDA tensors are over Gloo: the lines that device_bench prints.

    torch_bench.py RANKS
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

MOST = 64 << 20


def measure(name, call, ranks, size):
    iterations = max(10, min(200, (1 << 28) // (size + 1)))
    took = []
    for i in range(-3, iterations):
        dist.barrier()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if i >= 0:
            took.append((time.perf_counter() - begin) * 1e6)
    median = statistics.median(took)
    if dist.get_rank() == 0:
        print(f"pytorch-gloo,{name},{ranks},{size},{median:.1f},{size / median / 1e3:.3f}",
              flush=True)


def run(rank, ranks, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                            world_size=ranks)
    device = rank % torch.cuda.device_count()
    size = 1024
    while size <= MOST:
        part = torch.zeros(size // 4, device=f"cuda:{device}")
        whole = [torch.zeros(size // 4, device=f"cuda:{device}") for _ in range(ranks)]
        measure("all_reduce", lambda: dist.all_reduce(part), ranks, size)
        measure("broadcast", lambda: dist.broadcast(part, 0), ranks, size)
        try:
            measure("all_gather", lambda: dist.all_gather(whole, part), ranks, size)
        except RuntimeError as error:
            if rank == 0:
                print("# all_gather:", str(error).splitlines()[0], flush=True)
        size *= 8
    dist.destroy_process_group()


if __name__ == "__main__":
    count = int(sys.argv[1])
    multiprocessing.spawn(run, args=(count, 20000 + os.getpid() % 20000), nprocs=count)
