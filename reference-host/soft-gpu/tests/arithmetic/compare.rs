//! `setp`, `set`, `selp` and `slct` of every type and comparison.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use crate::harness::Kind::{self, B, Bf16, Bf16x2, F16, F16x2, F32, F64, Pred, S, U};
use crate::harness::{check, number};
use crate::softfloat::{exact, flushed, single};

const FLOAT_WORDS: [&str; 14] = [
    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// Whether a comparison holds for values in this order, or for those that have none.
fn holds(word: &str, order: Option<Ordering>) -> bool {
    let Some(order) = order else {
        return word.len() == 3 && word != "num";
    };
    match word.strip_suffix('u').unwrap_or(word) {
        "eq" => order == Equal,
        "ne" => order != Equal,
        "lt" | "lo" => order == Less,
        "le" | "ls" => order != Greater,
        "gt" | "hi" => order == Greater,
        "ge" | "hs" => order != Less,
        word => word == "num",
    }
}

fn order(kind: Kind, row: &[u64], flush: bool) -> Option<Ordering> {
    let value = |bits: u64| exact(kind, if flush { flushed(kind, bits) } else { bits });
    value(row[0]).partial_cmp(&value(row[1]))
}

/// The lower or the upper halves of a row, or the row of a single kind.
fn part(kind: Kind, row: &[u64], upper: bool) -> Vec<u64> {
    let shift = if upper { 16 } else { 0 };
    row.iter()
        .map(|word| {
            if kind == single(kind) {
                *word
            } else {
                word >> shift & 0xFFFF
            }
        })
        .collect()
}

#[test]
fn comparison_of_floats() {
    for kind in [F16, Bf16, F32, F64] {
        for word in FLOAT_WORDS {
            for ftz in ["", ".ftz"] {
                if !ftz.is_empty() && !matches!(kind, F16 | F32) {
                    continue;
                }
                let code = format!("setp.{word}{ftz}.{} d, a, b;", kind.word());
                check(&code, &[kind; 2], Pred, |row| {
                    u64::from(holds(word, order(kind, row, !ftz.is_empty())))
                });
            }
        }
    }
}

/// Of pairs, the first predicate is about the lower halves and the second about the upper ones.
#[test]
fn comparison_of_pairs() {
    for kind in [F16x2, Bf16x2] {
        for word in FLOAT_WORDS {
            for (upper, results) in [(false, "d|p0"), (true, "p0|d")] {
                let code = format!("setp.{word}.{} {results}, a, b;", kind.word());
                check(&code, &[kind; 2], Pred, |row| {
                    let half = part(kind, &row[..2], upper);
                    u64::from(holds(word, order(single(kind), &half, false)))
                });
                let code = format!("setp.{word}.and.{} {results}, a, b, !c;", kind.word());
                check(&code, &[kind, kind, Pred], Pred, |row| {
                    let half = part(kind, &row[..2], upper);
                    let holds = holds(word, order(single(kind), &half, false));
                    u64::from(holds && row[2] == 0)
                });
            }
        }
    }
    check("setp.lt.ftz.f16x2 d|p0, a, b;", &[F16x2; 2], Pred, |row| {
        u64::from(holds("lt", order(F16, &part(F16x2, row, false), true)))
    });
}

/// What `set` writes where its test holds.
fn truth(kind: Kind) -> u64 {
    match kind {
        F16 => 0x3C00,
        Bf16 => 0x3F80,
        F32 => 0x3F80_0000,
        other => u64::MAX >> (64 - other.bits()),
    }
}

#[test]
fn set_of_floats() {
    let results: [(Kind, &[Kind]); 4] = [
        (F16, &[F16, Bf16, U(16), S(16), U(32), S(32)]),
        (Bf16, &[Bf16, U(16), S(16), U(32), S(32)]),
        (F32, &[U(32), S(32), F32, F16, Bf16]),
        (F64, &[U(32), S(32), F32, F16, Bf16]),
    ];
    for (kind, results) in results {
        for result in results {
            for word in FLOAT_WORDS {
                let code = format!("set.{word}.{}.{} d, a, b;", result.word(), kind.word());
                check(&code, &[kind; 2], *result, |row| {
                    if holds(word, order(kind, row, false)) {
                        truth(*result)
                    } else {
                        0
                    }
                });
            }
        }
    }
    check(
        "set.ge.xor.ftz.f32.f32 d, a, b, c;",
        &[F32, F32, Pred],
        F32,
        |row| {
            if holds("ge", order(F32, &row[..2], true)) != (row[2] == 1) {
                truth(F32)
            } else {
                0
            }
        },
    );
}

#[test]
fn set_of_pairs() {
    for (kind, result, truth) in [
        (F16x2, F16x2, 0x3C00),
        (F16x2, U(32), 0xFFFF),
        (F16x2, S(32), 0xFFFF),
        (Bf16x2, Bf16x2, 0x3F80),
        (Bf16x2, U(32), 0xFFFF),
    ] {
        for word in FLOAT_WORDS {
            let half = |row: &[u64], upper: bool| {
                holds(
                    word,
                    order(single(kind), &part(kind, &row[..2], upper), false),
                )
            };
            let code = format!("set.{word}.{}.{} d, a, b;", result.word(), kind.word());
            check(&code, &[kind; 2], result, |row| {
                (u64::from(half(row, false)) * truth) | ((u64::from(half(row, true)) * truth) << 16)
            });
            let code = format!(
                "set.{word}.or.{}.{} d, a, b, c;",
                result.word(),
                kind.word()
            );
            check(&code, &[kind, kind, Pred], result, |row| {
                let or = |upper| u64::from(half(row, upper) || row[2] == 1) * truth;
                or(false) | or(true) << 16
            });
        }
    }
}

#[test]
fn comparison_of_integers() {
    for bits in [16, 32, 64] {
        for (kind, words) in [
            (B(bits), &["eq", "ne"][..]),
            (S(bits), &["eq", "ne", "lt", "le", "gt", "ge"]),
            (
                U(bits),
                &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
            ),
        ] {
            for word in words {
                let order = |row: &[u64]| number(row[0], kind).cmp(&number(row[1], kind));
                let code = format!("setp.{word}.{} d, a, b;", kind.word());
                check(&code, &[kind; 2], Pred, |row| {
                    u64::from(holds(word, Some(order(row))))
                });
                for (combine, f) in [
                    ("and", (|x, y| x & y) as fn(bool, bool) -> bool),
                    ("or", |x, y| x | y),
                    ("xor", |x, y| x ^ y),
                ] {
                    let code = format!("setp.{word}.{combine}.{} p0|d, a, b, c;", kind.word());
                    check(&code, &[kind, kind, Pred], Pred, |row| {
                        u64::from(f(!holds(word, Some(order(row))), row[2] == 1))
                    });
                }
                for result in [U(32), S(32), F32, F16, Bf16] {
                    let code = format!("set.{word}.{}.{} d, a, b;", result.word(), kind.word());
                    check(&code, &[kind; 2], result, |row| {
                        if holds(word, Some(order(row))) {
                            truth(result)
                        } else {
                            0
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn selection() {
    let kinds = [16, 32, 64]
        .into_iter()
        .flat_map(|bits| [B(bits), U(bits), S(bits)]);
    for kind in kinds.chain([F32, F64]) {
        let code = format!("selp.{} d, a, b, c;", kind.word());
        check(&code, &[kind, kind, Pred], kind, |row| {
            if row[2] == 1 { row[0] } else { row[1] }
        });
        let code = format!("slct.{}.s32 d, a, b, c;", kind.word());
        check(&code, &[kind, kind, S(32)], kind, |row| {
            if number(row[2], S(32)) >= 0 {
                row[0]
            } else {
                row[1]
            }
        });
        for ftz in [false, true] {
            let word = if ftz { ".ftz" } else { "" };
            let code = format!("slct{word}.{}.f32 d, a, b, c;", kind.word());
            check(&code, &[kind, kind, F32], kind, |row| {
                let c = if ftz { flushed(F32, row[2]) } else { row[2] };
                if f32::from_bits(c as u32) >= 0.0 {
                    row[0]
                } else {
                    row[1]
                }
            });
        }
    }
}
