"""Compares the raw layer with the headers, function by function, without the generator: what is
missing, what is there too much, what has another number of parameters. And each function is used by
the layer above, or stands below with the reason.

    raw_layer.py INCLUDE CRATE
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "generator"))
import headers  # noqa: E402

# Options are filled in where they are made, field by field.
NOT_USED = {f"tutti_{noun}_options_init" for noun in
            ("tcp_store", "group", "new_group", "call", "reduce_op", "object", "spawn",
             "coalescing", "destroy", "memory", "store", "store_call", "reducer")}
# Slices go in as they are; a tensor of DLPack is an address, which only unsafe code can give.
NOT_USED |= {"tutti_buffer_from_dlpack", "tutti_buffer_from_dlpack_versioned"}
NOT_USED |= {"tutti_error_init"}  # check() in error.rs writes the head of an error itself
NOT_USED |= {"tutti_bucket_init"}  # as empty_bucket() in bucket.rs does

# PowerSGD has no form of Rust's own yet; the raw layer has it.
NOT_USED |= {"tutti_reducer_set_power_sgd", "tutti_power_sgd_options_init"}


def written(raw: str) -> dict[str, int]:
    return {name: headers.count_parameters(parameters) for name, parameters in
            re.findall(r"^    pub fn (tutti_\w+)\((.*)\)(?: -> .*)?;$", raw, re.M)}


def main(include: str, crate: str) -> int:
    raw = written((Path(crate) / "sys/src/lib.rs").read_text(encoding="utf-8"))
    above = "\n".join(path.read_text(encoding="utf-8") for path in Path(crate).glob("src/*.rs"))
    used = set(re.findall(r"raw::(tutti_\w+)\(", above))
    faults = headers.differences(include, raw)
    faults += [f"{name}: the layer above does not use it"
               for name in sorted(headers.functions(include).keys() - used - NOT_USED)]
    faults += [f"{name}: used after all" for name in sorted(NOT_USED & used)]
    return headers.report(include, faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
