"""Compiles each program of the documentation that must not compile, and fails unless it is refused
for the reason that it names, and for no other: rustdoc itself sees only that it is refused.

    must_not_compile.py CRATE TARGET_DIRECTORY
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = re.compile(r"^[ /!]*```compile_fail,(E\d+)$\n(.*?)^[ /!]*```$", re.M | re.S)


def programs(crate: Path):
    for path in sorted([*crate.glob("src/*.rs"), *crate.glob("*.md"), *crate.glob("tests/*.md")]):
        text = path.read_text(encoding="utf-8")
        for found in PROGRAM.finditer(text):
            lines = [re.sub(r"^\s*//[/!] ?", "", line) for line in found[2].splitlines()]
            lines = [re.sub(r"^\s*# ?(?!\[)", "", line) for line in lines]
            place = f"{path.name}:{text.count(chr(10), 0, found.start()) + 1}"
            yield place, found[1], "\n".join(["fn main() { let _ = (|| {", *lines, "})(); }"])


def refusals(library: Path, program: str) -> set[str]:
    """The codes of the errors."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.rs"
        source.write_text(program, encoding="utf-8")
        said = subprocess.run(
            ["rustc", "--edition", "2021", "--emit", "metadata", "--error-format", "json",
             "--out-dir", folder, "--extern", f"tutti={library}", "-L", library.parent, source],
            capture_output=True, text=True, check=False).stderr
    messages = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    errors = [one for one in messages if one["level"] == "error" and one["spans"]]
    return {one["code"]["code"] if one["code"] else one["message"] for one in errors}


def main(crate: str, target: str) -> int:
    libraries = Path(target).glob("*/deps/libtutti-*.rlib")
    library = max(libraries, key=lambda path: path.stat().st_mtime)
    count, faults = 0, []
    for place, wanted, program in programs(Path(crate)):
        count += 1
        got = refusals(library, program)
        if got != {wanted}:
            faults.append(f"{place}: {wanted} is wanted; rustc says {sorted(got) or 'nothing'}")
    if count < 10:
        faults.append(f"only {count} programs found in {crate}")
    print("\n".join(faults) or f"{count} programs, each refused for its reason")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
