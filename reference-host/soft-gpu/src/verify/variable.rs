//! Variables: size, alignment, place and initial bytes.

use super::error::{Checked, SemanticError, Unsupported, fail};
use super::module::Verifier;
use super::special::is_special_name;
use super::symbols::{Resolved, Symbol};
use crate::ast::{Item, Linkage, Name, Pos, Stmt, VarSpace, Variable};
use crate::code::NONE;
use crate::globals::Placed;
use crate::limits::{
    MAX_ALIGN, MAX_CONST_BYTES, MAX_GLOBAL_BYTES, MAX_OWNER_BYTES, MAX_STATIC_SHARED_BYTES,
};
use crate::module::PlacedShared;
use crate::pool;
use crate::types::Type;

impl<'a> Verifier<'a> {
    /// Sums the shared variables that do not belong to one kernel alone.
    pub(super) fn common_shared(&self) -> Checked<u64> {
        let mut total = 0u64;
        for item in &self.ast.items {
            match item {
                Item::Variable(variable) => self.add_shared(variable, &mut total)?,
                Item::Function(function) if !function.entry => {
                    for stmt in self.ast.body(function) {
                        if let Stmt::Variable(variable) = stmt {
                            self.add_shared(variable, &mut total)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(total)
    }

    fn add_shared(&self, variable: &Variable<'a>, total: &mut u64) -> Checked<()> {
        if variable.space == VarSpace::Shared && !is_dynamic(variable) {
            let shape = shape_of(variable)?;
            *total = total
                .next_multiple_of(shape.align)
                .saturating_add(shape.bytes);
        }
        Ok(())
    }

    /// Checks that the module's version and target have a variable's type.
    pub(super) fn type_has_come(&self, variable: &Variable<'_>) -> Checked<()> {
        if variable.count().is_some() && variable.space != VarSpace::Reg {
            return fail(
                variable.name.pos,
                Unsupported::Declaration("ranges of variables in memory".to_owned()),
            );
        }
        if variable.vector > 1 {
            return Ok(());
        }
        let array = !variable.dims().is_empty();
        type_has_come(variable.ty, array, self.ast.version, self.target)
    }

    /// A module-level variable.
    pub(super) fn variable(&mut self, variable: &'a Variable<'a>) -> Checked<()> {
        if is_special_name(variable.name.text) {
            return fail(
                variable.name.pos,
                SemanticError::Duplicate(variable.name.text.to_owned()),
            );
        }
        self.type_has_come(variable)?;
        let symbol = match variable.space {
            VarSpace::Global | VarSpace::Const => return self.initialised(variable, None),
            // Names of dynamic shared memory may be declared again, of the same type.
            VarSpace::Shared
                if is_dynamic(variable)
                    && matches!(
                        self.scopes.resolve(variable.name.text),
                        Some(Resolved::Symbol(Symbol::DynamicShared))
                    ) =>
            {
                if self.dynamic_shared.get(variable.name.text) != Some(&variable.ty.text) {
                    return fail(
                        variable.name.pos,
                        SemanticError::DeclarationMismatch(variable.name.text.to_owned()),
                    );
                }
                return self.shared(variable, true).map(drop);
            }
            VarSpace::Shared => {
                if is_dynamic(variable) {
                    let types = &mut self.dynamic_shared;
                    types.insert(variable.name.text, variable.ty.text);
                }
                self.shared(variable, true)?
            }
            VarSpace::Reg | VarSpace::Local | VarSpace::Param => {
                return fail(
                    variable.name.pos,
                    SemanticError::InvalidDeclaration {
                        name: variable.name.text.to_owned(),
                        reason: "this state space belongs inside a function",
                    },
                );
            }
        };
        self.scopes.declare(variable.name, symbol)
    }

    /// Places a shared variable; one of a kernel's own goes behind all common ones.
    pub(crate) fn shared(&mut self, variable: &Variable<'a>, common: bool) -> Checked<Symbol> {
        no_initialiser(variable)?;
        if is_dynamic(variable) {
            if variable.linkage != Linkage::Extern {
                return fail(
                    variable.name.pos,
                    SemanticError::InvalidDeclaration {
                        name: variable.name.text.to_owned(),
                        reason: "an array without a size must be .extern",
                    },
                );
            }
            let align = shape_of(variable)?.align as u32;
            let strictest = &mut self.module.dynamic_shared_align;
            *strictest = align.max(*strictest);
            return Ok(Symbol::DynamicShared);
        }
        let shape = shape_of(variable)?;
        let base = if common {
            &mut self.shared_cursor
        } else {
            &mut self.module.kernel_shared_cursor
        };
        let start = base.next_multiple_of(shape.align);
        *base = start.saturating_add(shape.bytes);
        if *base > MAX_STATIC_SHARED_BYTES {
            return fail(
                variable.name.pos,
                SemanticError::TooLarge {
                    what: "static shared memory",
                    bytes: *base,
                    limit: MAX_STATIC_SHARED_BYTES,
                },
            );
        }
        let placed = PlacedShared {
            name: variable.name.text.into(),
            kernel: if common { NONE } else { self.running },
            offset: start as u32,
            bytes: shape.bytes as u32,
        };
        pool::push(&mut self.module.shared, placed);
        Ok(Symbol::Shared {
            offset: start as u32,
        })
    }

    /// A `.global` or `.const` variable with its initial bytes; `owner` is the function around it, if there is one.
    pub(crate) fn initialised(
        &mut self,
        variable: &'a Variable<'a>,
        owner: Option<&str>,
    ) -> Checked<()> {
        let name = variable.name;
        let invalid = |reason| {
            fail(
                name.pos,
                SemanticError::InvalidDeclaration {
                    name: name.text.to_owned(),
                    reason,
                },
            )
        };
        let external = variable.linkage == Linkage::Extern;
        if external && variable.init().is_some() {
            return invalid("an .extern variable has no initialiser");
        }
        if variable.linkage == Linkage::Common && variable.space != VarSpace::Global {
            return invalid(".common variables are in .global space");
        }
        if external && variable.dims().contains(&None) {
            return fail(
                name.pos,
                Unsupported::Declaration(format!(".extern variable {} without a size", name.text)),
            );
        }
        let mut shape = shape_of(variable)?;
        if let (Some(init), Some(None)) = (variable.init(), variable.dims().first()) {
            // `name[] = {…}` takes its length from the initialiser.
            let mut longest = None;
            init.for_each_path(|_, path| {
                longest = longest.max(path.first().copied());
                Ok(())
            })?;
            let count = longest.map_or(0, |last| u64::from(last) + 1);
            let rows = variable.dims().iter().skip(1).flatten();
            let row = rows.fold(shape.element_bytes, |row, dim| row.saturating_mul(*dim));
            shape.bytes = row.saturating_mul(count);
        } else if variable.dims().iter().any(Option::is_none) {
            return fail(
                name.pos,
                SemanticError::InvalidDeclaration {
                    name: name.text.to_owned(),
                    reason: "an array needs a size",
                },
            );
        }
        let constant = variable.space == VarSpace::Const;
        let known = KnownVariable {
            constant,
            ty: shape.ty,
            bytes: shape.bytes,
            external,
            start: 0,
        };
        if let (None, Some(old)) = (owner, self.globals.get_mut(name.text))
            && (external || old.external)
        {
            // Declared before as .extern, or now of one that is there already.
            if !old.is_like(&known) || (!external && variable.linkage == Linkage::Internal) {
                return fail(
                    name.pos,
                    SemanticError::DeclarationMismatch(name.text.to_owned()),
                );
            }
            old.external &= external;
            let start = old.start;
            return match variable.init() {
                Some(init) => self.initialise(variable, init, start as usize, &shape),
                None => Ok(()),
            };
        }
        let (image, what, limit) = if constant {
            (
                &mut self.module.const_image,
                "constant memory",
                MAX_CONST_BYTES,
            )
        } else {
            (
                &mut self.module.global_image,
                "global variables",
                MAX_GLOBAL_BYTES,
            )
        };
        // Addresses are aligned, from which offsets follow.
        let base = if constant {
            0
        } else {
            self.module.globals_base
        };
        let used = image.size_bytes() as u64;
        let start = base
            .saturating_add(used)
            .checked_next_multiple_of(shape.align)
            .map_or(u64::MAX, |address| address.saturating_sub(base));
        let end = start.saturating_add(shape.bytes);
        if end > limit {
            return if constant {
                fail(
                    name.pos,
                    SemanticError::TooLarge {
                        what,
                        bytes: end,
                        limit,
                    },
                )
            } else {
                fail(
                    name.pos,
                    Unsupported::Limit {
                        what: "bytes of global variables",
                        count: end,
                        limit,
                    },
                )
            };
        }
        image.reach(end as usize);
        let symbol = if constant {
            Symbol::Const {
                offset: start as u32,
            }
        } else {
            Symbol::Global {
                address: base.saturating_add(start),
            }
        };
        self.scopes.declare(name, symbol)?;
        if owner.is_none() {
            let start = start as u32;
            self.globals
                .insert(name.text, KnownVariable { start, ..known });
        }
        pool::push(
            &mut self.module.variables,
            Placed {
                name: match owner {
                    Some(function) => {
                        let function = function.get(..MAX_OWNER_BYTES).unwrap_or(function);
                        format!("{function}.{}", name.text)
                    }
                    None => name.text.to_owned(),
                }
                .into_boxed_str(),
                constant,
                offset: start as u32,
                bytes: shape.bytes as u32,
            },
        );
        match variable.init() {
            Some(init) => self.initialise(variable, init, start as usize, &shape),
            None => Ok(()),
        }
    }
}

/// `.extern .shared x[]`: its size comes with the launch.
fn is_dynamic(variable: &Variable<'_>) -> bool {
    variable.dims().first().is_some_and(Option::is_none)
}

/// Refuses an initialiser in a space that has none.
pub(crate) fn no_initialiser(variable: &Variable<'_>) -> Checked<()> {
    match variable.init() {
        Some(init) => fail(
            init.pos,
            SemanticError::InvalidInitialiser {
                name: variable.name.text.to_owned(),
                reason: "only .global and .const variables have one",
            },
        ),
        None => Ok(()),
    }
}

/// A variable of the module as declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownVariable {
    constant: bool,
    ty: Type,
    bytes: u64,
    /// Declared .extern and not defined so far.
    external: bool,
    /// Where it starts in its image.
    start: u32,
}

impl KnownVariable {
    fn is_like(&self, other: &Self) -> bool {
        (self.constant, self.ty, self.bytes) == (other.constant, other.ty, other.bytes)
    }
}

/// Size and alignment of a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) ty: Type,
    pub(crate) element_bytes: u64,
    pub(crate) bytes: u64,
    pub(crate) align: u64,
}

/// The type that a declaration names.
pub(crate) fn declared_type(word: Name<'_>) -> Checked<Type> {
    match Type::of_word(word.text) {
        // Some types exist in instructions alone: their values live in registers of bits.
        Some(ty) if !matches!(word.text, "bf16" | "bf16x2" | "tf32") => Ok(ty),
        _ if matches!(word.text, "texref" | "samplerref" | "surfref") => fail(
            word.pos,
            Unsupported::Declaration(format!("type .{}", word.text)),
        ),
        _ => fail(word.pos, SemanticError::UnknownType(word.text.to_owned())),
    }
}

/// Packed halves are a type of registers and of memory, not of parameters.
pub(crate) fn parameter_type(word: Name<'_>) -> Checked<()> {
    if word.text == "f16x2" {
        return fail(
            word.pos,
            SemanticError::InvalidDeclaration {
                name: format!(".{}", word.text),
                reason: "not a type of .param variables",
            },
        );
    }
    Ok(())
}

/// Checks an alignment by itself.
pub(crate) fn valid_alignment(align: u64, pos: Pos) -> Checked<()> {
    if align.is_power_of_two() && align <= u64::from(u32::MAX) {
        return Ok(());
    }
    fail(pos, SemanticError::InvalidAlignment(align))
}

/// Checks that a version and a target have a type of declarations; ptxas looks at `.b128` only where it stands for one value.
pub(crate) fn type_has_come(
    word: Name<'_>,
    array: bool,
    version: (u32, u32),
    target: u32,
) -> Checked<()> {
    let (since, least) = match word.text {
        "b128" if !array => ((8, 3), 70),
        "f16x2" => ((4, 2), 53),
        _ => return Ok(()),
    };
    let what = format!("type .{}", word.text);
    if version < since {
        let (major, minor) = since;
        return fail(
            word.pos,
            SemanticError::RequiresVersion { what, major, minor },
        );
    }
    if target < least {
        let target = least;
        return fail(word.pos, SemanticError::RequiresTarget { what, target });
    }
    Ok(())
}

/// The size and alignment that a declaration asks for.
pub(crate) fn shape_of(variable: &Variable<'_>) -> Checked<Shape> {
    shape(
        variable.ty,
        variable.name,
        variable.align(),
        variable.vector,
        variable.dims(),
    )
}

/// The size and alignment of `dims` elements of a vector of `ty`.
pub(crate) fn shape(
    word: Name<'_>,
    name: Name<'_>,
    align: Option<u64>,
    vector: u8,
    dims: &[Option<u64>],
) -> Checked<Shape> {
    let ty = declared_type(word)?;
    if ty == Type::Pred {
        return fail(
            word.pos,
            SemanticError::InvalidDeclaration {
                name: name.text.to_owned(),
                reason: "a predicate lives in a register only",
            },
        );
    }
    let element_bytes = u64::from(ty.bytes()).saturating_mul(u64::from(vector.max(1)));
    let mut bytes = element_bytes;
    for dim in dims {
        if *dim == Some(0) {
            return fail(
                name.pos,
                SemanticError::InvalidDeclaration {
                    name: name.text.to_owned(),
                    reason: "an array has one element at least",
                },
            );
        }
        bytes = bytes.saturating_mul(dim.unwrap_or(0));
    }
    let natural = element_bytes;
    let align = match align {
        None => natural,
        Some(align) if align.is_power_of_two() && align <= MAX_ALIGN => align.max(natural),
        Some(align) if align.is_power_of_two() && u32::try_from(align).is_ok() => {
            return fail(
                word.pos,
                Unsupported::Limit {
                    what: "bytes of alignment",
                    count: align,
                    limit: MAX_ALIGN,
                },
            );
        }
        Some(align) => return fail(word.pos, SemanticError::InvalidAlignment(align)),
    };
    Ok(Shape {
        ty,
        element_bytes,
        bytes,
        align,
    })
}
