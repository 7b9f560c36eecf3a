//! Logic, shifts and bit fields, bit by bit.

use crate::harness::{Snippet, check, mask, number, rows, signed, width};
use crate::integer::low;

/// The operations on bits that several instructions know by these words.
pub(crate) const BITWISE: [(&str, Bitwise); 3] = [
    ("and", |a, b| a & b),
    ("or", |a, b| a | b),
    ("xor", |a, b| a ^ b),
];
pub(crate) type Bitwise = fn(u64, u64) -> u64;

#[test]
fn logic_and_shifts() {
    for bits in [16, 32, 64] {
        let ty = format!("b{bits}");
        let rows2 = rows(&[&ty, &ty]);
        for (op, f) in BITWISE {
            check(
                &format!("{op}.{ty} d0, a, b;"),
                &[&ty, &ty],
                &ty,
                &rows2,
                |row| f(row[0], row[1]),
            );
        }
        let rows1 = rows(&[&ty]);
        check(&format!("not.{ty} d0, a;"), &[&ty], &ty, &rows1, |row| {
            !row[0] & mask(bits)
        });
        check(&format!("cnot.{ty} d0, a;"), &[&ty], &ty, &rows1, |row| {
            u64::from(row[0] == 0)
        });
        let shifted = rows(&[&ty, "u32"]);
        check(
            &format!("shl.{ty} d0, a, b;"),
            &[&ty, "u32"],
            &ty,
            &shifted,
            |row| {
                if row[1] < u64::from(bits) {
                    row[0] << row[1] & mask(bits)
                } else {
                    0
                }
            },
        );
        for kind in ["b", "u", "s"] {
            let ty = format!("{kind}{bits}");
            check(
                &format!("shr.{ty} d0, a, b;"),
                &[&ty, "u32"],
                &ty,
                &shifted,
                |row| low(number(row[0], &ty) >> row[1].min(u64::from(bits)), bits),
            );
        }
    }
    let rows3 = rows(&["pred", "pred"]);
    for (op, f) in BITWISE {
        check(
            &format!("{op}.pred d0, a, b;"),
            &["pred", "pred"],
            "pred",
            &rows3,
            |row| f(row[0], row[1]),
        );
    }
    check(
        "not.pred d0, a;",
        &["pred"],
        "pred",
        &rows(&["pred"]),
        |row| row[0] ^ 1,
    );
    check(
        "mov.pred d0, a;",
        &["pred"],
        "pred",
        &rows(&["pred"]),
        |row| row[0],
    );
}

#[test]
fn every_table_of_lop3() {
    let rows = rows(&["b32", "b32", "b32"]);
    for table in 0..256u64 {
        let code = format!("lop3.b32 d0, a, b, c, {table};");
        Snippet::new(&["b32", "b32", "b32"], &["b32"], &code).check(&rows[..96], |row| {
            let bit = |value: u64, at: u32| value >> at & 1;
            let out = (0..32).fold(0, |out, at| {
                let index = bit(row[0], at) << 2 | bit(row[1], at) << 1 | bit(row[2], at);
                out | (table >> index & 1) << at
            });
            vec![out]
        });
    }
}

#[test]
fn funnel_shifts() {
    let rows = rows(&["b32", "b32", "u32"]);
    let types = ["b32", "b32", "u32"];
    for (mode, clamp) in [("clamp", true), ("wrap", false)] {
        let count = |c: u64| if clamp { c.min(32) } else { c % 32 };
        let both = |row: &[u64]| u128::from(row[1]) << 32 | u128::from(row[0]);
        check(
            &format!("shf.l.{mode}.b32 d0, a, b, c;"),
            &types,
            "b32",
            &rows,
            |row| (both(row) << count(row[2]) >> 32) as u64 & mask(32),
        );
        check(
            &format!("shf.r.{mode}.b32 d0, a, b, c;"),
            &types,
            "b32",
            &rows,
            |row| (both(row) >> count(row[2])) as u64 & mask(32),
        );
    }
}

