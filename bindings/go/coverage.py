#!/usr/bin/env python3
"""Compares the Go module with the headers, function by function: the raw layer has each, with as
many parameters and in Go's own types; and the layer written by hand calls each, but those named
below.

    coverage.py INCLUDE_DIRECTORY MODULE_DIRECTORY"""
import re
import sys
from pathlib import Path

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
        tutti_work_is_completed tutti_work_is_success tutti_work_error tutti_work_wait_any
        tutti_work_wait_all""",
    "a zero struct of Go, with its size, is the same": """
        tutti_error_init tutti_tcp_store_options_init tutti_reduce_op_options_init
        tutti_group_options_init tutti_new_group_options_init tutti_call_options_init
        tutti_object_options_init""",
    "a process of Go has threads, and so cannot fork": "tutti_spawn tutti_spawn_options_init",
}


def declared(include):
    """The functions of the headers: how many parameters each has."""
    text = "".join(path.read_text() for path in sorted(Path(include, "tutti").glob("*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)
    found = {}
    for name, parameters in re.findall(r"TUTTI_API[^;]*?\b(tutti_\w+)\(([^;]*)\);", text):
        inside = parameters.strip()
        found[name] = 0 if inside == "void" else inside.count(",") + 1
    return found


def wrapped(raw):
    """The functions of the raw layer: their parameters' types."""
    text = "".join(path.read_text() for path in sorted(Path(raw).glob("*.go")))
    found = {}
    for name, parameters in re.findall(r"^func (Tutti_\w+)\((.*?)\)", text, flags=re.M):
        types = [one.split(" ", 1)[1] for one in parameters.split(", ")] if parameters else []
        found["t" + name[1:]] = types
    return found


def complaints(include, module):
    headers, raw = declared(include), wrapped(Path(module, "internal", "raw"))
    layer = "".join(path.read_text() for path in sorted(Path(module).glob("*.go"))
                    if not path.name.endswith("_test.go"))
    called = {"t" + name[1:] for name in re.findall(r"\braw\.(Tutti_\w+)", layer)}
    otherwise = {name for names in OTHERWISE.values() for name in names.split()}
    if len(headers) < 100:
        yield f"only {len(headers)} functions were found in the headers"
    for name, count in headers.items():
        if name not in raw:
            yield f"{name}: missing in the raw layer"
            continue
        if len(raw[name]) != count:
            yield f"{name}: {count} parameters in the header, {len(raw[name])} in the raw layer"
        for kind in raw[name]:
            if re.search(r"Swigcptr|Struct_SS|_swig|interface", kind):
                yield f"{name}: {kind} has no typemap in typemaps.i"
        if name not in called and name not in otherwise:
            yield f"{name}: the layer above does not call it"
    for name in sorted(raw.keys() - headers.keys()):
        yield f"{name}: in the raw layer, but in no header"
    for name in sorted(otherwise - headers.keys() | otherwise & called):
        yield f"{name}: named in coverage.py, but not in the headers, or called"


def main():
    found = list(complaints(*sys.argv[1:]))
    for complaint in found:
        print(complaint)
    if found:
        sys.exit(1)
    print(f"{len(declared(sys.argv[1]))} functions of the headers, all there")


if __name__ == "__main__":
    main()
