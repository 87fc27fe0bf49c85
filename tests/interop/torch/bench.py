"""Times of a backend from Python, of two ranks or more: all_reduce by size, and steps of training.

    bench.py tutti|gloo        with the variables of env://
"""

import sys
import time

started = time.perf_counter()
import torch
import torch.distributed as dist

imported = time.perf_counter()
torch.set_num_threads(1)
backend = sys.argv[1]
store, rank, size = next(dist.rendezvous("env://"))
store.add("imported", 1)
while store.add("imported", 0) < size:  # or the slower rank's import would count
    pass
met = time.perf_counter()
dist.init_process_group(backend, store=store, rank=rank, world_size=size)
begun = time.perf_counter()


def say(text):
    if dist.get_rank() == 0:
        print(f"{backend}: {text}", flush=True)


def time_of(call, times):
    """Microseconds of one call: the best of five rounds."""
    rounds = []
    for _ in range(5):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(times):
            call()
        rounds.append((time.perf_counter() - start) / times * 1e6)
    return min(rounds)


def reductions():
    for count, times in ((2, 2000), (4096, 1000), (1 << 18, 40), (1 << 22, 6), (1 << 24, 3)):
        tensor = torch.ones(count)
        at_once = time_of(lambda: dist.all_reduce(tensor), times)
        started = time_of(lambda: dist.all_reduce(tensor, async_op=True).wait(), times)
        times_of = f"{at_once:10.1f} us, started and waited for {started:10.1f} us"
        say(f"all_reduce of {4 * count:>9} bytes: {times_of}")


def training():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256)]
    model = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(256, 10))
    model = torch.nn.parallel.DistributedDataParallel(model)
    steps = torch.optim.SGD(model.parameters(), 0.01)
    inputs, labels = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def step():
        steps.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        steps.step()

    say(f"training with DDP: {1e6 / time_of(step, 60):.0f} steps/s")


say(f"import {imported - started:.2f} s, init {begun - met:.3f} s")
reductions()
training()
dist.destroy_process_group()
