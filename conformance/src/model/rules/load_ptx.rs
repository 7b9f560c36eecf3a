//! `wasi_cuda_load_ptx`

use super::{View, judge_id, judge_region};
use crate::model::allowed::{Allowed, Deviation, Success};
use crate::model::call::Call;
use crate::model::codes::Code;
use crate::model::instance::{Instance, Kernel, Source};
use crate::model::kernel::{known, rejected};
use crate::model::rule::{self, Rule};
use crate::profile::Profile;

pub(super) fn allowed(view: &View<'_>, ptx: (i32, i32), entry: (i32, i32)) -> Allowed {
    let instance = view.instance;
    let mut allowed = Allowed::success(Success::Id, rule::LOAD_ID, view.strict);
    let (ptx_bytes, entry_bytes) = (ptx.1.cast_unsigned(), entry.1.cast_unsigned());
    let mut readable = judge_region(
        &mut allowed,
        instance.memory.region(ptx.0, ptx_bytes),
        rule::LOAD_PTX_REGION,
    );
    if u64::from(ptx_bytes) > MAX_PTX_BYTES {
        allowed.fault(Code::QUOTA_EXCEEDED, rule::LOAD_PTX_LENGTH_CAP);
        readable = false;
    }
    if ptx.1 < 0 || entry.1 < 0 {
        allowed.may(Code::INVALID_POINTER);
    }
    let mut nameable = judge_region(
        &mut allowed,
        instance.memory.region(entry.0, entry_bytes),
        rule::LOAD_ENTRY_REGION,
    );
    if entry_bytes > MAX_ENTRY_BYTES {
        allowed.fault(Code::QUOTA_EXCEEDED, rule::LOAD_ENTRY_LENGTH_CAP);
        nameable &= !view.strict;
    }
    if view.profile == Profile::Device {
        if instance.kernels.len() >= MAX_KERNELS {
            allowed.fault(Code::QUOTA_EXCEEDED, rule::LOAD_KERNEL_CAP);
        }
        if instance.ptx_bytes + u64::from(ptx_bytes) > MAX_TOTAL_PTX_BYTES {
            allowed.fault(Code::QUOTA_EXCEEDED, rule::LOAD_TOTAL_LENGTH_CAP);
        }
    } else {
        // The caps may count kernels that can never run, or not.
        if instance.kernels.len() >= MAX_KERNELS
            || instance.ptx_bytes + u64::from(ptx_bytes) > MAX_TOTAL_PTX_BYTES
        {
            allowed.may(Code::QUOTA_EXCEEDED);
        }
    }
    nameable = nameable && judge_name(instance, entry, &mut allowed);
    if readable {
        judge_text(view, ptx, entry, nameable, &mut allowed);
    }
    if view.profile == Profile::NoDevice && allowed.can_succeed() {
        allowed.may(Code::NOT_AVAILABLE);
    }
    allowed
}

pub(super) fn apply(
    instance: &mut Instance,
    call: &Call,
    (ptx_ptr, ptx_len, entry_ptr, entry_len): (i32, i32, i32, i32),
    id: i64,
    strict: bool,
) -> Result<(), Deviation> {
    judge_id(
        call,
        id,
        instance.kernels.get(id).is_some(),
        instance.kernels.was_given(id),
        rule::LOAD_ID_UNIQUE,
        rule::LOAD_ID_UNIQUE,
    )?;
    let source = match classify(instance, (ptx_ptr, ptx_len)) {
        Text::Known(index) => match names(instance, (entry_ptr, entry_len), index) {
            // That a variable keeps its value from launch to launch is a recommendation.
            Some(true) => Source::Known(index, strict.then_some(0)),
            Some(false) => Source::EntryMissing,
            None => Source::Unknown,
        },
        _ => Source::Unknown,
    };
    instance.ptx_bytes += u64::from(ptx_len.cast_unsigned());
    instance.kernels.insert(id, Kernel { source });
    Ok(())
}

/// What the model can say of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// One of ours.
    Known(usize),
    /// No assembler takes it, by this rule; the shallow kind can be asked for without an assembler.
    Bad { rule: &'static Rule, shallow: bool },
    /// Anything.
    Unknown,
}

fn judge_text(
    view: &View<'_>,
    ptx: (i32, i32),
    entry: (i32, i32),
    nameable: bool,
    allowed: &mut Allowed,
) {
    let device = view.profile == Profile::Device;
    match classify(view.instance, ptx) {
        Text::Known(index) => {
            if nameable && names(view.instance, entry, index) != Some(true) {
                // Whether a missing entry fails now or at the launch, and with which code, is open.
                for code in ANY_FAILURE {
                    allowed.may(code);
                }
            } else if allowed.can_succeed() {
                allowed.rules.add(rule::LOAD_WELL_FORMED);
            }
        }
        Text::Bad { rule, .. } if device => allowed.fault(Code::MALFORMED_PTX, rule),
        Text::Bad { shallow: true, .. } => {
            allowed.fault(Code::MALFORMED_PTX, rule::PROFILE_NO_DEVICE_LOAD);
        }
        Text::Bad { .. } => allowed.may(Code::MALFORMED_PTX),
        Text::Unknown => {
            for code in ANY_FAILURE {
                allowed.may(code);
            }
        }
    }
}

/// Judges the bytes of a name; false when it can name nothing.
fn judge_name(instance: &Instance, entry: (i32, i32), allowed: &mut Allowed) -> bool {
    let len = entry.1.cast_unsigned() as usize;
    let at = u64::from(entry.0.cast_unsigned());
    let mut buffer = [0; MAX_ENTRY_BYTES as usize];
    let Some(name) = buffer.get_mut(..len) else {
        return true;
    };
    if instance.in_flight(at, len as u64) || !instance.memory.contents.read(at, name) {
        allowed.may(Code::INVALID_ARGS);
    } else if std::str::from_utf8(name).is_err() {
        allowed.fault(Code::INVALID_ARGS, rule::LOAD_ENTRY_UTF8);
        return false;
    }
    true
}

