//! Double precision: every operation that is rounded once, in every rounding.

use crate::harness::{Kind::F64, check};
use crate::softfloat::{Exact, ROUNDINGS, check_to_nearest, compute};

const FORMS: [(&str, Exact, usize); 8] = [
    ("add", Exact::Add, 2),
    ("sub", Exact::Sub, 2),
    ("mul", Exact::Mul, 2),
    ("fma", Exact::Fma, 3),
    ("mad", Exact::Fma, 3),
    ("div", Exact::Div, 2),
    ("rcp", Exact::Reciprocal, 1),
    ("sqrt", Exact::Root, 1),
];

fn forms(opcodes: &[&str]) {
    for (op, exact, count) in FORMS {
        if !opcodes.contains(&op) {
            continue;
        }
        let operands = ["a", "b", "c"][..count].join(", ");
        for (word, round) in ROUNDINGS {
            let code = format!("{op}.{word}.f64 d, {operands};");
            check(&code, &[F64; 3][..count], F64, |row| {
                compute(F64, exact, row, round)
            });
        }
    }
}

#[test]
fn sums() {
    forms(&["add", "sub"]);
    check_to_nearest(F64, &[("add", Exact::Add), ("sub", Exact::Sub)]);
}

#[test]
fn products() {
    forms(&["mul"]);
    check_to_nearest(F64, &[("mul", Exact::Mul)]);
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
