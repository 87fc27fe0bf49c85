"""MessagePack for values that ranks of all languages read: None, bool, int, float, str, bytes, lists,
dicts, datetimes with a time zone, and tensors. They contain data, never code. What is a value, and
how a tensor is written, tutti/object.h says."""

import datetime
import struct

import msgpack
import torch

from ._native import dtypes, plain

epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
scalars = {type(None), bool, int, float, str, bytes}
keys = {int, str}
array = 84  # the extension of tensors


def pack(value):
    message = _Message()
    try:
        message.add(value)
    except RecursionError:
        raise ValueError("tutti: a value has more levels than Python can pack") from None
    return b"".join(message.parts)


class _Message:
    """Parts of a message. Lists and dicts go into msgpack one by one: it nests less deep than tutti
    does, takes keys of any type, and does not say at which byte a tensor would begin."""

    def __init__(self):
        self.packer, self.parts, self.size = msgpack.Packer(), [], 0

    def add(self, value):
        if type(value) in scalars:
            self.add_packed(value)
        elif isinstance(value, (list, tuple)):
            if scalars.issuperset(map(type, value)):
                return self.add_packed(value)
            self.add_part(self.packer.pack_array_header(len(value)))
            for one in value:
                self.add(one)
        elif isinstance(value, dict):
            _check_keys(value)
            if scalars.issuperset(map(type, value.values())):
                return self.add_packed(value)
            self.add_part(self.packer.pack_map_header(len(value)))
            for key, one in value.items():
                self.add_packed(key)
                self.add(one)
        else:
            self.add_other(value)

    def add_other(self, value):
        if isinstance(value, torch.Tensor):
            self.add_tensor(value)
        elif isinstance(value, datetime.datetime) and value.tzinfo:
            since = value - epoch
            seconds = since.days * 86400 + since.seconds
            self.add_packed(msgpack.Timestamp(seconds, since.microseconds * 1000))
        elif isinstance(value, memoryview):
            self.add_packed(bytes(value))
        elif isinstance(value, (int, float, str, bytes, bytearray)):
            self.add_packed(value)
        else:
            raise TypeError(
                f"tutti: an object of type {type(value).__name__} is no data that other languages "
                "read, and pickles are not sent to them: make it of None, bool, int, float, str, "
                "bytes, list, dict, datetime with a time zone, or tensors"
            )

    def add_part(self, part):
        self.parts.append(part)
        self.size += len(part)

    def add_packed(self, value):
        try:
            self.add_part(self.packer.pack(value))
        except OverflowError:
            raise ValueError("tutti: an integer has more than 64 bits") from None
        except ValueError as error:
            raise ValueError(f"tutti: a value cannot be MessagePack: {error}") from error

    def add_tensor(self, tensor):
        if tensor.dtype not in dtypes or tensor.layout != torch.strided:
            raise TypeError(
                f"tutti: tensors of {tensor.dtype}, {tensor.layout} cannot be in an object"
            )
        tensor = tensor.detach().cpu().contiguous().resolve_conj().resolve_neg()
        elements = tensor.reshape(-1).view(torch.uint8).numpy() if tensor.numel() else b""
        shape = struct.pack(f"<{tensor.dim()}Q", *tensor.shape)
        # The elements begin at a multiple of 8 bytes from the start of the message.
        padding = -(self.size + 6 + 4 + len(shape)) % 8
        size = 4 + len(shape) + padding + len(elements)
        if size >= 1 << 32:
            raise ValueError(
                f"tutti: a tensor of {len(elements)} bytes is too large for MessagePack"
            )
        self.add_part(struct.pack(">BIb", 0xC9, size, array))  # msgpack's would be of any length
        self.add_part(bytes([dtypes.index(tensor.dtype), tensor.dim(), padding, 0]))
        self.add_part(shape + bytes(padding))
        self.add_part(elements)


def _check_keys(values):
    if keys.issuperset(map(type, values)):
        return
    for key in values:
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise TypeError(f"tutti: a key of an object is a string or an integer, not {key!r}")


def unpack(message):
    """The value of a message from anywhere, compressed or not."""
    return unpack_plain(plain(bytes(message)))


def unpack_plain(message):
    """The value of a message that tutti has written."""
    try:
        return msgpack.unpackb(message, ext_hook=_tensor, timestamp=3, strict_map_key=False)
    except msgpack.StackError:
        raise ValueError("tutti: a value has more levels than Python can unpack") from None
    except OverflowError as error:
        raise ValueError(f"tutti: a timestamp is outside of the years 1 to 9999: {error}") from error


def _tensor(extension, data):
    number, dimensions, padding = data[:3]
    dtype, shape = dtypes[number], struct.unpack_from(f"<{dimensions}Q", data, 4)
    elements = bytearray(memoryview(data)[4 + 8 * dimensions + padding :])
    if not elements:
        return torch.empty(shape, dtype=dtype)
    if dtype == torch.bool:
        return torch.frombuffer(elements, dtype=torch.uint8).ne(0).reshape(shape)
    return torch.frombuffer(elements, dtype=dtype).reshape(shape)
