#!/usr/bin/env python3
"""Whether a README of Go or Java tells the truth: its first program is the example to the letter, and
its other pieces compile. In Go every name in its table is there, and every collective, message and
method is in the table.

    readme.py go MODULE EXAMPLE GO_COMMAND...
    readme.py java README EXAMPLE JAVAC CLASS_PATH
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

GO_IMPORTS = {"context": "Background", "errors": "New", "log": "Print", "time": "Now",
              "tutti": "World"}
# A table of torch's names need not have these.
HELPERS = re.compile(r"Async$|\.Close$|^(Error|Status|DType|Float16|BFloat16|Object|Array)\.|"
                     r"^(DTypeOf|ToFloat16|ToBFloat16|Version|VersionNumber|NewArray|ArrayData|"
                     r"NewObject|DecodeObject)$")
JAVA_PIECE = """
import java.nio.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import tutti.*;

class Piece%d {
    static class Main {}

    static void run(Group group) throws Exception {
%s
    }
}
"""


def other_pieces(language, readme, example):
    """The pieces behind the first program, which is the example."""
    first, *others = re.findall(rf"^```{language}\n(.*?)^```$", readme, flags=re.S | re.M)
    if not others or first != Path(example).read_text(encoding="utf-8"):
        sys.exit(f"the first program of the README is not {example}")
    return others


def compiles(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        yield f"a piece does not compile:\n{done.stdout}{done.stderr}"


def go_program(blocks):
    """All pieces as functions of one file, whose variables need not all be used."""
    lines = ["package main", "import ("] + [f'\t"{one}"' for one in GO_IMPORTS] + [")"]
    lines += ["func main() {}"] + [f"var _ = {one}.{name}" for one, name in GO_IMPORTS.items()]
    for number, block in enumerate(blocks):
        given = {"group": "*tutti.Group", "rank": "int"}
        names = "".join(f", {name} {kind}" for name, kind in given.items()
                        if not re.search(rf"^{name}, err :=", block, flags=re.M))
        ends = re.search(r"^return ", block, flags=re.M)
        lines += [f"func piece{number}(ctx context.Context{names}) error {{", block,
                  "" if ends else "\treturn nil", "}"]
    return "\n".join(lines) + "\n"


def exported(module):
    """The functions and methods of the Go package, and its constants."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(module).glob("*.go"))
             if not path.name.endswith("_test.go")]
    text = "".join(one for one in texts if "//go:build ignore" not in one)
    functions = set(re.findall(r"^func ([A-Z]\w*)", text, flags=re.M))
    methods = {f"{owner}.{name}" for owner, name in
               re.findall(r"^func \(\w* ?\*?([A-Z]\w*)(?:\[T\])?\) ([A-Z]\w*)", text, flags=re.M)}
    constants = set(re.findall(r"^\t([A-Z]\w*) += ", text, flags=re.M))
    return functions | methods, constants


def check_table(readme, module):
    table = readme[readme.index("## From torch to Go"):]
    right = "".join(row.split("|")[2] for row in re.findall(r"^\|.*\|$", table, flags=re.M))
    named = set(re.findall(r"`([A-Z][\w.]*)`", right)) - {"Async"}
    functions, constants = exported(module)
    for name in sorted(named - functions - constants):
        yield f"the table names {name}, which is not there"
    for name in sorted(functions - named):
        if not HELPERS.search(name):
            yield f"the table misses {name}"


def check_go(folder, module, example, *go):
    readme = Path(module, "README.md").read_text(encoding="utf-8")
    Path(folder, "go.mod").write_text(
        f"module readme\n\ngo 1.21\n\nrequire tutti v0.0.0\n\nreplace tutti => {module}\n")
    Path(folder, "main.go").write_text(go_program(other_pieces("go", readme, example)))
    yield from compiles([*go, "vet", "."], folder)
    yield from check_table(readme, module)


def check_java(folder, readme, example, javac, class_path):
    text = Path(readme).read_text(encoding="utf-8")
    for number, piece in enumerate(other_pieces("java", text, example)):
        Path(folder, f"Piece{number}.java").write_text(JAVA_PIECE % (number, piece),
                                                       encoding="utf-8")
    sources = sorted(Path(folder).glob("*.java"))
    yield from compiles([javac, "-encoding", "UTF-8", "--release", "17", "-cp", class_path,
                         "-d", folder, *sources], folder)


def main(language, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        check = {"go": check_go, "java": check_java}[language]
        found = list(check(folder, *arguments))
    print("\n".join(found) or "the README is true")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
