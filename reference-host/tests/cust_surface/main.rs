//! The crate `cust` over soft-cuda: every public function outside textures, surfaces, arrays and external memory, with what it answers.
//!
//! Left out is `ModuleJitOption::DetermineTargetFromContext`, which passes fewer values than options.

#![allow(
    unsafe_code,
    reason = "`cust` makes launches, asynchronous copies and raw pointers unsafe"
)]

mod contexts;
mod devices;
mod graphs;
mod memory;
mod modules;
mod streams;

use cust::context::Context;
use cust::device::Device;
use cust::module::Module;
use wasi_cuda_host::device::CudaDevice;

/// Makes the device's primary context current on this thread, as long as the result lives.
fn enter() -> Context {
    Context::new(device()).expect("a context")
}

fn device() -> Device {
    // The host finds the driver's functions, for `cust` too.
    CudaDevice::open(0).unwrap_or_else(|absence| panic!("{absence}"));
    Device::get_device(0).expect("a device")
}

/// `add` sums `n` words; `count` has a variable; `room` declares shared memory; `trap` traps.
const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter = 3;
.const .align 8 .f64 factor = 0d4000000000000000;

.visible .entry add(.param .u64 out, .param .u64 left, .param .u64 right, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %d<5>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    ld.param.u32 %r2, [n];
    setp.ge.u32 %p, %r1, %r2;
    @%p ret;
    mul.wide.u32 %d4, %r1, 4;
    ld.param.u64 %d1, [out];
    ld.param.u64 %d2, [left];
    ld.param.u64 %d3, [right];
    add.u64 %d1, %d1, %d4;
    add.u64 %d2, %d2, %d4;
    add.u64 %d3, %d3, %d4;
    ld.global.u32 %r4, [%d2];
    ld.global.u32 %r5, [%d3];
    add.u32 %r6, %r4, %r5;
    st.global.u32 [%d1], %r6;
    ret;
}

.visible .entry count()
{
    .reg .b32 %r1;
    atom.global.add.u32 %r1, [counter], 1;
    ret;
}

.visible .entry room()
.maxntid 128, 1, 1
{
    .shared .align 4 .b8 own[1024];
    .reg .b32 %r1;
    mov.u32 %r1, own;
    st.shared.u32 [%r1], 1;
    ret;
}

.visible .entry trap()
{
    trap;
}
";

fn module() -> Module {
    Module::from_ptx(PTX, &[]).expect("a module")
}
