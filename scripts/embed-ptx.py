#!/usr/bin/env python3
"""Rewrites the PTX text that fixtures carry from the files it came from.

A fixture says where a text goes and which file it is:

    ;; embed kernels/scan.ptx at 4096
    ;; end of kernels/scan.ptx

Everything between the two lines is replaced by a data segment with the file's exact bytes.

Usage: scripts/embed-ptx.py [--check] [FIXTURE...]    (all fixtures when none is named)

With --check nothing is written; the exit status is 1 when a fixture differs from its files.
"""

import pathlib
import re
import sys

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
BLOCK = re.compile(
    r"^( *);; embed (\S+) at (\S+)\n.*?^ *;; end of \2$", re.MULTILINE | re.DOTALL
)


def quoted(line: bytes) -> str:
    """One line of the file as a WAT string, its line end included."""
    named = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
    plain = (
        named.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:02x}")
        for byte in line
    )
    return '"' + "".join(plain) + '"'


def embedded(match: re.Match) -> str:
    indent, name, offset = match.groups()
    lines = (FIXTURES / name).read_bytes().splitlines(keepends=True)
    strings = "".join(f"\n{indent}  {quoted(line)}" for line in lines)
    return (
        f"{indent};; embed {name} at {offset}\n"
        f"{indent}(data (i32.const {offset}){strings})\n"
        f"{indent};; end of {name}"
    )


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    paths = [pathlib.Path(a) for a in arguments if a != "--check"]
    stale = []
    for path in paths or sorted(FIXTURES.rglob("*.wat")):
        before = path.read_bytes().decode()
        after = BLOCK.sub(embedded, before)
        if after != before:
            stale.append(path)
            if not check:
                path.write_bytes(after.encode())
    for path in stale:
        print(f"{path}: {'differs from its PTX files' if check else 'rewritten'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
