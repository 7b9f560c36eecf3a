//! Floating-point instructions against an independent softfloat, in every rounding.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

use crate::harness::{Snippet, check, rows};

/// The roundings by modifier.
pub(crate) const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

pub(crate) fn single(bits: u64) -> Single {
    Single::from_bits(bits.into())
}

pub(crate) fn double(bits: u64) -> Double {
    Double::from_bits(bits.into())
}

/// Bits of a result; every NaN is the canonical one.
pub(crate) fn bits32(value: Single) -> u64 {
    if value.is_nan() {
        0x7FFF_FFFF
    } else {
        value.to_bits() as u64
    }
}

pub(crate) fn bits64(value: Double) -> u64 {
    if value.is_nan() {
        0x7FF8_0000_0000_0000
    } else {
        value.to_bits() as u64
    }
}

/// `.ftz`
pub(crate) fn flushed(bits: u64) -> u64 {
    if single(bits).is_denormal() {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// `.sat` of single precision.
pub(crate) fn saturated(bits: u64) -> u64 {
    let value = f32::from_bits(bits as u32);
    if value.is_nan() {
        0
    } else {
        u64::from((value.clamp(0.0, 1.0) + 0.0).to_bits())
    }
}

/// All forms of `op{.rnd}{.ftz}{.sat}.f32` on `count` operands.
fn single_forms(op: &str, count: usize, saturation: bool, exact: impl Fn(&[u64], Round) -> u64) {
    let types = vec!["f32"; count];
    let rows = rows(&types);
    let operands = ["a", "b", "c"][..count].join(", ");
    for (word, round) in ROUNDINGS {
        for flush in [false, true] {
            for saturate in [false, true] {
                if saturate && !saturation {
                    continue;
                }
                let code = format!(
                    "{op}.{word}{}{}.f32 d0, {operands};",
                    if flush { ".ftz" } else { "" },
                    if saturate { ".sat" } else { "" }
                );
                check(&code, &types, "f32", &rows, |row| {
                    let row: Vec<u64> = row
                        .iter()
                        .map(|bits| if flush { flushed(*bits) } else { *bits })
                        .collect();
                    let mut out = exact(&row, round);
                    if flush {
                        out = flushed(out);
                    }
                    if saturate { saturated(out) } else { out }
                });
            }
        }
    }
}

#[test]
fn single_precision_sums() {
    single_forms("add", 2, true, |row, round| {
        bits32(single(row[0]).add_r(single(row[1]), round).value)
    });
    single_forms("sub", 2, true, |row, round| {
        bits32(single(row[0]).sub_r(single(row[1]), round).value)
    });
}

#[test]
fn single_precision_products() {
    single_forms("mul", 2, true, |row, round| {
        bits32(single(row[0]).mul_r(single(row[1]), round).value)
    });
}

#[test]
fn single_precision_fused_sums() {
    single_forms("fma", 3, true, |row, round| {
        bits32(
            single(row[0])
                .mul_add_r(single(row[1]), single(row[2]), round)
                .value,
        )
    });
}

#[test]
fn single_precision_quotients() {
    single_forms("div", 2, false, |row, round| {
        bits32(single(row[0]).div_r(single(row[1]), round).value)
    });
    single_forms("rcp", 1, false, |row, round| {
        bits32(single(0x3F80_0000).div_r(single(row[0]), round).value)
    });
}

/// The root by its definition: the largest value whose square does not exceed the operand, and its neighbour.
fn root(bits: u64, round: Round) -> u64 {
    let x = f32::from_bits(bits as u32);
    if x.is_nan() || x < 0.0 {
        return 0x7FFF_FFFF;
    }
    if x == 0.0 || x.is_infinite() {
        return bits;
    }
    // Squares of singles and of midpoints between singles are exact in double precision.
    let square = |value: f64| value * value;
    let (mut low, mut high) = (0u32, f32::MAX.to_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if square(f64::from(f32::from_bits(middle))) <= f64::from(x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let below = f64::from(f32::from_bits(low));
    let exact = square(below) == f64::from(x);
    let above = f64::from(f32::from_bits(high));
    let up = match round {
        Round::TowardPositive => !exact,
        Round::NearestTiesToEven => square((below + above) / 2.0) < f64::from(x),
        _ => false,
    };
    u64::from(if up { high } else { low })
}

#[test]
fn single_precision_roots() {
    single_forms("sqrt", 1, false, |row, round| root(row[0], round));
}

#[test]
fn double_precision_arithmetic() {
    let two = ["f64", "f64"];
    let three = ["f64", "f64", "f64"];
    let round = Round::NearestTiesToEven;
    let rows2 = rows(&two);
    check("add.f64 d0, a, b;", &two, "f64", &rows2, |row| {
        bits64(double(row[0]).add_r(double(row[1]), round).value)
    });
    check("sub.rn.f64 d0, a, b;", &two, "f64", &rows2, |row| {
        bits64(double(row[0]).sub_r(double(row[1]), round).value)
    });
    check("mul.f64 d0, a, b;", &two, "f64", &rows2, |row| {
        bits64(double(row[0]).mul_r(double(row[1]), round).value)
    });
    check("div.rn.f64 d0, a, b;", &two, "f64", &rows2, |row| {
        bits64(double(row[0]).div_r(double(row[1]), round).value)
    });
    check(
        "rcp.rn.f64 d0, a;",
        &["f64"],
        "f64",
        &rows(&["f64"]),
        |row| bits64(double(1.0f64.to_bits()).div_r(double(row[0]), round).value),
    );
    check(
        "fma.rn.f64 d0, a, b, c;",
        &three,
        "f64",
        &rows(&three),
        |row| {
            bits64(
                double(row[0])
                    .mul_add_r(double(row[1]), double(row[2]), round)
                    .value,
            )
        },
    );
}

#[test]
fn signs_and_copies() {
    let nan32 = |bits: u64, f: fn(u64) -> u64| {
        if single(bits).is_nan() {
            0x7FFF_FFFF
        } else {
            f(bits)
        }
    };
    let nan64 = |bits: u64, f: fn(u64) -> u64| {
        if double(bits).is_nan() {
            0x7FF8_0000_0000_0000
        } else {
            f(bits)
        }
    };
    let (rows32, rows64) = (rows(&["f32"]), rows(&["f64"]));
    check("neg.f32 d0, a;", &["f32"], "f32", &rows32, |row| {
        nan32(row[0], |bits| bits ^ 1 << 31)
    });
    check("abs.f32 d0, a;", &["f32"], "f32", &rows32, |row| {
        nan32(row[0], |bits| bits & !(1 << 31))
    });
    check("abs.ftz.f32 d0, a;", &["f32"], "f32", &rows32, |row| {
        nan32(flushed(row[0]), |bits| bits & !(1 << 31))
    });
    check("neg.f64 d0, a;", &["f64"], "f64", &rows64, |row| {
        nan64(row[0], |bits| bits ^ 1 << 63)
    });
    // In double precision a NaN passes as it is.
    check("abs.f64 d0, a;", &["f64"], "f64", &rows64, |row| {
        let nan = double(row[0]).is_nan();
        if nan { row[0] } else { row[0] & !(1 << 63) }
    });
    check("mov.f32 d0, a;", &["f32"], "f32", &rows32, |row| row[0]);
    check("mov.f64 d0, a;", &["f64"], "f64", &rows64, |row| row[0]);
    let two = ["f32", "f32"];
    check("copysign.f32 d0, a, b;", &two, "f32", &rows(&two), |row| {
        row[0] & 1 << 31 | row[1] & !(1 << 31)
    });
    let two = ["f64", "f64"];
    check("copysign.f64 d0, a, b;", &two, "f64", &rows(&two), |row| {
        row[0] & 1 << 63 | row[1] & !(1 << 63)
    });
}

/// -0 is below +0, and a NaN loses against a number unless `.NaN` asks for it.
#[test]
fn minima_and_maxima() {
    let order32 = |bits: u64| {
        let bits = bits as u32;
        if bits >> 31 == 1 {
            -i64::from(bits & 0x7FFF_FFFF) - 1
        } else {
            i64::from(bits)
        }
    };
    let order64 = |bits: u64| {
        if bits >> 63 == 1 {
            -i128::from(bits & !(1 << 63)) - 1
        } else {
            i128::from(bits)
        }
    };
    for (op, least) in [("min", true), ("max", false)] {
        for (form, flush, nan) in [
            ("", false, false),
            (".ftz", true, false),
            (".NaN", false, true),
            (".ftz.NaN", true, true),
        ] {
            let types = ["f32", "f32"];
            check(
                &format!("{op}{form}.f32 d0, a, b;"),
                &types,
                "f32",
                &rows(&types),
                |row| {
                    let [a, b] =
                        [row[0], row[1]].map(|bits| if flush { flushed(bits) } else { bits });
                    match (single(a).is_nan(), single(b).is_nan()) {
                        (true, true) => 0x7FFF_FFFF,
                        (true, _) | (_, true) if nan => 0x7FFF_FFFF,
                        (true, _) => b,
                        (_, true) => a,
                        _ if (order32(a) < order32(b)) == least => a,
                        _ => b,
                    }
                },
            );
        }
        let types = ["f64", "f64"];
        check(
            &format!("{op}.f64 d0, a, b;"),
            &types,
            "f64",
            &rows(&types),
            |row| {
                let (a, b) = (row[0], row[1]);
                match (double(a).is_nan(), double(b).is_nan()) {
                    (true, true) => 0x7FF8_0000_0000_0000,
                    (true, _) => b,
                    (_, true) => a,
                    _ if (order64(a) < order64(b)) == least => a,
                    _ => b,
                }
            },
        );
    }
}

#[test]
fn comparison_of_floats() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    const WORDS: [&str; 14] = [
        "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
    ];
    let holds = |word: &str, order: Option<std::cmp::Ordering>| {
        let Some(order) = order else {
            return u64::from(word.len() == 3 && word != "num");
        };
        u64::from(match word.strip_suffix('u').unwrap_or(word) {
            "eq" => order == Equal,
            "ne" => order != Equal,
            "lt" => order == Less,
            "le" => order != Greater,
            "gt" => order == Greater,
            "ge" => order != Less,
            word => word == "num",
        })
    };
    for word in WORDS {
        let types = ["f32", "f32"];
        let pairs = rows(&types);
        check(
            &format!("setp.{word}.f32 d0, a, b;"),
            &types,
            "pred",
            &pairs,
            |row| holds(word, single(row[0]).partial_cmp(&single(row[1]))),
        );
        check(
            &format!("setp.{word}.ftz.f32 d0, a, b;"),
            &types,
            "pred",
            &pairs,
            |row| {
                holds(
                    word,
                    single(flushed(row[0])).partial_cmp(&single(flushed(row[1]))),
                )
            },
        );
        check(
            &format!("set.{word}.u32.f32 d0, a, b;"),
            &types,
            "u32",
            &pairs,
            |row| holds(word, single(row[0]).partial_cmp(&single(row[1]))) * 0xFFFF_FFFF,
        );
        let types = ["f64", "f64"];
        check(
            &format!("setp.{word}.f64 d0, a, b;"),
            &types,
            "pred",
            &rows(&types),
            |row| holds(word, double(row[0]).partial_cmp(&double(row[1]))),
        );
    }
    let types = ["f32", "f32", "f32"];
    check(
        "slct.f32.f32 d0, a, b, c;",
        &types,
        "f32",
        &rows(&types),
        |row| {
            if f32::from_bits(row[2] as u32) >= 0.0 {
                row[0]
            } else {
                row[1]
            }
        },
    );
    check(
        "slct.ftz.f32.f32 d0, a, b, c;",
        &types,
        "f32",
        &rows(&types),
        |row| {
            if f32::from_bits(flushed(row[2]) as u32) >= 0.0 {
                row[0]
            } else {
                row[1]
            }
        },
    );
    let types = ["f64", "f64", "f32"];
    check(
        "slct.f64.f32 d0, a, b, c;",
        &types,
        "f64",
        &rows(&types),
        |row| {
            if f32::from_bits(row[2] as u32) >= 0.0 {
                row[0]
            } else {
                row[1]
            }
        },
    );
}

#[test]
fn classes_of_numbers() {
    type Class = fn(f64, bool) -> bool;
    let classes: [(&str, Class); 6] = [
        ("finite", |x, _| x.is_finite()),
        ("infinite", |x, _| x.is_infinite()),
        ("number", |x, _| !x.is_nan()),
        ("notanumber", |x, _| x.is_nan()),
        ("normal", |x, subnormal| {
            x.is_finite() && x != 0.0 && !subnormal
        }),
        ("subnormal", |_, subnormal| subnormal),
    ];
    for (word, class) in classes {
        check(
            &format!("testp.{word}.f32 d0, a;"),
            &["f32"],
            "pred",
            &rows(&["f32"]),
            |row| {
                u64::from(class(
                    f32::from_bits(row[0] as u32).into(),
                    single(row[0]).is_denormal(),
                ))
            },
        );
        check(
            &format!("testp.{word}.f64 d0, a;"),
            &["f64"],
            "pred",
            &rows(&["f64"]),
            |row| u64::from(class(f64::from_bits(row[0]), double(row[0]).is_denormal())),
        );
    }
}

/// The approximate instructions: special values as the ISA tabulates them, and errors within the bounds that it gives.
#[test]
fn approximations_stay_in_their_bounds() {
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function, f64); 8] = [
        ("rcp", |x| 1.0 / x, 1e-6),
        ("sqrt", f64::sqrt, 1e-6),
        ("rsqrt", |x| 1.0 / x.sqrt(), 1e-6),
        ("sin", f64::sin, 1e-5),
        ("cos", f64::cos, 1e-5),
        ("lg2", f64::log2, 1e-5),
        ("ex2", f64::exp2, 1e-5),
        ("tanh", f64::tanh, 1e-3),
    ];
    let inputs = rows(&["f32"]);
    for (op, f, bound) in functions {
        let snippet = Snippet::new(&["f32"], &["f32"], &format!("{op}.approx.f32 d0, a;"));
        for (row, found) in inputs.iter().zip(snippet.run(&inputs)) {
            let x = f64::from(f32::from_bits(row[0] as u32));
            let (exact, found) = (f(x), f64::from(f32::from_bits(found[0] as u32)));
            let rounded = f64::from(exact as f32);
            let good = if rounded.is_finite() {
                (found - exact).abs() <= bound * exact.abs().max(1e-30)
                    || (op == "sin" || op == "cos") && x.abs() > 1e5
            } else {
                found == rounded || (found.is_nan() && rounded.is_nan())
            };
            assert!(good, "{op}({x:e}): found {found:e}, exact {exact:e}");
        }
    }
}
