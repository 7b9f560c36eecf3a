//! Mistakes in reading argument records: tags, cut values, caps, order.

use wasi_cuda_host::abi::AbiError::{InvalidArgs, InvalidPointer, KernelArgsUnsupported};
use wasi_cuda_host::abi::{Import, MAX_KERNEL_ARGS, MAX_KERNEL_ARGS_BYTES};

use super::call::Call;
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    launch(
        "argv-tag-0-is-i32",
        &["argv.tags"],
        "takes the tag 0 for i32",
        |c| retag(c, |tag| if tag == 0 { 1 } else { tag }),
    ),
    launch(
        "argv-tag-8-is-u64",
        &["argv.tags"],
        "takes the tag 8 for u64",
        |c| retag(c, |tag| if tag == 8 { 6 } else { tag }),
    ),
    launch(
        "argv-tag-low-bits",
        &["argv.tags"],
        "looks at the low seven bits of a tag",
        |c| retag(c, |tag| tag & 0x7F),
    ),
    launch(
        "argv-tag-low-nibble",
        &["argv.tags"],
        "looks at the low four bits of a tag",
        |c| retag(c, |tag| tag & 0x0F),
    ),
    launch(
        "argv-tag-255-is-u64",
        &["argv.tags"],
        "takes the tag 255 for u64",
        |c| retag(c, |tag| if tag == 255 { 6 } else { tag }),
    ),
    launch(
        "argv-zeros-ignored",
        &["argv.tags"],
        "takes zeros behind the last record for padding",
        |c| {
            let all = records(c);
            let rest = all.last().filter(|last| last.tag == 0 && all.len() > 1);
            let bytes = c.bytes("args_ptr", "args_len").unwrap_or_default();
            if let Some(last) = rest
                && bytes.iter().skip(last.start).all(|byte| *byte == 0)
            {
                c.set("args_len", last.start as i64);
            }
            c.pass()
        },
    ),
    launch(
        "argv-second-tag-unchecked",
        &["argv.tags"],
        "takes an unknown second tag for that of a number that fits",
        |c| {
            let second = records(c).get(1).copied();
            rewritten(c, |argv| {
                let Some(second) = second.filter(|record| !(1..=7).contains(&record.tag)) else {
                    return;
                };
                let tag = if argv.len() == second.start + 5 { 5 } else { 6 };
                if let Some(place) = argv.get_mut(second.start) {
                    *place = tag;
                }
            })
        },
    ),
    launch(
        "argv-tag-code",
        &["argv.tags"],
        "answers kernel-args-unsupported to an unknown tag",
        |c| {
            let unknown = records(c)
                .iter()
                .any(|record| !(1..=7).contains(&record.tag));
            match unknown {
                true => c.recode(InvalidArgs, KernelArgsUnsupported),
                false => c.pass(),
            }
        },
    ),
    without_tag("argv-without-i32", "does not know the tag of i32", |c| {
        lacks(c, 1)
    }),
    without_tag("argv-without-i64", "does not know the tag of i64", |c| {
        lacks(c, 2)
    }),
    without_tag("argv-without-f32", "does not know the tag of f32", |c| {
        lacks(c, 3)
    }),
    without_tag("argv-without-f64", "does not know the tag of f64", |c| {
        lacks(c, 4)
    }),
    without_tag("argv-without-u32", "does not know the tag of u32", |c| {
        lacks(c, 5)
    }),
    without_tag("argv-without-u64", "does not know the tag of u64", |c| {
        lacks(c, 6)
    }),
    without_tag("argv-without-ptr", "does not know the tag of ptr", |c| {
        lacks(c, 7)
    }),
    launch(
        "argv-cut-filled",
        &["argv.truncated"],
        "fills a value that is cut off with zeros",
        |c| {
            let missing = records(c).last().map_or(0, |last| last.missing);
            lengthened(c, missing)
        },
    ),
    launch(
        "argv-cut-by-one-filled",
        &["argv.truncated"],
        "reads one byte behind the buffer's end",
        |c| match records(c).last() {
            Some(last) if last.missing == 1 => lengthened(c, 1),
            _ => c.pass(),
        },
    ),
    launch(
        "argv-rest-ignored",
        &["argv.truncated"],
        "ignores bytes behind the last whole record",
        |c| {
            let all = records(c);
            if let Some(last) = all.last().filter(|last| last.missing > 0 && all.len() > 1) {
                c.set("args_len", last.start as i64);
            }
            c.pass()
        },
    ),
    launch(
        "argv-cut-code",
        &["argv.truncated"],
        "answers kernel-args-unsupported to a value that is cut off",
        |c| {
            let cut = records(c)
                .last()
                .is_some_and(|last| last.missing > 0 && (1..=7).contains(&last.tag));
            match cut {
                true => c.recode(InvalidArgs, KernelArgsUnsupported),
                false => c.pass(),
            }
        },
    ),
    launch(
        "argv-records-cap-one-less",
        &["argv.records-cap"],
        "takes 127 records",
        |c| {
            let wrong = records(c).len() >= MAX_KERNEL_ARGS;
            c.refuse_if(wrong, KernelArgsUnsupported)
        },
    ),
    launch(
        "argv-records-cap-one-more",
        &["argv.records-cap"],
        "takes 129 records",
        |c| {
            let all = records(c);
            match all.len() == MAX_KERNEL_ARGS + 1 && all.iter().all(Record::is_good) {
                true => c.instead(KernelArgsUnsupported, 0),
                false => c.pass(),
            }
        },
    ),
    launch(
        "argv-records-cap-code",
        &["argv.records-cap"],
        "answers invalid-args to 129 records",
        |c| match c.unsigned("args_len") <= u64::from(MAX_KERNEL_ARGS_BYTES) {
            true => c.recode(KernelArgsUnsupported, InvalidArgs),
            false => c.pass(),
        },
    ),
    launch(
        "argv-record-129-judged",
        &["argv.records-cap"],
        "judges the 129th record before it counts it",
        |c| {
            let all = records(c);
            let wrong =
                all.len() == MAX_KERNEL_ARGS + 1 && all.last().is_some_and(|last| !last.is_good());
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    launch(
        "argv-record-129-window-judged",
        &["argv.records-cap"],
        "judges the window of a 129th record before it counts it",
        |c| {
            let memory = c.memory_len();
            let late = records(c).get(MAX_KERNEL_ARGS).map(|record| record.start);
            let wrong = windows_in(c.bytes("args_ptr", "args_len").unwrap_or_default())
                .iter()
                .any(|(record, (offset, len))| Some(record.start) == late && offset + len > memory);
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    launch(
        "argv-bytes-cap-one-less",
        &["argv.bytes-cap"],
        "reads 4095 bytes",
        |c| {
            let wrong = c.unsigned("args_len") == u64::from(MAX_KERNEL_ARGS_BYTES);
            c.refuse_if(wrong, KernelArgsUnsupported)
        },
    ),
    launch(
        "argv-bytes-cap-one-more",
        &["argv.bytes-cap"],
        "reads 4097 bytes",
        |c| {
            if c.unsigned("args_len") == u64::from(MAX_KERNEL_ARGS_BYTES) + 1 {
                c.set("args_len", i64::from(MAX_KERNEL_ARGS_BYTES));
            }
            c.pass()
        },
    ),
    launch(
        "argv-bytes-cap-last",
        &["argv.bytes-cap"],
        "reads the records before it compares the length with the cap",
        |c| {
            let long = c.unsigned("args_len") > u64::from(MAX_KERNEL_ARGS_BYTES);
            let wrong = long
                && !c.outside("args_ptr", "args_len")
                && records(c).first().is_some_and(|first| !first.is_good());
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    launch(
        "argv-bytes-cap-code",
        &["argv.bytes-cap"],
        "answers invalid-args to a buffer over 4096 bytes",
        |c| match c.unsigned("args_len") > u64::from(MAX_KERNEL_ARGS_BYTES) {
            true => c.recode(KernelArgsUnsupported, InvalidArgs),
            false => c.pass(),
        },
    ),
    launch(
        "argv-counted-first",
        &["argv.order"],
        "counts the records by the buffer's length before it judges any",
        |c| {
            let least = c.unsigned("args_len") / 5;
            let wrong = least > MAX_KERNEL_ARGS as u64 && c.bytes("args_ptr", "args_len").is_some();
            c.refuse_if(wrong, KernelArgsUnsupported)
        },
    ),
    launch(
        "argv-last-bad-only",
        &["argv.order"],
        "takes a first record that is bad for the end of the records",
        |c| match records(c).first() {
            Some(first) if !first.is_good() => code(KernelArgsUnsupported),
            _ => c.pass(),
        },
    ),
    bits("argv-i32-low-half", "passes 16 bits of an i32", |c| {
        revalue(c, 1, |bits| bits & 0xFFFF)
    }),
    bits(
        "argv-u32-saturates",
        "passes u32 values over 2^31 - 1 as that number",
        |c| revalue(c, 5, |bits| bits.min(0x7FFF_FFFF)),
    ),
    bits(
        "argv-i64-low-half",
        "passes the low half of an i64, sign-extended",
        |c| {
            revalue(c, 2, |bits| {
                i64::from(super::world::low_half(bits.cast_signed())).cast_unsigned()
            })
        },
    ),
    bits("argv-u64-low-half", "passes the low half of a u64", |c| {
        revalue(c, 6, |bits| bits & 0xFFFF_FFFF)
    }),
    bits(
        "argv-i64-through-f64",
        "passes an i64 through a double",
        |c| {
            revalue(c, 2, |bits| {
                let through = (bits.cast_signed() as f64) as i64;
                through.cast_unsigned()
            })
        },
    ),
    bits(
        "argv-late-i64-low-half",
        "passes the low half of an i64 behind the 64th record",
        |c| {
            let all = records(c);
            rewritten(c, |argv| {
                for record in all.iter().skip(64).filter(|record| record.tag == 2) {
                    if let Some(high) = argv.get_mut(record.start + 5..record.start + 9) {
                        high.fill(0);
                    }
                }
            })
        },
    ),
    bits("argv-f32-quieted", "makes signalling NaNs quiet", |c| {
        revalue(c, 3, |bits| {
            if is_nan32(bits) {
                bits | 0x0040_0000
            } else {
                bits
            }
        })
    }),
    bits(
        "argv-f32-canonical-nan",
        "passes every NaN as the same one",
        |c| revalue(c, 3, |bits| if is_nan32(bits) { 0x7FC0_0000 } else { bits }),
    ),
    bits("argv-f32-minus-zero", "passes minus zero as zero", |c| {
        revalue(c, 3, |bits| if bits == 0x8000_0000 { 0 } else { bits })
    }),
    bits(
        "argv-f32-subnormals-flushed",
        "passes subnormal numbers as zero",
        |c| {
            revalue(c, 3, |bits| {
                if bits & 0x7F80_0000 == 0 {
                    bits & 0x8000_0000
                } else {
                    bits
                }
            })
        },
    ),
    bits(
        "argv-f64-quieted",
        "makes signalling NaNs of 64 bits quiet",
        |c| {
            revalue(c, 4, |bits| {
                if f64::from_bits(bits).is_nan() {
                    bits | 1 << 51
                } else {
                    bits
                }
            })
        },
    ),
    bits(
        "argv-f64-as-f32",
        "passes an f64 through single precision",
        |c| {
            revalue(c, 4, |bits| {
                let wide = f64::from_bits(bits);
                let narrow = f64::from(wide as f32);
                if wide.is_nan() {
                    bits
                } else {
                    narrow.to_bits()
                }
            })
        },
    ),
    launch(
        "argv-swapped",
        &["argv.parameter-order"],
        "passes the first two records of one size in the wrong order",
        |c| {
            let all = records(c);
            let pair = all.iter().enumerate().find_map(|(number, first)| {
                let second = all
                    .iter()
                    .skip(number + 1)
                    .find(|second| second.size == first.size)?;
                Some((first.start, second.start, first.size + 1))
            });
            let Some((first, second, bytes)) = pair else {
                return c.pass();
            };
            rewritten(c, |argv| {
                let (front, back) = argv.split_at_mut(second);
                if let (Some(one), Some(two)) =
                    (front.get_mut(first..first + bytes), back.get_mut(..bytes))
                {
                    one.swap_with_slice(two);
                }
            })
        },
    ),
    launch(
        "argv-reversed",
        &["argv.parameter-order"],
        "passes the records of each size in reverse order",
        |c| {
            let all = records(c);
            rewritten(c, |argv| {
                let old = argv.to_vec();
                for size in [4, 8] {
                    let alike: Vec<usize> = all
                        .iter()
                        .filter(|record| record.size == size)
                        .map(|record| record.start)
                        .collect();
                    for (to, from) in alike.iter().zip(alike.iter().rev()) {
                        if let (Some(to), Some(from)) = (
                            argv.get_mut(*to..to + size + 1),
                            old.get(*from..from + size + 1),
                        ) {
                            to.copy_from_slice(from);
                        }
                    }
                }
            })
        },
    ),
];

const fn launch(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[Import::Launch], act)
}

const fn without_tag(name: &'static str, wrong: &'static str, act: Act) -> Deviant {
    launch(name, &["argv.tags"], wrong, act)
}

const fn bits(name: &'static str, wrong: &'static str, act: Act) -> Deviant {
    launch(name, &["argv.bits"], wrong, act)
}

/// One record of an argument buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Where its tag is in the buffer.
    pub(super) start: usize,
    pub(super) tag: u8,
    /// Bytes of its value.
    pub(super) size: usize,
    /// Bytes of the value that lie behind the buffer's end.
    pub(super) missing: usize,
}

impl Record {
    fn is_good(&self) -> bool {
        (1..=7).contains(&self.tag) && self.missing == 0
    }
}

/// Offset and length of a window.
pub(super) type Window = (u64, u64);

/// The records of a launch, up to the first bad one.
pub(super) fn records(c: &Call<'_>) -> Vec<Record> {
    records_in(c.bytes("args_ptr", "args_len").unwrap_or_default())
}

/// The windows among these records.
pub(super) fn windows_in(argv: &[u8]) -> Vec<(Record, Window)> {
    let word = |start: usize| {
        let bytes = argv.get(start..start + 4)?.try_into().ok()?;
        Some(u64::from(u32::from_le_bytes(bytes)))
    };
    records_in(argv)
        .into_iter()
        .filter(|record| record.tag == 7)
        .filter_map(|record| Some((record, (word(record.start + 1)?, word(record.start + 5)?))))
        .collect()
}

fn records_in(argv: &[u8]) -> Vec<Record> {
    let mut all = Vec::new();
    let mut start = 0;
    while let Some(tag) = argv.get(start).copied() {
        let size = match tag {
            1 | 3 | 5 => 4,
            2 | 4 | 6 | 7 => 8,
            _ => 0,
        };
        let record = Record {
            start,
            tag,
            size,
            missing: (start + 1 + size).saturating_sub(argv.len()),
        };
        all.push(record);
        if !record.is_good() {
            break;
        }
        start += 1 + size;
    }
    all
}

/// Launches with other bytes in the argument buffer, which the guest finds as it was.
pub(super) fn rewritten(c: &mut Call<'_>, rewrite: impl FnOnce(&mut Vec<u8>)) -> i64 {
    let Some(old) = c.bytes("args_ptr", "args_len").map(<[u8]>::to_vec) else {
        return c.pass();
    };
    let mut argv = old.clone();
    rewrite(&mut argv);
    let at = match argv.len() <= old.len() {
        true => Some(c.unsigned("args_ptr")),
        false => gap(c, &old, argv.len() as u64),
    };
    let Some(at) = at else {
        return c.pass();
    };
    let end = at + argv.len() as u64;
    let (pointer, len) = (at.cast_signed(), argv.len() as i64);
    c.set("args_ptr", pointer).set("args_len", len);
    let Some(before) = c.bytes("args_ptr", "args_len").map(<[u8]>::to_vec) else {
        return c.pass();
    };
    c.store(at, &argv);
    let answer = c.pass();
    // What the kernel itself wrote there stays.
    for (place, (before, passed)) in (at..end).zip(before.into_iter().zip(argv)) {
        if c.byte(place) == Some(passed) {
            c.store(place, &[before]);
        }
    }
    answer
}

/// A place of `len` bytes in the memory that no window of these records holds.
fn gap(c: &Call<'_>, argv: &[u8], len: u64) -> Option<u64> {
    let windows = windows_in(argv);
    let is_free = |start: &u64| {
        windows
            .iter()
            .all(|(_, (offset, bytes))| start + len <= *offset || offset + bytes <= *start)
    };
    let candidates = windows.iter().map(|(_, (offset, bytes))| offset + bytes);
    let last = c.memory_len().checked_sub(len)?;
    [0, last]
        .into_iter()
        .chain(candidates)
        .find(|start| *start <= last && is_free(start))
}

fn retag(c: &mut Call<'_>, rule: fn(u8) -> u8) -> i64 {
    let first = records(c).first().map(|record| record.start);
    rewritten(c, |argv| {
        if let Some(tag) = first.and_then(|start| argv.get_mut(start)) {
            *tag = rule(*tag);
        }
    })
}

fn lacks(c: &mut Call<'_>, tag: u8) -> i64 {
    let wrong = records(c).iter().any(|record| record.tag == tag);
    c.refuse_if(wrong, InvalidArgs)
}

fn lengthened(c: &mut Call<'_>, bytes: usize) -> i64 {
    rewritten(c, |argv| argv.resize(argv.len() + bytes, 0))
}

/// Launches with the values of one tag replaced.
fn revalue(c: &mut Call<'_>, tag: u8, rule: impl Fn(u64) -> u64) -> i64 {
    let all = records(c);
    rewritten(c, |argv| {
        for record in all
            .iter()
            .filter(|record| record.tag == tag && record.missing == 0)
        {
            if let Some(value) = argv.get_mut(record.start + 1..record.start + 1 + record.size) {
                let mut wide = [0; 8];
                wide[..value.len()].copy_from_slice(value);
                let new = rule(u64::from_le_bytes(wide)).to_le_bytes();
                value.copy_from_slice(&new[..value.len()]);
            }
        }
    })
}

fn is_nan32(bits: u64) -> bool {
    bits & 0x7F80_0000 == 0x7F80_0000 && bits & 0x007F_FFFF != 0
}
