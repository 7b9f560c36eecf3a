//! Matrix instructions against plain products. The fragments are written down here once more, element by element as the PTX ISA's text has
//! them; factors are small integers, whose sums are exact in any order.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Half};
use soft_gpu::FaultKind;

use crate::harness::{Kernel, Random};

/// Where element `i` of a lane's fragment of factor `a` stands.
fn a_at(m: usize, k: usize, bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    match (m, k, bits) {
        (8, 4, 64) => (group, t),
        (16, 4, 64 | 32) => (if i == 0 { group } else { group + 8 }, t),
        (16, 8, 64 | 32) => (
            if i == 0 || i == 2 { group } else { group + 8 },
            if i < 2 { t } else { t + 4 },
        ),
        (16, 16, 64) => (
            if i.is_multiple_of(2) {
                group
            } else {
                group + 8
            },
            t + i / 2 * 4,
        ),
        (16, 8, 16) => (if i < 2 { group } else { group + 8 }, t * 2 + (i & 1)),
        (16, 16, 16) => (
            if i < 2 || (4..6).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 4 {
                t * 2 + (i & 1)
            } else {
                t * 2 + (i & 1) + 8
            },
        ),
        (8, 16, 8) => (group, t * 4 + i),
        (16, 16, 8) => (if i < 4 { group } else { group + 8 }, t * 4 + (i & 3)),
        (16, 32, 8) => (
            if i < 4 || (8..12).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 8 {
                t * 4 + (i & 3)
            } else {
                t * 4 + (i & 3) + 16
            },
        ),
        (8, 32, 4) => (group, t * 8 + i),
        (16, 32, 4) => (if i < 8 { group } else { group + 8 }, t * 8 + (i & 7)),
        (16, 64, 4) => (
            if i < 8 || (16..24).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 16 {
                t * 8 + (i & 7)
            } else {
                t * 8 + (i & 7) + 32
            },
        ),
        (8, 128, 1) => (group, t * 32 + i),
        (16, 128, 1) => (if i < 32 { group } else { group + 8 }, t * 32 + (i & 31)),
        (16, 256, 1) => (
            if i < 32 || (64..96).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 64 {
                t * 32 + (i & 31)
            } else {
                t * 32 + (i & 31) + 128
            },
        ),
        other => panic!("no fragment for {other:?}"),
    }
}

/// The same for factor `b`.
fn b_at(k: usize, bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    let row = match (k, bits) {
        (4, 64 | 32) => t,
        (8, 64 | 32) | (16, 64) => t + i * 4,
        (8, 16) => t * 2 + i,
        (16, 16) => {
            if i < 2 {
                t * 2 + (i & 1)
            } else {
                t * 2 + (i & 1) + 8
            }
        }
        (16, 8) => t * 4 + i,
        (32, 8) => {
            if i < 4 {
                t * 4 + (i & 3)
            } else {
                t * 4 + (i & 3) + 16
            }
        }
        (32, 4) => t * 8 + i,
        (64, 4) => {
            if i < 8 {
                t * 8 + (i & 7)
            } else {
                t * 8 + (i & 7) + 32
            }
        }
        (128, 1) => t * 32 + i,
        (256, 1) => {
            if i < 32 {
                t * 32 + i
            } else {
                t * 32 + (i & 31) + 128
            }
        }
        other => panic!("no fragment for {other:?}"),
    };
    (row, group)
}

/// The same for sums.
fn sum_at(lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, t * 2 + (i & 1))
}

fn bits_of(format: &str) -> usize {
    match format {
        "f64" => 64,
        "tf32" | "f32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        "b1" => 1,
        _ => 8,
    }
}

/// A small integer in a format.
fn encode(format: &str, value: i32) -> u64 {
    match format {
        "f64" => f64::from(value).to_bits(),
        "f32" => u64::from((value as f32).to_bits()),
        // The bits that do not count are set, to show that they do not.
        "tf32" => u64::from((value as f32).to_bits() | 0x1FFF),
        "bf16" => u64::from((value as f32).to_bits() >> 16),
        "f16" => Half::from_i128(value.into()).value.to_bits() as u64,
        "e4m3" => Float8E4M3FN::from_i128(value.into()).value.to_bits() as u64,
        "e5m2" => Float8E5M2::from_i128(value.into()).value.to_bits() as u64,
        "s32" => u64::from(value.cast_unsigned()),
        _ => u64::from(value.cast_unsigned()) & (u64::MAX >> (64 - bits_of(format))),
    }
}

