//! Loads, stores, state spaces, initialisers and special registers.

use crate::harness::{Kernel, mask, signed, width};

/// A buffer of recognisable bytes.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 37 + 129) as u8).collect()
}

fn word(bytes: &[u8], at: usize, count: usize) -> u64 {
    bytes[at..at + count]
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Every element type into every register that may hold it, by all the ways in which lanes can spread over memory.
#[test]
fn loads_extend_by_their_type() {
    // What the lane's element index is: consecutive, one for all, backwards, scattered.
    for index in ["%t", "0", "31 - %t", "(%t * 7) & 31"] {
        for ty in [
            "b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64",
        ] {
            for target in ["b16", "b32", "b64"] {
                if width(target) < width(ty) {
                    continue;
                }
                for guard in ["", "@%p1 "] {
                    let size = width(ty) / 8;
                    let place = match index {
                        "%t" => "mov.u32 %r1, %t;",
                        "0" => "mov.u32 %r1, 0;",
                        "31 - %t" => "sub.u32 %r1, 31, %t;",
                        _ => "mul.lo.u32 %r1, %t, 7; and.b32 %r1, %r1, 31;",
                    };
                    let mut kernel = Kernel::new(
                        "",
                        &format!(
                            "{place} and.b32 %r2, %t, 3; setp.ne.u32 %p1, %r2, 1;\n\
                             mad.wide.u32 %u1, %r1, {size}, %data;\n\
                             .reg .{target} x; mov.{target} x, 0x1111;\n\
                             {guard}ld.global.{ty} x, [%u1+8];\n\
                             mad.wide.u32 %u2, %t, 8, %data; st.global.{target} [%u2+1024], x;"
                        ),
                    )
                    .block(32);
                    let mut data = bytes(1024);
                    data.resize(1024 + 32 * 8, 0);
                    kernel.try_run(&mut data).expect("no fault");
                    for t in 0..32usize {
                        let at = match index {
                            "%t" => t,
                            "0" => 0,
                            "31 - %t" => 31 - t,
                            _ => (t * 7) & 31,
                        };
                        let raw = word(&data, 8 + at * size as usize, size as usize);
                        let value = if ty.starts_with('s') {
                            signed(raw, width(ty)) as u64
                        } else {
                            raw
                        };
                        let expected = if guard.is_empty() || t & 3 != 1 {
                            value & mask(width(target))
                        } else {
                            0x1111
                        };
                        let found = word(&data, 1024 + t * 8, 8);
                        assert_eq!(
                            found, expected,
                            "{guard}ld.{ty} into .{target}, lane {t}, index {index}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn stores_keep_the_low_bits_and_touch_nothing_else() {
    for ty in ["b8", "u8", "s8", "b16", "u16", "s16", "b32", "s32", "b64"] {
        for source in ["b16", "b32", "b64"] {
            if width(source) < width(ty) {
                continue;
            }
            for stride in [1, 2] {
                let size = width(ty) as usize / 8;
                let mut kernel = Kernel::new(
                    "",
                    &format!(
                        ".reg .{source} x; mov.u32 %r1, 0x89ABCDEF; mov.b64 %u3, {{%t, %r1}}; mul.lo.u64 %u3, %u3, 0x0123456789ABCDEF;\n\
                         cvt.u{}.u64 x, %u3; mad.wide.u32 %u1, %t, {}, %data; st.global.{ty} [%u1], x;",
                        width(source),
                        size * stride
                    ),
                )
                .block(32);
                let mut data = vec![0xEE; 32 * 16];
                kernel.try_run(&mut data).expect("no fault");
                let mut expected = vec![0xEE; 32 * 16];
                for t in 0..32usize {
                    let value =
                        (0x89AB_CDEF_0000_0000u64 | t as u64).wrapping_mul(0x0123_4567_89AB_CDEF);
                    expected[t * size * stride..][..size]
                        .copy_from_slice(&value.to_le_bytes()[..size]);
                }
                assert_eq!(data, expected, "st.{ty} from .{source}, stride {stride}");
            }
        }
    }
}

#[test]
fn vectors_load_and_store_in_order() {
    for (count, ty) in [
        (2, "u8"),
        (4, "s8"),
        (2, "s16"),
        (4, "u16"),
        (2, "b32"),
        (4, "b32"),
        (2, "b64"),
    ] {
        let size = width(ty) as usize / 8;
        let wide = if size == 8 { "b64" } else { "b32" };
        let names: Vec<String> = (0..count).map(|at| format!("v{at}")).collect();
        let backwards: Vec<String> = names.iter().rev().cloned().collect();
        let mut kernel = Kernel::new(
            "",
            &format!(
                ".reg .{wide} {}; mad.wide.u32 %u1, %t, {}, %data;\n\
                 ld.global.v{count}.{ty} {{{}}}, [%u1]; st.global.v{count}.{ty} [%u1+1024], {{{}}};",
                names.join(", "),
                size * count,
                names.join(", "),
                backwards.join(", ")
            ),
        )
        .block(32);
        let mut data = bytes(1024);
        data.resize(2048, 0);
        kernel.try_run(&mut data).expect("no fault");
        for t in 0..32 {
            for at in 0..count {
                let from = (t * count + at) * size;
                let to = 1024 + (t * count + count - 1 - at) * size;
                assert_eq!(
                    data[from..from + size],
                    data[to..to + size],
                    "v{count}.{ty}, lane {t}"
                );
            }
        }
    }
}

/// One value a thread goes through shared, local and generic addresses of both, and each thread sees its own local memory.
/// Registers of several types side by side hold bits, and a pair of halves may be an integer.
#[test]
fn vectors_of_mixed_registers_hold_bits() {
    let mut kernel = Kernel::new(
        "",
        ".reg .f16x2 %x<4>; .reg .u32 %n<2>;\n\
         ld.global.v4.f32 {%n0, %r1, %f1, %r2}, [%data]; st.global.v4.s32 [%data+16], {%n0, %r1, %f1, %r2};\n\
         mov.b32 %x1, %r1; add.s32 %x2, %x1, 3; mad.lo.u32 %x3, %x2, %x1, %n0; st.global.v2.b32 [%data+32], {%x2, %x3};\n\
         mov.u64 %u1, 36893488147419103237; lop3.b32 %r3, %r1, %r2, %n0, 0x180; st.global.u64 [%data+40], %u1; st.global.u32 [%data+48], %r3;",
    );
    let words = [0x8765_4321_u32, 0x7FC0_0001, 0x8000_0000, 0x0102_0304];
    let mut data = words.to_vec();
    data.resize(13, 0);
    let found = kernel.run_on(&data);
    let [a, b, c, d] = words;
    let sum = b.wrapping_add(3);
    let expected = [
        a,
        b,
        c,
        d,
        a,
        b,
        c,
        d,
        sum,
        sum.wrapping_mul(b).wrapping_add(a),
        // 2^65 + 5.
        5,
        0,
        // The table is 0x80: all three.
        a & b & d,
    ];
    assert_eq!(found, expected);
}

#[test]
fn spaces_meet_in_the_generic_one() {
    let mut kernel = Kernel::new(
        ".shared .align 8 .b8 box[256];",
        ".local .align 8 .b8 own[16]; add.u32 %r1, %t, 1000;\n\
         shl.b32 %r2, %t, 2; mov.u32 %r3, box; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;\n\
         cvt.u64.u32 %u1, %r3; cvta.shared.u64 %u1, %u1; ld.u32 %r4, [%u1];\n\
         st.local.u32 [own+4], %r4; mov.u64 %u2, own; cvta.local.u64 %u3, %u2; ld.u32 %r5, [%u3+4];\n\
         add.u32 %r5, %r5, 1; st.u32 [%u3+8], %r5; ld.local.u32 %r6, [own+8];\n\
         cvta.to.local.u64 %u4, %u3; ld.local.u32 %r7, [%u4+8];\n\
         cvta.to.global.u64 %u5, %mine; ld.local.u8 %r8, [own+8];\n\
         isspacep.shared %p1, %u1; isspacep.local %p2, %u3; isspacep.global %p3, %mine; isspacep.shared %p4, %mine;\n\
         isspacep.local %p5, %u1; isspacep.const %p6, %mine;\n\
         not.pred %p4, %p4; not.pred %p5, %p5; not.pred %p6, %p6;\n\
         and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3; and.pred %p1, %p1, %p4; and.pred %p1, %p1, %p5; and.pred %p1, %p1, %p6;\n\
         setp.eq.and.u32 %p1, %r6, %r7, %p1; and.b32 %r9, %r6, 255; setp.eq.and.u32 %p1, %r9, %r8, %p1;\n\
         @%p1 st.global.u32 [%u5], %r6;",
    )
    .block(40);
    let expected: Vec<u32> = (0..40).map(|t| t + 1001).collect();
    assert_eq!(kernel.run(40), expected);
}

#[test]
fn parameters_can_be_read_through_their_address() {
    let mut kernel = Kernel::new(
        "",
        "mov.u64 %u1, data; ld.param.u64 %u2, [%u1]; cvta.param.u64 %u3, %u1; ld.u64 %u4, [%u3];\n\
         xor.b64 %u2, %u2, %u4; cvt.u32.u64 %r1, %u2; add.u32 %r1, %r1, 7; st.global.u32 [%data], %r1;",
    );
    assert_eq!(kernel.run(1), [7]);
}

#[test]
fn variables_start_with_their_initialisers() {
    let mut kernel = Kernel::new(
        ".const .align 4 .u32 table[4] = {10, 0x20, 30};\n\
         .global .align 8 .b8 raw[8] = {1, 2, 3, 4, 0xFF};\n\
         .global .f32 half = 0.5;\n.global .u32 matrix[][3] = {{1, 2}, {4, 5, 6}};\n\
         .global .u64 pointer = generic(table) + 4;\n.global .u64 data_pointer = matrix + 12;\n\
         .const .f64 third = 0d3FD5555555555555;\n.global .s16 low = -2;\n",
        "ld.const.u32 %r1, [table+4]; st.global.u32 [%data], %r1;\n\
         ld.const.u32 %r1, [table+12]; st.global.u32 [%data+4], %r1;\n\
         ld.global.u32 %r1, [raw+4]; st.global.u32 [%data+8], %r1;\n\
         ld.global.u32 %r1, [half]; st.global.u32 [%data+12], %r1;\n\
         ld.global.u32 %r1, [matrix+8]; st.global.u32 [%data+16], %r1;\n\
         ld.global.u64 %u1, [pointer]; ld.u32 %r1, [%u1]; st.global.u32 [%data+20], %r1;\n\
         ld.global.u64 %u1, [data_pointer]; ld.global.u32 %r1, [%u1]; st.global.u32 [%data+24], %r1;\n\
         ld.const.u64 %u1, [third]; shr.u64 %u1, %u1, 32; cvt.u32.u64 %r1, %u1; st.global.u32 [%data+28], %r1;\n\
         ld.global.s16 %r1, [low]; st.global.u32 [%data+32], %r1;",
    );
    let expected = [
        0x20,
        0,
        0xFF,
        0x3F00_0000,
        0,
        0x20,
        4,
        0x3FD5_5555,
        0xFFFF_FFFE,
    ];
    assert_eq!(kernel.run(9), expected);
    assert_eq!(kernel.globals.variable("matrix").map(<[u8]>::len), Some(24));
    assert_eq!(
        kernel
            .globals
            .variable("table")
            .and_then(|bytes| bytes.first()),
        Some(&10)
    );
}

#[test]
fn global_variables_last_from_launch_to_launch() {
    let mut kernel = Kernel::new(
        ".global .u32 count;",
        "atom.global.add.u32 %r1, [count], 1; st.global.u32 [%data], %r1;",
    );
    assert_eq!(
        [kernel.run(1), kernel.run(1), kernel.run(1)],
        [[0], [1], [2]]
    );
}

#[test]
fn dynamic_shared_memory_starts_where_its_alignment_allows() {
    let mut kernel = Kernel::new(
        ".shared .u8 fixed[20];\n.extern .shared .align 128 .b8 more[];",
        "mov.u32 %r1, more; st.global.u32 [%data], %r1; mov.u32 %r2, %dynamic_smem_size; st.global.u32 [%data+4], %r2;\n\
         mov.u32 %r3, %total_smem_size; st.global.u32 [%data+8], %r3; st.shared.u32 [more+60], 5; ld.shared.u32 %r4, [%r1+60];\n\
         st.global.u32 [%data+12], %r4;",
    );
    kernel.config.dynamic_shared_bytes = 64;
    assert_eq!(kernel.run(4), [128, 64, 192, 5]);
}

#[test]
fn special_registers_say_where_a_thread_is() {
    let names = [
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%ntid.x",
        "%ntid.y",
        "%ntid.z",
        "%ctaid.x",
        "%ctaid.y",
        "%ctaid.z",
        "%nctaid.x",
        "%nctaid.y",
        "%nctaid.z",
        "%laneid",
        "%warpid",
        "%nwarpid",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
    ];
    let mut code = "mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
        mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
        mov.u32 %r2, %ntid.z; mov.u32 %r3, %tid.z; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
        mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
        mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
        .to_owned();
    code.push_str(&format!(
        "mad.wide.u32 %u1, %r1, {}, %data;\n",
        names.len() * 4
    ));
    for (at, name) in names.iter().enumerate() {
        code.push_str(&format!(
            "mov.u32 %r4, {name}; st.global.u32 [%u1+{}], %r4;\n",
            at * 4
        ));
    }
    let (grid, block) = ([2u32, 3, 2], [5u32, 4, 3]);
    let mut kernel = Kernel::new("", &code);
    (kernel.config.grid, kernel.config.block) = (grid, block);
    let threads = |shape: [u32; 3]| shape.iter().product::<u32>();
    let found = kernel.run((threads(grid) * threads(block)) as usize * names.len());
    for (number, found) in (0..).zip(found.chunks(names.len())) {
        let (c, t) = (number / threads(block), number % threads(block));
        let at = |index: u32, shape: [u32; 3]| {
            [
                index % shape[0],
                index / shape[0] % shape[1],
                index / shape[0] / shape[1],
            ]
        };
        let lane = t % 32;
        let mut expected = Vec::new();
        expected.extend(at(t, block));
        expected.extend(block);
        expected.extend(at(c, grid));
        expected.extend(grid);
        let (equal, less) = (1u32 << lane, (1u32 << lane) - 1);
        expected.extend([
            lane,
            t / 32,
            2,
            equal,
            less,
            less | equal,
            !(less | equal),
            !less,
        ]);
        assert_eq!(found, expected, "block {c}, thread {t}");
    }
}

#[test]
fn the_clock_moves_on() {
    let mut kernel = Kernel::new(
        "",
        "mov.u64 %u1, %clock64; mov.u32 %r1, %clock; bar.sync 0; mov.u64 %u2, %clock64; mov.u32 %r2, %clock;\n\
         setp.gt.u64 %p1, %u2, %u1; setp.gt.and.u32 %p1, %r2, %r1, %p1; selp.u32 %r3, 1, 0, %p1; st.global.u32 [%data], %r3;",
    );
    assert_eq!(kernel.run(1), [1]);
}

/// The ISA leaves such a value open; here it depends on nothing that ran before.
#[test]
fn a_register_that_nothing_wrote_is_the_same_in_every_block() {
    // The second warp of a block writes registers that the first, which borrows them in the next block, reads.
    let mut kernel = Kernel::new(
        "",
        "setp.lt.u32 %p1, %t, 32; @%p1 bra READ; add.u32 %r20, %t, 9; cvt.u64.u32 %u20, %t; setp.ge.u32 %p2, %t, 9;\nREAD:\n\
         cvt.u32.u64 %r2, %u20; add.u32 %r2, %r2, %r20; @%p2 add.u32 %r2, %r2, 1; mov.u32 %r3, %ctaid.x;\n\
         mad.lo.u32 %r4, %r3, 64, %t; mad.wide.u32 %u2, %r4, 4, %data; st.global.u32 [%u2], %r2;",
    )
    .block(64);
    kernel.config.grid = [3, 1, 1];
    let expected: Vec<u32> = (0..192)
        .map(|t| if t % 64 < 32 { 0 } else { t % 64 * 2 + 10 })
        .collect();
    assert_eq!(kernel.run(192), expected);
}

/// Atomics lane after lane, at one address and at many, against a loop.
#[test]
fn atomics_follow_their_operations() {
    type Update = fn(u64, u64, u64) -> u64;
    let cases: [(&str, &str, Update); 22] = [
        ("add", "u32", |old, b, _| old.wrapping_add(b)),
        ("add", "s32", |old, b, _| old.wrapping_add(b)),
        ("add", "u64", |old, b, _| old.wrapping_add(b)),
        ("min", "u32", |old, b, _| old.min(b)),
        ("max", "u32", |old, b, _| old.max(b)),
        ("min", "s32", |old, b, _| {
            if signed(old, 32) < signed(b, 32) {
                old
            } else {
                b
            }
        }),
        ("max", "s32", |old, b, _| {
            if signed(old, 32) > signed(b, 32) {
                old
            } else {
                b
            }
        }),
        ("min", "u64", |old, b, _| old.min(b)),
        ("max", "u64", |old, b, _| old.max(b)),
        ("min", "s64", |old, b, _| {
            if signed(old, 64) < signed(b, 64) {
                old
            } else {
                b
            }
        }),
        ("max", "s64", |old, b, _| {
            if signed(old, 64) > signed(b, 64) {
                old
            } else {
                b
            }
        }),
        ("and", "b32", |old, b, _| old & b),
        ("or", "b32", |old, b, _| old | b),
        ("xor", "b32", |old, b, _| old ^ b),
        ("and", "b64", |old, b, _| old & b),
        ("or", "b64", |old, b, _| old | b),
        ("xor", "b64", |old, b, _| old ^ b),
        ("exch", "b32", |_, b, _| b),
        ("exch", "b64", |_, b, _| b),
        ("cas", "b32", |old, b, c| if old == b { c } else { old }),
        ("cas", "b64", |old, b, c| if old == b { c } else { old }),
        ("inc", "u32", |old, b, _| if old >= b { 0 } else { old + 1 }),
    ];
    let values = crate::harness::edges("b64");
    let operands: Vec<(u64, u64)> = (0..32)
        .map(|t| (values[t * 5 % values.len()], values[t * 3 % values.len()]))
        .collect();
    for (op, ty, update) in cases {
        let bits = width(ty);
        for space in ["global", "shared", "generic"] {
            let address = match space {
                "global" => "mov.u64 %u2, %data;",
                "shared" => "mov.u64 %u2, cell;",
                _ => "mov.u64 %u2, cell; cvta.shared.u64 %u2, %u2;",
            };
            let word = if space == "generic" {
                String::new()
            } else {
                format!(".{space}")
            };
            let swap = if op == "cas" { ", y" } else { "" };
            // The warp's lanes meet at one cell, which starts with 5; the buffer then tells its last value and each lane's old one.
            let mut kernel = Kernel::new(
                ".shared .align 8 .b8 cell[8];",
                &format!(
                    ".reg .b{bits} x, y, z; {address} setp.eq.u32 %p1, %t, 0; @%p1 st{word}.u64 [%u2], 5;\n\
                     mad.wide.u32 %u1, %t, 24, %data; ld.global.b{bits} x, [%u1+8]; ld.global.b{bits} y, [%u1+16];\n\
                     atom{word}.{op}.{ty} z, [%u2], x{swap}; st.global.b{bits} [%u1+24], z;\n\
                     ld{word}.u64 %u4, [%u2]; st.global.u64 [%data], %u4;"
                ),
            )
            .block(32);
            let mut data = 0u64.to_le_bytes().to_vec();
            for (b, c) in &operands {
                data.extend([*b, *c, 0].iter().flat_map(|value| value.to_le_bytes()));
            }
            kernel.try_run(&mut data).expect("no fault");
            let mut cell = 5u64;
            for (t, (b, c)) in operands.iter().enumerate() {
                let old = word_at(&data, 8 + t * 24 + 16);
                assert_eq!(old, cell, "atom.{space}.{op}.{ty}, lane {t}");
                cell = update(cell, b & mask(bits), c & mask(bits)) & mask(bits);
            }
            assert_eq!(word_at(&data, 0), cell, "atom.{space}.{op}.{ty}");
        }
    }
}

fn word_at(bytes: &[u8], at: usize) -> u64 {
    word(bytes, at, 8)
}

/// Subnormal numbers count as zero where the ISA says so: in single-precision sums on global memory.
#[test]
fn float_atomics_flush_on_global_memory_only() {
    let mut kernel = Kernel::new(
        ".shared .align 8 .b8 cell[16];",
        "mov.b32 %f1, 0x80000001; mov.b64 %g1, 1; st.shared.v2.u64 [cell], {0, 0}; mov.u64 %u1, cell; cvta.shared.u64 %u1, %u1;\n\
         red.global.add.f32 [%data], %f1; red.add.f32 [%data+4], %f1; red.shared.add.f32 [cell], %f1; red.add.f32 [%u1+4], %f1;\n\
         red.global.add.f64 [%data+16], %g1; ld.shared.v2.u32 {%r1, %r2}, [cell]; st.global.v2.u32 [%data+8], {%r1, %r2};",
    );
    let found = kernel.run_on(&[0x0000_0003, 0x0080_0000, 0, 0, 0, 0]);
    assert_eq!(found, [0, 0x0080_0000, 0x8000_0001, 0x8000_0001, 1, 0]);
}

/// The addend of a float atomic is rounded to nearest.
#[test]
fn float_atomics_add() {
    let mut kernel = Kernel::new(
        "",
        "cvt.rn.f32.u32 %f1, %t; atom.global.add.f32 %f2, [%data], %f1; cvt.rn.f64.u32 %g1, %t; red.global.add.f64 [%data+8], %g1;",
    )
    .block(33);
    let found = kernel.run(4);
    assert_eq!(f32::from_bits(found[0]), 528.0);
    assert_eq!(
        f64::from_bits(u64::from(found[3]) << 32 | u64::from(found[2])),
        528.0
    );
}
