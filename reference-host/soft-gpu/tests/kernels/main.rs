//! Kernels that nvcc compiled, release and debug builds, against plain Rust on random data.
//!
//! Results are compared bit for bit. Where the two builds round differently (release contracts `a*b+c` into one
//! `fma`), the reference follows each build's own PTX.

mod atomics;
mod barriers;
mod calls;
mod ciphers;
mod control_flow;
mod device;
mod division;
mod floats;
mod graphs;
mod halves;
mod histogram;
mod integers;
mod libraries;
mod mandelbrot;
mod memories;
mod networks;
mod numerics;
mod packed;
mod reduction;
mod rounding;
mod runtime;
mod scan;
mod sha;
mod sorting;
mod stencil;
mod tensors;
mod values;
mod warp;
mod warps;
