//! What kernels are given and give back: shapes, arguments, seeded data, comparisons.

use std::fmt::Debug;

/// Grid and block of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
}

impl Shape {
    pub(crate) fn line(blocks: u32, threads: u32) -> Self {
        Self::plane([blocks, 1], [threads, 1])
    }

    pub(crate) fn plane(grid: [u32; 2], block: [u32; 2]) -> Self {
        Self {
            grid: [grid[0], grid[1], 1],
            block: [block[0], block[1], 1],
            dynamic_shared_bytes: 0,
        }
    }

    pub(crate) fn threads(self) -> usize {
        self.grid
            .iter()
            .chain(&self.block)
            .map(|extent| *extent as usize)
            .product()
    }
}

/// One kernel argument.
pub(crate) enum Arg {
    /// A pointer to these bytes.
    Buffer(Vec<u8>),
    /// The value itself.
    Value(Vec<u8>),
}

impl Arg {
    pub(crate) fn buffer<T: Value>(values: &[T]) -> Self {
        Self::Buffer(bytes_of(values))
    }

    pub(crate) fn value<T: Value>(value: T) -> Self {
        Self::Value(bytes_of(&[value]))
    }

    /// A pointer to `count` elements of zero bytes.
    pub(crate) fn zeros<T: Value>(count: usize) -> Self {
        Self::Buffer(vec![0; count * T::BYTES])
    }

    /// What a buffer holds now.
    pub(crate) fn values<T: Value>(&self) -> Vec<T> {
        let Self::Buffer(bytes) = self else {
            panic!("not a buffer")
        };
        bytes.chunks_exact(T::BYTES).map(T::of_bytes).collect()
    }
}

/// A number as it lies in device memory.
pub(crate) trait Value: Copy {
    const BYTES: usize;
    fn bytes(self) -> Vec<u8>;
    fn of_bytes(bytes: &[u8]) -> Self;
}

macro_rules! values {
    ($($number:ty),*) => {$(
        impl Value for $number {
            const BYTES: usize = size_of::<$number>();
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn of_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
        }
    )*};
}
values!(i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f32, f64);

pub(crate) fn bytes_of<T: Value>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes()).collect()
}

/// Compares element by element and names the first difference.
#[track_caller]
pub(crate) fn assert_same<T: PartialEq + Debug>(found: &[T], expected: &[T], what: impl Debug) {
    assert_eq!(found.len(), expected.len(), "{what:?}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            found == expected,
            "{what:?}, element {index}: found {found:?}, expected {expected:?}"
        );
    }
}

/// The bits of floating-point numbers, so that zeros of both signs differ and NaNs compare.
pub(crate) fn bits32(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Seeded random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    pub(crate) fn i32(&mut self) -> i32 {
        self.u32().cast_signed()
    }

    /// An integer of any magnitude.
    pub(crate) fn spread(&mut self) -> i64 {
        self.u64().cast_signed() >> (self.u32() % 64)
    }

    /// Any bits at all: infinities, subnormal numbers and what is not a number among them.
    pub(crate) fn any_f32(&mut self) -> f32 {
        const SPECIAL: [u32; 12] = [
            0,
            0x8000_0000,
            1,
            0x807F_FFFF,
            0x0080_0000,
            0x3F80_0000,
            0xBF80_0001,
            0x7F7F_FFFF,
            0x7F80_0000,
            0xFF80_0000,
            0x7FC0_0000,
            0x4B00_0001,
        ];
        f32::from_bits(match self.u32() % 3 {
            0 => SPECIAL[self.u32() as usize % SPECIAL.len()],
            _ => self.u32(),
        })
    }

    /// Between -1000 and 1000, with all bits of the fraction in use.
    pub(crate) fn f32(&mut self) -> f32 {
        (self.f64()) as f32
    }

    /// Between -1000 and 1000, with all bits of the fraction in use.
    pub(crate) fn f64(&mut self) -> f64 {
        (self.u64() >> 11) as f64 * (2000.0 / (1u64 << 53) as f64) - 1000.0
    }

    pub(crate) fn many<T>(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| one(self)).collect()
    }
}
