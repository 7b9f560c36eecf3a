//! `mma` of every shape and format.

use super::layout::{a_at, b_at, sum_at};
use super::values::{bits_of, encode, factor, packed, product, small, times, unpacked};
use crate::harness::{Kernel, Random};

/// Runs one matrix instruction in a warp whose lanes hold `rows` in the registers of its sources, and gives what each has then in those of its result.
pub(super) fn run(
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
        // Downwards, a sum that cancels out is -0: no small integer.
        for rounding in ["", ".rn", ".rz", ".rp"] {
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
    for (shape, size, words) in [
        ("m8n8k16", [8, 8, 16], ["s8", "u8"]),
        ("m16n8k16", [16, 8, 16], ["s8", "u8"]),
        ("m16n8k32", [16, 8, 32], ["s8", "u8"]),
        ("m8n8k32", [8, 8, 32], ["s4", "u4"]),
        ("m16n8k32", [16, 8, 32], ["s4", "u4"]),
        ("m16n8k64", [16, 8, 64], ["s4", "u4"]),
    ] {
        for (a, b) in words.into_iter().flat_map(|a| words.map(|b| (a, b))) {
            let formats = ["s32", a, b, "s32"];
            let text = format!("mma.sync.aligned.{shape}.row.col.s32.{a}.{b}.s32");
            check(&text, size, formats, large, wrapped, times);
            check(&text, size, formats, near, wrapped, times);
            let text = format!("mma.sync.aligned.{shape}.row.col.satfinite.s32.{a}.{b}.s32");
            check(&text, size, formats, near, clamped, times);
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
