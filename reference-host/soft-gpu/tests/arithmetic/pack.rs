//! Conversions to pairs and from them, `.tf32`, and packed integers.

use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert};

use crate::convert::clamped;
use crate::harness::Kind::{self, B, Bf16x2, E4m3x2, E5m2x2, F16, F16x2, F32, S, U};
use crate::harness::{check, mask, number};
use crate::softfloat::{NEAREST, ROUNDINGS, exact, is_nan, relu, rounded, single};

#[test]
fn singles_to_pairs() {
    for to in [F16x2, Bf16x2] {
        for (word, round) in &ROUNDINGS[..2] {
            for form in ["", ".relu", ".satfinite", ".satfinite.relu"] {
                let code = format!("cvt.{word}{form}.{}.f32 d, a, b;", to.word());
                check(&code, &[F32; 2], to, |row| {
                    let half = |bits: u64| {
                        clamped(
                            single(to),
                            rounded(single(to), exact(F32, bits), *round),
                            form,
                        )
                    };
                    half(row[0]) << 16 | half(row[1])
                });
            }
        }
    }
}

/// A byte of either format: to the nearest, beyond the range the largest finite value, NaN 0x7F.
fn byte(kind: Kind, value: Quad) -> u64 {
    fn to<F: Float>(value: Quad, largest: u64) -> u64
    where
        Quad: FloatConvert<F>,
    {
        let sign = u64::from(value.is_negative()) << 7;
        let near: F = value.convert_r(NEAREST, &mut false).value;
        // Beyond the range the softfloat gives an infinity or a NaN.
        if near.is_finite() {
            near.to_bits() as u64
        } else {
            sign | largest
        }
    }
    if value.is_nan() {
        0x7F
    } else if kind == E4m3x2 {
        to::<Float8E4M3FN>(value, 0x7E)
    } else {
        to::<Float8E5M2>(value, 0x7B)
    }
}

#[test]
fn pairs_of_bytes() {
    for kind in [E4m3x2, E5m2x2] {
        for form in ["", ".relu"] {
            let rectified = |value: u64, of: Kind| {
                if form.is_empty() {
                    value
                } else {
                    relu(of, value)
                }
            };
            let code = format!("cvt.rn.satfinite{form}.{}.f32 d, a, b;", kind.word());
            check(&code, &[F32; 2], kind, |row| {
                let part = |bits: u64| byte(kind, exact(F32, rectified(bits, F32)));
                part(row[0]) << 8 | part(row[1])
            });
            let code = format!("cvt.rn.satfinite{form}.{}.f16x2 d, a;", kind.word());
            check(&code, &[F16x2], kind, |row| {
                let part = |bits: u64| byte(kind, exact(F16, rectified(bits, F16)));
                part(row[0] >> 16) << 8 | part(row[0] & 0xFFFF)
            });
            let code = format!("cvt.rn{form}.f16x2.{} d, a;", kind.word());
            check(&code, &[kind], F16x2, |row| {
                let part = |byte: u64| {
                    let value: Half = if kind == E4m3x2 {
                        Float8E4M3FN::from_bits(byte.into())
                            .convert(&mut false)
                            .value
                    } else {
                        Float8E5M2::from_bits(byte.into()).convert(&mut false).value
                    };
                    let bits = if value.is_nan() {
                        0x7FFF
                    } else {
                        value.to_bits() as u64
                    };
                    rectified(bits, F16)
                };
                part(row[0] >> 8) << 16 | part(row[0] & 0xFF)
            });
        }
    }
}

