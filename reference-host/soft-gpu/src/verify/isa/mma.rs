//! `mma`: products of matrices that a warp holds in registers.
//!
//! Source: PTX ISA, "Matrix multiply-accumulate operation using mma instruction".

use super::super::body::Body;
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::operand::form;
use super::vectors::{are_bits, part_type};
use crate::ast::{Operand, OperandKind};
use crate::code::Op;
use crate::exec::float::Rounding;
use crate::exec::tensor::format::{Accumulator, Format};
use crate::exec::tensor::layout::{Layout, Major};
use crate::exec::tensor::{Combine, Kind, Matrix, Product};
use crate::types::Type;

pub(super) fn mma<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    if inst
        .modifiers
        .has(&["sp", "sp::ordered_metadata"])
        .is_some()
    {
        return inst.modifiers.unsupported("a sparse matrix");
    }
    need_whole_warp(&mut inst)?;
    let shape = inst
        .modifiers
        .need_one(SHAPES, "a shape such as .m16n8k8")?;
    let a_major = take_major(&mut inst)?;
    let b_major = take_major(&mut inst)?;
    let saturates = inst.modifiers.take("satfinite");
    let directed = inst.modifiers.has(&["rn", "rz", "rm", "rp"]);
    let rounding = inst.modifiers.rounding();
    let combine = inst.modifiers.take_one(&["xor", "and"]);
    let counts = inst.modifiers.take("popc");
    if inst
        .modifiers
        .has(&[
            "kind::f8f6f4",
            "kind::mxf8f6f4",
            "kind::mxf4",
            "kind::mxf4nvf4",
        ])
        .is_some()
    {
        return inst.requires(body, "with a kind", (8, 7), 120);
    }
    let d = need_accumulator(&mut inst)?;
    let a = need_format(&mut inst)?;
    let b = need_format(&mut inst)?;
    let c = need_accumulator(&mut inst)?;
    inst.modifiers.end()?;
    let size = size_of(shape);
    let Some((version, target)) = floor(shape, [a, b], [d, c], combine) else {
        return types(&inst);
    };
    inst.requires(body, "of that shape and type", version, target)?;
    let of_bits = a == Format::B1;
    if of_bits != combine.is_some() || of_bits != counts {
        return inst
            .modifiers
            .missing("an operation and .popc, for single bits alone");
    }
    if saturates && (c != Accumulator::S32 || of_bits) {
        return inst.modifiers.clash("satfinite");
    }
    if let Some(word) = directed
        && a != Format::F64
    {
        return inst.modifiers.clash(word);
    }
    let old = shape == "m8n8k4" && a == Format::F16;
    if !old && (a_major, b_major) != (Major::Row, Major::Column) {
        return inst.modifiers.clash(if a_major == Major::Column {
            "col"
        } else {
            "row"
        });
    }
    let layout = if old {
        Layout::QuadPairs
    } else {
        Layout::Groups
    };
    let mut product = product(
        size,
        layout,
        [a, b],
        [a_major, b_major],
        [d, c],
        saturates,
        combine,
    );
    product.rounding = rounding.unwrap_or(Rounding::Nearest);
    inst.arity(4)?;
    let counts = if old {
        let of = |format: Accumulator| if format == Accumulator::F16 { 4 } else { 8 };
        [of(d), 2, 2, of(c)]
    } else {
        product.registers()
    };
    emit(body, &inst, product, counts)
}

/// Checks the operands of a product and emits it.
pub(super) fn emit<'a>(
    body: &mut Body<'a>,
    inst: &Inst<'a>,
    product: Product,
    counts: [usize; 4],
) -> Checked<()> {
    let [d_count, a_count, b_count, c_count] = counts;
    let a = sources(body, inst.operand(1)?, factor_type(product.a), a_count)?;
    let b = sources(body, inst.operand(2)?, factor_type(product.b), b_count)?;
    let c = sources(body, inst.operand(3)?, sum_type(product.c), c_count)?;
    let d = targets(body, inst.operand(0)?, sum_type(product.d), d_count)?;
    let wide = product.a == Format::F64;
    emit_matrix(
        body,
        inst,
        Matrix {
            kind: Kind::Multiply(product),
            wide,
            d,
            a,
            b,
            c,
            place: None,
            stride: None,
        },
    )
}

/// Emits a matrix instruction, which all lanes of the warp execute together.
pub(super) fn emit_matrix<'a>(body: &mut Body<'a>, inst: &Inst<'a>, matrix: Matrix) -> Checked<()> {
    let members = body.constant32(u32::MAX, inst.opcode.pos)?;
    let index = u32::try_from(body.code.matrices.len()).unwrap_or(u32::MAX);
    body.code.matrices.push(matrix);
    body.begin_block();
    body.emit(Op::Matrix { index, members });
    Ok(())
}

