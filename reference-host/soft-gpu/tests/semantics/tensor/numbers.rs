//! `mma`: the oldest shape, any numbers, and lanes that have parted.

use super::layout::{a_at, b_at, sum_at};
use super::mma::run;
use super::values::{encode, factor, packed, product, times, unpacked};
use crate::harness::{Kernel, Random};

/// The oldest shape: four products of eight lanes each.
#[test]
fn products_of_quad_pairs() {
    for (a_layout, b_layout) in [
        ("row", "row"),
        ("row", "col"),
        ("col", "row"),
        ("col", "col"),
    ] {
        for (d, c) in [("f32", "f32"), ("f16", "f16"), ("f32", "f16")] {
            let mut random = Random(11);
            let mut fill = |count: usize| -> Vec<i32> {
                (0..count).map(|_| factor("f16", &mut random)).collect()
            };
            let products: Vec<[Vec<i32>; 3]> =
                (0..4).map(|_| [fill(32), fill(32), fill(64)]).collect();
            // Quad pair q: lanes 4q to 4q + 3 and 16 + 4q to 16 + 4q + 3.
            let pair = |lane: usize| if lane < 16 { lane / 4 } else { (lane - 16) / 4 };
            let shifted = |lane: usize| if lane < 16 { lane % 4 } else { lane % 4 + 4 };
            let sum_position = |format: &str, lane: usize, i: usize| match format {
                "f16" => (shifted(lane), i),
                _ => {
                    let x = (lane & 1) + (i & 2);
                    (
                        if lane < 16 { x } else { x + 4 },
                        (i & 4) + (lane & 2) + (i & 1),
                    )
                }
            };
            let rows: Vec<Vec<u32>> = (0..32)
                .map(|lane| {
                    let [a, b, z] = &products[pair(lane)];
                    let of_a: Vec<u64> = (0..4)
                        .map(|i| {
                            let (row, column) = if a_layout == "row" {
                                (shifted(lane), i)
                            } else {
                                (if lane < 16 { i } else { i + 4 }, lane % 4)
                            };
                            encode("f16", a[row * 4 + column])
                        })
                        .collect();
                    let of_b: Vec<u64> = (0..4)
                        .map(|i| {
                            let (row, column) = if b_layout == "row" {
                                (lane % 4, if lane < 16 { i } else { i + 4 })
                            } else {
                                (i, shifted(lane))
                            };
                            encode("f16", b[row * 8 + column])
                        })
                        .collect();
                    let of_c: Vec<u64> = (0..8)
                        .map(|i| {
                            let (row, column) = sum_position(c, lane, i);
                            encode(c, z[row * 8 + column])
                        })
                        .collect();
                    [packed("f16", &of_a), packed("f16", &of_b), packed(c, &of_c)].concat()
                })
                .collect();
            let registers = |format: &str| if format == "f16" { 4 } else { 8 };
            let instruction =
                format!("mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d}.f16.f16.{c}");
            let found = run(
                &instruction,
                [d, "f16", "f16", c],
                [registers(d), 2, 2, registers(c)],
                &rows,
            );
            for (lane, words) in found.iter().enumerate() {
                let [a, b, z] = &products[pair(lane)];
                let expected = product(8, 8, 4, a, b, z, times);
                for (i, value) in unpacked(d, words).into_iter().enumerate() {
                    let (row, column) = sum_position(d, lane, i);
                    assert_eq!(
                        value,
                        encode(d, expected[row * 8 + column] as i32),
                        "{instruction}: lane {lane}, element {i}"
                    );
                }
            }
        }
    }
}

/// Sums of doubles are rounded step by step, in the direction asked for: 1 and 2^-60, with and without a sign.
#[test]
fn products_of_doubles_are_rounded_as_asked() {
    for (rounding, up, down) in [
        ("rn", 1.0, -1.0),
        ("rz", 1.0, -1.0f64),
        ("rp", 1.0f64.next_up(), -1.0),
        ("rm", 1.0, (-1.0f64).next_down()),
    ] {
        // Only the first column of `a` and the first row of `b` are not zero, so that there is one step.
        let rows: Vec<Vec<u32>> = (0..32)
            .map(|lane| {
                let (row, column) = a_at(8, 4, 64, lane, 0);
                let sign = if row < 4 { 1.0 } else { -1.0 };
                let of_a = if column == 0 {
                    sign * 2f64.powi(-60)
                } else {
                    0.0
                };
                let of_b = if b_at(4, 64, lane, 0).0 == 0 {
                    1.0f64
                } else {
                    0.0
                };
                let elements = [of_a, of_b, sign, sign].map(f64::to_bits);
                packed("f64", &elements)
            })
            .collect();
        let instruction = format!("mma.sync.aligned.m8n8k4.row.col.{rounding}.f64.f64.f64.f64");
        for (lane, words) in run(&instruction, ["f64"; 4], [2, 1, 1, 2], &rows)
            .iter()
            .enumerate()
        {
            let expected = if lane / 4 < 4 { up } else { down };
            assert_eq!(
                unpacked("f64", words),
                [expected.to_bits(); 2],
                "{rounding}, lane {lane}"
            );
        }
    }
}

