//! Mistakes of `alloc`.

use wasi_cuda_host::abi::AbiError::{
    Internal, InvalidArgs, LaunchFailed, NotAvailable, QuotaExceeded,
};
use wasi_cuda_host::abi::Import::{Alloc, Free, MemcpyH2d};
use wasi_cuda_host::abi::{
    MAX_DEVICE_ALLOC_BYTES, MAX_DEVICE_ALLOCS_PER_INSTANCE, MAX_TOTAL_DEVICE_BYTES,
};

use super::call::Call;
use super::world::low_half;
use super::{Act, Deviant, code};
use crate::profile::Profile;

pub(super) const DEVIANTS: &[Deviant] = &[
    alloc(
        "alloc-zero-granted",
        &["alloc.zero"],
        "grants a buffer of no bytes",
        |c| match c.size() {
            0 => c.set_size(1).pass(),
            _ => c.pass(),
        },
    ),
    alloc(
        "alloc-zero-code",
        &["alloc.zero"],
        "answers quota-exceeded to a buffer of no bytes",
        |c| match c.size() {
            0 => code(QuotaExceeded),
            _ => c.pass(),
        },
    ),
    alloc(
        "alloc-handle-negative",
        &["alloc.handle"],
        "gives out handles with the sign bit set",
        |c| match c.pass() {
            handle if handle >= 0 => {
                let shown = handle | i64::MIN;
                c.guest().known_as.insert(shown, handle);
                shown
            }
            refused => refused,
        },
    ),
    alloc(
        "alloc-size-cap-one-less",
        &["alloc.size-cap"],
        "refuses a buffer of 256 MiB",
        |c| {
            let wrong = c.size() == MAX_DEVICE_ALLOC_BYTES;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    alloc(
        "alloc-size-cap-one-more",
        &["alloc.size-cap"],
        "grants a buffer of one byte over 256 MiB",
        |c| {
            if c.size() == MAX_DEVICE_ALLOC_BYTES + 1 {
                c.set_size(MAX_DEVICE_ALLOC_BYTES);
            }
            c.pass()
        },
    ),
    alloc(
        "alloc-size-cap-ignored",
        &["alloc.size-cap"],
        "has no cap on a buffer's size below 4 GiB",
        |c| {
            if c.arg("size_hi") == 0 {
                let size = c.size().min(MAX_DEVICE_ALLOC_BYTES);
                c.set_size(size);
            }
            c.pass()
        },
    ),
    alloc(
        "alloc-size-cap-code",
        &["alloc.size-cap"],
        "answers launch-failed to a buffer over the cap",
        |c| match c.size() > MAX_DEVICE_ALLOC_BYTES {
            true => c.recode(QuotaExceeded, LaunchFailed),
            false => c.pass(),
        },
    ),
    alloc(
        "alloc-size-signed",
        &["alloc.size-cap"],
        "answers invalid-args where the low half of a size reads as negative",
        |c| {
            let wrong = c.arg("size_lo") < 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    alloc(
        "alloc-high-half-ignored",
        &["alloc.size-is-64-bit"],
        "looks at the low half of a size only",
        |c| c.set("size_hi", 0).pass(),
    ),
    alloc(
        "alloc-size-negative-code",
        &["alloc.size-is-64-bit"],
        "takes a size with the top bit set for a negative one",
        |c| {
            let wrong = c.arg("size_hi") < 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    alloc(
        "alloc-halves-exchanged",
        &["alloc.size-is-64-bit"],
        "takes the halves of a size for each other when the low one is 0",
        |c| {
            if c.arg("size_lo") == 0 && c.arg("size_hi") == 1 {
                c.set_size(1);
            }
            c.pass()
        },
    ),
    alloc(
        "alloc-count-cap-one-less",
        &["alloc.count-cap"],
        "holds 4095 buffers",
        |c| {
            let wrong = count(c) == MAX_DEVICE_ALLOCS_PER_INSTANCE - 1;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    alloc(
        "alloc-count-cap-one-more",
        &["alloc.count-cap"],
        "holds 4097 buffers",
        |c| match count(c) == MAX_DEVICE_ALLOCS_PER_INSTANCE {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    alloc(
        "alloc-count-cap-ignored",
        &["alloc.count-cap"],
        "holds any number of buffers",
        |c| match count(c) >= MAX_DEVICE_ALLOCS_PER_INSTANCE {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    alloc(
        "alloc-count-cap-code",
        &["alloc.count-cap"],
        "answers internal where no buffer more can be held",
        |c| match count(c) >= MAX_DEVICE_ALLOCS_PER_INSTANCE {
            true => c.recode(QuotaExceeded, Internal),
            false => c.pass(),
        },
    ),
    alloc(
        "alloc-byte-cap-one-less",
        &["alloc.byte-cap"],
        "grants one byte less than the cap on all bytes",
        |c| {
            let wrong = bytes_with(c) == MAX_TOTAL_DEVICE_BYTES;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    alloc(
        "alloc-byte-cap-one-more",
        &["alloc.byte-cap"],
        "grants one byte more than the cap on all bytes",
        |c| match bytes_with(c) == MAX_TOTAL_DEVICE_BYTES + 1 {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    alloc(
        "alloc-byte-cap-ignored",
        &["alloc.byte-cap"],
        "does not add up the bytes of buffers",
        |c| match bytes_with(c) > MAX_TOTAL_DEVICE_BYTES && c.size() <= MAX_DEVICE_ALLOC_BYTES {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    alloc(
        "alloc-refused-counts",
        &["alloc.refused-uses-no-quota"],
        "counts buffers that it refused",
        |c| {
            let counted = count(c) + c.notes().number.cast_unsigned();
            if counted >= MAX_DEVICE_ALLOCS_PER_INSTANCE {
                return code(QuotaExceeded);
            }
            let answer = c.pass();
            c.notes().number += i64::from(answer < 0);
            answer
        },
    ),
    alloc(
        "alloc-refused-frees",
        &["alloc.refused-uses-no-quota"],
        "gives quota back for buffers that it refused",
        |c| match c.pass() {
            refused if refused == code(QuotaExceeded) => {
                c.notes().number += 1;
                match c.notes().number > 2 {
                    true => c.pass_spare(),
                    false => refused,
                }
            }
            answer => answer,
        },
    ),
    alloc(
        "free-keeps-count",
        &["alloc.released-is-reusable"],
        "goes on counting buffers that were freed",
        |c| {
            let wrong = count(c) + c.guest().freed.len() as u64 >= MAX_DEVICE_ALLOCS_PER_INSTANCE;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    alloc(
        "free-keeps-bytes",
        &["alloc.released-is-reusable"],
        "goes on counting the bytes of buffers that were freed",
        |c| {
            let freed = c.guest().freed_bytes;
            let wrong = bytes_with(c) + freed > MAX_TOTAL_DEVICE_BYTES;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    alloc(
        "free-gives-two-back",
        &["alloc.released-is-reusable"],
        "gives back the quota of two buffers for one that was freed",
        |c| {
            let freed = c.guest().freed.len() as u64;
            match c.pass() {
                refused
                    if refused == code(QuotaExceeded)
                        && count(c) < MAX_DEVICE_ALLOCS_PER_INSTANCE + freed =>
                {
                    c.pass_spare()
                }
                answer => answer,
            }
        },
    ),
    alloc(
        "alloc-handle-given-twice",
        &["alloc.handle-unique"],
        "gives every second buffer the handle of the one before",
        |c| {
            c.notes().number += 1;
            let last = c.guest().buffers.keys().next_back().copied();
            match last {
                Some(last) if c.notes().number % 2 == 0 => last,
                _ => c.pass(),
            }
        },
    ),
    alloc(
        "alloc-handle-by-size",
        &["alloc.handle-unique"],
        "gives buffers of one size one handle",
        |c| {
            let size = c.size();
            let alike = c
                .guest()
                .buffers
                .iter()
                .find(|(_, bytes)| **bytes == size)
                .map(|(handle, _)| *handle);
            alike.unwrap_or_else(|| c.pass())
        },
    ),
    alloc(
        "alloc-handle-reused",
        &["alloc.handle-not-reused"],
        "gives out the handle that was freed last again",
        |c| {
            let handle = c.pass();
            let old = c.guest().freed.pop();
            match old {
                Some((old, _)) if handle >= 0 => {
                    let guest = c.guest();
                    let real = guest.known_as.get(&handle).copied().unwrap_or(handle);
                    guest.known_as.insert(old, real);
                    old
                }
                _ => handle,
            }
        },
    ),
    alloc(
        "alloc-handles-16-bits",
        &["alloc.handle-not-reused"],
        "numbers buffers in 16 bits",
        |c| {
            let answer = c.pass();
            if answer < 0 {
                return answer;
            }
            let number = usize::try_from(c.notes().number).unwrap_or(0);
            c.notes().number += 1;
            let given = c.notes().calls.entry(0).or_default();
            match given.get(number & 0xFFFF).copied() {
                Some(old) => {
                    c.guest().known_as.insert(old, answer);
                    old
                }
                None => {
                    given.push(answer);
                    answer
                }
            }
        },
    ),
    alloc(
        "alloc-count-ever",
        &["alloc.released-is-reusable"],
        "counts in 16 bits how many buffers an instance ever had, and stops there",
        |c| {
            let wrong = c.guest().buffers.len() + c.guest().freed.len() > 0xFFFF;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    Deviant::new(
        "alloc-recycled-own",
        &["alloc.zeroed"],
        "leaves the bytes of a freed buffer in the instance's next one of that size",
        &[Alloc, Free, MemcpyH2d],
        |c| recycled(c, false),
    ),
    Deviant::new(
        "alloc-recycled-foreign",
        &["alloc.zeroed"],
        "leaves the bytes of another instance's buffer in a fresh one",
        &[Alloc, Free, MemcpyH2d],
        |c| recycled(c, true),
    ),
    alloc(
        "alloc-filled",
        &["alloc.zeroed"],
        "hands out buffers filled with a pattern",
        |c| {
            let handle = c.pass();
            fill(
                c,
                handle,
                &vec![0xAA; usize::try_from(c.size().min(MOST_FILLED)).unwrap_or(0)],
            );
            handle
        },
    ),
    alloc(
        "alloc-last-byte-dirty",
        &["alloc.zeroed"],
        "leaves the last byte of a buffer as it was",
        |c| {
            let handle = c.pass();
            let mut bytes = vec![0; usize::try_from(c.size().min(MOST_FILLED)).unwrap_or(0)];
            if let Some(last) = bytes.last_mut() {
                *last = 0x5A;
            }
            fill(c, handle, &bytes);
            handle
        },
    ),
    alloc(
        "no-device-alloc-granted",
        &["profile.no-device.alloc"],
        "grants a buffer without a device",
        |c| match c.pass() {
            refused if refused == code(NotAvailable) => 1,
            answer => answer,
        },
    )
    .on(Profile::NoDevice),
    alloc(
        "no-device-alloc-code",
        &["profile.no-device.alloc"],
        "answers internal to an allocation without a device",
        |c| c.recode(NotAvailable, Internal),
    )
    .on(Profile::NoDevice),
];

const fn alloc(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[Alloc], act)
}

/// Larger buffers are left as they are: no guest looks at all their bytes.
const MOST_FILLED: u64 = 1 << 20;

fn count(c: &mut Call<'_>) -> u64 {
    c.guest().buffers.len() as u64
}

/// The bytes that the guest would hold with this allocation.
fn bytes_with(c: &mut Call<'_>) -> u64 {
    let asked = c.size();
    c.guest().buffer_bytes.saturating_add(asked)
}

/// Writes to a fresh buffer what it should not hold.
fn fill(c: &mut Call<'_>, handle: i64, bytes: &[u8]) {
    if handle >= 0 && !bytes.is_empty() {
        let mut bytes = bytes.to_vec();
        let len = i64::try_from(bytes.len()).unwrap_or(0);
        let args = [i64::from(low_half(handle)), handle >> 32, 0, len];
        c.also(MemcpyH2d, Some(&mut bytes), &args);
    }
}

/// Remembers what was copied to a buffer last, and finds it in fresh buffers of that size: where the buffer was freed,
/// or where it was another guest's.
fn recycled(c: &mut Call<'_>, foreign: bool) -> i64 {
    let me = c.me as i64;
    match c.import {
        MemcpyH2d => {
            let bytes = c.bytes("src_ptr", "len").map(<[u8]>::to_vec);
            let answer = c.pass();
            if answer == 0 {
                c.world.notes.bytes = bytes;
                c.world.notes.number = me;
                c.world.notes.flag = false;
            }
            answer
        }
        Free => {
            let answer = c.pass();
            c.world.notes.flag |= answer == 0;
            answer
        }
        _ => {
            let handle = c.pass();
            let size = c.size();
            let notes = &c.world.notes;
            let reusable = if foreign {
                notes.number != me
            } else {
                notes.number == me && notes.flag
            };
            let old = notes
                .bytes
                .clone()
                .filter(|bytes| reusable && bytes.len() as u64 == size);
            if let Some(old) = old {
                fill(c, handle, &old);
            }
            handle
        }
    }
}
