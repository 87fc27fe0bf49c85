"""What ranks give, and what must come of it, in plain torch."""

import torch

version = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2]))


def since_2_14(test):
    """Of a test: older versions do not show a backend all that it asks for."""
    return test if version >= (2, 14) else lambda: None


dtypes = [
    getattr(torch, name)
    for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 "
    "complex64 complex128 uint16 uint32 uint64".split()
]
eights = [getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]


def numbers(rank, count, step=0):
    """1 to 3: their products and sums over a few ranks are exact in every dtype."""
    return 1 + (torch.arange(count) * 5 + rank * 3 + step) % 3


def typed(values, dtype):
    if dtype == torch.bool:
        return values % 2 != 0
    if dtype.is_complex:
        return torch.complex(values.double(), -values.double()).to(dtype)
    return values.to(dtype)


def given(rank, count, dtype, step=0):
    return typed(numbers(rank, count, step), dtype)


def ops_of(dtype):
    """Those that PyTorch and tutti have for a dtype."""
    if dtype.is_complex:
        return ["SUM", "AVG"]
    if dtype.is_floating_point:
        return ["SUM", "AVG", "PRODUCT", "MIN", "MAX"]
    return ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]


def reduced(op, tensors):
    dtype = tensors[0].dtype
    exact = torch.complex128 if dtype.is_complex else torch.int64
    if dtype.is_floating_point:
        exact = torch.float64
    stack = torch.stack([one.to(exact) for one in tensors])
    if op in ("SUM", "AVG"):
        out = stack.sum(0)
        out = out / len(tensors) if op == "AVG" else out
    elif op == "PRODUCT":
        out = stack.prod(0)
    elif op in ("MIN", "MAX"):
        out = stack.amin(0) if op == "MIN" else stack.amax(0)
    else:
        out = stack[0]
        for one in stack[1:]:
            out = {"BAND": out & one, "BOR": out | one, "BXOR": out ^ one}[op]
    return (out != 0) if dtype == torch.bool else out.to(dtype)


def same(got, wanted):
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    if got.dtype in eights:
        return torch.equal(got.view(torch.uint8), wanted.view(torch.uint8))
    if got.dtype.is_floating_point or got.dtype.is_complex:
        return torch.allclose(got, wanted, rtol=1e-2 if got.element_size() == 2 else 1e-6, atol=0)
    return torch.equal(got.to(torch.int64), wanted.to(torch.int64))
