//! Module-level directives: version, target, variables and functions in source order.

use hashbrown::HashMap;

use super::body::sizes;
use super::error::{Checked, MAX_TARGET, SemanticError, Unsupported, fail};
use super::instruction::{has_come, requires};
use super::symbols::Scopes;
use super::variable::KnownVariable;
use crate::ast::{self, Item, Linkage, Name, Pos, VarSpace};
use crate::code::{Code, Function, NONE, Op, Runtime};
use crate::error::{PtxError, PtxErrorCause};
use crate::module::{Entry, Module};
use crate::types::Type;

/// Verifies and lowers a module whose `.global` variables begin at `globals_base`.
///
/// # Errors
///
/// The first thing wrong, in source order.
pub(crate) fn verify(
    source: &[u8],
    ast: &ast::Module<'_>,
    globals_base: u64,
) -> Result<Module, PtxError> {
    let mut verifier = Verifier::new(ast, globals_base);
    match verifier.run() {
        Ok(()) => {
            verifier.module.source = source.into();
            // Both numbers have been found in a list of those that exist.
            let (major, minor) = ast.version;
            verifier.module.version = (major as u8, minor as u8);
            verifier.module.target = verifier.target;
            Ok(verifier.module)
        }
        Err(failure) => Err(failure.located(source)),
    }
}

/// A module under construction.
pub(crate) struct Verifier<'a> {
    pub(crate) ast: &'a ast::Module<'a>,
    pub(crate) scopes: Scopes<'a>,
    pub(crate) module: Module,
    pub(crate) target: u32,
    /// Bytes of shared memory that every kernel has: module-level variables and those of device functions.
    pub(crate) common_shared_bytes: u64,
    /// Shared bytes placed so far of [`Verifier::common_shared_bytes`].
    pub(crate) shared_cursor: u64,
    /// Number of the function whose body is being verified.
    pub(crate) running: u32,
    /// Names of functions by index, with their declared shape.
    pub(crate) declared: Vec<DeclaredFunction<'a>>,
    /// Variables of the module in `.global` and `.const` space.
    pub(crate) globals: HashMap<&'a str, KnownVariable>,
    /// Names of dynamic shared memory and the types that they were first declared with.
    pub(crate) dynamic_shared: HashMap<&'a str, &'a str>,
    /// Calls and address takings of functions, to check that each is defined.
    pub(crate) used: Vec<(u32, Name<'a>)>,
}

/// A function as declared or defined.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredFunction<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) entry: bool,
    pub(crate) linkage: Linkage,
    pub(crate) noreturn: bool,
    pub(crate) defined: bool,
    pub(crate) params: Vec<Formal>,
    pub(crate) results: Vec<Formal>,
}

/// A formal parameter or result as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Formal {
    pub(crate) space: VarSpace,
    pub(crate) ty: Type,
    pub(crate) align: u64,
    pub(crate) bytes: u32,
    pub(crate) array: bool,
}

impl Formal {
    /// Whether a variable or register may be passed for it, by type and size: arrays pass for arrays of as many bytes.
    pub(crate) fn takes(&self, ty: Type, bytes: u32, array: bool) -> bool {
        let wild = |ty: Type| ty == Type::F16x2;
        self.bytes == bytes
            && self.array == array
            && (array || self.ty.accepts(ty) || wild(ty) || wild(self.ty))
    }
}

impl<'a> Verifier<'a> {
    fn new(ast: &'a ast::Module<'a>, globals_base: u64) -> Self {
        Self {
            ast,
            scopes: Scopes::default(),
            module: Module::empty(globals_base),
            target: 0,
            common_shared_bytes: 0,
            shared_cursor: 0,
            running: NONE,
            declared: Vec::new(),
            globals: HashMap::new(),
            dynamic_shared: HashMap::new(),
            used: Vec::new(),
        }
    }

    fn run(&mut self) -> Checked<()> {
        self.check_version()?;
        self.check_target()?;
        if self.ast.version < (1, 4) {
            // Their kernels declare parameters within their bodies, and floats round by default.
            return fail(
                self.ast.version_pos,
                Unsupported::Declaration(".version 1.0 to 1.3".to_owned()),
            );
        }
        for (feature, pos) in self.ast.features.iter() {
            let (what, version, target) = feature.since();
            self.requires(pos, what, version, target)?;
        }
        if let Some((size, pos)) = self.ast.address_size {
            if size != 64 {
                return fail(pos, SemanticError::AddressSize(size));
            }
            if self.ast.version < (2, 3) {
                return fail(
                    pos,
                    SemanticError::RequiresVersion {
                        what: ".address_size".to_owned(),
                        major: 2,
                        minor: 3,
                    },
                );
            }
        }
        self.scopes.expect(self.ast.items.len());
        let variables = |item: &&Item<'_>| matches!(item, Item::Variable(variable) if matches!(variable.space, VarSpace::Global | VarSpace::Const));
        let variables = self.ast.items.iter().filter(variables).count();
        self.globals.reserve(variables);
        self.module.variables.reserve_exact(variables);
        self.common_shared_bytes = self.common_shared()?;
        for item in &self.ast.items {
            match item {
                Item::Variable(variable) => self.variable(variable)?,
                Item::Function(function) => self.function(function)?,
                Item::Alias(names) => {
                    let [alias, aliasee] = **names;
                    self.alias(alias, aliasee)?;
                }
            }
        }
        self.settle_aliases();
        let undefined = |declared: &DeclaredFunction| !declared.defined;
        let missing = self
            .declared
            .iter()
            .find(|declared| undefined(declared) && declared.linkage != Linkage::Extern);
        if let Some(missing) = missing {
            let name = missing.name;
            return fail(
                name.pos,
                SemanticError::UndefinedFunction(name.text.to_owned()),
            );
        }
        let used = std::mem::take(&mut self.used);
        let undefined: Vec<_> = used
            .into_iter()
            .filter(|(function, _)| self.declared.get(*function as usize).is_some_and(undefined))
            .collect();
        for (function, name) in undefined {
            self.supply(function, name)?;
        }
        Ok(())
    }

