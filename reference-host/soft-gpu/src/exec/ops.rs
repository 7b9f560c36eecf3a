//! The lane operations: one row each, naming the shape in which registers are read and written and the function of one lane.
//!
//! To add an instruction, add its row here and let a function of `verify::isa` select it.

use super::bits::{
    PermuteMode, abs_differences, bfe, bfi, bfind, div_s32, div_s64, div_u32, div_u64, dot4,
    funnel_left, funnel_right, lop3, mul_hi_s64, mul_hi_u64, permute, permute_selector, rem_s32,
    rem_s64, rem_u32, rem_u64, sad_signed, sar32, sar64, shl32, shl64, shr32, shr64, sign_extend,
};
use super::build::Build;
use super::float::{
    NAN32, Rounding, add32, bits32, bits64, div32, f32_of, f64_of, flush32, fma32, fma32_rounded,
    fma64, int_to_f32, int_to_f64, integral, integral32, max32, max64, min32, min64, mul32,
    narrow64, op32, op64, saturate32, saturate64, sqrt32, unless_nan,
};
use super::known::Known;
use super::lanes::{Registers, Slots};
use super::linear;
use super::shape::Shape;

/// Builds [`LaneOp`] and its interpreter from the table.
///
/// A row may name, behind a comma, the rule of [`super::linear`] by which the operation keeps patterns. `B` is the build that runs.
macro_rules! lane_ops {
    ($( $shape:ident { $( $name:ident = $f:expr $(, $rule:path)?; )* } )*) => {
        /// An operation that each active lane does alone, on registers only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum LaneOp { $( $( $name(Slots), )* )* }

        impl LaneOp {
            /// The registers that it reads and writes.
            pub(crate) fn operands(self) -> (Shape, Slots) {
                match self { $( $( Self::$name(slots) => (Shape::$shape(), slots), )* )* }
            }

            /// Executes the operation in the active lanes.
            #[inline(always)]
            pub(crate) fn execute<B: Build>(&self, build: B, registers: &mut Registers<'_>) {
                match self { $( $(
                    Self::$name(slots) => {
                        // A closure, which is always inlined where the rule itself might not be.
                        $( if Known(registers).$shape(slots, $f, #[inline(always)] |forms, warps| $rule(forms, warps)) {
                            return;
                        } )?
                        build.wide(
                            #[inline(always)]
                            || registers.$shape(slots, $f),
                        )
                    }
                )* )* }
            }
        }
    };
}

const fn s(value: u32) -> i32 {
    value.cast_signed()
}

const fn sd(value: u64) -> i64 {
    value.cast_signed()
}

