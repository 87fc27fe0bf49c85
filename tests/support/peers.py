"""Programs of tutti and of PyTorch that take commands on their standard input, a line each, and
answer each with a line: "ok" and values, or "error", its kind and a message. Between words stands
one space; strings are in hexadecimal, "-" is the empty one."""

import os
import pathlib
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile

tests = pathlib.Path(__file__).resolve().parent.parent
longest_answer_s = 120


def encode(value):
    return value.hex() or "-"


def decode(word):
    return b"" if word == "-" else bytes.fromhex(word)


class Failure(Exception):
    """What a peer answered instead of ok."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Peer:
    def __init__(self, kind, command, work):
        self.kind = kind
        self.work = work  # the shared folder, as this peer sees it
        self.complaints = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints
        )

    def start(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()

    def finish(self):
        """The words of the answer; Failure if it is an error."""
        output = self.process.stdout
        if not select.select([output], [], [], longest_answer_s)[0]:
            self.process.kill()
            self.fail(f"no answer for {longest_answer_s} s")
        line = output.readline().decode().rstrip("\n")
        if not line:
            self.fail(f"ended with {self.process.wait()}")
        status, _, rest = line.partition(" ")
        if status == "ok":
            return rest.split(" ") if rest else []
        kind, _, message = rest.partition(" ")
        raise Failure(kind, message)

    def ask(self, *words):
        self.start(*words)
        return self.finish()

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=longest_answer_s)
        if code != 0:
            self.fail(f"ended with {code}")

    def fail(self, what):
        self.complaints.seek(0)
        sys.stderr.write(self.complaints.read().decode(errors="replace")[-4000:])
        raise RuntimeError(f"{self.kind}: {what}")


class Peers:
    """Starts peers, and ends them all. `tutti`: the program; `pytorch`: a script under tests/."""

    def __init__(self, tutti, pytorch):
        self.folder = tempfile.mkdtemp(prefix="tutti-")
        self.commands = {
            "tutti": ([tutti], self.folder),
            "PyTorch": ([tests / "support/pytorch", self.folder, pytorch], None),
        }
        self.all = []

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        for peer in self.all:
            if failure:
                peer.process.kill()
            else:
                peer.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, kind):
        command, work = self.commands[kind]
        peer = Peer(kind, command, work)
        self.all.append(peer)
        if work is None:
            peer.work = peer.finish()[0]  # PyTorch's says so when it is ready
        return peer


holder = None


def hold_port():
    """A port that nobody else is given until the next call: it is bound, by a socket that does not
    listen, so that whoever is told of it can."""
    global holder
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("", 0))
    return holder.getsockname()[1]


def test_seed():
    """TUTTI_TEST_SEED, or another one each time. Whoever takes it prints it."""
    return int(os.environ.get("TUTTI_TEST_SEED") or random.SystemRandom().getrandbits(32))


def skip_without_pytorch():
    code = subprocess.run([tests / "support/pytorch", "--find"]).returncode
    if code != 0:
        sys.exit(code)
