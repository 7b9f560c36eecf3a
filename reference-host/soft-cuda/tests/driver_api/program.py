"""Drives a CUDA driver as a program that knows nothing of who made it: by dlopen, cuGetProcAddress and Python's ctypes.

Usage: program.py kernels.ptx
"""

import ctypes
import sys
import threading
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

from driver import (
    ILLEGAL_ADDRESS,
    INVALID_CONTEXT,
    INVALID_HANDLE,
    INVALID_PTX,
    INVALID_VALUE,
    NOT_FOUND,
    NOT_INITIALIZED,
    SUCCESS,
    Driver,
    check,
    finish,
)

COUNT = 500
Floats = c_float * COUNT


def devices(cuda):
    number, version, warp = c_int(), c_int(), c_int()
    check("a call before cuInit", NOT_INITIALIZED, cuda.cuDeviceGetCount(byref(number)))
    check("cuInit", SUCCESS, cuda.cuInit(0))
    cuda.must(cuda.cuDeviceGetCount(byref(number)))
    check("there is a device", True, number.value >= 1)
    cuda.must(cuda.cuDriverGetVersion(byref(version)))
    check("the driver knows this program's version", True, version.value >= 12000)
    cuda.must(cuda.cuDeviceGetAttribute(byref(warp), 10, 0))
    check("a warp has 32 threads", 32, warp.value)
    table = c_void_p()
    check("no private tables", NOT_FOUND, cuda.cuGetExportTable(byref(table), b"0123456789abcdef"))


def vectors(cuda, source):
    module = cuda.module(source)
    add = cuda.kernel(module, "add")
    ones = Floats(*[1.0] * COUNT)
    ramp = Floats(*range(COUNT))
    a, b, sums = cuda.upload(ones), cuda.upload(ramp), cuda.upload(Floats())
    expected = [1.0 + i for i in range(COUNT)]
    check("a launch with kernelParams", SUCCESS, cuda.launch(add, 2, 256, a, b, sums, c_uint(COUNT)))
    check("vectors are added", expected, list(cuda.download(sums, ones)))

    class Arguments(ctypes.Structure):
        _fields_ = [("a", c_uint64), ("b", c_uint64), ("c", c_uint64), ("n", c_uint)]

    packed, size = Arguments(b.value, b.value, sums.value, COUNT), c_size_t(28)
    extra = (c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), None)
    check("a launch with extra", SUCCESS, cuda.cuLaunchKernel(add, 2, 1, 1, 256, 1, 1, 0, None, None, extra))
    check("arguments came from the buffer", [2.0 * i for i in range(COUNT)], list(cuda.download(sums, ones)))
    size.value = 20
    refused = cuda.cuLaunchKernel(add, 2, 1, 1, 256, 1, 1, 0, None, None, extra)
    check("a buffer that is too short", INVALID_VALUE, refused)

    most, blocks = c_int(), c_int()
    cuda.must(cuda.cuFuncGetAttribute(byref(most), 0, add))
    check("blocks of up to 1024 threads", 1024, most.value)
    cuda.must(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(blocks), add, 256, 0))
    check("a multiprocessor takes a block", True, blocks.value >= 1)

    address, size = c_uint64(), c_size_t()
    cuda.must(cuda.cuModuleGetGlobal(byref(address), byref(size), module, b"launches"))
    cuda.must(cuda.launch(cuda.kernel(module, "count"), 3, 32))
    check("a module's variable counts threads", 99, cuda.download(address, (c_uint * 1)())[0])
    for memory in (a, b, sums):
        cuda.must(cuda.cuMemFree(memory))
    cuda.must(cuda.cuModuleUnload(module))


