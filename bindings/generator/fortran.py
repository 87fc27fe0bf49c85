#!/usr/bin/env python3
"""Writes the Fortran modules tutti_constants, tutti_functions and tutti_c from `swig -xml`'s tree.

    fortran.py raw TREE INCLUDE OUTPUT.f90              the three modules
    fortran.py layout TREE INCLUDE OUTPUT.f90 OUTPUT.c  a program that compares every derived type
                                                        with C's struct, and C's side of it
"""
import sys
from dataclasses import dataclass

import model as headers

INTEGERS = {"int32_t": "c_int32_t", "uint32_t": "c_int32_t", "int64_t": "c_int64_t",
            "uint64_t": "c_int64_t", "size_t": "c_size_t", "uintptr_t": "c_intptr_t"}
SIZES = {"int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "size_t": 8, "double": 8,
         "char": 1}
# Fields whose default is not 0.
DEFAULTS = {("tutti_error", "rank"): "-1"}
# Handles that come in a list though no number of them stands directly behind.
LISTS = {("tutti_store_multi_get", "out_values"), ("tutti_broadcast_object_list", "out_objects"),
         ("tutti_batch_isend_irecv", "works")}


@dataclass
class Names:
    """What the names in C's types are."""

    enumerations: dict
    structs: dict
    callbacks: set
    handles: set

    @staticmethod
    def of(model):
        return Names({one.name: one.underlying for one in model.enumerations},
                     {one.name: one for one in model.structs},
                     {one.name for one in model.callbacks}, {one.name for one in model.handles})

    def base(self, name):
        return self.enumerations.get(name, name)


def comment(text, indent):
    """A header's comment as Fortran comment lines."""
    lines = [line.replace("/**<", "").rstrip() for line in text.splitlines()]
    return [f"{' ' * indent}!> {line}".rstrip() for line in lines]


def scalar(names, name):
    """The Fortran type of a C value."""
    base = names.base(name)
    if base in INTEGERS:
        return f"integer({INTEGERS[base]})"
    if base == "double":
        return "real(c_double)"
    if base in names.callbacks:
        return "type(c_funptr)"
    if base in names.structs:
        return f"type({base})"
    raise ValueError(f"no Fortran type for {name}")


def is_list(function, position):
    """Whether a pointer is to the first of several values."""
    parameter = function.parameters[position]
    kind = parameter.type
    if kind.const and kind.pointers == 1 and kind.name in SIZES:
        return True
    if (function.name, parameter.name) in LISTS or kind.targets[-1] and kind.pointers == 2:
        return True
    if kind.pointers == 1 and kind.name.startswith("tutti_") and parameter.name.endswith("s"):
        return not kind.name.endswith(("_options", "_hooks"))
    following = function.parameters[position + 1:position + 2]
    return bool(following) and following[0].type == headers.Type("int64_t") and \
        following[0].name.endswith(("count", "capacity"))


def dummy(names, function, position):
    """The declaration of a parameter."""
    parameter = function.parameters[position]
    kind, name = parameter.type, parameter.name
    if kind.pointers == 0:
        return f"{scalar(names, kind.name)}, value :: {name}"
    if kind.name in names.handles and kind.pointers == 1:
        return f"integer(c_intptr_t), value :: {name}"
    if kind.name == "void" and kind.pointers == 1:
        return f"type(c_ptr), value :: {name}"
    if kind.name == "char" and kind.pointers == 1:
        return f"character(kind=c_char), dimension(*), intent(in), optional :: {name}"
    return by_reference(names, function, position)


def by_reference(names, function, position):
    parameter = function.parameters[position]
    kind, name = parameter.type, parameter.name
    several = "(*)" if is_list(function, position) else ""
    # C writes only when it succeeds, so what was there before must stay: never intent(out).
    intent = "in" if kind.targets[-1] else "inout"
    if kind.name in names.handles:
        what = "integer(c_intptr_t)"
    elif kind.pointers == 2:
        what = "type(c_ptr)"
    else:
        what = scalar(names, kind.name)
    return f"{what}, intent({intent}), optional :: {name}{several}"


def wrapped(line, indent):
    """A statement, continued where it is longer than 100 columns."""
    if len(line) <= 100:
        return [line]
    cut = line.rfind(", ", 0, 97) + 1
    return [line[:cut] + " &"] + wrapped(" " * (indent + 4) + line[cut + 1:], indent)


def is_pure(function):
    """Whether a function tells a text or its length, which the length of a result may ask for."""
    return function.result.name == "char" or function.name == "tutti_bytes_size"


