"""PyTorch's replicas of a job whose other replicas are the program replica.c: all train one model by
DistributedDataParallel.

    train.py FILE        FILE: examples/data/digits.csv; README.md says how it is started
"""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import tutti_torch  # PyTorch 2.14 and later find the backend without it

BATCH, EPOCHS, STRIDE = 64, 20, 521


def read_digits(path):
    """Images and labels, the same for training and for testing."""
    with open(path, encoding="ascii") as lines:
        rows = torch.tensor([[int(one) for one in line.split(",")] for line in lines])
    images, labels = rows[:, :64] / 16, rows[:, 64]
    training = len(rows) * 4 // 5
    return (images[:training], labels[:training]), (images[training:], labels[training:])


def make_net():
    torch.manual_seed(1998)
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))


def accuracy(net, tests):
    images, labels = tests
    with torch.no_grad():
        return 100 * (net(images).argmax(1) == labels).double().mean().item()


def batches(training, rank, size):
    """This rank's images of each batch: those whose place in it is the rank, modulo the ranks."""
    images, labels = training
    for batch in range(EPOCHS * (len(images) // BATCH)):
        at = (batch * BATCH + torch.arange(rank, BATCH, size)) * STRIDE % len(images)
        yield images[at], labels[at]


def main():
    training, tests = read_digits(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("tutti")
    rank, size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(make_net())
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for images, labels in batches(training, rank, size):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    print(f"rank {rank}, PyTorch: test accuracy {accuracy(model.module, tests):.2f} %", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
