"""A client of PyTorch's stores, or a server, that does what it is told: peer.py WORK. The commands
are those of peer.c; the words, those of support/peers.py."""

import datetime
import sys

import torch.distributed as dist

work = sys.argv[1]
stores = []


def encode(value):
    return value.hex() or "-"


def decode(word):
    return b"" if word == "-" else bytes.fromhex(word)


def key(word):
    return decode(word).decode()


def keys(words):
    return [key(word) for word in words]


def milliseconds(word):
    return datetime.timedelta(milliseconds=int(word))


def has_libuv():
    try:
        dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False, use_libuv=True)
        return True
    except Exception:
        return False


libuv = has_libuv()


def tcp(port, world, master):
    world = int(world)
    stores[:] = [
        dist.TCPStore(
            "127.0.0.1",
            int(port),
            world if world > 0 else None,
            master,
            wait_for_workers=world > 0,
            use_libuv=libuv,
        )
    ]
    return [stores[0].port]


def file(path, world):
    stores[:] = [dist.FileStore(path, int(world))]


def prefix(word):
    stores.append(dist.PrefixStore(key(word), stores[-1]))


def operations():
    names = "set get add check wait compare_set delete_key multi_get multi_set num_keys".split()
    names += ["clone", "barrier"]
    if not isinstance(stores[0], dist.FileStore):
        names += ["append", "list_keys"]
        names += ["queue_push", "queue_pop", "queue_len"] if libuv else []
    return [name for name in names if hasattr(stores[-1], name)]


def add_many(word, count):
    return [stores[-1].add(key(word), 1) for _ in range(int(count))]


def multi_set(*words):
    stores[-1].multi_set(keys(words[::2]), [decode(word) for word in words[1::2]])


def clone():
    stores.append(stores[-1].clone())


commands = {
    "serve": lambda: tcp(0, -1, True),
    "serve_at": lambda port, world: tcp(port, world, True),
    "connect": lambda port, world: tcp(port, world, False),
    "file": file,
    "prefix": prefix,
    "close": stores.clear,
    "operations": operations,
    "timeout": lambda ms: stores[-1].set_timeout(milliseconds(ms)),
    "set": lambda k, v: stores[-1].set(key(k), decode(v)),
    "get": lambda k: [stores[-1].get(key(k))],
    "add": lambda k, n: [stores[-1].add(key(k), int(n))],
    "add_many": add_many,
    "append": lambda k, v: stores[-1].append(key(k), decode(v)),
    "check": lambda *ks: [int(stores[-1].check(keys(ks)))],
    "wait": lambda ms, *ks: stores[-1].wait(keys(ks), milliseconds(ms)),
    "compare_set": lambda k, e, d: [stores[-1].compare_set(key(k), decode(e), decode(d))],
    "delete_key": lambda k: [int(stores[-1].delete_key(key(k)))],
    "multi_get": lambda *ks: stores[-1].multi_get(keys(ks)),
    "multi_set": multi_set,
    "num_keys": lambda: [stores[-1].num_keys()],
    "list_keys": lambda: [name.encode() for name in stores[-1].list_keys()],
    "queue_push": lambda k, v: stores[-1].queue_push(key(k), decode(v)),
    "queue_pop": lambda k: [stores[-1].queue_pop(key(k), True)],
    "barrier": lambda k, n: stores[-1].barrier(key(k), int(n), datetime.timedelta(seconds=60)),
    "clone": clone,
    "queue_len": lambda k: [stores[-1].queue_len(key(k))],
}


def answer(words):
    print("ok", *[encode(w) if isinstance(w, bytes) else w for w in words or []], flush=True)


answer([work])
for line in sys.stdin:
    name, *arguments = line.rstrip("\n").split(" ")
    try:
        answer(commands[name](*arguments))
    except Exception as failure:
        text = " ".join(str(failure).split())
        late = "timeout" in text.lower() or "timed out" in text.lower()
        print("error", "timeout" if late else "other", text, flush=True)
stores.clear()
