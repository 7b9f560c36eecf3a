//! Assemblers that accept what they should refuse, or refuse it with another code.

use soft_gpu::{PtxErrorCause, SemanticError};
use wasi_cuda_host::abi::AbiError::{InvalidArgs, MalformedPtx};
use wasi_cuda_host::abi::Import::LoadPtx;
use wasi_cuda_host::device::DeviceError;

use super::call::Call;
use super::ptx::SMALLEST;
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    load(
        "malformed-spoils-later",
        &["load.malformed"],
        "loads nothing any more after PTX that it refused",
        |c| {
            if c.notes().flag {
                return code(MalformedPtx);
            }
            let answer = c.pass();
            c.notes().flag = answer == code(MalformedPtx);
            answer
        },
    ),
    load(
        "malformed-code",
        &[
            "load.malformed.syntax",
            "load.malformed.bytes",
            "load.malformed.directives",
            "load.malformed.target",
            "load.malformed.instructions",
            "load.malformed.names",
            "load.malformed.types",
        ],
        "answers invalid-args to PTX that an assembler rejects",
        |c| c.recode(MalformedPtx, InvalidArgs),
    ),
    load(
        "malformed-empty-accepted",
        &["load.malformed.bytes"],
        "loads empty PTX",
        |c| match c.arg("ptx_len") {
            0 => c.load(SMALLEST, b"k"),
            _ => c.pass(),
        },
    ),
    load(
        "malformed-nul-is-blank",
        &["load.malformed.bytes"],
        "takes a zero byte for a blank",
        |c| blanking(c, |byte| byte == 0),
    ),
    load(
        "malformed-control-is-blank",
        &["load.malformed.bytes"],
        "takes control bytes other than zero for blanks",
        |c| blanking(c, |byte| byte != 0 && byte.is_ascii_control()),
    ),
    load(
        "malformed-not-utf8-is-blank",
        &["load.malformed.bytes"],
        "skips bytes that are not ASCII",
        |c| blanking(c, |byte| !byte.is_ascii()),
    ),
    load(
        "malformed-version-optional",
        &["load.malformed.directives"],
        "does without a .version",
        |c| {
            c.load_leniently(|text| match text.contains(".version") {
                true => text.to_owned(),
                false => format!(".version 7.0\n{text}"),
            })
        },
    ),
    load(
        "malformed-target-optional",
        &["load.malformed.directives"],
        "does without a .target",
        |c| {
            c.load_leniently(|text| match text.contains(".target") {
                true => text.to_owned(),
                false => text.replacen(".version 7.0", ".version 7.0\n.target sm_75", 1),
            })
        },
    ),
    load(
        "malformed-blanks-accepted",
        &["load.malformed.directives"],
        "loads a text of nothing but blanks",
        |c| {
            let blank = c.ptx().is_some_and(|(text, _)| {
                !text.is_empty() && text.iter().all(u8::is_ascii_whitespace)
            });
            match blank {
                true => c.load(SMALLEST, b"k"),
                false => c.pass(),
            }
        },
    ),
    load(
        "malformed-any-target",
        &["load.malformed.target"],
        "takes any word for a target",
        |c| c.load_leniently(|text| replace_line(text, ".target", ".target sm_75")),
    ),
    load(
        "malformed-any-version",
        &["load.malformed.target"],
        "takes any number for a version",
        |c| c.load_leniently(|text| replace_line(text, ".version", ".version 7.0")),
    ),
    load(
        "malformed-skips-unknown-instructions",
        &["load.malformed.instructions"],
        "skips instructions that it does not know",
        |c| {
            skipping(c, |cause| {
                matches!(cause, SemanticError::UnknownInstruction(_))
            })
        },
    ),
    load(
        "malformed-skips-unknown-modifiers",
        &["load.malformed.instructions"],
        "skips instructions with a modifier that does not belong there",
        |c| {
            skipping(c, |cause| {
                matches!(cause, SemanticError::UnexpectedModifier { .. })
            })
        },
    ),
    load(
        "malformed-skips-missing-operands",
        &["load.malformed.instructions"],
        "skips instructions that lack an operand",
        |c| {
            skipping(c, |cause| {
                matches!(cause, SemanticError::OperandCount { .. })
            })
        },
    ),
    load(
        "malformed-skips-bad-operands",
        &["load.malformed.instructions"],
        "skips instructions with an operand of the wrong form",
        |c| {
            skipping(c, |cause| {
                matches!(cause, SemanticError::OperandForm { .. })
            })
        },
    ),
    load(
        "malformed-skips-unknown-names",
        &["load.malformed.names"],
        "skips instructions that use a name nothing declares",
        |c| skipping(c, |cause| matches!(cause, SemanticError::UnknownSymbol(_))),
    ),
    load(
        "malformed-skips-unknown-labels",
        &["load.malformed.names"],
        "skips branches to labels that are not there",
        |c| skipping(c, |cause| matches!(cause, SemanticError::UnknownLabel(_))),
    ),
    load(
        "malformed-duplicates-accepted",
        &["load.malformed.names"],
        "lets the first of two declarations win",
        |c| skipping(c, |cause| matches!(cause, SemanticError::Duplicate(_))),
    ),
    load(
        "malformed-skips-type-errors",
        &["load.malformed.types"],
        "skips instructions whose operands have other types",
        |c| {
            skipping(c, |cause| {
                matches!(
                    cause,
                    SemanticError::TypeMismatch { .. } | SemanticError::InvalidType { .. }
                )
            })
        },
    ),
    load(
        "malformed-end-supplied",
        &["load.malformed.syntax"],
        "closes what the end of the text leaves open",
        |c| c.load_leniently(|text| format!("{}\n}}\n", text.trim_end())),
    ),
    load(
        "malformed-comment-start-ignored",
        &["load.malformed.syntax"],
        "takes the start of a comment that never ends for a blank",
        |c| c.load_leniently(|text| text.replace("/*", "")),
    ),
    load(
        "malformed-rest-ignored",
        &["load.malformed.syntax"],
        "ignores what stands behind the last kernel",
        |c| {
            c.load_leniently(|text| match text.rfind('}') {
                Some(end) => text[..=end].to_owned(),
                None => text.to_owned(),
            })
        },
    ),
    load(
        "malformed-braces-uncounted",
        &["load.malformed.syntax"],
        "does not mind a closing brace too many",
        |c| {
            c.load_leniently(|text| match text.trim_end().strip_suffix('}') {
                Some(rest) => rest.to_owned(),
                None => text.to_owned(),
            })
        },
    ),
    load(
        "malformed-semicolons-optional",
        &["load.malformed.syntax"],
        "takes the end of a line for the end of an instruction",
        |c| {
            c.load_leniently(|text| {
                text.lines()
                    .map(|line| match line.trim_end() {
                        open if open.starts_with("  ")
                            && !open.ends_with([';', ':', ',', '{', '}']) =>
                        {
                            format!("{open};\n")
                        }
                        line => format!("{line}\n"),
                    })
                    .collect()
            })
        },
    ),
    load(
        "malformed-dotted-names",
        &["load.malformed.syntax"],
        "takes a dot inside a name for a part of it",
        |c| {
            c.load_leniently(|text| {
                text.lines()
                    .map(|line| match line.trim().strip_prefix(".b64 ") {
                        Some(data) if data.trim_start_matches('$').contains('.') => {
                            ".b64 0\n".to_owned()
                        }
                        _ => format!("{line}\n"),
                    })
                    .collect()
            })
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

/// Loads the text with some bytes replaced by blanks.
fn blanking(c: &mut Call<'_>, is_blank: fn(u8) -> bool) -> i64 {
    let Some((mut text, entry)) = c.ptx() else {
        return c.pass();
    };
    for byte in &mut text {
        if is_blank(*byte) && !byte.is_ascii_whitespace() {
            *byte = b' ';
        }
    }
    c.load(&text, &entry)
}

fn replace_line(text: &str, directive: &str, line: &str) -> String {
    text.lines()
        .map(|old| match old.trim_start().starts_with(directive) {
            true => format!("{line}\n"),
            false => format!("{old}\n"),
        })
        .collect()
}

/// Drops the lines that the assembler refuses for a certain cause, until it accepts the text or refuses it for another.
fn skipping(c: &mut Call<'_>, forgiven: fn(&SemanticError) -> bool) -> i64 {
    let refused = c.pass();
    let Some((text, entry)) = c.ptx() else {
        return refused;
    };
    let Ok(text) = String::from_utf8(text) else {
        return refused;
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let mut answer = refused;
    while answer == code(MalformedPtx) && !lines.is_empty() {
        let bad = match c.device_error() {
            Some(DeviceError::MalformedPtx(error)) => match &error.cause {
                PtxErrorCause::Semantic(cause) if forgiven(cause) => error.at.line as usize,
                _ => return refused,
            },
            _ => return refused,
        };
        if bad == 0 || bad > lines.len() {
            return refused;
        }
        lines[bad - 1] = "";
        answer = c.load(lines.join("\n").as_bytes(), &entry);
    }
    answer
}
