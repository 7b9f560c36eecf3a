//! `wmma`: fragments of matrices, their loads, stores and products.
//!
//! Source: PTX ISA, "Matrix multiply-accumulate operation using wmma instructions".

use super::super::body::Body;
use super::super::error::Checked;
use super::super::instruction::Inst;
use super::access::{cluster_space, space_of};
use super::mma::{
    emit, emit_matrix, fragment_type, need_accumulator, need_format, product, size_of, sources,
    sum_type, take_major, targets, types,
};
use crate::ast::Operand;
use crate::code::Space;
use crate::exec::float::Rounding;
use crate::exec::tensor::format::{Accumulator, Format};
use crate::exec::tensor::layout::{Layout, Major};
use crate::exec::tensor::{Kind, Matrix, Tile};
use crate::types::Type;

pub(super) fn wmma<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    match inst
        .modifiers
        .need_one(&["load", "store", "mma"], "one of .load, .store, .mma")?
    {
        "load" => load(body, inst),
        "store" => store(body, inst),
        _ => multiply(body, inst),
    }
}

/// `wmma.load`
fn load<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let operand = inst
        .modifiers
        .need_one(&["a", "b", "c"], "one of .a, .b, .c")?;
    let (shape, major, space) = take_place(body, &mut inst)?;
    let [m, n, k] = size_of(shape);
    let (tile, ty, count) = if operand == "c" {
        let format = need_accumulator(&mut inst)?;
        accumulator(&inst, body, shape, format)?;
        let tile = Tile::of_sum(format, m, n, major);
        (tile, sum_type(format), tile.registers())
    } else {
        let format = need_format(&mut inst)?;
        factor(&inst, body, shape, format)?;
        let first = operand == "a";
        if of_few_bits(format) && (major == Major::Row) != first {
            return inst.modifiers.clash(if first { "col" } else { "row" });
        }
        let tile = Tile::of_factor(format, [m, n, k], major, first);
        let count = if format == Format::F16 {
            8
        } else {
            tile.registers()
        };
        (tile, fragment_type(format), count)
    };
    inst.modifiers.end()?;
    inst.arity_between(2, 3)?;
    let (space, address) = body.address(inst.operand(1)?, space)?;
    let stride = stride(body, inst.operands.get(2))?;
    let d = targets(body, inst.operand(0)?, ty, count)?;
    emit_matrix(
        body,
        &inst,
        Matrix {
            kind: Kind::Load(tile),
            wide: ty == Type::F64,
            d,
            a: Vec::new(),
            b: Vec::new(),
            c: Vec::new(),
            place: Some((space, address)),
            stride,
        },
    )
}

/// `wmma.store`
fn store<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.need_one(&["d"], ".d")?;
    let (shape, major, space) = take_place(body, &mut inst)?;
    let [m, n, _] = size_of(shape);
    let format = need_accumulator(&mut inst)?;
    accumulator(&inst, body, shape, format)?;
    inst.modifiers.end()?;
    inst.arity_between(2, 3)?;
    let tile = Tile::of_sum(format, m, n, major);
    let ty = sum_type(format);
    let (space, address) = body.address(inst.operand(0)?, space)?;
    let stride = stride(body, inst.operands.get(2))?;
    let a = sources(body, inst.operand(1)?, ty, tile.registers())?;
    emit_matrix(
        body,
        &inst,
        Matrix {
            kind: Kind::Store(tile),
            wide: ty == Type::F64,
            d: Vec::new(),
            a,
            b: Vec::new(),
            c: Vec::new(),
            place: Some((space, address)),
            stride,
        },
    )
}

/// `wmma.mma`
fn multiply<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    need_warp(body, &mut inst)?;
    let shape = inst
        .modifiers
        .need_one(SHAPES, "a shape such as .m16n16k16")?;
    let majors = [take_major(&mut inst)?, take_major(&mut inst)?];
    let saturates = inst.modifiers.take("satfinite");
    let directed = inst.modifiers.has(&["rn", "rz", "rm", "rp"]);
    let rounding = inst.modifiers.rounding();
    let combine = inst.modifiers.take_one(&["xor", "and"]);
    let counts = inst.modifiers.take("popc");
    let d = need_accumulator(&mut inst)?;
    // Half precision is not said of the factors.
    let halves = inst
        .modifiers
        .has(&["bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1"])
        .is_none();
    let (a, b) = if halves {
        (Format::F16, Format::F16)
    } else {
        (need_format(&mut inst)?, need_format(&mut inst)?)
    };
    let c = need_accumulator(&mut inst)?;
    inst.modifiers.end()?;
    factor(&inst, body, shape, a)?;
    use Accumulator as S;
    use Format as F;
    let fits = matches!(
        (a, d, c),
        (F::F16, S::F16 | S::F32, S::F16 | S::F32)
            | (F::Bf16 | F::Tf32, S::F32, S::F32)
            | (F::F64, S::F64, S::F64)
            | (F::S8 | F::U8 | F::S4 | F::U4 | F::B1, S::S32, S::S32)
    );
    if !fits || a != b {
        return types(&inst);
    }
    let of_bits = a == Format::B1;
    if of_bits != combine.is_some() || of_bits != counts {
        return inst
            .modifiers
            .missing("an operation and .popc, for single bits alone");
    }
    if combine == Some("and") {
        inst.requires(body, "with .and", (7, 1), 80)?;
    }
    if of_few_bits(a) && majors != [Major::Row, Major::Column] {
        return inst.modifiers.clash(if majors[0] == Major::Column {
            "col"
        } else {
            "row"
        });
    }
    if saturates && (c != Accumulator::S32 || of_bits) {
        if halves && body.ast.version < (6, 5) {
            return inst.modifiers.unsupported(".satfinite of floats");
        }
        return inst.modifiers.clash("satfinite");
    }
    if let Some(word) = directed
        && a != Format::F64
    {
        return inst.modifiers.clash(word);
    }
    inst.arity(4)?;
    let mut product = product(
        size_of(shape),
        Layout::Linear,
        [a, b],
        majors,
        [d, c],
        saturates,
        combine,
    );
    product.rounding = rounding.unwrap_or(Rounding::Nearest);
    let mut counts = product.registers();
    if halves {
        // Fragments of half precision have room for 512 elements whatever the shape.
        counts[1] = 8;
        counts[2] = 8;
    }
    emit(body, &inst, product, counts)
}