/// A factor that the format holds exactly.
fn factor(format: &str, random: &mut Random) -> i32 {
    let value = random.next();
    match format {
        "b1" => (value & 1) as i32,
        "u4" => (value & 15) as i32,
        "s4" => (value & 15) as i32 - 8,
        "u8" => (value & 255) as i32,
        "s8" => (value & 255) as i32 - 128,
        "e5m2" => (value % 9) as i32 - 4,
        _ => (value % 17) as i32 - 8,
    }
}

/// Registers of a fragment: elements packed, the first lowest. Those of 64 bits are two words here.
fn packed(format: &str, elements: &[u64]) -> Vec<u32> {
    let bits = bits_of(format);
    if bits == 64 {
        return elements
            .iter()
            .flat_map(|value| [*value as u32, (*value >> 32) as u32])
            .collect();
    }
    elements
        .chunks(32 / bits)
        .map(|chunk| {
            chunk
                .iter()
                .enumerate()
                .fold(0, |word, (at, value)| word | (*value as u32) << (at * bits))
        })
        .collect()
}

fn unpacked(format: &str, words: &[u32]) -> Vec<u64> {
    match bits_of(format) {
        64 => words
            .chunks(2)
            .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
            .collect(),
        16 => words
            .iter()
            .flat_map(|word| [u64::from(word & 0xFFFF), u64::from(word >> 16)])
            .collect(),
        _ => words.iter().map(|word| u64::from(*word)).collect(),
    }
}

/// Runs one matrix instruction in a warp whose lanes hold `rows` in the registers of its sources, and gives what each has then in those of its result.
fn run(
    instruction: &str,
    formats: [&str; 4],
    counts: [usize; 4],
    rows: &[Vec<u32>],
) -> Vec<Vec<u32>> {
    let [nd, na, nb, nc] = counts;
    let stride = rows[0].len();
    let wide = formats[1] == "f64";
    let (register, bits, scale) = if wide { ("%w", 64, 8) } else { ("%v", 32, 4) };
    let mut code = format!(
        ".reg .b32 %v<64>; .reg .b64 %w<64>; mad.wide.u32 %u1, %t, {}, %data;\n",
        stride * 4
    );
    let list = |first: usize, count: usize| {
        let names: Vec<String> = (first..first + count)
            .map(|at| format!("{register}{at}"))
            .collect();
        format!("{{{}}}", names.join(", "))
    };
    for at in 0..na + nb + nc {
        code.push_str(&format!(
            "ld.global.b{bits} {register}{at}, [%u1+{}];\n",
            at * scale
        ));
    }
    code.push_str(&format!(
        "{instruction} {}, {}, {}, {};\n",
        list(40, nd),
        list(0, na),
        list(na, nb),
        list(na + nb, nc)
    ));
    for at in 0..nd {
        code.push_str(&format!(
            "st.global.b{bits} [%u1+{}], {register}{};\n",
            at * scale,
            40 + at
        ));
    }
    let data: Vec<u32> = rows.iter().flatten().copied().collect();
    let found = Kernel::new("", &code).block(32).run_on(&data);
    found
        .chunks(stride)
        .map(|row| row[..nd * scale / 4].to_vec())
        .collect()
}

/// `d = a * b + c` in whole numbers.
fn product(
    m: usize,
    n: usize,
    k: usize,
    a: &[i32],
    b: &[i32],
    c: &[i32],
    times: impl Fn(i32, i32) -> i32,
) -> Vec<i64> {
    (0..m * n)
        .map(|at| {
            let (row, column) = (at / n, at % n);
            let sum: i64 = (0..k)
                .map(|i| i64::from(times(a[row * k + i], b[i * n + column])))
                .sum();
            sum + i64::from(c[at])
        })
        .collect()
}

