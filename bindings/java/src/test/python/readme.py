#!/usr/bin/env python3
"""Whether the README's Java compiles: the first program is the example to the letter, and every
other piece stands in a method that has a group.

    readme.py README.md EXAMPLE.java JAVAC CLASS_PATH
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FRAME = """
import java.nio.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import tutti.*;

class Piece%d {
    static class Main {}

    static void run(Group group) throws Exception {
%s
    }
}
"""


def main(readme, example, javac, class_path):
    pieces = re.findall(r"^```java\n(.*?)^```$", Path(readme).read_text(encoding="utf-8"),
                        re.M | re.S)
    if len(pieces) < 2 or pieces[0] != Path(example).read_text(encoding="utf-8"):
        print(f"{readme}: the first program is not {example}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, piece in enumerate(pieces[1:]):
            files.append(Path(folder) / f"Piece{number}.java")
            files[-1].write_text(FRAME % (number, piece), encoding="utf-8")
        done = subprocess.run([javac, "-encoding", "UTF-8", "--release", "17", "-cp", class_path,
                               "-d", folder, *map(str, files)])
    print(f"{len(pieces)} pieces of Java")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