/// The loop of the ISA's pseudo-code, bit by bit.
#[test]
fn bit_fields() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let bits = width(ty);
        let types = [ty, "u32", "u32"];
        check(
            &format!("bfe.{ty} d0, a, b, c;"),
            &types,
            ty,
            &rows(&types),
            |row| {
                let (pos, len) = (row[1] & 0xFF, row[2] & 0xFF);
                let msb = u64::from(bits) - 1;
                let bit = |at: u64| row[0] >> at & 1;
                let sbit = if ty.starts_with('u') || len == 0 {
                    0
                } else {
                    bit((pos + len - 1).min(msb))
                };
                (0..=msb).fold(0, |out, at| {
                    let here = if at < len && pos + at <= msb {
                        bit(pos + at)
                    } else {
                        sbit
                    };
                    out | here << at
                })
            },
        );
    }
    for ty in ["b32", "b64"] {
        let types = [ty, ty, "u32", "u32"];
        check(
            &format!("bfi.{ty} d0, a, b, c, e;"),
            &types,
            ty,
            &rows(&types),
            |row| {
                let (pos, len) = (row[2] & 0xFF, row[3] & 0xFF);
                let msb = u64::from(width(ty)) - 1;
                (0..len)
                    .take_while(|at| pos + at <= msb)
                    .fold(row[1], |out, at| {
                        out & !(1 << (pos + at)) | (row[0] >> at & 1) << (pos + at)
                    })
            },
        );
    }
}

#[test]
fn counting_and_finding_bits() {
    for bits in [32u32, 64] {
        let ty = format!("b{bits}");
        let rows1 = rows(&[&ty]);
        let bit = |value: u64, at: u32| value >> at & 1 == 1;
        check(&format!("popc.{ty} d0, a;"), &[&ty], "u32", &rows1, |row| {
            (0..bits).filter(|at| bit(row[0], *at)).count() as u64
        });
        check(&format!("clz.{ty} d0, a;"), &[&ty], "u32", &rows1, |row| {
            (0..bits).rev().take_while(|at| !bit(row[0], *at)).count() as u64
        });
        check(&format!("brev.{ty} d0, a;"), &[&ty], &ty, &rows1, |row| {
            (0..bits).fold(0, |out, at| out | (row[0] >> at & 1) << (bits - 1 - at))
        });
        for sign in ["u", "s"] {
            let ty = format!("{sign}{bits}");
            let found = |value: u64| {
                let skip = sign == "s" && bit(value, bits - 1);
                (0..bits).rev().find(|at| bit(value, *at) != skip)
            };
            check(
                &format!("bfind.{ty} d0, a;"),
                &[&ty],
                "u32",
                &rows1,
                |row| found(row[0]).map_or(mask(32), u64::from),
            );
            check(
                &format!("bfind.shiftamt.{ty} d0, a;"),
                &[&ty],
                "u32",
                &rows1,
                |row| found(row[0]).map_or(mask(32), |at| u64::from(bits - 1 - at)),
            );
        }
    }
}

#[test]
fn permutation_and_dot_products() {
    let types = ["b32", "b32", "b32"];
    check(
        "prmt.b32 d0, a, b, c;",
        &types,
        "b32",
        &rows(&types),
        |row| {
            let bytes = (row[1] << 32 | row[0]).to_le_bytes();
            (0..4).fold(0, |out, at| {
                let nibble = row[2] >> (4 * at) & 0xF;
                let byte = bytes[nibble as usize & 7];
                let byte = match (nibble & 8 == 0, byte & 0x80 == 0) {
                    (true, _) => byte,
                    (false, true) => 0,
                    (false, false) => 0xFF,
                };
                out | u64::from(byte) << (8 * at)
            })
        },
    );
    for a in ["u32", "s32"] {
        for b in ["u32", "s32"] {
            let types = [a, b, "b32"];
            let part = |value: u64, at: u32, ty: &str| {
                let byte = value >> (8 * at) & 0xFF;
                if ty == "s32" {
                    signed(byte, 8)
                } else {
                    i128::from(byte)
                }
            };
            check(
                &format!("dp4a.{a}.{b} d0, a, b, c;"),
                &types,
                "b32",
                &rows(&types),
                |row| {
                    let sum: i128 = (0..4)
                        .map(|at| part(row[0], at, a) * part(row[1], at, b))
                        .sum();
                    low(sum + signed(row[2], 32), 32)
                },
            );
        }
    }
}
