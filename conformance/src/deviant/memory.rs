//! Mistakes about which bytes are the caller's memory.

use wasi_cuda_host::abi::AbiError::{InvalidArgs, InvalidPointer};
use wasi_cuda_host::abi::Import::{
    self, Alloc, Free, LastErrorCopy, LastErrorLen, Launch, LoadPtx, MemcpyD2h, MemcpyH2d, Sync,
};

use super::call::{Call, Exported};
use super::{Deviant, Flaw, MemoryChoice};

pub(super) const DEVIANTS: &[Deviant] = &[
    Deviant::with(
        "memory-under-any-name",
        &["memory.name"],
        "takes the first exported memory, whatever its name",
        Flaw::Memory(MemoryChoice::First, |c| c.pass()),
    ),
    Deviant::with(
        "memory-not-one-traps",
        &["memory.name"],
        "traps when the export called `memory` is no memory",
        Flaw::Memory(MemoryChoice::Named, |c| {
            let wrong = c.exported == Exported::Other && WITH_REGION.contains(&c.import);
            c.trap_if(wrong)
        }),
    ),
    Deviant::new(
        "memory-absent-traps",
        &["memory.absent"],
        "traps on a region of a guest without a memory",
        WITH_REGION,
        |c| {
            let wrong = c.exported == Exported::Nothing;
            c.trap_if(wrong)
        },
    ),
    Deviant::new(
        "memory-absent-code",
        &["memory.absent"],
        "answers invalid-args where there is no memory",
        WITH_REGION,
        |c| match c.exported {
            Exported::Nothing => c.recode(InvalidPointer, InvalidArgs),
            _ => c.pass(),
        },
    ),
    Deviant::new(
        "memory-absent-refuses-all",
        &["memory.absent"],
        "serves no call of a guest without a memory, not even those that take no region",
        &[Sync, Alloc, Free],
        |c| {
            let wrong = c.exported == Exported::Nothing;
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    Deviant::new(
        "memory-absent-launch-refused",
        &["memory.absent"],
        "looks for a memory even where a launch has no arguments",
        &[Launch],
        |c| {
            let wrong = c.exported == Exported::Nothing && c.arg("args_len") == 0;
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    Deviant::new(
        "memory-absent-length-refused",
        &["memory.absent"],
        "refuses to say how long the message is when there is no memory",
        &[LastErrorLen],
        |c| {
            let wrong = c.exported == Exported::Nothing;
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    Deviant::new(
        "memory-no-pages-refuses-empty",
        &["memory.no-pages"],
        "takes a memory of no pages for none",
        &[MemcpyH2d, MemcpyD2h],
        |c| {
            let wrong = c.exported == Exported::Memory && c.memory_len() == 0;
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    Deviant::new(
        "memory-no-pages-has-one",
        &["memory.no-pages"],
        "takes every memory to have a page at least",
        WITH_REGION,
        |c| match (c.exported, c.memory_len()) {
            (Exported::Memory, 0) => c.pass_on(&mut vec![0; PAGE]),
            _ => c.pass(),
        },
    ),
    Deviant::new(
        "memory-first-length",
        &["memory.grow"],
        "keeps the length that the memory had at the first call",
        WITH_REGION,
        |c| {
            let now = c.memory_len();
            let first = match c.notes().number {
                0 => now,
                known => known.cast_unsigned(),
            };
            c.notes().number = first.cast_signed();
            let Ok(len) = usize::try_from(first) else {
                return c.pass();
            };
            let mut memory = c.memory_with_room(0);
            memory.truncate(len);
            let answer = c.pass_on(&mut memory);
            c.store(0, &memory);
            answer
        },
    ),
    Deviant::new(
        "memory-first-place",
        &["memory.grow"],
        "keeps using the bytes that were the memory before it grew",
        WITH_REGION,
        |c| {
            let grown = c.memory_len();
            match c.notes().bytes.take() {
                Some(mut old) if (old.len() as u64) < grown => {
                    old.resize(usize::try_from(grown).unwrap_or(old.len()), 0);
                    let answer = c.pass_on(&mut old);
                    c.notes().bytes = Some(old);
                    answer
                }
                _ => {
                    let answer = c.pass();
                    let now = c.memory_with_room(0);
                    c.notes().bytes = Some(now);
                    answer
                }
            }
        },
    ),
    Deviant::new(
        "memory-shared-traps",
        &["memory.shared"],
        "traps on a shared memory",
        WITH_REGION,
        |c| {
            let wrong = c.exported == Exported::SharedMemory;
            c.trap_if(wrong)
        },
    ),
    Deviant::new(
        "memory-shared-code",
        &["memory.shared"],
        "answers invalid-args where the memory is shared",
        WITH_REGION,
        |c| match c.exported {
            Exported::SharedMemory => c.recode(InvalidPointer, InvalidArgs),
            _ => c.pass(),
        },
    ),
    Deviant::new(
        "memory-64-bit-refused",
        &["memory.64-bit"],
        "takes a 64-bit memory for none",
        WITH_REGION,
        |c| {
            let wrong = c.exported == Exported::Memory64;
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    Deviant::new(
        "memory-offsets-signed",
        &["memory.high-offsets"],
        "reads offsets as signed numbers",
        WITH_REGION,
        |c| {
            let wrong = pointers(c).into_iter().any(|pointer| pointer < 0);
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
];

const WITH_REGION: &[Import] = &[LoadPtx, Launch, LastErrorCopy, MemcpyH2d, MemcpyD2h];

const PAGE: usize = 65536;

/// The offsets among a call's arguments.
fn pointers(c: &Call<'_>) -> Vec<i64> {
    let names: &[&str] = match c.import {
        LoadPtx => &["ptx_ptr", "entry_ptr"],
        Launch => &["args_ptr"],
        MemcpyH2d => &["src_ptr"],
        MemcpyD2h | LastErrorCopy => &["dst_ptr"],
        Sync | LastErrorLen | Alloc | Free => &[],
    };
    names.iter().map(|name| c.arg(name)).collect()
}
