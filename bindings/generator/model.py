"""What the public headers declare, for the generators of the bindings: read from the tree that
`swig -xml` writes, and from the headers what SWIG leaves out, comments and typed constants.

    model.read("tutti.xml", "include").functions[0].parameters[0].type.name
"""
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Comment:
    """What a header says of one name."""

    summary: str = ""  # what it is: all that stands before the first tag
    parameters: dict[str, str] = field(default_factory=dict)  # "@param name": what it is
    # "Blocks", "Threads", "Fails", "Source", "return", "since"; and "Note", a remark in brackets.
    slots: dict[str, str] = field(default_factory=dict)
    text: str = ""  # all of it as it stands there, without stars


@dataclass
class Type:
    """A C type: `const char* const*` is name "char", pointers 2, const True, targets (True, True).
    """

    name: str  # the base: "int32_t", "tutti_store", "char", "void", or a typedef's name
    pointers: int = 0  # how many `*`
    const: bool = False  # whether the base is const
    targets: tuple[bool, ...] = ()  # for each `*`, the innermost first: what it points to is const


@dataclass
class Parameter:
    name: str
    type: Type


@dataclass
class Function:
    name: str
    result: Type
    parameters: list[Parameter]
    comment: Comment
    header: str  # "store.h"


@dataclass
class Callback:
    """A pointer to a function, by its typedef's name; its type has no `*`."""

    name: str
    result: Type
    parameters: list[Parameter]
    comment: Comment


@dataclass
class Value:
    name: str
    value: int
    comment: Comment


@dataclass
class Enumeration:
    name: str  # of the typedef: "tutti_status"
    underlying: str  # "int32_t" or "uint32_t"
    values: list[Value]
    comment: Comment


@dataclass
class Constant:
    """A typed #define, or a value of an enumeration that has no name (then a uint32_t)."""

    name: str
    value: int
    comment: Comment
    type: Type


@dataclass
class Field:
    name: str
    type: Type
    length: int | None  # of an array; None: no array
    comment: Comment


@dataclass
class Struct:
    name: str
    fields: list[Field]
    comment: Comment


@dataclass
class Handle:
    """A type that is only ever pointed to."""

    name: str
    comment: Comment


@dataclass
class Model:
    functions: list[Function] = field(default_factory=list)
    enumerations: list[Enumeration] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    structs: list[Struct] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    handles: list[Handle] = field(default_factory=list)


def read(xml_path: str | Path, include_directory: str | Path) -> Model:
    """The model of all headers in SWIG's tree, in the headers' order."""
    tree = ElementTree.parse(xml_path).getroot()
    model = Model()
    for include in tree.iter("include"):
        path = Path(_attributes(include).get("name", ""))
        if path.parent.name == "tutti":
            text = (Path(include_directory) / "tutti" / path.name).read_text(encoding="utf-8")
            _Header(model, path.name, text).read(include)
    if not model.functions:
        raise ValueError(f"{xml_path}: no function of tutti in it")
    return model


def _attributes(node) -> dict[str, str]:
    found = node.findall("attributelist/attribute")
    return {attribute.get("name"): attribute.get("value") for attribute in found}


def _type(encoded: str) -> Type:
    """SWIG's way of writing a type, outermost first: "p.q(const).p.char" is `char* const*`."""
    targets, const = [], False
    *steps, name = re.sub(r"^struct ", "", encoded).split(".")
    for step in steps:
        if step == "q(const)":
            const = True
        elif step == "p":
            targets.append(const)
            const = False
        else:
            raise ValueError(f"a type that no binding knows: {encoded}")
    # Noted so far is whether each pointer itself is const; the last note is of the base.
    inside_out = (targets[1:] + [const])[::-1] if targets else []
    return Type(name, len(targets), const, tuple(inside_out))


def _parameters(node) -> list[Parameter]:
    found = []
    for parameter in node.findall("attributelist/parmlist/parm"):
        said = _attributes(parameter)
        if said["type"] != "void":
            found.append(Parameter(said["name"], _type(said["type"])))
    return found


