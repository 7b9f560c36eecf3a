//! `wmma`: from memory through fragments and back.

use super::values::{bits_of, encode, factor, product, small, times};
use crate::harness::{Kernel, Random};

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
