#!/usr/bin/env python3
"""Writes down what soft-cuda exports, from its own sources and NVIDIA's header.

Usage: scripts/soft-cuda-surface.py INCLUDE_FOLDER

INCLUDE_FOLDER holds cuda.h, cudaTypedefs.h and cudaProfilerTypedefs.h of a CUDA toolkit; only names and version numbers are taken from them. Written are, in
reference-host/soft-cuda/src/api: absent.rs, with a function that answers "not supported" for each one of the header that no other file has;
versions.txt, the symbol of each function by the version that a program was built for; surface.txt, every symbol with the file that has it.
Run it after functions were added; tests fail until then.
"""

import re
import sys
from pathlib import Path

API = Path(__file__).resolve().parent.parent / "reference-host/soft-cuda/src/api"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    include = Path(sys.argv[1])
    header = (include / "cuda.h").read_text()
    profiler = (include / "cudaProfilerTypedefs.h").read_text()
    typedefs = (include / "cudaTypedefs.h").read_text() + profiler
    symbols = set(re.findall(r"CUDAAPI\s+(cu[A-Z]\w*)\s*\(", header))
    symbols |= set(re.findall(r"#define\s+cu\w+\s+(?:__CUDA_API_PT[DS][SZ]\()?(cu[A-Z]\w+)", header))
    symbols |= set(re.findall(r"PFN_(cu\w+?)_v\d+\)", profiler))
    symbols = {name for name in symbols if not re.search(r"_pt[ds][sz]$", name)}
    done = {}
    for file in sorted(API.rglob("*.rs")):
        chapter = file.relative_to(API).parts[0].removesuffix(".rs")
        if chapter not in ("absent", "mod"):
            # What the sources name outside comments and texts they have: nothing here calls an export.
            code = re.sub(r'//.*|"[^"\n]*"', "", file.read_text())
            for name in symbols & set(re.findall(r"\bcu[A-Z]\w*", code)):
                done[name] = chapter
    absent = sorted(symbols - done.keys())
    (API / "absent.rs").write_text(
        "//! Functions of the driver API that are not there: each answers that it is not supported, whatever its arguments.\n"
        "//!\n"
        "//! Written by `scripts/soft-cuda-surface.py`.\n\n"
        "use crate::call::absent;\n\n"
        "absent! {\n" + "".join(f"    {name}\n" for name in absent) + "}\n"
    )
    rows = sorted([*done.items(), *((name, "absent") for name in absent)])
    (API / "surface.txt").write_text("".join(f"{name} {chapter}\n" for name, chapter in rows))
    (API / "versions.txt").write_text(
        "".join(f"{name} {version} {symbol}\n" for name, version, symbol in versions(typedefs, symbols))
    )
    print(f"{len(done)} functions are there, {len(absent)} are not")


def versions(typedefs, symbols):
    """Each function's versions with their symbols: the newest version has the newest symbol, and so on back."""
    plain, per_thread = {}, {}
    for name, version, suffix in re.findall(r"PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)", typedefs):
        (per_thread if suffix else plain).setdefault(name, set()).add(int(version))
    rows = [("cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags")]
    for name, known in {**per_thread, **plain}.items():
        forms = [name, *(f"{name}_v{number}" for number in range(2, 10))]
        forms = [form for form in forms if form in symbols]
        known = sorted(known)
        fitting = min(len(forms), len(known))
        rows += [(name, *row) for row in zip(known[-fitting:], forms[-fitting:])]
    return sorted(rows)


main()
