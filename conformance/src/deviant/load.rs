//! Mistakes of `load_ptx`: ids, regions, names, caps.

use wasi_cuda_host::abi::AbiError::{
    Internal, InvalidArgs, InvalidPointer, MalformedPtx, QuotaExceeded,
};
use wasi_cuda_host::abi::Import::{Launch, LoadPtx};
use wasi_cuda_host::abi::{
    MAX_ENTRY_NAME_BYTES, MAX_KERNELS_PER_INSTANCE, MAX_PTX_BYTES, MAX_TOTAL_PTX_BYTES,
};

use super::call::Call;
use super::ptx::{SMALLEST, entries};
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    load(
        "load-id-negative",
        &["load.id"],
        "gives out ids with the sign bit set",
        |c| match c.pass() {
            id if id >= 0 => {
                let shown = id | i64::MIN;
                c.guest().known_as.insert(shown, id);
                shown
            }
            refused => refused,
        },
    ),
    load(
        "load-same-text-same-id",
        &["load.id-unique"],
        "gives a text that is loaded again the id it has",
        |c| {
            let Some((mut text, entry)) = c.ptx() else {
                return c.pass();
            };
            text.extend(entry);
            match c.notes().ids.get(&text) {
                Some(known) => *known,
                None => {
                    let id = c.pass();
                    if id >= 0 {
                        c.notes().ids.insert(text, id);
                    }
                    id
                }
            }
        },
    ),
    load(
        "load-carriage-returns-refused",
        &["load.well-formed"],
        "refuses PTX with the line ends of other systems",
        |c| refuse_text(c, "\r"),
    ),
    load(
        "load-block-comments-refused",
        &["load.well-formed"],
        "refuses comments between /* and */",
        |c| refuse_text(c, "/*"),
    ),
    load(
        "load-line-comment-needs-end",
        &["load.well-formed"],
        "refuses a line comment that the end of the text ends",
        |c| {
            let last = c.ptx().and_then(|(text, _)| {
                let text = String::from_utf8(text).ok()?;
                text.lines()
                    .last()
                    .map(|line| text.ends_with(line) && line.contains("//"))
            });
            c.refuse_if(last.unwrap_or(false), MalformedPtx)
        },
    ),
    load(
        "load-debug-lines-refused",
        &["load.well-formed"],
        "refuses debug lines",
        |c| refuse_text(c, ".loc"),
    ),
    load(
        "load-debug-sections-refused",
        &["load.well-formed"],
        "refuses debug sections",
        |c| refuse_text(c, ".section"),
    ),
    load(
        "load-one-line-refused",
        &["load.well-formed"],
        "wants a line end behind each directive",
        |c| {
            let one_line = c.ptx().is_some_and(|(text, _)| !text.contains(&b'\n'));
            c.refuse_if(one_line, MalformedPtx)
        },
    ),
    load(
        "load-ptx-cap-one-less",
        &["load.ptx.length-cap"],
        "refuses PTX of exactly 8 MiB",
        |c| {
            let wrong = c.unsigned("ptx_len") == MAX_PTX_BYTES;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    load(
        "load-ptx-cap-one-more",
        &["load.ptx.length-cap"],
        "loads PTX of one byte over 8 MiB",
        |c| {
            if c.unsigned("ptx_len") == MAX_PTX_BYTES + 1 && !c.outside("ptx_ptr", "ptx_len") {
                let cap = c.arg("ptx_len") - 1;
                c.set("ptx_len", cap);
            }
            c.pass()
        },
    ),
    load(
        "load-ptx-cap-code",
        &["load.ptx.length-cap"],
        "answers invalid-args to PTX over 8 MiB",
        |c| match c.unsigned("ptx_len") > MAX_PTX_BYTES {
            true => c.recode(QuotaExceeded, InvalidArgs),
            false => c.pass(),
        },
    ),
    load(
        "load-ptx-region-one-more",
        &["load.ptx.region"],
        "reads one byte of PTX behind the memory's end",
        |c| one_more(c, "ptx_ptr", "ptx_len"),
    ),
    load(
        "load-ptx-region-wraps",
        &["load.ptx.region"],
        "adds pointer and length of the PTX in 32 bits",
        |c| wrapping(c, "ptx_ptr", "ptx_len"),
    ),
    load(
        "load-ptx-region-code",
        &["load.ptx.region"],
        "answers invalid-args to PTX outside the memory",
        |c| match c.outside("ptx_ptr", "ptx_len") {
            true => c.recode(InvalidPointer, InvalidArgs),
            false => c.pass(),
        },
    ),
    load(
        "load-entry-region-one-more",
        &["load.entry.region"],
        "reads one byte of the name behind the memory's end",
        |c| one_more(c, "entry_ptr", "entry_len"),
    ),
    load(
        "load-entry-region-wraps",
        &["load.entry.region"],
        "adds pointer and length of the name in 32 bits",
        |c| wrapping(c, "entry_ptr", "entry_len"),
    ),
    load(
        "load-entry-region-code",
        &["load.entry.region"],
        "answers invalid-args to a name outside the memory",
        |c| match c.outside("entry_ptr", "entry_len") {
            true => c.recode(InvalidPointer, InvalidArgs),
            false => c.pass(),
        },
    ),
    load(
        "load-entry-last-byte-refused",
        &["load.entry.region"],
        "refuses a name that ends with the memory",
        |c| {
            let wrong = c.end("entry_ptr", "entry_len") == c.memory_len();
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    load(
        "load-entry-cap-one-less",
        &["load.entry.name"],
        "refuses a name of 256 bytes",
        |c| {
            let wrong = c.unsigned("entry_len") == u64::from(MAX_ENTRY_NAME_BYTES);
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    load(
        "load-entry-one-byte-refused",
        &["load.entry.name"],
        "refuses a name of one byte",
        |c| {
            let wrong = c.arg("entry_len") == 1;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    load(
        "load-entry-cut",
        &["load.entry.name"],
        "keeps 63 bytes of a name",
        |c| {
            let kept = c.arg("entry_len").min(63);
            c.set("entry_len", kept).pass()
        },
    ),
    load(
        "load-entry-cap-ignored",
        &["load.entry.length-cap"],
        "takes names of any length",
        |c| match c.ptx() {
            Some((_, entry)) if entry.len() > MAX_ENTRY_NAME_BYTES as usize => {
                c.load(SMALLEST, b"k")
            }
            _ => c.pass(),
        },
    ),
    load(
        "load-entry-cap-in-characters",
        &["load.entry.length-cap"],
        "counts a name's characters and not its bytes",
        |c| {
            let few = c.ptx().is_some_and(|(_, entry)| {
                let name = std::str::from_utf8(&entry);
                name.is_ok_and(|name| name.chars().count() <= MAX_ENTRY_NAME_BYTES as usize)
            });
            match few {
                true => c.instead(QuotaExceeded, code(InvalidArgs)),
                false => c.pass(),
            }
        },
    ),
    load(
        "load-entry-utf8-code",
        &["load.entry.utf8"],
        "answers malformed-ptx to a name that is not UTF-8",
        |c| match not_utf8(c) {
            true => c.recode(InvalidArgs, MalformedPtx),
            false => c.pass(),
        },
    ),
    load(
        "load-entry-utf8-ignored",
        &["load.entry.utf8"],
        "loads the first kernel when the name is not UTF-8",
        |c| match not_utf8(c) {
            true => load_first(c),
            false => c.pass(),
        },
    ),
    load(
        "load-entry-missing-is-first",
        &["load.entry.missing"],
        "takes the first kernel when none has the name",
        |c| match c.pass() {
            refused if refused == code(InvalidArgs) && !not_utf8(c) => load_first(c),
            answer => answer,
        },
    ),
    load(
        "load-entry-any-case",
        &["load.entry.missing"],
        "takes upper and lower case for the same",
        |c| load_named(c, |entry, wanted| entry.eq_ignore_ascii_case(wanted)),
    ),
    load(
        "load-entry-prefix",
        &["load.entry.missing"],
        "takes a kernel whose name only starts as wanted",
        |c| {
            load_named(c, |entry, wanted| {
                entry.starts_with(wanted) && !wanted.is_empty()
            })
        },
    ),
    load(
        "load-kernel-cap-one-less",
        &["load.kernel-cap"],
        "holds 255 kernels",
        |c| {
            let wrong = c.guest().kernels.len() as u64 >= MAX_KERNELS_PER_INSTANCE - 1;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    load(
        "load-kernel-cap-one-more",
        &["load.kernel-cap"],
        "holds 257 kernels",
        |c| match c.guest().kernels.len() as u64 == MAX_KERNELS_PER_INSTANCE {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    load(
        "load-kernel-cap-ignored",
        &["load.kernel-cap"],
        "holds any number of kernels",
        |c| match c.guest().kernels.len() as u64 >= MAX_KERNELS_PER_INSTANCE {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    load(
        "load-kernel-cap-code",
        &["load.kernel-cap"],
        "answers internal where no kernel more can be held",
        |c| match c.guest().kernels.len() as u64 >= MAX_KERNELS_PER_INSTANCE {
            true => c.recode(QuotaExceeded, Internal),
            false => c.pass(),
        },
    ),
    load(
        "load-total-cap-one-less",
        &["load.total-length-cap"],
        "holds one byte of PTX less than it should",
        |c| {
            let wrong = total_with(c) == MAX_TOTAL_PTX_BYTES;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    load(
        "load-total-cap-one-more",
        &["load.total-length-cap"],
        "holds one byte of PTX more than it should",
        |c| match total_with(c) == MAX_TOTAL_PTX_BYTES + 1 {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    load(
        "load-total-cap-ignored",
        &["load.total-length-cap"],
        "does not add up the PTX it holds",
        |c| match total_with(c) > MAX_TOTAL_PTX_BYTES {
            true => c.pass_spare(),
            false => c.pass(),
        },
    ),
    load(
        "load-refused-counts",
        &["load.refused-uses-no-quota"],
        "counts kernels that it refused",
        |c| {
            let counted = c.guest().kernels.len() as i64 + c.notes().number;
            if counted.cast_unsigned() >= MAX_KERNELS_PER_INSTANCE {
                return code(QuotaExceeded);
            }
            let answer = c.pass();
            c.notes().number += i64::from(answer < 0);
            answer
        },
    ),
    Deviant::new(
        "variables-reset",
        &["launch.module-variables"],
        "sets a kernel's variables anew at each launch",
        &[LoadPtx, Launch],
        |c| {
            if c.import == LoadPtx {
                let loaded = c.ptx();
                let id = c.pass();
                if let Some(loaded) = loaded.filter(|_| id >= 0) {
                    c.notes().texts.insert(id, loaded);
                }
                return id;
            }
            let id = c.id();
            if let Some((text, entry)) = c.notes().texts.get(&id).cloned() {
                let fresh = c.load(&text, &entry);
                c.set_id(fresh);
            }
            c.pass()
        },
    ),
];

const fn load(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[LoadPtx], act)
}

fn refuse_text(c: &mut Call<'_>, piece: &str) -> i64 {
    let holds = c.ptx().is_some_and(|(text, _)| {
        text.windows(piece.len())
            .any(|window| window == piece.as_bytes())
    });
    c.refuse_if(holds, MalformedPtx)
}

/// Takes a region that is one byte too long for one that ends with the memory.
pub(super) fn one_more(c: &mut Call<'_>, pointer: &str, len: &str) -> i64 {
    if c.end(pointer, len) == c.memory_len() + 1 {
        let short = c.arg(len) - 1;
        c.set(len, short);
    }
    c.pass()
}

/// Takes a region whose end overflows 32 bits to start at 0.
pub(super) fn wrapping(c: &mut Call<'_>, pointer: &str, len: &str) -> i64 {
    let end = c.end(pointer, len);
    if c.arg(len) > 0 && end > u64::from(u32::MAX) && end - (1 << 32) <= c.memory_len() {
        c.set(pointer, 0);
    }
    c.pass()
}

fn not_utf8(c: &Call<'_>) -> bool {
    c.ptx()
        .is_some_and(|(_, entry)| str::from_utf8(&entry).is_err())
}

pub(super) fn load_first(c: &mut Call<'_>) -> i64 {
    let Some((text, _)) = c.ptx() else {
        return c.pass();
    };
    let first = str::from_utf8(&text)
        .ok()
        .and_then(|text| entries(text).into_iter().next());
    match first {
        Some(entry) => c.load(&text, entry.as_bytes()),
        None => c.pass(),
    }
}

/// Tries a kernel that `is` the wanted one where no kernel has exactly that name.
fn load_named(c: &mut Call<'_>, is: fn(&str, &str) -> bool) -> i64 {
    let answer = c.pass();
    if answer != code(InvalidArgs) {
        return answer;
    }
    let Some((text, entry)) = c.ptx() else {
        return answer;
    };
    let found = str::from_utf8(&text)
        .ok()
        .zip(str::from_utf8(&entry).ok())
        .and_then(|(text, wanted)| entries(text).into_iter().find(|entry| is(entry, wanted)));
    match found {
        Some(entry) => c.load(&text, entry.as_bytes()),
        None => answer,
    }
}

/// The PTX bytes that the guest would hold with this load.
fn total_with(c: &mut Call<'_>) -> u64 {
    let asked = c.unsigned("ptx_len");
    c.guest().ptx_bytes() + asked
}
