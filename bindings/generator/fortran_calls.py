#!/usr/bin/env python3
"""Writes out Fortran's plain wrappers. A line of a module in FOLDER that reads

    wrap tutti_store_delete_key(self, key, [logical deleted]) as delete_key

becomes the procedure of that name: its arguments in that order, `ierr` and `errmsg` behind them, the
call of C's function and what its results need. A function of C that may start a work becomes a
collective or a message: `group`, `timeout_ms`, `options` and `work` are arguments, too.

    fortran_calls.py TREE INCLUDE FOLDER OUTPUT_FOLDER

An argument has the name of C's, without `out_`; one argument may have another. It is optional in
brackets; in front of it may stand `logical`, `int64`, `bytes` (instead of a text), `inout` (an array
that the call writes), behind it `= VALUE`, what a result is until C writes it.
"""
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import fortran
import model as headers

WRAP = re.compile(r"^  wrap (\w+)\((.*)\)(?: as (\w+))?$")
DUMMY = re.compile(r"^(\[?)(?:(logical|int64|bytes|inout) )?(\w+)\]?(?: = (\S+))?$")
# The last arguments of every call that may start a work.
LAST = ["timeout_ms", "options", "work"]
ARRAY = "type(*), dimension(..){optional}, target, asynchronous, intent({intent}) :: {name}"


@dataclass
class Dummy:
    """An argument as a `wrap` line has it."""

    name: str
    optional: bool
    kind: str  # "logical", "int64", "bytes", "inout" or ""
    initial: str

    @staticmethod
    def of(text):
        found = DUMMY.match(text.strip())
        if not found:
            raise ValueError(f"no argument: {text}")
        return Dummy(found[3], bool(found[1]), found[2] or "", found[4] or "0")


@dataclass
class Passed:
    """How an argument is declared and goes to C."""

    declaration: str
    actual: str
    local: list = field(default_factory=list)
    before: list = field(default_factory=list)
    after: list = field(default_factory=list)


