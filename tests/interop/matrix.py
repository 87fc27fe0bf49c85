"""Do tutti and PyTorch understand each other's stores? See run."""

import argparse
import os
import random
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from model import Model, random_operation
from support.peers import Failure, Peers, encode, hold_port, skip_without_pytorch, test_seed

kinds = ("tutti", "PyTorch")
both = ("tutti", "PyTorch")
unanswered = ("set", "append", "multi_set", "queue_push")


def words_of(arguments):
    return [encode(word) if isinstance(word, bytes) else word for word in arguments]


def expected_words(answer):
    return [encode(w) if isinstance(w, bytes) else str(w) for w in answer or []]


def answer_of(peer):
    try:
        return peer.finish()
    except Failure as failure:
        return ["error", str(failure)]


def pytorch_file_store_says(name, wanted):
    """Where PyTorch's file store differs from its other stores, and tutti's does not."""
    if name == "num_keys":
        return [str(int(wanted[0]) + 1)]  # a counter of its own
    if name == "delete_key":
        return ["1"]  # there or not
    return wanted


def brief(words):
    return " ".join(word if len(word) < 50 else f"{word[:40]}…({len(word)})" for word in words)


class Tally:
    """What agreed, and what did not."""

    def __init__(self):
        self.agreed = self.all = 0

    def note(self, right, what):
        self.all += 1
        self.agreed += right
        if not right and self.all - self.agreed <= 5:
            print(f"    differs: {what}")

    def report(self, what):
        print(f"{what}: {self.agreed} of {self.all} agree", flush=True)
        return self.agreed == self.all


class Cell:
    """One store and the peers that use it in turn, beside the model."""

    def __init__(self, clients, server=None, prefixed=False):
        self.clients, self.file = clients, server is None
        self.server_has_barrier = server is not None and not prefixed
        self.model, self.tally = Model(), Tally()
        peers = clients if server is None else clients + [server]
        offered = [set(peer.ask("operations")) for peer in peers]
        both_have = set.intersection(*offered)
        self.operations = sorted(both_have & set(dir(Model)))
        self.has_barrier = "barrier" in both_have

    def compare(self, client, name, arguments):
        wanted = expected_words(getattr(self.model, name)(*arguments))
        client.start(name, *words_of(arguments))
        got = answer_of(client)
        if name == "list_keys":
            got.sort()
        elif self.file and client.kind == "PyTorch":
            wanted = pytorch_file_store_says(name, wanted)
        call = brief([name] + [str(word) for word in words_of(arguments)])
        self.tally.note(got == wanted, f"{client.kind}: {call}: {brief(got)} != {brief(wanted)}")

    def random_operations(self, source, count):
        """PyTorch sends some requests without an answer: before another client looks, the one that
        sent asks something. The file store needs no such thing."""
        client = source.choice(self.clients)
        for _ in range(count):
            name, arguments = random_operation(source, self.model, self.operations)
            self.compare(client, name, arguments)
            if source.random() < 0.6:
                if name in unanswered and not self.file:
                    self.compare(client, "check", [b"k"])
                client = source.choice(self.clients)

    def waits(self, rounds):
        """What one waits for, another brings."""
        for i in range(rounds):
            waiting, setting = self.clients[i % 2], self.clients[(i + 1) % 2]
            key, value = f"awaited/{i}".encode(), os.urandom(i * 100)
            name, arguments = [("get", [key]), ("wait", [60_000, key]), ("multi_get", [key, key])][
                i % 3
            ]
            waiting.start(name, *words_of(arguments))
            self.compare(setting, "set", [key, value])
            self.compare(setting, "check", [key])
            got = answer_of(waiting)
            wanted = expected_words(getattr(self.model, name)(*arguments))
            self.tally.note(got == wanted, f"{waiting.kind}: {name} that waits: {brief(got)}")

    def time_outs(self):
        """A wait that ends in vain does no harm to the calls behind it."""
        for client in self.clients:
            for _ in range(3):
                try:
                    got = client.ask("wait", 30, encode(b"never"))
                except Failure as failure:
                    got = failure.kind
                self.tally.note(got == "timeout", f"{client.kind}: wait for nothing: {got}")
                self.compare(client, "set", [b"k", os.urandom(20)])
                self.compare(client, "get", [b"k"])

    def barriers(self, rounds):
        if not self.has_barrier:
            return
        for i in range(rounds):
            place = f"barrier/{i}".encode()
            for client in self.clients:
                client.start("barrier", encode(place), len(self.clients))
            got = [answer_of(client) for client in self.clients]
            self.tally.note(not any(got), f"barrier: {got}")
            count = str(len(self.clients)).encode()
            if self.server_has_barrier:
                self.model.values[place] = count
            else:
                self.model.values[place + b"/num_members"] = count
                self.model.values[place + b"/last_member"] = b"1"

    def adds_at_once(self, each):
        """All add to one counter: every number comes once."""
        counter = encode(b"at once")
        for client in self.clients:
            client.start("add_many", counter, each)
        got = sorted(int(word) for client in self.clients for word in client.finish())
        self.tally.note(got == list(range(1, each * len(self.clients) + 1)), "adds at once")
        self.model.values[b"at once"] = str(each * len(self.clients)).encode()