lane_ops! {
    r1 {
        Mov32 = |a| a, linear::copy;
        Not32 = |a| !a;
        Not16 = |a| !a & 0xFFFF;
        Cnot32 = |a| u32::from(a == 0);
        NegI32 = |a| a.wrapping_neg(), linear::negate;
        NegI16 = |a| a.wrapping_neg() & 0xFFFF;
        AbsS32 = |a| s(a).wrapping_abs().cast_unsigned();
        AbsS16 = |a| s(sign_extend(a, 16)).wrapping_abs().cast_unsigned() & 0xFFFF;
        Popc32 = |a| a.count_ones();
        Clz32 = |a| a.leading_zeros();
        Brev32 = |a| a.reverse_bits();
        BfindU32 = |a| bfind(u64::from(a), 32, false, false);
        BfindS32 = |a| bfind(u64::from(a), 32, true, false);
        BfindShiftU32 = |a| bfind(u64::from(a), 32, false, true);
        BfindShiftS32 = |a| bfind(u64::from(a), 32, true, true);
        Low8 = |a| a & 0xFF;
        Low16 = |a| a & 0xFFFF;
        Sign8 = |a| sign_extend(a, 8);
        Sign16 = |a| sign_extend(a, 16);
        // Saturating integer conversions, from a sign- or zero-extended source.
        SatS32ToS8 = |a| s(a).clamp(-128, 127).cast_unsigned();
        SatS32ToS16 = |a| s(a).clamp(-32768, 32767).cast_unsigned();
        SatS32ToU8 = |a| s(a).clamp(0, 255).cast_unsigned();
        SatS32ToU16 = |a| s(a).clamp(0, 65535).cast_unsigned();
        SatS32ToU32 = |a| s(a).max(0).cast_unsigned();
        SatU32ToS8 = |a| a.min(127);
        SatU32ToS16 = |a| a.min(32767);
        SatU32ToS32 = |a| a.min(0x7FFF_FFFF);
        SatU32ToU8 = |a| a.min(255);
        SatU32ToU16 = |a| a.min(65535);
        // Single precision.
        NegF32 = |a| bits32(-f32_of(a));
        AbsF32 = |a| bits32(f32_of(a).abs());
        FlushF32 = flush32;
        SatF32 = saturate32;
        CanonF32 = |a| bits32(f32_of(a));
        SqrtF32 = |a| bits32(f32_of(a).sqrt());
        SqrtRzF32 = |a| sqrt32(a, Rounding::Zero);
        SqrtRmF32 = |a| sqrt32(a, Rounding::Down);
        SqrtRpF32 = |a| sqrt32(a, Rounding::Up);
        RcpF32 = |a| bits32(1.0 / f32_of(a));
        RcpRzF32 = |a| div32(1.0f32.to_bits(), a, Rounding::Zero);
        RcpRmF32 = |a| div32(1.0f32.to_bits(), a, Rounding::Down);
        RcpRpF32 = |a| div32(1.0f32.to_bits(), a, Rounding::Up);
        RsqrtF32 = |a| bits32((1.0 / f64::from(f32_of(a)).sqrt()) as f32);
        SinF32 = |a| bits32(f64::from(f32_of(a)).sin() as f32);
        CosF32 = |a| bits32(f64::from(f32_of(a)).cos() as f32);
        Lg2F32 = |a| bits32(f64::from(f32_of(a)).log2() as f32);
        Ex2F32 = |a| bits32(f64::from(f32_of(a)).exp2() as f32);
        TanhF32 = |a| bits32(f64::from(f32_of(a)).tanh() as f32);
        RoundNearestF32 = |a| bits32(integral32(f32_of(a), Rounding::Nearest));
        RoundZeroF32 = |a| bits32(integral32(f32_of(a), Rounding::Zero));
        RoundDownF32 = |a| bits32(integral32(f32_of(a), Rounding::Down));
        RoundUpF32 = |a| bits32(integral32(f32_of(a), Rounding::Up));
        // Casts saturate and turn NaN into 0, as the ISA asks of conversions to 32 bits or fewer.
        F32ToS32 = |a| (f32_of(a) as i32).cast_unsigned();
        F32ToU32 = |a| f32_of(a) as u32;
        F32ToS16 = |a| i32::from(f32_of(a) as i16).cast_unsigned() & 0xFFFF;
        F32ToU16 = |a| u32::from(f32_of(a) as u16);
        F32ToS8 = |a| i32::from(f32_of(a) as i8).cast_unsigned();
        F32ToU8 = |a| u32::from(f32_of(a) as u8);
        S32ToF32 = |a| (s(a) as f32).to_bits();
        U32ToF32 = |a| (a as f32).to_bits();
        S32ToF32Rz = |a| int_to_f32(i128::from(s(a)), Rounding::Zero);
        S32ToF32Rm = |a| int_to_f32(i128::from(s(a)), Rounding::Down);
        S32ToF32Rp = |a| int_to_f32(i128::from(s(a)), Rounding::Up);
        U32ToF32Rz = |a| int_to_f32(i128::from(a), Rounding::Zero);
        U32ToF32Rm = |a| int_to_f32(i128::from(a), Rounding::Down);
        U32ToF32Rp = |a| int_to_f32(i128::from(a), Rounding::Up);
    }
    r2 {
        AddI32 = |a, b| a.wrapping_add(b), linear::add;
        SubI32 = |a, b| a.wrapping_sub(b), linear::sub;
        AddSatS32 = |a, b| s(a).saturating_add(s(b)).cast_unsigned();
        SubSatS32 = |a, b| s(a).saturating_sub(s(b)).cast_unsigned();
        AddI16 = |a, b| a.wrapping_add(b) & 0xFFFF;
        SubI16 = |a, b| a.wrapping_sub(b) & 0xFFFF;
        MulLoI32 = |a, b| a.wrapping_mul(b), linear::mul;
        MulHiU32 = |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32;
        MulHiS32 = |a, b| ((i64::from(s(a)) * i64::from(s(b))) >> 32) as u32;
        MulLoI16 = |a, b| a.wrapping_mul(b) & 0xFFFF;
        MulHiU16 = |a, b| a.wrapping_mul(b) >> 16;
        MulHiS16 = |a, b| sign_extend(a, 16).wrapping_mul(sign_extend(b, 16)) >> 16;
        MulWideU16 = |a, b| a.wrapping_mul(b);
        MulWideS16 = |a, b| sign_extend(a, 16).wrapping_mul(sign_extend(b, 16));
        Mul24LoU32 = |a, b| (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF);
        Mul24LoS32 = |a, b| sign_extend(a, 24).wrapping_mul(sign_extend(b, 24));
        Mul24HiU32 = |a, b| ((u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF)) >> 16) as u32;
        Mul24HiS32 = |a, b| ((i64::from(s(sign_extend(a, 24))) * i64::from(s(sign_extend(b, 24)))) >> 16) as u32;
        DivU32 = div_u32, linear::div_u32;
        DivS32 = div_s32, linear::div_s32;
        RemU32 = rem_u32, linear::rem_u32;
        RemS32 = rem_s32, linear::rem_s32;
        DivU16 = |a, b| div_u32(a, b) & 0xFFFF;
        DivS16 = |a, b| div_s32(sign_extend(a, 16), sign_extend(b, 16)) & 0xFFFF;
        RemU16 = rem_u32;
        RemS16 = |a, b| rem_s32(sign_extend(a, 16), sign_extend(b, 16)) & 0xFFFF;
        MinU32 = |a, b| a.min(b);
        MaxU32 = |a, b| a.max(b);
        MinS32 = |a, b| s(a).min(s(b)).cast_unsigned();
        MaxS32 = |a, b| s(a).max(s(b)).cast_unsigned();
        MinS16 = |a, b| if s(sign_extend(a, 16)) < s(sign_extend(b, 16)) { a } else { b };
        MaxS16 = |a, b| if s(sign_extend(a, 16)) > s(sign_extend(b, 16)) { a } else { b };
        And32 = |a, b| a & b, linear::and32;
        Or32 = |a, b| a | b, linear::or;
        Xor32 = |a, b| a ^ b;
        Shl32 = shl32, linear::shl32;
        ShrU32 = shr32, linear::shr32;
        ShrS32 = sar32, linear::sar32;
        Shl16 = |a, b| shl32(a, b) & 0xFFFF;
        ShrS16 = |a, b| sar32(sign_extend(a, 16), b) & 0xFFFF;

        // `prmt` modes turn their control word into a generic selector first.
        PermuteF4e = |_, b| permute_selector(PermuteMode::ForwardFour, b);
        PermuteB4e = |_, b| permute_selector(PermuteMode::BackwardFour, b);
        PermuteRc8 = |_, b| permute_selector(PermuteMode::ReplicateByte, b);
        PermuteEcl = |_, b| permute_selector(PermuteMode::EdgeLeft, b);
        PermuteEcr = |_, b| permute_selector(PermuteMode::EdgeRight, b);
        PermuteRc16 = |_, b| permute_selector(PermuteMode::ReplicateHalf, b);
        AddF32 = |a, b| op32(a, b, |x, y| x + y);
        SubF32 = |a, b| op32(a, b, |x, y| x - y);
        MulF32 = |a, b| op32(a, b, |x, y| x * y);
        DivF32 = |a, b| op32(a, b, |x, y| x / y);
        AddRzF32 = |a, b| add32(a, b, Rounding::Zero);
        AddRmF32 = |a, b| add32(a, b, Rounding::Down);
        AddRpF32 = |a, b| add32(a, b, Rounding::Up);
        MulRzF32 = |a, b| mul32(a, b, Rounding::Zero);
        MulRmF32 = |a, b| mul32(a, b, Rounding::Down);
        MulRpF32 = |a, b| mul32(a, b, Rounding::Up);
        DivRzF32 = |a, b| div32(a, b, Rounding::Zero);
        DivRmF32 = |a, b| div32(a, b, Rounding::Down);
        DivRpF32 = |a, b| div32(a, b, Rounding::Up);
        MinF32 = min32;
        MaxF32 = max32;
        MinNanF32 = |a, b| if f32_of(a).is_nan() || f32_of(b).is_nan() { NAN32 } else { min32(a, b) };
        MaxNanF32 = |a, b| if f32_of(a).is_nan() || f32_of(b).is_nan() { NAN32 } else { max32(a, b) };
        CopysignF32 = |a, b| (a & 0x8000_0000) | (b & 0x7FFF_FFFF);
    }
    r3 {
        MadLoI32 = |a, b, c| a.wrapping_mul(b).wrapping_add(c), linear::mad;
        MadHiU32 = |a, b, c| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c);
        MadHiS32 = |a, b, c| (((i64::from(s(a)) * i64::from(s(b))) >> 32) as u32).wrapping_add(c);
        MadHiSatS32 = |a, b, c| s(((i64::from(s(a)) * i64::from(s(b))) >> 32) as u32).saturating_add(s(c)).cast_unsigned();
        MadLoI16 = |a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xFFFF;
        MadHiU16 = |a, b, c| (a.wrapping_mul(b) >> 16).wrapping_add(c) & 0xFFFF;
        MadHiS16 = |a, b, c| (sign_extend(a, 16).wrapping_mul(sign_extend(b, 16)) >> 16).wrapping_add(c) & 0xFFFF;
        MadWideU16 = |a, b, c| a.wrapping_mul(b).wrapping_add(c);
        MadWideS16 = |a, b, c| sign_extend(a, 16).wrapping_mul(sign_extend(b, 16)).wrapping_add(c);
        SadU32 = |a, b, c| a.abs_diff(b).wrapping_add(c);
        SadS32 = sad_signed;
        SadU16 = |a, b, c| a.abs_diff(b).wrapping_add(c) & 0xFFFF;
        SadS16 = |a, b, c| sad_signed(sign_extend(a, 16), sign_extend(b, 16), c) & 0xFFFF;
        BfeU32 = |a, b, c| bfe(u64::from(a), b, c, 32, false) as u32;
        BfeS32 = |a, b, c| bfe(u64::from(a), b, c, 32, true) as u32;
        FunnelLeftWrap = |a, b, c| funnel_left(a, b, c & 31);
        FunnelLeftClamp = |a, b, c| funnel_left(a, b, c.min(32));
        FunnelRightWrap = |a, b, c| funnel_right(a, b, c & 31);
        FunnelRightClamp = |a, b, c| funnel_right(a, b, c.min(32));
        Permute = permute;
        AbsDiff2U32 = |a, b, _| abs_differences(a, b, 2).0;
        AbsDiff4U32 = |a, b, _| abs_differences(a, b, 4).0;
        AbsDiffAdd2U32 = |a, b, c| abs_differences(a, b, 2).1.wrapping_add(c);
        AbsDiffAdd4U32 = |a, b, c| abs_differences(a, b, 4).1.wrapping_add(c);
        Dot4UU = |a, b, c| dot4(a, b, c, false, false);
        Dot4US = |a, b, c| dot4(a, b, c, false, true);
        Dot4SU = |a, b, c| dot4(a, b, c, true, false);
        Dot4SS = |a, b, c| dot4(a, b, c, true, true);
        FmaF32 = fma32::<B>;
        FmaRzF32 = |a, b, c| fma32_rounded(a, b, c, Rounding::Zero);
        FmaRmF32 = |a, b, c| fma32_rounded(a, b, c, Rounding::Down);
        FmaRpF32 = |a, b, c| fma32_rounded(a, b, c, Rounding::Up);
        SlctS32 = |a, b, c| if s(c) >= 0 { a } else { b };
        SlctF32 = |a, b, c| if f32_of(c) >= 0.0 { a } else { b };
    }
    r4 {
        Bfi32 = |a, b, c, e| bfi(u64::from(a), u64::from(b), c, e, 32) as u32;
        Lop3 = lop3;
    }
    d1 {
        Mov64 = |a| a, linear::copy;
        Not64 = |a| !a;
        Cnot64 = |a| u64::from(a == 0);
        NegI64 = |a| a.wrapping_neg(), linear::negate;
        AbsS64 = |a| sd(a).wrapping_abs().cast_unsigned();
        Brev64 = |a| a.reverse_bits();
        SatS64ToU64 = |a| sd(a).max(0).cast_unsigned();
        SatU64ToS64 = |a| a.min(i64::MAX.cast_unsigned());
        SatS64ToS32 = |a| sd(a).clamp(i64::from(i32::MIN), i64::from(i32::MAX)).cast_unsigned();
        SatS64ToU32 = |a| sd(a).clamp(0, i64::from(u32::MAX)).cast_unsigned();
        SatU64ToS32 = |a| a.min(0x7FFF_FFFF);
        SatU64ToU32 = |a| a.min(0xFFFF_FFFF);
        NegF64 = |a| bits64(-f64_of(a));
        // A NaN passes as it is.
        AbsF64 = |a| if f64_of(a).is_nan() { a } else { a & (u64::MAX >> 1) };
        CanonF64 = |a| bits64(f64_of(a));
        SatF64 = saturate64;
        SqrtF64 = |a| bits64(f64_of(a).sqrt());
        RcpF64 = |a| bits64(1.0 / f64_of(a));
        RsqrtF64 = |a| bits64(1.0 / f64_of(a).sqrt());
        RoundNearestF64 = |a| bits64(integral(f64_of(a), Rounding::Nearest));
        RoundZeroF64 = |a| bits64(integral(f64_of(a), Rounding::Zero));
        RoundDownF64 = |a| bits64(integral(f64_of(a), Rounding::Down));
        RoundUpF64 = |a| bits64(integral(f64_of(a), Rounding::Up));
        F64ToS64 = |a| unless_nan(f64_of(a), 1 << 63, |x| (x as i64).cast_unsigned());
        F64ToU64 = |a| unless_nan(f64_of(a), 1 << 63, |x| x as u64);
        S64ToF64 = |a| (sd(a) as f64).to_bits();
        U64ToF64 = |a| (a as f64).to_bits();
        S64ToF64Rz = |a| int_to_f64(i128::from(sd(a)), Rounding::Zero);
        S64ToF64Rm = |a| int_to_f64(i128::from(sd(a)), Rounding::Down);
        S64ToF64Rp = |a| int_to_f64(i128::from(sd(a)), Rounding::Up);
        U64ToF64Rz = |a| int_to_f64(i128::from(a), Rounding::Zero);
        U64ToF64Rm = |a| int_to_f64(i128::from(a), Rounding::Down);
        U64ToF64Rp = |a| int_to_f64(i128::from(a), Rounding::Up);
    }
    d2 {
        AddI64 = |a, b| a.wrapping_add(b), linear::add;
        SubI64 = |a, b| a.wrapping_sub(b), linear::sub;
        MulLoI64 = |a, b| a.wrapping_mul(b), linear::mul;
        MulHiU64 = mul_hi_u64;
        MulHiS64 = mul_hi_s64;
        DivU64 = div_u64;
        DivS64 = div_s64;
        RemU64 = rem_u64;
        RemS64 = rem_s64;
        MinU64 = |a, b| a.min(b);
        MaxU64 = |a, b| a.max(b);
        MinS64 = |a, b| sd(a).min(sd(b)).cast_unsigned();
        MaxS64 = |a, b| sd(a).max(sd(b)).cast_unsigned();
        And64 = |a, b| a & b;
        Or64 = |a, b| a | b, linear::or;
        Xor64 = |a, b| a ^ b;
        AddF64 = |a, b| op64(a, b, |x, y| x + y);
        SubF64 = |a, b| op64(a, b, |x, y| x - y);
        MulF64 = |a, b| op64(a, b, |x, y| x * y);
        DivF64 = |a, b| op64(a, b, |x, y| x / y);
        MinF64 = min64;
        MaxF64 = max64;
        CopysignF64 = |a, b| (a & 1 << 63) | (b & !(1 << 63));
    }
    d3 {
        MadLoI64 = |a, b, c| a.wrapping_mul(b).wrapping_add(c), linear::mad;
        MadHiU64 = |a, b, c| mul_hi_u64(a, b).wrapping_add(c);
        MadHiS64 = |a, b, c| mul_hi_s64(a, b).wrapping_add(c);
        SadU64 = |a, b, c| a.abs_diff(b).wrapping_add(c);
        SadS64 = |a, b, c| sd(a).abs_diff(sd(b)).wrapping_add(c);
        FmaF64 = fma64::<B>;
    }
    d1r1 {
        Shl64 = shl64, linear::shl64;
        ShrU64 = shr64;
        ShrS64 = sar64;
    }
    d1r2 {
        BfeU64 = |a, b, c| bfe(a, b, c, 64, false);
        BfeS64 = |a, b, c| bfe(a, b, c, 64, true);
    }
    d2r2 {
        Bfi64 = |a, b, c, e| bfi(a, b, c, e, 64);
    }
    d2r1 {
        SlctS64 = |a, b, c| if s(c) >= 0 { a } else { b };
        SlctF64 = |a, b, c| if f32_of(c) >= 0.0 { a } else { b };
    }
    widen1 {
        ZeroExtend = u64::from, linear::zero_extend;
        SignExtend = |a| i64::from(s(a)).cast_unsigned(), linear::sign_extend;
        F32ToF64 = |a| bits64(f64::from(f32_of(a)));
        F32ToS64 = |a| unless_nan(f64::from(f32_of(a)), 1 << 63, |x| (x as i64).cast_unsigned());
        F32ToU64 = |a| unless_nan(f64::from(f32_of(a)), 1 << 63, |x| x as u64);
        S32ToF64 = |a| f64::from(s(a)).to_bits();
        U32ToF64 = |a| f64::from(a).to_bits();
    }
    widen2 {
        MulWideU32 = |a, b| u64::from(a) * u64::from(b), linear::mul_wide_u32;
        MulWideS32 = |a, b| (i64::from(s(a)) * i64::from(s(b))).cast_unsigned(), linear::mul_wide_s32;
        Pack64 = |a, b| u64::from(b) << 32 | u64::from(a);
    }
    widen3 {
        MadWideU32 = |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c), linear::mad_wide_u32;
        MadWideS32 = |a, b, c| (i64::from(s(a)) * i64::from(s(b))).cast_unsigned().wrapping_add(c), linear::mad_wide_s32;
    }
    narrow1 {
        Low32 = |a| a as u32, linear::low32;
        High32 = |a| (a >> 32) as u32;
        Popc64 = |a| a.count_ones();
        Clz64 = |a| a.leading_zeros();
        BfindU64 = |a| bfind(a, 64, false, false);
        BfindS64 = |a| bfind(a, 64, true, false);
        BfindShiftU64 = |a| bfind(a, 64, false, true);
        BfindShiftS64 = |a| bfind(a, 64, true, true);
        F64ToF32 = |a| bits32(f64_of(a) as f32);
        F64ToF32Rz = |a| narrow64(a, Rounding::Zero);
        F64ToF32Rm = |a| narrow64(a, Rounding::Down);
        F64ToF32Rp = |a| narrow64(a, Rounding::Up);
        F64ToS32 = |a| unless_nan(f64_of(a), 1 << 31, |x| (x as i32).cast_unsigned());
        F64ToU32 = |a| unless_nan(f64_of(a), 1 << 31, |x| x as u32);
        F64ToS16 = |a| unless_nan(f64_of(a), 1 << 15, |x| i32::from(x as i16).cast_unsigned() & 0xFFFF);
        F64ToU16 = |a| unless_nan(f64_of(a), 1 << 15, |x| u32::from(x as u16));
        F64ToS8 = |a| unless_nan(f64_of(a), 1 << 7, |x| i32::from(x as i8).cast_unsigned());
        F64ToU8 = |a| unless_nan(f64_of(a), 1 << 7, |x| u32::from(x as u8));
        S64ToF32 = |a| (sd(a) as f32).to_bits();
        U64ToF32 = |a| (a as f32).to_bits();
        S64ToF32Rz = |a| int_to_f32(i128::from(sd(a)), Rounding::Zero);
        S64ToF32Rm = |a| int_to_f32(i128::from(sd(a)), Rounding::Down);
        S64ToF32Rp = |a| int_to_f32(i128::from(sd(a)), Rounding::Up);
        U64ToF32Rz = |a| int_to_f32(i128::from(a), Rounding::Zero);
        U64ToF32Rm = |a| int_to_f32(i128::from(a), Rounding::Down);
        U64ToF32Rp = |a| int_to_f32(i128::from(a), Rounding::Up);
        SatS64ToS8 = |a| (sd(a).clamp(-128, 127) as i32).cast_unsigned();
        SatS64ToS16 = |a| (sd(a).clamp(-32768, 32767) as i32).cast_unsigned();
        SatS64ToU8 = |a| sd(a).clamp(0, 255) as u32;
        SatS64ToU16 = |a| sd(a).clamp(0, 65535) as u32;
        SatU64ToS8 = |a| a.min(127) as u32;
        SatU64ToS16 = |a| a.min(32767) as u32;
        SatU64ToU8 = |a| a.min(255) as u32;
        SatU64ToU16 = |a| a.min(65535) as u32;
    }
    cmp32 {
        EqI32 = |a, b| a == b;
        NeI32 = |a, b| a != b;
        LtU32 = |a, b| a < b, linear::lt_u32;
        LeU32 = |a, b| a <= b, linear::le_u32;
        LtS32 = |a, b| s(a) < s(b), linear::lt_s32;
        LeS32 = |a, b| s(a) <= s(b), linear::le_s32;
        LtS16 = |a, b| s(sign_extend(a, 16)) < s(sign_extend(b, 16));
        LeS16 = |a, b| s(sign_extend(a, 16)) <= s(sign_extend(b, 16));
        EqF32 = |a, b| f32_of(a) == f32_of(b);
        LtF32 = |a, b| f32_of(a) < f32_of(b);
        LeF32 = |a, b| f32_of(a) <= f32_of(b);
        NeF32 = |a, b| f32_of(a) < f32_of(b) || f32_of(a) > f32_of(b);
        NanF32 = |a, b| f32_of(a).is_nan() || f32_of(b).is_nan();
    }
    cmp64 {
        EqI64 = |a, b| a == b;
        NeI64 = |a, b| a != b;
        LtU64 = |a, b| a < b, linear::lt_u64;
        LeU64 = |a, b| a <= b, linear::le_u64;
        LtS64 = |a, b| sd(a) < sd(b), linear::lt_s64;
        LeS64 = |a, b| sd(a) <= sd(b), linear::le_s64;
        EqF64 = |a, b| f64_of(a) == f64_of(b);
        LtF64 = |a, b| f64_of(a) < f64_of(b);
        LeF64 = |a, b| f64_of(a) <= f64_of(b);
        NeF64 = |a, b| f64_of(a) < f64_of(b) || f64_of(a) > f64_of(b);
        NanF64 = |a, b| f64_of(a).is_nan() || f64_of(b).is_nan();
    }
    test32 {
        FiniteF32 = |a| f32_of(a).is_finite();
        InfiniteF32 = |a| f32_of(a).is_infinite();
        NumberF32 = |a| !f32_of(a).is_nan();
        NotNumberF32 = |a| f32_of(a).is_nan();
        NormalF32 = |a| f32_of(a).is_normal();
        SubnormalF32 = |a| f32_of(a).is_subnormal();
    }
    test64 {
        FiniteF64 = |a| f64_of(a).is_finite();
        InfiniteF64 = |a| f64_of(a).is_infinite();
        NumberF64 = |a| !f64_of(a).is_nan();
        NotNumberF64 = |a| f64_of(a).is_nan();
        NormalF64 = |a| f64_of(a).is_normal();
        SubnormalF64 = |a| f64_of(a).is_subnormal();
    }
    predicates {
        MovPred = |a, _| a;
        NotPred = |a, _| !a;
        AndPred = |a, b| a & b;
        OrPred = |a, b| a | b;
        XorPred = |a, b| a ^ b;
    }
    of_pred {
        OnesOfPred = |bit| if bit { u32::MAX } else { 0 };
    }
    carry32 {
        AddCarry32 = |a, b, carry| {
            let (sum, over) = a.overflowing_add(b);
            let (sum, again) = sum.overflowing_add(u32::from(carry));
            (sum, over || again)
        };
        // The flag of a subtraction is a borrow.
        SubBorrow32 = |a, b, borrow| {
            let (difference, under) = a.overflowing_sub(b);
            let (difference, again) = difference.overflowing_sub(u32::from(borrow));
            (difference, under || again)
        };
    }
    carry64 {
        AddCarry64 = |a, b, carry| {
            let (sum, over) = a.overflowing_add(b);
            let (sum, again) = sum.overflowing_add(u64::from(carry));
            (sum, over || again)
        };
        SubBorrow64 = |a, b, borrow| {
            let (difference, under) = a.overflowing_sub(b);
            let (difference, again) = difference.overflowing_sub(u64::from(borrow));
            (difference, under || again)
        };
    }
    select32 { Select32 = (); }
    select64 { Select64 = (); }
}
