"""Measures PyTorch's TCPStore as store_peer.c does tutti's: store_peer.py WORK. The commands are
the same; this process forks a child for each, which finds PyTorch imported."""

import datetime
import os
import statistics
import struct
import sys
import time

import torch
import torch.distributed as dist

now = time.monotonic
keys = [f"k{i}" for i in range(16)]
minute = datetime.timedelta(seconds=60)


def open_store(port, master=False):
    return dist.TCPStore(
        "127.0.0.1", port, None, master, minute, wait_for_workers=False, use_libuv=libuv
    )


def has_libuv():
    """Asked in a child: PyTorch's threads do not survive a fork."""
    child = os.fork()
    if child == 0:
        try:
            dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False, use_libuv=True)
        except Exception:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


libuv = has_libuv()


def crew(count, prepare, run):
    """Forks children that prepare, then all run at once, and none goes before all have answered;
    when they started, and their answers."""
    ready, gate, answer, leave = os.pipe(), os.pipe(), os.pipe(), os.pipe()
    children = []
    for index in range(count):
        child = os.fork()
        if child == 0:
            try:
                os.close(gate[1])
                os.close(leave[1])
                prepared = prepare(index)
                os.write(ready[1], b".")
                os.read(gate[0], 1)
                os.write(answer[1], struct.pack("d", run(prepared)))
                os.read(leave[0], 1)
            finally:
                os._exit(0)
        children.append(child)
    for end in (ready[1], gate[0], answer[1], leave[0]):
        os.close(end)
    for _ in children:
        os.read(ready[0], 1)
    began = now()
    os.close(gate[1])
    answers = [struct.unpack("d", os.read(answer[0], 8))[0] for _ in children]
    os.close(leave[1])
    for child in children:
        os.waitpid(child, 0)
    os.close(ready[0])
    os.close(answer[0])
    return began, answers


def set_get(store, value):
    store.set("k0", value)
    store.get("k0")


def call_of(operation, store, size):
    value = b"\0" * size
    values = [value] * len(keys)
    return {
        "set": lambda: store.set("k0", value),
        "get": lambda: store.get("k0"),
        "add": lambda: store.add("counter", 1),
        "check": lambda: store.check(["k0"]),
        "wait": lambda: store.wait(["k0"]),
        "compare_set": lambda: store.compare_set("k0", value, value),
        "delete_key": lambda: store.delete_key("none"),
        "num_keys": lambda: store.num_keys(),
        "multi_get": lambda: store.multi_get(keys),
        "multi_set": lambda: store.multi_set(keys, values),
        "set_get": lambda: set_get(store, value),
    }[operation]


def do_time(operation, size, count, port):
    size, count = int(size), int(count)

    def prepare(_):
        store = open_store(int(port))
        for key in keys:
            store.set(key, b"\0" * size)
        return call_of(operation, store, size)

    def run(call):
        times = []
        for _ in range(count // 10 + 3):
            call()
        for _ in range(count):
            began = now()
            call()
            times.append(now() - began)
        return statistics.median(times)

    return crew(1, prepare, run)[1][0] * 1e6


def do_rate(clients, milliseconds, port):
    seconds = int(milliseconds) * 1e-3

    def prepare(index):
        store = open_store(int(port))
        store.set(f"rate{index}", b"xxxxxxxx")
        return store, f"rate{index}"

    def run(prepared):
        store, key = prepared
        began, count = now(), 0
        while now() - began < seconds:
            store.set(key, b"xxxxxxxx")
            store.get(key)
            count += 2
        return count / (now() - began)

    return sum(crew(int(clients), prepare, run)[1])


def do_connect(processes, each, port):
    stores = []

    def run(_):
        stores.extend(open_store(int(port)) for _ in range(int(each)))
        return now()

    began, answers = crew(int(processes), lambda _: None, run)
    return (max(answers) - began) * 1e3


def do_init(ranks, port):
    os.environ["USE_LIBUV"] = str(int(libuv))

    def run(rank):
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", minute, int(ranks), rank)
        done = now()
        dist.barrier()
        return done

    began, answers = crew(int(ranks), lambda rank: rank, run)
    return (max(answers) - began) * 1e3


def do_serve():
    out, end = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(end[1])
        store = open_store(0, True)
        os.write(out[1], str(store.port).encode())
        os.read(end[0], 1)
        os._exit(0)
    os.close(end[0])
    return int(os.read(out[0], 16))


commands = {"serve": do_serve, "time": do_time, "rate": do_rate, "connect": do_connect}
commands["init"] = do_init

print("ok", sys.argv[1], torch.__version__, "libuv" if libuv else "no-libuv", flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    print("ok", commands[name](*arguments), flush=True)
