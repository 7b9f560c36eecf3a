//! `cvt` between all scalar types.

use rustc_apfloat::ieee::Quad;
use rustc_apfloat::{Float, Round};

use crate::harness::Kind::{self, B, Bf16, F16, F32, F64, S, U};
use crate::harness::{check, check_rows, mask, number};
use crate::softfloat::{
    FLOATS, NEAREST, ROUNDINGS, exact, flushed, is_nan, nan, relu, rounded, saturated,
};

const INTEGRAL: [(&str, Round); 4] = [
    ("rni", Round::NearestTiesToEven),
    ("rzi", Round::TowardZero),
    ("rmi", Round::TowardNegative),
    ("rpi", Round::TowardPositive),
];

fn integers() -> impl Iterator<Item = Kind> {
    [8, 16, 32, 64]
        .into_iter()
        .flat_map(|bits| [U(bits), S(bits)])
}

/// The least and the greatest value of an integer type.
fn range(kind: Kind) -> (i128, i128) {
    let bits = kind.bits();
    match kind {
        S(_) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
    }
}

/// The register for an integer of this kind: bytes live in 16 bits.
fn register(kind: Kind) -> Kind {
    match kind {
        U(8) => U(16),
        S(8) => S(16),
        other => other,
    }
}

/// How a result of an integer kind stands in its register.
fn in_register(kind: Kind, value: i128) -> u64 {
    value as u64 & mask(register(kind).bits())
}

fn has_bytes(kinds: [Kind; 2]) -> bool {
    kinds.iter().any(|kind| kind.bits() == 8)
}

#[test]
fn between_integers() {
    for from in integers() {
        for to in integers() {
            let code = format!("cvt.{}.{} d, a;", to.word(), from.word());
            check(&code, &[register(from)], register(to), |row| {
                let value = number(row[0], from);
                in_register(to, number(value as u64 & mask(to.bits()), to))
            });
            let (least, most) = range(to);
            let (from_least, from_most) = range(from);
            if from_least >= least && from_most <= most {
                continue;
            }
            let code = format!("cvt.sat.{}.{} d, a;", to.word(), from.word());
            check(&code, &[register(from)], register(to), |row| {
                in_register(to, number(row[0], from).clamp(least, most))
            });
        }
    }
}

#[test]
fn floats_to_integers() {
    for from in FLOATS {
        for to in integers() {
            if from == Bf16 && has_bytes([to, from]) {
                continue;
            }
            for (word, round) in INTEGRAL {
                for flush in [false, true] {
                    if flush && from != F32 {
                        continue;
                    }
                    let ftz = if flush { ".ftz" } else { "" };
                    let code = format!("cvt.{word}{ftz}.{}.{} d, a;", to.word(), from.word());
                    check(&code, &[from], register(to), |row| {
                        let bits = if flush { flushed(from, row[0]) } else { row[0] };
                        let (least, most) = range(to);
                        if is_nan(from, bits) {
                            // The top bit alone for doubles and for results of 64 bits, else 0.
                            let top = from == F64 || to.bits() == 64;
                            let pattern = if top { 1 << (to.bits() - 1) } else { 0 };
                            return in_register(to, number(pattern, to));
                        }
                        // Softfloat saturates at 127 bits, beyond every type here.
                        let value = exact(from, bits).to_i128_r(127, round, &mut false).value;
                        in_register(to, value.clamp(least, most))
                    });
                }
            }
        }
    }
}

#[test]
fn integers_to_floats() {
    for from in integers() {
        for to in FLOATS {
            if to == Bf16 && has_bytes([to, from]) {
                continue;
            }
            for (word, round) in ROUNDINGS {
                let code = format!("cvt.{word}.{}.{} d, a;", to.word(), from.word());
                let value = |row: &[u64]| {
                    let integer = Quad::from_i128(number(row[0], from)).value;
                    rounded(to, integer, round)
                };
                check(&code, &[register(from)], to, value);
                if to == Bf16 {
                    continue;
                }
                let code = format!("cvt.{word}.sat.{}.{} d, a;", to.word(), from.word());
                check(&code, &[register(from)], to, |row| {
                    saturated(to, value(row))
                });
            }
        }
    }
}