/// Checks a shape of `mma` with random factors.
#[track_caller]
fn check(
    instruction: &str,
    [m, n, k]: [usize; 3],
    [d, a, b, c]: [&str; 4],
    addend: impl Fn(&mut Random) -> i32,
    result: impl Fn(i64) -> i64,
    times: impl Fn(i32, i32) -> i32 + Copy,
) {
    let mut random = Random((m * k) as u64 + instruction.len() as u64);
    let fill = |count: usize, random: &mut Random, f: &dyn Fn(&mut Random) -> i32| {
        (0..count).map(|_| f(random)).collect::<Vec<i32>>()
    };
    let xs = fill(m * k, &mut random, &|random| factor(a, random));
    let ys = fill(k * n, &mut random, &|random| factor(b, random));
    let zs = fill(m * n, &mut random, &addend);
    let per_lane = |count: usize| count / 32;
    let rows: Vec<Vec<u32>> = (0..32)
        .map(|lane| {
            let of_a: Vec<u64> = (0..per_lane(m * k))
                .map(|i| {
                    let (row, column) = a_at(m, k, bits_of(a), lane, i);
                    encode(a, xs[row * k + column])
                })
                .collect();
            let of_b: Vec<u64> = (0..per_lane(k * n))
                .map(|i| {
                    let (row, column) = b_at(k, bits_of(b), lane, i);
                    encode(b, ys[row * n + column])
                })
                .collect();
            let of_c: Vec<u64> = (0..per_lane(m * n))
                .map(|i| {
                    let (row, column) = sum_at(lane, i);
                    encode(c, zs[row * n + column])
                })
                .collect();
            [packed(a, &of_a), packed(b, &of_b), packed(c, &of_c)].concat()
        })
        .collect();
    let registers = |format: &str, count: usize| {
        (per_lane(count) * bits_of(format)).div_ceil(if bits_of(format) == 64 { 64 } else { 32 })
    };
    let counts = [
        registers(d, m * n),
        registers(a, m * k),
        registers(b, k * n),
        registers(c, m * n),
    ];
    let found = run(instruction, [d, a, b, c], counts, &rows);
    let expected = product(m, n, k, &xs, &ys, &zs, times);
    for (lane, words) in found.iter().enumerate() {
        for (i, value) in unpacked(d, words).into_iter().enumerate() {
            let (row, column) = sum_at(lane, i);
            let expected = result(expected[row * n + column]);
            let expected = encode(d, i32::try_from(expected).expect("32 bits"));
            assert_eq!(value, expected, "{instruction}: row {row}, column {column}");
        }
    }
}

fn small(random: &mut Random) -> i32 {
    (random.next() % 65) as i32 - 32
}

fn times(a: i32, b: i32) -> i32 {
    a * b
}

#[test]
fn products_of_floats() {
    for (shape, size) in [("m16n8k8", [16, 8, 8]), ("m16n8k16", [16, 8, 16])] {
        for (d, a) in [("f32", "f16"), ("f16", "f16"), ("f32", "bf16")] {
            check(
                &format!("mma.sync.aligned.{shape}.row.col.{d}.{a}.{a}.{d}"),
                size,
                [d, a, a, d],
                small,
                |sum| sum,
                times,
            );
        }
    }
    for (shape, size) in [("m16n8k4", [16, 8, 4]), ("m16n8k8", [16, 8, 8])] {
        check(
            &format!("mma.sync.aligned.{shape}.row.col.f32.tf32.tf32.f32"),
            size,
            ["f32", "tf32", "tf32", "f32"],
            small,
            |sum| sum,
            |a, b| {
                // Set bits that do not count may not show in the product.
                a * b
            },
        );
    }
    for (shape, size) in [("m16n8k16", [16, 8, 16]), ("m16n8k32", [16, 8, 32])] {
        for (a, b) in [("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2")] {
            for d in ["f32", "f16"] {
                check(
                    &format!("mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d}"),
                    size,
                    [d, a, b, d],
                    small,
                    |sum| sum,
                    times,
                );
            }
        }
    }
}

#[test]
fn products_of_doubles() {
    for (shape, size) in [
        ("m8n8k4", [8, 8, 4]),
        ("m16n8k4", [16, 8, 4]),
        ("m16n8k8", [16, 8, 8]),
        ("m16n8k16", [16, 8, 16]),
    ] {
        for rounding in ["", ".rn"] {
            check(
                &format!("mma.sync.aligned.{shape}.row.col{rounding}.f64.f64.f64.f64"),
                size,
                ["f64"; 4],
                small,
                |sum| sum,
                times,
            );
        }
    }
}

