"""Objects and bytes between a rank of PyTorch's and one of C's, both ways: what each sends, the other
has; pickles are refused, and say why.

    objects.py PEER        PEER: objects_peer.c
"""

import datetime
import os
import pickle
import subprocess
import sys

os.environ.setdefault("USE_LIBUV", "0")

import torch
import torch.distributed as dist
from tutti_torch import _native, objects
from tutti_torch.messagepack import pack, unpack

from deaths import free_port


def sample():
    return {
        "step": 7,
        "name": "wärme",
        "field": torch.arange(6, dtype=torch.float64).reshape(2, 3),
        "list": [None, True, -2, 2.5, 1 << 40],
        "data": b"\0\1\2",
        "when": datetime.datetime.fromtimestamp(1700000000.5, datetime.timezone.utc),
    }


def same(got, wanted):
    if type(got) is not type(wanted):
        return False
    if isinstance(wanted, torch.Tensor):
        return got.dtype == wanted.dtype and torch.equal(got, wanted)
    if isinstance(wanted, dict):
        return list(got) == list(wanted) and all(same(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    return got == wanted


def check_messagepack():
    numbers = [0, 1, 127, 128, 255, 1 << 16, (1 << 64) - 1, -1, -32, -33, -(1 << 63)]
    values = numbers + ["x" * n for n in (0, 31, 32, 255, 256, 1 << 16)] + [sample(), 1e300]
    values += [b"y" * n for n in (0, 255, 256, 1 << 16)] + [[1] * n for n in (0, 15, 16, 1 << 16)]
    values += [{i: str(i) for i in range(n)} for n in (0, 15, 16, 1 << 16)]
    for value in values:
        assert same(unpack(pack(value)), value), value
    for value in (object(), {1.5: 2}, 1 << 64, datetime.datetime.now(), torch.zeros(2).to_sparse()):
        try:
            pack(value)
        except (TypeError, ValueError) as error:
            assert str(error).startswith("tutti: "), error
        else:
            assert False, value


def refuses(kind, words, call, *arguments):
    try:
        got = call(*arguments)
    except kind as error:
        assert str(error).startswith("tutti") and words in str(error), error
        assert "\n" not in str(error), error
    else:
        assert False, got


def check_calls_by_hand(me, other):
    """Nobody but objects.py calls these; what is wrong is refused before anything is sent."""
    own, one = objects._backend(None), pack(1)
    calls = [
        (_native.broadcast_objects, [one], 1, me),
        (_native.all_gather_object, one),
        (_native.gather_object, one, me),
        (_native.scatter_objects, [one, one], me),
        (_native.send_objects, [one], other, 0),
        (_native.recv_objects, 1, other, 0),
        (_native.broadcast_bytes, one, me),
        (_native.all_gather_bytes, one),
        (_native.send_bytes, one, other, 0),
        (_native.recv_bytes, other, 0),
    ]
    alien = dist.ProcessGroupGloo(dist.HashStore(), 0, 1)
    for call, *arguments in calls:
        refuses(ValueError, "is None", call, None, *arguments)
        refuses(ValueError, "another backend", call, alien, *arguments)
    for count in (0, 2):
        refuses(ValueError, "got 1 messages", _native.broadcast_objects, own, [one], count, me)
    for count in (-1, 1 << 40):
        refuses(ValueError, "count", _native.broadcast_objects, own, [], count, other)
        refuses(ValueError, "count", _native.recv_objects, own, count, other, 0)
    refuses(ValueError, "object_count is 1", _native.scatter_objects, own, [one], me)
    refuses(ValueError, "no value", _native.send_objects, own, [b"\xc1"], other, 0)
    for given in (None, [None], 1):
        try:
            _native.send_objects(own, given, other, 0)
        except TypeError as error:
            assert "messages" in str(error), error
        else:
            assert False, given


def check_objects(me, other):
    own = sample()
    both = [own, own]
    # The other rank's broadcast is its first call, and this rank's its second.
    got = [None, None]
    objects.broadcast_object_list(got, other)
    assert same(got, both), got
    objects.broadcast_object_list(both, me)
    assert same(objects.all_gather_object(own), both)
    assert objects.gather_object(own, other) is None
    assert same(objects.gather_object(own, me), both)
    assert same(objects.scatter_object_list(None, other), own)
    assert same(objects.scatter_object_list(both, me), own)
    objects.send_object_list(both, other, tag=3)
    got = [None, None]
    assert objects.recv_object_list(got, tag=4) == other and same(got, both)


def check_bytes(me, other):
    assert objects.broadcast_bytes(None, other) == b"of C"
    assert objects.broadcast_bytes(b"of PyTorch", me) == b"of PyTorch"
    all_bytes = objects.all_gather_bytes(b"of PyTorch")
    assert all_bytes[me] == b"of PyTorch" and all_bytes[other] == b"of C"
    objects.send_bytes(b"of PyTorch", other, tag=5)
    assert objects.recv_bytes(other, tag=6) == (b"of C", other)


def check_pickles(me, other):
    objects.send_bytes(pickle.dumps({"a": 1}), other, tag=7)
    try:
        dist.all_gather_object([None, None], {"a": 1})
    except dist.DistError as error:
        assert "all_gather_object" in str(error), error
    else:
        assert False, "PyTorch's pickles were taken for objects"


def torch_rank(rank, port):
    dist.init_process_group(
        "tutti", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    check_objects(rank, 1 - rank)
    check_bytes(rank, 1 - rank)
    check_calls_by_hand(rank, 1 - rank)
    check_pickles(rank, 1 - rank)
    dist.destroy_process_group()


def main():
    if sys.argv[1] == "rank":
        return torch_rank(int(sys.argv[2]), int(sys.argv[3]))
    check_messagepack()
    for world in ("pc", "cp"):
        port, started = free_port(), []
        for rank, kind in enumerate(world):
            command = [sys.argv[1], port, rank, len(world)]
            if kind == "p":
                command = [sys.executable, __file__, "rank", rank, port]
            started.append(subprocess.Popen(list(map(str, command))))
        codes = [one.wait(timeout=120) for one in started]
        assert codes == [0, 0], (world, codes)
        print(f"{world}: objects and bytes both ways, pickles are refused", flush=True)


if __name__ == "__main__":
    main()
