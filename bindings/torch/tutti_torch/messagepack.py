"""MessagePack for values that ranks of all languages read: None, bool, int, float, str, bytes, lists,
dicts, datetimes with a time zone, and tensors. They contain data, never code."""

import datetime
import struct

import torch

from ._native import dtypes

epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
timestamp, array = -1, 84


def pack(value):
    out = bytearray()
    _pack(value, out)
    return bytes(out)


def _head(out, size, short, codes):
    """The size of a string, list, map or extension: in its first byte if that is `short`, or behind
    one of `codes`, in 1, 2 or 4 bytes."""
    first, most = short
    if size <= most:
        out.append(first | size)
        return
    for code, form in zip(codes, ">B >H >I".split()):
        if code is not None and size < 256 ** struct.calcsize(form):
            out.append(code)
            out += struct.pack(form, size)
            return
    raise ValueError(f"tutti: {size} bytes or values are too many for MessagePack")


def _pack_integer(value, out):
    if 0 <= value < 1 << 64:
        out += b"\xcf" + struct.pack(">Q", value) if value > 127 else bytes([value])
    elif -(1 << 63) <= value < 0:
        out += b"\xd3" + struct.pack(">q", value)
    else:
        raise ValueError(f"tutti: {value} has more than 64 bits")


def _pack_tensor(tensor, out):
    if tensor.dtype not in dtypes or tensor.layout != torch.strided:
        raise TypeError(f"tutti: tensors of {tensor.dtype}, {tensor.layout} cannot be in an object")
    tensor = tensor.detach().cpu().contiguous().resolve_conj().resolve_neg()
    elements = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    head = struct.pack("4B", dtypes.index(tensor.dtype), tensor.dim(), 0, 0)
    shape = struct.pack(f"<{tensor.dim()}Q", *tensor.shape)
    # The elements begin at a multiple of 8 bytes from the start of the message.
    size = len(head) + len(shape) + len(elements)
    if size + 7 >= 1 << 32:
        raise ValueError(f"tutti: a tensor of {len(elements)} bytes is too large for MessagePack")
    before = len(out) + (6 if size + 7 >= 1 << 16 else 4 if size + 7 >= 256 else 3)
    padding = -(before + len(head) + len(shape)) % 8
    longest = 0xC9 if size + 7 >= 1 << 16 else 0xC8 if size + 7 >= 256 else 0xC7
    form = {0xC7: ">B", 0xC8: ">H", 0xC9: ">I"}[longest]
    out += bytes([longest]) + struct.pack(form, size + padding) + bytes([array])
    out += head[:2] + bytes([padding, 0]) + shape + bytes(padding) + elements


def _pack(value, out):
    if value is None:
        out.append(0xC0)
    elif isinstance(value, bool):
        out.append(0xC3 if value else 0xC2)
    elif isinstance(value, int):
        _pack_integer(value, out)
    elif isinstance(value, float):
        out += b"\xcb" + struct.pack(">d", value)
    elif isinstance(value, str):
        text = value.encode()
        _head(out, len(text), (0xA0, 31), (0xD9, 0xDA, 0xDB))
        out += text
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _head(out, len(bytes(value)), (0, -1), (0xC4, 0xC5, 0xC6))
        out += bytes(value)
    elif isinstance(value, (list, tuple)):
        _head(out, len(value), (0x90, 15), (None, 0xDC, 0xDD))
        for one in value:
            _pack(one, out)
    elif isinstance(value, dict):
        _head(out, len(value), (0x80, 15), (None, 0xDE, 0xDF))
        for key, one in value.items():
            if isinstance(key, bool) or not isinstance(key, (str, int)):
                raise TypeError(f"tutti: a key of an object is a string or an integer, not {key!r}")
            _pack(key, out)
            _pack(one, out)
    elif isinstance(value, datetime.datetime) and value.tzinfo:
        since = value - epoch
        seconds, rest = since.days * 86400 + since.seconds, since.microseconds * 1000
        out += b"\xc7\x0c\xff" + struct.pack(">Iq", rest, seconds)
    elif isinstance(value, torch.Tensor):
        _pack_tensor(value, out)
    else:
        raise TypeError(
            f"tutti: an object of type {type(value).__name__} is no data that other languages read, "
            "and pickles are not sent to them: make it of None, bool, int, float, str, bytes, list, "
            "dict, datetime with a time zone, or tensors"
        )


