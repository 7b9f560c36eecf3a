//! Integer arithmetic against 128-bit integers.

use crate::harness::{Snippet, check, mask, number, rows, signed, width};

const WIDTHS: [&str; 3] = ["16", "32", "64"];
const SIGNS: [&str; 2] = ["u", "s"];

/// Every integer type.
fn types() -> Vec<String> {
    SIGNS
        .iter()
        .flat_map(|sign| WIDTHS.iter().map(move |bits| format!("{sign}{bits}")))
        .collect()
}

/// The low bits of a number.
pub(crate) fn low(value: i128, bits: u32) -> u64 {
    value as u64 & mask(bits)
}

/// The exact product; that of two 64-bit numbers fits 128 bits.
fn product(row: &[u64], ty: &str) -> u128 {
    if ty.starts_with('s') {
        number(row[0], ty)
            .wrapping_mul(number(row[1], ty))
            .cast_unsigned()
    } else {
        number(row[0], ty).cast_unsigned() * number(row[1], ty).cast_unsigned()
    }
}

/// ptxas adds the number, though the ISA has it in addresses alone.
#[test]
fn a_register_plus_a_number() {
    for ty in ["s32", "u32", "s64", "u64"] {
        let bits = width(ty);
        check(
            &format!("add.{ty} d0, a+4, b; sub.{ty} d0, d0+-9, b;"),
            &[ty, ty],
            ty,
            &rows(&[ty, ty]),
            |row| low(number(row[0], ty) - 5, bits),
        );
        check(
            &format!("mov.{ty} d0, a+100;"),
            &[ty],
            ty,
            &rows(&[ty]),
            |row| low(number(row[0], ty) + 100, bits),
        );
    }
}

#[test]
fn addition_and_subtraction() {
    for ty in types() {
        let bits = width(&ty);
        let rows = rows(&[&ty, &ty]);
        check(
            &format!("add.{ty} d0, a, b;"),
            &[&ty, &ty],
            &ty,
            &rows,
            |row| low(number(row[0], &ty) + number(row[1], &ty), bits),
        );
        check(
            &format!("sub.{ty} d0, a, b;"),
            &[&ty, &ty],
            &ty,
            &rows,
            |row| low(number(row[0], &ty) - number(row[1], &ty), bits),
        );
    }
    let rows = rows(&["s32", "s32"]);
    let clamp = |value: i128| low(value.clamp(i32::MIN.into(), i32::MAX.into()), 32);
    check(
        "add.sat.s32 d0, a, b;",
        &["s32", "s32"],
        "s32",
        &rows,
        |row| clamp(signed(row[0], 32) + signed(row[1], 32)),
    );
    check(
        "sub.sat.s32 d0, a, b;",
        &["s32", "s32"],
        "s32",
        &rows,
        |row| clamp(signed(row[0], 32) - signed(row[1], 32)),
    );
}

#[test]
fn multiplication() {
    for ty in types() {
        let bits = width(&ty);
        let rows2 = rows(&[&ty, &ty]);
        let rows3 = rows(&[&ty, &ty, &ty]);
        let hi = |row: &[u64]| (product(row, &ty) >> bits) as u64 & mask(bits);
        check(
            &format!("mul.lo.{ty} d0, a, b;"),
            &[&ty, &ty],
            &ty,
            &rows2,
            |row| product(row, &ty) as u64 & mask(bits),
        );
        check(
            &format!("mul.hi.{ty} d0, a, b;"),
            &[&ty, &ty],
            &ty,
            &rows2,
            hi,
        );
        check(
            &format!("mad.lo.{ty} d0, a, b, c;"),
            &[&ty, &ty, &ty],
            &ty,
            &rows3,
            |row| (product(row, &ty) as u64).wrapping_add(row[2]) & mask(bits),
        );
        check(
            &format!("mad.hi.{ty} d0, a, b, c;"),
            &[&ty, &ty, &ty],
            &ty,
            &rows3,
            |row| hi(row).wrapping_add(row[2]) & mask(bits),
        );
        if bits < 64 {
            let wide = format!("{}{}", &ty[..1], 2 * bits);
            let rows3 = rows(&[&ty, &ty, &wide]);
            check(
                &format!("mul.wide.{ty} d0, a, b;"),
                &[&ty, &ty],
                &wide,
                &rows2,
                |row| product(row, &ty) as u64 & mask(2 * bits),
            );
            check(
                &format!("mad.wide.{ty} d0, a, b, c;"),
                &[&ty, &ty, &wide],
                &wide,
                &rows3,
                |row| (product(row, &ty) as u64).wrapping_add(row[2]) & mask(2 * bits),
            );
        }
    }
    let rows = rows(&["s32", "s32", "s32"]);
    check(
        "mad.hi.sat.s32 d0, a, b, c;",
        &["s32", "s32", "s32"],
        "s32",
        &rows,
        |row| {
            let sum = ((signed(row[0], 32) * signed(row[1], 32)) >> 32) + signed(row[2], 32);
            low(sum.clamp(i32::MIN.into(), i32::MAX.into()), 32)
        },
    );
}

