//! Formal parameters and results as declared.

use super::error::{Checked, SemanticError, Unsupported, fail};
use super::module::Formal;
use super::variable::{declared_type, parameter_type, shape, type_has_come};
use crate::ast::{Param, VarSpace};
use crate::limits::{MAX_FORMALS, MAX_PARAM_BYTES};
use crate::module::Param as EntryParam;
use crate::types::Type;

/// Gives a kernel's parameters their places in the parameter buffer, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    end: u64,
}

impl Layout {
    /// Places the next parameter.
    pub(crate) fn place(&mut self, param: &Param<'_>) -> Checked<EntryParam> {
        if param.space != VarSpace::Param {
            return fail(
                param.name.pos,
                SemanticError::InvalidDeclaration {
                    name: param.name.text.to_owned(),
                    reason: "a kernel's parameters are in .param space",
                },
            );
        }
        let shape = shape(param.ty, param.name, param.align, 1, &param.dims)?;
        self.put(param, shape.align, shape.bytes)
    }

    /// Places a texture, sampler or surface, which is passed as a handle of 8 bytes.
    pub(crate) fn place_handle(&mut self, param: &Param<'_>) -> Checked<EntryParam> {
        self.put(param, 8, 8)
    }

    /// Bytes of the parameter buffer so far.
    pub(crate) fn bytes(&self) -> u32 {
        self.end as u32
    }

    fn put(&mut self, param: &Param<'_>, align: u64, bytes: u64) -> Checked<EntryParam> {
        let offset = self.end.next_multiple_of(align);
        let end = offset.saturating_add(bytes);
        if end > MAX_PARAM_BYTES {
            return fail(
                param.name.pos,
                SemanticError::TooLarge {
                    what: "the kernel's parameters",
                    bytes: end,
                    limit: MAX_PARAM_BYTES,
                },
            );
        }
        self.end = end;
        Ok(EntryParam {
            name: param.name.text.to_owned(),
            offset_bytes: offset as u32,
            size_bytes: bytes as u32,
            align_bytes: align as u32,
        })
    }
}

/// The formal parameters or results of a function.
pub(super) fn formals(
    params: &[Param<'_>],
    version: (u32, u32),
    target: u32,
) -> Checked<Vec<Formal>> {
    if let Some(param) = params.get(MAX_FORMALS) {
        return fail(
            param.name.pos,
            Unsupported::Limit {
                what: "parameters of a function",
                count: params.len() as u64,
                limit: MAX_FORMALS as u64,
            },
        );
    }
    params
        .iter()
        .map(|param| formal(param, version, target))
        .collect()
}

fn formal(param: &Param<'_>, version: (u32, u32), target: u32) -> Checked<Formal> {
    if param.space == VarSpace::Reg && declared_type(param.ty)? == Type::Pred {
        return fail(
            param.ty.pos,
            Unsupported::Declaration("predicate parameters".to_owned()),
        );
    }
    if param.space == VarSpace::Reg && !param.dims.is_empty() {
        return fail(
            param.name.pos,
            SemanticError::InvalidDeclaration {
                name: param.name.text.to_owned(),
                reason: "a register is no array",
            },
        );
    }
    type_has_come(param.ty, !param.dims.is_empty(), version, target)?;
    if param.space == VarSpace::Param {
        parameter_type(param.ty)?;
    }
    let shape = shape(param.ty, param.name, param.align, 1, &param.dims)?;
    if shape.bytes > MAX_PARAM_BYTES {
        return fail(
            param.name.pos,
            SemanticError::TooLarge {
                what: "a parameter",
                bytes: shape.bytes,
                limit: MAX_PARAM_BYTES,
            },
        );
    }
    Ok(Formal {
        space: param.space,
        ty: shape.ty,
        align: shape.align,
        bytes: shape.bytes as u32,
        array: !param.dims.is_empty(),
    })
}