def streams(cuda):
    one, other, start, end = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    cuda.must(cuda.cuStreamCreate(byref(one), 0))
    cuda.must(cuda.cuStreamCreate(byref(other), 1))
    cuda.must(cuda.cuEventCreate(byref(start), 0))
    cuda.must(cuda.cuEventCreate(byref(end), 0))
    words = (c_uint * COUNT)()
    memory = c_uint64()
    check("stream-ordered memory", SUCCESS, cuda.cuMemAllocAsync(byref(memory), ctypes.sizeof(words), one))
    cuda.must(cuda.cuEventRecord(start, one))
    cuda.must(cuda.cuMemsetD32Async(memory, 77, COUNT, one))
    cuda.must(cuda.cuMemcpyDtoHAsync(words, memory, ctypes.sizeof(words), one))

    called = threading.Event()
    codes = []

    def note(_):
        # The driver may not be called from here.
        number = c_uint64()
        codes.append(cuda.cuMemAlloc(byref(number), 4))
        called.set()

    function = ctypes.CFUNCTYPE(None, c_void_p)(note)
    cuda.must(cuda.cuLaunchHostFunc(one, function, None))
    check("a function is called without anybody asking the driver", True, called.wait(60))
    check("which may not call the driver itself", [800], codes)
    cuda.must(cuda.cuEventRecord(end, one))
    check("the stream ends", SUCCESS, cuda.cuStreamSynchronize(one))
    check("the words were set", [77] * COUNT, list(words))
    cuda.must(cuda.cuEventSynchronize(end))
    milliseconds = c_float(-1)
    check("time between events", SUCCESS, cuda.cuEventElapsedTime(byref(milliseconds), start, end))
    check("went forward", True, milliseconds.value >= 0)
    check("memory is freed in the stream", SUCCESS, cuda.cuMemFreeAsync(memory, one))
    cuda.must(cuda.cuStreamSynchronize(one))
    check("and is gone", INVALID_VALUE, cuda.cuMemcpyDtoH(words, memory, 4))
    for stream in (one, other):
        cuda.must(cuda.cuStreamDestroy(stream))
    check("a stream that was destroyed", INVALID_HANDLE, cuda.cuStreamSynchronize(one))
    for event in (start, end):
        cuda.must(cuda.cuEventDestroy(event))

    managed = c_uint64()
    cuda.must(cuda.cuMemAllocManaged(byref(managed), 64, 1))
    cuda.must(cuda.cuMemsetD8(managed, 9, 64))
    cuda.must(cuda.cuCtxSynchronize())
    check("managed memory is read by its address", b"\x09" * 64, ctypes.string_at(managed.value, 64))
    cuda.must(cuda.cuMemFree(managed))


class KernelNode(ctypes.Structure):
    _fields_ = (
        [("func", c_void_p)]
        + [(f"{of}{axis}", c_uint) for of in ("grid", "block") for axis in "xyz"]
        + [("shared", c_uint), ("params", c_void_p), ("extra", c_void_p), ("kern", c_void_p), ("ctx", c_void_p)]
    )


class Copy(ctypes.Structure):
    """CUDA_MEMCPY3D"""

    _fields_ = [
        (f"{end}_{name}", kind)
        for end in ("src", "dst")
        for name, kind in [
            ("x", c_size_t),
            ("y", c_size_t),
            ("z", c_size_t),
            ("lod", c_size_t),
            ("type", c_uint),
            ("host", c_void_p),
            ("device", c_uint64),
            ("array", c_void_p),
            ("reserved", c_void_p),
            ("pitch", c_size_t),
            ("height", c_size_t),
        ]
    ] + [("width", c_size_t), ("height", c_size_t), ("depth", c_size_t)]


def graphs(cuda, source, context):
    module = cuda.module(source)
    ramp, sums = Floats(*range(COUNT)), Floats()
    a, c = cuda.upload(ramp), cuda.upload(sums)
    count = c_uint(COUNT)
    params = (c_void_p * 4)(*map(ctypes.addressof, (a, a, c, count)))
    graph, executable = c_void_p(), c_void_p()
    check("a graph", SUCCESS, cuda.cuGraphCreate(byref(graph), 0))
    node = KernelNode(cuda.kernel(module, "add"), 4, 1, 1, 128, 1, 1, 0, ctypes.addressof(params), None, None, None)
    add, back = c_void_p(), c_void_p()
    check("a node that launches", SUCCESS, cuda.cuGraphAddKernelNode(byref(add), graph, None, 0, byref(node)))
    copy = Copy(src_type=2, src_device=c.value, dst_type=1, dst_host=ctypes.addressof(sums))
    copy.width, copy.height, copy.depth = ctypes.sizeof(sums), 1, 1
    after = cuda.cuGraphAddMemcpyNode(byref(back), graph, byref(add), 1, byref(copy), context)
    check("a node that copies", SUCCESS, after)
    check("made ready", SUCCESS, cuda.cuGraphInstantiateWithFlags(byref(executable), graph, 0))
    for turn in (1, 2):
        sums[COUNT - 1] = 0
        check(f"launch {turn}", SUCCESS, cuda.cuGraphLaunch(executable, None))
        cuda.must(cuda.cuCtxSynchronize())
        check(f"sums of launch {turn}", [2.0 * i for i in range(COUNT)], list(sums))
    params[1] = ctypes.addressof(c)
    check("another argument", SUCCESS, cuda.cuGraphExecKernelNodeSetParams(executable, add, byref(node)))
    cuda.must(cuda.cuGraphLaunch(executable, None))
    cuda.must(cuda.cuCtxSynchronize())
    check("sums with that", [3.0 * i for i in range(COUNT)], list(sums))
    cuda.must(cuda.cuGraphExecDestroy(executable))
    check("a launch after its end", INVALID_VALUE, cuda.cuGraphLaunch(executable, None))
    cuda.must(cuda.cuGraphDestroy(graph))
    for memory in (a, c):
        cuda.must(cuda.cuMemFree(memory))
    cuda.must(cuda.cuModuleUnload(module))


