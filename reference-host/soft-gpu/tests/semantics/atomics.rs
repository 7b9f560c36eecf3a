//! Atomics beyond the plain 32- and 64-bit ones: halves, vectors, 16 and 128 bits. References: an independent softfloat, `u128`.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Half};

use crate::harness::{Kernel, Random};

/// Sum of two halves, rounded to nearest, as an independent softfloat has it.
fn sum<F: Float>(a: u32, b: u32) -> u32 {
    let result = (F::from_bits(u128::from(a)) + F::from_bits(u128::from(b))).value;
    if result.is_nan() {
        0x7FFF
    } else {
        result.to_bits() as u32
    }
}

fn sum_of(format: &str, a: u32, b: u32) -> u32 {
    if format == "f16" {
        sum::<Half>(a, b)
    } else {
        sum::<BFloat>(a, b)
    }
}

fn extreme<F: Float>(a: u32, b: u32, greatest: bool) -> u32 {
    let (x, y) = (F::from_bits(u128::from(a)), F::from_bits(u128::from(b)));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0x7FFF,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            // Of two zeros the positive one is the greater.
            let less = x < y || (x == y && x.is_negative() && !y.is_negative());
            if less == greatest { b } else { a }
        }
    }
}

/// Halves with a story, in both formats, then random ones.
fn halves(random: &mut Random, at: usize) -> u32 {
    const EDGES: [u32; 16] = [
        0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7C01, 0x7F7F, 0x7F80,
        0xFF80, 0x7FC0, 0x3C00,
    ];
    if at.is_multiple_of(3) {
        EDGES[random.next() as usize % EDGES.len()]
    } else {
        random.next() as u32 & 0xFFFF
    }
}

#[test]
fn halves_are_added() {
    for (format, packed) in [
        ("f16", false),
        ("f16", true),
        ("bf16", false),
        ("bf16", true),
    ] {
        for space in ["global", "", "shared"] {
            let word = if space.is_empty() {
                String::new()
            } else {
                format!(".{space}")
            };
            let (ty, register, size) = if packed {
                (format!("{format}x2"), "%r", 4)
            } else {
                (format.to_owned(), "%h", 2)
            };
            let bits = size * 8;
            // Each thread has two cells: what atom works on, and the operand; it leaves the sum and the old value.
            let (before, address, after) = match space {
                "shared" => (
                    format!(
                        "shl.b32 %r9, %t, 2; mov.u32 %r8, box; add.u32 %r8, %r8, %r9; st.shared.b{bits} [%r8], {register}1;"
                    ),
                    "%r8",
                    format!(
                        "ld.shared.b{bits} {register}4, [%r8]; st.global.b{bits} [%u1], {register}4;"
                    ),
                ),
                _ => (String::new(), "%u1", String::new()),
            };
            let mut kernel = Kernel::new(
                ".shared .align 4 .b8 box[512];",
                &format!(
                    "mad.wide.u32 %u1, %t, 8, %data; ld.global.b{bits} {register}1, [%u1]; ld.global.b{bits} {register}2, [%u1+4];\n{before}\n\
                     atom{word}.add.noftz.{ty} {register}3, [{address}], {register}2;\n\
                     red{word}.add.noftz.{ty} [{address}], {register}2;\n{after}\n st.global.b{bits} [%u1+4], {register}3;"
                ),
            )
            .block(128);
            let mut random = Random(7);
            let rows: Vec<[u32; 2]> = (0..128)
                .map(|at| {
                    std::array::from_fn(|_| {
                        let low = halves(&mut random, at);
                        if packed {
                            low | halves(&mut random, at + 1) << 16
                        } else {
                            low
                        }
                    })
                })
                .collect();
            let input: Vec<u32> = rows.iter().flatten().copied().collect();
            let found = kernel.run_on(&input);
            for (row, found) in rows.iter().zip(found.as_chunks::<2>().0) {
                let each = |shift: u32| {
                    let once = sum_of(format, row[0] >> shift & 0xFFFF, row[1] >> shift & 0xFFFF);
                    sum_of(format, once, row[1] >> shift & 0xFFFF) << shift
                };
                let expected = if packed { each(0) | each(16) } else { each(0) };
                assert_eq!(*found, [expected, row[0]], "{space} {ty} of {row:x?}");
            }
        }
    }
}

