//! What the verifier finds wrong, in the words of a PTX assembler.

use thiserror::Error;

use crate::ast::Pos;
use crate::error::{Location, PtxError, PtxErrorCause};

/// Names, types, modifiers or sizes that do not fit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SemanticError {
    /// No such `.version`.
    #[error(
        "unsupported .version {major}.{minor}: this verifier knows 1.0 to {MAX_VERSION_MAJOR}.{MAX_VERSION_MINOR}"
    )]
    UnsupportedVersion {
        /// The part before the point.
        major: u32,
        /// The part after the point.
        minor: u32,
    },
    /// A `.target` that is not one.
    #[error(
        "unknown .target `{0}`: expected an architecture such as sm_75, or an option such as debug"
    )]
    UnknownTarget(String),
    /// `.target debug` without what it promises.
    #[error(".target debug needs a .section .debug_… of debugging information")]
    NoDebugSection,
    /// Code for a newer device.
    #[error(".target {target} needs a newer device: this one runs code up to sm_{MAX_TARGET}")]
    TargetTooNew {
        /// The architecture asked for.
        target: String,
    },
    /// `.address_size` other than 64.
    #[error(".address_size {0} is not supported: only 64 is")]
    AddressSize(u64),
    /// No such opcode.
    #[error("unknown instruction `{0}`")]
    UnknownInstruction(String),
    /// A modifier that the instruction does not take, or not there.
    #[error("unexpected modifier `.{modifier}` on `{opcode}`")]
    UnexpectedModifier {
        /// The instruction's opcode.
        opcode: String,
        /// The modifier, without its dot.
        modifier: String,
    },
    /// A modifier that the instruction cannot do without.
    #[error("`{opcode}` needs {what}")]
    MissingModifier {
        /// The instruction's opcode.
        opcode: String,
        /// What is missing, for example `a type`.
        what: &'static str,
    },
    /// A type that the instruction does not take.
    #[error("`{opcode}` does not take type .{ty}")]
    InvalidType {
        /// The instruction's opcode.
        opcode: String,
        /// The type's word.
        ty: &'static str,
    },
    /// A word that names no type.
    #[error("unknown type `.{0}`")]
    UnknownType(String),
    /// A name that nothing declares.
    #[error("unknown symbol `{0}`")]
    UnknownSymbol(String),
    /// A label that is not there.
    #[error("unknown label `{0}`")]
    UnknownLabel(String),
    /// A name declared twice in one scope.
    #[error("duplicate definition of `{0}`")]
    Duplicate(String),
    /// Too few or too many operands.
    #[error("`{opcode}` takes {expected} operands, found {found}")]
    OperandCount {
        /// The instruction's opcode.
        opcode: String,
        /// How many it takes.
        expected: usize,
        /// How many stand there.
        found: usize,
    },
    /// An operand of a form that does not fit.
    #[error("expected {expected}, found {found}")]
    OperandForm {
        /// The form that fits.
        expected: &'static str,
        /// The form that stands there.
        found: &'static str,
    },
    /// An operand of another type than the instruction's.
    #[error("`{name}` is declared .{declared}, but .{needed} is needed here")]
    TypeMismatch {
        /// The operand's name.
        name: String,
        /// Its declared type.
        declared: &'static str,
        /// The type that the instruction asks for.
        needed: &'static str,
    },
    /// An address in the wrong state space.
    #[error("`{name}` is in .{declared} space, but the instruction accesses .{needed}")]
    SpaceMismatch {
        /// The variable's name.
        name: String,
        /// The space it was declared in.
        declared: &'static str,
        /// The space of the instruction.
        needed: &'static str,
    },
    /// A store to memory that cannot be written.
    #[error("cannot store to .{0} space")]
    ReadOnlySpace(&'static str),
    /// A declaration that the ISA does not allow there.
    #[error("invalid declaration of `{name}`: {reason}")]
    InvalidDeclaration {
        /// The declared name.
        name: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// An initialiser that does not fit its variable.
    #[error("invalid initialiser of `{name}`: {reason}")]
    InvalidInitialiser {
        /// The variable's name.
        name: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// An alignment that is no power of two, or too large.
    #[error("alignment {0} is not a power of two up to 2^30")]
    InvalidAlignment(u64),
    /// More bytes than the state space has.
    #[error("{what} needs {bytes} bytes, more than the {limit} there are")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A call that does not fit the function it names.
    #[error("call of `{name}` does not fit: {reason}")]
    CallMismatch {
        /// The callee.
        name: String,
        /// Why it does not fit.
        reason: &'static str,
    },
    /// A function that is called but has no body.
    #[error("function `{0}` is declared but not defined")]
    UndefinedFunction(String),
    /// A definition that contradicts an earlier declaration.
    #[error("`{0}` does not match its earlier declaration")]
    DeclarationMismatch(String),
    /// An instruction that the given version or target does not have.
    #[error("`{opcode}` needs {needed}")]
    Requires {
        /// The instruction.
        opcode: String,
        /// What it needs, for example `.target sm_80 or higher`.
        needed: &'static str,
    },
    /// Something that came with a later version of the PTX ISA.
    #[error("{what} needs .version {major}.{minor} or later")]
    RequiresVersion {
        /// What needs it.
        what: String,
        /// The part of the version before the point.
        major: u32,
        /// The part after the point.
        minor: u32,
    },
    /// Something that older targets do not have.
    #[error("{what} needs .target sm_{target} or higher")]
    RequiresTarget {
        /// What needs it.
        what: String,
        /// The first architecture that has it.
        target: u32,
    },
    /// A literal or constant out of its range.
    #[error("{what} is out of range: {value}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// The number.
        value: String,
    },
    /// A vector with a number of elements that the instruction does not take.
    #[error("expected a vector of {expected} elements, found {found}")]
    VectorLength {
        /// How many elements fit.
        expected: usize,
        /// How many stand there.
        found: usize,
    },
}

/// The newest PTX ISA version accepted: major.
pub(crate) const MAX_VERSION_MAJOR: u32 = 9;
/// The newest PTX ISA version accepted: minor.
pub(crate) const MAX_VERSION_MINOR: u32 = 5;
/// The newest architecture whose code runs: the device is of the sm_90 class.
pub(crate) const MAX_TARGET: u32 = 90;

/// Good PTX that is beyond this software GPU.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// An instruction of the ISA that is not implemented.
    #[error("instruction `{0}`")]
    Instruction(String),
    /// A form of an implemented instruction that is not implemented.
    #[error("`{opcode}` with {what}")]
    Form {
        /// The instruction's opcode.
        opcode: String,
        /// The part that is missing.
        what: String,
    },
    /// A declaration that is not implemented.
    #[error("{0}")]
    Declaration(String),
    /// A program over a documented size limit.
    #[error("{what} {count}, limit {limit}")]
    Limit {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many are taken.
        limit: u64,
    },
}

/// A cause with its place, before the place is turned into a line and a column.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) pos: Pos,
    pub(crate) cause: PtxErrorCause,
}

impl Failure {
    /// The error of a source.
    pub(crate) fn located(self, source: &[u8]) -> PtxError {
        PtxError {
            at: Location::of(source, self.pos),
            cause: self.cause,
        }
    }
}

/// Result of one verifier step.
pub(crate) type Checked<T> = Result<T, Failure>;

/// Fails with `cause` at `pos`.
pub(crate) fn fail<T>(pos: Pos, cause: impl Into<PtxErrorCause>) -> Checked<T> {
    Err(Failure {
        pos,
        cause: cause.into(),
    })
}
