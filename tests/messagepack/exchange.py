"""What tutti writes is what msgpack of Python reads, and the other way round.
     exchange.py PROGRAM      PROGRAM: messagepack_values"""
import math, struct, subprocess, sys

try:
    import msgpack
except ImportError:
    print("skipped: Python has no msgpack (Debian: python3-msgpack)")
    sys.exit(77)

program = sys.argv[1]
ARRAY = 84
dtypes = {2: "h", 11: "d"}


def read_array(data):
    dtype, dimensions, padding, zero = data[:4]
    assert zero == 0
    shape = struct.unpack(f"<{dimensions}Q", data[4 : 4 + 8 * dimensions])
    elements = data[4 + 8 * dimensions + padding :]
    return dtype, shape, struct.unpack(f"<{math.prod(shape)}{dtypes[dtype]}", elements)


def write_array(dtype, shape, elements):
    head = struct.pack(f"<4B{len(shape)}Q", dtype, len(shape), 3, 0, *shape)
    data = struct.pack(f"<{len(elements)}{dtypes[dtype]}", *elements)
    return msgpack.ExtType(ARRAY, head + bytes(3) + data)


wanted = {
    "integers": [0, 1, 127, 128, 255, 256, 65535, 65536, -1, -32, -33, -128, -129, -32768, -32769,
                 2**32 - 1, 2**32, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)],
    "large": 2**64 - 1,
    "reals": [0.5, -0.0, 1e300, 5e-324, math.inf, -math.inf],
    "text": "grüße 🎻",
    "long text": "x" * 70000,
    "bytes": bytes(range(256)),
    "times": [msgpack.Timestamp(0, 0), msgpack.Timestamp(1700000000, 5),
              msgpack.Timestamp(2**40, 999999999), msgpack.Timestamp(-1, 7)],
    "matrix": (2, (2, 3), (1, -2, 3, 4, 5, -6)),
    "column": (11, (3, 1), (0.5, -1.5, 1e10)),
    "nil": None,
    "bools": [True, False],
    "empty": [[], {}, "", b""],
    "map": {-40000: "value", 0: "value", 40000: "value", "key": 5},
    "long list": list(range(70000)),
}

message = subprocess.run([program, "write"], check=True, stdout=subprocess.PIPE).stdout
got = msgpack.unpackb(message, strict_map_key=False, timestamp=0,
                      ext_hook=lambda code, data: read_array(data) if code == ARRAY else None)
assert list(got) == list(wanted), (list(got), list(wanted))
for key, value in wanted.items():
    assert got[key] == value, (key, got[key], value)
    assert str(got[key])[:1000] == str(value)[:1000], key  # -0.0 equals 0.0

mine = {**wanted, **{key: write_array(*wanted[key]) for key in ("matrix", "column")}}
subprocess.run([program, "read"], check=True, input=msgpack.packb(mine))
print(f"msgpack {'.'.join(map(str, msgpack.version))} of Python: {len(message)} bytes read, "
      f"{len(msgpack.packb(mine))} written")
