//! Integer arithmetic, logic, shifts and fields against integers wide enough for every result.

use crate::harness::Kind::{self, B, Pred, S, U};
use crate::harness::{check, mask, number};

const WIDTHS: [u32; 3] = [16, 32, 64];

fn kinds(widths: &[u32]) -> Vec<Kind> {
    widths
        .iter()
        .flat_map(|bits| [U(*bits), S(*bits)])
        .collect()
}

/// The low bits of a mathematical result.
fn low(value: i128, bits: u32) -> u64 {
    value as u64 & mask(bits)
}

/// One row for each type: `f` computes the mathematical result, of which the low bits count.
fn table(op: &str, count: usize, kinds: &[Kind], f: impl Fn(&[i128], Kind) -> i128) {
    let operands = ["a", "b", "c", "e"][..count].join(", ");
    for kind in kinds {
        let code = format!("{op}.{} d, {operands};", kind.word());
        check(&code, &vec![*kind; count], *kind, |row| {
            let numbers: Vec<i128> = row.iter().map(|value| number(*value, *kind)).collect();
            low(f(&numbers, *kind), kind.bits())
        });
    }
}

fn range(bits: u32) -> (i128, i128) {
    (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
}

#[test]
fn sums_and_differences() {
    table("add", 2, &kinds(&WIDTHS), |v, _| v[0] + v[1]);
    table("sub", 2, &kinds(&WIDTHS), |v, _| v[0] - v[1]);
    let (least, most) = range(32);
    table("add.sat", 2, &[S(32)], |v, _| {
        (v[0] + v[1]).clamp(least, most)
    });
    table("sub.sat", 2, &[S(32)], |v, _| {
        (v[0] - v[1]).clamp(least, most)
    });
    for word in ["u16x2", "s16x2"] {
        check(&format!("add.{word} d, a, b;"), &[B(32); 2], B(32), |row| {
            let sum = |shift: u32| ((row[0] >> shift) + (row[1] >> shift)) & 0xFFFF;
            sum(0) | sum(16) << 16
        });
    }
}

#[test]
fn products() {
    table("mul.lo", 2, &kinds(&WIDTHS), |v, _| v[0].wrapping_mul(v[1]));
    table("mul.hi", 2, &kinds(&WIDTHS), high);
    table("mad.lo", 3, &kinds(&WIDTHS), |v, _| {
        v[0].wrapping_mul(v[1]).wrapping_add(v[2])
    });
    table("mad.hi", 3, &kinds(&WIDTHS), |v, kind| high(v, kind) + v[2]);
    let (least, most) = range(32);
    table("mad.hi.sat", 3, &[S(32)], |v, kind| {
        (high(v, kind) + v[2]).clamp(least, most)
    });
    for (kind, wide) in [
        (U(16), U(32)),
        (S(16), S(32)),
        (U(32), U(64)),
        (S(32), S(64)),
    ] {
        let product = |row: &[u64]| number(row[0], kind) * number(row[1], kind);
        let code = format!("mul.wide.{} d, a, b;", kind.word());
        check(&code, &[kind; 2], wide, |row| {
            low(product(row), wide.bits())
        });
        let code = format!("mad.wide.{} d, a, b, c;", kind.word());
        check(&code, &[kind, kind, wide], wide, |row| {
            low(product(row) + number(row[2], wide), wide.bits())
        });
    }
}

/// The upper half of a product. Unsigned products of 64 bits fill 128.
fn high(v: &[i128], kind: Kind) -> i128 {
    match kind {
        U(bits) => ((v[0] as u128 * v[1] as u128) >> bits) as i128,
        other => (v[0] * v[1]) >> other.bits(),
    }
}

#[test]
fn products_of_24_bits() {
    let narrow = |value: i128, kind: Kind| match kind {
        S(_) => (value << 104) >> 104,
        _ => value & 0xFF_FFFF,
    };
    let product = |v: &[i128], kind: Kind| narrow(v[0], kind) * narrow(v[1], kind);
    let kinds = kinds(&[32]);
    table("mul24.lo", 2, &kinds, |v, kind| product(v, kind));
    table("mul24.hi", 2, &kinds, |v, kind| product(v, kind) >> 16);
    table("mad24.lo", 3, &kinds, |v, kind| product(v, kind) + v[2]);
    table("mad24.hi", 3, &kinds, |v, kind| {
        (product(v, kind) >> 16) + v[2]
    });
    let (least, most) = range(32);
    table("mad24.hi.sat", 3, &[S(32)], |v, kind| {
        let high = (product(v, kind) >> 16) as i32;
        (i128::from(high) + v[2]).clamp(least, most)
    });
}

/// The flag of a chain: into one instruction, out of it, and through it; `f` gives sum or difference and product in full.
#[test]
fn carry_chains() {
    for kind in kinds(&[32, 64]) {
        let word = kind.word();
        let bits = kind.bits();
        let zero = if bits == 64 {
            "mov.b64 l7, 0;"
        } else {
            "mov.b32 w7, 0;"
        };
        let (scrap, none) = if bits == 64 {
            ("l6", "l7")
        } else {
            ("w6", "w7")
        };
        // A carry comes from adding 1 and all ones where the predicate is set: 0 - 1 borrows.
        let set = format!(
            "{zero} selp.b{bits} {scrap}, 1, 0, c; add.cc.u{bits} {scrap}, {scrap}, -1; mov.b{bits} {scrap}, {none};"
        );
        let borrow = format!(
            "{zero} selp.b{bits} {scrap}, 1, 0, c; sub.cc.u{bits} {scrap}, {none}, {scrap};"
        );
        let kinds = [kind, kind, Pred];
        let unsigned = |value: u64| i128::from(value);
        for (op, out) in [("add.cc", false), ("addc", true), ("addc.cc", true)] {
            let sum = |row: &[u64]| {
                unsigned(row[0]) + unsigned(row[1]) + if out { i128::from(row[2]) } else { 0 }
            };
            let code = format!("{set} {op}.{word} d, a, b;");
            check(&code, &kinds, kind, |row| low(sum(row), bits));
            if op.ends_with("cc") {
                let code =
                    format!("{set} {op}.{word} {scrap}, a, b; addc.u{bits} d, {none}, {none};");
                check(&code, &kinds, kind, |row| (sum(row) >> bits) as u64);
            }
        }
        for (op, out) in [("sub.cc", false), ("subc", true), ("subc.cc", true)] {
            let difference = |row: &[u64]| {
                unsigned(row[0]) - unsigned(row[1]) - if out { i128::from(row[2]) } else { 0 }
            };
            let code = format!("{borrow} {op}.{word} d, a, b;");
            check(&code, &kinds, kind, |row| low(difference(row), bits));
            if op.ends_with("cc") {
                let code =
                    format!("{borrow} {op}.{word} {scrap}, a, b; subc.u{bits} d, {none}, {none};");
                check(&code, &kinds, kind, |row| {
                    low(-i128::from(difference(row) < 0), bits)
                });
            }
        }
        for half in ["lo", "hi"] {
            // Of three numbers and the carry in e.
            let kinds = [kind, kind, kind, Pred];
            let part = |row: &[u64]| {
                let factors: Vec<i128> = row.iter().map(|value| number(*value, kind)).collect();
                let half = if half == "lo" {
                    factors[0].wrapping_mul(factors[1])
                } else {
                    high(&factors, kind)
                };
                i128::from(low(half, bits)) + i128::from(row[2])
            };
            let set = set.replace(", c;", ", e;");
            for (op, takes) in [("mad", false), ("madc", true)] {
                let sum = |row: &[u64]| part(row) + if takes { i128::from(row[3]) } else { 0 };
                let code = format!("{set} {op}.{half}.cc.{word} d, a, b, c;");
                check(&code, &kinds, kind, |row| low(sum(row), bits));
                let code = format!(
                    "{set} {op}.{half}.cc.{word} {scrap}, a, b, c; addc.u{bits} d, {none}, {none};"
                );
                check(&code, &kinds, kind, |row| (sum(row) >> bits) as u64);
            }
            let code = format!("{set} madc.{half}.{word} d, a, b, c;");
            check(&code, &kinds, kind, |row| {
                low(part(row) + i128::from(row[3]), bits)
            });
        }
    }
}

#[test]
fn division_and_remainder() {
    // By zero the hardware gives all ones, and the dividend as remainder; the ISA leaves it open.
    table("div", 2, &kinds(&WIDTHS), |v, _| {
        if v[1] == 0 { -1 } else { v[0] / v[1] }
    });
    table("rem", 2, &kinds(&WIDTHS), |v, _| {
        if v[1] == 0 { v[0] } else { v[0] % v[1] }
    });
}

#[test]
fn magnitudes_and_order() {
    let signed: Vec<Kind> = WIDTHS.iter().map(|bits| S(*bits)).collect();
    table("abs", 1, &signed, |v, _| v[0].abs());
    table("neg", 1, &signed, |v, _| -v[0]);
    table("sad", 3, &kinds(&WIDTHS), |v, _| (v[0] - v[1]).abs() + v[2]);
    table("min", 2, &kinds(&WIDTHS), |v, _| v[0].min(v[1]));
    table("max", 2, &kinds(&WIDTHS), |v, _| v[0].max(v[1]));
    table("min.relu", 2, &[S(32)], |v, _| v[0].min(v[1]).max(0));
    table("max.relu", 2, &[S(32)], |v, _| v[0].max(v[1]).max(0));
    for (word, kind) in [("u16x2", U(16)), ("s16x2", S(16))] {
        for (op, least) in [("min", true), ("max", false)] {
            for relu in [false, true] {
                if relu && word == "u16x2" {
                    continue;
                }
                let modifier = if relu { ".relu" } else { "" };
                let code = format!("{op}{modifier}.{word} d, a, b;");
                check(&code, &[B(32); 2], B(32), |row| {
                    let half = |shift: u32| {
                        let x = number(row[0] >> shift & 0xFFFF, kind);
                        let y = number(row[1] >> shift & 0xFFFF, kind);
                        let picked = if least { x.min(y) } else { x.max(y) };
                        low(if relu { picked.max(0) } else { picked }, 16)
                    };
                    half(0) | half(16) << 16
                });
            }
        }
    }
}

/// Bits of a value from the lowest on.
fn bits_of(value: u64, bits: u32) -> Vec<bool> {
    (0..bits).map(|at| value >> at & 1 == 1).collect()
}

fn from_bits(bits: impl IntoIterator<Item = bool>) -> u64 {
    bits.into_iter()
        .enumerate()
        .fold(0, |value, (at, bit)| value | u64::from(bit) << at)
}

#[test]
fn counting_and_finding() {
    for bits in [32, 64] {
        let kind = B(bits);
        check(&format!("popc.b{bits} d, a;"), &[kind], U(32), |row| {
            bits_of(row[0], bits).iter().filter(|bit| **bit).count() as u64
        });
        check(&format!("clz.b{bits} d, a;"), &[kind], U(32), |row| {
            bits_of(row[0], bits)
                .iter()
                .rev()
                .take_while(|bit| !**bit)
                .count() as u64
        });
        check(&format!("brev.b{bits} d, a;"), &[kind], kind, |row| {
            from_bits(bits_of(row[0], bits).into_iter().rev())
        });
        for kind in [U(bits), S(bits)] {
            for shift in [false, true] {
                let word = if shift { ".shiftamt" } else { "" };
                let code = format!("bfind{word}.{} d, a;", kind.word());
                check(&code, &[kind], U(32), |row| {
                    let sign = matches!(kind, S(_)) && row[0] >> (bits - 1) & 1 == 1;
                    let found = bits_of(row[0], bits).iter().rposition(|bit| *bit != sign);
                    match found {
                        None => 0xFFFF_FFFF,
                        Some(at) if shift => u64::from(bits) - 1 - at as u64,
                        Some(at) => at as u64,
                    }
                });
            }
        }
    }
}

/// The n-th set bit from a base on, up or down, found by walking.
#[test]
fn nth_set_bits() {
    let walk = |mask: u64, base: i64, offset: i64| {
        let step = if offset < 0 { -1 } else { 1 };
        let mut left = offset.abs() - 1;
        let mut at = base;
        if offset == 0 {
            return if mask >> base & 1 == 1 {
                base as u64
            } else {
                0xFFFF_FFFF
            };
        }
        while (0..32).contains(&at) {
            if mask >> at & 1 == 1 {
                if left == 0 {
                    return at as u64;
                }
                left -= 1;
            }
            at += step;
        }
        0xFFFF_FFFF
    };
    let mut rows = Vec::new();
    let mut random = crate::harness::Random(7);
    for mask in [0u64, 1, 0x8000_0000, 0xFFFF_FFFF, 0xAAAA_AAAA, 0x0001_8000] {
        for base in 0..32 {
            for offset in -34..=34i64 {
                rows.push(vec![mask, base, offset as u64 & 0xFFFF_FFFF]);
            }
        }
    }
    for _ in 0..4000 {
        let mask = random.next() & 0xFFFF_FFFF;
        let offset = (random.next() % 21) as i64 - 10;
        rows.push(vec![mask, random.next() % 32, offset as u64 & 0xFFFF_FFFF]);
    }
    rows.push(vec![0xFFFF_FFFF, 0, 0x8000_0000]);
    crate::harness::check_rows(
        "fns.b32 d, a, b, c;",
        &[B(32), U(32), S(32)],
        B(32),
        &rows,
        |row| walk(row[0], row[1] as i64, i64::from(row[2] as u32 as i32)),
    );
}

#[test]
fn extraction_and_insertion() {
    for bits in [32u32, 64] {
        for kind in [U(bits), S(bits)] {
            let code = format!("bfe.{} d, a, b, c;", kind.word());
            check(&code, &[kind, U(32), U(32)], kind, |row| {
                let (position, length) = ((row[1] & 0xFF) as u32, (row[2] & 0xFF) as u32);
                if length == 0 {
                    return 0;
                }
                let value = number(row[0], kind);
                // Of an infinitely extended value; what lies above the field repeats its top bit, or the value's.
                let top = (position + length - 1).min(bits - 1);
                let sign = matches!(kind, S(_)) && value >> top & 1 == 1;
                from_bits((0..bits).map(|at| {
                    let from = position + at;
                    if at < length && from < bits {
                        value >> from & 1 == 1
                    } else {
                        sign
                    }
                }))
            });
        }
        let code = format!("bfi.b{bits} d, a, b, c, e;");
        check(&code, &[B(bits), B(bits), U(32), U(32)], B(bits), |row| {
            let (position, length) = ((row[2] & 0xFF) as u32, (row[3] & 0xFF) as u32);
            from_bits((0..bits).map(|at| {
                if (position..position + length).contains(&at) {
                    row[0] >> (at - position) & 1 == 1
                } else {
                    row[1] >> at & 1 == 1
                }
            }))
        });
    }
}

#[test]
fn extension_and_masks() {
    for kind in [U(32), S(32)] {
        for mode in ["clamp", "wrap"] {
            let code = format!("szext.{mode}.{} d, a, b;", kind.word());
            check(&code, &[kind, U(32)], kind, |row| {
                let width = match mode {
                    "clamp" => row[1].min(32),
                    _ => row[1] % 32,
                } as u32;
                if width == 0 {
                    return 0;
                }
                let of_width = if kind == S(32) { S(width) } else { U(width) };
                low(number(row[0] & mask(width), of_width), 32)
            });
        }
    }
    for mode in ["clamp", "wrap"] {
        check(
            &format!("bmsk.{mode}.b32 d, a, b;"),
            &[U(32); 2],
            B(32),
            |row| {
                let limit = |value: u64| {
                    if mode == "clamp" {
                        value.min(32)
                    } else {
                        value % 32
                    }
                };
                let (start, width) = (limit(row[0]), limit(row[1]));
                from_bits((0..32).map(|at| (start..start + width).contains(&at)))
            },
        );
    }
}

#[test]
fn dot_products() {
    let bytes =
        |value: u64, kind: Kind| (0..4).map(move |at| number(value >> (8 * at) & 0xFF, kind));
    let halves =
        |value: u64, kind: Kind| (0..2).map(move |at| number(value >> (16 * at) & 0xFFFF, kind));
    for (a_word, a8, a16) in [("u32", U(8), U(16)), ("s32", S(8), S(16))] {
        for (b_word, b8) in [("u32", U(8)), ("s32", S(8))] {
            check(
                &format!("dp4a.{a_word}.{b_word} d, a, b, c;"),
                &[B(32); 3],
                B(32),
                |row| {
                    let products = bytes(row[0], a8).zip(bytes(row[1], b8)).map(|(x, y)| x * y);
                    low(products.sum::<i128>() + i128::from(row[2]), 32)
                },
            );
            for (half, skipped) in [("lo", 0), ("hi", 2)] {
                let code = format!("dp2a.{half}.{a_word}.{b_word} d, a, b, c;");
                check(&code, &[B(32); 3], B(32), |row| {
                    let products = halves(row[0], a16).zip(bytes(row[1], b8).skip(skipped));
                    low(
                        products.map(|(x, y)| x * y).sum::<i128>() + i128::from(row[2]),
                        32,
                    )
                });
            }
        }
    }
}

#[test]
fn logic() {
    for bits in WIDTHS {
        let kind = B(bits);
        check(&format!("and.b{bits} d, a, b;"), &[kind; 2], kind, |row| {
            row[0] & row[1]
        });
        check(&format!("or.b{bits} d, a, b;"), &[kind; 2], kind, |row| {
            row[0] | row[1]
        });
        check(&format!("xor.b{bits} d, a, b;"), &[kind; 2], kind, |row| {
            row[0] ^ row[1]
        });
        check(&format!("not.b{bits} d, a;"), &[kind], kind, |row| {
            !row[0] & mask(bits)
        });
        check(&format!("cnot.b{bits} d, a;"), &[kind], kind, |row| {
            u64::from(row[0] == 0)
        });
    }
    for (op, f) in [
        ("and", (|x, y| x & y) as fn(u64, u64) -> u64),
        ("or", |x, y| x | y),
        ("xor", |x, y| x ^ y),
    ] {
        check(&format!("{op}.pred d, a, b;"), &[Pred; 2], Pred, |row| {
            f(row[0], row[1])
        });
    }
    check("not.pred d, a;", &[Pred], Pred, |row| 1 - row[0]);
}

/// Every table of `lop3`, and its predicate result.
#[test]
fn three_input_logic() {
    let lookup = |row: &[u64], table: u64| {
        from_bits((0..32).map(|at| {
            let bit = |value: u64| value >> at & 1;
            table >> (bit(row[0]) * 4 + bit(row[1]) * 2 + bit(row[2])) & 1 == 1
        }))
    };
    let rows = crate::harness::rows(&[B(32); 3]);
    for table in 0..256u64 {
        let start = table as usize * 37 % (rows.len() - 600);
        let some = &rows[start..start + 600];
        let code = format!("lop3.b32 d, a, b, c, {table:#x};");
        crate::harness::check_rows(&code, &[B(32); 3], B(32), some, |row| lookup(row, table));
    }
    for (word, and) in [("and", true), ("or", false)] {
        let code = format!("lop3.{word}.b32 w1|d, a, b, c, 0x80, !e;");
        check(&code, &[B(32), B(32), B(32), Pred], Pred, |row| {
            let any = lookup(row, 0x80) != 0;
            let third = row[3] == 0;
            u64::from(if and { any && third } else { any || third })
        });
        let code = format!("lop3.{word}.b32 _|d, a, b, c, 0x96, e;");
        check(&code, &[B(32), B(32), B(32), Pred], Pred, |row| {
            let any = lookup(row, 0x96) != 0;
            u64::from(if and {
                any && row[3] == 1
            } else {
                any || row[3] == 1
            })
        });
    }
}

#[test]
fn shifts() {
    for bits in WIDTHS {
        let count = |row: &[u64]| row[1].min(u64::from(bits)) as u32;
        let wide = |row: &[u64], kind: Kind| number(row[0], kind);
        check(
            &format!("shl.b{bits} d, a, b;"),
            &[B(bits), U(32)],
            B(bits),
            |row| low(((row[0] as u128) << count(row)) as i128, bits),
        );
        for kind in [B(bits), U(bits), S(bits)] {
            let code = format!("shr.{} d, a, b;", kind.word());
            check(&code, &[kind, U(32)], kind, |row| {
                low(wide(row, kind) >> count(row), bits)
            });
        }
    }
    for (direction, left) in [("l", true), ("r", false)] {
        for (mode, wraps) in [("wrap", true), ("clamp", false)] {
            let code = format!("shf.{direction}.{mode}.b32 d, a, b, c;");
            check(&code, &[B(32), B(32), U(32)], B(32), |row| {
                let both = u128::from(row[1]) << 32 | u128::from(row[0]);
                let count = if wraps { row[2] % 32 } else { row[2].min(32) };
                let shifted = if left {
                    (both << count) >> 32
                } else {
                    both >> count
                };
                shifted as u64 & mask(32)
            });
        }
    }
}

#[test]
fn permutation() {
    let pick = |row: &[u64], nibbles: [u64; 4]| {
        let bytes: Vec<u64> = [row[0], row[1]]
            .iter()
            .flat_map(|word| (0..4).map(move |at| word >> (8 * at) & 0xFF))
            .collect();
        nibbles.iter().enumerate().fold(0, |word, (at, nibble)| {
            let byte = bytes[(nibble & 7) as usize];
            let picked = match (nibble & 8, byte & 0x80) {
                (0, _) => byte,
                (_, 0) => 0,
                _ => 0xFF,
            };
            word | picked << (8 * at)
        })
    };
    let kinds = [B(32), B(32), B(32)];
    check("prmt.b32 d, a, b, c;", &kinds, B(32), |row| {
        pick(row, std::array::from_fn(|at| row[2] >> (4 * at) & 15))
    });
    // From the tables of the ISA, the lowest byte first, for selectors 0 to 3.
    let modes: [(&str, [[u64; 4]; 4]); 6] = [
        (
            "f4e",
            [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
        ),
        (
            "b4e",
            [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
        ),
        ("rc8", [[0; 4], [1; 4], [2; 4], [3; 4]]),
        (
            "ecl",
            [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
        ),
        (
            "ecr",
            [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
        ),
        (
            "rc16",
            [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
        ),
    ];
    for (mode, table) in modes {
        check(
            &format!("prmt.b32.{mode} d, a, b, c;"),
            &kinds,
            B(32),
            |row| pick(row, table[(row[2] & 3) as usize]),
        );
    }
}
