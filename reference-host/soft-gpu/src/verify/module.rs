//! Module-level directives: version, target, variables and functions in source order.

use super::body::LineCursor;
use super::error::{Checked, Failure, MAX_TARGET, SemanticError, Unsupported, fail};
use super::symbols::{Scopes, Symbol};
use crate::ast::{self, InitValue, Item, Linkage, Name, Stmt, VarSpace, Variable};
use crate::code::Code;
use crate::error::{Location, PtxError};
use crate::memory::{CONST_BASE, FUNCTION_BASE, FUNCTION_STRIDE, GLOBALS_BASE, SHARED_BASE};
use crate::module::{Entry, Module, Placed};
use crate::types::{Kind, Type};

/// Most bytes of static shared memory in a kernel.
pub(crate) const MAX_STATIC_SHARED_BYTES: u64 = 48 * 1024;
/// Most bytes of `.const` variables in a module.
const MAX_CONST_BYTES: u64 = 64 * 1024;
/// Most bytes of `.global` variables in a module.
const MAX_GLOBAL_BYTES: u64 = 64 * 1024 * 1024;

/// Verifies and lowers a module.
///
/// # Errors
///
/// The first thing wrong, in source order.
pub(crate) fn verify(source: &[u8], ast: &ast::Module<'_>) -> Result<Module, PtxError> {
    let mut verifier = Verifier::new(source, ast);
    match verifier.run() {
        Ok(()) => Ok(verifier.module),
        Err(Failure { pos, cause }) => Err(PtxError {
            at: Location::of(source, pos),
            cause,
        }),
    }
}

/// A module under construction.
pub(crate) struct Verifier<'a> {
    pub(crate) source: &'a [u8],
    pub(crate) ast: &'a ast::Module<'a>,
    pub(crate) scopes: Scopes<'a>,
    pub(crate) module: Module,
    pub(crate) target: u32,
    pub(crate) line: LineCursor,
    /// Bytes of shared memory that every kernel has: module-level variables and those of device functions.
    pub(crate) common_shared_bytes: u64,
    /// Shared bytes placed so far of [`Verifier::common_shared_bytes`].
    pub(crate) shared_cursor: u64,
    /// Names of functions by index, with their declared shape.
    pub(crate) declared: Vec<DeclaredFunction<'a>>,
    /// Calls and address takings of functions, to check that each is defined.
    pub(crate) used: Vec<(u32, Name<'a>)>,
}

/// A function as declared or defined.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredFunction<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) entry: bool,
    pub(crate) defined: bool,
    pub(crate) params: Vec<u32>,
    pub(crate) results: Vec<u32>,
}

impl<'a> Verifier<'a> {
    fn new(source: &'a [u8], ast: &'a ast::Module<'a>) -> Self {
        Self {
            source,
            ast,
            scopes: Scopes::default(),
            module: Module::empty(),
            target: 0,
            line: LineCursor { line: 1, pos: 0 },
            common_shared_bytes: 0,
            shared_cursor: 0,
            declared: Vec::new(),
            used: Vec::new(),
        }
    }

    fn run(&mut self) -> Checked<()> {
        self.check_version()?;
        self.check_target()?;
        if let Some((size, pos)) = self.ast.address_size
            && size != 64
        {
            return fail(pos, SemanticError::AddressSize(size));
        }
        self.common_shared_bytes = self.common_shared()?;
        for item in &self.ast.items {
            match item {
                Item::Variable(variable) => self.variable(variable)?,
                Item::Function(function) => self.function(function)?,
                Item::Alias { alias, .. } => {
                    return fail(alias.pos, Unsupported::Declaration(".alias".to_owned()));
                }
            }
        }
        for &(function, name) in &self.used {
            if self
                .declared
                .get(function as usize)
                .is_some_and(|declared| !declared.defined)
            {
                if is_runtime_function(name.text) {
                    return fail(
                        name.pos,
                        Unsupported::Declaration(format!("runtime function {}", name.text)),
                    );
                }
                return fail(
                    name.pos,
                    SemanticError::UndefinedFunction(name.text.to_owned()),
                );
            }
        }
        Ok(())
    }

