#!/usr/bin/env python3
"""Compares Java's raw layer with the headers: the types of functions' parameters, constants, and the
fields of structs. Each that is missing or different is named.

    raw_layer.py GENERATED_FOLDER TREE.xml INCLUDE_FOLDER MODEL_FOLDER
"""
import re
import sys
from pathlib import Path

NUMBERS = {"int32_t": "int", "uint32_t": "int", "int64_t": "long", "uint64_t": "long",
           "size_t": "long", "double": "double", "void": "void"}


def java_type(model, type_):
    enumerations = {enumeration.name: enumeration.underlying for enumeration in model.enumerations}
    callbacks = {callback.name for callback in model.callbacks}
    if type_.pointers or type_.name in callbacks:
        return "long"
    return NUMBERS[enumerations.get(type_.name, type_.name)]


def declared_functions(text):
    """name: [result, parameter types...] of Raw.java."""
    functions = {}
    for result, name, parameters in re.findall(
            r"public static (\w+) (\w+)\(([^)]*)\)", text):
        types = [parameter.split()[0] for parameter in parameters.split(",") if parameter.strip()]
        functions[name] = [result] + types
    return functions


def compare_functions(model, raw):
    declared = declared_functions(raw)
    for function in model.functions:
        wanted = [java_type(model, function.result)]
        wanted += [java_type(model, parameter.type) for parameter in function.parameters]
        got = declared.get(function.name)
        if got != wanted:
            yield f"{function.name} is of {got}, not {wanted}"
        summary = " ".join(function.comment.summary.split())[:40]
        if not function.comment.text or summary.split(".")[0] not in flat(raw):
            yield f"{function.name} has no comment of the header"


FLAT = {}


def flat(raw):
    """The comments without SWIG's line breaks."""
    if raw not in FLAT:
        FLAT[raw] = re.sub(r"\s+", " ", raw.replace("<br>", "").replace("\n   * ", " ")
                           .replace("&gt;", ">").replace("&lt;", "<").replace("&quot;", '"'))
    return FLAT[raw]


def compare_constants(model, constants):
    declared = dict(re.findall(r"public final static \w+ (\w+) = ([^;]+);", constants))
    for enumeration in model.enumerations:
        for value in enumeration.values:
            if declared.get(value.name) != str(value.value):
                yield f"{value.name} is {declared.get(value.name)}, not {value.value}"
    for constant in model.constants:
        if not {constant.name, constant.name.removeprefix("TUTTI_")} & set(declared):
            yield f"{constant.name} is missing (layout.i)"
    for struct in model.structs:
        for name in [f"sizeof_{struct.name}"] + [f"{struct.name}_{f.name}" for f in struct.fields]:
            if name not in declared:
                yield f"{name} is missing (layout.i)"


def main(generated, tree, include, model_folder):
    sys.path.insert(0, model_folder)
    import model as models
    model = models.read(tree, include)
    raw = (Path(generated) / "Raw.java").read_text(encoding="utf-8")
    constants = (Path(generated) / "RawConstants.java").read_text(encoding="utf-8")
    faults = [*compare_functions(model, raw), *compare_constants(model, constants)]
    for fault in faults:
        print(fault)
    print(f"{len(model.functions)} functions, {len(model.structs)} structs compared,"
          f" {len(faults)} faults")
    return 1 if faults or not model.functions else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