#[test]
fn vectors_of_halves_take_each_element_for_itself() {
    for (format, count, packed) in [
        ("f16", 2, false),
        ("f16", 8, false),
        ("bf16", 4, false),
        ("f16", 4, true),
        ("bf16", 2, true),
    ] {
        for op in ["add", "min", "max"] {
            let lanes = if packed { 2 * count } else { count };
            let (ty, register, bits) = if packed {
                (format!("{format}x2"), "%r1", 32)
            } else {
                (format.to_owned(), "%h", 16)
            };
            let list = |first: usize| {
                let names: Vec<String> = (first..first + count)
                    .map(|at| format!("{register}{at}"))
                    .collect();
                names.join(", ")
            };
            // 16 bytes of cells and 16 of operands; results go where operands were.
            let loads: String = (0..count)
                .map(|at| {
                    format!(
                        "ld.global.b{bits} {register}{at}, [%u1+{}];\n",
                        16 + at * bits / 8
                    )
                })
                .collect();
            let stores: String = (0..count)
                .map(|at| {
                    format!(
                        "st.global.b{bits} [%u1+{}], {register}{at};\n",
                        16 + at * bits / 8
                    )
                })
                .collect();
            let mut kernel = Kernel::new(
                "",
                &format!(
                    "mad.wide.u32 %u1, %t, 32, %data;\n{loads}\
                     atom.global.v{count}.{ty}.{op}.noftz {{{}}}, [%u1], {{{}}};\n{stores}",
                    list(0),
                    list(0)
                ),
            )
            .block(32);
            let mut random = Random(count as u64);
            let rows: Vec<Vec<u32>> = (0..32)
                .map(|at| (0..16).map(|_| halves(&mut random, at)).collect())
                .collect();
            let mut data: Vec<u8> = rows
                .iter()
                .flatten()
                .flat_map(|half| (*half as u16).to_le_bytes())
                .collect();
            kernel.try_run(&mut data).expect("a run");
            let found: Vec<u32> = data
                .chunks(2)
                .map(|half| u32::from(half[0]) | u32::from(half[1]) << 8)
                .collect();
            for (row, found) in rows.iter().zip(found.chunks(16)) {
                for at in 0..8 {
                    let (cell, operand) = (row[at], row[8 + at]);
                    if at >= lanes {
                        assert_eq!(
                            [found[at], found[8 + at]],
                            [cell, operand],
                            "beyond the vector"
                        );
                        continue;
                    }
                    let expected = match (op, format) {
                        ("add", _) => sum_of(format, cell, operand),
                        (_, "f16") => extreme::<Half>(cell, operand, op == "max"),
                        _ => extreme::<BFloat>(cell, operand, op == "max"),
                    };
                    assert_eq!(
                        [found[at], found[8 + at]],
                        [expected, cell],
                        "v{count}.{ty}.{op} of {cell:x} and {operand:x}"
                    );
                }
            }
        }
    }
}

#[test]
fn vectors_of_singles_are_added() {
    let mut kernel = Kernel::new(
        "",
        "cvt.rn.f32.u32 %f1, %t; add.f32 %f2, %f1, %f1; red.global.add.v2.f32 [%data], {%f1, %f2};\n\
         mov.b64 %u2, 0; atom.global.add.L2::cache_hint.v4.f32 {%f3, _, %f4, _}, [%data+16], {%f1, %f1, %f2, %f2}, %u2;\n\
         st.global.v2.f32 [%data+32], {%f3, %f4};",
    )
    .block(32);
    let found: Vec<f32> = kernel.run(10).into_iter().map(f32::from_bits).collect();
    assert_eq!(
        found[..8],
        [496.0, 992.0, 0.0, 0.0, 496.0, 496.0, 992.0, 992.0]
    );
    // The last lane saw the sum of those before it.
    assert_eq!(found[8..], [465.0, 930.0]);
}

