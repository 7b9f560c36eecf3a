//! The driver guest's text and binary.

use std::fmt::Write as _;

use crate::model::MemoryKind;
use crate::model::operation::{BULK_AT, PAGES, layout};

/// The text of the driver, with a memory of this kind and these further module fields.
pub(super) fn text(kind: MemoryKind, fields: &str) -> String {
    let (name, shared) = match kind {
        MemoryKind::Absent => ("other", ""),
        MemoryKind::Ordinary | MemoryKind::Bits64 => ("memory", ""),
        MemoryKind::Shared => ("memory", " shared"),
    };
    let mut data = String::new();
    for (at, bytes) in &layout().segments {
        let _ = writeln!(data, "  (data (i32.const {at})\n    {})", quoted(bytes));
    }
    data.push_str(fields);
    TEMPLATE
        .replace(
            "@MEMORY@",
            &format!("(memory (export \"{name}\") {PAGES} {MOST_PAGES}{shared})"),
        )
        .replace("@DATA@\n", &data)
        .replace("@BULK@", &BULK_AT.to_string())
        .replace("@PRIME@", &format!("{PRIME:#x}"))
}

/// The driver, assembled.
pub(super) fn assemble(kind: MemoryKind) -> Result<Vec<u8>, String> {
    let text = text(kind, "");
    let wrong = |error: wast::Error| format!("the driver guest: {error}");
    let buffer = wast::parser::ParseBuffer::new(&text).map_err(wrong)?;
    let mut module = wast::parser::parse::<wast::Wat<'_>>(&buffer).map_err(wrong)?;
    module.encode().map_err(wrong)
}

/// Bytes as WAT strings, a line each.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let lines: Vec<String> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let mut text = String::from("\"");
            for byte in line {
                match byte {
                    b'\n' => text.push_str("\\n"),
                    b'"' | b'\\' | 0..=31 | 127.. => {
                        let _ = write!(text, "\\{byte:02x}");
                    }
                    _ => text.push(char::from(*byte)),
                }
            }
            text.push('"');
            text
        })
        .collect();
    lines.join("\n    ")
}

/// Folds the digest of one more page into that of those before it, as the driver does.
pub(super) fn fold(whole: u64, page: u64) -> u64 {
    (whole ^ page).wrapping_mul(PRIME).rotate_left(29)
}

const TEMPLATE: &str = include_str!("driver.wat");

/// The size to which a guest's memory can grow, in pages.
pub(super) const MOST_PAGES: u32 = 8;

const PRIME: u64 = 0x9E37_79B9_7F4A_7C15;
