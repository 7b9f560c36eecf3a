//! Products of matrices.
//!
//! Products of floats of up to 32 bits are exact, are summed in double precision, the addend first and then by rising column of `a`, and
//! are rounded once to the result's format. The ISA leaves the order open and asks for no more than single precision. Sums of
//! doubles are fused and rounded at each step.

use super::format::{Accumulator, Format, float, integer};
use super::layout::{
    Layout, group_a, group_b, group_columns, group_rows, group_sum, linear, quad_a, quad_b,
    quad_pair, quad_sum,
};
use super::{Combine, Matrix, Product};
use crate::exec::exact;
use crate::exec::float::{Rounding, bits32, bits64};
use crate::exec::formats::Half;
use crate::exec::lanes::{LANES, Lanes32, Lanes64};
use crate::exec::one_warp::OneWarp;

/// Most elements of a factor of floats.
const FLOATS: usize = 16 * 32;
/// Most elements of a factor of integers.
const INTEGERS: usize = 16 * 64;
/// Most elements of a sum; four products of [`Layout::QuadPairs`] together have as many.
const SUM: usize = 256;
/// Most registers of an operand.
const MAX_REGISTERS: usize = 8;

/// `d = a * b + c`.
pub(super) fn multiply(
    registers: &mut OneWarp<'_, '_>,
    matrix: &Matrix,
    product: &Product,
    active: u32,
) {
    match (product.a, product.layout) {
        (_, Layout::QuadPairs) => quad_pairs(registers, matrix, product, active),
        (Format::F64, _) => doubles(registers, matrix, product, active),
        (Format::S8 | Format::U8 | Format::S4 | Format::U4, _) => {
            integers(registers, matrix, product, active);
        }
        (Format::B1, _) => bits(registers, matrix, product, active),
        _ => floats(registers, matrix, product, active),
    }
}

/// Floats of up to 32 bits.
fn floats(registers: &mut OneWarp<'_, '_>, matrix: &Matrix, product: &Product, active: u32) {
    let &Product { m, n, k, .. } = product;
    let mut a = [0f64; FLOATS];
    let mut b = [0f64; FLOATS];
    factors(registers, matrix, product, &mut a, &mut b, float);
    let mut sum = float_sum(registers, matrix, product);
    match n {
        8 => accumulate::<8>(&a, &b, &mut sum, m, k),
        16 => accumulate::<16>(&a, &b, &mut sum, m, k),
        _ => accumulate::<32>(&a, &b, &mut sum, m, k),
    }
    put_floats(registers, matrix, product, &sum, active);
}

/// Adds the product of `a` and `b`, whose rows have `N` columns, to a sum.
fn accumulate<const N: usize>(a: &[f64], b: &[f64], sum: &mut [f64], m: usize, k: usize) {
    let (b, _) = b.as_chunks::<N>();
    let (sum, _) = sum.as_chunks_mut::<N>();
    for (row, sum) in a.chunks_exact(k).zip(sum).take(m) {
        for (factor, b) in row.iter().zip(b) {
            for column in 0..N {
                sum[column] += factor * b[column];
            }
        }
    }
}

/// The addend of a sum of floats.
fn float_sum(registers: &mut OneWarp<'_, '_>, matrix: &Matrix, product: &Product) -> [f64; SUM] {
    let mut sum = [0f64; SUM];
    let packed = product.c.packed();
    unpack(registers, &matrix.c, packed, |lane, register, at, word| {
        let element = register * packed + at;
        let (row, column) = sum_position(product, matrix.c.len() * packed, lane, element);
        sum[row * product.n + column] = match product.c {
            Accumulator::F16 => f64::from(Half::F16.value(word & 0xFFFF)),
            _ => f64::from(f32::from_bits(word)),
        };
    });
    sum
}

/// Rounds a sum of floats and writes it.
fn put_floats(
    registers: &mut OneWarp<'_, '_>,
    matrix: &Matrix,
    product: &Product,
    sum: &[f64; SUM],
    active: u32,
) {
    let packed = product.d.packed();
    pack(
        registers,
        &matrix.d,
        packed,
        active,
        |lane, register, at| {
            let element = register * packed + at;
            let (row, column) = sum_position(product, matrix.d.len() * packed, lane, element);
            rounded(product.d, sum[row * product.n + column])
        },
    );
}

/// Bits of a sum in its format.
fn rounded(format: Accumulator, value: f64) -> u32 {
    match format {
        Accumulator::F16 => Half::F16.nearest(value),
        _ => bits32(value as f32),
    }
}

