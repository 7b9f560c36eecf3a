//! Kernels that nvcc compiled, release and debug builds, against plain Rust on random data.
//!
//! Results are compared bit for bit. Where the two builds round differently (release contracts `a*b+c` into one
//! `fma`), the reference follows each build's own PTX.

mod calls;
mod control_flow;
mod device;
mod division;
mod histogram;
mod integers;
mod mandelbrot;
mod memories;
mod reduction;
mod scan;
mod sha;
mod stencil;
mod warp;
