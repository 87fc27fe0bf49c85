"""PyTorch's own tests of a backend, from the PyTorch that is installed, with tutti in Gloo's
place: they ask for "gloo" where a test is for backends of the CPU.

    suite.py gloo|tutti [unittest's arguments]
"""

import os
import sys
import unittest

whose = os.environ.setdefault("TUTTI_SUITE_BACKEND", sys.argv[1] if len(sys.argv) > 1 else "tutti")
os.environ["BACKEND"] = "gloo"
os.environ.setdefault("WORLD_SIZE", "2")
os.environ.setdefault("TEMP_DIR", "/tmp")

import torch
import torch.distributed as dist

if whose == "tutti":
    import tutti_torch

    dist.Backend._plugins["GLOO"] = dist.Backend._plugins["TUTTI"]
    dist.Backend.backend_type_map["gloo"] = dist.Backend.backend_type_map["tutti"]

from torch.testing._internal.distributed import distributed_test
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend

events_of = distributed_test.get_profiling_event


def events(name, profile, **terms):
    """The events of the backend that is tried, under the names that the tests know."""
    found = events_of(name.replace("gloo:", whose + ":"), profile, **terms)
    for one in found:
        one.name = one.name.replace(whose + ":", "gloo:")
    return found


distributed_test.get_profiling_event = events


class TestWithFork(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