/// Four products at once.
fn quad_pairs(registers: &mut OneWarp<'_, '_>, matrix: &Matrix, product: &Product, active: u32) {
    let mut a = [0f64; 4 * 32];
    let mut b = [0f64; 4 * 32];
    let mut sum = [0f64; 4 * 64];
    unpack(registers, &matrix.a, 2, |lane, register, at, word| {
        let (row, column) = quad_a(lane, 2 * register + at, product.a_major);
        a[32 * quad_pair(lane) + 4 * row + column] = float(Format::F16, word);
    });
    unpack(registers, &matrix.b, 2, |lane, register, at, word| {
        let (row, column) = quad_b(lane, 2 * register + at, product.b_major);
        b[32 * quad_pair(lane) + 8 * row + column] = float(Format::F16, word);
    });
    let wide = product.c == Accumulator::F32;
    let packed = product.c.packed();
    unpack(registers, &matrix.c, packed, |lane, register, at, word| {
        let (row, column) = quad_sum(lane, packed * register + at, wide);
        sum[64 * quad_pair(lane) + 8 * row + column] = if wide {
            f64::from(f32::from_bits(word))
        } else {
            float(Format::F16, word)
        };
    });
    for ((a, b), sum) in a
        .chunks_exact(32)
        .zip(b.chunks_exact(32))
        .zip(sum.chunks_exact_mut(64))
    {
        accumulate::<8>(a, b, sum, 8, 4);
    }
    let wide = product.d == Accumulator::F32;
    let packed = product.d.packed();
    pack(
        registers,
        &matrix.d,
        packed,
        active,
        |lane, register, at| {
            let (row, column) = quad_sum(lane, packed * register + at, wide);
            rounded(product.d, sum[64 * quad_pair(lane) + 8 * row + column])
        },
    );
}

/// Doubles: each step is fused.
fn doubles(registers: &mut OneWarp<'_, '_>, matrix: &Matrix, product: &Product, active: u32) {
    let &Product { m, n, k, .. } = product;
    let mut a = [0f64; 256];
    let mut b = [0f64; 128];
    let mut sum = [0f64; SUM];
    for (register, &slot) in matrix.a.iter().enumerate() {
        for (lane, bits) in registers.lanes64(slot).into_iter().enumerate() {
            let (row, column) = a_position(product, matrix.a.len(), lane, register, 0);
            a[row * k + column] = f64::from_bits(bits);
        }
    }
    for (register, &slot) in matrix.b.iter().enumerate() {
        for (lane, bits) in registers.lanes64(slot).into_iter().enumerate() {
            let (row, column) = b_position(product, matrix.b.len(), lane, register, 0);
            b[row * n + column] = f64::from_bits(bits);
        }
    }
    for (register, &slot) in matrix.c.iter().enumerate() {
        for (lane, bits) in registers.lanes64(slot).into_iter().enumerate() {
            let (row, column) = sum_position(product, matrix.c.len(), lane, register);
            sum[row * n + column] = f64::from_bits(bits);
        }
    }
    for row in 0..m {
        for at in 0..k {
            for column in 0..n {
                let sum = &mut sum[row * n + column];
                let (x, y) = (a[row * k + at], b[at * n + column]);
                *sum = if product.rounding == Rounding::Nearest {
                    x.mul_add(y, *sum)
                } else {
                    let (x, y, z) = (x.to_bits(), y.to_bits(), sum.to_bits());
                    f64::from_bits(exact::fma(x, y, z, product.rounding))
                };
            }
        }
    }
    for (register, &slot) in matrix.d.iter().enumerate() {
        let out: Lanes64 = std::array::from_fn(|lane| {
            let (row, column) = sum_position(product, matrix.d.len(), lane, register);
            bits64(sum[row * n + column])
        });
        registers.put64(slot, active, &out);
    }
}

/// Integers of 4 and 8 bits.
fn integers(registers: &mut OneWarp<'_, '_>, matrix: &Matrix, product: &Product, active: u32) {
    let &Product { m, n, k, .. } = product;
    let mut a = [0i32; INTEGERS];
    let mut b = [0i32; INTEGERS];
    factors(registers, matrix, product, &mut a, &mut b, integer);
    let mut sum = [0i32; SUM];
    match n {
        8 => count::<8>(&a, &b, &mut sum, m, k),
        16 => count::<16>(&a, &b, &mut sum, m, k),
        _ => count::<32>(&a, &b, &mut sum, m, k),
    }
    put_integers(registers, matrix, product, &sum, active);
}