/// Sums of any numbers are within the error of a sum in single precision.
#[test]
fn products_are_as_good_as_single_precision() {
    let mut random = Random(5);
    let mut half = || random.next() as u32 & 0x87FF | 0x3000;
    let a: Vec<u32> = (0..256).map(|_| half()).collect();
    let b: Vec<u32> = (0..128).map(|_| half()).collect();
    let rows: Vec<Vec<u32>> = (0..32)
        .map(|lane| {
            let of_a: Vec<u64> = (0..8)
                .map(|i| a_at(16, 16, 16, lane, i))
                .map(|(row, column)| u64::from(a[row * 16 + column]))
                .collect();
            let of_b: Vec<u64> = (0..4)
                .map(|i| b_at(16, 16, lane, i))
                .map(|(row, column)| u64::from(b[row * 8 + column]))
                .collect();
            let of_c = [0.1f32, -7.25, 1e-3, 3e4].map(f32::to_bits);
            [packed("f16", &of_a), packed("f16", &of_b), of_c.to_vec()].concat()
        })
        .collect();
    let found = run(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ["f32", "f16", "f16", "f32"],
        [4, 4, 2, 4],
        &rows,
    );
    let value = |bits: u32| -> f64 {
        let fraction = f64::from(bits & 0x3FF) / 1024.0 + 1.0;
        let magnitude = fraction * 2f64.powi((bits >> 10 & 31) as i32 - 15);
        if bits & 0x8000 == 0 {
            magnitude
        } else {
            -magnitude
        }
    };
    for (lane, words) in found.iter().enumerate() {
        for (i, word) in words.iter().enumerate() {
            let (row, column) = sum_at(lane, i);
            let addend = f64::from([0.1f32, -7.25, 1e-3, 3e4][i]);
            let terms: Vec<f64> = (0..16)
                .map(|at| value(a[row * 16 + at]) * value(b[at * 8 + column]))
                .collect();
            let exact = terms.iter().sum::<f64>() + addend;
            let size = terms.iter().map(|term| term.abs()).sum::<f64>() + addend.abs();
            let error = (f64::from(f32::from_bits(*word)) - exact).abs();
            assert!(
                error <= size * 17.0 * f64::from(f32::EPSILON),
                "row {row}, column {column}: off by {error}"
            );
        }
    }
}

#[test]
fn infinities_and_nans_go_through_products() {
    // Row 0 of `a` is infinite, column 1 of `b` is zero and column 2 negative; all else is one.
    let rows: Vec<Vec<u32>> = (0..32)
        .map(|lane| {
            let of_a: Vec<u64> = (0..4)
                .map(|i| a_at(16, 8, 16, lane, i))
                .map(|(row, _)| if row == 0 { 0x7C00 } else { 0x3C00 })
                .collect();
            let of_b: Vec<u64> = (0..2)
                .map(|i| b_at(8, 16, lane, i))
                .map(|(_, column)| match column {
                    1 => 0,
                    2 => 0xBC00,
                    _ => 0x3C00,
                })
                .collect();
            [packed("f16", &of_a), packed("f16", &of_b), vec![0; 4]].concat()
        })
        .collect();
    let found = run(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        ["f32", "f16", "f16", "f32"],
        [4, 2, 1, 4],
        &rows,
    );
    for (lane, words) in found.iter().enumerate() {
        for (i, word) in words.iter().enumerate() {
            let expected = match sum_at(lane, i) {
                (0, 1) => 0x7FFF_FFFF,
                (0, 2) => 0xFF80_0000,
                (0, _) => 0x7F80_0000,
                (_, 1) => 0,
                (_, 2) => (-8f32).to_bits(),
                _ => 8f32.to_bits(),
            };
            assert_eq!(*word, expected, "{:?}", sum_at(lane, i));
        }
    }
}

/// Lanes of a warp that come by different ways multiply together.
#[test]
fn a_product_waits_for_diverged_lanes() {
    let mut kernel = Kernel::new(
        "",
        "mov.u32 %r1, 0x3C003C00; setp.lt.u32 %p1, %t, 11; @%p1 bra FEW; mov.u32 %r2, 0x3C003C00; bra MEET;\n\
         FEW: mov.u32 %r2, 0x3C003C00; add.u32 %r2, %r2, 0; MEET:\n\
         mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1}, {%r2}, {0f3F800000, 0f00000000, 0f40000000, 0fBF800000};\n\
         add.f32 %f1, %f1, %f2; mul.f32 %f3, %f3, %f4; add.f32 %f1, %f1, %f3; cvt.rzi.u32.f32 %r3, %f1; st.global.u32 [%mine], %r3;",
    )
    .block(32);
    assert_eq!(kernel.run(32), [9 + 8 + 10 * 7; 32]);
}