/// `.tf32` is single precision with 10 bits of mantissa: the candidates are the two such values around the operand.
#[test]
fn tensor_floats() {
    for form in ["rn", "rz", "rna", "rn.relu", "rz.relu", "rna.satfinite"] {
        let code = format!("cvt.{form}.tf32.f32 d, a;");
        check(&code, &[F32], B(32), |row| {
            let bits = row[0];
            if is_nan(F32, bits) {
                return 0x7FFF_FFFF;
            }
            let below = bits & !0x1FFF;
            let above = below + 0x2000;
            let value = |bits: u64| f64::from(f32::from_bits(bits as u32)).abs();
            let near = if value(bits).is_infinite() || bits == below || form.starts_with("rz") {
                below
            } else {
                // The largest value has an upper neighbour of 2^128.
                let top = if value(above).is_infinite() {
                    128f64.exp2()
                } else {
                    value(above)
                };
                let (to_below, to_above) = (value(bits) - value(below), top - value(bits));
                let tie_up = form.starts_with("rna") || below >> 13 & 1 == 1;
                if to_above < to_below || (to_above == to_below && tie_up) {
                    above
                } else {
                    below
                }
            };
            let near = if form.contains("satfinite") && value(near).is_infinite() {
                near - 0x2000
            } else {
                near
            };
            if form.contains("relu") {
                relu(F32, near)
            } else {
                near
            }
        });
    }
    // The softfloat agrees where a double rounding cannot matter: values of `.tf32` stay as they are.
    check("cvt.rn.tf32.f32 d, a;", &[F32], B(32), |row| {
        let value = Single::from_bits(row[0].into());
        if value.is_nan() {
            return 0x7FFF_FFFF;
        }
        let unit = if value.is_finite_non_zero() {
            value.ilogb().max(-126) - 10
        } else {
            0
        };
        let scaled: Quad = value.convert(&mut false).value;
        let rounded = scaled
            .scalbn(-unit)
            .round_to_integral(NEAREST)
            .value
            .scalbn(unit);
        crate::softfloat::rounded(F32, rounded, NEAREST)
    });
}

#[test]
fn packed_integers() {
    for (word, bits, signed) in [
        ("u16", 16, false),
        ("s16", 16, true),
        ("u8", 8, false),
        ("s8", 8, true),
        ("u4", 4, false),
        ("s4", 4, true),
        ("u2", 2, false),
        ("s2", 2, true),
    ] {
        let (least, most) = if signed {
            (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        };
        let part = |value: u64| number(value, S(32)).clamp(least, most) as u64 & mask(bits);
        if bits == 16 {
            let code = format!("cvt.pack.sat.{word}.s32 d, a, b;");
            check(&code, &[S(32), S(32)], U(32), |row| {
                part(row[0]) << 16 | part(row[1])
            });
        } else {
            let code = format!("cvt.pack.sat.{word}.s32.b32 d, a, b, c;");
            check(&code, &[S(32), S(32), B(32)], U(32), |row| {
                (row[2] << (2 * bits) | part(row[0]) << bits | part(row[1])) & mask(32)
            });
        }
    }
}

/// `mov` joins halves, the first one the lower, and takes them apart.
#[test]
fn moves_of_halves() {
    check("mov.b32 d, {a, b};", &[F16, F16], B(32), |row| {
        row[1] << 16 | row[0]
    });
    check("mov.b32 {d, h0}, a;", &[F16x2], F16, |row| row[0] & 0xFFFF);
    check("mov.b32 {h0, d}, a;", &[F16x2], F16, |row| row[0] >> 16);
    check("mov.b64 {h0, h1, d, h2}, a;", &[B(64)], B(16), |row| {
        row[0] >> 32 & 0xFFFF
    });
    check("mov.b64 d, {a, a, b, b};", &[B(16), B(16)], B(64), |row| {
        row[0] | row[0] << 16 | row[1] << 32 | row[1] << 48
    });
}

#[test]
fn packed_differences() {
    for (opcode, parts, bits) in [("vabsdiff2", 2u32, 16u32), ("vabsdiff4", 4, 8)] {
        let differences = move |row: &[u64]| -> Vec<u64> {
            let part = |value: u64, at: u32| value >> (at * bits) & mask(bits);
            (0..parts)
                .map(|at| part(row[0], at).abs_diff(part(row[1], at)))
                .collect()
        };
        let code = format!("{opcode}.u32.u32.u32 d, a, b, c;");
        check(&code, &[B(32); 3], B(32), move |row| {
            let parts = differences(row)
                .into_iter()
                .zip((0u32..).step_by(bits as usize));
            parts.map(|(difference, at)| difference << at).sum()
        });
        let code = format!("{opcode}.u32.u32.u32.add d, a, b, c;");
        check(&code, &[B(32); 3], B(32), move |row| {
            (differences(row).into_iter().sum::<u64>() + row[2]) & mask(32)
        });
    }
}
