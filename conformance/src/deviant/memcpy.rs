//! Mistakes of the two copies.

use wasi_cuda_host::abi::AbiError::{
    InvalidArgs, InvalidHandle, InvalidKernel, InvalidPointer, QuotaExceeded,
};
use wasi_cuda_host::abi::Import::{MemcpyD2h, MemcpyH2d};

use super::call::Call;
use super::free::{Class, class_of};
use super::load::{one_more, wrapping};
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    h2d(
        "h2d-last-byte-lost",
        &["memcpy.round-trip"],
        "does not copy the last byte to the device",
        |c| shorter(c, 1),
    ),
    d2h(
        "d2h-last-byte-lost",
        &["memcpy.round-trip"],
        "does not copy the last byte from the device",
        |c| shorter(c, 1),
    ),
    h2d(
        "h2d-words-only",
        &["memcpy.round-trip"],
        "copies whole words to the device",
        |c| {
            let odd = c.arg("len") % 4;
            shorter(c, odd)
        },
    ),
    d2h(
        "d2h-words-only",
        &["memcpy.round-trip"],
        "copies whole words from the device",
        |c| {
            let odd = c.arg("len") % 4;
            shorter(c, odd)
        },
    ),
    d2h(
        "d2h-bytes-reversed",
        &["memcpy.round-trip"],
        "swaps the bytes of each word on the way back",
        |c| {
            let answer = c.pass();
            let (at, bytes) = (
                c.unsigned("dst_ptr"),
                c.bytes("dst_ptr", "len").map(<[u8]>::to_vec),
            );
            if let (0, Some(mut bytes)) = (answer, bytes) {
                bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
                c.store(at, &bytes);
            }
            answer
        },
    ),
    h2d(
        "h2d-does-nothing",
        &["memcpy.round-trip"],
        "answers 0 and copies nothing to the device",
        |c| match class_of(c) {
            Class::Own => {
                let len = c.arg("len");
                shorter(c, len)
            }
            _ => c.pass(),
        },
    ),
    h2d(
        "h2d-cut-at-16-mib",
        &["memcpy.round-trip"],
        "copies at most 16 MiB to the device",
        cut_at_16_mib,
    ),
    d2h(
        "d2h-cut-at-16-mib",
        &["memcpy.round-trip"],
        "copies at most 16 MiB from the device",
        cut_at_16_mib,
    ),
    h2d(
        "h2d-one-byte-more",
        &["memcpy.partial"],
        "copies one byte more to the device than asked for",
        |c| longer(c, "src_ptr"),
    ),
    d2h(
        "d2h-one-byte-more",
        &["memcpy.partial"],
        "copies one byte more from the device than asked for",
        |c| longer(c, "dst_ptr"),
    ),
    d2h(
        "d2h-whole-buffer",
        &["memcpy.partial"],
        "copies the whole buffer, however many bytes were asked for",
        |c| {
            let size = buffer_len(c);
            if c.arg("len") > 0 && c.arg("len").cast_unsigned() < size {
                c.set("len", size.cast_signed());
            }
            c.pass()
        },
    ),
    h2d(
        "h2d-clears-rest",
        &["memcpy.partial"],
        "clears the rest of a buffer when it copies a part",
        |c| clears_rest(c, 1, 4096),
    ),
    h2d(
        "h2d-clears-rest-of-large",
        &["memcpy.partial"],
        "clears the rest of a buffer over 100 KB when it copies a part",
        |c| clears_rest(c, 100_000, 1 << 20),
    ),
    h2d(
        "h2d-full-refused",
        &["memcpy.length"],
        "refuses to fill a buffer",
        |c| {
            let wrong = is_full(c);
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    d2h(
        "d2h-full-refused",
        &["memcpy.length"],
        "refuses to copy a whole buffer",
        |c| {
            let wrong = is_full(c);
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    h2d(
        "h2d-length-one-more",
        &["memcpy.length"],
        "takes one byte more than a buffer has",
        |c| over(c, 1),
    ),
    d2h(
        "d2h-length-one-more",
        &["memcpy.length"],
        "gives one byte more than a buffer has",
        |c| over(c, 1),
    ),
    h2d(
        "h2d-length-of-large-unchecked",
        &["memcpy.length"],
        "does not compare a copy's length with a buffer over 64 KiB",
        over_large,
    ),
    d2h(
        "d2h-length-of-large-unchecked",
        &["memcpy.length"],
        "does not compare a copy's length with a buffer over 64 KiB",
        over_large,
    ),
    h2d(
        "h2d-length-clipped",
        &["memcpy.length"],
        "copies what fits when a copy is longer than the buffer",
        |c| over(c, u64::MAX),
    ),
    d2h(
        "d2h-length-clipped",
        &["memcpy.length"],
        "copies what there is when a copy is longer than the buffer",
        |c| over(c, u64::MAX),
    ),
    h2d(
        "h2d-length-code",
        &["memcpy.length"],
        "answers quota-exceeded to a copy longer than the buffer",
        |c| c.recode(InvalidArgs, QuotaExceeded),
    ),
    d2h(
        "d2h-length-code",
        &["memcpy.length"],
        "answers quota-exceeded to a copy longer than the buffer",
        |c| c.recode(InvalidArgs, QuotaExceeded),
    ),
    h2d(
        "h2d-empty-refused",
        &["memcpy.empty"],
        "refuses to copy no bytes to the device",
        |c| {
            let wrong = c.arg("len") == 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    d2h(
        "d2h-empty-refused",
        &["memcpy.empty"],
        "refuses to copy no bytes from the device",
        |c| {
            let wrong = c.arg("len") == 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    h2d(
        "h2d-empty-at-end-refused",
        &["memcpy.empty"],
        "refuses to copy no bytes from the memory's end",
        |c| {
            let wrong = c.arg("len") == 0 && c.unsigned("src_ptr") >= c.memory_len();
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    d2h(
        "d2h-empty-at-end-refused",
        &["memcpy.empty"],
        "refuses to copy no bytes to the memory's end",
        |c| {
            let wrong = c.arg("len") == 0 && c.unsigned("dst_ptr") >= c.memory_len();
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    h2d(
        "h2d-region-one-more",
        &["memcpy.h2d.region"],
        "reads one byte behind the memory's end",
        |c| one_more(c, "src_ptr", "len"),
    ),
    h2d(
        "h2d-region-wraps",
        &["memcpy.h2d.region"],
        "adds a source's pointer and length in 32 bits",
        |c| wrapping(c, "src_ptr", "len"),
    ),
    h2d(
        "h2d-region-code",
        &["memcpy.h2d.region"],
        "answers invalid-args to a source outside the memory",
        |c| c.recode(InvalidPointer, InvalidArgs),
    ),
    h2d(
        "h2d-region-unchecked",
        &["memcpy.h2d.region"],
        "reads zeros where a source lies outside the memory",
        |c| match c.outside("src_ptr", "len") && c.unsigned("len") <= 4096 {
            true => {
                let mut zeros = vec![0; 4096];
                c.set("src_ptr", 0).pass_on(&mut zeros)
            }
            false => c.pass(),
        },
    ),
    d2h(
        "d2h-region-one-more",
        &["memcpy.d2h.region"],
        "takes a destination that ends one byte behind the memory",
        |c| one_more(c, "dst_ptr", "len"),
    ),
    d2h(
        "d2h-region-wraps",
        &["memcpy.d2h.region"],
        "adds a destination's pointer and length in 32 bits",
        |c| wrapping(c, "dst_ptr", "len"),
    ),
    d2h(
        "d2h-region-code",
        &["memcpy.d2h.region"],
        "answers invalid-args to a destination outside the memory",
        |c| c.recode(InvalidPointer, InvalidArgs),
    ),
    d2h(
        "d2h-region-unchecked",
        &["memcpy.d2h.region"],
        "drops what would go outside the memory",
        |c| match c.outside("dst_ptr", "len") && c.unsigned("len") <= 4096 {
            true => {
                let mut nowhere = vec![0; 4096];
                c.set("dst_ptr", 0).pass_on(&mut nowhere)
            }
            false => c.pass(),
        },
    ),
    h2d(
        "h2d-unknown-silent",
        &["memcpy.handle"],
        "answers 0 to a copy to a handle that nobody has",
        |c| silent(c, Class::Unknown),
    ),
    d2h(
        "d2h-unknown-silent",
        &["memcpy.handle"],
        "answers 0 to a copy from a handle that nobody has",
        |c| silent(c, Class::Unknown),
    ),
    h2d(
        "h2d-freed-silent",
        &["memcpy.handle"],
        "answers 0 to a copy to a freed buffer",
        |c| silent(c, Class::Freed),
    ),
    d2h(
        "d2h-freed-silent",
        &["memcpy.handle"],
        "answers 0 to a copy from a freed buffer",
        |c| silent(c, Class::Freed),
    ),
    h2d(
        "h2d-handle-code",
        &["memcpy.handle"],
        "answers invalid-kernel to an unknown handle in a copy to it",
        |c| c.recode(InvalidHandle, InvalidKernel),
    ),
    d2h(
        "d2h-handle-code",
        &["memcpy.handle"],
        "answers invalid-kernel to an unknown handle in a copy from it",
        |c| c.recode(InvalidHandle, InvalidKernel),
    ),
    h2d(
        "h2d-foreign",
        &["memcpy.foreign"],
        "copies to buffers of other instances",
        |c| match class_of(c) {
            Class::Foreign(owner) => c.pass_as(owner),
            _ => c.pass(),
        },
    ),
    d2h(
        "d2h-foreign",
        &["memcpy.foreign"],
        "copies from buffers of other instances",
        |c| match class_of(c) {
            Class::Foreign(owner) => c.pass_as(owner),
            _ => c.pass(),
        },
    ),
    d2h(
        "d2h-writes-what-fits",
        &["memcpy.refused-writes-nothing"],
        "writes what fits into the memory and refuses the copy then",
        |c| {
            let room = c.memory_len().saturating_sub(c.unsigned("dst_ptr"));
            if c.outside("dst_ptr", "len") && room > 0 && class_of(c) == Class::Own {
                c.set("len", room.cast_signed()).pass();
                return code(InvalidPointer);
            }
            c.pass()
        },
    ),
    d2h(
        "d2h-writes-whole-buffer",
        &["memcpy.refused-writes-nothing"],
        "writes the whole buffer before it refuses a longer copy",
        writes_then_refuses,
    ),
    h2d(
        "h2d-writes-whole-buffer",
        &["memcpy.refused-writes-nothing"],
        "fills the buffer before it refuses a longer copy",
        writes_then_refuses,
    ),
    d2h(
        "d2h-foreign-written",
        &["memcpy.refused-writes-nothing"],
        "reads another instance's buffer and then refuses to",
        |c| match class_of(c) {
            Class::Foreign(owner) => {
                c.pass_as(owner);
                code(InvalidHandle)
            }
            _ => c.pass(),
        },
    ),
];

const fn h2d(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[MemcpyH2d], act)
}

const fn d2h(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[MemcpyD2h], act)
}

/// The size of the buffer that the copy names, 0 if there is none.
fn buffer_len(c: &mut Call<'_>) -> u64 {
    let handle = c.id();
    c.guest().buffers.get(&handle).copied().unwrap_or(0)
}

fn is_full(c: &mut Call<'_>) -> bool {
    let size = buffer_len(c);
    size > 0 && c.unsigned("len") == size
}

fn shorter(c: &mut Call<'_>, by: i64) -> i64 {
    let len = c.arg("len");
    if (by..=i64::from(i32::MAX)).contains(&len) {
        c.set("len", len - by);
    }
    c.pass()
}

/// Copies at most 16 MiB where the copy is good.
fn cut_at_16_mib(c: &mut Call<'_>) -> i64 {
    let (size, len) = (buffer_len(c), c.unsigned("len"));
    match len <= size && len > 16 << 20 {
        true => shorter(c, len.cast_signed() - (16 << 20)),
        false => c.pass(),
    }
}

/// Copies a part to the device and zeros behind it, if the buffer's size is one of these.
fn clears_rest(c: &mut Call<'_>, least: u64, most: u64) -> i64 {
    let (size, at, len) = (buffer_len(c), c.unsigned("src_ptr"), c.unsigned("len"));
    let answer = c.pass();
    if answer == 0 && len < size && (least..=most).contains(&size) {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        if let Some(part) = c.bytes("src_ptr", "len") {
            bytes[..part.len()].copy_from_slice(part);
        }
        c.set("src_ptr", 0)
            .set("len", size.cast_signed())
            .pass_on(&mut bytes);
        c.set("src_ptr", at.cast_signed());
    }
    answer
}

/// The same as [`over`] for buffers over 64 KiB.
fn over_large(c: &mut Call<'_>) -> i64 {
    match buffer_len(c) > 65536 {
        true => over(c, u64::MAX),
        false => c.pass(),
    }
}

/// Copies a byte more where buffer and memory have it.
fn longer(c: &mut Call<'_>, pointer: &str) -> i64 {
    let (size, len) = (buffer_len(c), c.unsigned("len"));
    if len < size && c.end(pointer, "len") < c.memory_len() {
        c.set("len", len.cast_signed() + 1);
    }
    c.pass()
}

/// Copies as much as the buffer has where a copy is longer than that by `most` at most.
fn over(c: &mut Call<'_>, most: u64) -> i64 {
    let (size, len) = (buffer_len(c), c.unsigned("len"));
    if size > 0 && len > size && len - size <= most && c.arg("len") >= 0 {
        c.set("len", size.cast_signed());
    }
    c.pass()
}

fn silent(c: &mut Call<'_>, class: Class) -> i64 {
    match class_of(c) {
        found if found == class => 0,
        _ => c.pass(),
    }
}

fn writes_then_refuses(c: &mut Call<'_>) -> i64 {
    let (size, len) = (buffer_len(c), c.unsigned("len"));
    if size > 0 && len > size && c.arg("len") >= 0 {
        c.set("len", size.cast_signed()).pass();
        return code(InvalidArgs);
    }
    c.pass()
}