#[test]
fn products_of_integers() {
    let large = |random: &mut Random| random.next() as i32;
    let near = |random: &mut Random| {
        let offset = (random.next() % 20_000) as i32;
        if random.next().is_multiple_of(2) {
            i32::MAX - offset
        } else {
            i32::MIN + offset
        }
    };
    let wrapped = |sum: i64| i64::from(sum as i32);
    let clamped = |sum: i64| sum.clamp(i32::MIN.into(), i32::MAX.into());
    for (shape, size) in [
        ("m8n8k16", [8, 8, 16]),
        ("m16n8k16", [16, 8, 16]),
        ("m16n8k32", [16, 8, 32]),
    ] {
        for (a, b) in [("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")] {
            let formats = ["s32", a, b, "s32"];
            check(
                &format!("mma.sync.aligned.{shape}.row.col.s32.{a}.{b}.s32"),
                size,
                formats,
                large,
                wrapped,
                times,
            );
            check(
                &format!("mma.sync.aligned.{shape}.row.col.s32.{a}.{b}.s32"),
                size,
                formats,
                near,
                wrapped,
                times,
            );
            check(
                &format!("mma.sync.aligned.{shape}.row.col.satfinite.s32.{a}.{b}.s32"),
                size,
                formats,
                near,
                clamped,
                times,
            );
        }
    }
    for (shape, size) in [
        ("m8n8k32", [8, 8, 32]),
        ("m16n8k32", [16, 8, 32]),
        ("m16n8k64", [16, 8, 64]),
    ] {
        for (a, b) in [("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4")] {
            let formats = ["s32", a, b, "s32"];
            check(
                &format!("mma.sync.aligned.{shape}.row.col.s32.{a}.{b}.s32"),
                size,
                formats,
                large,
                wrapped,
                times,
            );
            check(
                &format!("mma.sync.aligned.{shape}.row.col.satfinite.s32.{a}.{b}.s32"),
                size,
                formats,
                near,
                clamped,
                times,
            );
        }
    }
    for (shape, size) in [
        ("m8n8k128", [8, 8, 128]),
        ("m16n8k128", [16, 8, 128]),
        ("m16n8k256", [16, 8, 256]),
    ] {
        let formats = ["s32", "b1", "b1", "s32"];
        check(
            &format!("mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.xor.popc"),
            size,
            formats,
            large,
            wrapped,
            |a, b| a ^ b,
        );
        check(
            &format!("mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.and.popc"),
            size,
            formats,
            large,
            wrapped,
            |a, b| a & b,
        );
    }
}

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

