//! Integer operations on pairs of 16 bits, on bytes, and on fields: what compilers ask for rarely.

/// `fns`: the place of the `offset`-th set bit of `mask` counted from bit `base`, upwards where the offset is positive; all ones where
/// there is none.
#[inline(always)]
pub(crate) fn find_nth_set(mask: u32, base: u32, offset: u32) -> u32 {
    let offset = offset.cast_signed();
    // A base beyond the mask's bits, which the ISA leaves open, finds nothing.
    if base > 31 {
        return u32::MAX;
    }
    let (mut rest, upwards) = if offset >= 0 {
        (mask & u32::MAX << base, true)
    } else {
        (mask & u32::MAX >> (31 - base), false)
    };
    if offset == 0 {
        return if mask >> base & 1 == 1 {
            base
        } else {
            u32::MAX
        };
    }
    for _ in 1..offset.unsigned_abs().min(33) {
        rest &= if upwards {
            rest.wrapping_sub(1)
        } else {
            !(0x8000_0000u32
                .checked_shr(rest.leading_zeros())
                .unwrap_or(0))
        };
    }
    match (rest, upwards) {
        (0, _) => u32::MAX,
        (rest, true) => rest.trailing_zeros(),
        (rest, false) => 31 - rest.leading_zeros(),
    }
}

/// `szext`: the low `width` bits of `a`, extended by zeros or by their sign; from 32 on the width wraps, or all bits stay.
#[inline(always)]
pub(crate) fn extend(a: u32, width: u32, signed: bool, clamp: bool) -> u32 {
    if clamp && width > 31 {
        return a;
    }
    let width = width & 31;
    if width == 0 {
        return 0;
    }
    let up = 32 - width;
    if signed {
        ((a << up).cast_signed() >> up).cast_unsigned()
    } else {
        a << up >> up
    }
}

/// `bmsk`: `width` ones from bit `start` on.
#[inline(always)]
pub(crate) fn mask(start: u32, width: u32, clamp: bool) -> u32 {
    let (start, width) = if clamp {
        (start.min(32), width.min(32))
    } else {
        (start & 31, width & 31)
    };
    let ones = u64::from(u32::MAX) >> (32 - width);
    (ones << start) as u32
}

/// `dp2a`: the halves of `a` times two bytes of `b`, the lower two or the upper two, added to `c`.
#[inline(always)]
pub(crate) fn dot2(a: u32, b: u32, c: u32, upper: bool, a_signed: bool, b_signed: bool) -> u32 {
    let half = |at: u32| {
        let raw = (a >> (16 * at)) as u16;
        if a_signed {
            i32::from(raw.cast_signed())
        } else {
            i32::from(raw)
        }
    };
    let byte = |at: u32| {
        let raw = (b >> (8 * at + if upper { 16 } else { 0 })) as u8;
        if b_signed {
            i32::from(raw.cast_signed())
        } else {
            i32::from(raw)
        }
    };
    (0..2).fold(c, |sum, at| {
        sum.wrapping_add((half(at) * byte(at)).cast_unsigned())
    })
}

/// Sums of halves.
#[inline(always)]
pub(crate) fn add_pairs(a: u32, b: u32) -> u32 {
    (a.wrapping_add(b) & 0xFFFF) | (a >> 16).wrapping_add(b >> 16) << 16
}

/// The smaller or greater of signed halves.
#[inline(always)]
pub(crate) fn extreme_signed(a: u32, b: u32, least: bool) -> u32 {
    if ((a as u16).cast_signed() < (b as u16).cast_signed()) == least {
        a
    } else {
        b
    }
}

/// `.relu` of a signed half.
#[inline(always)]
pub(crate) fn relu_signed(a: u32) -> u32 {
    if a & 0x8000 == 0 { a } else { 0 }
}

/// `cvt.pack`: a signed value clamped to `bits` bits and cut to them.
#[inline(always)]
pub(crate) fn clamp_to(a: u32, bits: u32, signed: bool) -> u32 {
    let (least, most) = if signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    a.cast_signed().clamp(least, most).cast_unsigned() & ((1 << bits) - 1)
}
