#!/usr/bin/env python3
"""Whether README.md tells the truth: its program is the example and its other pieces of Go compile,
every name in its table is there, and every collective, message and method is in the table.

    readme.py MODULE EXAMPLE_FILE GO_COMMAND..."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORTS = ["context", "errors", "log", "time", "tutti"]
# What a table of torch's names need not have.
HELPERS = re.compile(r"Async$|\.Close$|^(Error|Status|DType|Float16|BFloat16|Object|Array)\.|"
                     r"^(DTypeOf|ToFloat16|ToBFloat16|Version|VersionNumber|NewArray|ArrayData|"
                     r"NewObject|DecodeObject)$")


def pieces(readme):
    return re.findall(r"^```go\n(.*?)^```$", readme, flags=re.S | re.M)


def program(blocks):
    """All pieces as functions of one file, whose variables need not all be used."""
    lines = ["package main", "import ("] + [f'\t"{one}"' for one in IMPORTS] + [")", "func main() {}"]
    lines += [f"var _ = {one}" for one in ("context.Background", "errors.New", "log.Print",
                                           "time.Now", "tutti.World")]
    for number, block in enumerate(blocks):
        given = {"group": "*tutti.Group", "rank": "int"}
        names = "".join(f", {name} {kind}" for name, kind in given.items()
                        if not re.search(rf"^{name}, err :=", block, flags=re.M))
        ends = re.search(r"^return ", block, flags=re.M)
        lines += [f"func piece{number}(ctx context.Context{names}) error {{", block,
                  "" if ends else "\treturn nil", "}"]
    return "\n".join(lines) + "\n"


def exported(module):
    """The functions, methods and constants of the package."""
    text = "".join(path.read_text() for path in sorted(Path(module).glob("*.go"))
                   if not path.name.endswith("_test.go") and "//go:build ignore" not in
                   path.read_text())
    functions = set(re.findall(r"^func ([A-Z]\w*)", text, flags=re.M))
    methods = {f"{owner}.{name}" for owner, name in
               re.findall(r"^func \(\w* ?\*?([A-Z]\w*)(?:\[T\])?\) ([A-Z]\w*)", text, flags=re.M)}
    constants = set(re.findall(r"^\t([A-Z]\w*) += ", text, flags=re.M))
    return functions | methods, constants


def complaints(module, example, go):
    readme = Path(module, "README.md").read_text(encoding="utf-8")
    first, *others = pieces(readme)
    if first != Path(example).read_text(encoding="utf-8"):
        yield f"the first program is not {example}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "go.mod").write_text(
            f"module readme\n\ngo 1.21\n\nrequire tutti v0.0.0\n\nreplace tutti => {module}\n")
        Path(folder, "main.go").write_text(program(others))
        built = subprocess.run([*go, "vet", "."], cwd=folder, capture_output=True, text=True)
        if built.returncode:
            yield f"a piece of Go does not compile:\n{built.stderr}"
    table = readme[readme.index("## From torch to Go"):]
    right = "".join(row.split("|")[2] for row in re.findall(r"^\|.*\|$", table, flags=re.M))
    named = set(re.findall(r"`([A-Z][\w.]*)`", right)) - {"Async"}
    functions, constants = exported(module)
    for name in sorted(named - functions - constants):
        yield f"the table names {name}, which is not there"
    for name in sorted(functions - named):
        if not HELPERS.search(name):
            yield f"the table misses {name}"


def main():
    module, example, *go = sys.argv[1:]
    found = list(complaints(module, example, go))
    print("\n".join(found) or "README.md is true")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