def procedure(names, function, name, binding, indent):
    """An interface body."""
    pad = " " * indent
    dummies = ", ".join(parameter.name for parameter in function.parameters)
    kind = "subroutine" if function.result.name == "void" and not function.result.pointers \
        else "function"
    prefix = "pure " if is_pure(function) else ""
    lines = comment(function.comment.text, indent)
    lines += wrapped(f"{pad}{prefix}{kind} {name}({dummies}) {binding}", indent)
    lines.append(f"{pad}  import")
    lines += [f"{pad}  {dummy(names, function, position)}"
              for position in range(len(function.parameters))]
    if kind == "function":
        result = "type(c_ptr)" if function.result.pointers else scalar(names, function.result.name)
        lines.append(f"{pad}  {result} :: {name}")
    return lines + [f"{pad}end {kind}", ""]


def callback(names, one):
    """An abstract interface. What C hands over as text arrives as an address."""
    plain = headers.Function(one.name, one.result, one.parameters, one.comment, "")
    lines = procedure(names, plain, one.name, "bind(C)", 4)
    return [line.replace("character(kind=c_char), dimension(*), intent(in), optional",
                         "type(c_ptr), value").replace(", optional ::", " ::") for line in lines]


def constant(names, one):
    if one.type.pointers:
        kind = "c_intptr_t"
    else:
        kind = INTEGERS[names.base(one.type.name)]
    return comment(one.comment.text, 2) + \
        [f"  integer({kind}), parameter, public :: {one.name} = {one.value}_{kind}"]


def enumeration(names, one):
    lines = comment(one.comment.text, 2)
    for value in one.values:
        lines += constant(names, headers.Constant(value.name, value.value, value.comment,
                                                  headers.Type(one.name)))
    return lines + [""]


def size_of(names, kind):
    """Bytes of a C type, which are its alignment, too, if it is no struct."""
    if kind.pointers or kind.name in names.callbacks:
        return 8
    base = names.base(kind.name)
    return layout(names, names.structs[base])[0] if base in names.structs else SIZES[base]


def alignment_of(names, kind):
    base = names.base(kind.name)
    return layout(names, names.structs[base])[1] if base in names.structs and not kind.pointers \
        else size_of(names, kind)


def layout(names, struct):
    """A struct's size and alignment."""
    place, widest = 0, 1
    for one in struct.fields:
        aligned = alignment_of(names, one.type)
        place += -place % aligned + size_of(names, one.type) * (one.length or 1)
        widest = max(widest, aligned)
    return place + -place % widest, widest


def field(names, struct, one):
    extent = f"({one.length})" if one.length else ""
    base = names.base(one.type.name)
    if one.type.pointers:
        what, default = "type(c_ptr)", " = c_null_ptr"
    elif base in names.callbacks:
        what, default = "type(c_funptr)", " = c_null_funptr"
    elif base == "char":
        what, default = "character(kind=c_char)", " = c_null_char"
    elif base in names.structs:
        what, default = f"type({base})", ""
    else:
        what = scalar(names, base)
        default = f" = {DEFAULTS.get((struct.name, one.name), '0')}"
    if one.name == "struct_size":
        default = f" = {layout(names, struct)[0]}"
    return comment(one.comment.text, 4) + [f"    {what} :: {one.name}{extent}{default}"]


def derived_type(names, struct):
    lines = comment(struct.comment.text, 2)
    lines.append(f"  type, bind(C), public :: {struct.name}")
    for one in struct.fields:
        lines += field(names, struct, one)
    return lines + ["  end type", ""]


def constants_module(names, model):
    lines = ["! Written from tutti's headers by bindings/generator/fortran.py.", "",
             "!> tutti's constants, and C's structs as derived types whose defaults are C's.",
             "module tutti_constants", "  use, intrinsic :: iso_c_binding", "  implicit none",
             "  private", ""]
    for one in model.enumerations:
        lines += enumeration(names, one)
    for one in model.constants:
        lines += constant(names, one)
    lines.append("")
    for one in model.structs:
        lines += derived_type(names, one)
    lines.append("  abstract interface")
    for one in model.callbacks:
        lines += callback(names, one)
    lines += ["  end interface", ""]
    lines += [f"  public :: {one.name}" for one in model.callbacks]
    return lines + ["end module tutti_constants", ""]


