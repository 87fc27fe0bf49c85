"""Trains a model, and sends its parameters after each step to the program receiver.c, which uses them.

    publish.py FILE        FILE: examples/data/digits.csv; README.md says how it is started
"""

import sys

import torch
import torch.distributed as dist

from train import BATCH, EPOCHS, accuracy, batches, make_net, read_digits


def main():
    training, tests = read_digits(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("tutti")  # this is rank 0
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    steps_of_epoch = len(training[0]) // BATCH
    dist.broadcast(torch.tensor([EPOCHS * steps_of_epoch, steps_of_epoch]), 0)
    for images, labels in batches(training, 0, 1):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()
        for one in net.parameters():
            dist.broadcast(one.detach(), 0)
    print(f"rank 0, PyTorch: test accuracy {accuracy(net, tests):.2f} %", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