/// One case of `wmma`: shape, types, and the number of registers of each operand's fragment.
struct Fragments {
    size: [usize; 3],
    factor: &'static str,
    sums: [&'static str; 2],
    registers: [usize; 4],
}

/// Loads both factors and the addend from memory, in every storage order, multiplies and stores.
#[test]
fn fragments_are_loaded_multiplied_and_stored() {
    let mut cases = Vec::new();
    for size in [[16, 16, 16], [8, 32, 16], [32, 8, 16]] {
        for (d, c) in [
            ("f32", "f32"),
            ("f16", "f16"),
            ("f32", "f16"),
            ("f16", "f32"),
        ] {
            let of = |format: &str| if format == "f16" { 4 } else { 8 };
            cases.push(Fragments {
                size,
                factor: "f16",
                sums: [d, c],
                registers: [of(d), 8, 8, of(c)],
            });
        }
        let [m, n, k] = size;
        cases.push(Fragments {
            size,
            factor: "bf16",
            sums: ["f32"; 2],
            registers: [8, m * k / 64, k * n / 64, 8],
        });
        for factor in ["s8", "u8"] {
            cases.push(Fragments {
                size,
                factor,
                sums: ["s32"; 2],
                registers: [8, m * k / 128, k * n / 128, 8],
            });
        }
    }
    cases.push(Fragments {
        size: [16, 16, 8],
        factor: "tf32",
        sums: ["f32"; 2],
        registers: [8, 4, 4, 8],
    });
    cases.push(Fragments {
        size: [8, 8, 4],
        factor: "f64",
        sums: ["f64"; 2],
        registers: [2, 1, 1, 2],
    });
    for case in &cases {
        for (a_layout, b_layout, sum_layout) in [
            ("row", "col", "row"),
            ("col", "row", "col"),
            ("row", "row", "row"),
            ("col", "col", "row"),
        ] {
            for space in ["global", "shared", ""] {
                wmma(case, [a_layout, b_layout, sum_layout], space, "");
            }
        }
    }
    for factor in ["s4", "u4"] {
        let case = Fragments {
            size: [8, 8, 32],
            factor,
            sums: ["s32"; 2],
            registers: [2, 1, 1, 2],
        };
        wmma(&case, ["row", "col", "row"], "global", "");
    }
    let case = Fragments {
        size: [8, 8, 128],
        factor: "b1",
        sums: ["s32"; 2],
        registers: [2, 1, 1, 2],
    };
    wmma(&case, ["row", "col", "row"], "global", ".xor.popc");
    wmma(&case, ["row", "col", "row"], "shared", ".and.popc");
}

/// A matrix in memory: `stride` elements from one row, or column, to the next.
fn in_memory(
    format: &str,
    rows: usize,
    columns: usize,
    layout: &str,
    stride: usize,
    at: impl Fn(usize, usize) -> i32,
) -> Vec<u8> {
    let bits = bits_of(format);
    let lines = if layout == "row" { rows } else { columns };
    let mut bytes = vec![0u8; (lines * stride * bits).div_ceil(8)];
    for row in 0..rows {
        for column in 0..columns {
            let element = if layout == "row" {
                row * stride + column
            } else {
                column * stride + row
            };
            let value = encode(format, at(row, column));
            for bit in 0..bits {
                bytes[(element * bits + bit) / 8] |=
                    ((value >> bit & 1) as u8) << ((element * bits + bit) % 8);
            }
        }
    }
    bytes
}

#[track_caller]
fn wmma(
    case: &Fragments,
    [a_layout, b_layout, sum_layout]: [&str; 3],
    space: &str,
    operation: &str,
) {
    let &Fragments {
        size: [m, n, k],
        factor: format,
        sums: [d, c],
        registers: [nd, na, nb, nc],
    } = case;
    let mut random = Random((m * n + k) as u64);
    let mut fill = |count: usize, f: &dyn Fn(&mut Random) -> i32| {
        (0..count).map(|_| f(&mut random)).collect::<Vec<i32>>()
    };
    let xs = fill(m * k, &|random| factor(format, random));
    let ys = fill(k * n, &|random| factor(format, random));
    let zs = fill(m * n, &small);
    // Rows and columns lie a little apart where elements are whole bytes.
    let gap = if bits_of(format) < 8 {
        32 / bits_of(format)
    } else {
        8
    };
    let stride = |rows: usize, columns: usize, layout: &str| {
        if layout == "row" {
            columns + gap
        } else {
            rows + gap
        }
    };
    let (a_stride, b_stride, sum_stride) = (
        stride(m, k, a_layout),
        stride(k, n, b_layout),
        stride(m, n, sum_layout),
    );
    let mut data = in_memory(format, m, k, a_layout, a_stride, |row, column| {
        xs[row * k + column]
    });
    data.resize(data.len().next_multiple_of(32), 0);
    let b_start = data.len();
    data.extend(in_memory(
        format,
        k,
        n,
        b_layout,
        b_stride,
        |row, column| ys[row * n + column],
    ));
    data.resize(data.len().next_multiple_of(32), 0);
    let c_start = data.len();
    data.extend(in_memory(c, m, n, sum_layout, sum_stride, |row, column| {
        zs[row * n + column]
    }));
    data.resize(data.len().next_multiple_of(32), 0);
    let d_start = data.len();
    data.resize(d_start + sum_stride * m.max(n) * bits_of(d) / 8, 0);
    data.resize(data.len().next_multiple_of(128), 0);
    let total = data.len();

    let wide = format == "f64";
    let (register, single) = if wide { ("%w", "%w") } else { ("%v", "%v") };
    let list = |first: usize, count: usize| {
        let names: Vec<String> = (first..first + count)
            .map(|at| format!("{register}{at}"))
            .collect();
        format!("{{{}}}", names.join(", "))
    };
    let word = if space.is_empty() {
        String::new()
    } else {
        format!(".{space}")
    };
    let shape = format!("m{m}n{n}k{k}");
    let copy = |store: bool| {
        let (from, to) = (
            "ld.global.b32 %r1, [%u1]; st.shared.b32 [%r9], %r1;",
            "ld.shared.b32 %r1, [%r9]; st.global.b32 [%u1], %r1;",
        );
        let label = if store { "BACK" } else { "THERE" };
        format!(
            "mad.wide.u32 %u1, %t, 4, %data; mov.u32 %r9, box; mad.lo.u32 %r9, %t, 4, %r9; mov.u32 %r2, 0;\n\
             {label}: {} add.u32 %r9, %r9, 128; add.u64 %u1, %u1, 128; add.u32 %r2, %r2, 128; setp.lt.u32 %p1, %r2, {total}; @%p1 bra {label};\n",
            if store { to } else { from }
        )
    };
    let (before, base, after) = if space == "shared" {
        (
            copy(false) + "mov.u32 %r9, box; cvt.u64.u32 %u2, %r9;\n",
            "%u2",
            copy(true),
        )
    } else {
        (String::new(), "%data", String::new())
    };
    let types = if format == "f16" {
        format!("{d}.{c}")
    } else {
        format!("{d}.{format}.{format}.{c}")
    };
    let code = format!(
        ".reg .b32 %v<40>; .reg .b64 %w<40>; mov.u32 %r5, {b_stride};\n{before}\
         wmma.load.a.sync.aligned.{a_layout}.{shape}{word}.{format} {}, [{base}], {a_stride};\n\
         wmma.load.b.sync.aligned.{b_layout}.{shape}{word}.{format} {}, [{base}+{b_start}], %r5;\n\
         wmma.load.c.sync.aligned.{sum_layout}.{shape}{word}.{c} {}, [{base}+{c_start}], {sum_stride};\n\
         wmma.mma{operation}.sync.aligned.{a_layout}.{b_layout}.{shape}.{types} {}, {}, {}, {};\n\
         wmma.store.d.sync.aligned.{sum_layout}.{shape}{word}.{d} [{base}+{d_start}], {}, {sum_stride};\n{after}",
        list(0, na),
        list(na, nb),
        list(na + nb, nc),
        list(30, nd),
        list(0, na),
        list(na, nb),
        list(na + nb, nc),
        list(30, nd),
    );
    let _ = single;
    let mut kernel = Kernel::new(".shared .align 32 .b8 box[16384];", &code).block(32);
    let mut found = data.clone();
    if let Err(error) = kernel.try_run(&mut found) {
        panic!("{error}\n{code}");
    }
    let times: fn(i32, i32) -> i32 = match operation {
        ".xor.popc" => |a, b| a ^ b,
        ".and.popc" => |a, b| a & b,
        _ => times,
    };
    let sums = product(m, n, k, &xs, &ys, &zs, times);
    let expected = in_memory(d, m, n, sum_layout, sum_stride, |row, column| {
        sums[row * n + column] as i32
    });
    data[d_start..d_start + expected.len()].copy_from_slice(&expected);
    assert!(
        found == data,
        "{shape}.{types} {a_layout} {b_layout} {sum_layout} {space}"
    );
}

/// Without a stride, rows lie one behind the other.
#[test]
fn matrices_without_gaps_need_no_stride() {
    let mut kernel = Kernel::new(
        "",
        ".reg .b32 %v<8>; wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}, [%data];\n\
         wmma.store.d.sync.aligned.col.m16n16k16.f32 [%data+1024], {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7};",
    )
    .block(32);
    let data: Vec<u32> = (0..512).map(|at| if at < 256 { at } else { 0 }).collect();
    let found = kernel.run_on(&data);
    let transposed: Vec<u32> = (0..256).map(|at| at % 16 * 16 + at / 16).collect();
    assert_eq!(found[256..], transposed);
}

/// Element (row, column) of matrix `at` in shared memory, where rows of 16 bytes lie in a scrambled order.
fn element(at: u32, row: u32, column: u32) -> u32 {
    at << 12 | row << 8 | column << 4 | 7
}

#[test]
fn small_matrices_are_loaded_stored_and_transposed() {
    for count in [1u32, 2, 4] {
        for transposed in [false, true] {
            let trans = if transposed { ".trans" } else { "" };
            let names: Vec<String> = (1..=count).map(|at| format!("%r{at}")).collect();
            let list = names.join(", ");
            let stores: String = (0..count)
                .map(|at| format!("st.global.u32 [%u1+{}], %r{};\n", 4 * at, at + 1))
                .collect();
            // Lane l writes row (7 l + 3) mod 32 of the box, and later names the row that holds row l % 8 of matrix l / 8.
            let mut kernel = Kernel::new(
                ".shared .align 16 .b8 box[512]; .shared .align 16 .b8 back[512];",
                &format!(
                    "mad.wide.u32 %u1, %t, 16, %data; ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%u1];\n\
                     mad.lo.u32 %r9, %t, 7, 3; and.b32 %r9, %r9, 31; mov.u32 %r10, box; mad.lo.u32 %r10, %r9, 16, %r10;\n\
                     st.shared.v4.u32 [%r10], {{%r5, %r6, %r7, %r8}}; bar.warp.sync -1;\n\
                     ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{list}}}, [%r10];\n{stores}\
                     mov.u32 %r11, back; mad.lo.u32 %r11, %r9, 16, %r11; stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r11], {{{list}}};\n\
                     bar.warp.sync -1; ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r11]; st.global.v4.u32 [%u1+512], {{%r5, %r6, %r7, %r8}};\n\
                     movmatrix.sync.aligned.m8n8.trans.b16 %r12, %r1; mad.wide.u32 %u2, %t, 4, %data; st.global.u32 [%u2+1024], %r12;"
                ),
            )
            .block(32);
            let mut data: Vec<u32> = (0..32)
                .flat_map(|lane| {
                    (0..4).map(move |word| {
                        element(lane / 8, lane % 8, 2 * word)
                            | element(lane / 8, lane % 8, 2 * word + 1) << 16
                    })
                })
                .collect();
            let input = data.clone();
            data.resize(288, 0);
            let found = kernel.run_on(&data);
            let held = |at: u32, lane: u32, transposed: bool| {
                let (group, first) = (lane / 4, lane % 4 * 2);
                if transposed {
                    element(at, first, group) | element(at, first + 1, group) << 16
                } else {
                    element(at, group, first) | element(at, group, first + 1) << 16
                }
            };
            for lane in 0..32u32 {
                for at in 0..count {
                    assert_eq!(
                        found[(4 * lane + at) as usize],
                        held(at, lane, transposed),
                        "x{count}{trans}, lane {lane}"
                    );
                }
                // What was loaded and stored the same way is as before; rows that no matrix has are left alone.
                let row = &found[128 + 4 * lane as usize..][..4];
                let expected = if lane / 8 < count {
                    &input[4 * lane as usize..][..4]
                } else {
                    &[0; 4][..]
                };
                assert_eq!(row, expected, "x{count}{trans}, row {lane}");
                assert_eq!(
                    found[256 + lane as usize],
                    held(0, lane, !transposed),
                    "movmatrix of x{count}{trans}"
                );
            }
        }
    }
}

/// Only the lanes that give an address of a row are checked, and each fault names its lane.
#[test]
fn rows_of_matrices_are_checked() {
    let fault = |address: &str, x: u32| {
        let list = ["{%r1}", "{%r1, %r2}", "", "{%r1, %r2, %r3, %r4}"][x as usize - 1];
        Kernel::new(
            ".shared .align 16 .b8 box[512];",
            &format!("{address}\nldmatrix.sync.aligned.m8n8.x{x}.shared.b16 {list}, [%r9];"),
        )
        .block(32)
        .fault(64)
    };
    let found = fault("mov.u32 %r9, box; mad.lo.u32 %r9, %t, 32, %r9;", 4);
    assert!(
        matches!(
            found.kind,
            FaultKind::OutOfBounds {
                address: 512,
                bytes: 16,
                write: false,
                ..
            }
        ),
        "{found}"
    );
    assert_eq!(found.thread, [16, 0, 0]);
    let found = fault("mov.u32 %r9, box; mad.lo.u32 %r9, %t, 8, %r9;", 1);
    assert!(
        matches!(
            found.kind,
            FaultKind::Misaligned {
                address: 8,
                bytes: 16,
                ..
            }
        ),
        "{found}"
    );
    assert_eq!(found.thread, [1, 0, 0]);
    // Lanes from 8 on do not matter to one matrix.
    let mut kernel = Kernel::new(
        ".shared .align 16 .b8 box[512];",
        "mov.u32 %r9, box; mad.lo.u32 %r9, %t, 16, %r9; setp.gt.u32 %p1, %t, 7; @%p1 mov.u32 %r9, 3;\n\
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9]; st.global.u32 [%mine], 1;",
    )
    .block(32);
    assert_eq!(kernel.run(32), [1; 32]);
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
