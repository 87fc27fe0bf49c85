#!/usr/bin/env python3
"""Compares the Go module with the headers, function by function: the raw layer has each, with as
many parameters and in Go's own types; and the layer written by hand calls each, but those named
below.

    coverage.py INCLUDE_DIRECTORY MODULE_DIRECTORY"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "generator"))
import headers  # noqa: E402

# What the layer above does by other means of Go or of C.
OTHERWISE = {
    "values go in and out of objects by add_items and read": """
        tutti_object_add_nil tutti_object_add_bool tutti_object_add_int64 tutti_object_add_uint64
        tutti_object_add_float64 tutti_object_add_string tutti_object_add_key
        tutti_object_add_bytes tutti_object_add_timestamp tutti_object_add_array
        tutti_object_begin_list tutti_object_begin_map tutti_object_end tutti_object_add_elements
        tutti_object_find tutti_object_get_bool tutti_object_get_int64 tutti_object_get_uint64
        tutti_object_get_float64 tutti_object_get_string tutti_object_get_bytes
        tutti_object_get_timestamp tutti_object_get_array tutti_object_get_elements""",
    "a work's end comes by its callback, and goroutines wait for that": """
        tutti_work_is_completed tutti_work_is_success tutti_work_wait_any tutti_work_wait_all""",
    "a zero struct of Go, with its size, is the same": """
        tutti_error_init tutti_store_options_init tutti_store_call_options_init
        tutti_tcp_store_options_init tutti_reduce_op_options_init tutti_group_options_init
        tutti_new_group_options_init tutti_destroy_options_init tutti_call_options_init
        tutti_coalescing_options_init tutti_memory_options_init tutti_object_options_init
        tutti_reducer_options_init tutti_bucket_init""",
    "slices go in as they are; tensors of DLPack come from C": """
        tutti_buffer_from_dlpack tutti_buffer_from_dlpack_versioned""",
    "not yet: hooks, buckets one by one, passes that end as a work": """
        tutti_reducer_set_hook tutti_reducer_next_bucket tutti_reducer_get_bucket""",
    "not yet: PowerSGD": "tutti_reducer_set_power_sgd tutti_power_sgd_options_init",
    "a process of Go has threads, and so cannot fork": "tutti_spawn tutti_spawn_options_init",
}


def wrapped(raw):
    """The functions of the raw layer: their parameters' types."""
    text = "".join(path.read_text() for path in sorted(Path(raw).glob("*.go")))
    found = {}
    for name, parameters in re.findall(r"^func (Tutti_\w+)\((.*?)\)", text, flags=re.M):
        types = [one.split(" ", 1)[1] for one in parameters.split(", ")] if parameters else []
        found["t" + name[1:]] = types
    return found


def complaints(include, module):
    declared, raw = headers.functions(include), wrapped(Path(module, "internal", "raw"))
    layer = "".join(path.read_text() for path in sorted(Path(module).glob("*.go"))
                    if not path.name.endswith("_test.go"))
    called = {"t" + name[1:] for name in re.findall(r"\braw\.(Tutti_\w+)", layer)}
    otherwise = {name for names in OTHERWISE.values() for name in names.split()}
    yield from headers.differences(include, {name: len(types) for name, types in raw.items()})
    for name in declared:
        for kind in raw.get(name, []):
            if re.search(r"Swigcptr|Struct_SS|_swig|interface", kind):
                yield f"{name}: {kind} has no typemap in typemaps.i"
        if name not in called and name not in otherwise:
            yield f"{name}: the layer above does not call it"
    for name in sorted(otherwise - declared.keys() | otherwise & called):
        yield f"{name}: named in coverage.py, but not in the headers, or called"


if __name__ == "__main__":
    sys.exit(headers.report(sys.argv[1], list(complaints(*sys.argv[1:]))))
