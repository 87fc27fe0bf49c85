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
from tutti_torch._native import dtypes, plain
from tutti_torch.messagepack import epoch, pack, unpack

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


def nested(levels, inner):
    for level in range(levels):
        inner = [inner] if level % 2 else {"in": inner}
    return inner


def check_values():
    numbers = [0, 1, 127, 128, 255, 1 << 16, (1 << 64) - 1, -1, -32, -33, -(1 << 63)]
    numbers += [sign << bits for bits in range(63) for sign in (1, -1)] + [1e300, float("inf")]
    values = numbers + ["x" * n for n in (0, 31, 32, 255, 256, 1 << 16)] + [sample(), numbers]
    values += [b"y" * n for n in (0, 255, 256, 1 << 16)] + [[1] * n for n in (0, 15, 16, 1 << 16)]
    values += [{i: str(i) for i in range(n)} for n in (0, 15, 16, 1 << 16)]
    values += ["a\0b", "\0", {"": {-1: {"\0": [{}, {1 << 40: []}]}}}, nested(512, 1), nested(511, {})]
    for seconds in (-62135596800, -1, 0, 1 << 32, 1 << 34, 253402300799):
        values.append(epoch + datetime.timedelta(seconds=seconds, microseconds=7))
    for dtype in dtypes:
        for shape in ((), (0,), (3,), (2, 1, 2), (2, 0, 3), (300,), (1 << 16,)):
            values.append(torch.ones(shape).to(dtype))
    for value in values:
        message = pack(value)
        assert plain(message) == message
        assert same(unpack(message), value), value
    assert unpack(pack((1, (2,), bytearray(b"3")))) == [1, [2], b"3"]
    assert unpack(b"\xca\x3f\x80\x00\x00") == 1.0  # of 32 bits
    turned = torch.arange(6.0).reshape(2, 3).t()
    assert same(unpack(pack([turned, turned.to(torch.complex64).conj()]))[0], turned)


def check_places_of_tensors():
    """Their elements begin at multiples of 8 bytes, whatever is in front of them."""
    marks = torch.arange(4, dtype=torch.int64) + 0x1122334455667788
    for front in range(40):
        message = pack(["x" * front, marks, marks])
        first = message.index(marks.numpy().tobytes())
        assert first % 8 == 0 and message.index(marks.numpy().tobytes(), first + 1) % 8 == 0


def refuses(kind, words, call, *arguments):
    try:
        got = call(*arguments)
    except kind as error:
        assert str(error).startswith("tutti") and words in str(error), error
        assert "\n" not in str(error), error
    else:
        assert False, got


def check_what_is_refused():
    for value in (object(), {1.5: 2}, {True: 1}, {None: 1}, {"a": {b"b": 1}}, [{(1,): 1}], {1}):
        refuses(TypeError, "", pack, value)
    for value in (datetime.datetime.now(), torch.zeros(2).to_sparse(), torch.zeros(2).int_repr):
        refuses(TypeError, "", pack, [value])
    for value in (1 << 64, [-(1 << 63) - 1], {1 << 64: 1}, [[], 1 << 64]):
        refuses(ValueError, "64 bits", pack, value)
    refuses(ValueError, "", pack, "\ud800")
    refuses(ValueError, "levels", pack, nested(100000, 1))
    refuses(ValueError, "deep", unpack, b"\x91" * 513 + b"\x01")
    refuses(ValueError, "pickle", unpack, pickle.dumps({"a": [1]}))
    refuses(ValueError, "extension of type 85", unpack, b"\xd4\x55\0")
    refuses(ValueError, "", unpack, b"")
    refuses(ValueError, "", unpack, b"\xc1")
    refuses(ValueError, "UTF-8", unpack, b"\xa1\xff")
    refuses(ValueError, "", unpack, b"\x01\x02")
    refuses(ValueError, "", unpack, b"\x81\x90\x01")
    refuses(ValueError, "years 1 to 9999", unpack, b"\xc7\x0c\xff" + bytes(4) + b"\x7f" * 8)
    refuses(ValueError, "ends too early", unpack, pack(sample())[:-1])
    refuses(ValueError, "dtype", unpack, b"\xc7\x04\x54\x0f\0\0\0")


def check_compressed_messages():
    message = pack([1, "two"])
    head = bytes([0x20, len(message)]) + (len(message) << 3 | 1).to_bytes(3, "little")
    assert unpack(b"\x28\xb5\x2f\xfd" + head + message) == [1, "two"]


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
    for check in (check_values, check_places_of_tensors, check_what_is_refused):
        check()
    check_compressed_messages()
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
