"""Writes the raw layer of Rust, the crate tutti-sys: every declaration of the headers, as C has it.

    rust.py tutti.xml INCLUDE_DIRECTORY lib.rs
"""
import re
import sys
from pathlib import Path

import model

SCALARS = {
    "void": "c_void", "char": "c_char", "double": "f64", "float": "f32", "size_t": "usize",
    "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16", "uint16_t": "u16",
    "int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64",
}
KEYWORDS = {"as", "box", "const", "dyn", "else", "enum", "extern", "false", "fn", "for", "if",
            "impl", "in", "let", "loop", "match", "mod", "move", "mut", "priv", "pub", "ref",
            "return", "static", "struct", "trait", "true", "type", "unsafe", "use", "where",
            "while", "yield"}
HEAD = """\
//! What the C headers declare, as they declare it: generated from them at build time. Everything
//! here is unsafe to call; the crate tutti is what programs use. What a function may be given, and
//! what it promises, its comment says in C's words.
#![allow(non_camel_case_types, missing_docs, missing_debug_implementations, clippy::all)]

use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_void};
"""


def identifier(name: str) -> str:
    return f"r#{name}" if name in KEYWORDS else name


def prose(line: str) -> str:
    """A line that rustdoc takes for no link: brackets outside of `code` are escaped."""
    parts = line.split("`")
    parts[::2] = [part.replace("[", "\\[").replace("]", "\\]") for part in parts[::2]]
    return "`".join(parts)


def camel(name: str) -> str:
    """ "tutti_reduce_op" is ReduceOp."""
    return "".join(word.capitalize() for word in name.removeprefix("tutti_").split("_"))


class Writer:
    def __init__(self, declared: model.Model):
        self.model = declared
        self.enumerations = {item.name: camel(item.name) for item in declared.enumerations}
        self.lines = [HEAD]

    def type(self, of: model.Type) -> str:
        if of.name in SCALARS:
            name = SCALARS[of.name]
        elif of.name in self.enumerations:
            name = self.enumerations[of.name]
        elif of.name.startswith("tutti_"):
            name = of.name
        else:
            raise ValueError(f"a type that Rust has no name for: {of.name}")
        for const in of.targets:
            name = f"*{'const' if const else 'mut'} {name}"
        return name

    def document(self, comment: model.Comment, indent: str = ""):
        """A comment in rustdoc's Markdown: indented lines would be taken for programs to test."""
        said = [comment.summary] if comment.summary else []
        items = [f"- `{name}`: {text}" for name, text in comment.parameters.items()]
        items += [f"- {name}: {text}" for name, text in comment.slots.items()]
        for line in said + ([""] if said and items else []) + items:
            self.lines.append(f"{indent}/// {prose(line)}".rstrip())

    def signature(self, of) -> str:
        given = ", ".join(f"{identifier(p.name)}: {self.type(p.type)}" for p in of.parameters)
        nothing = of.result.name == "void" and of.result.pointers == 0
        return f"({given})" + ("" if nothing else f" -> {self.type(of.result)}")

    def write(self) -> str:
        for handle in self.model.handles:
            self.handle(handle)
        for enumeration in self.model.enumerations:
            self.enumeration(enumeration)
        for struct in self.model.structs:
            self.struct(struct)
        for callback in self.model.callbacks:
            self.document(callback.comment)
            self.lines.append(f"pub type {callback.name} = "
                              f"Option<unsafe extern \"C\" fn{self.signature(callback)}>;\n")
        for constant in self.model.constants:
            self.constant(constant)
        self.lines.append('extern "C" {')
        for function in self.model.functions:
            self.document(function.comment, "    ")
            self.lines.append(f"    pub fn {function.name}{self.signature(function)};\n")
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"

    def handle(self, handle):
        self.document(handle.comment)
        self.lines.append(f"#[repr(C)]\npub struct {handle.name} {{\n    _opaque: [u8; 0],\n"
                          "    _marker: PhantomData<(*mut u8, PhantomPinned)>,\n}\n")

    def enumeration(self, enumeration):
        name, kind = camel(enumeration.name), SCALARS[enumeration.underlying]
        self.document(enumeration.comment)
        self.lines.append("#[repr(transparent)]\n#[derive(Clone, Copy, PartialEq, Eq, Hash)]\n"
                          f"pub struct {name}(pub {kind});\n\nimpl {name} {{")
        for value in enumeration.values:
            self.document(value.comment, "    ")
            self.lines.append(f"    pub const {self.short(enumeration, value)}: {name} = "
                              f"{name}({value.value});")
        self.lines.append("}\n")
        self.debug(enumeration)

    def short(self, enumeration, value) -> str:
        """The value's name without what all of the enumeration's begin with: TIMEOUT, DEBUG."""
        noun = enumeration.name.removeprefix("tutti_").split("_")[0].upper()
        return re.sub(rf"^TUTTI_(ERR_|{noun}_)?", "", value.name)

    def debug(self, enumeration):
        """Shows a value by its C name, one of the future by its number."""
        name = camel(enumeration.name)
        arms = "\n".join(f"            {name}::{self.short(enumeration, value)} => "
                         f"f.write_str(\"{value.name}\"),"
                         for value in enumeration.values)
        self.lines.append(f"impl std::fmt::Debug for {name} {{\n"
                          "    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result "
                          f"{{\n        match *self {{\n{arms}\n"
                          f"            {name}(other) => write!(f, \"{name}({{}})\", other),\n"
                          "        }\n    }\n}\n")

    def struct(self, struct):
        self.document(struct.comment)
        self.lines.append(f"#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {struct.name} {{")
        for member in struct.fields:
            self.document(member.comment, "    ")
            kind = self.type(member.type)
            kind = f"[{kind}; {member.length}]" if member.length is not None else kind
            self.lines.append(f"    pub {identifier(member.name)}: {kind},")
        self.lines.append("}\n")

    def constant(self, constant):
        self.document(constant.comment)
        kind = self.type(constant.type)
        value = str(constant.value)
        if constant.value < 0 and kind.startswith("u"):
            value = f"{value}i64 as {kind}"
        elif constant.type.pointers:
            value = f"{value} as {kind}"
        self.lines.append(f"pub const {constant.name}: {kind} = {value};\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Path(sys.argv[3]).write_text(Writer(model.read(*sys.argv[1:3])).write(), encoding="utf-8")
