#!/usr/bin/env python3
"""What SWIG's Go lacks: structs with C's layout, constants that are constants, handles of a type of
their own, and the headers' comments and parameter names in what SWIG wrote.

    go.py TUTTI.XML INCLUDE_DIRECTORY SWIG_GO_FILE OUTPUT_FOLDER

writes values.go and tutti.go there."""
import re
import sys
import textwrap
from pathlib import Path

import model

SCALARS = {"int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64",
           "size_t": "uint64", "double": "float64", "char": "byte"}
KEYWORDS = {"break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough",
            "for", "func", "go", "goto", "if", "import", "interface", "map", "package", "range",
            "return", "select", "struct", "switch", "type", "var", "unsafe"}


def exported(name):
    """A name of C as Go exports it."""
    return name[0].upper() + name[1:]


def wrapped(text, first="", others=""):
    return textwrap.wrap(text, 96, initial_indent=first, subsequent_indent=others,
                         break_long_words=False, break_on_hyphens=False)


def comment(name, said):
    """A header's comment as Go's tools lay one out: a list of the parameters, a line for each slot.
    """
    lines = wrapped(f"{name}: {said.summary}" if said.summary else name)
    if said.parameters:
        lines.append("")
    for parameter, text in said.parameters.items():
        lines += wrapped(f"{parameter}: {text}", "  - ", "    ")
    for slot, text in said.slots.items():
        lines += ["", *wrapped(text if slot == "Note" else f"{slot}: {text}")]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


class Values:
    """values.go: structs, handles and constants."""

    def __init__(self, described):
        self.described = described
        self.numbers = {one.name: SCALARS[one.underlying] for one in described.enumerations}
        self.callbacks = {one.name for one in described.callbacks}

    def text(self):
        parts = ["// Made by bindings/generator/go.py from the public headers.\n\npackage raw\n\n",
                 "// #include <tutti/tutti.h>\nimport \"C\"\n\nimport \"unsafe\"\n"]
        parts += [self.enumeration(one) for one in self.described.enumerations]
        parts += [self.constant(one) for one in self.described.constants]
        parts += [self.handle(one) for one in self.described.handles]
        parts += [self.struct(one) for one in self.described.structs]
        return "\n".join(parts)

    def enumeration(self, one):
        rows = [self.remark(value.comment) + f"\t{value.name} = {value.value}\n"
                for value in one.values]
        return comment(one.name, one.comment) + f"const (\n{''.join(rows)})\n"

    def remark(self, said):
        return "".join(f"\t// {line}\n" for line in wrapped(said.summary))

    def constant(self, one):
        name = exported(one.name)
        kind = exported(one.type.name) if one.type.pointers else SCALARS[one.type.name]
        value = f"^{kind}({-one.value - 1})" if one.value < 0 and kind[0] == "u" else one.value
        return comment(name, one.comment) + f"const {name} {kind} = {value}\n"

    def handle(self, one):
        return comment(exported(one.name), one.comment) + \
            f"type {exported(one.name)} uintptr\n"

    def field(self, one):
        if one.type.pointers or one.type.name in self.callbacks:
            kind = "uintptr"
        elif one.type.name in SCALARS or one.type.name in self.numbers:
            kind = SCALARS.get(one.type.name) or self.numbers[one.type.name]
        else:
            kind = exported(one.type.name)
        length = f"[{one.length}]" if one.length else ""
        return self.remark(one.comment) + f"\t{exported(one.name)} {length}{kind}"

    def struct(self, one):
        name = exported(one.name)
        fields = "\n".join(self.field(each) for each in one.fields)
        last = exported(one.fields[-1].name)
        same = f"var _ = [1]struct{{}}{{}}[unsafe.Sizeof({name}{{}})-C.sizeof_{one.name}]\n"
        same += f"var _ = [1]struct{{}}{{}}[unsafe.Offsetof({name}{{}}.{last})-" \
            f"unsafe.Offsetof(C.{one.name}{{}}.{one.fields[-1].name})]\n"
        return comment(name, one.comment) + f"type {name} struct {{\n{fields}\n}}\n\n" + \
            "// As large as in C, and laid out alike.\n" + same


class Swig:
    """tutti.go as SWIG wrote it, with comments and names."""

    def __init__(self, described, text):
        self.functions = {exported(one.name): one for one in described.functions}
        self.text = text

    def dressed(self):
        # The wrappers are functions of their own from the line "func" to the line "}".
        return re.sub(r"^func (Tutti_\w+)\(.*?^}\n", self.function, self.text, flags=re.S | re.M)

    def function(self, found):
        one = self.functions[found.group(1)]
        text = found.group(0)
        for number, parameter in enumerate(one.parameters, 1):
            name = parameter.name + "_" if parameter.name in KEYWORDS else parameter.name
            text = re.sub(rf"\barg{number}\b", name, text)
        text = text.replace("(_swig_ret ", "(result ", 1)
        return comment(found.group(1), one.comment) + text


def main():
    xml, headers, swig, folder = sys.argv[1:]
    described = model.read(xml, headers)
    Path(folder, "values.go").write_text(Values(described).text(), encoding="utf-8")
    dressed = Swig(described, Path(swig).read_text(encoding="utf-8")).dressed()
    Path(folder, "tutti.go").write_text(dressed, encoding="utf-8")


if __name__ == "__main__":
    main()