#[test]
fn a_vector_of_atomics_is_aligned_as_a_whole() {
    let mut kernel = Kernel::new("", "red.global.add.v2.f32 [%data+4], {%f1, %f2};");
    let fault = kernel.fault(16);
    assert!(
        matches!(
            fault.kind,
            soft_gpu::FaultKind::Misaligned {
                bytes: 8,
                write: true,
                ..
            }
        ),
        "{fault}"
    );
}

#[test]
fn sixteen_bits_are_compared_and_swapped() {
    let mut kernel = Kernel::new(
        ".shared .align 4 .b8 box[64];",
        "mov.b16 %h1, 0x1234; mov.b16 %h2, 0xABCD; atom.global.cas.b16 %h3, [%data+2], %h1, %h2; atom.global.cas.b16 %h4, [%data], %h1, %h2;\n\
         cvt.u32.u16 %r1, %h3; cvt.u32.u16 %r2, %h4; st.global.v2.u32 [%data+8], {%r1, %r2};\n\
         mov.b16 %h5, 0; atom.shared.cas.b16 %h6, [box+6], %h5, %h1; ld.shared.u16 %r3, [box+6]; st.global.u32 [%data+4], %r3;",
    );
    assert_eq!(
        kernel.run_on(&[0x1234_5678, 0, 0, 0]),
        [0xABCD_5678, 0x1234, 0x1234, 0x5678]
    );
}

#[test]
fn sixteen_bytes_are_exchanged_and_compared_as_one() {
    let mut kernel = Kernel::new(
        ".shared .align 16 .b128 box[2];",
        ".reg .b128 %q<9>; ld.global.v2.b64 {%u1, %u2}, [%data]; mov.b128 %q1, {%u1, %u2}; ld.global.b128 %q2, [%data+16];\n\
         st.shared.b128 [box+16], %q1;\n\
         atom.shared.cas.b128 %q3, [box+16], %q2, %q2; st.global.b128 [%data+32], %q3;\n\
         atom.shared.cas.b128 %q4, [box+16], %q1, %q2; ld.shared.b128 %q5, [box+16]; st.global.b128 [%data+48], %q5;\n\
         atom.global.exch.b128 %q6, [%data], %q5; mov.b128 {%r1, %r2, %r3, %r4}, %q6; st.global.v4.b32 [%data+64], {%r4, %r3, %r2, %r1};\n\
         mov.b128 %q7, {%r4, %r3, %r2, %r1}; mov.b128 %q8, %q7; mov.b128 {_, %u3}, %q8; st.global.b64 [%data+80], %u3;",
    );
    let mut random = Random(3);
    let (a, b) = (
        (0..4).map(|_| random.next() as u32).collect::<Vec<u32>>(),
        [5u32, 6, 7, 8],
    );
    let mut data: Vec<u32> = a.clone();
    data.extend(b);
    data.resize(22, 0);
    let found = kernel.run_on(&data);
    let mut expected: Vec<u32> = b.to_vec();
    expected.extend(b);
    // A cas that compares with something else leaves the cell alone and still returns it.
    expected.extend(&a);
    expected.extend(b);
    expected.extend(a.iter().rev());
    expected.extend([a[1], a[0]]);
    assert_eq!(found, expected);
}

