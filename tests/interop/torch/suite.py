"""How many of PyTorch's own tests that pass with Gloo pass with tutti in its place?

    suite.py [FOLDER]      FOLDER: test/ of PyTorch's sources, of the version that is installed

Without it, only the tests that come with PyTorch itself. A test counts if it passes with Gloo here:
many want a GPU or another backend. Prints the ones that do not pass with tutti, and fails if these
are more than one in twenty.
"""

import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
least = 0.95
longest_s = 1500  # one part with one backend
# Of some modules only the classes whose tests ask for a backend by its name.
parts = {
    "distributed_test": "TestWithFork",
    "test_c10d_common": "CommTest ProcessGroupWithDispatchedCollectivesTests",
    "test_c10d_gloo": "RendezvousEnvTest TimeoutTest DistributedDataParallelTest ReducerTest "
                      "CommTest GlooProcessGroupWithDispatchedCollectivesTests LargeCommTest",
    "test_c10d_object_collectives": "",
    "test_c10d_spawn_gloo": "",
    "test_collective_utils": "",
    "test_device_mesh": "",
    "test_functional_api": "",
    "_composable/test_replicate": "",
    "algorithms/test_join": "",
    "optim/test_zero_redundancy_optimizer": "",
}


def results(part, folder, backend):
    """By name of the test: "passed", "skipped", or what went wrong."""
    module = part.rpartition("/")[2]
    with tempfile.TemporaryDirectory() as work:
        into = os.path.join(work, "results")
        paths = [here, os.environ.get("PYTHONPATH", "")]
        if folder:
            distributed = os.path.join(folder, "distributed")
            paths[1:1] = [os.path.dirname(os.path.join(distributed, part)), distributed, folder]
        variables = dict(os.environ, TUTTI_SUITE_BACKEND=backend, TUTTI_SUITE_MODULE=module,
                         TUTTI_SUITE_CLASSES=parts[part], TUTTI_SUITE_INTO=into,
                         PYTHONPATH=":".join(paths), TEMP_DIR=work, BACKEND="gloo", WORLD_SIZE="2",
                         DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="60")
        with open(f"{part.replace('/', '-')}-{backend}.log", "wb") as log:
            try:
                subprocess.run([sys.executable, os.path.join(here, "suite_part.py")], cwd=work,
                               env=variables, stdout=log, stderr=log, timeout=longest_s)
            except subprocess.TimeoutExpired:
                print(f"{part} with {backend} has not ended in {longest_s} s", flush=True)
        try:
            with open(into) as file:
                return dict(json.loads(line) for line in file)
        except FileNotFoundError:
            return {}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else ""
    counted = well = 0
    for part in parts if folder else ["distributed_test"]:
        with_gloo = results(part, folder, "gloo")
        with_tutti = results(part, folder, "tutti")
        counts = [name for name, result in with_gloo.items() if result == "passed"]
        bad = [name for name in counts if with_tutti.get(name) != "passed"]
        counted += len(counts)
        well += len(counts) - len(bad)
        print(f"{part}: of {len(with_gloo)} tests {len(counts)} pass with Gloo, "
              f"{len(counts) - len(bad)} of these with tutti", flush=True)
        for name in bad:
            print(f"    {name}: {with_tutti.get(name, 'has not been run')}", flush=True)
    print(f"{well} of {counted}: {100 * well / max(counted, 1):.1f} %")
    sys.exit(well < least * counted or counted == 0)


if __name__ == "__main__":
    main()
