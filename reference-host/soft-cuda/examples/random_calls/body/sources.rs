//! What is loaded: good PTX, and what is none.

use std::ffi::{CStr, c_char};

use fastrand::Rng;

/// Kernels that do little; those that fail take their context with them.
pub(crate) const GOOD: &CStr = c".version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 variable = 7;
.visible .entry nothing() { ret; }
.visible .entry store(.param .u64 at, .param .u32 value)
{
    .reg .b32 %r; .reg .b64 %rd;
    ld.param.u64 %rd, [at]; ld.param.u32 %r, [value];
    st.global.u32 [%rd], %r;
    ret;
}
.visible .entry count() { .reg .b32 %r; atom.global.add.u32 %r, [variable], 1; ret; }
.visible .entry wide(.param .align 8 .b8 bytes[16]) { ret; }
.visible .entry trap() { trap; ret; }
.visible .entry spin() { $again: bra $again; }
";

/// A source for linkers.
pub(crate) const LINKED: &CStr = c".version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 variable = 7;
.visible .entry nothing() { ret; }
.visible .entry store(.param .u64 at, .param .u32 value) { ret; }
";

/// What does not load.
pub(crate) const BAD: &[*const c_char] = &[
    c"".as_ptr(),
    c"not PTX at all".as_ptr(),
    c".version 8.0\n.target sm_80\n.address_size 64\n.entry e() { frobnicate; }".as_ptr(),
    c".version 99.0\n.target sm_80\n.address_size 64\n".as_ptr(),
    c".version 8.0\n.target sm_200\n.address_size 64\n".as_ptr(),
    SHORT.as_ptr(),
    ELF.as_ptr().cast(),
    std::ptr::null(),
];

/// A source that loads.
pub(crate) fn good(rng: &mut Rng) -> *const c_char {
    if rng.u32(0..3) == 0 {
        LINKED.as_ptr()
    } else {
        GOOD.as_ptr()
    }
}

/// A kernel's name.
pub(crate) fn name(rng: &mut Rng) -> *const c_char {
    match rng.u32(0..100) {
        0 => c"trap".as_ptr(),
        1 => c"spin".as_ptr(),
        2..50 => c"store".as_ptr(),
        50..70 => c"count".as_ptr(),
        70..80 => c"wide".as_ptr(),
        _ => c"nothing".as_ptr(),
    }
}

const SHORT: &CStr = c".version 8.0\n.target sm_80\n.visible .entry e(";
static ELF: [u8; 4096] = {
    let mut bytes = [0; 4096];
    bytes[0] = 0x7F;
    bytes[1] = b'E';
    bytes[2] = b'L';
    bytes[3] = b'F';
    bytes[18] = 190;
    bytes
};