    fn check_version(&self) -> Checked<()> {
        let (major, minor) = self.ast.version;
        let last_minor = match major {
            1 => 5,
            2 => 3,
            3 => 2,
            4 => 3,
            5 => 0,
            6 => 5,
            7 | 8 => 8,
            super::error::MAX_VERSION_MAJOR => super::error::MAX_VERSION_MINOR,
            _ => {
                return fail(
                    self.ast.version_pos,
                    SemanticError::UnsupportedVersion { major, minor },
                );
            }
        };
        if minor > last_minor {
            return fail(
                self.ast.version_pos,
                SemanticError::UnsupportedVersion { major, minor },
            );
        }
        Ok(())
    }

    fn check_target(&mut self) -> Checked<()> {
        for word in &self.ast.target {
            let Some(architecture) = word.text.strip_prefix("sm_") else {
                if matches!(
                    word.text,
                    "debug" | "texmode_unified" | "texmode_independent" | "map_f64_to_f32"
                ) {
                    continue;
                }
                return fail(word.pos, SemanticError::UnknownTarget(word.text.to_owned()));
            };
            let number = architecture.trim_end_matches(['a', 'f']);
            let Some(&(target, needed)) = ARCHITECTURES
                .iter()
                .find(|(known, _)| number.parse() == Ok(*known))
            else {
                return fail(word.pos, SemanticError::UnknownTarget(word.text.to_owned()));
            };
            if self.target != 0 {
                return fail(
                    word.pos,
                    SemanticError::Duplicate(".target architecture".to_owned()),
                );
            }
            if target > MAX_TARGET {
                return fail(
                    word.pos,
                    SemanticError::TargetTooNew {
                        target: word.text.to_owned(),
                    },
                );
            }
            if self.ast.version < needed {
                return fail(
                    self.ast.version_pos,
                    SemanticError::Requires {
                        opcode: format!(".target {}", word.text),
                        needed: "a newer .version",
                    },
                );
            }
            self.target = target;
        }
        if self.target == 0 {
            return fail(
                self.ast.version_pos,
                SemanticError::UnknownTarget("none".to_owned()),
            );
        }
        Ok(())
    }

