//! Formats of the elements of matrices, and how registers pack them.

use crate::exec::formats::Half;

/// Format of the elements of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    Tf32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
}

impl Format {
    /// The format that a modifier names.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f64" => Self::F64,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "s4" => Self::S4,
            "u4" => Self::U4,
            "b1" => Self::B1,
            _ => return None,
        })
    }

    /// Bits that an element takes in a register.
    pub(crate) fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::Tf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Elements that a register holds.
    pub(crate) fn packed(self) -> usize {
        match self.bits() {
            64 => 1,
            bits => 32 / bits,
        }
    }
}

/// Format of the elements of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulator {
    F16,
    F32,
    F64,
    S32,
}

impl Accumulator {
    /// The format that a modifier names.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "f16" => Self::F16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "s32" => Self::S32,
            _ => return None,
        })
    }

    /// Elements that a register holds.
    pub(crate) fn packed(self) -> usize {
        if self == Self::F16 { 2 } else { 1 }
    }
}

/// The integer in the low bits of a word.
#[inline(always)]
pub(super) fn integer(format: Format, word: u32) -> i32 {
    match format {
        Format::S8 => i32::from((word as u8).cast_signed()),
        Format::U8 => i32::from(word as u8),
        Format::S4 => (word << 28).cast_signed() >> 28,
        Format::U4 => (word & 0xF).cast_signed(),
        _ => 0,
    }
}

/// The value of the float in the low bits of a word, exact.
#[inline(always)]
pub(super) fn float(format: Format, word: u32) -> f64 {
    f64::from(match format {
        Format::F16 => Half::F16.value(word & 0xFFFF),
        Format::Bf16 => Half::Bf16.value(word & 0xFFFF),
        Format::Tf32 => tf32(word),
        // Half precision with less of a fraction.
        Format::E5m2 => Half::F16.value((word & 0xFF) << 8),
        _ => e4m3(word),
    })
}

/// The value of tf32 bits: those of single precision whose 13 last bits do not count.
#[inline(always)]
fn tf32(bits: u32) -> f32 {
    f32::from_bits(bits & !0x1FFF)
}

/// A format without infinities: only the greatest magnitude is NaN.
#[inline(always)]
fn e4m3(word: u32) -> f32 {
    let magnitude = word & 0x7F;
    if magnitude == 0x7F {
        return f32::NAN;
    }
    // As in half precision, moved in place and scaled by the difference of the biases: 2^(127 - 7).
    let value = f32::from_bits(magnitude << 20) * f32::from_bits(0x7B80_0000);
    if word & 0x80 == 0 { value } else { -value }
}
