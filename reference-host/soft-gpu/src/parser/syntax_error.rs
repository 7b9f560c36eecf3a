//! What can be wrong with the text itself.

use thiserror::Error;

/// The text is not PTX.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxError {
    /// The source has 4 GiB or more.
    #[error("the source is too large: a PTX source has fewer than 4294967295 bytes")]
    SourceTooLarge,
    /// The source starts with a UTF-8 byte order mark.
    #[error("the source starts with a byte order mark: PTX is ASCII, save it without one")]
    ByteOrderMark,
    /// Bytes that are no UTF-8 text.
    #[error("this byte is neither ASCII nor UTF-8: PTX is ASCII, and comments may hold UTF-8")]
    NotUtf8,
    /// A control character, or NUL even inside a comment.
    #[error(
        "control byte {0:#04x}: outside comments only blanks, tabs, form feeds and line ends separate tokens, and NUL may stand nowhere"
    )]
    ControlByte(u8),
    /// A character outside ASCII where a token should start.
    #[error("{0:?} is not ASCII: names are made of letters, digits, `_`, `$` and `%`")]
    NonAscii(char),
    /// A printable character that starts no token.
    #[error("{0:?} starts no token of PTX")]
    StrayCharacter(char),
    /// `/*` without its `*/`.
    #[error("this comment never ends: `*/` is missing")]
    UnterminatedComment,
    /// A string without its closing quote.
    #[error("this string never ends: `\"` is missing")]
    UnterminatedString,
    /// Digits that form no number.
    #[error(
        "`{0}` is not a number: write 10, 0x1F, 017 or 0b101 (with an optional U), 1.5, 1e3, 0f with 8 or 0d with 16 hexadecimal digits"
    )]
    BadNumber(Box<str>),
    /// An integer that 64 bits cannot hold.
    #[error("`{0}` does not fit in 64 bits: the largest integer is 18446744073709551615")]
    NumberTooLarge(Box<str>),
    /// The source does not begin with `.version`.
    #[error("a source begins with `.version MAJOR.MINOR`")]
    MissingVersion,
    /// `.version` is not followed by `.target`.
    #[error("`.target` with at least one architecture follows `.version`")]
    MissingTarget,
    /// Something else was needed here.
    #[error("unexpected {found}: expected {expected}")]
    Unexpected {
        /// What stands here, in back quotes and shortened if it is long.
        found: Box<str>,
        /// What would be right.
        expected: &'static str,
    },
    /// The source ends too early.
    #[error("the source ends here: expected {expected}")]
    UnexpectedEnd {
        /// What would be right.
        expected: &'static str,
    },
    /// A directive that does not exist, or may not stand here.
    #[error("`{found}` is no directive that may stand {place}")]
    MisplacedDirective {
        /// The directive's word.
        found: Box<str>,
        /// Where it was found.
        place: &'static str,
    },
    /// Braces, parentheses, operators or initialisers inside each other without end.
    #[error("nesting is deeper than {limit} levels")]
    TooDeep {
        /// The deepest level taken.
        limit: u32,
    },
    /// `1 / 0` or `1 % 0` in a constant expression.
    #[error("division by zero in a constant expression")]
    DivisionByZero,
    /// An operator between kinds of constants that do not mix.
    #[error("this operator mixes integer and floating-point constants, or takes only integers")]
    ConstantKinds,
    /// An operator on a `0f` literal.
    #[error("a 0f literal stands alone: operators take decimal and 0d constants")]
    SingleInExpression,
    /// A number in a debug section that its size cannot hold.
    #[error("this number does not fit in {bits} bits")]
    DatumTooLarge {
        /// The size that the directive gives.
        bits: u32,
    },
    /// A floating-point constant where an integer must stand.
    #[error("an integer constant must stand here, not a floating-point one")]
    IntegerNeeded,
    /// `[a, {x, y}]`: the address of a texture, surface or tensor.
    #[error(
        "`[name, {{…}}]` is the address of a texture, surface or tensor, which the software GPU does not have"
    )]
    TextureAddress,
    /// `a[1]` as an operand.
    #[error(
        "`name[index]` is not taken as an operand: write the byte address, `[name+offset]` or `name+offset`"
    )]
    IndexedOperand,
    /// A function declared, or an alias given, inside a body.
    #[error("functions are declared, and aliases given, outside bodies")]
    FunctionInBody,
}

impl SyntaxError {
    /// Whether the text has no tokens here, or no more: what is wrong lies below statements.
    pub(super) fn is_of_tokens(&self) -> bool {
        matches!(
            self,
            Self::SourceTooLarge
                | Self::ByteOrderMark
                | Self::NotUtf8
                | Self::ControlByte(_)
                | Self::NonAscii(_)
                | Self::StrayCharacter(_)
                | Self::UnterminatedComment
                | Self::UnterminatedString
                | Self::UnexpectedEnd { .. }
        )
    }
}
