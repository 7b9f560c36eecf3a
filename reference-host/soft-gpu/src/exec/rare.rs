//! Lane operations that programs use rarely or that take long: a table like that of [`super::ops`], but executed out of line, so that the
//! interpreter's loop stays small.
//!
//! To add an instruction, add its row here and let a function of `verify::isa` select it.

use super::approximate::{approximate_upper, div_approximate};
use super::build::Build;
use super::exact;
use super::float::Rounding;
use super::half::{
    Bf16, F16, Tf32Rounding, abs, add, each, each2, each3, ex2, ex2_flushed, extreme, finite,
    flush, fma, int_to_odd, mul, narrow, neg, of_e4m3, of_e5m2, of_f32, relu, relu32, saturate,
    sub, tanh, tf32, tf32_finite, to_e4m3, to_e5m2, to_f32, xor_sign,
};
use super::lanes::{Registers, Slots};
use super::packed::{
    add_pairs, clamp_to, dot2, extend, extreme_signed, find_nth_set, mask, relu_signed,
};
use super::shape::Shape;

/// Builds [`RareOp`] and its interpreter from the table.
macro_rules! rare_ops {
    ($( $shape:ident { $( $name:ident = $f:expr; )* } )*) => {
        /// An operation that each active lane does alone, on registers only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum RareOp { $( $( $name(Slots), )* )* }

        impl RareOp {
            /// The registers that it reads and writes.
            pub(crate) fn operands(self) -> (Shape, Slots) {
                match self { $( $( Self::$name(slots) => (Shape::$shape(), slots), )* )* }
            }

            /// Executes the operation in the active lanes.
            #[inline(never)]
            pub(crate) fn execute<B: Build>(&self, build: B, registers: &mut Registers<'_>) {
                match self { $( $(
                    Self::$name(slots) => build.wide(
                        #[inline(always)]
                        || registers.$shape(slots, $f),
                    ),
                )* )* }
            }
        }
    };
}

const NEAREST: Rounding = Rounding::Nearest;
const ZERO: Rounding = Rounding::Zero;
const DOWN: Rounding = Rounding::Down;
const UP: Rounding = Rounding::Up;
const ONE: u64 = 1.0f64.to_bits();

