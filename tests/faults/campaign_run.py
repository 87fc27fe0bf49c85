"""One run of the campaign: starts the ranks, wakes those that stopped, tells them to end when all
has happened, and keeps what they said."""

import os
import select
import signal
import socket
import subprocess
import time

rounds_after = 3  # so many must go well after the last thing that happened
rounds_at_most = 60  # then whoever has not met its fate will not
cut_settles_s = 1.0  # a broken connection may be explained for half a second


class Run:
    def __init__(self, plan, worker, backend, variables, patience_s):
        self.plan = plan
        self.patience_s = patience_s
        self.lines = []  # (rank, words)
        self.other_text = ""  # of standard error
        self.left = {}  # what of which rank has begun a line
        self.struck = {}  # when, by rank; nanoseconds
        self.rounds = dict.fromkeys(range(plan.size), 0)
        self.last_event = time.monotonic()
        self.woken = set()
        self.is_ending = False
        self.hung = []
        self.store = self.holder = None
        self.start(worker, backend, variables)

    def start(self, worker, backend, variables):
        port = self.serve(worker) if self.plan.has_agent else self.hold_port()
        self.output, output = os.pipe()
        common = dict(os.environ, WORLD_SIZE=str(self.plan.size), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port), TUTTI_HEARTBEAT_TIMEOUT_MS="1000", **variables)
        if self.plan.has_agent:
            common["TORCHELASTIC_USE_AGENT_STORE"] = "True"
        self.ranks = []
        for rank in range(self.plan.size):
            fate = self.plan.fates.get(rank)
            words = [fate.words] if fate and fate.words else []
            point = {"TUTTI_FAULT": fate.point} if fate and fate.point else {}
            self.ranks.append(subprocess.Popen(
                [worker, self.plan.what, backend, str(self.plan.seed)] + words, stdin=subprocess.PIPE,
                stdout=output, stderr=output, env={**common, "RANK": str(rank), **point}))
        os.close(output)

    def serve(self, worker):
        self.store = subprocess.Popen([worker, "serve"], stdin=subprocess.PIPE, text=True,
                                      stdout=subprocess.PIPE)
        return int(self.store.stdout.readline())

    def hold_port(self):
        """Nobody else is given it while this run lasts: it is bound, and does not listen."""
        self.holder = socket.socket()
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind(("", 0))
        return self.holder.getsockname()[1]

    def go(self):
        until = time.monotonic() + self.patience_s
        rest = b""
        try:
            while True:
                ready = select.select([self.output], [], [], 0.02)[0]
                data = os.read(self.output, 65536) if ready else b""
                if ready and not data:
                    break  # all have ended
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.note(line.decode(errors="replace"))
                self.wake_and_end()
                if time.monotonic() > until:
                    self.hung = [rank for rank in range(self.plan.size) if self.lives(rank)]
                    break
        finally:
            self.end_all()

    def note(self, line):
        rank, _, words = line.partition(" ")
        if not rank.isdigit() or int(rank) >= self.plan.size:
            self.other_text += line + "\n"
            return
        rank, words = int(rank), words.split(" ")
        self.lines.append((rank, words))
        if words[0] in ("round", "agreed"):
            self.rounds[rank] += words[0] == "round"
            return
        if words[0] == "struck":
            self.struck[rank] = int(words[1])
        self.happened()

    def happened(self):
        self.last_event = time.monotonic()
        self.rounds_then = dict(self.rounds)

    def lives(self, rank):
        return self.ranks[rank].poll() is None

    def has_stopped(self, rank):
        try:
            seen = os.waitid(os.P_PID, self.ranks[rank].pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return seen is not None

    def wake_and_end(self):
        going = []
        for rank in range(self.plan.size):
            if not self.lives(rank):
                continue
            if rank in self.woken or not self.has_stopped(rank):
                going.append(rank)
        asleep = [rank for rank in range(self.plan.size) if self.lives(rank) and rank not in going]
        for rank in asleep:
            self.struck.setdefault(rank, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
            after = self.plan.fates[rank].wakes_after_s
            slept = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self.struck[rank]
            if not going or (after is not None and slept > after * 1e9):
                self.wake(rank)
        if not self.is_ending and self.all_has_happened(going):
            self.is_ending = True
            for rank in self.ranks:
                rank.stdin.close()

    def wake(self, rank):
        self.woken.add(rank)
        self.ranks[rank].send_signal(signal.SIGCONT)
        self.happened()

    def all_has_happened(self, going):
        if not hasattr(self, "rounds_then") or not going:
            return False
        since = min(self.rounds[rank] - self.rounds_then[rank] for rank in going)
        due = [rank for rank, fate in self.plan.fates.items()
               if rank not in self.struck and self.lives(rank)]
        asleep = [rank for rank, fate in self.plan.fates.items()
                  if fate.how == "stop" and fate.wakes_after_s is not None
                  and rank in self.struck and rank not in self.woken]
        settles_s = cut_settles_s if any(
            fate.how == "cut" for fate in self.plan.fates.values()) else 0
        if asleep or time.monotonic() < self.last_event + settles_s:
            return False
        return since >= (rounds_at_most if due else rounds_after)

    def end_all(self):
        for rank in self.ranks:
            if rank.poll() is None and self.hung:
                rank.kill()
            rank.stdin.close()
        for rank in self.ranks:
            rank.wait()
        os.close(self.output)
        if self.holder:
            self.holder.close()
        if self.store:
            self.store.communicate()
