#!/usr/bin/env python3
"""Compares a language's raw layer with the headers, function by function, and the layer above with
the raw one.

    coverage.py LANGUAGE INCLUDE RAW ABOVE

RAW is the file of the raw layer, or the folder of its files, ABOVE the folder of the layer that is
written by hand. A function that is missing in the raw layer, is there without being declared, or has
another number of parameters is named; so is one that the layer above does not call, but those listed
below with the reason.
"""
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import headers

OPTIONS = {f"tutti_{noun}_init" for noun in (
    "tcp_store_options", "store_options", "store_call_options", "group_options",
    "new_group_options", "destroy_options", "call_options", "coalescing_options",
    "memory_options", "reduce_op_options", "object_options", "reducer_options",
    "power_sgd_options", "shrink_options", "spawn_options", "hooks")}
DEFAULTS = OPTIONS | {"tutti_error_init", "tutti_bucket_init"}
TENSORS = {"tutti_buffer_from_dlpack", "tutti_buffer_from_dlpack_versioned"}
SPAWN = {"tutti_spawn", "tutti_spawn_options_init"}


@dataclass
class Language:
    """How a function is declared in the raw layer, name and parameters, and called above."""

    files: str
    declared: str
    called: str
    # The functions that the layer above does not call, by the reason.
    otherwise: dict = field(default_factory=dict)
    # No parameter of the raw layer has such a type.
    forbidden: str = r"(?!)"

    def functions(self, raw):
        """The parameters of each function of the raw layer."""
        text = re.sub(r"^\s*!>.*\n|&\n\s*", "", raw, flags=re.M)
        return {name(found["name"]): found["parameters"]
                for found in re.finditer(self.declared, text, re.M)}

    def calls(self, above):
        return {name(found) for found in re.findall(self.called, above)}


LANGUAGES = {
    "fortran": Language(
        "*.f90",
        r'(?:function|subroutine) c_\w+\((?P<parameters>[^)]*)\)\s*bind\(C,\s*name="(?P<name>\w+)"\)',
        r"\bc_(tutti_\w+)", {
            "derived types come with their defaults": DEFAULTS,
            "arrays go in as they are; tensors of DLPack come from C, and tutti_c is for those":
                TENSORS,
        }),
    "go": Language(
        "*.go", r"^func (?P<name>Tutti_\w+)\((?P<parameters>.*?)\)", r"\braw\.(Tutti_\w+)", {
            "values go in and out of objects by add_items and read": {
                f"tutti_object_{name}" for name in """
                    add_nil add_bool add_int64 add_uint64 add_float64 add_string add_key add_bytes
                    add_timestamp add_array begin_list begin_map end add_elements find get_bool
                    get_int64 get_uint64 get_float64 get_string get_bytes get_timestamp get_array
                    get_elements""".split()},
            "a work that is done knows how it ended": {"tutti_work_is_success"},
            "a zero struct of Go, with its size, is the same": DEFAULTS,
            "slices go in as they are; tensors of DLPack come from C": TENSORS,
            "a process of Go has threads, and so cannot fork": SPAWN,
        },
        # A type without a typemap in typemaps.i.
        r"Swigcptr|Struct_SS|_swig|interface"),
    "java": Language(
        "Raw.java", r"public static \w+ (?P<name>tutti_\w+)\((?P<parameters>[^)]*)\)",
        r"Raw(?:\.|::)(tutti_\w+)", {
            "the arena writes its one error itself": {"tutti_error_init"},
            "the names of Status": {"tutti_status_name"},
            "DType.size()": {"tutti_dtype_size"},
            "arrays go in as they are; tensors of DLPack come from C": TENSORS,
            "Mesh.getGroup, for each dimension": {"tutti_mesh_get_all_groups"},
            "a virtual machine cannot be forked; Spawn starts new ones": SPAWN,
        }),
    "julia": Language(
        "raw.jl", r"^@inline (?P<name>tutti_\w+)\((?P<parameters>.*)\) =$", r"\bRaw\.(tutti_\w+)", {
            "values go into objects one by one, and come out by read": {
                f"tutti_object_{name}" for name in """
                    add_items add_elements add_key get_bool get_int64 get_uint64 get_float64
                    get_string get_bytes get_timestamp get_array get_elements""".split()},
            "a zero struct of Julia, with its size, is the same": OPTIONS,
            "arrays go in as they are; tensors of DLPack come from C": TENSORS,
            "deps/tutti_julia.c calls it": {"tutti_work_then"},
            "a process of Julia has threads, and so cannot fork": {"tutti_spawn"},
        }),
    "rust": Language(
        "raw.rs", r"^    pub fn (?P<name>tutti_\w+)\((?P<parameters>.*)\)(?: -> .*)?;$",
        r"\braw::(tutti_\w+)\(", {
            "options are filled in field by field": OPTIONS,
            "check() in error.rs writes the head of an error": {"tutti_error_init"},
            "empty_bucket() in bucket.rs": {"tutti_bucket_init"},
            "slices go in as they are; a tensor of DLPack is an address, which only unsafe code "
            "can give": TENSORS,
        }),
}


def name(found):
    """A function's name in C; Go's begins with a capital."""
    return found[0].lower() + found[1:]


def text_of(path, files):
    """The text of a file, or of all those files of a folder that are no tests."""
    paths = sorted(path.glob(files)) if path.is_dir() else [path]
    return "\n".join(one.read_text(encoding="utf-8") for one in paths
                     if not one.name.endswith("_test.go"))


def faults(language, include, raw, above):
    raw_text = text_of(Path(raw), language.files)
    suffix = Path(language.files).suffix
    written = "\n".join(text_of(path, "") for path in sorted(Path(above).glob(f"*{suffix}"))
                        if path.name != language.files and not path.name.endswith("_test.go"))
    declared, called = headers.functions(include), language.calls(written)
    otherwise = set().union(*language.otherwise.values())
    functions = language.functions(raw_text)
    yield from headers.differences(include, {one: headers.count_parameters(parameters)
                                             for one, parameters in functions.items()})
    for one, parameters in functions.items():
        if re.search(language.forbidden, parameters):
            yield f"{one}: a parameter of the raw layer has no typemap: {parameters}"
    for one in sorted(declared.keys() - called - otherwise):
        yield f"{one}: the layer above does not call it"
    for one in sorted(otherwise - declared.keys() | otherwise & called):
        yield f"{one}: listed in coverage.py, but called, or in no header"


def main(language, include, raw, above):
    return headers.report(include, list(faults(LANGUAGES[language], include, raw, above)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