def unpack(message):
    """The value of a message, of which the functions of objects.py know that it is complete."""
    try:
        value, end = _unpack(message, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"tutti: this is no MessagePack: {error}") from error
    except RecursionError:
        raise ValueError("tutti: a value has more levels than Python can unpack") from None
    except OverflowError as error:
        raise ValueError(f"tutti: a timestamp is outside of the years 1 to 9999: {error}") from error
    if end > len(message):
        raise ValueError("tutti: a message ends before its value")
    if end < len(message):
        raise ValueError(f"tutti: {len(message) - end} bytes follow the value")
    return value


def _many(message, at, count):
    values = []
    for _ in range(count):
        value, at = _unpack(message, at)
        values.append(value)
    return values, at


def _map(message, at, count):
    values, at = _many(message, at, 2 * count)
    return dict(zip(values[::2], values[1::2])), at


def _string(message, at, size):
    return message[at : at + size].decode(), at + size


def _bytes(message, at, size):
    return message[at : at + size], at + size


def _extension(message, at, size):
    (kind,), data = struct.unpack_from("b", message, at), message[at + 1 : at + 1 + size]
    at += 1 + size
    if kind == timestamp:
        if size == 4:
            nanoseconds, seconds = 0, struct.unpack(">I", data)[0]
        elif size == 8:
            (both,) = struct.unpack(">Q", data)
            nanoseconds, seconds = both >> 34, both & ((1 << 34) - 1)
        else:
            nanoseconds, seconds = struct.unpack(">Iq", data)
        return epoch + datetime.timedelta(seconds=seconds, microseconds=nanoseconds // 1000), at
    if kind != array:
        raise ValueError(f"tutti: extension {kind} of MessagePack is unknown")
    dtype, dimensions, padding = data[:3]
    shape = struct.unpack_from(f"<{dimensions}Q", data, 4)
    elements = bytearray(data[4 + 8 * dimensions + padding :])
    if not elements:
        return torch.empty(shape, dtype=dtypes[dtype]), at
    if dtypes[dtype] == torch.bool:
        return torch.frombuffer(elements, dtype=torch.uint8).ne(0).reshape(shape), at
    return torch.frombuffer(elements, dtype=dtypes[dtype]).reshape(shape), at


# By the first byte: how the number behind it is written, and what it counts, or None if it is the value.
numbers = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
numbers |= {0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
sized = {0xC4: (">B", _bytes), 0xC5: (">H", _bytes), 0xC6: (">I", _bytes)}
sized |= {0xC7: (">B", _extension), 0xC8: (">H", _extension), 0xC9: (">I", _extension)}
sized |= {0xD9: (">B", _string), 0xDA: (">H", _string), 0xDB: (">I", _string)}
sized |= {0xDC: (">H", _many), 0xDD: (">I", _many), 0xDE: (">H", _map), 0xDF: (">I", _map)}
words = {0xC0: None, 0xC2: False, 0xC3: True}


def _unpack(message, at):
    first, at = message[at], at + 1
    if first < 0x80 or first >= 0xE0:
        return first if first < 0x80 else first - 256, at
    if first < 0xC0:
        read = _map if first < 0x90 else _many if first < 0xA0 else _string
        return read(message, at, first & (15 if first < 0xA0 else 31))
    if first in words:
        return words[first], at
    if first in numbers:
        form = numbers[first]
        return struct.unpack_from(form, message, at)[0], at + struct.calcsize(form)
    if first in sized:
        form, read = sized[first]
        return read(message, at + struct.calcsize(form), *struct.unpack_from(form, message, at))
    if 0xD4 <= first <= 0xD8:
        return _extension(message, at, 1 << first - 0xD4)
    raise ValueError(f"tutti: no MessagePack value begins with {first:#x}")