/// Every pair of float types, narrowing and widening, with `.ftz` and `.sat` where they stand.
#[test]
fn between_floats() {
    for from in FLOATS {
        for to in FLOATS {
            let narrowing = to.bits() < from.bits();
            let brain = from == Bf16 || to == Bf16;
            let roundings: Vec<(String, Round)> = ROUNDINGS
                .iter()
                .map(|(word, round)| (format!(".{word}"), *round))
                .collect();
            let mut forms = Vec::new();
            if narrowing || (brain && from != to) {
                forms.extend(roundings);
            }
            if !narrowing {
                forms.push((String::new(), NEAREST));
            }
            for (word, round) in forms {
                for (flush, saturate) in
                    [(false, false), (true, false), (false, true), (true, true)]
                {
                    if (flush && from != F32 && to != F32) || (saturate && brain) {
                        continue;
                    }
                    let code = format!(
                        "cvt{word}{}{}.{}.{} d, a;",
                        if flush { ".ftz" } else { "" },
                        if saturate { ".sat" } else { "" },
                        to.word(),
                        from.word()
                    );
                    check(&code, &[from], to, |row| {
                        let source = if flush && from == F32 {
                            flushed(F32, row[0])
                        } else {
                            row[0]
                        };
                        if from == Bf16 && to == F32 && is_nan(from, source) {
                            return source << 16;
                        }
                        let mut out = rounded(to, exact(from, source), round);
                        if flush && to == F32 {
                            out = flushed(F32, out);
                        }
                        if saturate { saturated(to, out) } else { out }
                    });
                }
            }
        }
    }
}

/// Every value: the ISA says of a NaN that it becomes some NaN (PTX ISA 9.4, 9.7.10.24), and what assemblers make of it, a shift to the
/// left, keeps payload and sign, in any rounding.
#[test]
fn brain_floats_to_single_precision() {
    let rows: Vec<Vec<u64>> = (0..0x1_0000u64).map(|bits| vec![bits]).collect();
    for word in ["", ".rn", ".rz", ".rm", ".rp"] {
        let code = format!("cvt{word}.f32.bf16 d, a;");
        check_rows(&code, &[Bf16], F32, &rows, |row| row[0] << 16);
    }
    for word in ["", ".rn"] {
        let code = format!("cvt{word}.ftz.f32.bf16 d, a;");
        check_rows(&code, &[Bf16], F32, &rows, |row| flushed(F32, row[0] << 16));
    }
}

#[test]
fn floats_to_integral_floats() {
    for kind in FLOATS {
        for (word, round) in INTEGRAL {
            for (flush, saturate) in [(false, false), (true, false), (false, true)] {
                if (flush && kind != F32) || (saturate && kind == Bf16) {
                    continue;
                }
                let code = format!(
                    "cvt.{word}{}{}.{}.{} d, a;",
                    if flush { ".ftz" } else { "" },
                    if saturate { ".sat" } else { "" },
                    kind.word(),
                    kind.word()
                );
                check(&code, &[kind], kind, |row| {
                    let bits = if flush { flushed(kind, row[0]) } else { row[0] };
                    let value = exact(kind, bits).round_to_integral(round).value;
                    let out = if value.is_nan() {
                        nan(kind)
                    } else {
                        rounded(kind, value, NEAREST)
                    };
                    if saturate { saturated(kind, out) } else { out }
                });
            }
        }
    }
}

/// `.relu` and `.satfinite` of single precision to 16 bits.
#[test]
fn clamped_halves() {
    for to in [F16, Bf16] {
        for (word, round) in &ROUNDINGS[..2] {
            for form in [".relu", ".satfinite", ".relu.satfinite"] {
                let code = format!("cvt.{word}{form}.{}.f32 d, a;", to.word());
                check(&code, &[F32], to, |row| {
                    clamped(to, rounded(to, exact(F32, row[0]), *round), form)
                });
            }
        }
    }
}

pub(crate) fn clamped(kind: Kind, value: u64, form: &str) -> u64 {
    let infinity = crate::softfloat::fields(kind).1;
    let finite = if form.contains("satfinite") && value & 0x7FFF == infinity {
        value - 1
    } else {
        value
    };
    if form.contains("relu") {
        relu(kind, finite)
    } else {
        finite
    }
}

/// A 16-bit float in a wider untyped register: the upper bits are not looked at, and zero in a result.
#[test]
fn halves_in_wider_registers() {
    check("cvt.f32.f16 d, a;", &[B(32)], F32, |row| {
        rounded(F32, exact(F16, row[0] & 0xFFFF), NEAREST)
    });
    check("cvt.f32.f16 d, a;", &[B(64)], F32, |row| {
        rounded(F32, exact(F16, row[0] & 0xFFFF), NEAREST)
    });
    check("cvt.rn.f16.f32 d, a;", &[F32], B(32), |row| {
        rounded(F16, exact(F32, row[0]), NEAREST)
    });
    check("cvt.rn.f16.f64 d, a;", &[F64], B(64), |row| {
        rounded(F16, exact(F64, row[0]), NEAREST)
    });
}
