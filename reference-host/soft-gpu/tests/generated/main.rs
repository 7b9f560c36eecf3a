//! PTX of other generators than nvcc: what LLVM makes of IR and Triton of Python, run and compared with plain Rust.
//!
//! `make.py` beside this file made the sources.

use soft_gpu::{LaunchConfig, Memory, Module, launch};

/// Where buffers lie, one behind the other.
const BASE: u64 = 0x7_0000_0000;
const STRIDE: u64 = 0x100_0000;

/// One argument of a kernel.
enum Arg<'a> {
    Buffer(&'a mut Vec<u32>),
    Value(Vec<u8>),
    /// A pointer that the kernel was compiled to take and does not use.
    Unused,
}

/// Runs the only kernel of a source over buffers of words.
fn run(source: &str, config: LaunchConfig, args: &mut [Arg<'_>]) {
    let module = Module::load(source.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let entry = module.entries().next().expect("a kernel");
    let mut params = vec![0; entry.param_bytes() as usize];
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    assert_eq!(entry.params().len(), args.len());
    for (at, (param, arg)) in entry.params().iter().zip(args.iter()).enumerate() {
        let value = match arg {
            Arg::Buffer(words) => {
                buffers.push(words.iter().flat_map(|word| word.to_le_bytes()).collect());
                (BASE + at as u64 * STRIDE).to_le_bytes().to_vec()
            }
            Arg::Value(bytes) => {
                buffers.push(Vec::new());
                bytes.clone()
            }
            Arg::Unused => {
                buffers.push(Vec::new());
                vec![0; 8]
            }
        };
        assert_eq!(value.len(), param.size_bytes as usize, "{}", param.name);
        params[param.offset_bytes as usize..][..value.len()].copy_from_slice(&value);
    }
    let mut memory = Memory::new();
    for (at, buffer) in buffers.iter_mut().enumerate() {
        memory
            .map(BASE + at as u64 * STRIDE, buffer)
            .expect("a free place");
    }
    launch(
        &module,
        entry,
        &config,
        &params,
        &mut module.globals(),
        &mut memory,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    for (arg, buffer) in args.iter_mut().zip(&buffers) {
        if let Arg::Buffer(words) = arg {
            **words = buffer
                .as_chunks::<4>()
                .0
                .iter()
                .map(|word| u32::from_le_bytes(*word))
                .collect();
        }
    }
}

fn value<const N: usize>(bytes: [u8; N]) -> Arg<'static> {
    Arg::Value(bytes.to_vec())
}

fn config(blocks: u32, threads: u32, dynamic_shared_bytes: u32) -> LaunchConfig {
    LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes,
        ..LaunchConfig::default()
    }
}

/// Numbers between -4 and 4 that look random.
fn numbers(count: usize) -> Vec<f32> {
    (0..count)
        .map(|at| ((at * 7919 + 13) % 1021) as f32 / 127.625 - 4.0)
        .collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn fibonacci(n: u32) -> u32 {
    if n < 2 {
        n
    } else {
        fibonacci(n - 1) + fibonacci(n - 2)
    }
}

#[test]
fn llvm_calls() {
    for source in [
        include_str!("llvm_calls.O0.ptx"),
        include_str!("llvm_calls.O3.ptx"),
    ] {
        let mut out = vec![0; 70];
        let mut record = vec![0; 24];
        record[..4].copy_from_slice(&1000u32.to_le_bytes());
        let mut args = [
            Arg::Buffer(&mut out),
            value(5u32.to_le_bytes()),
            Arg::Value(record),
        ];
        run(source, config(1, 70, 0), &mut args);
        let expected: Vec<u32> = (5..75)
            .map(|n| {
                let r = if n % 2 == 0 { n + 1 } else { 7 * n };
                (f64::from(r) * 1.5) as u32 + fibonacci(n & 7) + 3 + 1000
            })
            .collect();
        assert_eq!(out, expected);
    }
}

#[test]
fn llvm_memory() {
    for source in [
        include_str!("llvm_memory.O0.ptx"),
        include_str!("llvm_memory.O3.ptx"),
    ] {
        let wide = 0x1234_5678_9ABC_DEF0_u128;
        let vector = [1.0f32, 2.0, 10.25, 4.0];
        let mut out = vec![0; 64];
        let mut args = [
            Arg::Buffer(&mut out),
            value(wide.to_le_bytes()),
            Arg::Value(
                vector
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect(),
            ),
            value([1]),
            value([0xFE]),
        ];
        run(source, config(1, 64, 0), &mut args);
        let top = ((wide * wide) >> 64) as u32;
        let expected: Vec<u32> = (0..64u32)
            .map(|t| {
                let (chosen, fixed) = ([100, 200, 300][t as usize % 3], t % 3 + 1);
                (t ^ 1)
                    .wrapping_add(top)
                    .wrapping_add(20 + t + chosen + fixed)
                    .wrapping_sub(2)
            })
            .collect();
        assert_eq!(out, expected);
    }
}

#[test]
fn triton_add() {
    let (x, y) = (numbers(1100), numbers(2200)[1100..].to_vec());
    let (mut from, mut with, mut out) = (bits(&x), bits(&y), vec![7; 1100]);
    let mut args = [
        Arg::Buffer(&mut from),
        Arg::Buffer(&mut with),
        Arg::Buffer(&mut out),
        value(1050u32.to_le_bytes()),
        Arg::Unused,
        Arg::Unused,
    ];
    run(include_str!("triton_add.ptx"), config(3, 128, 0), &mut args);
    let mut expected: Vec<u32> = x.iter().zip(&y).map(|(x, y)| (x + y).to_bits()).collect();
    expected[1050..].fill(7);
    assert_eq!(out, expected);
}

#[test]
fn triton_softmax() {
    const COLUMNS: usize = 200;
    let x = numbers(3 * COLUMNS);
    let (mut out, mut from) = (vec![0; 3 * COLUMNS], bits(&x));
    let mut args = [
        Arg::Buffer(&mut out),
        Arg::Buffer(&mut from),
        value((COLUMNS as u32).to_le_bytes()),
        Arg::Unused,
        Arg::Unused,
    ];
    run(
        include_str!("triton_softmax.ptx"),
        config(3, 128, 16),
        &mut args,
    );
    for (row, found) in x.chunks(COLUMNS).zip(out.chunks(COLUMNS)) {
        let top = row.iter().copied().fold(f32::MIN, f32::max);
        let powers: Vec<f64> = row.iter().map(|x| f64::from(x - top).exp()).collect();
        let sum: f64 = powers.iter().sum();
        for (power, found) in powers.iter().zip(found) {
            let (expected, found) = (power / sum, f64::from(f32::from_bits(*found)));
            assert!(
                (found - expected).abs() <= 2e-6 * expected,
                "{found} for {expected}"
            );
        }
    }
}

#[test]
fn triton_scan() {
    let mut from: Vec<u32> = (0..256u32).map(|at| at.wrapping_mul(0x9E37_79B9)).collect();
    let values = from.clone();
    let mut out = vec![0; 256];
    let mut args = [
        Arg::Buffer(&mut from),
        Arg::Buffer(&mut out),
        Arg::Unused,
        Arg::Unused,
    ];
    run(
        include_str!("triton_scan.ptx"),
        config(1, 128, 32),
        &mut args,
    );
    let mut sum = 0u32;
    let expected: Vec<u32> = values
        .iter()
        .map(|value| {
            sum = sum.wrapping_add(*value);
            sum
        })
        .collect();
    assert_eq!(out, expected);
}

#[test]
fn triton_histogram() {
    let mut from: Vec<u32> = (0..700u32).map(|at| at * at % 37).collect();
    let mut expected = vec![0u32; 37];
    for value in &from[..600] {
        expected[*value as usize] += 1;
    }
    let mut out = vec![0; 37];
    let mut args = [
        Arg::Buffer(&mut from),
        Arg::Buffer(&mut out),
        value(600u32.to_le_bytes()),
        Arg::Unused,
        Arg::Unused,
    ];
    run(
        include_str!("triton_histogram.ptx"),
        config(3, 128, 0),
        &mut args,
    );
    assert_eq!(out, expected);
}

/// Halves that are small integers, so that every order of summing gives the same.
#[test]
fn triton_matmul() {
    const M: usize = 64;
    const N: usize = 32;
    const K: usize = 96;
    let a: Vec<i32> = (0..M * K).map(|at| (at * 31 % 17) as i32 - 8).collect();
    let b: Vec<i32> = (0..K * N).map(|at| (at * 13 % 11) as i32 - 5).collect();
    // A half's exponent and fraction of an integer below 16, by hand.
    let half = |value: i32| -> u16 {
        if value == 0 {
            return 0;
        }
        let magnitude = value.unsigned_abs() as u16;
        let exponent = magnitude.ilog2() as u16;
        let fraction = (magnitude << (10 - exponent)) & 0x3FF;
        u16::from(value < 0) << 15 | (15 + exponent) << 10 | fraction
    };
    let words = |values: &[i32]| -> Vec<u32> {
        let pairs = values.chunks(2);
        pairs
            .map(|pair| u32::from(half(pair[0])) | u32::from(half(pair[1])) << 16)
            .collect()
    };
    let (mut left, mut right, mut out) = (words(&a), words(&b), vec![0; M * N]);
    let mut args = [
        Arg::Buffer(&mut left),
        Arg::Buffer(&mut right),
        Arg::Buffer(&mut out),
        value((M as u32).to_le_bytes()),
        value((N as u32).to_le_bytes()),
        value((K as u32).to_le_bytes()),
        Arg::Unused,
        Arg::Unused,
    ];
    run(
        include_str!("triton_matmul.ptx"),
        config(2, 128, 4096),
        &mut args,
    );
    for (at, found) in out.iter().enumerate() {
        let (row, column) = (at / N, at % N);
        let expected: i32 = (0..K).map(|k| a[row * K + k] * b[k * N + column]).sum();
        assert_eq!(
            f32::from_bits(*found),
            expected as f32,
            "row {row}, column {column}"
        );
    }
}
