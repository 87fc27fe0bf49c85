"""What the end of a run means. A right program gets its result, or its own TIMEOUT; everything
else is wrong, whatever the load."""

import re

verdicts = ("right", "timeout", "wrong", "hung")

# No machine is so slow that these come of it.
never = re.compile(
    r"TUTTI_ERR_MISMATCH|while rank \d+ called|Sanitizer|runtime error:|double free|corrupt"
    r"|Segmentation|SIG(SEGV|BUS|ILL|FPE)\b|signal (4|7|8|11)\b|not what was expected|Assertion")
late = re.compile(r"TUTTI_ERR_TIMEOUT|timed out|TimeoutException|DeadlineExceeded")
# The words of tests/support/processes.c when a rank does not end.
hangs = re.compile(r"somebody hangs")
# Somebody's TIMEOUT ends the group for the others, and the programs that get it end.
follows = re.compile(r"PEER_LOST|ABORTED|\bdied\b|\bended\b|\bexit|\bleft\b|gave up")
silence = re.compile(r"has not answered for \d+ ms")
overslept = re.compile(r"^overload: process \d+ was stopped for too long")
# Lines in which a test says that something failed; others are neutral.
complaint = re.compile(
    r"TUTTI_ERR_|^\[  ERROR   \]|^\S+:\d+: |^\w* ?rank \d+( of \d+)?: (?!ok\b|sum )"
    r"|^trial \d+, rank|^= \S+ [1-9]\d* |^tuttirun: |^no line|^prints: |PEER_LOST|ABORTED"
    r"|^ERROR|Exception|^panic")
prefix = re.compile(r"^\[rank \d+\] ")  # of tuttirun
# A test saw something else than it wanted; the place where support/unit.hpp reports an exception,
# whose text is the line before; that a rank is stopped is our doing.
neutral = re.compile(r"\bwanted\b|support/unit\.hpp:\d+: error: Failure|^tuttirun: rank .* (is stopped by signal|goes on)")
crashes = {-4, -7, -8, -11}


def judge_lines(lines):
    """The verdict of what a failed run said, and the line that decides."""
    first_late = excuse = None
    for line in (prefix.sub("", line) for line in lines):
        if neutral.search(line):
            continue
        if never.search(line):
            return "wrong", line
        if hangs.search(line):
            return "hung", line
        if overslept.search(line):
            excuse = line
        elif late.search(line):
            first_late = first_late or line
        elif complaint.search(line):
            if excuse and silence.search(line):
                first_late = first_late or line
            elif not (first_late and follows.search(line)):
                return "wrong", line
    if first_late:
        return "timeout", first_late
    return "wrong", "it failed and did not say why"


def judge(test, code, output, seconds):
    """The verdict and why; "skipped" if the test says so."""
    lines = output.splitlines()
    if code == 0 and test.fails_if:
        code = int(any(re.search(test.fails_if, line) for line in lines))
    if code == 0:
        return "right", ""
    if code == 77:
        return "skipped", lines[-1] if lines else ""
    if code in crashes:
        return "wrong", f"killed by signal {-code}"
    verdict, why = judge_lines(lines)
    if verdict == "timeout" and seconds < test.least_timeout_s:
        return "wrong", f"a TIMEOUT before its time: {why}"
    return verdict, why
