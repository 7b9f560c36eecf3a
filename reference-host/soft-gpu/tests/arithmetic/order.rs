//! Minima, maxima, signs and classes of floats of every width.

use crate::harness::Kind::{self, Bf16, Bf16x2, F16, F16x2, F32, F64, Pred};
use crate::harness::check;
use crate::softfloat::{each, fields, flushed, is_nan, nan, single};

const KINDS: [Kind; 6] = [F16, F16x2, Bf16, Bf16x2, F32, F64];

/// A value's place among all values of its kind; -0 is below +0.
fn place(kind: Kind, value: u64) -> i128 {
    let (sign, _) = fields(kind);
    if value & sign == 0 {
        i128::from(value)
    } else {
        -i128::from(value & !sign) - 1
    }
}

fn flushes(kind: Kind) -> bool {
    matches!(kind, F16 | F16x2 | F32)
}

#[test]
fn minima_and_maxima() {
    for (op, least) in [("min", true), ("max", false)] {
        for kind in KINDS {
            for form in [
                "",
                ".ftz",
                ".NaN",
                ".ftz.NaN",
                ".xorsign.abs",
                ".NaN.xorsign.abs",
                ".ftz.NaN.xorsign.abs",
            ] {
                if form.contains("ftz") && !flushes(kind) || (kind == F64 && !form.is_empty()) {
                    continue;
                }
                let code = format!("{op}{form}.{} d, a, b;", kind.word());
                let scalar = single(kind);
                check(&code, &[kind; 2], kind, |row| {
                    each(kind, row, |row| extreme(scalar, row, least, form))
                });
            }
        }
    }
}

fn extreme(kind: Kind, row: &[u64], least: bool, form: &str) -> u64 {
    let (sign, _) = fields(kind);
    let flush = |bits: u64| {
        if form.contains("ftz") {
            flushed(kind, bits)
        } else {
            bits
        }
    };
    let (a, b) = (flush(row[0]), flush(row[1]));
    let product = (a ^ b) & sign;
    let xor_sign = form.contains("xorsign");
    let [x, y] = [a, b].map(|bits| if xor_sign { bits & !sign } else { bits });
    let result = match (is_nan(kind, a), is_nan(kind, b)) {
        (true, true) => return nan(kind),
        (true, _) | (_, true) if form.contains("NaN") => return nan(kind),
        (true, _) => y,
        (_, true) => x,
        _ if (place(kind, x) < place(kind, y)) == least => x,
        _ => y,
    };
    if xor_sign {
        result & !sign | product
    } else {
        result
    }
}

#[test]
fn signs() {
    for kind in KINDS {
        let scalar = single(kind);
        for (op, clear) in [("neg", false), ("abs", true)] {
            for form in ["", ".ftz"] {
                if !form.is_empty() && !flushes(kind) {
                    continue;
                }
                let code = format!("{op}{form}.{} d, a;", kind.word());
                check(&code, &[kind], kind, |row| {
                    each(kind, row, |row| {
                        let value = if form.is_empty() {
                            row[0]
                        } else {
                            flushed(scalar, row[0])
                        };
                        let (sign, _) = fields(scalar);
                        match (is_nan(scalar, value), clear) {
                            // PTX ISA, `abs`: in double precision a NaN passes as it is.
                            (true, true) if scalar == F64 => value,
                            (true, _) => nan(scalar),
                            (_, true) => value & !sign,
                            (_, false) => value ^ sign,
                        }
                    })
                });
            }
        }
    }
    for kind in [F32, F64] {
        let (sign, _) = fields(kind);
        let code = format!("copysign.{} d, a, b;", kind.word());
        check(&code, &[kind; 2], kind, |row| {
            row[0] & sign | row[1] & !sign
        });
    }
}

#[test]
fn classes() {
    type Class = fn(u64, u64) -> bool;
    // Of a magnitude, and an infinity of its kind.
    let classes: [(&str, Class); 6] = [
        ("finite", |x, infinity| x < infinity),
        ("infinite", |x, infinity| x == infinity),
        ("number", |x, infinity| x <= infinity),
        ("notanumber", |x, infinity| x > infinity),
        ("normal", |x, infinity| x < infinity && x & infinity != 0),
        ("subnormal", |x, infinity| x != 0 && x & infinity == 0),
    ];
    for kind in [F32, F64] {
        let (sign, infinity) = fields(kind);
        for (word, class) in classes {
            let code = format!("testp.{word}.{} d, a;", kind.word());
            check(&code, &[kind], Pred, |row| {
                u64::from(class(row[0] & !sign, infinity))
            });
        }
    }
}