rare_ops! {
    r1 {
        NegF16 = neg::<F16>;
        NegF16x2 = |a| each(a, neg::<F16>);
        NegBf16 = neg::<Bf16>;
        NegBf16x2 = |a| each(a, neg::<Bf16>);
        Ex2F16 = ex2::<F16>;
        Ex2F16x2 = |a| each(a, ex2::<F16>);
        Ex2Bf16 = ex2_flushed;
        Ex2Bf16x2 = |a| each(a, ex2_flushed);
        // These leave an upper half of zeros as it is, and so serve single values too.
        AbsF16 = |a| each(a, abs::<F16>);
        AbsBf16 = |a| each(a, abs::<Bf16>);
        FlushF16 = |a| each(a, flush::<F16>);
        FlushBf16 = |a| each(a, flush::<Bf16>);
        SatF16 = |a| each(a, saturate);
        ReluF16 = |a| each(a, relu::<F16>);
        ReluBf16 = |a| each(a, relu::<Bf16>);
        FiniteF16 = |a| each(a, finite::<F16>);
        FiniteBf16 = |a| each(a, finite::<Bf16>);
        TanhF16 = |a| each(a, tanh::<F16>);
        TanhBf16 = |a| each(a, tanh::<Bf16>);
        ReluF32 = relu32;
        ReluS16x2 = |a| each(a, relu_signed);
        F16ToF32 = to_f32::<F16>;
        Bf16ToF32 = to_f32::<Bf16>;
        F32ToF16 = |a| of_f32::<F16>(a, NEAREST);
        F32ToF16Rz = |a| of_f32::<F16>(a, ZERO);
        F32ToF16Rm = |a| of_f32::<F16>(a, DOWN);
        F32ToF16Rp = |a| of_f32::<F16>(a, UP);
        F32ToBf16 = |a| of_f32::<Bf16>(a, NEAREST);
        F32ToBf16Rz = |a| of_f32::<Bf16>(a, ZERO);
        F32ToBf16Rm = |a| of_f32::<Bf16>(a, DOWN);
        F32ToBf16Rp = |a| of_f32::<Bf16>(a, UP);
        F32ToTf32Away = |a| tf32(a, Tf32Rounding::Away);
        F32ToTf32 = |a| tf32(a, Tf32Rounding::Even);
        F32ToTf32Rz = |a| tf32(a, Tf32Rounding::Zero);
        FiniteTf32 = tf32_finite;
        F32ToE4m3 = to_e4m3;
        F32ToE5m2 = to_e5m2;
        E4m3ToF16 = |a| of_e4m3(a & 0xFF) | of_e4m3(a >> 8) << 16;
        E5m2ToF16 = |a| of_e5m2(a & 0xFF) | of_e5m2(a >> 8) << 16;
        High16 = |a| a >> 16;
        ClampS2 = |a| clamp_to(a, 2, true);
        ClampU2 = |a| clamp_to(a, 2, false);
        ClampS4 = |a| clamp_to(a, 4, true);
        ClampU4 = |a| clamp_to(a, 4, false);
        ClampS8 = |a| clamp_to(a, 8, true);
        ClampU8 = |a| clamp_to(a, 8, false);
        ClampS16 = |a| clamp_to(a, 16, true);
        ClampU16 = |a| clamp_to(a, 16, false);
    }
    r2 {
        AddF16 = add::<F16>;
        AddF16x2 = |a, b| each2(a, b, add::<F16>);
        AddBf16 = add::<Bf16>;
        AddBf16x2 = |a, b| each2(a, b, add::<Bf16>);
        SubF16 = sub::<F16>;
        SubF16x2 = |a, b| each2(a, b, sub::<F16>);
        SubBf16 = sub::<Bf16>;
        SubBf16x2 = |a, b| each2(a, b, sub::<Bf16>);
        MulF16 = mul::<F16>;
        MulF16x2 = |a, b| each2(a, b, mul::<F16>);
        MulBf16 = mul::<Bf16>;
        MulBf16x2 = |a, b| each2(a, b, mul::<Bf16>);
        MinF16 = |a, b| each2(a, b, |a, b| extreme::<F16>(a, b, true, false));
        MaxF16 = |a, b| each2(a, b, |a, b| extreme::<F16>(a, b, false, false));
        MinNanF16 = |a, b| each2(a, b, |a, b| extreme::<F16>(a, b, true, true));
        MaxNanF16 = |a, b| each2(a, b, |a, b| extreme::<F16>(a, b, false, true));
        MinBf16 = |a, b| each2(a, b, |a, b| extreme::<Bf16>(a, b, true, false));
        MaxBf16 = |a, b| each2(a, b, |a, b| extreme::<Bf16>(a, b, false, false));
        MinNanBf16 = |a, b| each2(a, b, |a, b| extreme::<Bf16>(a, b, true, true));
        MaxNanBf16 = |a, b| each2(a, b, |a, b| extreme::<Bf16>(a, b, false, true));
        AddPairs = add_pairs;
        MinU16x2 = |a, b| each2(a, b, u32::min);
        MaxU16x2 = |a, b| each2(a, b, u32::max);
        MinS16x2 = |a, b| each2(a, b, |a, b| extreme_signed(a, b, true));
        MaxS16x2 = |a, b| each2(a, b, |a, b| extreme_signed(a, b, false));
        // The first operand goes to the upper part.
        Join16 = |a, b| a << 16 | b & 0xFFFF;
        Join8 = |a, b| a << 8 | b & 0xFF;
        DivApproxF32 = div_approximate;
        ExtendUClamp = |a, b| extend(a, b, false, true);
        ExtendUWrap = |a, b| extend(a, b, false, false);
        ExtendSClamp = |a, b| extend(a, b, true, true);
        ExtendSWrap = |a, b| extend(a, b, true, false);
        MaskClamp = |a, b| mask(a, b, true);
        MaskWrap = |a, b| mask(a, b, false);
    }
    r3 {
        FmaF16 = fma::<F16>;
        FmaF16x2 = |a, b, c| each3(a, b, c, fma::<F16>);
        FmaBf16 = fma::<Bf16>;
        FmaBf16x2 = |a, b, c| each3(a, b, c, fma::<Bf16>);
        XorSignF16 = |a, b, c| each3(a, b, c, xor_sign::<F16>);
        XorSignBf16 = |a, b, c| each3(a, b, c, xor_sign::<Bf16>);
        XorSignF32 = |a, b, c| if f32::from_bits(a).is_nan() { a } else { a & 0x7FFF_FFFF | (b ^ c) & 0x8000_0000 };
        FindNthSet = find_nth_set;
        Dot2LoUU = |a, b, c| dot2(a, b, c, false, false, false);
        Dot2LoUS = |a, b, c| dot2(a, b, c, false, false, true);
        Dot2LoSU = |a, b, c| dot2(a, b, c, false, true, false);
        Dot2LoSS = |a, b, c| dot2(a, b, c, false, true, true);
        Dot2HiUU = |a, b, c| dot2(a, b, c, true, false, false);
        Dot2HiUS = |a, b, c| dot2(a, b, c, true, false, true);
        Dot2HiSU = |a, b, c| dot2(a, b, c, true, true, false);
        Dot2HiSS = |a, b, c| dot2(a, b, c, true, true, true);
        // The lower bits of `c` move up above two packed fields.
        Pack16 = |a, b, c| c << 16 | a << 8 | b;
        Pack8 = |a, b, c| c << 8 | a << 4 | b;
        Pack4 = |a, b, c| c << 4 | a << 2 | b;
    }
    d1 {
        SqrtRzF64 = |a| exact::sqrt(a, ZERO);
        SqrtRmF64 = |a| exact::sqrt(a, DOWN);
        SqrtRpF64 = |a| exact::sqrt(a, UP);
        RcpRzF64 = |a| exact::div(ONE, a, ZERO);
        RcpRmF64 = |a| exact::div(ONE, a, DOWN);
        RcpRpF64 = |a| exact::div(ONE, a, UP);
        RcpUpperF64 = |a| approximate_upper(a, |x| 1.0 / x);
        RsqrtUpperF64 = |a| approximate_upper(a, |x| 1.0 / x.sqrt());
        S64ToOddF64 = |a| int_to_odd(a.cast_signed() < 0, a.cast_signed().unsigned_abs());
        U64ToOddF64 = |a| int_to_odd(false, a);
    }
    d2 {
        AddRzF64 = |a, b| exact::add(a, b, ZERO);
        AddRmF64 = |a, b| exact::add(a, b, DOWN);
        AddRpF64 = |a, b| exact::add(a, b, UP);
        SubRzF64 = |a, b| exact::add(a, b ^ 1 << 63, ZERO);
        SubRmF64 = |a, b| exact::add(a, b ^ 1 << 63, DOWN);
        SubRpF64 = |a, b| exact::add(a, b ^ 1 << 63, UP);
        MulRzF64 = |a, b| exact::mul(a, b, ZERO);
        MulRmF64 = |a, b| exact::mul(a, b, DOWN);
        MulRpF64 = |a, b| exact::mul(a, b, UP);
        DivRzF64 = |a, b| exact::div(a, b, ZERO);
        DivRmF64 = |a, b| exact::div(a, b, DOWN);
        DivRpF64 = |a, b| exact::div(a, b, UP);
    }
    d3 {
        FmaRzF64 = |a, b, c| exact::fma(a, b, c, ZERO);
        FmaRmF64 = |a, b, c| exact::fma(a, b, c, DOWN);
        FmaRpF64 = |a, b, c| exact::fma(a, b, c, UP);
    }
    narrow1 {
        F64ToF16 = |a| narrow::<F16>(f64::from_bits(a), NEAREST);
        F64ToF16Rz = |a| narrow::<F16>(f64::from_bits(a), ZERO);
        F64ToF16Rm = |a| narrow::<F16>(f64::from_bits(a), DOWN);
        F64ToF16Rp = |a| narrow::<F16>(f64::from_bits(a), UP);
        F64ToBf16 = |a| narrow::<Bf16>(f64::from_bits(a), NEAREST);
        F64ToBf16Rz = |a| narrow::<Bf16>(f64::from_bits(a), ZERO);
        F64ToBf16Rm = |a| narrow::<Bf16>(f64::from_bits(a), DOWN);
        F64ToBf16Rp = |a| narrow::<Bf16>(f64::from_bits(a), UP);
    }
}
