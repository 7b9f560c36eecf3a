//! Mistakes about the windows of `ptr` records: which are good, and what a kernel can reach through them.

use wasi_cuda_host::abi::AbiError::{InvalidArgs, InvalidPointer};
use wasi_cuda_host::abi::Import::{Launch, LoadPtx};

use super::argv::{Record, Window, rewritten, windows_in};
use super::call::Call;
use super::{Act, Deviant};

pub(super) const DEVIANTS: &[Deviant] = &[
    launch(
        "window-one-more",
        &["argv.window"],
        "takes windows that end one byte behind the memory",
        |c| {
            let memory = c.memory_len();
            adjusted(c, |_, (offset, len)| {
                if len > 0 && offset + len == memory + 1 {
                    (offset, len - 1)
                } else {
                    (offset, len)
                }
            })
        },
    ),
    launch(
        "window-last-byte-refused",
        &["argv.window"],
        "refuses windows that end with the memory",
        |c| {
            let memory = c.memory_len();
            let wrong = windows(c)
                .into_iter()
                .any(|(_, (offset, len))| len > 0 && offset + len == memory);
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    launch(
        "window-wraps",
        &["argv.window"],
        "adds a window's offset and length in 32 bits",
        |c| {
            let memory = c.memory_len();
            adjusted(c, |_, (offset, len)| {
                let end = (offset + len) & u64::from(u32::MAX);
                if offset + len > u64::from(u32::MAX) && end <= memory {
                    (0, end)
                } else {
                    (offset, len)
                }
            })
        },
    ),
    launch(
        "window-offset-only",
        &["argv.window"],
        "checks where a window starts and not where it ends",
        |c| {
            let memory = c.memory_len();
            adjusted(c, |_, (offset, len)| {
                if offset < memory {
                    (offset, len.min(memory - offset))
                } else {
                    (offset, len)
                }
            })
        },
    ),
    launch(
        "window-first-only",
        &["argv.window"],
        "checks the first window only",
        |c| adjusted_outside(c, |number| number > 0),
    ),
    launch(
        "window-last-only",
        &["argv.window"],
        "checks the last window only",
        |c| {
            let last = windows(c).len().saturating_sub(1);
            adjusted_outside(c, |number| number != last)
        },
    ),
    launch(
        "window-code",
        &["argv.window"],
        "answers invalid-args to a window outside the memory",
        |c| {
            let memory = c.memory_len();
            let wrong = windows(c)
                .into_iter()
                .any(|(_, (offset, len))| offset + len > memory);
            match wrong {
                true => c.recode(InvalidPointer, InvalidArgs),
                false => c.pass(),
            }
        },
    ),
    launch(
        "window-empty-at-end-refused",
        &["argv.window.empty"],
        "refuses an empty window at the memory's end",
        |c| {
            let memory = c.memory_len();
            let wrong = windows(c)
                .into_iter()
                .any(|(_, window)| window == (memory, 0));
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    launch(
        "window-empty-refused",
        &["argv.window.empty"],
        "refuses windows of no bytes",
        |c| {
            let wrong = windows(c).into_iter().any(|(_, (_, len))| len == 0);
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    launch(
        "window-empty-anywhere",
        &["argv.window.empty"],
        "takes an empty window wherever it is",
        |c| {
            adjusted(
                c,
                |_, (offset, len)| if len == 0 { (0, 0) } else { (offset, len) },
            )
        },
    ),
    launch(
        "window-empty-one-past",
        &["argv.window.empty"],
        "takes an empty window one byte behind the memory's end",
        |c| {
            let memory = c.memory_len();
            adjusted(c, |_, window| {
                if window == (memory + 1, 0) {
                    (memory, 0)
                } else {
                    window
                }
            })
        },
    ),
    launch(
        "window-end-wraps-at-4gib",
        &["memory.end-at-4gib"],
        "takes a window that ends a byte over 4 GiB",
        |c| {
            adjusted(c, |_, (offset, len)| {
                if offset + len == (1 << 32) + 1 {
                    (offset, len - 1)
                } else {
                    (offset, len)
                }
            })
        },
    ),
    launch(
        "window-word-short",
        &["launch.window.access"],
        "gives a kernel one word less than the window",
        |c| adjusted(c, |_, (offset, len)| (offset, len.saturating_sub(4))),
    ),
    launch(
        "window-ninth-not-mapped",
        &["launch.window.access"],
        "gives a kernel its first eight windows",
        |c| first_only(c, 8),
    ),
    launch(
        "window-33rd-not-mapped",
        &["launch.window.access"],
        "gives a kernel its first 32 windows",
        |c| first_only(c, 32),
    ),
    launch(
        "window-128th-not-mapped",
        &["launch.window.access"],
        "gives a kernel its first 127 windows",
        |c| first_only(c, 127),
    ),
    launch(
        "window-cut-at-1-mib",
        &["launch.window.access"],
        "gives a kernel a MiB of each window",
        |c| cut(c, 1 << 20),
    ),
    launch(
        "window-cut-at-16-mib",
        &["launch.window.access"],
        "gives a kernel 16 MiB of each window",
        |c| cut(c, 16 << 20),
    ),
    launch(
        "window-read-only",
        &["launch.window.access"],
        "copies windows to the device and not back",
        |c| {
            let mut memory = c.memory_with_room(0);
            c.pass_on(&mut memory)
        },
    ),
    launch(
        "window-write-only",
        &["launch.window.access"],
        "does not copy windows to the device",
        |c| {
            let all = windows(c);
            let mut memory = c.memory_with_room(0);
            for (_, (offset, len)) in all {
                if let Some(bytes) = slice(&mut memory, offset, len) {
                    bytes.fill(0);
                }
            }
            let answer = c.pass_on(&mut memory);
            c.take_back(&memory);
            answer
        },
    ),
    launch(
        "window-spills",
        &["launch.window.access"],
        "writes back a word more than the window",
        |c| {
            let all = windows(c);
            let answer = c.pass();
            for (_, (offset, len)) in all.iter().filter(|_| answer == 0) {
                c.store(offset + len, &[0xFF; 4]);
            }
            answer
        },
    ),
    launch(
        "windows-copied-apart",
        &["launch.window.alias"],
        "copies each window on its own, so that they do not alias",
        |c| apart(c, |_| true),
    ),
    launch(
        "windows-equal-alias-only",
        &["launch.window.alias"],
        "lets windows alias when they start at the same byte",
        |c| apart(c, |(first, second)| first != second),
    ),
    launch(
        "window-other-instance",
        &["launch.window.own-memory"],
        "runs kernels of later instances on the first instance's memory",
        |c| {
            if c.me == 0 {
                let answer = c.pass();
                let memory = c.memory_with_room(0);
                c.world.notes.bytes = Some(memory);
                return answer;
            }
            match c.world.notes.bytes.take() {
                Some(mut memory) => {
                    let own = usize::try_from(c.memory_len()).unwrap_or(memory.len());
                    memory.resize(memory.len().max(own), 0);
                    // The argument buffer is the caller's: it travels with the call.
                    if let (Some(argv), Some(place)) = (
                        c.bytes("args_ptr", "args_len").map(<[u8]>::to_vec),
                        slice(&mut memory, c.unsigned("args_ptr"), c.unsigned("args_len")),
                    ) {
                        place.copy_from_slice(&argv);
                    }
                    let answer = c.pass_on(&mut memory);
                    c.world.notes.bytes = Some(memory);
                    answer
                }
                None => c.pass(),
            }
        },
    ),
    Deviant::new(
        "window-whole-memory",
        &["launch.window.isolation"],
        "lets a kernel reach the whole memory",
        &[LoadPtx, Launch],
        |c| {
            if c.import == LoadPtx {
                return c.load_rewritten(with_parameter);
            }
            let memory = u32::try_from(c.memory_len()).unwrap_or(u32::MAX);
            rewritten(c, |argv| {
                argv.push(7);
                argv.extend(0_u32.to_le_bytes());
                argv.extend(memory.to_le_bytes());
            })
        },
    ),
    launch(
        "window-end-rounded-up",
        &["launch.window.isolation"],
        "lets a kernel reach the rest of a window's page",
        |c| {
            let memory = c.memory_len();
            adjusted(c, |_, (offset, len)| {
                let end = (offset + len).next_multiple_of(4096).min(memory);
                (offset, end.saturating_sub(offset).max(len))
            })
        },
    ),
    launch(
        "window-hull",
        &["launch.window.isolation"],
        "lets a kernel reach what lies between its windows",
        |c| widened(c, u64::MAX),
    ),
    launch(
        "window-neighbours-merged",
        &["launch.window.isolation"],
        "takes windows less than 16 bytes apart for one",
        |c| widened(c, 15),
    ),
    launch(
        "window-one-word-more",
        &["launch.window.isolation"],
        "lets a kernel reach the word behind a window",
        |c| {
            let memory = c.memory_len();
            adjusted(c, |_, (offset, len)| {
                if offset + len + 4 <= memory {
                    (offset, len + 4)
                } else {
                    (offset, len)
                }
            })
        },
    ),
    launch(
        "window-offset-rounded",
        &["launch.window.any-offset"],
        "starts windows at a multiple of four",
        |c| adjusted(c, |_, (offset, len)| (offset & !3, len)),
    ),
    launch(
        "window-length-rounded",
        &["launch.window.any-offset"],
        "ends windows at a multiple of four bytes from their start",
        |c| adjusted(c, |_, (offset, len)| (offset, len & !3)),
    ),
    launch(
        "window-cached",
        &["launch.window.current"],
        "keeps a window's bytes on the device from launch to launch",
        |c| {
            let all: Vec<Window> = windows(c).into_iter().map(|(_, window)| window).collect();
            for window in &all {
                if let Some(bytes) = c.notes().windows.get(window).cloned() {
                    c.store(window.0, &bytes);
                }
            }
            let answer = c.pass();
            for (offset, len) in all {
                let bytes = (offset..offset + len).map_while(|at| c.byte(at)).collect();
                c.notes().windows.insert((offset, len), bytes);
            }
            answer
        },
    ),
    launch(
        "window-empty-has-a-byte",
        &["launch.window.empty"],
        "gives a window of no bytes one",
        |c| {
            let memory = c.memory_len();
            adjusted(c, |_, (offset, len)| {
                if len == 0 && offset < memory {
                    (offset, 1)
                } else {
                    (offset, len)
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
    Deviant::new(name, breaks, wrong, &[Launch], act)
}

/// The windows of a launch with their records.
fn windows(c: &Call<'_>) -> Vec<(Record, Window)> {
    windows_in(c.bytes("args_ptr", "args_len").unwrap_or_default())
}

/// Launches with other windows; `rule` gets a window's number among them.
fn adjusted(c: &mut Call<'_>, rule: impl Fn(usize, Window) -> Window) -> i64 {
    let all = windows(c);
    if all.is_empty() {
        return c.pass();
    }
    rewritten(c, |argv| {
        for (number, (record, window)) in all.into_iter().enumerate() {
            place(argv, record, rule(number, window));
        }
    })
}

/// Makes each window reach to the next one in the memory where at most `apart` bytes lie between them.
fn widened(c: &mut Call<'_>, apart: u64) -> i64 {
    let memory = c.memory_len();
    let starts: Vec<u64> = windows(c)
        .into_iter()
        .map(|(_, (offset, _))| offset)
        .collect();
    adjusted(c, |_, (offset, len)| {
        let end = offset + len;
        let next = starts.iter().filter(|start| **start >= end).min();
        match next {
            Some(next) if len > 0 && *next <= memory && next - end <= apart => {
                (offset, next - offset)
            }
            _ => (offset, len),
        }
    })
}

/// Launches with windows of no bytes in place of those whose number is over a limit.
fn first_only(c: &mut Call<'_>, limit: usize) -> i64 {
    adjusted(c, |number, (offset, len)| match number < limit {
        true => (offset, len),
        false => (offset, 0),
    })
}

/// Launches with at most as many bytes of each window that lies inside the memory.
fn cut(c: &mut Call<'_>, most: u64) -> i64 {
    let memory = c.memory_len();
    adjusted(c, |_, (offset, len)| match offset + len <= memory {
        true => (offset, len.min(most)),
        false => (offset, len),
    })
}

/// Takes windows outside the memory for empty ones where they are not checked.
fn adjusted_outside(c: &mut Call<'_>, unchecked: impl Fn(usize) -> bool) -> i64 {
    let memory = c.memory_len();
    adjusted(c, |number, (offset, len)| {
        if unchecked(number) && offset + len > memory {
            (0, 0)
        } else {
            (offset, len)
        }
    })
}

fn place(argv: &mut [u8], record: Record, (offset, len): Window) {
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    if let Some(value) = argv.get_mut(record.start + 1..record.start + 9) {
        value[..4].copy_from_slice(&word(offset));
        value[4..].copy_from_slice(&word(len));
    }
}

/// Launches with copies in place of the windows that overlap an earlier one in such a way.
fn apart(c: &mut Call<'_>, copied: fn((u64, u64)) -> bool) -> i64 {
    let all = windows(c);
    let Some(argv) = c.bytes("args_ptr", "args_len").map(<[u8]>::to_vec) else {
        return c.pass();
    };
    let mut memory = c.memory_with_room(0);
    let own = memory.len();
    if all
        .iter()
        .any(|(_, (offset, len))| offset + len > own as u64)
    {
        return c.pass();
    }
    let mut argv = argv;
    let mut copies = Vec::new();
    for (number, (record, (offset, len))) in all.iter().enumerate() {
        let overlaps = all.iter().take(number).any(|(_, (other, other_len))| {
            offset < &(other + other_len) && other < &(offset + len) && copied((*other, *offset))
        });
        if overlaps
            && let Some(bytes) = slice(&mut memory, *offset, *len).map(|bytes| bytes.to_vec())
        {
            // As far from a multiple of any access's size as the window itself.
            let start =
                memory.len().next_multiple_of(4096) + usize::try_from(offset % 4096).unwrap_or(0);
            memory.resize(start, 0);
            memory.extend(bytes);
            place(&mut argv, *record, (start as u64, *len));
            copies.push((start, *offset, *len));
        }
    }
    let argv_at = memory.len();
    memory.extend(&argv);
    c.set("args_ptr", argv_at as i64);
    let answer = c.pass_on(&mut memory);
    c.take_back(&memory);
    for (start, offset, len) in copies {
        if let Some(bytes) = slice(&mut memory, start as u64, len).map(|bytes| bytes.to_vec()) {
            c.store(offset, &bytes);
        }
    }
    answer
}

fn slice(memory: &mut [u8], start: u64, len: u64) -> Option<&mut [u8]> {
    let start = usize::try_from(start).ok()?;
    memory.get_mut(start..start.checked_add(usize::try_from(len).ok()?)?)
}

/// The text with one pointer parameter more for each kernel.
fn with_parameter(text: &str) -> String {
    let mut pieces = text.split(".entry ");
    let mut all = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        all.push_str(".entry ");
        match piece.split_once(')') {
            Some((head, rest)) => {
                let comma = if head.trim_end().ends_with('(') {
                    ""
                } else {
                    ", "
                };
                all.push_str(&format!("{head}{comma}.param .u64 whole_memory){rest}"));
            }
            None => all.push_str(piece),
        }
    }
    all
}
