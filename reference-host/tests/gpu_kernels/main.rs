//! The software GPU's kernel tests on the CUDA device: what nvcc compiled, against the same plain Rust.
//!
//! The tests are those of `soft-gpu/tests/kernels`, whose device is another here: modules, buffers and launches go through `cust`. Left out are those of the
//! device's runtime (`runtime.rs`), which ask for more about a fault than a driver tells.

#![allow(
    unsafe_code,
    reason = "a launch through `cust` is unsafe: what a kernel does is not checked there"
)]

mod device;

#[path = "../../soft-gpu/tests/kernels/atomics.rs"]
mod atomics;
#[path = "../../soft-gpu/tests/kernels/barriers.rs"]
mod barriers;
#[path = "../../soft-gpu/tests/kernels/calls.rs"]
mod calls;
#[path = "../../soft-gpu/tests/kernels/ciphers.rs"]
mod ciphers;
#[path = "../../soft-gpu/tests/kernels/control_flow.rs"]
mod control_flow;
#[path = "../../soft-gpu/tests/kernels/division.rs"]
mod division;
#[path = "../../soft-gpu/tests/kernels/floats.rs"]
mod floats;
#[path = "../../soft-gpu/tests/kernels/graphs.rs"]
mod graphs;
#[path = "../../soft-gpu/tests/kernels/halves.rs"]
mod halves;
#[path = "../../soft-gpu/tests/kernels/histogram.rs"]
mod histogram;
#[path = "../../soft-gpu/tests/kernels/integers.rs"]
mod integers;
#[path = "../../soft-gpu/tests/kernels/libraries.rs"]
mod libraries;
#[path = "../../soft-gpu/tests/kernels/mandelbrot.rs"]
mod mandelbrot;
#[path = "../../soft-gpu/tests/kernels/memories.rs"]
mod memories;
#[path = "../../soft-gpu/tests/kernels/networks.rs"]
mod networks;
#[path = "../../soft-gpu/tests/kernels/numerics.rs"]
mod numerics;
#[path = "../../soft-gpu/tests/kernels/packed.rs"]
mod packed;
#[path = "../../soft-gpu/tests/kernels/reduction.rs"]
mod reduction;
#[path = "../../soft-gpu/tests/kernels/rounding.rs"]
mod rounding;
#[path = "../../soft-gpu/tests/kernels/scan.rs"]
mod scan;
#[path = "../../soft-gpu/tests/kernels/sha.rs"]
mod sha;
#[path = "../../soft-gpu/tests/kernels/sorting.rs"]
mod sorting;
#[path = "../../soft-gpu/tests/kernels/stencil.rs"]
mod stencil;
#[path = "../../soft-gpu/tests/kernels/tensors.rs"]
mod tensors;
#[path = "../../soft-gpu/tests/kernels/values.rs"]
mod values;
#[path = "../../soft-gpu/tests/kernels/warp.rs"]
mod warp;
#[path = "../../soft-gpu/tests/kernels/warps.rs"]
mod warps;