def functions_module(names, model):
    lines = ["!> Every function of tutti's headers, named c_ and its name. Handles are numbers; a",
             "!> pointer that may be NULL is an optional argument.",
             "module tutti_functions", "  use, intrinsic :: iso_c_binding", "  use tutti_constants",
             "  implicit none", "  private", "", "  interface"]
    for one in model.functions:
        lines += procedure(names, one, f"c_{one.name}", f'bind(C, name="{one.name}")', 4)
    lines += ["  end interface", ""]
    lines += [f"  public :: c_{one.name}" for one in model.functions]
    return lines + ["end module tutti_functions", "", "!> All of tutti's C interface.",
                    "module tutti_c", "  use tutti_constants", "  use tutti_functions",
                    "end module tutti_c"]


def check_names(model):
    """Fortran's names know no case: two of C's must not become one."""
    seen = {}
    found = [one.name for part in (model.enumerations, model.constants, model.structs,
                                   model.callbacks) for one in part]
    found += [value.name for one in model.enumerations for value in one.values]
    for name in found:
        if len(name) > 61 or seen.setdefault(name.lower(), name) != name:
            raise ValueError(f"{name} is no name of its own in Fortran")


def write(path, lines):
    long = [line for line in lines if len(line) > 132 and not line.lstrip().startswith("!")]
    if long:
        raise ValueError(f"longer than 132 columns: {long[0]}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def fields_of(model):
    """Each struct and field by a number, which both sides of the layout test know."""
    return [(number, struct, one) for number, (struct, one) in
            enumerate((struct, one) for struct in model.structs for one in struct.fields)]


def layout_c(model):
    lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <tutti/tutti.h>", "",
             "const int64_t layout_sizes[] = {"]
    lines += [f"    (int64_t)sizeof({struct.name})," for struct in model.structs]
    lines += ["};", "const int64_t layout_offsets[] = {"]
    lines += [f"    (int64_t)offsetof({struct.name}, {one.name}),"
              for _, struct, one in fields_of(model)]
    return lines + ["};"]


def layout_fortran(model):
    count, fields = len(model.structs), fields_of(model)
    lines = ["module layout_of_c", "  use, intrinsic :: iso_c_binding", "  implicit none",
             f'  integer(c_int64_t), bind(C, name="layout_sizes") :: sizes({count})',
             f'  integer(c_int64_t), bind(C, name="layout_offsets") :: offsets({len(fields)})',
             "end module", "", "program layout", "  use layout_of_c", "  use tutti_constants",
             "  implicit none", "  integer :: wrong = 0"]
    lines += [f"  type({struct.name}), target :: v{number}"
              for number, struct in enumerate(model.structs)]
    lines.append("")
    for number, struct in enumerate(model.structs):
        lines.append(f'  call check("{struct.name}", int(c_sizeof(v{number}), c_int64_t), '
                     f"sizes({number + 1}))")
        if any(one.name == "struct_size" for one in struct.fields):
            lines += wrapped(f'  call check("{struct.name}.struct_size as it begins", '
                             f"int(v{number}%struct_size, c_int64_t), sizes({number + 1}))", 2)
    owners = [struct.name for struct in model.structs]
    for number, struct, one in fields:
        owner = f"v{owners.index(struct.name)}"
        first = f"{owner}%{one.name}" + ("(1)" if one.length else "")
        lines += wrapped(f'  call check("{struct.name}.{one.name}", '
                         f"distance(c_loc({owner}), c_loc({first})), offsets({number + 1}))", 2)
    return lines + LAYOUT_END.format(count=count, fields=len(fields)).splitlines()


LAYOUT_END = """\
  if (wrong > 0) error stop 1
  print '(a)', "{count} derived types and {fields} components are where C has them"
contains
  integer(c_int64_t) function distance(from, to)
    type(c_ptr), intent(in) :: from, to
    distance = transfer(to, 0_c_int64_t) - transfer(from, 0_c_int64_t)
  end function

  subroutine check(name, here, there)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: here, there
    if (here == there) return
    print '(a, ": ", i0, " in Fortran, ", i0, " in C")', name, here, there
    wrong = wrong + 1
  end subroutine
end program layout"""


def main(what, tree, include, *outputs):
    model = headers.read(tree, include)
    names = Names.of(model)
    check_names(model)
    if what == "raw":
        write(outputs[0], constants_module(names, model) + functions_module(names, model))
    else:
        write(outputs[0], layout_fortran(model))
        write(outputs[1], layout_c(model))


if __name__ == "__main__":
    main(*sys.argv[1:])
