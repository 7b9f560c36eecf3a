//! Mistakes of the messages.

use wasi_cuda_host::abi::AbiError::{InvalidArgs, InvalidPointer, NotAvailable};
use wasi_cuda_host::abi::Import::{
    self, Alloc, Free, LastErrorCopy, LastErrorLen, Launch, LoadPtx, MemcpyD2h, MemcpyH2d, Sync,
};

use super::call::Call;
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    reading(
        "message-before-any",
        &["last-error.none"],
        "has a message before any call failed",
        |c| {
            shown(c, |text, _| {
                if text.is_empty() {
                    b"no error".to_vec()
                } else {
                    text
                }
            })
        },
    ),
    copying(
        "message-none-ends-with-zero",
        &["last-error.none"],
        "writes a zero byte where there is no message",
        |c| {
            let (at, len) = (c.unsigned("dst_ptr"), c.arg("dst_len"));
            let answer = c.pass();
            if answer == 0 && len > 0 {
                c.store(at, &[0]);
            }
            answer
        },
    ),
    copying(
        "message-none-code",
        &["last-error.none"],
        "answers not-available where there is no message",
        |c| {
            let none = text_of(c).is_empty();
            c.refuse_if(none, NotAvailable)
        },
    ),
    recording(
        "message-of-success",
        &["last-error.none"],
        "records a message for calls that succeed",
        |c| {
            let answer = c.pass();
            if answer >= 0 && is_recording(c.import) {
                c.notes().flag = true;
            }
            let recorded = c.notes().flag;
            match c.import {
                LastErrorLen if answer == 0 && recorded => 7,
                _ => answer,
            }
        },
    ),
    reading(
        "message-never",
        &["last-error.recorded"],
        "records no messages",
        |c| shown(c, |_, _| Vec::new()),
    ),
    recording(
        "message-first-kept",
        &["last-error.newest-unread"],
        "keeps the first message until somebody reads it",
        |c| {
            if is_recording(c.import) {
                return keeping_first(c);
            }
            match c.notes().bytes.take() {
                Some(text) => show(c, &text),
                None => c.pass(),
            }
        },
    ),
    recording(
        "message-of-device-kept",
        &["last-error.newest-unread"],
        "keeps what a device found wrong until somebody reads it",
        |c| {
            if !is_recording(c.import) {
                return match c.notes().bytes.take() {
                    Some(text) => show(c, &text),
                    None => c.pass(),
                };
            }
            let answer = c.pass();
            if answer < 0 && c.device_error().is_some() {
                let text = text_of(c);
                c.notes().bytes = Some(text);
            }
            answer
        },
    ),
    recording(
        "message-first-for-ever",
        &["last-error.newest", "last-error.newest-unread"],
        "keeps the first message for ever",
        |c| {
            if is_recording(c.import) {
                return keeping_first(c);
            }
            match c.notes().bytes.clone() {
                Some(text) => show(c, &text),
                None => c.pass(),
            }
        },
    ),
    recording(
        "message-gone-once-read",
        &["last-error.read-again", "last-error.stays"],
        "forgets a message once it was copied out",
        |c| {
            let answer = forgetting(c);
            if c.import == LastErrorCopy && answer > 0 {
                c.notes().flag = true;
            }
            answer
        },
    ),
    recording(
        "message-gone-after-success",
        &["last-error.stays"],
        "forgets a message at the next call that succeeds",
        |c| {
            let answer = forgetting(c);
            if answer >= 0 && is_recording(c.import) {
                c.notes().flag = true;
            }
            answer
        },
    ),
    recording(
        "message-gone-after-sync",
        &["last-error.stays"],
        "forgets a message at the next sync",
        |c| {
            let answer = forgetting(c);
            if c.import == Sync {
                c.notes().flag = true;
            }
            answer
        },
    ),
    recording(
        "message-gone-after-load",
        &["last-error.stays"],
        "forgets a message at the next load that succeeds",
        |c| gone_after(c, LoadPtx),
    ),
    recording(
        "message-gone-after-launch",
        &["last-error.stays"],
        "forgets a message at the next launch that succeeds",
        |c| gone_after(c, Launch),
    ),
    recording(
        "message-gone-after-alloc",
        &["last-error.stays"],
        "forgets a message at the next allocation that succeeds",
        |c| gone_after(c, Alloc),
    ),
    recording(
        "message-gone-after-free",
        &["last-error.stays"],
        "forgets a message at the next free that succeeds",
        |c| gone_after(c, Free),
    ),
    recording(
        "message-gone-after-h2d",
        &["last-error.stays"],
        "forgets a message at the next copy to the device that succeeds",
        |c| gone_after(c, MemcpyH2d),
    ),
    recording(
        "message-gone-after-d2h",
        &["last-error.stays"],
        "forgets a message at the next copy from the device that succeeds",
        |c| gone_after(c, MemcpyD2h),
    ),
    copying(
        "message-ended-by-zero",
        &["last-error.copy"],
        "writes a zero byte behind the message",
        |c| {
            let at = c.unsigned("dst_ptr");
            let answer = c.pass();
            if answer > 0 {
                c.store(at + answer.cast_unsigned(), &[0]);
            }
            answer
        },
    ),
    copying(
        "message-copy-answers-zero",
        &["last-error.copy"],
        "answers 0 after it copied a message",
        |c| c.pass().min(0),
    ),
    copying(
        "message-last-byte-lost",
        &["last-error.copy"],
        "copies all of a message but its last byte",
        |c| {
            let (whole, room) = (text_of(c).len() as i64, c.arg("dst_len"));
            if room >= whole && whole > 0 {
                c.set("dst_len", whole - 1);
            }
            c.pass()
        },
    ),
    copying(
        "message-copy-cleared",
        &["last-error.copy"],
        "clears the rest of the destination",
        |c| {
            let (at, room) = (c.unsigned("dst_ptr"), c.arg("dst_len"));
            let answer = c.pass();
            if answer > 0 && room > answer {
                let rest = usize::try_from(room - answer).unwrap_or(0).min(4096);
                c.store(at + answer.cast_unsigned(), &vec![0; rest]);
            }
            answer
        },
    ),
    Deviant::new(
        "message-length-with-zero",
        &["last-error.copy"],
        "counts a zero byte behind the message",
        &[LastErrorLen],
        |c| match c.pass() {
            0 => 0,
            len => len + 1,
        },
    ),
    copying(
        "message-cut-refused",
        &["last-error.truncate"],
        "refuses to copy a part of a message",
        |c| {
            let wrong = c.arg("dst_len") > 0 && c.arg("dst_len") < text_of(c).len() as i64;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    copying(
        "message-cut-answers-whole",
        &["last-error.truncate"],
        "answers the whole length when it copied a part",
        |c| {
            let whole = text_of(c).len() as i64;
            match c.pass() {
                part if part > 0 => whole,
                answer => answer,
            }
        },
    ),
    copying(
        "message-cut-for-zero",
        &["last-error.truncate"],
        "keeps the last byte of the destination for a zero",
        |c| {
            let (at, room) = (c.unsigned("dst_ptr"), c.arg("dst_len"));
            match room > 0 && room <= text_of(c).len() as i64 {
                true => {
                    let answer = c.set("dst_len", room - 1).pass();
                    c.store(at + (room - 1).cast_unsigned(), &[0]);
                    answer
                }
                false => c.pass(),
            }
        },
    ),
    copying(
        "message-cut-from-end",
        &["last-error.truncate"],
        "copies the last bytes of a message that does not fit",
        |c| {
            let (at, text) = (c.unsigned("dst_ptr"), text_of(c));
            let answer = c.pass();
            let tail = usize::try_from(answer)
                .ok()
                .and_then(|kept| text.get(text.len() - kept.min(text.len())..));
            if let Some(tail) = tail {
                c.store(at, tail);
            }
            answer
        },
    ),
    copying(
        "message-empty-destination-refused",
        &["last-error.truncate"],
        "refuses a destination of no bytes",
        |c| {
            let wrong = c.arg("dst_len") == 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    copying(
        "message-outside-dropped",
        &["last-error.region"],
        "answers 0 to a destination outside the memory",
        |c| match c.outside("dst_ptr", "dst_len") {
            true => 0,
            false => c.pass(),
        },
    ),
    copying(
        "message-outside-clipped",
        &["last-error.region"],
        "writes what fits into the memory",
        |c| {
            let room = c.memory_len().saturating_sub(c.unsigned("dst_ptr"));
            if c.outside("dst_ptr", "dst_len") && room > 0 {
                c.set("dst_len", room.cast_signed());
            }
            c.pass()
        },
    ),
    copying(
        "message-outside-code",
        &["last-error.region"],
        "answers invalid-args to a destination outside the memory",
        |c| c.recode(InvalidPointer, InvalidArgs),
    ),
    copying(
        "message-wraps",
        &["last-error.region"],
        "adds a destination's pointer and length in 32 bits",
        |c| super::load::wrapping(c, "dst_ptr", "dst_len"),
    ),
    copying(
        "message-writes-then-refuses",
        &["last-error.region"],
        "writes what fits and refuses then",
        |c| {
            let (at, text) = (c.unsigned("dst_ptr"), text_of(c));
            let answer = c.pass();
            if answer == code(InvalidPointer) {
                let room = usize::try_from(c.memory_len().saturating_sub(at)).unwrap_or(0);
                if let Some(part) = text.get(..room.min(text.len())) {
                    c.store(at, part);
                }
            }
            answer
        },
    ),
    reading(
        "message-latin-1",
        &["last-error.utf8"],
        "writes messages in another encoding than UTF-8",
        |c| {
            shown(c, |mut text, _| {
                if let Some(last) = text.last_mut() {
                    *last = 0xE9;
                }
                text
            })
        },
    ),
    reading(
        "message-with-zero",
        &["last-error.utf8"],
        "counts a zero byte as the message's last",
        |c| {
            shown(c, |mut text, _| {
                if let Some(last) = text.last_mut() {
                    *last = 0;
                }
                text
            })
        },
    ),
    reading(
        "message-uncut",
        &["last-error.length-cap"],
        "does not cut long messages",
        |c| {
            shown(c, |text, _| match text.len() {
                0..=400 => text,
                _ => text.repeat(2),
            })
        },
    ),
    reading(
        "message-cut-unmarked",
        &["last-error.length-cap"],
        "cuts long messages without a mark",
        |c| {
            shown(c, |text, _| match text.strip_suffix("…".as_bytes()) {
                Some(cut) => [cut, b"..."].concat(),
                None => text,
            })
        },
    ),
    reading(
        "message-shared",
        &["last-error.per-instance"],
        "has one message for all instances",
        |c| {
            shown(c, |text, others| match text.is_empty() {
                true => others,
                false => text,
            })
        },
    ),
    recording(
        "message-inherited",
        &["last-error.per-instance", "instance.fresh"],
        "gives an instance the message of the one before it",
        |c| {
            let text = text_of(c);
            let ended = c.world.guests.iter().any(|guest| guest.instance.is_none());
            match text.is_empty() && ended && !is_recording(c.import) {
                true => show(c, b"left behind"),
                false => c.pass(),
            }
        },
    ),
    recording(
        "message-read-moves-on",
        &["last-error.read-again"],
        "goes on in the message where the last copy stopped",
        |c| {
            if is_recording(c.import) {
                let answer = c.pass();
                if answer < 0 {
                    c.notes().number = 0;
                }
                return answer;
            }
            let text = text_of(c);
            let done = usize::try_from(c.notes().number).unwrap_or(0);
            if c.import == LastErrorLen {
                return c.pass();
            }
            let answer = show(c, text.get(done..).unwrap_or_default());
            c.notes().number += answer.max(0);
            answer
        },
    ),
    recording(
        "message-gone-after-refused-read",
        &["last-error.refused-read"],
        "forgets a message when it refuses to copy it",
        |c| {
            let answer = forgetting(c);
            if c.import == LastErrorCopy && answer < 0 {
                c.notes().flag = true;
            }
            answer
        },
    ),
    Deviant::new(
        "message-length-in-characters",
        &["last-error.length"],
        "counts characters and not bytes",
        &[LastErrorLen],
        |c| String::from_utf8_lossy(&text_of(c)).chars().count() as i64,
    ),
    Deviant::new(
        "message-length-rounded",
        &["last-error.length"],
        "rounds the length up to a multiple of eight",
        &[LastErrorLen],
        |c| match c.pass() {
            len if len > 0 => (len + 7) & !7,
            answer => answer,
        },
    ),
];

const fn reading(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[LastErrorLen, LastErrorCopy], act)
}

const fn copying(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[LastErrorCopy], act)
}

const fn recording(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, Import::ALL, act)
}

