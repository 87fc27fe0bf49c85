"""Runs one of PyTorch's test modules, for suite.py: TUTTI_SUITE_MODULE with TUTTI_SUITE_BACKEND,
gloo or tutti; the results go to TUTTI_SUITE_INTO, a line each. The tests ask for "gloo" where they
are for backends of the CPU, so that name gives them tutti. The processes that the tests start come
from a server that has imported PyTorch already."""

import importlib
import json
import os
import sys
import unittest

import torch
import torch.distributed as dist

whose = os.environ["TUTTI_SUITE_BACKEND"]
torch.set_num_threads(1)
if whose == "tutti":
    import tutti_torch
    from torch.distributed import distributed_c10d

    class TuttiForGloo(type):
        def __call__(cls, store, rank, size, timeout):
            return tutti_torch.create(store, "group", rank, size, timeout, None, None)

        def __instancecheck__(cls, _):
            return True

    if hasattr(distributed_c10d, "_create_gloo_process_group"):
        dist.Backend._plugins["GLOO"] = dist.Backend._plugins["TUTTI"]
        dist.Backend.backend_type_map["gloo"] = dist.Backend.backend_type_map["tutti"]
    else:  # PyTorch 2.6 calls the class
        distributed_c10d.ProcessGroupGloo = TuttiForGloo("ProcessGroupGloo", (), {})

from torch.testing._internal.common_distributed import MultiProcessTestCase


def start_processes(test):
    context = torch.multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["suite_part", os.environ["TUTTI_SUITE_MODULE"]])
    test._start_processes(context.Process)


MultiProcessTestCase._spawn_processes = start_processes

if os.environ["TUTTI_SUITE_MODULE"] == "distributed_test":
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
            # Not by the server, which would not hear of the folder that the test has made.
            self._start_processes(torch.multiprocessing.get_context("fork").Process)


class Results(unittest.TextTestResult):
    def write(self, test, result):
        with open(os.environ["TUTTI_SUITE_INTO"], "a") as file:
            file.write(json.dumps([test.id(), result]) + "\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write(test, "skipped")

    def went_wrong(self, test, error):
        text = str(error[1]).partition("To execute this test")[0]  # by hand, says PyTorch
        lines = [line for line in text.splitlines() if line.strip()]
        self.write(test, " | ".join(lines[-3:])[:400])

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.went_wrong(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.went_wrong(test, error)


if __name__ == "__main__":
    name = os.environ["TUTTI_SUITE_MODULE"]
    module = sys.modules["__main__"] if name == "distributed_test" else importlib.import_module(name)
    loader = unittest.defaultTestLoader
    classes = [getattr(module, one) for one in os.environ["TUTTI_SUITE_CLASSES"].split()]
    tests = loader.suiteClass(map(loader.loadTestsFromTestCase, classes))
    if not classes:
        tests = loader.loadTestsFromModule(module)
    unittest.TextTestRunner(verbosity=2, resultclass=Results).run(tests)
