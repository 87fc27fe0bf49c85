"""Mends a build of PyTorch without libuv, Debian's for one, before a script starts.

There the stores that torchrun's workers connect to cannot be opened: they ask for libuv, whatever
USE_LIBUV says. Where libuv is built in, nothing is changed.
"""
import sys

import torch.distributed as dist

original = dist.TCPStore


class TCPStore(original):
    def __init__(self, *arguments, use_libuv=False, **named):
        super().__init__(*arguments, use_libuv=use_libuv, **named)


try:
    original("127.0.0.1", 0, is_master=True, wait_for_workers=False, use_libuv=True)
except RuntimeError:
    dist.TCPStore = TCPStore
    sys.modules["torch.distributed.rendezvous"].TCPStore = TCPStore
