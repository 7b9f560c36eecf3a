//! Small integers in the formats of matrices, fragments of them, and products.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Half};

use crate::harness::Random;

pub(super) fn bits_of(format: &str) -> usize {
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
pub(super) fn encode(format: &str, value: i32) -> u64 {
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
pub(super) fn factor(format: &str, random: &mut Random) -> i32 {
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
pub(super) fn packed(format: &str, elements: &[u64]) -> Vec<u32> {
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

pub(super) fn unpacked(format: &str, words: &[u32]) -> Vec<u64> {
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

/// `d = a * b + c` in whole numbers.
pub(super) fn product(
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

pub(super) fn small(random: &mut Random) -> i32 {
    (random.next() % 65) as i32 - 32
}

pub(super) fn times(a: i32, b: i32) -> i32 {
    a * b
}
