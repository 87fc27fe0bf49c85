"""What makes a machine busy: loops that only compute, and processes that are stopped for a while.
All of it ends with whoever started it, however that ends."""

import ctypes
import glob
import os
import random
import signal
import subprocess
import time

longest_stop_s = 0.8
too_long_s = 0.9  # the watch of a rank's host sees a stop up to 0.1 s longer, and waits a second
mark = "TUTTI_OVERLOAD_RUN"
death_signal = 1  # PR_SET_PDEATHSIG
libc = ctypes.CDLL(None)


def die_with(parent):
    """In a child of that process: it is killed when the parent ends."""
    libc.prctl(death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def fork(job):
    """A process that does this job and nothing else."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        die_with(parent)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        job()
    finally:
        os._exit(1)


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def compute():
    while True:
        pass


class BusyLoops:
    """So many, at our own priority. They stay in our session: where the kernel shares processors
    between sessions, those of others would take less."""

    def __init__(self, count):
        self.count = count
        self.pids = []

    def __enter__(self):
        try:
            for _ in range(self.count):
                self.pids.append(fork(compute))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        while self.pids:
            end(self.pids.pop())


def processes_of(run):
    """All processes of a run, wherever they belong by now: they have its mark."""
    wanted = f"{mark}={run}\0".encode()
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if wanted in file.read() + b"\0":
                    found.append(int(path.split("/")[2]))
        except OSError:  # it has ended
            pass
    return found


def state_of(pid):
    """The letter that ps shows; "" for one that has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def control_times(pid):
    """What the scheduler has counted for the threads by which others see that a rank lives."""
    times = {}
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        try:
            with open(path) as name, open(path[:-4] + "schedstat") as counters:
                if name.read().startswith("tutti-control"):
                    times[path] = int(counters.read().split()[0])
        except OSError:  # it has ended
            pass
    return times


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def be_punctual():
    """Who stops others for 0.8 s must not be kept waiting itself. Only root may."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


class Stopper:
    """Stops each process of a run by itself, and lets it go on, at random. Between two stops half
    a second passes, and it runs. It writes to `log` if one is stopped for too long."""

    def __init__(self, run, seed, log):
        self.run = run
        self.chance = random.Random(seed)
        self.log = log
        self.due = {}  # of each process: when its next turn is
        self.stopped = {}  # since when
        self.control = {}  # its control threads' times when it went on

    def __enter__(self):
        self.pid = fork(self.go_on)
        return self

    def __exit__(self, *_):
        end(self.pid)
        for pid in processes_of(self.run):
            send(pid, signal.SIGCONT)

    def go_on(self):
        be_punctual()
        while True:
            began = time.monotonic()
            present = processes_of(self.run)
            self.due = {pid: self.due.get(pid, began + self.chance.uniform(0, 0.3))
                        for pid in present}
            self.stopped = {pid: at for pid, at in self.stopped.items() if pid in self.due}
            self.take_turns(began + 0.1)

    def take_turns(self, until):
        while time.monotonic() < until:
            now = time.monotonic()
            for pid in [pid for pid, at in self.due.items() if at <= now]:
                self.turn(pid)
            time.sleep(max(0, min([until, *self.due.values()]) - time.monotonic()))

    def turn(self, pid):
        if pid in self.stopped:
            self.let_go_on(pid)
        elif self.has_run(pid):
            self.due[pid] = time.monotonic() + self.chance.uniform(0, longest_stop_s)
            if state_of(pid) != "T":  # else somebody else's
                self.stopped[pid] = time.monotonic()
                send(pid, signal.SIGSTOP)
        else:
            self.due[pid] = time.monotonic() + 0.1

    def let_go_on(self, pid):
        self.control[pid] = control_times(pid)
        send(pid, signal.SIGCONT)
        lasted = time.monotonic() - self.stopped.pop(pid)
        self.due[pid] = time.monotonic() + self.chance.uniform(0.5, 2)
        if lasted > too_long_s:
            text = f"overload: process {pid} was stopped for too long: {lasted:.2f} s\n"
            os.write(self.log, text.encode())

    def has_run(self, pid):
        """Since it went on, as others see it."""
        before = self.control.get(pid, {})
        return all(before.get(path) != now for path, now in control_times(pid).items())


def dump_stacks(run, log):
    """Where every thread of the run is, if there is a gdb. Nobody goes on meanwhile."""
    present = processes_of(run)
    for pid in present:
        send(pid, signal.SIGSTOP)
    for pid in present:
        command = ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all bt 40"]
        os.write(log, f"\noverload: the stacks of process {pid}\n".encode())
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            os.write(log, f"overload: {error}\n".encode())


def kill_all(run):
    """Nothing of the run is left, what it starts meanwhile included."""
    while True:
        alive = [pid for pid in processes_of(run) if state_of(pid) not in ("Z", "X", "")]
        if not alive:
            return
        for pid in alive:
            send(pid, signal.SIGKILL)
        time.sleep(0.01)
