//! The first target and `.version` of instructions and of their forms, as one table.
//!
//! What a rule learns only from types of operands or from several modifiers together it asks for itself. Source: what ptxas takes and
//! refuses, form by form, for every target and version; where the PTX ISA says otherwise, ptxas counts.

use super::super::body::Body;
use super::super::error::{Checked, Unsupported, fail};
use super::super::instruction::{Inst, has_come};

/// Checks that the module's target and version have the instruction in this form.
pub(crate) fn check<'a>(body: &Body<'a>, inst: &Inst<'a>) -> Checked<()> {
    for form in forms(inst.opcode.text) {
        let old = body.target < form.target || !has_come(body.ast.version, form.version);
        if old && let Some(found) = form.of(inst) {
            let what = match (form.lacks, found.is_empty()) {
                ([], _) | (_, false) => found.join(" "),
                _ => "of a generic address".to_owned(),
            };
            inst.requires(body, &what, form.version, form.target)?;
        }
    }
    Ok(())
}

/// Refuses what old targets compute in their own way: single precision without subnormal numbers, and instead of double precision.
///
/// To be asked when all else is found good.
pub(crate) fn check_precision<'a>(body: &Body<'a>, inst: &Inst<'a>) -> Checked<()> {
    if body.target >= 20 {
        return Ok(());
    }
    let single = inst.modifiers.names(&["f32"]) && FLUSHING.contains(&inst.opcode.text);
    let double = inst.modifiers.names(&["f64"]);
    let what = match (body.target, single, double) {
        (..13, _, true) => "double precision on targets before sm_13, which have single precision",
        (_, true, _) => "single precision on targets before sm_20, which flush subnormal numbers",
        _ => return Ok(()),
    };
    fail(
        inst.opcode.pos,
        Unsupported::Form {
            opcode: inst.opcode.text.to_owned(),
            what: what.to_owned(),
        },
    )
}

/// A form of an instruction, and since when it is there.
struct Form {
    /// One word of each group stands among the modifiers.
    words: &'static [&'static [&'static str]],
    /// None of these does.
    lacks: &'static [&'static str],
    target: u32,
    version: (u32, u32),
}

impl Form {
    /// The words that make an instruction one of this form, if it is.
    fn of<'a>(&self, inst: &Inst<'a>) -> Option<Vec<&'a str>> {
        if inst.modifiers.names(self.lacks) {
            return None;
        }
        let words = self.words.iter();
        words.map(|group| inst.modifiers.named(group)).collect()
    }
}

const fn all(target: u32, version: (u32, u32)) -> Form {
    with(&[], target, version)
}

const fn with(words: &'static [&'static [&'static str]], target: u32, version: (u32, u32)) -> Form {
    Form {
        words,
        lacks: &[],
        target,
        version,
    }
}

const fn without(lacks: &'static [&'static str], target: u32) -> Form {
    Form {
        words: &[],
        lacks,
        target,
        version: ALWAYS,
    }
}

