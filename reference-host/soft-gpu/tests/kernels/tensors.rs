//! Matrix instructions: `wmma.cu`, `mma.cu`, `mma-bfloat.cu`. Elements are small whole numbers, so that every order of
//! the sums is exact, except where a tolerance is named.

use crate::device::{Arg, Random, Shape, Value, assert_same, release};

/// A whole number from -`limit` to `limit`.
fn whole(random: &mut Random, limit: i32) -> i32 {
    random.i32() % (limit + 1)
}

/// The half that a whole number of at most 11 bits is.
fn half(number: i32) -> u16 {
    let bits = (number as f32).to_bits();
    match number {
        0 => 0,
        _ => (bits >> 16 & 0x8000) as u16 | (((bits & 0x7FFF_FFFF) - (112 << 23)) >> 13) as u16,
    }
}

/// The brain float that a whole number of at most 8 bits is.
fn brain(number: i32) -> u16 {
    ((number as f32).to_bits() >> 16) as u16
}

/// `a * b` for `a` of `m` by `k` and `b` of `k` by `n`, given by element.
fn product(
    m: usize,
    n: usize,
    k: usize,
    a: impl Fn(usize, usize) -> i32,
    b: impl Fn(usize, usize) -> i32,
) -> Vec<i32> {
    (0..m * n)
        .map(|at| (0..k).map(|d| a(at / n, d) * b(d, at % n)).sum())
        .collect()
}

fn run<T: Value>(file: &str, entry: &str, inputs: Vec<Arg>, count: usize) -> Vec<T> {
    let mut args = inputs;
    args.push(Arg::zeros::<T>(count));
    release(file).run(entry, Shape::line(1, 32), &mut args);
    args[args.len() - 1].values()
}

fn halves(numbers: &[i32]) -> Arg {
    Arg::buffer(
        &numbers
            .iter()
            .map(|number| half(*number))
            .collect::<Vec<_>>(),
    )
}

fn brains(numbers: &[i32]) -> Arg {
    Arg::buffer(
        &numbers
            .iter()
            .map(|number| brain(*number))
            .collect::<Vec<_>>(),
    )
}

fn floats(numbers: &[i32]) -> Vec<f32> {
    numbers.iter().map(|number| *number as f32).collect()
}

fn doubles(numbers: &[i32]) -> Vec<f64> {
    numbers.iter().map(|number| f64::from(*number)).collect()
}

#[test]
fn fragments_of_halves() {
    let mut random = Random(1601);
    let a = random.many(16 * 32, |random| whole(random, 20));
    let b = random.many(16 * 32, |random| whole(random, 20));
    let c = random.many(16 * 16, |random| whole(random, 1000));
    let found = run::<f32>(
        "wmma",
        "wmma_half",
        vec![halves(&a), halves(&b), Arg::buffer(&floats(&c))],
        256,
    );
    let product = product(
        16,
        16,
        32,
        |row, k| a[row * 32 + k],
        |k, column| b[column * 32 + k],
    );
    let expected: Vec<i32> = product
        .iter()
        .zip(&c)
        .map(|(product, c)| 2 * (product + c))
        .collect();
    assert_same(&found, &floats(&expected), "d");
}

#[test]
fn fragments_of_bytes() {
    let mut random = Random(1602);
    let a = random.many(32 * 16, |random| random.u32() as i8);
    let b = random.many(16 * 8, |random| random.u32() as i8);
    let found = run::<i32>(
        "wmma",
        "wmma_bytes",
        vec![Arg::buffer(&a), Arg::buffer(&b)],
        256,
    );
    let product = product(
        32,
        8,
        16,
        |row, k| a[row * 16 + k].into(),
        |k, column| b[column * 16 + k].into(),
    );
    // The result is stored by columns.
    let expected: Vec<i32> = (0..256)
        .map(|at| 7 + product[at % 32 * 8 + at / 32])
        .collect();
    assert_same(&found, &expected, "d");
}

#[test]
fn fragments_of_tf32() {
    let mut random = Random(1603);
    let a = random.many(16 * 8, |random| whole(random, 1000));
    let b = random.many(8 * 16, |random| whole(random, 1000));
    let inputs = vec![Arg::buffer(&floats(&a)), Arg::buffer(&floats(&b))];
    let found = run::<f32>("wmma", "wmma_tf32", inputs, 256);
    let expected = product(
        16,
        16,
        8,
        |row, k| a[k * 16 + row],
        |k, column| b[k * 16 + column],
    );
    assert_same(&found, &floats(&expected), "d");
}

#[test]
fn fragments_of_doubles() {
    let mut random = Random(1604);
    let a = random.many(32, |random| whole(random, 10_000));
    let b = random.many(32, |random| whole(random, 10_000));
    let c = random.many(64, |random| whole(random, 10_000));
    let inputs = [&a, &b, &c].map(|numbers| Arg::buffer(&doubles(numbers)));
    let found = run::<f64>("wmma", "wmma_double", inputs.into(), 64);
    let product = product(
        8,
        8,
        4,
        |row, k| a[row * 4 + k],
        |k, column| b[column * 4 + k],
    );
    let expected: Vec<i32> = product
        .iter()
        .zip(&c)
        .map(|(product, c)| product + c)
        .collect();
    assert_same(&found, &doubles(&expected), "d");
}

