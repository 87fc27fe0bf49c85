#!/usr/bin/env python3
"""Writes a reference of the module tutti from its sources: every call, what it says of itself, and
its arguments.

    reference.py FOLDER OUTPUT.md

A call that says nothing of itself is an error.
"""
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

PROCEDURE = re.compile(r"^(?!end\b)(?P<before>[\w\s(),=:*]*?)\b(?P<kind>subroutine|function) "
                       r"(?P<name>\w+)\s*\((?P<dummies>[^)]*)\)(?P<after>.*)$")
DECLARATION = re.compile(r"(integer|real|complex|logical|character|type|class|procedure)\b.*::")
ATTRIBUTES = re.compile(r",\s*(target|asynchronous|intent\(in\))")


@dataclass
class Procedure:
    """A subroutine or function, with the declarations of its arguments."""

    name: str
    kind: str
    dummies: list
    text: list
    declared: dict = field(default_factory=dict)
    result: str = ""


@dataclass
class Source:
    """What one file has to offer. A generic name or a type's procedure stands for others."""

    text: list
    public: set = field(default_factory=set)
    procedures: dict = field(default_factory=dict)
    generics: dict = field(default_factory=dict)
    bound: dict = field(default_factory=dict)


def statements(path):
    """A file's lines as they are meant: continued ones joined, included ones in their place."""
    text = re.sub(r"&\n\s*&?", "", path.read_text(encoding="utf-8"))
    for line in text.splitlines():
        included = re.match(r'\s*include "(.*)"', line)
        if included:
            yield from statements(path.parent / included[1])
        else:
            yield line.strip()


def declare(procedure, line):
    what, names = re.match(r"(.*?)\s*::\s*(.*)$", line).groups()
    for name, extent in re.findall(r"(\w+)(\((?:[^()]|\([^()]*\))*\))?", names):
        procedure.declared[name] = f"{ATTRIBUTES.sub('', what)} :: {name}{extent}"


def read(path):
    """The parts of one file."""
    source, comment, generic, type_name, procedure = Source([]), [], None, None, None
    for line in statements(path):
        if line.startswith("!>"):
            comment.append(line[2:].strip())
            continue
        found = PROCEDURE.match(line)
        if re.match(r"module \w+$", line):
            source.text = comment
        elif line.startswith("public ::"):
            source.public |= set(re.findall(r"\w+", line[9:]))
        elif found:
            procedure = Procedure(found["name"], found["kind"],
                                  re.findall(r"\w+", found["dummies"]), comment)
            result = re.search(r"result\((\w+)\)", found["after"])
            procedure.result = result[1] if result else found["name"]
            prefix = re.sub(r"\b(module|pure|impure|elemental)\b", "", found["before"]).strip()
            if prefix:
                procedure.declared[procedure.result] = f"{prefix} :: {procedure.result}"
            source.procedures.setdefault(procedure.name, procedure)
        elif re.match(r"interface tutti_\w+", line):
            generic = line.split()[1]
            source.generics[generic] = ([], comment)
        elif generic and line.startswith("module procedure"):
            source.generics[generic][0].extend(re.findall(r"\w+", line[16:]))
        elif re.match(r"type(, public)? :: tutti_\w+$", line):
            type_name = line.split()[-1]
        elif type_name and re.match(r"(procedure|generic) ::", line):
            for name, meant in bindings(line.split("::")[1]):
                source.bound[name] = (type_name, meant, comment)
        elif procedure and DECLARATION.match(line):
            declare(procedure, line)
        if re.match(r"end (interface|type|subroutine|function)", line):
            generic = type_name = procedure = None
        comment = []
    return source


def bindings(text):
    """The names that a type's procedures are called by, each with what it stands for."""
    if "=>" in text and "," in text:
        name, meant = text.split("=>")
        return [(name.strip(), re.findall(r"\w+", meant))]
    pairs = [one.split("=>") for one in text.split(",")]
    return [(pair[0].strip(), [pair[-1].strip()]) for pair in pairs]


def described(procedure, called, hidden=()):
    """How a procedure is called, and its arguments."""
    dummies = [name for name in procedure.dummies if name not in hidden]
    arguments = ", ".join(dummies)
    call = f"call {called}({arguments})"
    if procedure.kind == "function":
        call = f"{procedure.result} = {called}({arguments})"
    lines = textwrap.wrap(call, 90, initial_indent="    ", subsequent_indent="        ")
    lines = [line + " &" for line in lines[:-1]] + lines[-1:]
    for name in dummies:
        if procedure.declared[name] not in BEGINNING:
            lines.append(f"      {procedure.declared[name]}")
    if procedure.kind == "function":
        lines.append(f"      {procedure.declared[procedure.result]}")
    return lines


def headed(name, text):
    """A call's name and what it says of itself."""
    if not text:
        raise ValueError(f"{name} says nothing of itself")
    return [f"### {name}", "", *text, ""]


def section(source):
    """One file's part of the reference."""
    lines = []
    for name, one in source.procedures.items():
        if name in source.public and name.startswith("tutti_"):
            lines += [*headed(name, one.text), *described(one, name), ""]
    for name, (specific, text) in source.generics.items():
        lines += headed(name, text)
        for meant in specific:
            lines += [*described(source.procedures[meant], name), ""]
    for name, (type_name, specific, text) in source.bound.items():
        known = [source.procedures[meant] for meant in specific]
        first = known[0].dummies[0]
        lines += headed(f"{type_name}: {name}", text or known[0].text)
        for one in known:
            lines += [*described(one, f"{type_name[6:]}%{name}", {first}), ""]
    if not lines:
        return []
    title, _, rest = " ".join(source.text).partition(". ")
    return [f"## {title.rstrip('.')}", "", rest, "", *lines]


BEGINNING = """\
# The calls of the module tutti

Written from the sources. Each call is followed by the declarations of its arguments, which are
intent(in) unless they say more; `type(*), dimension(..)` is an array of any kind and any rank.
These are the same everywhere and stand in the calls alone:

      type(tutti_group), optional :: group
      integer, optional :: timeout_ms
      type(tutti_call_options), optional :: options
      type(tutti_work), optional, intent(out) :: work
      integer, optional, intent(out) :: ierr
      character(*), optional, intent(inout) :: errmsg
"""


def main(folder, output):
    lines = [BEGINNING]
    for path in sorted(Path(folder).glob("*.f90")):
        if not path.read_text(encoding="utf-8").startswith("!> tutti for Fortran"):
            lines += section(read(path))
    Path(output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
