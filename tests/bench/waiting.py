"""What waiting costs: system calls of an operation, processor time of a rank that waits or does
nothing at all; see the script waiting."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from bench.quiet import wait_for_quiet
from bench.rounds import line
from support.peers import hold_port

longest_s = 120
settling_s = 2  # until all that has to do with the meeting is over
most_calls = 0.01  # of an operation: heartbeats go on meanwhile
most_share = 0.01  # of the time a rank waits


def start(commands):
    """The ranks, in order."""
    port = str(hold_port())
    ranks = []
    for rank, command in enumerate(commands):
        place = {"RANK": rank, "WORLD_SIZE": len(commands), "MASTER_ADDR": "127.0.0.1"}
        place |= {"MASTER_PORT": port, "TUTTI_HEARTBEAT_TIMEOUT_MS": 1000}  # what it costs counts
        place = {name: str(value) for name, value in place.items()}
        ranks.append(
            subprocess.Popen(
                command, env=os.environ | place, text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )  # fmt: skip
    return ranks


def end(ranks):
    """What each printed last."""
    said = []
    try:
        said = [rank.communicate(timeout=longest_s)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    if any(rank.returncode != 0 for rank in ranks):
        sys.exit("a rank failed")
    return said


def why_no_strace():
    """A sentence, or nothing."""
    try:
        command = ["strace", "-f", "-c", "-o", os.devnull, "true"]
        tried = subprocess.run(command, capture_output=True)
    except FileNotFoundError:
        return "there is no strace (Debian: strace)"
    return f"strace: {tried.stderr.decode().strip()}" if tried.returncode != 0 else ""


def read_counts(path):
    """By system call, how often."""
    counts = {}
    for words in map(str.split, path.read_text().splitlines()):
        if len(words) >= 5 and words[3].isdigit() and words[-1] != "total":
            counts[words[-1]] = int(words[3])
    return counts


def count_calls(peer, ranks, operations):
    """By rank, by system call: of all threads, in a run of so many operations."""
    with tempfile.TemporaryDirectory(prefix="tutti-") as folder:
        files = [pathlib.Path(folder, str(rank)) for rank in range(ranks)]
        loop = [peer, "loop", str(operations)]
        end(start([["strace", "-f", "-c", "-o", file, *loop] for file in files]))
        return [read_counts(file) for file in files]


def show_calls(peer, ranks, operations):
    """Whether no rank makes more than it may. What is left, beside the difference of runs, is of
    starting and ending."""
    once = count_calls(peer, ranks, operations)
    twice = count_calls(peer, ranks, 2 * operations)
    print(line(["rank", "system calls per operation", "which"]) + "\n|---|---|---|")
    good = True
    for rank, (few, many) in enumerate(zip(once, twice)):
        more = {name: count - few.get(name, 0) for name, count in many.items()}
        each = (sum(many.values()) - sum(few.values())) / operations
        most = sorted(more, key=more.get, reverse=True)[:3]
        told = ", ".join(f"{name} {more[name]:+}" for name in most if more[name] > 0)
        print(line([str(rank), f"{each:.6f}", told]))
        good = good and each < most_calls
    return good


def show_wait(peer, ranks, size, seconds):
    """Whether each rank uses as little as it may while it waits for rank 0."""
    processes = start([[peer, "wait", str(size)]] * ranks)
    for process in processes:
        if process.stdout.readline() != "ready\n":
            sys.exit("a rank did not start")
    time.sleep(seconds)
    processes[0].stdin.write("\n")
    waits = [text.split() for text in end(processes)[1:]]
    took, used = (max(float(wait[i]) for wait in waits) for i in (0, 1))
    print(line([f"{size} B", f"{took:.2f} s", f"{used:.4f} s", f"{used / took:.3%}"]), flush=True)
    return used < most_share * took


def show_idle(peer, ranks, seconds):
    """What each rank does in a second in which its program does nothing."""
    processes = start([[peer, "idle"]] * ranks)
    for process in processes:
        if process.stdout.readline() != "ready\n":
            sys.exit("a rank did not start")
    for pause in (settling_s, seconds):
        time.sleep(pause)
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
    said = [[float(word) for word in text.split()] for text in end(processes)]
    each = [[count / took for count in counts] for took, *counts in said]
    others = [sum(column) / len(column) for column in zip(*each[1:])]
    print(line(["rank", "processor time", "writes", "bytes"]) + "\n|---|---|---|---|")
    for name, (used, writes, size) in (("0", each[0]), ("each other", others)):
        print(line([name, f"{used * 1e6:.0f} µs", f"{writes:.1f}", f"{size:.0f}"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", help="tutti's program, tutti_waiting_peer")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--operations", type=int, default=500000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--patience", type=int, default=10, help="looks for a quiet moment")
    parser.add_argument("--idle", type=int, metavar="N", help="only what N idle ranks cost")
    parser.add_argument("--judge", action="store_true", help="exit with 1 if it costs too much")
    options = parser.parse_args()
    if options.idle:
        print(f"each second of {options.seconds:g}, {options.idle} idle ranks:\n")
        show_idle(options.peer, options.idle, options.seconds)
        return 0
    loads = [wait_for_quiet(options.patience)]
    good = []
    why_not = why_no_strace()
    if why_not:
        print(f"skipped: system calls: {why_not}")
    else:
        print(f"all_reduce of 8 bytes, {options.ranks} ranks, {2 * options.operations} operations")
        print(f"beside {options.operations}:\n")
        good.append(show_calls(options.peer, options.ranks, options.operations))
    print(f"\nall_reduce, {options.ranks} ranks, rank 0 comes {options.seconds:g} s later:\n")
    print(line(["size", "waited", "processor time", "share"]) + "\n|---|---|---|---|")
    for size in (8, 1 << 20):
        loads.append(wait_for_quiet(options.patience))
        good.append(show_wait(options.peer, options.ranks, size, options.seconds))
    print(f"\nOther load before a measurement: {max(loads):.0%} at most.")
    wanted = f"less than {most_calls} calls and {most_share:.0%}"
    print(f"Wanted: {wanted}: {'met' if all(good) else 'MISSED'}")
    return 1 if options.judge and not all(good) else 0


sys.exit(main())
