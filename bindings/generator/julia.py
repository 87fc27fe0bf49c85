"""Writes the raw layer of Julia, the module Raw, from SWIG's tree and the headers.

    python3 julia.py tutti.xml INCLUDE_DIRECTORY raw.jl
"""
import re
import sys

import model

SCALARS = {
    "void": "Cvoid", "char": "UInt8", "double": "Float64", "float": "Float32", "size_t": "Csize_t",
    "int8_t": "Int8", "uint8_t": "UInt8", "int16_t": "Int16", "uint16_t": "UInt16",
    "int32_t": "Int32", "uint32_t": "UInt32", "int64_t": "Int64", "uint64_t": "UInt64",
}
RESERVED = {"function", "end", "in", "global", "local", "type", "module", "export", "begin"}

HEAD = '''# Written by bindings/generator/julia.py from tutti's headers: change those.
"""
The functions of `libtutti.so` as they are, one for each that the headers declare, with their types
and constants. The module `Tutti` is what programs use.
"""
module Raw

"The library, by the name that the system's loader knows."
const libtutti = "libtutti.so.0"

"A function of the library: where it is, once `Tutti` has loaded that. Looked up by name at each call,
it would be found by Julia's loader, which may take another library, and in another way."
mutable struct Entry
    name::Symbol
    address::Ptr{Cvoid}
end

const entries = Entry[]

function entry(name)
    push!(entries, Entry(name, C_NULL))
    last(entries)
end

"What a function returns and takes, in C: `signature(tutti_get_rank)`."
function signature end

"Where a function is."
function address end
'''


def type_name(type_: model.Type, callbacks: set[str]) -> str:
    """The Julia type of a parameter, a result or a field."""
    if type_.name in callbacks:
        return "Ptr{Cvoid}"
    if type_.name == "char" and type_.pointers and type_.const:
        return "Ptr{" * (type_.pointers - 1) + "Cstring" + "}" * (type_.pointers - 1)
    name = SCALARS.get(type_.name, type_.name)
    return "Ptr{" * type_.pointers + name + "}" * type_.pointers


def escaped(name: str) -> str:
    return name + "_" if name in RESERVED else name


def docstring(comment: model.Comment, heading: str = "") -> str:
    """The comment of the header, as it stands there, as a docstring."""
    if not comment.text:
        return ""
    text = comment.text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    text = re.sub(r"^@param (\w+) *", r"- `\1`: ", text, flags=re.M)
    text = re.sub(r"^@(return|since) *", r"- \1: ", text, flags=re.M)
    text = re.sub(r"^(Blocks|Threads|Fails|Source): *", r"- \1: ", text, flags=re.M)
    text = re.sub(r"^(?!- )(.*)\n- ", r"\1\n\n- ", text, count=1, flags=re.M)
    return f'"""\n{heading}{text.strip()}\n"""\n'


class Writer:
    def __init__(self, tutti: model.Model):
        self.tutti = tutti
        self.callbacks = {callback.name for callback in tutti.callbacks}

    def type(self, type_: model.Type) -> str:
        return type_name(type_, self.callbacks)

    def text(self) -> str:
        parts = [HEAD]
        parts += [self.handle(handle) for handle in self.tutti.handles]
        parts += [self.enumeration(one) for one in self.tutti.enumerations]
        parts += [self.struct(struct) for struct in self.tutti.structs]
        parts += [self.constant(constant) for constant in self.tutti.constants]
        parts += [self.function(function) for function in self.tutti.functions]
        return "\n".join(parts) + "\nend\n"

    def handle(self, handle: model.Handle) -> str:
        return f"{docstring(handle.comment)}mutable struct {handle.name} end\n"

    def enumeration(self, enumeration: model.Enumeration) -> str:
        kind = SCALARS[enumeration.underlying]
        lines = [f"{docstring(enumeration.comment)}const {enumeration.name} = {kind}"]
        for value in enumeration.values:
            said = f"{docstring(value.comment)}" if value.comment.text else ""
            lines.append(f"{said}const {value.name} = {kind}({value.value})")
        return "\n".join(lines) + "\n"

    def struct(self, struct: model.Struct) -> str:
        lines = [f"{docstring(struct.comment)}struct {struct.name}"]
        for field in struct.fields:
            kind = self.type(field.type)
            kind = f"NTuple{{{field.length}, {kind}}}" if field.length else kind
            lines.append(f"    {escaped(field.name)}::{kind}")
        return "\n".join(lines) + "\nend\n"

    def constant(self, constant: model.Constant) -> str:
        kind = self.type(constant.type)
        value = f"{kind}({constant.value})"
        if constant.type.pointers:  # as a number: pointers do not outlive precompilation
            value = f"UInt({constant.value})"
        elif constant.value < 0:
            value = f"{constant.value} % {kind}"
        return f"{docstring(constant.comment)}const {constant.name} = {value}\n"

    def function(self, function: model.Function) -> str:
        name = function.name
        names = [escaped(parameter.name) for parameter in function.parameters]
        types = [self.type(parameter.type) for parameter in function.parameters]
        tuple_ = "(" + "".join(f"{kind}, " for kind in types).rstrip() + ")"
        result = self.type(function.result)
        listed = ", ".join(names)
        heading = f"    {name}({listed})\n\n"
        call = "".join(f", {one}" for one in names)
        return (
            f"const entry_of_{name} = entry(:{name})\n"
            f"{docstring(function.comment, heading)}"
            f"@inline {name}({listed}) =\n"
            f"    ccall(entry_of_{name}.address, {result}, {tuple_}{call})\n"
            f"signature(::typeof({name})) = ({result}, {tuple_})\n"
            f"address(::typeof({name})) = entry_of_{name}.address\n")


def main(xml: str, include: str, output: str):
    with open(output, "w", encoding="utf-8") as file:
        file.write(Writer(model.read(xml, include)).text())


if __name__ == "__main__":
    main(*sys.argv[1:])
