"""Does the judge know right from wrong? Programs of a line each, whose verdicts are known; and what
makes the machine busy ends with it."""

import os
import time

from . import load
from .suites import Test

fakes = [  # verdict, script
    ("right", "echo 'rank 0 of 4: sum = 10'"),
    ("skipped", "echo 'skipped: there is no mpirun'; exit 77"),
    ("wrong", "echo 'a.c:7: rank 1 of 2: barrier: TUTTI_ERR_MISMATCH rank 0 called'; exit 1"),
    ("wrong", "echo 'a.c:7: rank 1 of 2: barrier: TUTTI_ERR_PEER_LOST rank 0 died'; exit 1"),
    ("wrong", "echo 'rank 1: all_reduce: element 3 differs'; echo 'rank 0: timed out'; exit 1"),
    ("wrong", "echo '[rank 1] rank 0 has not answered for 1000 ms: TUTTI_ERR_PEER_LOST'; exit 1"),
    ("wrong", "echo '  wanted TUTTI_ERR_TIMEOUT'; echo '  got TUTTI_ERR_ABORTED'; exit 1"),
    ("wrong", "echo 'trial 3, rank 0: TUTTI_ERR_TIMEOUT'; kill -SEGV $$"),
    ("wrong", "exit 1"),
    ("timeout", "echo 'a.c:7: rank 1 of 2: barrier: TUTTI_ERR_TIMEOUT: timed out'; exit 1"),
    ("timeout", "echo 'ERROR: an exception left the test: timed out waiting for rank 0'; "
                "echo '[  ERROR   ] --- [   LINE   ] --- support/unit.hpp:37: error: Failure!'; exit 1"),
    ("wrong", "echo 'ERROR: an exception left the test: rank 0 died'; "
              "echo '[  ERROR   ] --- [   LINE   ] --- support/unit.hpp:37: error: Failure!'; exit 1"),
    ("timeout", "echo 'rank 0 of 2: TUTTI_ERR_TIMEOUT'; echo 'rank 1 of 2: TUTTI_ERR_ABORTED rank 0"
                " gave up'; kill -ABRT $$"),
    ("hung", "echo 'still waiting: somebody hangs'; exit 1"),
    ("hung", "sleep 60 & wait"),
]


def expect(is_right, what):
    print(f"{'ok   ' if is_right else 'WRONG'} {what}")
    return bool(is_right)


def fakes_are_judged(campaign, mode):
    fine = True
    for index, (wanted, script) in enumerate(fakes):
        test = Test("fakes", f"fake_{index}", ["sh", "-c", script])
        result = campaign.run(test, mode, 0.5)
        campaign.note(test, mode, result)
        fine &= expect(result.verdict == wanted, f"{wanted}: {script}")
    early = Test("fakes", "fake_early", ["sh", "-c", "echo 'rank 0: timed out'; exit 1"])
    early.least_timeout_s = 60
    fine &= expect(campaign.run(early, mode, 5).verdict == "wrong", "a TIMEOUT comes too early")
    said = Test("fakes", "fake_said", ["echo", "= barrier 7 1 rank 1 died"],
                fails_if=r"= \S+ [1-9]")
    fine &= expect(campaign.run(said, mode, 5).verdict == "wrong", "a worker's step fails")
    return fine


def stopped_processes_go_on(campaign, mode):
    """The shell counts while its processes are stopped, and comes to its end."""
    steps = "for i in 1 2 3 4 5 6; do sleep 0.1; done; echo done"
    result = campaign.run(Test("fakes", "fake_stopped", ["sh", "-c", steps]), mode, 20)
    return expect(result.verdict == "right", "a program that is stopped now and then ends")


def loops_end_with_their_parent():
    reading, writing = os.pipe()

    def start_and_wait():
        with load.BusyLoops(2) as loops:
            os.write(writing, " ".join(map(str, loops.pids)).encode())
            time.sleep(60)

    parent = load.fork(start_and_wait)
    pids = [int(pid) for pid in os.read(reading, 100).split()]
    load.end(parent)
    limit = time.monotonic() + 3
    while any(load.state_of(pid) not in ("", "Z", "X") for pid in pids):
        if time.monotonic() > limit:
            return expect(False, "busy loops outlive their parent")
        time.sleep(0.01)
    return expect(len(pids) == 2, "busy loops end with their parent, however it ends")


def run(campaign, mode_of_load, mode_of_stops):
    """The exit code."""
    with load.BusyLoops(1):
        fine = fakes_are_judged(campaign, mode_of_load(0))
    fine &= stopped_processes_go_on(campaign, mode_of_stops)
    fine &= loops_end_with_their_parent()
    fine &= expect(not campaign.summary(), "what is wrong makes the summary say so")
    return 0 if fine else 1
