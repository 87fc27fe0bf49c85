"""What runs beside busy loops: tests of ctest's list by their names, and a few programs more.
A suite is a list of rows: a pattern of names, and the arguments that come on top of ctest's, where
SEED stands for the seed."""

import json
import os
import re
import subprocess

tests = {
    "conformance": [
        (r"conformance_(loopback|gloo|shm|hierarchy_in_turn)(_part)?", "ranks 3 seed SEED"),
    ],
    "schedules": [(r"schedules_\w+", "steps 1000 seed SEED")],
    "mismatches": [(r"mismatches_\w+", "count 100 seed SEED")],
    "messages": [
        (r"message_\w+|ring\w*_test|hierarchy_messages\w+", ""),
        (r"conformance_(loopback|gloo|shm|hierarchy_in_order)", "only MESSAGES seed SEED"),
    ],
    "stores": [(r"store_(?!network|request_parser)\w+_test|capi_store\w*_test", "")],
    "subgroups": [(r"capi_subgroups_test_\w+|subgroups_test\w*", "")],
    "launcher": [
        (r"tuttirun\.(every_rank|threads_of_openmp|lines_carry|long_lines|standard_input)\w+", ""),
        (r"reports\.(logs_are_kept|all_ranks_are_started|a_fixed_port|options_come)\w+", ""),
        (r"nodes\.(nodes_of|a_node_that_is_ready|all_nodes_start)\w+", ""),
        (r"programs\.it_meets_\w+|heat_test|train_digits_test|capi_spawn_test", ""),
    ],
    "languages": [
        (r"world_of_6_languages_and_\d_ranks", ""),
        (r"fortran_makes_a_world_of_5_ranks|(go|java|julia_binding|rust)_world_5", ""),
    ],
}
names = [*tests, "workers"]

# For these a TIMEOUT cannot come sooner: tests/support/ranks.c gives every group a minute.
least_timeout_s = {"conformance": 60, "schedules": 60, "mismatches": 60}
# These stop ranks themselves, and nobody else may let those go on.
stop_ranks_themselves = re.compile(r"subgroups_test\w*")
# Ranks as processes that do what is right, and say "= STEP STATUS RANK MESSAGE".
workers = {
    "worker_calls": 100 * ["call all_reduce count=100000", "call all_gather count=1000",
                          "call barrier", "call broadcast root=1 count=300000",
                          "call all_to_all count=1000", "call all_reduce"],
    "worker_groups": 300 * ["group", "call all_reduce count=1000", "call barrier", "world",
                           "call all_gather"],
    "worker_that_leaves": ["call all_reduce count=1000"],
}
# Rank 2 comes when the others have waited for long, and all leave at once.
as_rank = ('if [ "$RANK" = 2 ]; then (sleep 2; echo) | "$0" init pause "$@"; '
           'else exec "$0" init "$@"; fi')


class Test:
    """A program and its arguments. `fails_if`: what it prints if it fails, and yet ends with 0."""

    def __init__(self, suite, name, command, variables=None, folder=None, fails_if=None):
        self.suite = suite
        self.name = name
        self.command = command
        self.variables = variables or {}
        self.folder = folder
        self.fails_if = fails_if
        self.least_timeout_s = least_timeout_s.get(suite, 0)
        self.may_be_stopped = not stop_ranks_themselves.fullmatch(name)

    def with_seed(self, seed):
        return [str(seed) if word == "SEED" else word for word in self.command]


def arguments(text):
    """The collective that is meant has a space in its name."""
    return ["send, recv" if word == "MESSAGES" else word for word in text.split()]


def listed(build):
    """Name, command and properties of every test that the build has."""
    shown = subprocess.run(["ctest", "--show-only=json-v1", "--test-dir", build],
                           stdout=subprocess.PIPE)
    if shown.returncode != 0 or not os.path.exists(os.path.join(build, "bin/tuttirun")):
        raise LookupError(f"{build} has no tests; cmake --preset release builds some")
    for test in json.loads(shown.stdout)["tests"]:
        properties = {row["name"]: row["value"] for row in test.get("properties", [])}
        if test.get("command") and not properties.get("DISABLED"):
            yield test["name"], test["command"], properties


def has_every_test(build):
    """Else it has the share of its preset, in which some suites lack most."""
    with open(os.path.join(build, "CMakeCache.txt")) as cache:
        return "TUTTI_LONG_TESTS:BOOL=ON\n" in cache


def from_list(suite, test, more):
    name, command, properties = test
    variables = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
    if "only" in more:
        name += "_messages"
    return Test(suite, name, command + arguments(more), variables,
                properties.get("WORKING_DIRECTORY"))


def worker(build, name, steps):
    programs = os.path.join(build, "bin")
    program = [os.path.join(programs, "tutti_fault_worker")]
    program = ["sh", "-c", as_rank, *program] if "leaves" in name else [*program, "init"]
    return Test("workers", name,
                [os.path.join(programs, "tuttirun"), "--standalone", "--nproc-per-node", "4",
                 *program, *steps, "destroy"],
                fails_if=r"= \S+ [1-9]")


def find(build, wanted):
    """The tests of the suites that are wanted, or those with such a name: a list."""
    all_tests = list(listed(build))
    found = [from_list(suite, test, more) for suite, rows in tests.items()
             for pattern, more in rows for test in all_tests if re.fullmatch(pattern, test[0])]
    found += [worker(build, name, steps) for name, steps in workers.items()]
    wanted = wanted or names
    known = {test.suite for test in found} | {test.name for test in found}
    for name in wanted:
        if name not in known:
            raise LookupError(f"there is no suite or test \"{name}\"; suites: {', '.join(names)}")
    return [test for test in found if test.suite in wanted or test.name in wanted]