class _Header:
    """Reads one header's part of the tree into the model."""

    def __init__(self, model: Model, name: str, text: str):
        self.model, self.name, self.text = model, name, text
        self.comments = _comments(text)

    def read(self, include):
        before = None  # the typedef that stands directly before an enumeration names it
        for node in include:
            said = _attributes(node)
            if node.tag == "enum":
                self._enumeration(node, before)
            elif node.tag == "class":
                self._struct(node, said)
            elif node.tag == "cdecl":
                self._declaration(node, said)
            before = said if node.tag == "cdecl" else before
        self._constants()

    def _comment(self, name: str) -> Comment:
        return self.comments.get(name, Comment())

    def _declaration(self, node, said):
        name, kind, declared = said["name"], said["kind"], said["decl"]
        if kind == "function":
            result = _type(re.sub(r"^f\(.*\)\.", "", declared) + said["type"])
            self.model.functions.append(
                Function(name, result, _parameters(node), self._comment(name), self.name))
        elif kind == "typedef" and declared.startswith("p.f("):
            self.model.callbacks.append(
                Callback(name, _type(said["type"]), _parameters(node), self._comment(name)))
        elif said["type"].startswith("struct "):
            if name not in {struct.name for struct in self.model.structs}:
                self.model.handles.append(Handle(name, self._comment(name)))

    def _struct(self, node, said):
        fields = []
        for member in node.findall("cdecl"):
            about = _attributes(member)
            length = re.match(r"a\((\d+)\)\.", about["decl"])
            declared = about["decl"][length.end():] if length else about["decl"]
            comment = self._comment(f"{said['name']}.{about['name']}")
            fields.append(Field(about["name"], _type(declared + about["type"]),
                                int(length.group(1)) if length else None, comment))
        self.model.structs.append(Struct(said["name"], fields, self._comment(said["name"])))

    def _enumeration(self, node, before):
        values, following = [], 0
        for item in node.findall("enumitem"):
            said = _attributes(item)
            number = int(said["enumvalue"], 0) if "enumvalue" in said else following
            values.append(Value(said["name"], number, self._comment(said["name"])))
            following = number + 1
        if before and before.get("type") in ("int32_t", "uint32_t"):
            self.model.enumerations.append(Enumeration(before["name"], before["type"], values,
                                                       self._comment(before["name"])))
            return
        for value in values:
            self.model.constants.append(
                Constant(value.name, value.value, value.comment, Type("uint32_t")))

    def _constants(self):
        """The typed constants, which SWIG passes over: `#define NAME ((type)value)`."""
        for name, value in re.findall(r"^#define (\w+) +([^\n{\\]+)$", self.text, re.M):
            if name == "TUTTI_API" or name.startswith("TUTTI_VERSION"):  # for C's compilers alone
                continue
            parts = re.fullmatch(r"\(\((\w+)(\*?)\)(?:\(uintptr_t\))?(-?\d+)\)", value.strip())
            if not parts:
                raise ValueError(f"{self.name}: a constant that no binding knows: {name} {value}")
            pointed = (False,) if parts[2] else ()
            self.model.constants.append(
                Constant(name, int(parts[3]), self._comment(name),
                         Type(parts[1], len(pointed), False, pointed)))


_BLOCK = re.compile(r"/\*\*(?!<)(.*?)\*/\s*", re.S)
_BEHIND = re.compile(r"\b(\w+)(?:\[\w+\])?(?: = -?\w+)?[,;]?\s*/\*\*<(.*?)\*/", re.S)
_TAG = re.compile(r"(?:@param\s+(?P<parameter>\w+)|@(?P<tag>return|since)|"
                  r"(?P<slot>Blocks|Threads|Fails|Source):|(?P<note>\())\s*")
_DECLARED = [re.compile(pattern, re.S) for pattern in (
    r"#define (\w+)",
    r"typedef struct (\w+)",
    r"typedef [^;{]*?\(\*(\w+)\)",
    r"typedef \w+ (\w+);",
    r"enum \{\s*(\w+)",  # an enumeration without a name goes by its first value
    r"TUTTI_API [^;]*?\b(\w+)\(",
)]
_NEXT_TYPEDEF = re.compile(r"typedef struct \w+ \w+;\s*typedef struct (\w+) \w+;")


def _comments(header: str) -> dict[str, Comment]:
    """The comments of a header's text, by what they explain: "name", or "owner.name" for the
    fields of a struct; the values of an enumeration stand for themselves."""
    found = {}
    for block in _BLOCK.finditer(header):
        name, place = _declared_at(header, block.end())
        while name:
            found[name] = _comment_of(block.group(1))
            # One comment may stand before several types in a row.
            another = _NEXT_TYPEDEF.match(header, place)
            name = another and another.group(1)
            place = another.start(1) - len("typedef struct ") if another else place
    for owner, body in _bodies(header):
        for item in _BEHIND.finditer(body):
            name = f"{owner}.{item.group(1)}" if owner else item.group(1)
            found[name] = _comment_of(item.group(2))
    return found


def _comment_of(text: str) -> Comment:
    """A comment from what stands between its stars."""
    lines = [re.sub(r"^\s*\*? {0,2}", "", line) for line in text.strip().split("\n")]
    comment = Comment(text="\n".join(line.rstrip() for line in lines))
    summary, put = [], None
    for line in lines:
        tag = _TAG.match(line)  # a line that goes on is indented further
        if tag and (put or not tag["note"]):
            put = _slot(comment, tag, line)
        elif put:
            put(line.strip())
        else:
            summary.append(line.strip())
    comment.summary = " ".join(summary).strip()
    return comment


def _slot(comment: Comment, tag: re.Match, line: str):
    """Begins what a tag says, and returns how to go on with it."""
    name = tag["parameter"] or tag["tag"] or tag["slot"] or "Note"
    into = comment.parameters if tag["parameter"] else comment.slots
    into[name] = line if tag["note"] else line[tag.end():]

    def put(more: str):
        into[name] = f"{into[name]} {more}".strip()

    return put


def _declared_at(header: str, place: int):
    for pattern in _DECLARED:
        declared = pattern.match(header, place)
        if declared:
            return declared.group(1), place
    return None, place


def _bodies(header: str):
    for body in re.finditer(r"typedef struct (\w+) \{(.*?)\n\} \1;", header, re.S):
        yield body.group(1), body.group(2)
    for body in re.finditer(r"\nenum \{(.*?)\};", header, re.S):
        yield None, body.group(1)