    /// Defines a function that is used and has no body, if the CUDA runtime supplies it.
    fn supply(&mut self, function: u32, name: Name<'_>) -> Checked<()> {
        let Some(runtime) = Runtime::of_name(name.text) else {
            return fail(
                name.pos,
                if is_foreign_runtime_function(name.text) {
                    Unsupported::Declaration(format!("runtime function {}", name.text)).into()
                } else {
                    PtxErrorCause::from(SemanticError::UndefinedFunction(name.text.to_owned()))
                },
            );
        };
        let (params, results) = runtime.signature();
        let Some(declared) = self.declared.get_mut(function as usize) else {
            return Ok(());
        };
        if declared.defined {
            // Supplied for an earlier use.
            return Ok(());
        }
        if sizes(&declared.params) != params || sizes(&declared.results) != results {
            let what = format!("runtime function {} with other parameters", name.text);
            return fail(name.pos, Unsupported::Declaration(what));
        }
        declared.defined = true;
        let code = &mut self.module.code;
        let start = u32::try_from(code.ops.len()).unwrap_or(NONE);
        code.ops
            .extend([Op::Block { cost: 1 }, Op::Runtime(runtime), Op::Return]);
        code.places.extend([name.pos; 3]);
        let frame_bytes = params
            .len()
            .saturating_add(results.len())
            .saturating_mul(16);
        if let Some(place) = code.functions.get_mut(function as usize) {
            *place = Function {
                start,
                frame_bytes: u32::try_from(frame_bytes).unwrap_or(0),
                ..Function::default()
            };
        }
        Ok(())
    }

    /// Checks that version and target have `what`.
    pub(crate) fn requires(
        &self,
        pos: Pos,
        what: &str,
        version: (u32, u32),
        target: u32,
    ) -> Checked<()> {
        requires(
            (self.ast.version, self.target),
            pos,
            what,
            (version, target),
        )
    }

    fn check_version(&self) -> Checked<()> {
        let (major, minor) = self.ast.version;
        let last_minor = match major {
            1 => 5,
            2 => 3,
            3 => 2,
            4 => 3,
            5 => 1,
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

    /// An architecture, then options and perhaps more architectures, the last of which counts.
    fn check_target(&mut self) -> Checked<()> {
        let mut texture_mode = None;
        let mut architecture = None;
        for (at, word) in self.ast.target.iter().enumerate() {
            match word.text {
                _ if at == 0 => {
                    self.target = self.architecture(word)?;
                    architecture = Some(word);
                }
                "debug" if !self.ast.debug_section => {
                    return fail(word.pos, SemanticError::NoDebugSection);
                }
                "debug" => {}
                "texmode_unified" | "texmode_independent" => {
                    if texture_mode.is_some_and(|mode| mode != word.text) {
                        return fail(word.pos, SemanticError::Duplicate(word.text.to_owned()));
                    }
                    texture_mode = Some(word.text);
                }
                "map_f64_to_f32" if self.target < 13 => {
                    return fail(
                        word.pos,
                        Unsupported::Declaration(".target map_f64_to_f32".to_owned()),
                    );
                }
                _ => {
                    self.target = self.architecture(word)?;
                    architecture = Some(word);
                }
            }
        }
        match architecture {
            Some(word) if self.target > MAX_TARGET => fail(
                word.pos,
                SemanticError::TargetTooNew {
                    target: word.text.to_owned(),
                },
            ),
            _ => Ok(()),
        }
    }

    /// The number in `sm_NN` or `compute_NN`, if the version knows it.
    fn architecture(&self, word: &Name<'_>) -> Checked<u32> {
        let number = word
            .text
            .strip_prefix("sm_")
            .or_else(|| word.text.strip_prefix("compute_"));
        // The family- and architecture-specific targets: of those that this device could run there is but one.
        let (number, specific) = match number {
            Some("90a") => (Some("90"), true),
            number => (number, false),
        };
        let number = number.and_then(|number| number.trim_end_matches(['a', 'f']).parse().ok());
        let Some(&(target, needed)) = ARCHITECTURES
            .iter()
            .find(|(known, _)| number == Some(*known))
        else {
            return fail(word.pos, SemanticError::UnknownTarget(word.text.to_owned()));
        };
        let suffixed = word.text.ends_with(['a', 'f']);
        if suffixed && target <= MAX_TARGET && !specific {
            return fail(word.pos, SemanticError::UnknownTarget(word.text.to_owned()));
        }
        let (major, minor) = if specific { (8, 0) } else { needed };
        // ptxas looks at the target where anything stands behind the header.
        if !self.ast.only_header && !has_come(self.ast.version, (major, minor)) {
            return fail(
                self.ast.version_pos,
                SemanticError::RequiresVersion {
                    what: format!(".target {}", word.text),
                    major,
                    minor,
                },
            );
        }
        Ok(target)
    }
}

/// Functions that an assembler knows as the CUDA runtime's and the software GPU does not supply.
fn is_foreign_runtime_function(name: &str) -> bool {
    matches!(name, "vfprintf")
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
        crate::pool::push(&mut self.module.entries, entry);
    }

    /// The lowered code so far.
    pub(crate) fn code(&mut self) -> &mut Code {
        &mut self.module.code
    }
}
