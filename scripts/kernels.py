"""Compiles the kernels of fixtures/kernels; see scripts/kernels.sh, which runs this.

A source says how its PTX is made, one line a file:

    // build: scan.ptx: nvcc -arch=sm_75
    // build: scan.debug.ptx: nvcc -arch=sm_75 -G
    // build: scan.nvrtc.ptx: nvrtc --gpu-architecture=compute_80

`nvcc` is called with `-ptx` and the options named; `nvrtc` is the run-time compiler's library.

Names of internal symbols and debug information hold the path of the source, so all is compiled in one fixed folder.
"""

import argparse
import ctypes
import importlib.util
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "fixtures/kernels"
ROOT = pathlib.Path("/tmp/soft-gpu-kernels")
BUILD = re.compile(r"^// build: (\S+\.ptx): (nvcc|nvrtc)( .*)?$", re.MULTILINE)


def nvcc(source: str, output: str, options: list[str]) -> None:
    command = ["cuda/bin/nvcc", "-ptx", *options, source, "-o", output]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        sys.exit(f"{source}: nvcc does not make {output}")


def nvrtc(source: str, output: str, options: list[str]) -> None:
    library = ctypes.CDLL(next((ROOT / "cuda/lib").glob("libnvrtc.so.*")))
    program = ctypes.c_void_p()
    text = (ROOT / source).read_bytes()
    arguments = [option.encode() for option in [*options, f"--include-path={ROOT}/cuda/include"]]

    def call(name: str, *values) -> None:
        status = getattr(library, name)(*values)
        if status != 0:
            sys.exit(f"{source}: {name} gives {status}\n{log() if name == 'nvrtcCompileProgram' else ''}")

    def text_of(kind: str) -> bytes:
        size = ctypes.c_size_t()
        call(f"nvrtcGet{kind}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        call(f"nvrtcGet{kind}", program, buffer)
        return buffer.value

    def log() -> str:
        return text_of("ProgramLog").decode()

    call("nvrtcCreateProgram", ctypes.byref(program), text, source.encode(), 0, None, None)
    call("nvrtcCompileProgram", program, len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
    (ROOT / output).write_bytes(text_of("PTX"))
    call("nvrtcDestroyProgram", ctypes.byref(program))


def builds(names: list[str]) -> list[tuple[pathlib.Path, str, str, list[str]]]:
    """Source, output, tool and options of each file to make."""
    sources = [KERNELS / f"{name}.cu" for name in names] or sorted(KERNELS.glob("*.cu"))
    found = []
    for source in sources:
        lines = BUILD.findall(source.read_text())
        if not lines:
            sys.exit(f"{source} has no `// build:` line")
        found += [(source, output, tool, shlex.split(options)) for output, tool, options in lines]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/kernels.sh")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with the committed files")
    what.add_argument("--write", action="store_true", help="replace the committed files")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()

    planned = builds(options.names)
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir()
    spec = importlib.util.find_spec("nvidia")
    (ROOT / "cuda").symlink_to(pathlib.Path(spec.submodule_search_locations[0]) / "cu13")
    differing = []
    for source, output, tool, arguments in planned:
        shutil.copy(source, ROOT)
        (nvcc if tool == "nvcc" else nvrtc)(source.name, output, arguments)
        made, committed = ROOT / output, KERNELS / output
        if options.write:
            shutil.copy(made, committed)
        elif options.check and not (committed.is_file() and committed.read_bytes() == made.read_bytes()):
            differing.append(output)
    if options.check and not options.names:
        made = {output for _, output, _, _ in planned}
        differing += sorted(path.name for path in KERNELS.glob("*.ptx") if path.name not in made)
    if not options.check and not options.write:
        print(ROOT)
    for output in differing:
        print(f"fixtures/kernels/{output} is not what its source gives", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