/// `.sync.aligned`
pub(super) fn need_whole_warp(inst: &mut Inst<'_>) -> Checked<()> {
    inst.modifiers.need_one(&["sync"], ".sync")?;
    inst.modifiers.need_one(&["aligned"], ".aligned")?;
    Ok(())
}

/// `.row` or `.col`
pub(super) fn take_major(inst: &mut Inst<'_>) -> Checked<Major> {
    let word = inst
        .modifiers
        .need_one(&["row", "col"], "a layout, one of .row, .col")?;
    Ok(if word == "row" {
        Major::Row
    } else {
        Major::Column
    })
}

const SHAPES: &[&str] = &[
    "m8n8k4",
    "m8n8k16",
    "m8n8k32",
    "m8n8k128",
    "m16n8k4",
    "m16n8k8",
    "m16n8k16",
    "m16n8k32",
    "m16n8k64",
    "m16n8k128",
    "m16n8k256",
];

/// `mMnNkK` as numbers.
pub(super) fn size_of(shape: &str) -> [usize; 3] {
    let mut numbers = shape
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

pub(super) fn need_format(inst: &mut Inst<'_>) -> Checked<Format> {
    const WORDS: &[&str] = &[
        "f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1", "f32", "s32",
    ];
    let word = inst.modifiers.need_one(WORDS, "the type of a factor")?;
    match Format::of_word(word) {
        Some(format) => Ok(format),
        None => inst.modifiers.clash(word),
    }
}

pub(super) fn need_accumulator(inst: &mut Inst<'_>) -> Checked<Accumulator> {
    const WORDS: &[&str] = &[
        "f16", "f32", "f64", "s32", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1",
    ];
    let word = inst.modifiers.need_one(WORDS, "the type of a sum")?;
    match Accumulator::of_word(word) {
        Some(format) => Ok(format),
        None => inst.modifiers.clash(word),
    }
}

/// The version and target that first had a product, if any has.
fn floor(
    shape: &str,
    [a, b]: [Format; 2],
    [d, c]: [Accumulator; 2],
    combine: Option<&str>,
) -> Option<((u32, u32), u32)> {
    use Accumulator as S;
    use Format as F;
    let plain = |at: ((u32, u32), u32)| Some(at);
    match (a, b, d, c) {
        (F::F16, F::F16, S::F16, S::F16) | (F::F16, F::F16, S::F32, S::F32) => match shape {
            "m8n8k4" => plain(((6, 4), 70)),
            "m16n8k8" => plain(((6, 5), 75)),
            "m16n8k16" => plain(((7, 0), 80)),
            _ => None,
        },
        (F::F16, F::F16, S::F32, S::F16) if shape == "m8n8k4" => plain(((6, 4), 70)),
        (F::Bf16, F::Bf16, S::F32, S::F32) if matches!(shape, "m16n8k8" | "m16n8k16") => {
            plain(((7, 0), 80))
        }
        (F::Tf32, F::Tf32, S::F32, S::F32) if matches!(shape, "m16n8k4" | "m16n8k8") => {
            plain(((7, 0), 80))
        }
        (F::F64, F::F64, S::F64, S::F64) => match shape {
            "m8n8k4" => plain(((7, 0), 80)),
            "m16n8k4" | "m16n8k8" | "m16n8k16" => plain(((7, 8), 90)),
            _ => None,
        },
        (F::E4m3 | F::E5m2, F::E4m3 | F::E5m2, S::F32, S::F32) => match shape {
            "m16n8k16" => plain(((8, 7), 89)),
            "m16n8k32" => plain(((8, 4), 89)),
            _ => None,
        },
        (F::E4m3 | F::E5m2, F::E4m3 | F::E5m2, S::F16, S::F16)
            if matches!(shape, "m16n8k16" | "m16n8k32") =>
        {
            plain(((8, 7), 89))
        }
        (F::S8 | F::U8, F::S8 | F::U8, S::S32, S::S32) => match shape {
            "m8n8k16" => plain(((6, 5), 75)),
            "m16n8k16" | "m16n8k32" => plain(((7, 0), 80)),
            _ => None,
        },
        (F::S4 | F::U4, F::S4 | F::U4, S::S32, S::S32) => match shape {
            "m8n8k32" => plain(((6, 5), 75)),
            "m16n8k32" | "m16n8k64" => plain(((7, 0), 80)),
            _ => None,
        },
        (F::B1, F::B1, S::S32, S::S32) => match (shape, combine) {
            ("m8n8k128" | "m16n8k128" | "m16n8k256", Some("and")) => plain(((7, 1), 80)),
            ("m8n8k128", _) => plain(((7, 0), 75)),
            ("m16n8k128" | "m16n8k256", _) => plain(((7, 0), 80)),
            _ => None,
        },
        _ => None,
    }
}

/// Fails because the types do not go together, or not with the shape.
pub(super) fn types<T>(inst: &Inst<'_>) -> Checked<T> {
    fail(
        inst.opcode.pos,
        SemanticError::OperandForm {
            expected: "types of factors and sums that go with the shape",
            found: "others",
        },
    )
}

/// A product as the executor takes it.
pub(super) fn product(
    [m, n, k]: [usize; 3],
    layout: Layout,
    [a, b]: [Format; 2],
    [a_major, b_major]: [Major; 2],
    [d, c]: [Accumulator; 2],
    saturates: bool,
    combine: Option<&str>,
) -> Product {
    Product {
        m,
        n,
        k,
        layout,
        a,
        b,
        a_major,
        b_major,
        c,
        d,
        saturates,
        rounding: Rounding::Nearest,
        combine: if combine == Some("and") {
            Combine::And
        } else {
            Combine::Xor
        },
    }
}

/// The type of a register that holds part of a factor: untyped bits, or what the elements are.
fn factor_type(format: Format) -> Type {
    match format {
        Format::F16 => Type::F16x2,
        Format::Bf16 | Format::Tf32 => Type::Bf16x2,
        Format::F64 => Type::F64,
        Format::E4m3 | Format::E5m2 | Format::S8 | Format::U8 | Format::S4 | Format::U4 => {
            Type::U32
        }
        Format::B1 => Type::B32,
    }
}

/// The type of a register that holds part of a sum.
pub(super) fn sum_type(format: Accumulator) -> Type {
    match format {
        Accumulator::F16 => Type::F16x2,
        Accumulator::F32 => Type::F32,
        Accumulator::F64 => Type::F64,
        Accumulator::S32 => Type::S32,
    }
}

/// The type of a register of a fragment that `wmma` loads or stores.
pub(super) fn fragment_type(format: Format) -> Type {
    if format == Format::F64 {
        Type::F64
    } else {
        Type::B32
    }
}

/// The registers of a vector that is read.
pub(super) fn sources<'a>(
    body: &mut Body<'a>,
    operand: &'a Operand<'a>,
    ty: Type,
    count: usize,
) -> Checked<Vec<u32>> {
    let mut registers = Vec::with_capacity(count);
    let parts = vector(body, operand, count)?;
    let bits = fit(body, parts, ty)?;
    for part in parts {
        let ty = match part.kind {
            // Packed floats may be given as bits, integers may not.
            OperandKind::Int(_) if matches!(ty, Type::F16x2 | Type::Bf16x2) => Type::B32,
            OperandKind::Int(_) if matches!(ty, Type::U32 | Type::S32) => {
                return fail(
                    part.pos,
                    SemanticError::OperandForm {
                        expected: "a register",
                        found: form(&part.kind),
                    },
                );
            }
            _ => part_type(ty, bits, part),
        };
        registers.push(body.source(part, ty)?);
    }
    Ok(registers)
}