/// Adds the product of `a` and `b`, whose rows have `N` columns, to a sum: 64 products of bytes stay far below the bound of 32 bits.
fn count<const N: usize>(a: &[i32], b: &[i32], sum: &mut [i32], m: usize, k: usize) {
    let (b, _) = b.as_chunks::<N>();
    let (sum, _) = sum.as_chunks_mut::<N>();
    for (row, sum) in a.chunks_exact(k).zip(sum).take(m) {
        for (factor, b) in row.iter().zip(b) {
            for column in 0..N {
                sum[column] = sum[column].wrapping_add(factor.wrapping_mul(b[column]));
            }
        }
    }
}

/// Single bits: combined, then counted.
fn bits(registers: &mut OneWarp<'_, '_>, matrix: &Matrix, product: &Product, active: u32) {
    let &Product { m, n, k, .. } = product;
    let words = k / 32;
    // Rows of `a` and columns of `b`, 32 bits a word.
    let mut a = [0u32; 16 * 8];
    let mut b = [0u32; 8 * 8];
    let (a_count, b_count) = (matrix.a.len(), matrix.b.len());
    unpack(registers, &matrix.a, 1, |lane, register, _, word| {
        let (row, column) = match product.layout {
            Layout::Linear => linear(lane, register, a_count, m, words),
            _ => group_a(lane, register, 0, 1),
        };
        a[row * words + column] = word;
    });
    unpack(registers, &matrix.b, 1, |lane, register, _, word| {
        let (column, row) = match product.layout {
            Layout::Linear => linear(lane, register, b_count, n, words),
            _ => {
                let (row, column) = group_b(lane, register, 0, 1);
                (column, row)
            }
        };
        b[column * words + row] = word;
    });
    let mut sum = [0i32; SUM];
    for row in 0..m {
        for column in 0..n {
            let count: u32 = (0..words)
                .map(|at| {
                    let (x, y) = (a[row * words + at], b[column * words + at]);
                    match product.combine {
                        Combine::Xor => x ^ y,
                        Combine::And => x & y,
                    }
                    .count_ones()
                })
                .sum();
            sum[row * n + column] = count.cast_signed();
        }
    }
    put_integers(registers, matrix, product, &sum, active);
}

/// Adds the addend to products of integers and writes the sum.
fn put_integers(
    registers: &mut OneWarp<'_, '_>,
    matrix: &Matrix,
    product: &Product,
    sum: &[i32; SUM],
    active: u32,
) {
    for (register, (&d, &c)) in matrix.d.iter().zip(&matrix.c).enumerate() {
        let addends = registers.lanes32(c);
        let out: Lanes32 = std::array::from_fn(|lane| {
            let (row, column) = sum_position(product, matrix.c.len(), lane, register);
            let (product_sum, addend) =
                (sum[row * product.n + column], addends[lane].cast_signed());
            if product.saturates {
                addend.saturating_add(product_sum).cast_unsigned()
            } else {
                addend.wrapping_add(product_sum).cast_unsigned()
            }
        });
        registers.put32(d, active, &out);
    }
}

/// Both factors, their elements decoded by `value`. Most formats have a loop of their own, in which the format and the number of its elements
/// in a word are constants.
fn factors<T: Copy>(
    registers: &mut OneWarp<'_, '_>,
    matrix: &Matrix,
    product: &Product,
    a: &mut [T],
    b: &mut [T],
    value: impl Fn(Format, u32) -> T + Copy,
) {
    macro_rules! by_format {
        ($factor:ident, $format:expr, $out:expr; $( $known:ident $packed:literal )*; $rest:literal) => {
            match $format {
                $( Format::$known => {
                    $factor::<$packed, _>(registers, matrix, product, $out, |word| {
                        value(Format::$known, word)
                    });
                } )*
                format => $factor::<$rest, _>(registers, matrix, product, $out, |word| {
                    value(format, word)
                }),
            }
        };
    }
    by_format!(factor_a, product.a, a; F16 2 Bf16 2 Tf32 1 S8 4 U8 4 S4 8 U4 8; 4);
    by_format!(factor_b, product.b, b; F16 2 Bf16 2 Tf32 1 S8 4 U8 4 S4 8 U4 8; 4);
}