/// Whether a call records a message when it fails; the others read it.
fn is_recording(import: Import) -> bool {
    match import {
        LoadPtx | Launch | Sync | Alloc | Free | MemcpyH2d | MemcpyD2h => true,
        LastErrorLen | LastErrorCopy => false,
    }
}

/// The message that the reference host has for the calling guest.
fn text_of(c: &mut Call<'_>) -> Vec<u8> {
    let instance = c.guest().instance.as_ref();
    instance.map_or_else(Vec::new, |instance| {
        instance.last_error_text().as_bytes().to_vec()
    })
}

/// Answers as if this were the message.
fn show(c: &mut Call<'_>, text: &[u8]) -> i64 {
    if c.import == LastErrorLen {
        return text.len() as i64;
    }
    if c.memory.is_none() || c.outside("dst_ptr", "dst_len") {
        return c.pass();
    }
    let room = usize::try_from(c.unsigned("dst_len")).unwrap_or(usize::MAX);
    let part = text.get(..room.min(text.len())).unwrap_or_default();
    let at = c.unsigned("dst_ptr");
    c.store(at, part);
    part.len() as i64
}

/// Shows another message: `rule` gets the guest's own and one of the other guests'.
fn shown(c: &mut Call<'_>, rule: fn(Vec<u8>, Vec<u8>) -> Vec<u8>) -> i64 {
    let own = text_of(c);
    let others = c
        .world
        .guests
        .iter()
        .filter_map(|guest| guest.instance.as_ref());
    let other = others
        .map(|instance| instance.last_error_text())
        .find(|text| !text.is_empty());
    let other = other.unwrap_or_default().as_bytes().to_vec();
    let text = rule(own, other);
    show(c, &text)
}

/// Passes a call on and keeps its message unless there is one already.
fn keeping_first(c: &mut Call<'_>) -> i64 {
    let answer = c.pass();
    if answer < 0 {
        let text = text_of(c);
        c.notes().bytes.get_or_insert(text);
    }
    answer
}

/// Passes a call on, with no message to read once it was forgotten; the next failure records one again.
fn forgetting(c: &mut Call<'_>) -> i64 {
    if c.notes().flag && !is_recording(c.import) {
        return show(c, b"");
    }
    let answer = c.pass();
    if answer < 0 && is_recording(c.import) {
        c.notes().flag = false;
    }
    answer
}

/// Passes a call on, and forgets the message when it is a call of `import` that succeeds.
fn gone_after(c: &mut Call<'_>, import: Import) -> i64 {
    let answer = forgetting(c);
    if c.import == import && answer >= 0 {
        c.notes().flag = true;
    }
    answer
}
