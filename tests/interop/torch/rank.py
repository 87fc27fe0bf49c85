"""One rank: runs the functions test_... of the modules, in one group over tutti.

    rank.py [MODULE...]        with the variables of env://
"""

import importlib
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch
import torch.distributed as dist

from values import version


modules = ["messages", "collectives", "works", "sparse", "groups", "training", "shrinking"]


def main():
    torch.set_num_threads(1)
    if version < (2, 14):
        import tutti_torch  # it does not look for the entry point
    dist.init_process_group("tutti")
    for name in sys.argv[1:] or modules:
        module = importlib.import_module(name)
        for test in [one for one in vars(module) if one.startswith("test_")]:
            started = time.monotonic()
            try:
                getattr(module, test)()
            except BaseException:
                traceback.print_exc()
                print(f"rank {dist.get_rank()}: {name}.{test} failed", file=sys.stderr, flush=True)
                os._exit(1)
            if dist.get_rank() == 0:
                took = time.monotonic() - started
                print(f"{dist.get_world_size()} ranks: {name}.{test} {took:.1f} s", flush=True)
    dist.destroy_process_group()


main()
