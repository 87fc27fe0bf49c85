#!/usr/bin/env python3
"""Compares the raw layer with the headers, function by function, and the module with the raw layer.

    coverage.py INCLUDE TUTTI_C.F90 FOLDER

A function that is missing, is there without being declared, or has another number of parameters is
named; so is a function that no file of FOLDER calls, but those named below.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "generator"))
import headers  # noqa: E402

# Arrays go in as they are; tensors of DLPack come from C, and tutti_c is for those.
NOT_CALLED = {"tutti_buffer_from_dlpack", "tutti_buffer_from_dlpack_versioned"}

NOT_CALLED |= {"tutti_reducer_set_power_sgd"}  # tutti_c has it


def of_raw(path):
    """How many parameters each function has in its interface body, by the name of the linker."""
    text = Path(path).read_text(encoding="utf-8")
    text = re.sub(r"^\s*!>.*\n", "", text, flags=re.M)
    text = re.sub(r"&\n\s*", " ", text)
    pattern = r'(?:function|subroutine) c_\w+\(([^)]*)\)\s*bind\(C,\s*name="(\w+)"\)'
    return {name: len(re.findall(r"\w+", dummies)) for dummies, name in re.findall(pattern, text)}


def main(include, raw_path, folder):
    written = "\n".join(path.read_text(encoding="utf-8") for path in Path(folder).glob("*.f90"))
    faults = headers.differences(include, of_raw(raw_path))
    called = {name for name in headers.functions(include)
              if re.search(rf"\bc_{name}\b", written)}
    # Derived types come with their defaults, so nobody needs the functions that set them.
    faults += [f"{name}: no part of the module calls it" for name in headers.functions(include)
               if not name.endswith("_init") and name not in called | NOT_CALLED]
    faults += [f"{name}: called after all" for name in sorted(NOT_CALLED & called)]
    return headers.report(include, faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
