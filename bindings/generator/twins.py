#!/usr/bin/env python3
"""Writes the asynchronous twin of every collective and message of Go and Java: it starts the same
call, and returns a work.

    twins.py go FOLDER async.go
    twins.py java FOLDER AsyncCalls.java

FOLDER has the layer that is written by hand. Only a function that does nothing but make a call and
run it has a twin: `return allReduce(g, buffer, op).run(ctx)`, `now(call -> allReduce(call, …))`.
That of a deprecated one is deprecated.
"""
import re
import sys
from pathlib import Path

FEWEST = 25  # fewer twins are not all
GO = re.compile(r"^(?P<deprecated>// Deprecated: .*\n(?://.*\n)*)?"
                r"func (?P<receiver>\(g \*Group\) )?(?P<name>[A-Z]\w*)(?P<types>\[T Element\])?"
                r"\((?P<parameters>[^{]*?),?\s*\) (?:error|\(int, error\)) \{\s*"
                r"return (?P<call>[^;{}]*?)\.(?P<run>run|runRecv)\(ctx\)\s*\}$", re.M)
JAVA = re.compile(r"^(?P<deprecated>    @Deprecated\n)?"
                  r"    public (?P<result>[\w<>\[\]]+) (?P<name>\w+)\((?P<parameters>[^)]*)\) \{\s*"
                  r"(?:return )?(?:now|receive)\((?:groupSrc, )?"
                  r"(?P<call>call -> \w+\(call[,.)][^;]*|\w+::\w+)\);\s*\}$", re.M)
# torch has names for these.
NAMES = {"Send": "Isend", "Recv": "Irecv", "send": "isend", "recv": "irecv"}
JAVA_CLASS = """\
package tutti;

import java.util.List;

// Written by bindings/generator/twins.py.
/** Every collective and message in the form that returns a {@link Work} at once. */
abstract class AsyncCalls extends ByteStrings {
    AsyncCalls(Core core, long timeoutMs, long stream, byte[] tagName,
               ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }
"""


def twin_of(name):
    return NAMES.get(name, name + "Async")


def go_twin(found):
    name, owner = found["name"], "Group." if found["receiver"] else ""
    comment = f"{twin_of(name)} starts what [{owner}{name}] does"
    if found["run"] == "runRecv":
        comment += ("; [Work.SourceRank] tells the sender.\n"
                    "// The context counts until the work is done or closed")
    deprecated = f"//\n{found['deprecated']}" if found["deprecated"] else ""
    return (f"// {comment}.\n{deprecated}func {found['receiver'] or ''}{twin_of(name)}"
            f"{found['types'] or ''}({found['parameters']}) (*Work, error) {{\n"
            f"\treturn {found['call']}.async(ctx)\n}}\n")


def erased(parameters):
    """The types of Java's parameters as a link names them."""
    types = [one.rsplit(None, 1)[0] for one in parameters.split(", ") if one]
    return ", ".join(re.sub(r"<.*>", "", one) for one in types)


def java_twin(found):
    name, parameters = found["name"], " ".join(found["parameters"].split())
    boxed = {"void": "Void", "int": "Integer"}.get(found["result"], found["result"])
    where = {"s": "to", "r": "from"}[name[0]] if re.match("send|recv", name) else None
    also = f"; also {where} oneself" if where else ""
    link = f"{{@link #{name}({erased(parameters)}) {name}}}"
    end = "\n     *  @deprecated as that is */\n    @Deprecated" if found["deprecated"] else " */"
    return (f"    /** {link} that returns at once{also}.{end}\n"
            f"    public Work<{boxed}> {twin_of(name)}({parameters}) {{\n"
            f"        return start({' '.join(found['call'].split())});\n    }}\n")


def twins(pattern, write, folder, files):
    found = [write(one) for path in sorted(Path(folder).glob(files)) if path.stem[-5:] != "_test"
             for one in pattern.finditer(path.read_text(encoding="utf-8"))]
    if len(found) < FEWEST:
        raise ValueError(f"only {len(found)} calls have a twin")
    return "\n".join(found)


def go(folder):
    return ("// Written by bindings/generator/twins.py.\n\npackage tutti\n\nimport \"context\"\n\n"
            + twins(GO, go_twin, folder, "*.go"))


def java(folder):
    return f"{JAVA_CLASS}\n{twins(JAVA, java_twin, folder, '*.java')}}}\n"


def main(language, folder, output):
    Path(output).write_text({"go": go, "java": java}[language](folder), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
