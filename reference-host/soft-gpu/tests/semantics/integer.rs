//! Integer, bit and comparison instructions against 128-bit integers.

use crate::harness::{Snippet, check, mask, number, rows, signed, width};

/// The operations on bits that several instructions know by these words.
const BITWISE: [(&str, Bitwise); 3] = [
    ("and", |a, b| a & b),
    ("or", |a, b| a | b),
    ("xor", |a, b| a ^ b),
];
type Bitwise = fn(u64, u64) -> u64;

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
fn low(value: i128, bits: u32) -> u64 {
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
        for sign in SIGNS {
            let ty = format!("{sign}{bits}");
            let found = |value: u64| {
                let skip = *sign == *"s" && bit(value, bits - 1);
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

#[test]
fn integer_comparison() {
    for bits in [16u32, 32, 64] {
        for sign in ["b", "u", "s"] {
            let ty = format!("{sign}{bits}");
            let rows = rows(&[&ty, &ty, "pred"]);
            let types = [ty.as_str(), &ty, "pred"];
            let words: &[&str] = match sign {
                "b" => &["eq", "ne"],
                "u" => &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
                _ => &["eq", "ne", "lt", "le", "gt", "ge"],
            };
            for word in words {
                let holds = |row: &[u64]| {
                    let (x, y) = (number(row[0], &ty), number(row[1], &ty));
                    u64::from(match *word {
                        "eq" => x == y,
                        "ne" => x != y,
                        "lt" | "lo" => x < y,
                        "le" | "ls" => x <= y,
                        "gt" | "hi" => x > y,
                        _ => x >= y,
                    })
                };
                check(
                    &format!("setp.{word}.{ty} d0, a, b;"),
                    &types,
                    "pred",
                    &rows,
                    holds,
                );
                check(
                    &format!("set.{word}.u32.{ty} d0, a, b;"),
                    &types,
                    "u32",
                    &rows,
                    |row| holds(row) * mask(32),
                );
                check(
                    &format!("set.{word}.f32.{ty} d0, a, b;"),
                    &types,
                    "f32",
                    &rows,
                    |row| holds(row) * 0x3F80_0000,
                );
                for (op, f) in BITWISE {
                    // The combining predicate is a destination as well.
                    let code = format!(
                        "mov.pred d0, c; setp.{word}.{op}.{ty} d0|d1, a, b, d0; setp.{word}.{op}.{ty} d2|d3, a, b, !c;"
                    );
                    Snippet::new(&types, &["pred"; 4], &code).check(&rows, |row| {
                        let (t, c) = (holds(row), row[2]);
                        vec![f(t, c), f(t ^ 1, c), f(t, c ^ 1), f(t ^ 1, c ^ 1)]
                    });
                }
            }
            check(
                &format!("selp.{ty} d0, a, b, c;"),
                &types,
                &ty,
                &rows,
                |row| {
                    if row[2] == 1 { row[0] } else { row[1] }
                },
            );
            let types = [ty.as_str(), &ty, "s32"];
            check(
                &format!("slct.{ty}.s32 d0, a, b, c;"),
                &types,
                &ty,
                &crate::harness::rows(&types),
                |row| {
                    if signed(row[2], 32) >= 0 {
                        row[0]
                    } else {
                        row[1]
                    }
                },
            );
        }
    }
}

#[test]
fn moves_pack_and_unpack() {
    check(
        "mov.b64 d0, {a, b};",
        &["b32", "b32"],
        "b64",
        &rows(&["b32", "b32"]),
        |row| row[1] << 32 | row[0],
    );
    check(
        "mov.b32 d0, {a, b};",
        &["b16", "b16"],
        "b32",
        &rows(&["b16", "b16"]),
        |row| row[1] << 16 | row[0],
    );
    let four = ["b16"; 4];
    check(
        "mov.b64 d0, {a, b, c, e};",
        &four,
        "b64",
        &rows(&four),
        |row| row[3] << 48 | row[2] << 32 | row[1] << 16 | row[0],
    );
    let rows = rows(&["b64"]);
    Snippet::new(&["b64"], &["b32", "b32"], "mov.b64 {d0, d1}, a;")
        .check(&rows, |row| vec![row[0] & mask(32), row[0] >> 32]);
    Snippet::new(&["b64"], &["b16"; 4], "mov.b64 {d0, d1, d2, d3}, a;").check(&rows, |row| {
        (0..4).map(|at| row[0] >> (16 * at) & mask(16)).collect()
    });
    Snippet::new(
        &["b32"],
        &["b32", "b16"],
        "mov.b32 {_, d1}, a; mov.b32 d0, a;",
    )
    .check(&crate::harness::rows(&["b32"]), |row| {
        vec![row[0], row[0] >> 16]
    });
    // The source is a destination as well.
    Snippet::new(
        &["b64"],
        &["b64"],
        ".reg .b32 x; mov.b64 d0, a; mov.b64 {x, %t1}, d0; mov.b64 d0, {%t1, x};",
    )
    .check(&rows, |row| vec![row[0].rotate_left(32)]);
}
