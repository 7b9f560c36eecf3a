"""The CUDA driver API through ctypes: the library by dlopen, its functions by cuGetProcAddress, and checks that print a line each."""

import ctypes
import sys
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

VERSION = 12000
# Functions whose signature was another in that version.
VERSIONS = {"cuCtxCreate": 3020}
SUCCESS = 0
INVALID_VALUE = 1
NOT_INITIALIZED = 3
INVALID_CONTEXT = 201
INVALID_PTX = 218
INVALID_HANDLE = 400
NOT_FOUND = 500
ILLEGAL_ADDRESS = 700

# What each function takes: p a pointer or a handle, i an int, u an unsigned int, z a size, d 64 bits.
SIGNATURES = {
    "cuInit": "u",
    "cuDriverGetVersion": "p",
    "cuDeviceGetCount": "p",
    "cuDeviceGetAttribute": "pii",
    "cuDevicePrimaryCtxRetain": "pi",
    "cuDevicePrimaryCtxRelease": "i",
    "cuCtxCreate": "pui",
    "cuCtxDestroy": "p",
    "cuCtxPushCurrent": "p",
    "cuCtxPopCurrent": "p",
    "cuCtxGetCurrent": "p",
    "cuCtxSetCurrent": "p",
    "cuCtxSynchronize": "",
    "cuModuleLoadData": "pp",
    "cuModuleLoadDataEx": "ppupp",
    "cuModuleUnload": "p",
    "cuModuleGetFunction": "ppp",
    "cuModuleGetGlobal": "pppp",
    "cuFuncGetAttribute": "pip",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": "ppiz",
    "cuLaunchKernel": "puuuuuuuppp",
    "cuLibraryLoadData": "pppppppu",
    "cuLibraryGetKernel": "ppp",
    "cuLibraryUnload": "p",
    "cuLinkCreate": "uppp",
    "cuLinkAddData": "pupzpupp",
    "cuLinkComplete": "ppp",
    "cuLinkDestroy": "p",
    "cuMemAlloc": "pz",
    "cuMemAllocAsync": "pzp",
    "cuMemAllocManaged": "pzu",
    "cuMemFree": "d",
    "cuMemFreeAsync": "dp",
    "cuMemGetInfo": "pp",
    "cuMemcpyHtoD": "dpz",
    "cuMemcpyDtoH": "pdz",
    "cuMemcpyDtoHAsync": "pdzp",
    "cuMemsetD8": "dBz",
    "cuMemsetD32Async": "duzp",
    "cuPointerGetAttribute": "pid",
    "cuStreamCreate": "pu",
    "cuStreamDestroy": "p",
    "cuStreamSynchronize": "p",
    "cuLaunchHostFunc": "ppp",
    "cuEventCreate": "pu",
    "cuEventDestroy": "p",
    "cuEventRecord": "pp",
    "cuEventSynchronize": "p",
    "cuEventElapsedTime": "ppp",
    "cuGraphCreate": "pu",
    "cuGraphDestroy": "p",
    "cuGraphAddKernelNode": "pppzp",
    "cuGraphAddMemcpyNode": "pppzpp",
    "cuGraphInstantiateWithFlags": "ppd",
    "cuGraphExecKernelNodeSetParams": "ppp",
    "cuGraphLaunch": "pp",
    "cuGraphExecDestroy": "p",
    "cuGetErrorName": "up",
    "cuGetExportTable": "pp",
}
TYPES = {"p": c_void_p, "i": c_int, "u": c_uint, "z": c_size_t, "d": c_uint64, "B": ctypes.c_ubyte}


class Driver:
    """The driver's functions, as attributes: `driver.cuInit(0)`."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.find = self.library.cuGetProcAddress_v2
        self.find.argtypes = [c_void_p, c_void_p, c_int, c_uint64, c_void_p]
        self.find.restype = c_uint

    def __getattr__(self, name):
        address, status = c_void_p(), c_uint(9)
        code = self.find(name.encode(), byref(address), VERSIONS.get(name, VERSION), 0, byref(status))
        if code != 0 or not address.value:
            fail(f"cuGetProcAddress({name})", "a function", f"code {code}, status {status.value}")
        types = [TYPES[letter] for letter in SIGNATURES[name]]
        function = ctypes.CFUNCTYPE(c_uint, *types)(address.value)
        setattr(self, name, function)
        return function

    def must(self, code):
        """For calls that only prepare a check."""
        if code != 0:
            name = ctypes.c_char_p()
            self.cuGetErrorName(code, byref(name))
            fail(f"line {sys._getframe(1).f_lineno}", 0, f"{code} ({name.value})")

    def module(self, source):
        """A module of this PTX in the current context."""
        module = c_void_p()
        self.must(self.cuModuleLoadData(byref(module), source))
        return module

    def kernel(self, module, name):
        """A kernel of a module."""
        function = c_void_p()
        self.must(self.cuModuleGetFunction(byref(function), module, name.encode()))
        return function

    def upload(self, values):
        """Device memory with the bytes of a ctypes array."""
        address = c_uint64()
        self.must(self.cuMemAlloc(byref(address), ctypes.sizeof(values)))
        self.must(self.cuMemcpyHtoD(address, values, ctypes.sizeof(values)))
        return address

    def download(self, address, like):
        """The bytes there, as an array of the same type as another."""
        values = type(like)()
        self.must(self.cuMemcpyDtoH(values, address, ctypes.sizeof(values)))
        return values

    def launch(self, function, grid, block, *arguments, stream=None):
        """Launches with kernelParams; returns the code."""
        params = (c_void_p * max(1, len(arguments)))(*(ctypes.addressof(argument) for argument in arguments))
        return self.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, params, None)


checks = 0


def check(what, expected, got):
    """Prints a line if a value is the expected one; else ends the program with status 1."""
    global checks
    if expected != got:
        fail(what, expected, got)
    checks += 1
    print("ok", what, flush=True)


def fail(what, expected, got):
    print(f"FAILED {what}: expected {expected}, got {got}", flush=True)
    sys.exit(1)


def finish():
    print(f"{checks} checks passed")