/// The forms of an opcode that not every target and version has.
fn forms(opcode: &str) -> &'static [Form] {
    match opcode {
        "popc" | "clz" | "brev" | "bfind" | "bfi" | "bfe" | "prmt" | "copysign" | "testp"
        | "prefetch" | "prefetchu" => const { &[all(20, ALWAYS)] },
        "vabsdiff2" | "vabsdiff4" | "fns" => const { &[all(30, ALWAYS)] },
        "brkpt" => const { &[all(11, ALWAYS)] },
        "lop3" => const { &[all(50, ALWAYS)] },
        "nanosleep" => const { &[all(70, (6, 2))] },
        "barrier" => const { &[all(30, (6, 0))] },
        "bar" => {
            const {
                &[
                    with(&[&["warp"]], 30, (6, 0)),
                    with(&[&["cta"]], 20, ALWAYS),
                ]
            }
        }
        "membar" => const { &[with(&[&["sys"]], 20, ALWAYS)] },
        "pmevent" => const { &[with(&[&["mask"]], 20, (3, 0))] },
        "wmma" => const { &[with(&[&["aligned"]], 0, (6, 3))] },
        "isspacep" => {
            const {
                &[
                    all(20, ALWAYS),
                    with(&[&["const"]], 20, (3, 1)),
                    with(&[&["param::entry"]], 70, ALWAYS),
                ]
            }
        }
        "cvta" => {
            const {
                &[
                    with(&[&["const"]], 20, (3, 1)),
                    with(&[&["param::entry"]], 70, ALWAYS),
                ]
            }
        }
        "mov" => const { &[with(&[&["b128"]], 70, ALWAYS)] },
        "ldu" => const { &[all(20, ALWAYS), with(&[&["b128"]], 70, ALWAYS)] },
        "ld" => {
            const {
                &[
                    without(SPACES, 20),
                    with(&[&["ca", "cg", "cs", "lu", "cv"]], 20, ALWAYS),
                    with(&[&["weak"]], 70, (6, 0)),
                    with(&[&["b128"]], 70, ALWAYS),
                    with(&[&["volatile"], &["local"]], 0, (9, 1)),
                    with(&[&["mmio"], &["acquire"]], 70, (9, 3)),
                ]
            }
        }
        "st" => {
            const {
                &[
                    without(SPACES, 20),
                    with(&[&["wb", "cg", "cs", "wt"]], 20, ALWAYS),
                    with(&[&["weak"]], 70, (6, 0)),
                    with(&[&["b128"]], 70, ALWAYS),
                    with(&[&["volatile"], &["local"]], 0, (9, 1)),
                    with(&[&["mmio"], &["release"]], 70, (9, 3)),
                ]
            }
        }
        "atom" | "red" => {
            const {
                &[
                    all(11, ALWAYS),
                    without(SPACES, 20),
                    with(&[SHARED], 12, ALWAYS),
                    with(&[&["add"], &["f32"]], 20, ALWAYS),
                    with(&[&["noftz"], &["f32"]], 90, (9, 4)),
                    with(&[BITS64], 12, ALWAYS),
                    with(&[BITS64, SHARED], 20, ALWAYS),
                    with(&[BITS64, &["and", "or", "xor", "min", "max"]], 32, ALWAYS),
                ]
            }
        }
        "add" | "sub" | "addc" | "subc" => {
            const {
                &[
                    with(&[&["cc"], BITS64], 20, (4, 3)),
                    with(&[DIRECTED, &["f32"]], 20, ALWAYS),
                    with(&[DIRECTED, &["f64"]], 13, ALWAYS),
                ]
            }
        }
        "madc" => const { &[all(20, (3, 0)), with(&[&["cc"], BITS64], 20, (4, 3))] },
        "mad" => {
            const {
                &[
                    with(&[&["cc"]], 20, (3, 0)),
                    with(&[&["cc"], BITS64], 20, (4, 3)),
                    with(&[ROUNDINGS, &["f32"]], 20, ALWAYS),
                    with(&[DIRECTED, &["f64"]], 13, ALWAYS),
                ]
            }
        }
        "mul" => {
            const {
                &[
                    with(&[DIRECTED, &["f32"]], 20, ALWAYS),
                    with(&[DIRECTED, &["f64"]], 13, ALWAYS),
                ]
            }
        }
        "fma" => {
            const {
                &[
                    with(&[&["f32"]], 20, ALWAYS),
                    with(&[DIRECTED, &["f64"]], 13, ALWAYS),
                ]
            }
        }
        "div" => {
            const {
                &[
                    with(&[ROUNDINGS, &["f32"]], 20, ALWAYS),
                    with(&[NOT_NEAREST, &["f64"]], 20, ALWAYS),
                ]
            }
        }
        "rcp" | "sqrt" => {
            const {
                &[
                    with(&[ROUNDINGS, &["f32"]], 20, ALWAYS),
                    with(&[NOT_NEAREST, &["f64"]], 20, ALWAYS),
                    with(&[&["approx"], &["f64"]], 20, (2, 1)),
                ]
            }
        }
        "rsqrt" => const { &[with(&[&["ftz"], &["f64"]], 20, (4, 0))] },
        _ => &[],
    }
}

/// Of every version.
const ALWAYS: (u32, u32) = (0, 0);

const DIRECTED: &[&str] = &["rm", "rp"];
const NOT_NEAREST: &[&str] = &["rz", "rm", "rp"];
const ROUNDINGS: &[&str] = &["rn", "rz", "rm", "rp"];
const BITS64: &[&str] = &["u64", "s64", "b64"];
const SHARED: &[&str] = &["shared", "shared::cta", "shared::cluster"];

/// A memory instruction without one of these has a generic address.
const SPACES: &[&str] = &[
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "const",
    "param",
    "param::entry",
    "param::func",
];

/// What computes with numbers, and does not only move them.
const FLUSHING: &[&str] = &[
    "abs", "add", "atom", "cos", "cvt", "div", "ex2", "fma", "lg2", "mad", "max", "min", "mul",
    "neg", "rcp", "red", "rsqrt", "set", "setp", "sin", "slct", "sqrt", "sub", "tanh",
];
