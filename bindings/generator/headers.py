"""What the public headers declare, read from their text and not by SWIG, so that what comes of SWIG
can be compared with it."""
import re
from pathlib import Path

FEWEST = 100  # functions; fewer are not the headers
# Headers for authors of backends and stores, whose functions take tables of C functions: no binding
# has them, and tutti.i leaves them out.
FOR_AUTHORS_IN_C = {"ext.h"}


def count_parameters(text: str) -> int:
    """How many there are: commas that are in no brackets, and one more."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).strip()
    while re.search(r"\([^()]*\)", text):
        text = re.sub(r"\([^()]*\)", "", text)
    return 0 if text in ("", "void") else text.count(",") + 1


def functions(include) -> dict[str, int]:
    """How many parameters each function has. ValueError if there are hardly any."""
    paths = sorted(path for path in Path(include, "tutti").glob("*.h")
                   if path.name not in FOR_AUTHORS_IN_C)
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)
    found = {name: count_parameters(parameters) for name, parameters in
             re.findall(r"TUTTI_API\s[^;(]*?\b(tutti_\w+)\s*\(([^;]*)\)\s*;", text)}
    if len(found) < FEWEST:
        raise ValueError(f"only {len(found)} functions were found in {include}/tutti")
    return found


def differences(include, raw: dict[str, int]) -> list[str]:
    """What is wrong with a raw layer whose functions have so many parameters."""
    headers = functions(include)
    faults = [f"{name}: missing in the raw layer" for name in sorted(headers.keys() - raw.keys())]
    faults += [f"{name}: in the raw layer, but in no header"
               for name in sorted(raw.keys() - headers.keys())]
    faults += [f"{name}: {count} parameters in the header, {raw[name]} in the raw layer"
               for name, count in headers.items() if raw.get(name, count) != count]
    return faults


def report(include, faults) -> int:
    """Prints them, or that there are none; the exit status."""
    print("\n".join(faults) or f"{len(functions(include))} functions of the headers, all there")
    return 1 if faults else 0
