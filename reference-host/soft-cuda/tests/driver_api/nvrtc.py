"""Compiles CUDA C++ with NVRTC while the driver is loaded, and runs what comes of it.

Usage: nvrtc.py sums.cu libnvrtc.so
"""

import ctypes
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_void_p

from driver import Driver, check, fail, finish

THREADS, BLOCKS, COUNT = 128, 5, 600


def compiled(path, source, name):
    """The PTX of a source, and what a kernel is called in it."""
    nvrtc = ctypes.CDLL(path)

    def call(function, *arguments):
        code = getattr(nvrtc, function)(*arguments)
        if code != 0:
            fail(function, 0, code)

    program, lowered, size = c_void_p(), c_char_p(), c_size_t()
    call("nvrtcCreateProgram", byref(program), source, b"sums.cu", 0, None, None)
    call("nvrtcAddNameExpression", program, name)
    options = (c_char_p * 1)(b"--gpu-architecture=compute_90")
    code = nvrtc.nvrtcCompileProgram(program, 1, options)
    if code != 0:
        call("nvrtcGetProgramLogSize", program, byref(size))
        log = ctypes.create_string_buffer(size.value)
        call("nvrtcGetProgramLog", program, log)
        fail("compilation", 0, f"{code}: {log.value.decode()}")
    call("nvrtcGetLoweredName", program, name, byref(lowered))
    kernel = lowered.value.decode()
    call("nvrtcGetPTXSize", program, byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    call("nvrtcGetPTX", program, ptx)
    call("nvrtcDestroyProgram", byref(program))
    return ptx.value, kernel


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        source = file.read()
    cuda, context = Driver(), c_void_p()
    cuda.must(cuda.cuInit(0))
    cuda.must(cuda.cuCtxCreate(byref(context), 0, 0))
    ptx, name = compiled(sys.argv[2], source, f"scaled_sums<{THREADS}>".encode())
    check("NVRTC compiles beside the driver", True, b".target sm_90" in ptx)
    values = (c_float * COUNT)(*range(COUNT))
    sums = (c_float * BLOCKS)()
    x, y = cuda.upload(values), cuda.upload(sums)
    module = cuda.module(ptx)
    launched = cuda.launch(cuda.kernel(module, name), BLOCKS, THREADS, y, x, c_float(0.5), c_int(COUNT))
    check("the driver takes its PTX", 0, launched)
    expected = [0.5 * sum(values[block * THREADS : (block + 1) * THREADS]) for block in range(BLOCKS)]
    check("and computes what the source says", expected, list(cuda.download(y, sums)))
    cuda.must(cuda.cuCtxDestroy(context))
    finish()


if __name__ == "__main__":
    main()
