"""PyTorch's ways to go on after a death, for recovery: reads lines "reconfigure RANKS" and "restart
RANKS", kills a rank of such a job, and answers "ok" and when, after that, the slowest other rank
knew, and had the right sum again, in milliseconds. The other programs here are its ranks."""

import datetime
import os
import random
import signal
import subprocess
import sys
import time

import torch
import torch.distributed as dist

script = os.path.abspath(__file__)
patience = datetime.timedelta(seconds=60)
gloo_patience = datetime.timedelta(seconds=float(os.environ.get("RECOVERY_TIMEOUT_S", "5")))


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def tell(what):
    os.write(1, f"{os.environ['RANK']} {what} {now_ns()}\n".encode())


def is_right(count, size):
    numbers = torch.ones(count)
    dist.all_reduce(numbers)
    return bool((numbers == size).all())


def must_be_right(count, size):
    if not is_right(count, size):
        os._exit(9)


def reconfigure(store, epoch, ranks, own):
    """They meet at the store, which says who is left, and give each other their handles there."""
    store.set(f"{epoch}/{own}", dist._get_reconfigure_handle())
    handles = [store.get(f"{epoch}/{rank}").decode() for rank in ranks]
    dist._reconfigure(uuid=epoch, handles=handles).wait()


def reconfiguring_rank(port, count):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=patience, use_libuv=False)
    dist.init_process_group("gloo", store=dist.PrefixStore("world", store), rank=rank,
                            world_size=size, timeout=gloo_patience, enable_reconfigure=True)
    reconfigure(store, 1, range(size), rank)
    must_be_right(count, size)
    tell("ready")
    try:
        while True:
            must_be_right(count, size)
    except RuntimeError:
        tell("lost")
    left = list(map(int, store.get("left").decode().split()))
    reconfigure(store, 2, left, rank)
    must_be_right(count, len(left))
    tell("whole")
    os._exit(0)


def restarted_rank(count):
    size = int(os.environ["WORLD_SIZE"])
    again = int(os.environ["TORCHELASTIC_RESTART_COUNT"]) > 0
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]),
                          is_master=False, timeout=patience, use_libuv=False)
    store = dist.PrefixStore(os.environ["TORCHELASTIC_RESTART_COUNT"], store)
    dist.init_process_group("gloo", store=store, rank=int(os.environ["RANK"]), world_size=size,
                            timeout=gloo_patience)
    must_be_right(count, size)
    tell("whole" if again else f"ready {os.getpid()}")
    if again:
        dist.destroy_process_group()
        return
    try:
        while True:
            must_be_right(count, size)
    except RuntimeError:
        tell("lost")
        raise


def torchrun(arguments):
    """Its stores would be over libuv, which Debian's PyTorch is built without."""

    class Store(dist.TCPStore):
        def __init__(self, *places, **names):
            super().__init__(*places, **{**names, "use_libuv": False})

    dist.TCPStore = Store
    from torch.distributed.run import main

    main(arguments)


class Job:
    """Processes whose lines come through one pipe."""

    def __init__(self):
        self.output, self.input = os.pipe()
        self.rest = b""
        self.processes = []

    def start(self, command, **variables):
        environment = dict(os.environ, USE_LIBUV="0", GLOO_SOCKET_IFNAME="lo", **variables)
        self.processes.append(subprocess.Popen(
            [sys.executable, *map(str, command)], env=environment, stdout=self.input,
            stderr=None if os.environ.get("RECOVERY_DEBUG") else subprocess.DEVNULL, stdin=subprocess.DEVNULL))

    def lines(self):
        os.close(self.input)
        while data := os.read(self.output, 65536):
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                yield line.decode().split()

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        os.close(self.output)


def measure_reconfigure(size, count):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False,
                          use_libuv=False)
    job = Job()
    for rank in range(size):
        job.start([script, "reconfiguring", store.port, count], RANK=str(rank),
                  WORLD_SIZE=str(size))
    victim = random.randrange(size)

    def kill():
        killed = now_ns()
        job.processes[victim].kill()
        job.processes[victim].wait()
        store.set("left", " ".join(str(rank) for rank in range(size) if rank != victim))
        return killed

    return follow(job, size, size - 1, kill)


def measure_restart(size, count):
    job = Job()
    job.start([script, "torchrun", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", size, "--max-restarts", 1,
               script, "restarted", count])
    pids = []

    def kill():
        killed = now_ns()
        os.kill(random.choice(pids), signal.SIGKILL)
        return killed

    return follow(job, size, size, kill, pids)


def follow(job, size, left, kill, pids=None):
    """When the slowest knew, and was whole."""
    ready, killed, times = 0, None, {"lost": [], "whole": []}
    for words in job.lines():
        if len(words) < 3 or words[1] not in ("ready", "lost", "whole"):
            continue
        if words[1] == "ready":
            if pids is not None:
                pids.append(int(words[2]))
            ready += 1
            if ready == size:
                time.sleep(random.uniform(0.05, 0.3))
                killed = kill()
            continue
        times[words[1]].append((int(words[-1]) - killed) / 1e6)
        if len(times["whole"]) == left:
            break
    job.end()
    return [max(times[what], default=float("nan")) for what in ("lost", "whole")]


def serve(work):
    print("ok", work, torch.__version__, flush=True)
    for line in sys.stdin:
        what, size, count = line.split()
        measure = {"reconfigure": measure_reconfigure, "restart": measure_restart}[what]
        print("ok", *measure(int(size), int(count)), flush=True)


if len(sys.argv) > 1 and sys.argv[1] == "reconfiguring":
    reconfiguring_rank(int(sys.argv[2]), int(sys.argv[3]))
elif len(sys.argv) > 1 and sys.argv[1] == "restarted":
    restarted_rank(int(sys.argv[2]))
elif len(sys.argv) > 1 and sys.argv[1] == "torchrun":
    torchrun(sys.argv[2:])
else:
    serve(sys.argv[1])