/// Unpacks factor `a` to rows of `k` elements, `P` elements a register.
#[inline(always)]
fn factor_a<const P: usize, T: Copy>(
    registers: &mut OneWarp<'_, '_>,
    matrix: &Matrix,
    product: &Product,
    out: &mut [T],
    decode: impl Fn(u32) -> T,
) {
    if product.layout == Layout::Groups {
        for (register, &slot) in matrix.a.iter().enumerate() {
            let words = registers.lanes32(slot);
            group_rows(&words, register, P, product.k, |start, word| {
                for (at, out) in out[start..start + P].iter_mut().enumerate() {
                    *out = decode(word >> (at * (32 / P)));
                }
            });
        }
        return;
    }
    unpack(registers, &matrix.a, P, |lane, register, at, word| {
        let (row, column) = a_position(product, matrix.a.len(), lane, register, at);
        out[row * product.k + column] = decode(word);
    });
}

/// Unpacks factor `b` to rows of `n` elements.
#[inline(always)]
fn factor_b<const P: usize, T: Copy>(
    registers: &mut OneWarp<'_, '_>,
    matrix: &Matrix,
    product: &Product,
    out: &mut [T],
    decode: impl Fn(u32) -> T,
) {
    if product.layout == Layout::Groups {
        for (register, &slot) in matrix.b.iter().enumerate() {
            let words = registers.lanes32(slot);
            group_columns(&words, register, P, |start, at, words| {
                for (column, out) in out[start..start + 8].iter_mut().enumerate() {
                    *out = decode(words[4 * column] >> (at * (32 / P)));
                }
            });
        }
        return;
    }
    unpack(registers, &matrix.b, P, |lane, register, at, word| {
        let (row, column) = b_position(product, matrix.b.len(), lane, register, at);
        out[row * product.n + column] = decode(word);
    });
}

fn a_position(
    product: &Product,
    registers: usize,
    lane: usize,
    register: usize,
    at: usize,
) -> (usize, usize) {
    let packed = product.a.packed();
    match product.layout {
        Layout::Linear => linear(
            lane,
            register * packed + at,
            registers * packed,
            product.m,
            product.k,
        ),
        _ => group_a(lane, register, at, packed),
    }
}

fn b_position(
    product: &Product,
    registers: usize,
    lane: usize,
    register: usize,
    at: usize,
) -> (usize, usize) {
    let packed = product.b.packed();
    match product.layout {
        Layout::Linear if packed > 4 => {
            // A unit of memory holds several elements of a column.
            let (column, row) = linear(
                lane,
                register * packed + at,
                registers * packed,
                product.n,
                product.k,
            );
            (row, column)
        }
        Layout::Linear => linear(
            lane,
            register * packed + at,
            registers * packed,
            product.k,
            product.n,
        ),
        _ => group_b(lane, register, at, packed),
    }
}

fn sum_position(product: &Product, per_lane: usize, lane: usize, element: usize) -> (usize, usize) {
    match product.layout {
        Layout::Linear => linear(lane, element, per_lane, product.m, product.n),
        _ => group_sum(lane, element),
    }
}

/// Calls `f` for each element of an operand with the lane, the register, its place in it, and a word whose low bits it is.
#[inline(always)]
fn unpack(
    registers: &mut OneWarp<'_, '_>,
    list: &[u32],
    packed: usize,
    mut f: impl FnMut(usize, usize, usize, u32),
) {
    let bits = 32 / packed;
    for (register, &slot) in list.iter().enumerate() {
        for (lane, word) in registers.lanes32(slot).into_iter().enumerate() {
            for at in 0..packed {
                f(lane, register, at, word >> (at * bits));
            }
        }
    }
}

/// Writes registers of one or two elements each.
#[inline(always)]
fn pack(
    registers: &mut OneWarp<'_, '_>,
    list: &[u32],
    packed: usize,
    active: u32,
    f: impl Fn(usize, usize, usize) -> u32,
) {
    let mut out: [Lanes32; MAX_REGISTERS] = [[0; LANES]; MAX_REGISTERS];
    for (register, out) in out.iter_mut().enumerate().take(list.len()) {
        for (lane, word) in out.iter_mut().enumerate() {
            *word = f(lane, register, 0);
            if packed == 2 {
                *word |= f(lane, register, 1) << 16;
            }
        }
    }
    for (&slot, out) in list.iter().zip(&out) {
        registers.put32(slot, active, out);
    }
}