#[test]
fn instructions_on_halves() {
    let mut random = Random(1605);
    let a = random.many(16 * 16, |random| whole(random, 30));
    let b = random.many(16 * 8, |random| whole(random, 30));
    let c = random.many(16 * 8, |random| whole(random, 1000));
    let found = run::<f32>(
        "mma",
        "mma_half",
        vec![halves(&a), halves(&b), Arg::buffer(&floats(&c))],
        128,
    );
    let product = product(
        16,
        8,
        16,
        |row, k| a[row * 16 + k],
        |k, column| b[k * 8 + column],
    );
    let expected: Vec<i32> = product
        .iter()
        .zip(&c)
        .map(|(product, c)| product + c)
        .collect();
    assert_same(&found, &floats(&expected), "d");
}

#[test]
fn instructions_on_bytes() {
    let mut random = Random(1606);
    let a = random.many(16 * 32, |random| random.u32() as i8);
    let b = random.many(32 * 8, |random| random.u32() as u8);
    let found = run::<i32>(
        "mma",
        "mma_bytes",
        vec![Arg::buffer(&a), Arg::buffer(&b)],
        128,
    );
    let product = product(
        16,
        8,
        32,
        |row, k| a[row * 32 + k].into(),
        |k, column| b[column * 32 + k].into(),
    );
    // Accumulators start at 1 and 2 in the upper half, at 3 and 4 in the lower one.
    let expected: Vec<i32> = (0..)
        .zip(product)
        .map(|(at, product)| product + 1 + at % 2 + at / 64 * 2)
        .collect();
    assert_same(&found, &expected, "d");
}

#[test]
fn transposed_registers() {
    let mut random = Random(1607);
    let words = random.many(64, |random| random.u32() as u16);
    let found = run::<u16>("mma", "transposed", vec![Arg::buffer(&words)], 64);
    let expected: Vec<u16> = (0..64).map(|at| words[at % 8 * 8 + at / 8]).collect();
    assert_same(&found, &expected, "rows");
}

#[test]
fn instructions_on_brain_floats() {
    let mut random = Random(1608);
    let a = random.many(16 * 8, |random| whole(random, 100));
    let b = random.many(8 * 8, |random| whole(random, 100));
    let found = run::<f32>(
        "mma-bfloat",
        "mma_bfloat",
        vec![brains(&a), brains(&b)],
        128,
    );
    let product = product(
        16,
        8,
        8,
        |row, k| a[row * 8 + k],
        |k, column| b[column * 8 + k],
    );
    let starts = [0.5, -0.5, 1.0, 2.0];
    let expected: Vec<f32> = product
        .iter()
        .enumerate()
        .map(|(at, product)| *product as f32 + starts[at % 2 + at / 64 * 2])
        .collect();
    assert_same(&found, &expected, "d");
}

#[test]
fn instructions_on_tf32() {
    let mut random = Random(1609);
    let a = random.many(16 * 8, |random| random.f32() / 100.0);
    let b = random.many(8 * 8, |random| random.f32() / 100.0);
    let found = run::<f32>(
        "mma-bfloat",
        "mma_tf32",
        vec![Arg::buffer(&a), Arg::buffer(&b)],
        128,
    );
    // Ten bits of the fraction stay; ties go away from zero.
    let kept = |x: f32| f64::from(f32::from_bits((x.to_bits() + 0x1000) & !0x1FFF));
    for (at, found) in found.iter().enumerate() {
        let exact: f64 = (0..8)
            .map(|k| kept(a[at / 8 * 8 + k]) * kept(b[at % 8 * 8 + k]))
            .sum();
        assert!(
            (f64::from(*found) - exact).abs() < 1e-3,
            "element {at}: found {found}, expected {exact}"
        );
    }
}

#[test]
fn instructions_on_doubles() {
    let mut random = Random(1610);
    let a = random.many(32, |random| whole(random, 10_000));
    let b = random.many(32, |random| whole(random, 10_000));
    let inputs = [&a, &b].map(|numbers| Arg::buffer(&doubles(numbers)));
    let found = run::<f64>("mma-bfloat", "mma_double", inputs.into(), 64);
    let product = product(
        8,
        8,
        4,
        |row, k| a[row * 4 + k],
        |k, column| b[column * 4 + k],
    );
    let expected: Vec<i32> = (0..)
        .zip(product)
        .map(|(at, product)| product + 1 - at % 2 * 2)
        .collect();
    assert_same(&found, &doubles(&expected), "d");
}

#[test]
fn matrices_as_libraries_multiply_them() {
    let mut random = Random(1611);
    let (m, n, k) = (64usize, 96usize, 80usize);
    let a = random.many(m * k, |random| whole(random, 50));
    let b = random.many(n * k, |random| whole(random, 50));
    let mut args = [
        halves(&a),
        halves(&b),
        Arg::zeros::<f32>(m * n),
        Arg::value(n as i32),
        Arg::value(k as i32),
    ];
    release("hgemm").run(
        "hgemm",
        Shape::plane([n as u32 / 32, m as u32 / 32], [128, 1]),
        &mut args,
    );
    let expected = product(
        m,
        n,
        k,
        |row, d| a[row * k + d],
        |d, column| b[column * k + d],
    );
    assert_same(&args[2].values(), &floats(&expected), "c");
}
