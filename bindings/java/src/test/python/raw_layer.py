#!/usr/bin/env python3
"""Compares Java's raw layer with the headers: functions with their parameters' types, constants,
and the fields of structs. What is missing, extra or different is named.

    raw_layer.py GENERATED_FOLDER TREE.xml INCLUDE_FOLDER HAND_WRITTEN_FOLDER MODEL_FOLDER
"""
import re
import sys
from pathlib import Path

NUMBERS = {"int32_t": "int", "uint32_t": "int", "int64_t": "long", "uint64_t": "long",
           "size_t": "long", "double": "double", "void": "void"}
# What the hand-written layer does in another way.
NOT_CALLED = {
    "tutti_error_init": "the frame writes its one error itself",
    "tutti_status_name": "the names of Status",
    "tutti_dtype_size": "DType.size()",
    "tutti_buffer_from_dlpack": "arrays go in as they are; tensors of DLPack come from C",
    "tutti_buffer_from_dlpack_versioned": "as tutti_buffer_from_dlpack",
    "tutti_mesh_get_all_groups": "Mesh.getGroup, for each dimension",
    "tutti_spawn": "a virtual machine cannot be forked; Spawn starts new ones",
    "tutti_spawn_options_init": "as tutti_spawn",
}

NOT_CALLED |= dict.fromkeys(("tutti_reducer_set_power_sgd", "tutti_power_sgd_options_init"),
                            "not yet; tutti.raw has it")


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
        if function.name not in declared:
            yield f"{function.name} is missing"
            continue
        got = declared.pop(function.name)
        if len(got) != len(wanted):
            yield f"{function.name} has {len(got) - 1} parameters, not {len(wanted) - 1}"
        elif got != wanted:
            yield f"{function.name} is of {got}, not {wanted}"
        summary = " ".join(function.comment.summary.split())[:40]
        if not function.comment.text or summary.split(".")[0] not in flat(raw):
            yield f"{function.name} has no comment of the header"
    for name in declared:
        yield f"{name} is in no header"


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


def compare_calls(model, written):
    called = set(re.findall(r"Raw(?:\.|::)(tutti_\w+)", written))
    names = {function.name for function in model.functions}
    for name in sorted(names - called - set(NOT_CALLED)):
        yield f"{name} is not used by the layer written by hand"
    for name in sorted(called & set(NOT_CALLED)):
        yield f"{name} is used, and the list of what is not has it"


def main(generated, tree, include, written, model_folder):
    sys.path.insert(0, model_folder)
    import model as models
    model = models.read(tree, include)
    raw = (Path(generated) / "Raw.java").read_text(encoding="utf-8")
    constants = (Path(generated) / "RawConstants.java").read_text(encoding="utf-8")
    hand = "\n".join(path.read_text(encoding="utf-8") for path in Path(written).glob("*.java"))
    faults = [*compare_functions(model, raw), *compare_constants(model, constants),
              *compare_calls(model, hand)]
    for fault in faults:
        print(fault)
    print(f"{len(model.functions)} functions, {len(model.structs)} structs compared,"
          f" {len(faults)} faults")
    return 1 if faults or not model.functions else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