#[test]
fn orderings_scopes_and_policies_change_no_result() {
    let mut operations = String::new();
    let mut count = 0;
    for order in ["", ".relaxed", ".acquire", ".release", ".acq_rel"] {
        for scope in ["", ".cta", ".cluster", ".gpu", ".sys"] {
            operations.push_str(&format!(
                "atom{order}{scope}.global.add.u32 %r1, [%data], 1;\n"
            ));
            count += 1;
            if matches!(order, "" | ".relaxed" | ".release") {
                operations.push_str(&format!("red{order}{scope}.add.u32 [%data], 1;\n"));
                count += 1;
            }
        }
    }
    let mut kernel = Kernel::new(
        ".shared .u32 cell;",
        &format!(
            "{operations} createpolicy.fractional.L2::evict_last.b64 %u1, 0.5; red.global.add.L2::cache_hint.u32 [%data], 1, %u1;\n\
             atom.global.exch.b32 _, [%data+4], 9; mapa.shared::cluster.u32 %r2, cell, 0; red.shared::cluster.add.u32 [%r2], 3;\n\
             atom.shared::cta.add.u32 %r3, [cell], 0; st.global.u32 [%data+8], %r3;"
        ),
    );
    assert_eq!(kernel.run(3), [count + 1, 9, 3]);
}

/// Every lane reduces into one cell, whose value at the end does not depend on their order.
#[test]
fn reductions_follow_their_operations() {
    type Update = fn(u64, u64) -> u64;
    const fn narrow(value: u64) -> i32 {
        value as u32 as i32
    }
    let cases: [(&str, &str, Update); 18] = [
        ("add", "u32", |old, b| old.wrapping_add(b)),
        ("add", "s32", |old, b| old.wrapping_add(b)),
        ("add", "u64", |old, b| old.wrapping_add(b)),
        ("min", "u32", |old, b| u64::from((old as u32).min(b as u32))),
        ("max", "u32", |old, b| u64::from((old as u32).max(b as u32))),
        ("min", "s32", |old, b| narrow(old).min(narrow(b)) as u64),
        ("max", "s32", |old, b| narrow(old).max(narrow(b)) as u64),
        ("min", "u64", |old, b| old.min(b)),
        ("max", "u64", |old, b| old.max(b)),
        ("min", "s64", |old, b| (old as i64).min(b as i64) as u64),
        ("max", "s64", |old, b| (old as i64).max(b as i64) as u64),
        ("and", "b32", |old, b| old & b),
        ("or", "b32", |old, b| old | b),
        ("xor", "b32", |old, b| old ^ b),
        ("and", "b64", |old, b| old & b),
        ("or", "b64", |old, b| old | b),
        ("xor", "b64", |old, b| old ^ b),
        (
            "inc",
            "u32",
            |old, _| if old as u32 >= 20 { 0 } else { old + 1 },
        ),
    ];
    let values = crate::harness::edges("b64");
    for (op, ty, update) in cases {
        let bits = crate::harness::width(ty);
        for (word, address) in [
            (".global", "mov.u64 %u2, %data;"),
            (".shared", "mov.u64 %u2, cell;"),
            ("", "mov.u64 %u2, cell; cvta.shared.u64 %u2, %u2;"),
        ] {
            let mut kernel = Kernel::new(
                ".shared .align 8 .b8 cell[8];",
                &format!(
                    ".reg .b{bits} x; {address} mad.wide.u32 %u1, %t, 8, %data; ld.global.b{bits} x, [%u1+8];\n\
                     setp.eq.u32 %p1, %t, 0; @%p1 st{word}.u64 [%u2], 5; bar.sync 0;\n\
                     red{word}.{op}.{ty} [%u2], x; bar.sync 0; ld{word}.u64 %u4, [%u2]; st.global.u64 [%data], %u4;"
                ),
            )
            .block(32);
            let operands: Vec<u64> = (0..32)
                .map(|lane| match op {
                    // One bound for all, or the order would count.
                    "inc" => 20,
                    _ => values[lane * 7 % values.len()],
                })
                .collect();
            let mut data: Vec<u8> = [0; 8].to_vec();
            data.extend(operands.iter().flat_map(|value| value.to_le_bytes()));
            kernel.try_run(&mut data).expect("a run without a fault");
            let found = crate::harness::words(&data)[0] & crate::harness::mask(bits);
            let expected = operands.iter().fold(5, |old, value| {
                update(old, *value) & crate::harness::mask(bits)
            });
            assert_eq!(found, expected, "red{word}.{op}.{ty}");
        }
    }
}