/// The registers of a vector that is written.
pub(super) fn targets<'a>(
    body: &mut Body<'a>,
    operand: &'a Operand<'a>,
    ty: Type,
    count: usize,
) -> Checked<Vec<u32>> {
    let mut registers = Vec::with_capacity(count);
    let parts = vector(body, operand, count)?;
    if parts
        .iter()
        .all(|part| matches!(part.kind, OperandKind::Sink))
    {
        return fail(
            operand.pos,
            SemanticError::OperandForm {
                expected: "a destination register",
                found: "a vector of `_`",
            },
        );
    }
    let bits = fit(body, parts, ty)?;
    for part in parts {
        registers.push(body.dest_or_sink(part, part_type(ty, bits, part))?);
    }
    Ok(registers)
}

/// Whether the parts of a fragment count as bits; as integers, no float of any kind may stand among them.
fn fit<'a>(body: &mut Body<'a>, parts: &[Operand<'a>], ty: Type) -> Checked<bool> {
    let bits = are_bits(body, parts)?;
    if !bits && ty.is_integer() {
        body.no_floats(parts)?;
    }
    Ok(bits)
}

/// The parts of a vector; one register alone is no vector.
fn vector<'a>(
    body: &Body<'a>,
    operand: &'a Operand<'a>,
    count: usize,
) -> Checked<&'a [Operand<'a>]> {
    let OperandKind::Vector(parts) = operand.kind else {
        return fail(
            operand.pos,
            SemanticError::OperandForm {
                expected: "a vector",
                found: form(&operand.kind),
            },
        );
    };
    let parts = body.nested(parts);
    if parts.len() == count {
        return Ok(parts);
    }
    fail(
        operand.pos,
        SemanticError::VectorLength {
            expected: count,
            found: parts.len(),
        },
    )
}
