"""Makes the PTX files of this folder: `pip install triton llvmlite`, then `python make.py`. No GPU is needed."""

import os

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import llvmlite.binding as llvm
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = os.path.dirname(os.path.abspath(__file__))


@triton.jit
def triton_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def triton_softmax(out, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + row * n + at, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def triton_scan(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def triton_histogram(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(out + value, 1, mask=at < n)


@triton.jit
def triton_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        y = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        sum += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


def make_triton(name, kernel, signature, constants):
    signature = signature | {constant: "constexpr" for constant in constants}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={})
    head = f"// made by make.py: Triton {triton.__version__}, sm_80, {made.metadata.num_warps} warps, "
    head += f"{made.metadata.shared} bytes of dynamic shared memory\n"
    with open(os.path.join(HERE, name + ".ptx"), "w") as file:
        file.write(head + made.asm["ptx"])


def make_llvm(name):
    with open(os.path.join(HERE, name + ".ll")) as file:
        module = llvm.parse_assembly(file.read())
    module.verify()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    for level in [0, 3]:
        machine = target.create_target_machine(cpu="sm_80", opt=level)
        version = ".".join(map(str, llvm.llvm_version_info))
        with open(os.path.join(HERE, f"{name}.O{level}.ptx"), "w") as file:
            file.write(f"// made by make.py: LLVM {version}, sm_80, -O{level}\n" + machine.emit_assembly(module))


make_triton("triton_add", triton_add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 512})
make_triton("triton_softmax", triton_softmax, {"out": "*fp32", "x": "*fp32", "n": "i32"}, {"BLOCK": 256})
make_triton("triton_scan", triton_scan, {"x": "*i32", "out": "*i32"}, {"BLOCK": 256})
make_triton("triton_histogram", triton_histogram, {"x": "*i32", "out": "*i32", "n": "i32"}, {"BLOCK": 256})
make_triton(
    "triton_matmul",
    triton_matmul,
    {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"},
    {"BM": 32, "BN": 32, "BK": 32},
)
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
make_llvm("llvm_calls")
make_llvm("llvm_memory")