def tcp_cell(peers, server_kind, client_kinds, prefixed, source, operations):
    server = peers.start(server_kind)
    (port,) = server.ask("serve")
    clients = [peers.start(kind) for kind in client_kinds]
    for client in clients:
        client.ask("connect", port, -1)
        if prefixed:
            client.ask("prefix", encode("of/müller".encode()))
    cell = Cell(clients, server, prefixed)
    cell.random_operations(source, operations)
    cell.waits(30)
    cell.time_outs()
    cell.adds_at_once(200)
    cell.barriers(20)
    cell.random_operations(source, operations // 10)
    for peer in clients + [server]:
        peer.ask("close")
    view = " behind a prefix" if prefixed else ""
    names = " and ".join(dict.fromkeys(client_kinds))
    return cell.tally.report(f"TCP, server {server_kind}, clients {names}{view}")


def workers_cell(peers, server_kind):
    """The master waits for its workers, and counts those of the other kind too."""
    tally = Tally()
    server, clients = peers.start(server_kind), [peers.start(kind) for kind in both]
    port = hold_port()
    server.start("serve_at", port, 3)
    for client in clients:
        client.start("connect", port, 3)
    for peer in [server] + clients:
        tally.note(peer.finish() == [str(port)], f"{peer.kind}: joining")
    for peer in clients + [server]:
        tally.note(peer.ask("num_keys") == ["1"], f"{peer.kind}: init/ is a key")
    for peer in clients + [server]:
        peer.ask("close")
    return tally.report(f"TCP, server {server_kind} waits for workers of both")


def file_cell(peers, source, operations):
    clients = [peers.start(kind) for kind in both]
    for client in clients:
        client.ask("file", f"{client.work}/random", -1)
    cell = Cell(clients)
    cell.random_operations(source, operations)
    cell.waits(30)
    cell.time_outs()
    cell.adds_at_once(200)
    cell.barriers(20)
    cell.random_operations(source, operations // 10)
    for client in clients:
        client.ask("close")
    return cell.tally.report("file store, tutti and PyTorch")


def counts_in(path):
    """What a store's file says, record by record, of how many handles have been closed and how
    many are open; None if there is no file."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    strings, at = [], 0
    while at + 4 <= len(content):
        (length,) = struct.unpack_from("<I", content, at)
        strings.append(content[at + 4 : at + 4 + length])
        at += 4 + length
    if at > len(content):
        strings.pop()  # it is being written
    records = zip(strings[::2], strings[1::2])
    return [(name, int(value)) for name, value in records if name in (b"cleanup/", b"refcount/")]


def comes_true(condition):
    """tutti closes stores in the background."""
    limit = time.monotonic() + 60
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.001)
    return True


def close_in_turn(clients, path):
    """Each when the one before has closed; the last one removes the file, whoever it is."""
    for closed, client in enumerate(clients[:-1], 1):
        client.ask("close")
        if not comes_true(lambda: (b"refcount/", len(clients) - closed) in (counts_in(path) or [])[-1:]):
            return False
    clients[-1].ask("close")
    return comes_true(lambda: not os.path.exists(path))


def close_at_once(clients, path):
    """PyTorch's store counts what is closed and what is open in two steps, and judges by the first
    count as it was then: the last one may not know that it is the last, and the file stays. Both
    counts are complete then, and the last step is not behind the one that completed the other."""

    def stays():
        counts = counts_in(path) or []
        return (
            (b"cleanup/", len(clients)) in counts[:-2]
            and counts[-1] == (b"refcount/", 0)
            and counts[-2] != (b"cleanup/", len(clients))
        )

    for client in clients:
        client.start("close")
    for client in clients:
        client.finish()
    return comes_true(lambda: not os.path.exists(path) or stays())


def file_runs(peers, source, runs, each):
    """Fresh files; four processes add at once, totals are exact, and the last removes the file."""
    clients = [peers.start(kind) for kind in both for _ in range(2)]
    tally, counter, began, left = Tally(), encode(b"sum"), time.monotonic(), 0
    wanted = list(range(1, each * len(clients) + 1))
    for run in range(runs):
        for client in clients:
            client.start("file", f"{client.work}/run{run}", len(clients))
        for client in clients:
            client.finish()
        for client in clients:
            client.start("add_many", counter, each)
        got = sorted(int(word) for client in clients for word in client.finish())
        tally.note(got == wanted, f"run {run}: the sums are {brief([str(got)])}")
        path = f"{peers.folder}/run{run}"
        source.shuffle(clients)
        close = close_in_turn if run % 2 == 0 else close_at_once
        tally.note(close(clients, path), f"run {run}, {close.__name__}: the file is still there")
        left += os.path.exists(path)
    seconds = time.monotonic() - began
    print(f"    {left} files were left by PyTorch's handles, which closed at once with others")
    return tally.report(f"file store, {runs} runs of {len(wanted)} adds ({seconds:.0f} s)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", help="tutti's program, tutti_interop_peer")
    parser.add_argument("--operations", type=int, default=1000, help="of each cell")
    parser.add_argument("--runs", type=int, default=1000, help="of adds to a file store")
    parser.add_argument("--seed", type=int, default=test_seed())
    options = parser.parse_args()
    skip_without_pytorch()
    print(f"seed {options.seed}, {options.operations} operations in each cell", flush=True)
    source = random.Random(options.seed)
    right = True
    clients = [("tutti", "tutti"), ("PyTorch", "PyTorch"), both + both]
    for server_kind in kinds:
        for client_kinds in clients:
            with Peers(options.peer, "interop/peer.py") as peers:
                right &= tcp_cell(
                    peers, server_kind, client_kinds, False, source, options.operations
                )
        with Peers(options.peer, "interop/peer.py") as peers:
            right &= tcp_cell(peers, server_kind, both, True, source, options.operations // 4)
        with Peers(options.peer, "interop/peer.py") as peers:
            right &= workers_cell(peers, server_kind)
    with Peers(options.peer, "interop/peer.py") as peers:
        right &= file_cell(peers, source, options.operations)
    with Peers(options.peer, "interop/peer.py") as peers:
        right &= file_runs(peers, source, options.runs, 25)
    print("every answer agrees" if right else "ANSWERS DIFFER")
    return 0 if right else 1


sys.exit(main())