/// Whether the name is that of the known module's kernel, if the bytes are known.
fn names(instance: &Instance, entry: (i32, i32), index: usize) -> Option<bool> {
    let at = u64::from(entry.0.cast_unsigned());
    let len = u64::from(entry.1.cast_unsigned());
    let name = known().get(index)?.entry.as_bytes();
    if instance.in_flight(at, len) || instance.lost {
        return None;
    }
    if len != name.len() as u64 {
        return Some(false);
    }
    instance.memory.contents.equals(at, name)
}

fn classify(instance: &Instance, ptx: (i32, i32)) -> Text {
    let at = u64::from(ptx.0.cast_unsigned());
    let len = u64::from(ptx.1.cast_unsigned());
    let contents = &instance.memory.contents;
    if instance.lost || instance.in_flight(at, len) {
        return Text::Unknown;
    }
    if len == 0 {
        return Text::Bad {
            rule: rule::LOAD_MALFORMED_BYTES,
            shallow: true,
        };
    }
    let starts =
        |text: &str| text.len() as u64 <= len && contents.equals(at, text.as_bytes()) == Some(true);
    let same = |text: &str| text.len() as u64 == len && starts(text);
    // Blanks behind the end change nothing.
    let padded = |text: &str| {
        let end = text.len() as u64;
        starts(text) && only_blanks(instance, at + end, len - end)
    };
    if let Some(index) = known().iter().position(|module| padded(&module.text)) {
        return Text::Known(index);
    }
    if let Some(text) = rejected().iter().find(|text| same(text)) {
        let lacks = !text.contains(".version") || !text.contains(".target");
        return Text::Bad {
            rule: if lacks {
                rule::LOAD_MALFORMED_DIRECTIVES
            } else {
                rule::LOAD_MALFORMED
            },
            shallow: lacks,
        };
    }
    scan(instance, at, len)
}

fn only_blanks(instance: &Instance, at: u64, len: u64) -> bool {
    let mut chunk = [0; 1024];
    let mut done = 0;
    while done < len {
        let part = (len - done).min(chunk.len() as u64) as usize;
        let bytes = &mut chunk[..part];
        if !instance.memory.contents.read(at + done, bytes)
            || !bytes.iter().all(u8::is_ascii_whitespace)
        {
            return false;
        }
        done += part as u64;
    }
    true
}

/// A word that is looked for byte by byte; its first byte occurs in it once.
struct Word {
    bytes: &'static [u8],
    matched: usize,
}

impl Word {
    fn new(word: &'static str) -> Word {
        Word {
            bytes: word.as_bytes(),
            matched: 0,
        }
    }

    fn found(&self) -> bool {
        self.matched == self.bytes.len()
    }

    fn look(&mut self, chunk: &[u8]) {
        if self.found() || (self.matched == 0 && !chunk.contains(&self.bytes[0])) {
            return;
        }
        for byte in chunk {
            if self.found() {
                return;
            }
            if *byte == self.bytes[self.matched] {
                self.matched += 1;
            } else {
                self.matched = usize::from(*byte == self.bytes[0]);
            }
        }
    }
}

/// Looks for what no PTX has: a zero byte, bytes that are not UTF-8, no `.version` or no `.target` anywhere.
fn scan(instance: &Instance, at: u64, len: u64) -> Text {
    let mut chunk = [0; 1024];
    let mut carried = 0;
    let mut done = 0;
    let mut zero = false;
    let mut words = [Word::new(".version"), Word::new(".target")];
    while done < len {
        let part = (len - done).min((chunk.len() - carried) as u64) as usize;
        let filled = carried + part;
        if !instance
            .memory
            .contents
            .read(at + done, &mut chunk[carried..filled])
        {
            return Text::Unknown;
        }
        done += part as u64;
        let bytes = &chunk[..filled];
        zero |= bytes.contains(&0);
        for word in &mut words {
            word.look(&bytes[carried..]);
        }
        match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_some() || done == len => {
                return Text::Bad {
                    rule: rule::LOAD_MALFORMED_BYTES,
                    shallow: true,
                };
            }
            Err(error) => {
                let valid = error.valid_up_to();
                chunk.copy_within(valid..filled, 0);
                carried = filled - valid;
            }
            Ok(_) => carried = 0,
        }
    }
    if !words.iter().all(Word::found) {
        Text::Bad {
            rule: rule::LOAD_MALFORMED_DIRECTIVES,
            shallow: true,
        }
    } else if zero {
        Text::Bad {
            rule: rule::LOAD_MALFORMED_BYTES,
            shallow: false,
        }
    } else {
        Text::Unknown
    }
}

/// What loading or launching something that is not there may answer.
const ANY_FAILURE: [Code; 5] = [
    Code::INVALID_KERNEL,
    Code::MALFORMED_PTX,
    Code::LAUNCH_FAILED,
    Code::INTERNAL,
    Code::INVALID_ARGS,
];

/// Longest PTX of one load.
const MAX_PTX_BYTES: u64 = 8 << 20;

/// PTX of all live kernels of an instance.
const MAX_TOTAL_PTX_BYTES: u64 = 64 * MAX_PTX_BYTES;

/// Live kernels of an instance.
const MAX_KERNELS: usize = 256;

/// Longest entry name.
const MAX_ENTRY_BYTES: u32 = 256;
