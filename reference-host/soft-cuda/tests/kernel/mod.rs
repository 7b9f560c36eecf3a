//! Kernels for tests: sources, and the calls from a source to a launch.

#![allow(dead_code, reason = "each test file takes what it needs")]

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use soft_cuda::api::{launch, module};
use soft_cuda::{CUfunction, CUmodule, CUresult, CUstream};

use crate::own::{answers, call};

/// Kernels that do one thing each.
pub(crate) const KERNELS: &str = r#"
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 counter = 40;
.visible .global .align 8 .b8 table[64];
.visible .const .align 4 .u32 scale[2] = {3, 5};

.visible .entry nothing() { ret; }

.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r3, [%rd1]; ld.global.u32 %r4, [%rd2];
    add.u32 %r3, %r3, %r4;
    st.global.u32 [%rd1], %r3;
    ret;
}

.visible .entry count() { .reg .b32 %r; atom.global.add.u32 %r, [counter], 1; ret; }

.visible .entry scaled(.param .u64 to)
{
    .reg .b32 %r<3>; .reg .b64 %rd;
    ld.param.u64 %rd, [to];
    ld.const.u32 %r1, [scale]; ld.const.u32 %r2, [scale+4];
    st.global.u32 [%rd], %r1; st.global.u32 [%rd+4], %r2;
    ret;
}

.visible .entry mixed(.param .u8 a, .param .u64 to, .param .u16 b, .param .align 8 .b8 c[12])
{
    .reg .b32 %r<5>; .reg .b64 %rd;
    ld.param.u64 %rd, [to];
    ld.param.u8 %r1, [a]; ld.param.u16 %r2, [b];
    ld.param.u32 %r3, [c]; ld.param.u32 %r4, [c+8];
    st.global.u32 [%rd], %r1; st.global.u32 [%rd+4], %r2;
    st.global.u32 [%rd+8], %r3; st.global.u32 [%rd+12], %r4;
    ret;
}

.visible .entry store(.param .u64 at, .param .u32 value)
{
    .reg .b32 %r; .reg .b64 %rd;
    ld.param.u64 %rd, [at]; ld.param.u32 %r, [value];
    st.global.u32 [%rd], %r;
    ret;
}

.visible .entry few() .maxntid 64, 1, 1 { ret; }
.visible .entry exactly() .reqntid 8, 4, 1 { ret; }

.extern .shared .align 16 .b8 dynamic[];
.visible .entry shared(.param .u64 to)
{
    .shared .align 4 .b8 fixed[1024];
    .reg .b32 %r; .reg .b64 %rd;
    ld.param.u64 %rd, [to];
    mov.u32 %r, %dynamic_smem_size;
    st.global.u32 [%rd], %r;
    ret;
}

.visible .entry odd() { .shared .align 4 .b8 fixed[1028]; .reg .b32 %r; ld.shared.u32 %r, [fixed]; ret; }

.visible .entry trap() { trap; ret; }
.visible .entry spin() { $again: bra $again; }
.visible .entry indirect(.param .u64 at)
{
    .reg .b64 %rd;
    ld.param.u64 %rd, [at];
    { prototype: .callprototype _ (); call %rd, (), prototype; }
    ret;
}
.visible .entry cast_off()
{
    .local .align 4 .b8 own[8];
    .reg .b32 %r; .reg .b64 %rd;
    mov.u64 %rd, own; cvta.local.u64 %rd, %rd;
    atom.add.u32 %r, [%rd], 1;
    ret;
}
"#;

/// Kernels that use the device's runtime, or fail by more than one instruction.
pub(crate) const FAULTS: &str = include_str!("faults.ptx");

/// The answer to loading a source.
pub(crate) fn try_load(source: &str) -> Result<CUmodule, CUresult> {
    let source = CString::new(source).expect("no zeros");
    let mut loaded = CUmodule::default();
    let answer = call!(module::cuModuleLoadData(
        &mut loaded,
        source.as_ptr().cast()
    ));
    if answer == 0 {
        Ok(loaded)
    } else {
        assert_eq!(loaded, CUmodule::default(), "a refused call writes nothing");
        Err(answer)
    }
}

/// [`KERNELS`] in the current context.
pub(crate) fn load() -> CUmodule {
    try_load(KERNELS).expect("a good source")
}

/// The function of this name.
pub(crate) fn function(of: CUmodule, name: &str) -> CUfunction {
    let name = CString::new(name).expect("no zeros");
    let mut found = CUfunction::default();
    answers!(module::cuModuleGetFunction(&mut found, of, name.as_ptr()));
    found
}

/// An argument of a kernel.
pub(crate) fn argument<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// The answer to launching a kernel with these arguments.
pub(crate) fn launch(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: &[*mut c_void],
) -> CUresult {
    launch_with(function, grid, block, 0, arguments)
}

/// The answer to launching a kernel with these arguments and so much dynamic shared memory.
pub(crate) fn launch_with(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    arguments: &[*mut c_void],
) -> CUresult {
    let mut arguments = arguments.to_vec();
    let [grid_x, grid_y, grid_z] = grid;
    let [block_x, block_y, block_z] = block;
    call!(launch::cuLaunchKernel(
        function,
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        dynamic_shared_bytes,
        CUstream::default(),
        arguments.as_mut_ptr(),
        null_mut(),
    ))
}
