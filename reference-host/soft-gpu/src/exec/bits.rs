//! Integer and bit operations of one lane whose edge cases need a word of the PTX ISA.

/// `shl.b32`: counts over 31 give 0.
#[inline(always)]
pub(crate) fn shl32(a: u32, count: u32) -> u32 {
    if count > 31 { 0 } else { a << count }
}

/// `shr.u32`: counts over 31 give 0.
#[inline(always)]
pub(crate) fn shr32(a: u32, count: u32) -> u32 {
    if count > 31 { 0 } else { a >> count }
}

/// `shr.s32`: counts over 31 fill with the sign.
#[inline(always)]
pub(crate) fn sar32(a: u32, count: u32) -> u32 {
    (a.cast_signed() >> count.min(31)).cast_unsigned()
}

/// `shl.b64`.
#[inline(always)]
pub(crate) fn shl64(a: u64, count: u32) -> u64 {
    if count > 63 { 0 } else { a << count }
}

/// `shr.u64`.
#[inline(always)]
pub(crate) fn shr64(a: u64, count: u32) -> u64 {
    if count > 63 { 0 } else { a >> count }
}

/// `shr.s64`.
#[inline(always)]
pub(crate) fn sar64(a: u64, count: u32) -> u64 {
    (a.cast_signed() >> count.min(63)).cast_unsigned()
}

/// The low `width` bits set, for widths up to 64.
#[inline(always)]
fn low_mask(width: u32) -> u64 {
    if width > 63 {
        u64::MAX
    } else {
        (1u64 << width) - 1
    }
}

/// `bfe`: position and length are taken modulo 256; past the most significant bit the signed form fills with the sign bit.
#[inline(always)]
pub(crate) fn bfe(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (position, length) = (position & 0xFF, length & 0xFF);
    if length == 0 {
        return 0;
    }
    let msb = width - 1;
    let value = a & low_mask(width);
    let sign = signed && value >> (position + length - 1).min(msb) & 1 == 1;
    let field = shr64(value, position) & low_mask(length);
    // Bits of the field that lie past the value's own top take the sign, as do those above the field.
    let present = (width.saturating_sub(position)).min(length);
    let filled = if sign {
        field | !low_mask(present)
    } else {
        field
    };
    filled & low_mask(width)
}

/// `bfi`: the low `length` bits of `a` replace those of `b` from `position` on; what would land past the top is dropped.
#[inline(always)]
pub(crate) fn bfi(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (position & 0xFF, length & 0xFF);
    let mask = shl64(low_mask(length), position) & low_mask(width);
    (b & !mask) | (shl64(a, position) & mask)
}

/// `bfind`: position of the most significant bit that differs from the sign, or all ones where there is none.
#[inline(always)]
pub(crate) fn bfind(a: u64, width: u32, signed: bool, shift_amount: bool) -> u32 {
    let value = a & low_mask(width);
    let negative = signed && value >> (width - 1) & 1 == 1;
    let magnitude = if negative {
        !value & low_mask(width)
    } else {
        value
    };
    if magnitude == 0 {
        return u32::MAX;
    }
    let position = 63 - magnitude.leading_zeros();
    if shift_amount {
        width - 1 - position
    } else {
        position
    }
}

/// `shf.l`: the upper word of `high:low << count`, the count clamped to 32 or wrapped.
#[inline(always)]
pub(crate) fn funnel_left(low: u32, high: u32, count: u32) -> u32 {
    let both = u64::from(high) << 32 | u64::from(low);
    ((both << count) >> 32) as u32
}

/// `shf.r`: the lower word of `high:low >> count`.
#[inline(always)]
pub(crate) fn funnel_right(low: u32, high: u32, count: u32) -> u32 {
    let both = u64::from(high) << 32 | u64::from(low);
    (both >> count) as u32
}

/// Byte `selector & 7` of `high:low`; bit 3 asks for eight copies of that byte's sign instead.
#[inline(always)]
fn permuted_byte(both: u64, selector: u32) -> u32 {
    let byte = (both >> ((selector & 7) * 8)) as u32 & 0xFF;
    if selector & 8 == 0 {
        byte
    } else if byte & 0x80 == 0 {
        0
    } else {
        0xFF
    }
}

/// `prmt` in its generic mode: four selector nibbles pick four bytes.
#[inline(always)]
pub(crate) fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |word, at| {
        word | permuted_byte(both, selector >> (4 * at)) << (8 * at)
    })
}

/// The generic selector that a special `prmt` mode (`f4e`, `b4e`, `rc8`, `ecl`, `ecr`, `rc16`) stands for.
#[inline(always)]
pub(crate) fn permute_selector(mode: PermuteMode, control: u32) -> u32 {
    let n = control & 3;
    let nibbles: [u32; 4] = match mode {
        PermuteMode::ForwardFour => [n, n + 1, n + 2, n + 3],
        PermuteMode::BackwardFour => [
            n,
            n.wrapping_sub(1) & 7,
            n.wrapping_sub(2) & 7,
            n.wrapping_sub(3) & 7,
        ],
        PermuteMode::ReplicateByte => [n; 4],
        PermuteMode::EdgeLeft => [n, n.max(1), n.max(2), 3],
        PermuteMode::EdgeRight => [0, n.min(1), n.min(2), n],
        PermuteMode::ReplicateHalf => {
            let half = (control & 1) * 2;
            [half, half + 1, half, half + 1]
        }
    };
    nibbles[0] | nibbles[1] << 4 | nibbles[2] << 8 | nibbles[3] << 12
}

