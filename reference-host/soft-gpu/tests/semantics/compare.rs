//! Comparison, selection and moves of integers.

use crate::bits::BITWISE;
use crate::harness::{Snippet, check, mask, number, rows, signed};

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