def linking(cuda, source):
    linker, image, size = c_void_p(), c_void_p(), c_size_t()
    cuda.must(cuda.cuLinkCreate(0, None, None, byref(linker)))
    added = cuda.cuLinkAddData(linker, 1, source, len(source) + 1, b"kernels.ptx", 0, None, None)
    check("PTX for the linker", SUCCESS, added)
    check("linked", SUCCESS, cuda.cuLinkComplete(linker, byref(image), byref(size)))
    copied = ctypes.string_at(image.value, size.value)
    cuda.must(cuda.cuLinkDestroy(linker))
    module = cuda.module(copied)
    word = cuda.upload((c_uint * 1)())
    cuda.must(cuda.launch(cuda.kernel(module, "store"), 1, 1, word, c_uint(41)))
    check("a copy of the image was loaded and runs", 41, cuda.download(word, (c_uint * 1)())[0])
    cuda.must(cuda.cuModuleUnload(module))

    library, function = c_void_p(), c_void_p()
    loaded = cuda.cuLibraryLoadData(byref(library), source, None, None, 0, None, None, 0)
    check("a library", SUCCESS, loaded)
    check("its kernel", SUCCESS, cuda.cuLibraryGetKernel(byref(function), library, b"store"))
    check("launched by its own handle", SUCCESS, cuda.launch(function, 1, 1, word, c_uint(42)))
    check("which did it", 42, cuda.download(word, (c_uint * 1)())[0])
    check("a kernel that it has not", NOT_FOUND, cuda.cuLibraryGetKernel(byref(function), library, b"none"))
    cuda.must(cuda.cuLibraryUnload(library))
    check("launching after that", INVALID_HANDLE, cuda.launch(function, 1, 1, word, c_uint(43)))
    cuda.must(cuda.cuMemFree(word))


def refusals(cuda, source):
    module, log = c_void_p(), ctypes.create_string_buffer(b"\xaa" * 512)
    options, values = (c_int * 2)(5, 6), (c_void_p * 2)(ctypes.addressof(log), 500)
    bad = b".version 8.0\n.target sm_80\n.address_size 64\n.entry e()\n{\n    add.u33 %r1, %r2, %r3;\n}\n"
    refused = cuda.cuModuleLoadDataEx(byref(module), bad, 2, options, values)
    check("PTX with a type that is none", INVALID_PTX, refused)
    check("the log names the line", True, b"line 6" in log.value)
    check("and ends before its end", True, len(log.value) < 500 and log.raw[500] == 0xAA)
    check("a handle that is none", INVALID_HANDLE, cuda.cuModuleUnload(c_void_p(0x5EED)))
    check("no handle", INVALID_HANDLE, cuda.cuModuleUnload(None))
    check("no place for an answer", INVALID_VALUE, cuda.cuMemAlloc(None, 4))

    inside = threading.Event()
    result = []

    def elsewhere():
        # A thread has no context until it makes one current.
        memory = c_uint64()
        result.append(cuda.cuMemAlloc(byref(memory), 4))
        inside.set()

    threading.Thread(target=elsewhere).start()
    check("another thread", True, inside.wait(60))
    check("has no context", [INVALID_CONTEXT], result)


def illegal_address(cuda, source):
    lost, before = c_void_p(), c_void_p()
    cuda.must(cuda.cuCtxGetCurrent(byref(before)))
    cuda.must(cuda.cuCtxCreate(byref(lost), 0, 0))
    word, number = cuda.upload((c_uint * 1)()), c_uint64()
    cuda.must(cuda.cuMemFree(word))
    cuda.must(cuda.launch(cuda.kernel(cuda.module(source), "store"), 1, 1, word, c_uint(1)))
    check("a store to memory that was freed", ILLEGAL_ADDRESS, cuda.cuCtxSynchronize())
    check("is told again", ILLEGAL_ADDRESS, cuda.cuMemAlloc(byref(number), 4))
    cuda.cuCtxDestroy(lost)
    now = c_void_p()
    cuda.must(cuda.cuCtxGetCurrent(byref(now)))
    check("the context of before is current again", before.value, now.value)
    check("and works", SUCCESS, cuda.cuMemAlloc(byref(number), 4))
    cuda.must(cuda.cuMemFree(number))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        source = file.read()
    cuda = Driver()
    devices(cuda)
    context, memory = c_void_p(), c_uint64()
    cuda.must(cuda.cuCtxCreate(byref(context), 0, 0))
    vectors(cuda, source)
    streams(cuda)
    graphs(cuda, source, context)
    linking(cuda, source)
    refusals(cuda, source)
    illegal_address(cuda, source)
    check("the end of the context", SUCCESS, cuda.cuCtxDestroy(context))
    check("nothing works without one", INVALID_CONTEXT, cuda.cuMemAlloc(byref(memory), 4))
    finish()


if __name__ == "__main__":
    main()
