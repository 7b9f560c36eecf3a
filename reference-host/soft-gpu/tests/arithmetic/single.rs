//! Single precision: every operation that is rounded once, in every rounding, with and without `.ftz` and `.sat`.

use crate::harness::{Kind::F32, check};
use crate::softfloat::{Exact, ROUNDINGS, check_to_nearest, compute, flushed, saturated};

/// Opcode, what it computes, its number of operands, and whether it takes `.sat`.
const FORMS: [(&str, Exact, usize, bool); 8] = [
    ("add", Exact::Add, 2, true),
    ("sub", Exact::Sub, 2, true),
    ("mul", Exact::Mul, 2, true),
    ("fma", Exact::Fma, 3, true),
    ("mad", Exact::Fma, 3, true),
    ("div", Exact::Div, 2, false),
    ("rcp", Exact::Reciprocal, 1, false),
    ("sqrt", Exact::Root, 1, false),
];

/// All forms whose opcode is among `opcodes`.
fn forms(opcodes: &[&str]) {
    for (op, exact, count, saturation) in FORMS {
        if !opcodes.contains(&op) {
            continue;
        }
        let operands = ["a", "b", "c"][..count].join(", ");
        for (word, round) in ROUNDINGS {
            for (flush, saturate) in [(false, false), (true, false), (false, true), (true, true)] {
                if saturate && !saturation {
                    continue;
                }
                let words = [(flush, ".ftz"), (saturate, ".sat")];
                let words: String = words
                    .iter()
                    .filter(|(on, _)| *on)
                    .map(|(_, word)| *word)
                    .collect();
                let code = format!("{op}.{word}{words}.f32 d, {operands};");
                check(&code, &[F32; 3][..count], F32, |row| {
                    let ftz = |bits: u64| if flush { flushed(F32, bits) } else { bits };
                    let row: Vec<u64> = row.iter().map(|bits| ftz(*bits)).collect();
                    let out = ftz(compute(F32, exact, &row, round));
                    if saturate { saturated(F32, out) } else { out }
                });
            }
        }
    }
}

#[test]
fn sums() {
    forms(&["add", "sub"]);
    check_to_nearest(F32, &[("add", Exact::Add), ("sub", Exact::Sub)]);
}

#[test]
fn products() {
    forms(&["mul"]);
    check_to_nearest(F32, &[("mul", Exact::Mul)]);
}

#[test]
fn fused_sums() {
    forms(&["fma", "mad"]);
}

#[test]
fn quotients() {
    forms(&["div", "rcp"]);
}

#[test]
fn roots() {
    forms(&["sqrt"]);
}
