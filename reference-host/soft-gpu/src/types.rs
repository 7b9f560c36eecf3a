//! The fundamental types of PTX.
//!
//! Source: PTX ISA, "Fundamental Types" and "Operand Type Checking".

/// A fundamental type as an instruction modifier or declaration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

/// What the bits of a [`Type`] stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pred,
    Bits,
    Unsigned,
    Signed,
    Float,
}

impl Type {
    /// The type named by a modifier word without its dot.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "pred" => Self::Pred,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pred => "pred",
            Self::B8 => "b8",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::B128 => "b128",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F16x2 => "f16x2",
            Self::Bf16 => "bf16",
            Self::Bf16x2 => "bf16x2",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Size in bytes; 0 for a predicate, which has no memory form.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::Pred => 0,
            Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        self.bytes().saturating_mul(8)
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Pred => Kind::Pred,
            Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::B128 => Kind::Bits,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Kind::Unsigned,
            Self::S8 | Self::S16 | Self::S32 | Self::S64 => Kind::Signed,
            Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2 | Self::F32 | Self::F64 => {
                Kind::Float
            }
        }
    }

    /// Untyped bits of the same width.
    pub(crate) fn as_bits(self) -> Self {
        match self.bytes() {
            0 => self,
            1 => Self::B8,
            2 => Self::B16,
            4 => Self::B32,
            8 => Self::B64,
            _ => Self::B128,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Unsigned | Kind::Signed)
    }

    pub(crate) fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    pub(crate) fn is_signed(self) -> bool {
        self.kind() == Kind::Signed
    }

    /// Whether an operand declared as `declared` may stand where an instruction asks for `self`:
    /// sizes are equal, and kinds agree or one side is untyped bits.
    pub(crate) fn accepts(self, declared: Self) -> bool {
        self.bytes() == declared.bytes() && self.accepts_kind(declared)
    }

    /// The same for `ld`, `st` and `cvt`, whose integer operands may be wider than the instruction's type.
    pub(crate) fn accepts_wider(self, declared: Self) -> bool {
        if declared == Self::B128 {
            return self == Self::B128;
        }
        if self.is_integer() && declared == Self::F16x2 {
            return self.bytes() <= declared.bytes();
        }
        if self.is_float() || declared.is_float() {
            return self.accepts(declared)
                || (declared.bytes() >= self.bytes()
                    && (self.kind() == Kind::Bits || declared.kind() == Kind::Bits));
        }
        declared.bytes() >= self.bytes() && self.accepts_kind(declared)
    }

    fn accepts_kind(self, declared: Self) -> bool {
        match (self.kind(), declared.kind()) {
            (Kind::Pred, other) | (other, Kind::Pred) => other == Kind::Pred,
            (Kind::Bits, _) | (_, Kind::Bits) => true,
            (Kind::Float, other) => other == Kind::Float && self == declared,
            // A pair of halves passes for an integer of 32 bits.
            (_, other) => other != Kind::Float || declared == Self::F16x2,
        }
    }
}
