//! Matrix instructions: what a warp multiplies, loads, stores and transposes as a whole.
//!
//! A matrix is spread over the lanes of a warp ([`layout`]). A product unpacks its operands into plain arrays, multiplies them and
//! packs the result; nothing is allocated while a kernel runs.
//! Source: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".

pub(crate) mod format;
pub(crate) mod layout;
mod multiply;
mod transfer;

use super::LaneFault;
use super::access::View;
use super::float::Rounding;
use super::lanes::LANES;
use super::one_warp::OneWarp;
use crate::code::{Address, Space};
use format::{Accumulator, Format};
use layout::{Layout, Major};

/// One matrix instruction and the registers that it names.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) kind: Kind,
    /// Registers are of 64 bits rather than 32.
    pub(crate) wide: bool,
    pub(crate) d: Vec<u32>,
    pub(crate) a: Vec<u32>,
    pub(crate) b: Vec<u32>,
    pub(crate) c: Vec<u32>,
    /// Where a load or a store goes.
    pub(crate) place: Option<(Space, Address)>,
    /// 32-bit register with the distance between rows or columns, where it is not that of a matrix without gaps.
    pub(crate) stride: Option<u32>,
}

/// What a matrix instruction does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// `d = a * b + c`
    Multiply(Product),
    /// `ldmatrix`
    LoadRows { transposed: bool },
    /// `stmatrix`
    StoreRows { transposed: bool },
    /// `movmatrix`
    Transpose,
    /// `wmma.load`
    Load(Tile),
    /// `wmma.store`
    Store(Tile),
}

/// A multiplication's shape, formats and layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) layout: Layout,
    pub(crate) a: Format,
    pub(crate) b: Format,
    /// Storage order of the operands, where the layout depends on it.
    pub(crate) a_major: Major,
    pub(crate) b_major: Major,
    pub(crate) c: Accumulator,
    pub(crate) d: Accumulator,
    /// Integer results are clamped rather than wrapped.
    pub(crate) saturates: bool,
    /// Of sums of doubles.
    pub(crate) rounding: Rounding,
    pub(crate) combine: Combine,
}

/// How two single bits are combined before they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Xor,
    And,
}

/// A matrix in memory: rows and columns of units of some bytes, of which each register holds as many as fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) unit_bytes: usize,
    /// Elements in a unit, where a stride counts elements of less than a byte.
    pub(crate) elements_per_unit: u32,
    pub(crate) major: Major,
}

impl Product {
    /// Registers of the result, of both factors and of the addend, where a fragment holds each element once.
    pub(crate) fn registers(&self) -> [usize; 4] {
        let &Self { m, n, k, .. } = self;
        [
            m * n / LANES / self.d.packed(),
            m * k / LANES / self.a.packed(),
            k * n / LANES / self.b.packed(),
            m * n / LANES / self.c.packed(),
        ]
    }
}

impl Tile {
    /// A factor of a product in memory. Where units hold several elements, the columns of `b` are what is contiguous: they are the
    /// rows of the tile.
    pub(crate) fn of_factor(
        format: Format,
        [m, n, k]: [usize; 3],
        major: Major,
        first: bool,
    ) -> Self {
        let (rows, columns) = if first { (m, k) } else { (k, n) };
        let bits = format.bits();
        if bits >= 8 {
            return Self {
                rows,
                columns,
                unit_bytes: bits / 8,
                elements_per_unit: 1,
                major,
            };
        }
        Self {
            rows: if first { m } else { n },
            columns: k * bits / 32,
            unit_bytes: 4,
            elements_per_unit: 32 / bits as u32,
            major: Major::Row,
        }
    }

    /// A sum in memory.
    pub(crate) fn of_sum(format: Accumulator, m: usize, n: usize, major: Major) -> Self {
        Self {
            rows: m,
            columns: n,
            unit_bytes: match format {
                Accumulator::F16 => 2,
                Accumulator::F64 => 8,
                Accumulator::F32 | Accumulator::S32 => 4,
            },
            elements_per_unit: 1,
            major,
        }
    }

    /// Registers of a fragment that holds each element once.
    pub(crate) fn registers(&self) -> usize {
        self.rows * self.columns / LANES / self.packed()
    }

    /// Units that a register holds.
    fn packed(&self) -> usize {
        (4 / self.unit_bytes.min(4)).max(1)
    }
}

impl View<'_, '_, '_> {
    /// Executes a matrix instruction for a whole warp.
    #[inline(never)]
    pub(crate) fn matrix(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        matrix: &Matrix,
        active: u32,
    ) -> Result<(), LaneFault> {
        match matrix.kind {
            Kind::Multiply(product) => {
                multiply::multiply(registers, matrix, &product, active);
                Ok(())
            }
            Kind::Transpose => {
                transfer::transpose(registers, matrix, active);
                Ok(())
            }
            Kind::LoadRows { transposed } => self.load_rows(registers, matrix, transposed, active),
            Kind::StoreRows { transposed } => {
                self.store_rows(registers, matrix, transposed, active)
            }
            Kind::Load(tile) => self.load_tile(registers, matrix, &tile, active),
            Kind::Store(tile) => self.store_tile(registers, matrix, &tile, active),
        }
    }
}