const SHAPES: &[&str] = &[
    "m16n16k16",
    "m8n32k16",
    "m32n8k16",
    "m16n16k8",
    "m8n8k4",
    "m8n8k32",
    "m8n8k128",
];

/// `.sync`, and `.aligned`, which versions before 6.3 did without.
fn need_warp<'a>(body: &Body<'a>, inst: &mut Inst<'a>) -> Checked<()> {
    inst.modifiers.need_one(&["sync"], ".sync")?;
    if body.ast.version < (6, 3) {
        inst.modifiers.take("aligned");
        return Ok(());
    }
    inst.modifiers.need_one(&["aligned"], ".aligned").map(drop)
}

/// Shape, storage order and space of a load or store.
fn take_place<'a>(body: &Body<'a>, inst: &mut Inst<'a>) -> Checked<(&'a str, Major, Space)> {
    need_warp(body, inst)?;
    let shape = inst
        .modifiers
        .need_one(SHAPES, "a shape such as .m16n16k16")?;
    let major = take_major(inst)?;
    let word = inst
        .modifiers
        .take_one(&["global", "shared", "shared::cta"]);
    cluster_space(body, inst, word)?;
    Ok((shape, major, space_of(word)))
}

/// Checks that the ISA has factors of a format in a shape.
fn factor<'a>(inst: &Inst<'a>, body: &Body<'a>, shape: &str, format: Format) -> Checked<()> {
    let large = matches!(shape, "m16n16k16" | "m8n32k16" | "m32n8k16");
    let (version, target) = match format {
        Format::F16 if large => first_of_halves(shape),
        Format::S8 | Format::U8 if large => ((6, 3), 72),
        Format::Bf16 if large => ((7, 0), 80),
        Format::Tf32 if shape == "m16n16k8" => ((7, 0), 80),
        Format::F64 if shape == "m8n8k4" => ((7, 0), 80),
        Format::S4 | Format::U4 if shape == "m8n8k32" => ((6, 3), 75),
        Format::B1 if shape == "m8n8k128" => ((6, 3), 75),
        _ => return types(inst),
    };
    inst.requires(body, "of that shape and type", version, target)
}

/// Checks that the ISA has sums of a format in a shape.
fn accumulator<'a>(
    inst: &Inst<'a>,
    body: &Body<'a>,
    shape: &str,
    format: Accumulator,
) -> Checked<()> {
    let large = matches!(shape, "m16n16k16" | "m8n32k16" | "m32n8k16");
    let (version, target) = match format {
        Accumulator::F16 | Accumulator::F32 if large => first_of_halves(shape),
        Accumulator::F32 if shape == "m16n16k8" => ((7, 0), 80),
        Accumulator::S32 if large => ((6, 3), 72),
        Accumulator::S32 if matches!(shape, "m8n8k32" | "m8n8k128") => ((6, 3), 75),
        Accumulator::F64 if shape == "m8n8k4" => ((7, 0), 80),
        _ => return types(inst),
    };
    inst.requires(body, "of that shape and type", version, target)
}

fn first_of_halves(shape: &str) -> ((u32, u32), u32) {
    if shape == "m16n16k16" {
        ((6, 0), 70)
    } else {
        ((6, 1), 70)
    }
}

/// Formats whose matrices come in one storage order.
fn of_few_bits(format: Format) -> bool {
    matches!(format, Format::S4 | Format::U4 | Format::B1)
}

/// The distance between rows or columns.
fn stride<'a>(body: &mut Body<'a>, operand: Option<&Operand<'a>>) -> Checked<Option<u32>> {
    match operand {
        Some(operand) => body.count(operand).map(Some),
        None => Ok(None),
    }
}
