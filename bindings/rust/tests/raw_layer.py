"""Compares the raw layer with the headers, function by function, without the generator: what is
missing, what is there too much, what has another number of parameters. And each function is used by
the layer above, or stands below with the reason.

    raw_layer.py include/tutti CRATE/src
"""
import re
import sys
from pathlib import Path

# Options are filled in where they are made, field by field.
NOT_USED = {f"tutti_{noun}_options_init" for noun in
            ("tcp_store", "group", "new_group", "call", "reduce_op", "object", "spawn")}
NOT_USED |= {"tutti_error_init"}  # check() in error.rs writes the head of an error itself


def count_parameters(text: str) -> int:
    """How many there are: commas that are in no brackets, and one more."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).strip()
    while re.search(r"\([^()]*\)", text):
        text = re.sub(r"\([^()]*\)", "", text)
    return 0 if text in ("", "void") else text.count(",") + 1


def declared(folder: Path) -> dict[str, int]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return {name: count_parameters(parameters) for name, parameters in
            re.findall(r"TUTTI_API\s[^;(]*?\b(tutti_\w+)\s*\(([^;]*)\)\s*;", text)}


def written(raw: str) -> dict[str, int]:
    return {name: count_parameters(parameters) for name, parameters in
            re.findall(r"^    pub fn (tutti_\w+)\((.*)\)(?: -> .*)?;$", raw, re.M)}


def main(headers: str, sources: str) -> int:
    in_c = declared(Path(headers))
    in_rust = written((Path(sources) / "raw.rs").read_text(encoding="utf-8"))
    above = "\n".join(path.read_text(encoding="utf-8") for path in Path(sources).glob("*.rs")
                      if path.name != "raw.rs")
    used = set(re.findall(r"raw::(tutti_\w+)\(", above))
    faults = [f"missing in raw.rs: {name}" for name in in_c.keys() - in_rust.keys()]
    faults += [f"in no header: {name}" for name in in_rust.keys() - in_c.keys()]
    faults += [f"{name}: {in_c[name]} parameters in C, {in_rust[name]} in Rust"
               for name in in_c.keys() & in_rust.keys() if in_c[name] != in_rust[name]]
    faults += [f"not used by the layer above: {name}" for name in in_c.keys() - used - NOT_USED]
    faults += [f"used after all: {name}" for name in NOT_USED & used]
    if len(in_c) < 100:
        faults.append(f"only {len(in_c)} functions found in {headers}")
    print("\n".join(sorted(faults)) or f"{len(in_c)} functions, all there and all used")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