    /// Sums the shared variables that do not belong to one kernel alone.
    fn common_shared(&self) -> Checked<u64> {
        let mut total = 0u64;
        for item in &self.ast.items {
            match item {
                Item::Variable(variable) => self.add_shared(variable, &mut total)?,
                Item::Function(function) if !function.entry => {
                    let Some(body) = function.body else { continue };
                    for stmt in self
                        .ast
                        .stmts
                        .get(body.start as usize..body.end as usize)
                        .unwrap_or_default()
                    {
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

    /// A module-level variable.
    fn variable(&mut self, variable: &'a Variable<'a>) -> Checked<()> {
        let symbol = match variable.space {
            VarSpace::Global | VarSpace::Const => return self.initialised(variable),
            VarSpace::Shared => self.shared(variable, true)?,
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

    /// Places a shared variable; one of a kernel'a own goes behind all common ones.
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
        Ok(Symbol::Shared {
            offset: start as u32,
        })
    }

    /// A `.global` or `.const` variable with its initial bytes.
    pub(crate) fn initialised(&mut self, variable: &'a Variable<'a>) -> Checked<()> {
        let name = variable.name;
        if variable.linkage == Linkage::Extern {
            return fail(
                name.pos,
                Unsupported::Declaration(format!(".extern variable {}", name.text)),
            );
        }
        let mut shape = shape_of(variable)?;
        if let (Some(init), Some(None)) = (&variable.init, variable.dims.first()) {
            // `name[] = {…}` takes its length from the initialiser.
            let count = init
                .leaves
                .iter()
                .filter_map(|leaf| leaf.path.first())
                .max()
                .map_or(0, |last| u64::from(*last) + 1);
            shape.bytes = shape.element_bytes.saturating_mul(count);
        } else if variable.dims.iter().any(Option::is_none) {
            return fail(
                name.pos,
                SemanticError::InvalidDeclaration {
                    name: name.text.to_owned(),
                    reason: "an array needs a size",
                },
            );
        }
        let constant = variable.space == VarSpace::Const;
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
        let start = (image.len() as u64).next_multiple_of(shape.align);
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
        image.resize(end as usize, 0);
        let symbol = if constant {
            Symbol::Const {
                offset: start as u32,
            }
        } else {
            Symbol::Global {
                address: GLOBALS_BASE + start,
            }
        };
        self.scopes.declare(name, symbol)?;
        self.module.variables.push(Placed {
            name: name.text.to_owned(),
            constant,
            offset: start as usize,
            bytes: shape.bytes as usize,
        });
        match &variable.init {
            Some(init) => self.initialise(variable, init, start as usize, &shape),
            None => Ok(()),
        }
    }

    fn initialise(
        &mut self,
        variable: &Variable<'a>,
        init: &ast::Init<'a>,
        start: usize,
        shape: &Shape,
    ) -> Checked<()> {
        let invalid = |pos, reason| {
            fail(
                pos,
                SemanticError::InvalidInitialiser {
                    name: variable.name.text.to_owned(),
                    reason,
                },
            )
        };
        let width = shape.ty.bytes() as usize;
        // Strides of nested braces, outermost first: array dimensions, then the elements of a vector type.
        let mut extents: Vec<u64> = variable
            .dims
            .iter()
            .map(|dim| dim.unwrap_or(u64::MAX))
            .collect();
        if variable.vector > 1 {
            extents.push(u64::from(variable.vector));
        }
        for leaf in &init.leaves {
            if leaf.path.len() > extents.len() || (leaf.path.is_empty() && !extents.is_empty()) {
                return invalid(leaf.pos, "braces do not match the variable'a dimensions");
            }
            let mut index = 0u64;
            for (at, extent) in extents.iter().enumerate() {
                let here = leaf.path.get(at).copied().map_or(0, u64::from);
                if here >= *extent {
                    return invalid(leaf.pos, "more values than elements");
                }
                index = if at == 0 {
                    here
                } else {
                    index.saturating_mul(*extent).saturating_add(here)
                };
            }
            let bits = match (&leaf.value, shape.ty.kind()) {
                (InitValue::Int(value), Kind::Bits | Kind::Signed | Kind::Unsigned) => {
                    *value as u64
                }
                (InitValue::Int(_), _) => {
                    return invalid(leaf.pos, "an integer cannot initialise this type");
                }
                (InitValue::Float(float), Kind::Float | Kind::Bits) => {
                    super::body::float_bits(*float, shape.ty)
                }
                (InitValue::Float(_), _) => {
                    return invalid(
                        leaf.pos,
                        "a floating-point value cannot initialise this type",
                    );
                }
                (
                    InitValue::Address {
                        name,
                        generic,
                        offset,
                        mask,
                    },
                    Kind::Bits | Kind::Unsigned | Kind::Signed,
                ) => {
                    let address = self
                        .initial_address(*name, *generic)?
                        .wrapping_add_signed(*offset);
                    match mask {
                        // `0xFF00(name)` takes the byte under the mask.
                        Some(mask) if *mask != 0 => {
                            (address & mask) >> (mask.trailing_zeros() & !7)
                        }
                        _ if width < 8 && width < 4 => {
                            return invalid(leaf.pos, "an address needs at least 32 bits");
                        }
                        _ => address,
                    }
                }
                (InitValue::Address { .. }, _) => {
                    return invalid(leaf.pos, "an address cannot initialise this type");
                }
            };
            let image = if variable.space == VarSpace::Const {
                &mut self.module.const_image
            } else {
                &mut self.module.global_image
            };
            let at = start.saturating_add((index as usize).saturating_mul(width));
            match image.get_mut(at..at.saturating_add(width)) {
                Some(place) => {
                    place.copy_from_slice(bits.to_le_bytes().get(..width).unwrap_or_default())
                }
                None => return invalid(leaf.pos, "more values than elements"),
            }
        }
        Ok(())
    }

    fn initial_address(&mut self, name: Name<'a>, generic: bool) -> Checked<u64> {
        match self.scopes.resolve(name.text) {
            Some(super::symbols::Resolved::Symbol(symbol)) => match symbol {
                Symbol::Global { address } => Ok(address),
                Symbol::Const { offset } => {
                    Ok(u64::from(offset) + if generic { CONST_BASE } else { 0 })
                }
                Symbol::Shared { offset } => {
                    Ok(u64::from(offset) + if generic { SHARED_BASE } else { 0 })
                }
                Symbol::Function(function) => {
                    self.used.push((function, name));
                    Ok(FUNCTION_BASE + u64::from(function) * FUNCTION_STRIDE)
                }
                other => fail(
                    name.pos,
                    SemanticError::OperandForm {
                        expected: "a variable or a function",
                        found: other.form(),
                    },
                ),
            },
            _ => fail(name.pos, SemanticError::UnknownSymbol(name.text.to_owned())),
        }
    }
}

/// Functions that the CUDA runtime supplies on a device.
fn is_runtime_function(name: &str) -> bool {
    matches!(name, "vprintf" | "malloc" | "free" | "__assertfail")
}

/// `.extern .shared x[]`: its size comes with the launch.
fn is_dynamic(variable: &Variable<'_>) -> bool {
    variable.dims.first().is_some_and(Option::is_none)
}

/// Refuses an initialiser in a space that has none.
pub(crate) fn no_initialiser(variable: &Variable<'_>) -> Checked<()> {
    match &variable.init {
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
        Some(ty) => Ok(ty),
        None if matches!(word.text, "texref" | "samplerref" | "surfref") => fail(
            word.pos,
            Unsupported::Declaration(format!("type .{}", word.text)),
        ),
        None => fail(word.pos, SemanticError::UnknownType(word.text.to_owned())),
    }
}

/// The size and alignment that a declaration asks for.
pub(crate) fn shape_of(variable: &Variable<'_>) -> Checked<Shape> {
    shape(
        variable.ty,
        variable.name,
        variable.align,
        variable.vector,
        &variable.dims,
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
    let element_bytes = u64::from(ty.bytes()) * u64::from(vector.max(1));
    let mut bytes = element_bytes;
    for dim in dims {
        bytes = bytes.saturating_mul(dim.unwrap_or(0));
    }
    let natural = element_bytes;
    let align = match align {
        None => natural,
        Some(align) if align.is_power_of_two() && align <= 128 => align.max(natural),
        Some(align) => return fail(word.pos, SemanticError::InvalidAlignment(align)),
    };
    Ok(Shape {
        ty,
        element_bytes,
        bytes,
        align,
    })
}

/// `sm_NN` and the first `.version` that knows it.
const ARCHITECTURES: &[(u32, (u32, u32))] = &[
    (10, (1, 0)),
    (11, (1, 0)),
    (12, (1, 2)),
    (13, (1, 2)),
    (20, (2, 0)),
    (21, (2, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
    (70, (6, 0)),
    (72, (6, 1)),
    (75, (6, 3)),
    (80, (7, 0)),
    (86, (7, 1)),
    (87, (7, 4)),
    (88, (9, 0)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (101, (8, 6)),
    (103, (8, 8)),
    (110, (9, 0)),
    (120, (8, 7)),
    (121, (8, 8)),
];

impl Verifier<'_> {
    /// Registers a finished kernel.
    pub(crate) fn add_entry(&mut self, entry: Entry) {
        self.module.entries.push(entry);
    }

    /// The lowered code so far.
    pub(crate) fn code(&mut self) -> &mut Code {
        &mut self.module.code
    }
}
