"""A script as people write them for torchrun: data parallel training on the CPU, nothing of tutti.

With FAIL_ONCE the last rank fails on the first attempt.
"""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    torch.manual_seed(rank)
    inputs = torch.randn(64, 4)
    targets = inputs @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(20):
        if step == 3 and rank == size - 1 and restarts == 0 and "FAIL_ONCE" in os.environ:
            raise RuntimeError("a bad day")
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    weights = model.module.weight.detach().flatten().tolist()
    assert losses[-1] < losses[0] / 10, losses
    print(
        f"rank {rank} of {size}: loss fell to {losses[-1]:.4f}, restart {restarts}, "
        f"weights {weights}",
        flush=True,
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