/// The modes of `prmt` beside the generic one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermuteMode {
    ForwardFour,
    BackwardFour,
    ReplicateByte,
    EdgeLeft,
    EdgeRight,
    ReplicateHalf,
}

/// `lop3`: each result bit is looked up in the table `lut` by the bits of a, b and c.
#[inline(always)]
pub(crate) fn lop3(a: u32, b: u32, c: u32, lut: u32) -> u32 {
    (0..8).fold(0, |out, index| {
        let pick = |value: u32, bit: u32| if index & bit == 0 { !value } else { value };
        if lut >> index & 1 == 1 {
            out | (pick(a, 4) & pick(b, 2) & pick(c, 1))
        } else {
            out
        }
    })
}

/// `dp4a`: four byte products added to `c`.
#[inline(always)]
pub(crate) fn dot4(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let byte = |value: u32, at: u32, signed: bool| {
        let raw = (value >> (8 * at)) as u8;
        if signed {
            i32::from(raw.cast_signed())
        } else {
            i32::from(raw)
        }
    };
    (0..4).fold(c, |sum, at| {
        sum.wrapping_add((byte(a, at, a_signed) * byte(b, at, b_signed)).cast_unsigned())
    })
}

/// `vabsdiff2` and `vabsdiff4`: the differences of the words' `parts` unsigned parts, packed, and their sum.
#[inline(always)]
pub(crate) fn abs_differences(a: u32, b: u32, parts: u32) -> (u32, u32) {
    let bits = 32 / parts;
    let mask = u32::MAX >> (32 - bits);
    (0..parts).fold((0, 0), |(packed, sum), part| {
        let shift = part * bits;
        let difference = ((a >> shift) & mask).abs_diff((b >> shift) & mask);
        (packed | difference << shift, sum + difference)
    })
}

/// `sad`: |a - b| + c, 32-bit signed.
#[inline(always)]
pub(crate) fn sad_signed(a: u32, b: u32, c: u32) -> u32 {
    a.cast_signed().abs_diff(b.cast_signed()).wrapping_add(c)
}

/// Quotient of unsigned division; all ones where the divisor is 0 (the ISA leaves it open, hardware answers so).
#[inline(always)]
pub(crate) fn div_u32(a: u32, b: u32) -> u32 {
    a.checked_div(b).unwrap_or(u32::MAX)
}

/// Quotient of signed division; the most negative value by -1 wraps, 0 as divisor gives all ones.
#[inline(always)]
pub(crate) fn div_s32(a: u32, b: u32) -> u32 {
    if b == 0 {
        u32::MAX
    } else {
        a.cast_signed()
            .wrapping_div(b.cast_signed())
            .cast_unsigned()
    }
}

/// Remainder of unsigned division; the dividend where the divisor is 0.
#[inline(always)]
pub(crate) fn rem_u32(a: u32, b: u32) -> u32 {
    a.checked_rem(b).unwrap_or(a)
}

/// Remainder of signed division; the dividend where the divisor is 0.
#[inline(always)]
pub(crate) fn rem_s32(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        a.cast_signed()
            .wrapping_rem(b.cast_signed())
            .cast_unsigned()
    }
}

/// As [`div_u32`], 64-bit.
#[inline(always)]
pub(crate) fn div_u64(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(u64::MAX)
}

/// As [`div_s32`], 64-bit.
#[inline(always)]
pub(crate) fn div_s64(a: u64, b: u64) -> u64 {
    if b == 0 {
        u64::MAX
    } else {
        a.cast_signed()
            .wrapping_div(b.cast_signed())
            .cast_unsigned()
    }
}

/// As [`rem_u32`], 64-bit.
#[inline(always)]
pub(crate) fn rem_u64(a: u64, b: u64) -> u64 {
    a.checked_rem(b).unwrap_or(a)
}

/// As [`rem_s32`], 64-bit.
#[inline(always)]
pub(crate) fn rem_s64(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        a.cast_signed()
            .wrapping_rem(b.cast_signed())
            .cast_unsigned()
    }
}

/// Upper half of the unsigned 64-bit product.
#[inline(always)]
pub(crate) fn mul_hi_u64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Upper half of the signed 64-bit product.
#[inline(always)]
pub(crate) fn mul_hi_s64(a: u64, b: u64) -> u64 {
    ((i128::from(a.cast_signed()) * i128::from(b.cast_signed())) >> 64) as u64
}

/// Sign extension of a value of `width` bits held in the low bits of a word.
#[inline(always)]
pub(crate) fn sign_extend(a: u32, width: u32) -> u32 {
    let shift = 32 - width;
    ((a << shift).cast_signed() >> shift).cast_unsigned()
}
