//! `.f16`, `.bf16` and pairs of them: sums, products and fused sums with all their modifiers.

use crate::harness::Kind::{self, Bf16, Bf16x2, F16, F16x2};
use crate::harness::check;
use crate::softfloat::{Exact, NEAREST, compute, each, flushed, relu, saturated, single};

const HALVES: [Kind; 4] = [F16, F16x2, Bf16, Bf16x2];

/// One form; the modifiers act on each half.
fn form(op: &str, exact: Exact, count: usize, modifiers: &str, kind: Kind) {
    let operands = ["a", "b", "c"][..count].join(", ");
    let code = format!("{op}{modifiers}.{} d, {operands};", kind.word());
    let has = |word: &str| modifiers.split('.').any(|modifier| modifier == word);
    let (ftz, sat, rectify) = (has("ftz"), has("sat"), has("relu"));
    let scalar = single(kind);
    check(&code, &[kind; 3][..count], kind, |row| {
        each(kind, row, |row| {
            let flush = |bits: u64| if ftz { flushed(scalar, bits) } else { bits };
            let row: Vec<u64> = row.iter().map(|bits| flush(*bits)).collect();
            let mut out = flush(compute(scalar, exact, &row, NEAREST));
            if sat {
                out = saturated(scalar, out);
            }
            if rectify { relu(scalar, out) } else { out }
        })
    });
}

fn forms(op: &str, exact: Exact, count: usize, modifiers: &[&str]) {
    for kind in HALVES {
        for words in modifiers {
            let f16_only = words.contains("ftz") || words.contains("sat");
            if f16_only && matches!(kind, Bf16 | Bf16x2) {
                continue;
            }
            form(op, exact, count, words, kind);
        }
    }
}

const PLAIN: [&str; 6] = ["", ".rn", ".ftz", ".sat", ".rn.ftz.sat", ".ftz.sat"];

#[test]
fn sums() {
    forms("add", Exact::Add, 2, &PLAIN);
    forms("sub", Exact::Sub, 2, &PLAIN);
}

#[test]
fn products() {
    forms("mul", Exact::Mul, 2, &PLAIN);
}

#[test]
fn fused_sums() {
    let modifiers = [
        ".rn",
        ".rn.ftz",
        ".rn.sat",
        ".rn.ftz.sat",
        ".rn.relu",
        ".rn.ftz.relu",
    ];
    forms("fma", Exact::Fma, 3, &modifiers);
}

/// Every value of `.f16` against all edges: sums near ties and in the subnormal range miss nothing.
#[test]
fn every_value_of_f16_against_edges() {
    let edges = F16.edges();
    let rows: Vec<Vec<u64>> = (0..0x1_0000u64)
        .map(|a| vec![a, edges[a as usize % edges.len()]])
        .collect();
    for (op, exact) in [("add", Exact::Add), ("mul", Exact::Mul)] {
        let code = format!("{op}.f16 d, a, b;");
        crate::harness::check_rows(&code, &[F16; 2], F16, &rows, |row| {
            compute(F16, exact, row, NEAREST)
        });
    }
}
