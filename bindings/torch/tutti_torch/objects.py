"""Objects and byte strings that ranks of C, Fortran, Go, Java, Julia and Rust send and receive with
tutti's own calls. torch.distributed has functions of the same names, whose objects are pickles, which
only Python reads. Here they are MessagePack (see messagepack.py). Ranks are those of the group."""

import torch
import torch.distributed as dist

from . import _native
from .messagepack import pack, unpack_plain


def _backend(group):
    group = dist.group.WORLD if group is None else group
    if not isinstance(group, dist.ProcessGroup):
        raise ValueError("tutti: this process is in no such group, or there is none so far")
    backend = group._get_backend(torch.device("cpu"))
    return getattr(backend, "wrapped_pg", backend)  # of TORCH_DISTRIBUTED_DEBUG=DETAIL


def _bytes(data):
    return b"" if data is None else bytes(memoryview(data))


def _pack_all(values):
    return [pack(one) for one in values]


def _unpack_all(messages):
    return [unpack_plain(one) for one in messages]


def broadcast_object_list(object_list, group_src=0, group=None):
    """Every rank receives the objects of one rank, into a list of as many."""
    backend = _backend(group)
    given = _pack_all(object_list) if backend.rank() == group_src else []
    got = _native.broadcast_objects(backend, given, len(object_list), group_src)
    if backend.rank() != group_src:
        object_list[:] = _unpack_all(got)


def all_gather_object(obj, group=None):
    """The objects of all ranks."""
    return _unpack_all(_native.all_gather_object(_backend(group), pack(obj)))


def gather_object(obj, group_dst=0, group=None):
    """On one rank the objects of all ranks, elsewhere None."""
    backend = _backend(group)
    got = _native.gather_object(backend, pack(obj), group_dst)
    return _unpack_all(got) if backend.rank() == group_dst else None


def scatter_object_list(object_list=None, group_src=0, group=None):
    """This rank's of the objects of one rank."""
    backend = _backend(group)
    given = _pack_all(object_list or []) if backend.rank() == group_src else []
    return unpack_plain(_native.scatter_objects(backend, given, group_src)[0])


def send_object_list(object_list, group_dst, group=None, tag=0):
    _native.send_objects(_backend(group), _pack_all(object_list), group_dst, tag)


def recv_object_list(object_list, group_src=None, group=None, tag=0):
    """Receives into a list of as many objects; the rank that sent them. None: any rank."""
    source = -1 if group_src is None else group_src
    got, sender = _native.recv_objects(_backend(group), len(object_list), source, tag)
    object_list[:] = _unpack_all(got)
    return sender


def broadcast_bytes(data=None, group_src=0, group=None):
    """The bytes of one rank."""
    return _native.broadcast_bytes(_backend(group), _bytes(data), group_src)[0]


def all_gather_bytes(data, group=None):
    """The bytes of all ranks."""
    return _native.all_gather_bytes(_backend(group), _bytes(data))


def send_bytes(data, group_dst, group=None, tag=0):
    _native.send_bytes(_backend(group), _bytes(data), group_dst, tag)


def recv_bytes(group_src=None, group=None, tag=0):
    """The bytes that one rank sent, and which one. None: any rank."""
    (data,), sender = _native.recv_bytes(_backend(group), -1 if group_src is None else group_src, tag)
    return data, sender