#[test]
fn multiplication_of_24_bits() {
    for ty in ["u32", "s32"] {
        let factor = |value: u64| {
            if ty == "s32" {
                signed(value, 24)
            } else {
                i128::from(value & 0xFF_FFFF)
            }
        };
        let rows2 = rows(&[ty, ty]);
        let rows3 = rows(&[ty, ty, ty]);
        for (half, shift) in [("lo", 0), ("hi", 16)] {
            check(
                &format!("mul24.{half}.{ty} d0, a, b;"),
                &[ty, ty],
                ty,
                &rows2,
                |row| low((factor(row[0]) * factor(row[1])) >> shift, 32),
            );
            check(
                &format!("mad24.{half}.{ty} d0, a, b, c;"),
                &[ty, ty, ty],
                ty,
                &rows3,
                |row| {
                    low(
                        ((factor(row[0]) * factor(row[1])) >> shift) + number(row[2], ty),
                        32,
                    )
                },
            );
        }
    }
    let rows = rows(&["s32", "s32", "s32"]);
    check(
        "mad24.hi.sat.s32 d0, a, b, c;",
        &["s32", "s32", "s32"],
        "s32",
        &rows,
        |row| {
            let half = low((signed(row[0], 24) * signed(row[1], 24)) >> 16, 32);
            let sum = signed(half, 32) + signed(row[2], 32);
            low(sum.clamp(i32::MIN.into(), i32::MAX.into()), 32)
        },
    );
}

#[test]
fn carry_chains() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let bits = width(ty);
        let wide = |value: u64| u128::from(value & mask(bits));
        let rows = rows(&[ty, ty, ty, ty]);
        // The flag is made by a comparison of a and b that does not touch the result, then used and made again.
        let chains = [("add", 0u128), ("sub", 1)];
        for (op, subtract) in chains {
            let code = format!(
                ".reg .{ty} x, y; {op}.cc.{ty} x, a, b; {op}c.cc.{ty} y, c, e; {op}c.{ty} d1, 0, 0; xor.b{bits} d0, x, y;"
            );
            Snippet::new(&[ty, ty, ty, ty], &[ty, ty], &code).check(&rows, |row| {
                let step = |left: u64, right: u64, flag: u128| {
                    if subtract == 1 {
                        let under = wide(left) < wide(right) + flag;
                        (
                            wide(left).wrapping_sub(wide(right)).wrapping_sub(flag),
                            u128::from(under),
                        )
                    } else {
                        let sum = wide(left) + wide(right) + flag;
                        (sum, sum >> bits)
                    }
                };
                let (x, flag) = step(row[0], row[1], 0);
                let (y, flag) = step(row[2], row[3], flag);
                let (z, _) = step(0, 0, flag);
                vec![(x ^ y) as u64 & mask(bits), z as u64 & mask(bits)]
            });
        }
        for half in ["lo", "hi"] {
            let code = format!("mad.{half}.cc.{ty} d0, a, b, c; madc.{half}.{ty} d1, a, b, e;");
            Snippet::new(&[ty, ty, ty, ty], &[ty, ty], &code).check(&rows, |row| {
                let shift = if half == "lo" { 0 } else { bits };
                let part = (product(row, ty) >> shift) as u64 & mask(bits);
                let first = wide(part) + wide(row[2]);
                let second = wide(part) + wide(row[3]) + (first >> bits);
                vec![first as u64 & mask(bits), second as u64 & mask(bits)]
            });
        }
    }
}

#[test]
fn division_and_remainder() {
    for ty in types() {
        let bits = width(&ty);
        let rows: Vec<Vec<u64>> = rows(&[&ty, &ty])
            .into_iter()
            .filter(|row| row[1] & mask(bits) != 0)
            .collect();
        check(
            &format!("div.{ty} d0, a, b;"),
            &[&ty, &ty],
            &ty,
            &rows,
            |row| low(number(row[0], &ty) / number(row[1], &ty), bits),
        );
        check(
            &format!("rem.{ty} d0, a, b;"),
            &[&ty, &ty],
            &ty,
            &rows,
            |row| low(number(row[0], &ty) % number(row[1], &ty), bits),
        );
    }
}

#[test]
fn magnitudes_and_order() {
    for ty in types() {
        let bits = width(&ty);
        let rows2 = rows(&[&ty, &ty]);
        let n = |value: u64| number(value, &ty);
        for (op, least) in [("min", true), ("max", false)] {
            check(
                &format!("{op}.{ty} d0, a, b;"),
                &[&ty, &ty],
                &ty,
                &rows2,
                |row| {
                    let (x, y) = (n(row[0]), n(row[1]));
                    low(if least { x.min(y) } else { x.max(y) }, bits)
                },
            );
        }
        check(
            &format!("sad.{ty} d0, a, b, c;"),
            &[&ty, &ty, &ty],
            &ty,
            &rows(&[&ty, &ty, &ty]),
            |row| low((n(row[0]) - n(row[1])).abs() + n(row[2]), bits),
        );
        if ty.starts_with('s') {
            let rows = rows(&[&ty]);
            check(&format!("abs.{ty} d0, a;"), &[&ty], &ty, &rows, |row| {
                low(n(row[0]).abs(), bits)
            });
            check(&format!("neg.{ty} d0, a;"), &[&ty], &ty, &rows, |row| {
                low(-n(row[0]), bits)
            });
        }
    }
}
