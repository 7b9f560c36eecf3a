//! What instructions compute, bit for bit, against references that share no code with the interpreter: integers wide enough to
//! hold every product, an independent softfloat, and models of warps written from the ISA's text.

mod atomics;
mod barriers;
mod bits;
mod compare;
mod control;
mod convert;
mod copies;
mod declarations;
mod float;
mod harness;
mod integer;
mod limits;
mod memory;
mod order;
mod special;
mod tensor;
mod traps;
mod warp;
