#!/usr/bin/env python3
"""Compares the raw layer with the headers, function by function, and the module with the raw layer.

    coverage.py INCLUDE TUTTI_C.F90 FOLDER

A function that is missing, is there without being declared, or has another number of parameters is
named; so is a function that no file of FOLDER calls.
"""
import re
import sys
from pathlib import Path


def of_headers(folder):
    """How many parameters each function has, from the headers' text."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = {}
    for name, parameters in re.findall(r"TUTTI_API\s[^;(]*?\b(tutti_\w+)\(([^;]*)\);", text):
        found[name] = 0 if parameters.strip() == "void" else parameters.count(",") + 1
    return found


def of_raw(path):
    """The same from the interface bodies, by the names that the linker sees."""
    text = Path(path).read_text(encoding="utf-8")
    text = re.sub(r"^\s*!>.*\n", "", text, flags=re.M)
    text = re.sub(r"&\n\s*", " ", text)
    pattern = r'(?:function|subroutine) c_\w+\(([^)]*)\)\s*bind\(C,\s*name="(\w+)"\)'
    return {name: len(re.findall(r"\w+", dummies)) for dummies, name in re.findall(pattern, text)}


def main(include, raw_path, folder):
    headers, raw = of_headers(Path(include) / "tutti"), of_raw(raw_path)
    written = "\n".join(path.read_text(encoding="utf-8") for path in Path(folder).glob("*.f90"))
    faults = [f"{name}: missing in the raw layer" for name in headers if name not in raw]
    faults += [f"{name}: not in the headers" for name in raw if name not in headers]
    faults += [f"{name}: {raw[name]} parameters, {headers[name]} in the headers"
               for name in headers if raw.get(name, headers[name]) != headers[name]]
    # Derived types come with their defaults, so nobody needs the functions that set them.
    faults += [f"{name}: no part of the module calls it" for name in headers
               if not name.endswith("_init") and not re.search(rf"\bc_{name}\b", written)]
    if len(headers) < 100:
        faults.append(f"only {len(headers)} functions found in {include}")
    print("\n".join(faults) or f"{len(headers)} functions, all of them as in the headers")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