class Wrapper:
    def __init__(self, names, function, dummies, name):
        self.names, self.function, self.name = names, function, name
        self.dummies = [Dummy.of(one) for one in dummies.split(",")]
        self.is_call = any(one.name == "work" for one in function.parameters[1:])
        self.pairs = self.pair()

    def pair(self):
        """Each dummy with the place of C's parameter."""
        places, left = {}, []
        for dummy in self.dummies:
            place = next((place for place, one in enumerate(self.function.parameters)
                          if place not in places.values() and self.stands_for(dummy, one, place)),
                         None)
            places[dummy.name] = place
            left += [dummy.name] if place is None else []
        own = {"options", "work", "error"} if self.is_call else {"error"}
        free = [place for place, one in enumerate(self.function.parameters)
                if place not in places.values() and one.name not in own
                and not self.is_count(place) and not (self.is_call and one.name == "group")]
        if len(left) != len(free) or len(left) > 1:
            raise ValueError(f"{self.name}: {left} stand for {free} of {self.function.name}")
        places.update(zip(left, free))
        return places

    @staticmethod
    def stands_for(dummy, parameter, place):
        if parameter.type.name == "tutti_store_call_options":
            return dummy.name == "timeout_ms"
        return dummy.name in (parameter.name, parameter.name.removeprefix("out_")) or \
            dummy.name == "self" and place == 0

    def is_count(self, place):
        """Whether a parameter is the length of the list before it."""
        return place > 0 and self.is_list(place - 1) and \
            self.function.parameters[place].type == headers.Type("int64_t")

    def is_list(self, place):
        """Whether a parameter is several texts or several buffers."""
        one = self.function.parameters[place]
        texts = one.type.name == "char" and one.type.pointers == 2
        return texts or one.type.name == "tutti_buffer" and one.name.endswith("s")

    def passed(self, dummy):
        place = self.pairs[dummy.name]
        parameter = self.function.parameters[place]
        kind, name = parameter.type, dummy.name
        optional = ", optional" if dummy.optional else ""
        if dummy.name == "self":
            return Passed(f"class({kind.name}), intent(in) :: self", "self%handle")
        if name == "group":
            return Passed("type(tutti_group), optional, intent(in) :: group", "group_handle(group)")
        if kind.name == "tutti_buffer":
            return self.array(dummy, self.is_list(place))
        if name == "op":
            return Passed("type(tutti_reduce_op), optional, intent(in) :: op", "op_number(op)")
        if kind.name == "char":
            return self.text(name, kind)
        if kind.name == "void":
            return Passed(f"type(c_ptr), optional, intent(in) :: {name}", f"or_null({name})")
        if kind.name == "tutti_store_call_options":
            return Passed("integer, optional, intent(in) :: timeout_ms", "waiting(timeout_ms)")
        if kind.pointers == 0:
            return self.value(dummy, kind)
        if kind.targets[-1]:
            return Passed(f"type({kind.name}){optional}, intent(in) :: {name}", name)
        return self.result(dummy, kind, optional)

    def array(self, dummy, is_list):
        optional, name = ", optional" if dummy.optional else "", dummy.name
        if is_list:
            count = f"count_of({name})" if dummy.optional else f"size({name}, kind=c_int64_t)"
            return Passed(f"type(tutti_buffer){optional}, intent(in) :: {name}(:)",
                          f"{name}, {count}")
        written = dummy.kind == "inout"
        return Passed(ARRAY.format(optional=optional, name=name, intent="inout" if written else "in"),
                      f"c_{name}%buffer", [f"type(argument), target :: c_{name}"],
                      [f'call borrow(this, c_{name}, "{name}", {name}, dtype)'],
                      [f"call return_array(this, c_{name}, {name}, .{str(written).lower()}.)"])

    @staticmethod
    def text(name, kind):
        if kind.pointers == 1:
            return Passed(f"character(*), intent(in) :: {name}", f"to_c({name})")
        return Passed(f"character(*), intent(in) :: {name}(:)",
                      f"c_{name}%addresses, size({name}, kind=c_int64_t)",
                      [f"type(text_list), target :: c_{name}"],
                      [f"call list_texts({name}, c_{name})"])

    def value(self, dummy, kind):
        name = dummy.name
        by_name = {"timeout_ms": "milliseconds", "tag": "tag_of", "node": "node_or_all"}
        if dummy.kind == "logical":
            return Passed(f"logical, intent(in) :: {name}", f"number({name})")
        type_ = "integer(int64)" if dummy.kind == "int64" else "integer"
        if dummy.optional:
            return Passed(f"{type_}, optional, intent(in) :: {name}", f"{by_name[name]}({name})")
        kind = fortran.INTEGERS[self.names.base(kind.name)]
        actual = name if dummy.kind == "int64" else f"int({name}, {kind})"
        return Passed(f"{type_}, intent(in) :: {name}", actual)

    def result(self, dummy, kind, optional):
        name = dummy.name
        if kind.name == "tutti_bytes":
            is_bytes = dummy.kind == "bytes"
            declared = "integer(int8), allocatable" if is_bytes else "character(:), allocatable"
            take = "take_bytes" if is_bytes else "take_text"
            return Passed(f"{declared}, intent(out) :: {name}{'(:)' if is_bytes else ''}",
                          f"c_{name}", [f"integer(c_intptr_t) :: c_{name}"], [f"c_{name} = 0"],
                          [f"call {take}(c_{name}, {name})"])
        if kind.pointers == 2:
            return Passed(f"type({kind.name}), intent(out) :: {name}", f"{name}%handle")
        if kind.name in self.names.structs:
            return Passed(f"type({kind.name}), intent(out) :: {name}", name)
        if kind.name == "double" or dummy.kind == "int64":
            type_ = "real(real64)" if kind.name == "double" else "integer(int64)"
            return Passed(f"{type_}, intent(out) :: {name}", name, [],
                          [f"{name} = {dummy.initial}"])
        type_ = "logical" if dummy.kind == "logical" else "integer"
        value = f"c_{name} /= 0" if dummy.kind == "logical" else f"int(c_{name})"
        if kind.name == "int64_t":
            value = f"int(min(c_{name}, int(huge({name}), c_int64_t)))"
        condition = f"if (present({name})) " if dummy.optional else ""
        return Passed(f"{type_}{optional}, intent(out) :: {name}", f"c_{name}",
                      [f"{fortran.scalar(self.names, kind.name)} :: c_{name}"],
                      [f"c_{name} = {dummy.initial}"], [f"{condition}{name} = {value}"])

    def actuals(self, passed, own):
        """What goes to C, in its order."""
        by_place = {self.pairs[name]: one.actual for name, one in passed.items()}
        return ", ".join(by_place.get(place) or own[one.name]
                         for place, one in enumerate(self.function.parameters)
                         if not self.is_count(place))

    def lines(self):
        passed = {one.name: self.passed(one) for one in self.dummies}
        listed = [one.name for one in self.dummies]
        lines = self.call(passed, listed) if self.is_call else self.plain(passed, listed)
        return [wrapped for line in lines for wrapped in fortran.wrapped(line, 4)]

    def plain(self, passed, listed):
        parts = list(passed.values())
        return [f"  subroutine {self.name}({', '.join(listed + ['ierr', 'errmsg'])})",
                *(f"    {one.declaration}" for one in parts), '    include "error.inc"',
                *(f"    {line}" for one in parts for line in one.local), "",
                *(f"    {line}" for one in parts for line in one.before),
                f"    status = c_{self.function.name}({self.actuals(passed, {'error': 'error'})})",
                *(f"    {line}" for one in parts for line in one.after),
                "    call finish(status, error, ierr, errmsg)", "  end subroutine"]

    def call(self, passed, listed):
        """A collective or a message."""
        if "group" not in listed:
            listed = listed + ["group"]
        passed.pop("group", None)
        parts = list(passed.values())
        has_array = any("dimension(..)" in one.declaration for one in parts)
        listed = listed + ["dtype"] * has_array + LAST + ["ierr", "errmsg"]
        own = {name: f"this%{name}" for name in ("group", "options", "work", "error")}
        lines = [f"  subroutine {self.name}({', '.join(listed)})",
                 *(f"    {one.declaration}" for one in parts),
                 *["    integer, optional, intent(in) :: dtype"] * has_array,
                 '    include "call.inc"',
                 *(f"    {line}" for one in parts for line in one.local), "",
                 "    call begin_call(this, group, timeout_ms, options, work)",
                 *(f"    {line}" for one in parts for line in one.before)]
        status = f"this%status = c_{self.function.name}({self.actuals(passed, own)})"
        if has_array:
            lines += ["    if (this%status == TUTTI_OK) &", f"      {status}"]
        else:
            lines.append(f"    {status}")
        return lines + [*(f"    {line}" for one in parts for line in one.after),
                        "    call end_call(this, work, ierr, errmsg)", "  end subroutine"]


def written_out(text, names, functions):
    lines = []
    for line in re.sub(r"^(  wrap .*) &\n +", r"\1 ", text, flags=re.M).splitlines():
        found = WRAP.match(line)
        if found:
            function, dummies, name = found.groups()
            lines += Wrapper(names, functions[function], dummies, name or function).lines()
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def main(tree, include, folder, output):
    model = headers.read(tree, include)
    names, functions = fortran.Names.of(model), {one.name: one for one in model.functions}
    for path in sorted([*Path(folder).glob("*.f90"), *Path(folder).glob("*.inc")]):
        text = written_out(path.read_text(encoding="utf-8"), names, functions)
        there = Path(output, path.name)
        if not there.exists() or there.read_text(encoding="utf-8") != text:
            there.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
