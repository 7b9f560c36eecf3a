//! Every pair of `cvt`, with every rounding, saturation and flush that the pair takes.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{FloatConvert, Round};

use crate::float::{ROUNDINGS, bits32, bits64, double, flushed, saturated, single};
use crate::harness::{Snippet, check, mask, number, rows, signed, width};

const INTEGERS: [&str; 8] = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];

/// The narrowest register that holds a type.
fn register(ty: &str) -> String {
    match ty {
        "u8" | "s8" => format!("{}16", &ty[..1]),
        _ => ty.to_owned(),
    }
}

/// What a register of `bits` bits holds of a value of type `ty`: by sign for signed types, by zeros for others.
fn extended(value: i128, ty: &str, bits: u32) -> u64 {
    number(value as u64, ty) as u64 & mask(bits)
}

fn range(ty: &str) -> (i128, i128) {
    let bits = width(ty);
    if ty.starts_with('s') {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

#[test]
fn integers_to_integers() {
    for from in INTEGERS {
        for to in INTEGERS {
            let (source, target) = (register(from), register(to));
            let rows = rows(&[&source]);
            let bits = width(&target);
            check(
                &format!("cvt.{to}.{from} d0, a;"),
                &[&source],
                &target,
                &rows,
                |row| extended(number(row[0], from), to, bits),
            );
            let ((low, high), (least, most)) = (range(to), range(from));
            if least < low || most > high {
                check(
                    &format!("cvt.sat.{to}.{from} d0, a;"),
                    &[&source],
                    &target,
                    &rows,
                    |row| extended(number(row[0], from).clamp(low, high), to, bits),
                );
            }
        }
    }
}

/// Both operands may be wider than their types.
#[test]
fn integers_in_wider_registers() {
    for from in INTEGERS {
        for to in INTEGERS {
            for source in ["b32", "b64"]
                .into_iter()
                .filter(|wide| width(wide) >= width(from))
            {
                for target in ["b32", "b64"]
                    .into_iter()
                    .filter(|wide| width(wide) >= width(to))
                {
                    let rows = &rows(&[source])[..400];
                    Snippet::new(&[source], &[target], &format!("cvt.{to}.{from} d0, a;"))
                        .check(rows, |row| {
                            vec![extended(number(row[0], from), to, width(target))]
                        });
                }
            }
        }
    }
}

/// A value rounded to an integer, as far as 128 bits go; `None` for NaN.
fn rounded(value: Double, round: Round) -> Option<i128> {
    if value.is_nan() {
        return None;
    }
    let mut exact = true;
    Some(value.to_i128_r(127, round, &mut exact).value)
}

#[test]
fn floats_to_integers() {
    for from in ["f32", "f64"] {
        let rows = rows(&[from]);
        for to in INTEGERS {
            let target = register(to);
            let (low, high) = range(to);
            for (word, round) in ROUNDINGS {
                for (form, flush) in [("", false), (".ftz", true), (".sat", false)] {
                    if flush && from == "f64" {
                        continue;
                    }
                    let code = format!("cvt.{word}i{form}.{to}.{from} d0, a;");
                    check(&code, &[from], &target, &rows, |row| {
                        let value = if from == "f64" {
                            double(row[0])
                        } else {
                            let bits = if flush { flushed(row[0]) } else { row[0] };
                            single(bits).convert(&mut false).value
                        };
                        let integer = match rounded(value, round) {
                            Some(integer) => integer.clamp(low, high),
                            None if from == "f32" && width(to) < 64 => 0,
                            None => 1 << (width(to) - 1),
                        };
                        extended(integer, to, width(&target))
                    });
                }
            }
        }
    }
}

#[test]
fn integers_to_floats() {
    for from in INTEGERS {
        let source = register(from);
        let rows = rows(&[&source]);
        for (word, round) in ROUNDINGS {
            let code = format!("cvt.{word}.f32.{from} d0, a;");
            let exact =
                |row: &[u64]| bits32(Single::from_i128_r(number(row[0], from), round).value);
            check(&code, &[&source], "f32", &rows, exact);
            let code = format!("cvt.{word}.sat.f32.{from} d0, a;");
            check(&code, &[&source], "f32", &rows, |row| saturated(exact(row)));
            let code = format!("cvt.{word}.f64.{from} d0, a;");
            check(&code, &[&source], "f64", &rows, |row| {
                bits64(Double::from_i128_r(number(row[0], from), round).value)
            });
        }
    }
}

#[test]
fn floats_to_floats() {
    let (singles, doubles) = (rows(&["f32"]), rows(&["f64"]));
    let widened = |bits: u64| {
        let value: Double = single(bits).convert(&mut false).value;
        bits64(value)
    };
    check("cvt.f64.f32 d0, a;", &["f32"], "f64", &singles, |row| {
        widened(row[0])
    });
    check("cvt.ftz.f64.f32 d0, a;", &["f32"], "f64", &singles, |row| {
        widened(flushed(row[0]))
    });
    for (word, round) in ROUNDINGS {
        let narrowed = |row: &[u64]| {
            let value: Single = double(row[0]).convert_r(round, &mut false).value;
            bits32(value)
        };
        check(
            &format!("cvt.{word}.f32.f64 d0, a;"),
            &["f64"],
            "f32",
            &doubles,
            narrowed,
        );
        check(
            &format!("cvt.{word}.ftz.f32.f64 d0, a;"),
            &["f64"],
            "f32",
            &doubles,
            |row| flushed(narrowed(row)),
        );
        check(
            &format!("cvt.{word}.sat.f32.f64 d0, a;"),
            &["f64"],
            "f32",
            &doubles,
            |row| saturated(narrowed(row)),
        );
        check(
            &format!("cvt.{word}i.f32.f32 d0, a;"),
            &["f32"],
            "f32",
            &singles,
            |row| bits32(single(row[0]).round_to_integral(round).value),
        );
        check(
            &format!("cvt.{word}i.f64.f64 d0, a;"),
            &["f64"],
            "f64",
            &doubles,
            |row| bits64(double(row[0]).round_to_integral(round).value),
        );
    }
    check("cvt.sat.f32.f32 d0, a;", &["f32"], "f32", &singles, |row| {
        saturated(bits32(single(row[0])))
    });
    check("cvt.ftz.f32.f32 d0, a;", &["f32"], "f32", &singles, |row| {
        bits32(single(flushed(row[0])))
    });
}

#[test]
fn registers_of_eight_bits() {
    let rows = rows(&["b32"]);
    let code = ".reg .b8 x; .reg .s8 y; cvt.u8.u32 x, a; cvt.s8.u32 y, a; cvt.u32.u8 d0, x; cvt.s32.s8 d1, y;";
    Snippet::new(&["b32"], &["b32", "b32"], code).check(&rows, |row| {
        vec![row[0] & 0xFF, signed(row[0], 8) as u64 & mask(32)]
    });
}
