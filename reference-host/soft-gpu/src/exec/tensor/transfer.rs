//! Matrices between memory and registers, and their transposition.

use super::layout::{Major, linear};
use super::{Matrix, Tile};
use crate::code::Space;
use crate::exec::LaneFault;
use crate::exec::access::{View, addresses, place, refused};
use crate::exec::lanes::{Lanes32, Lanes64};
use crate::exec::one_warp::OneWarp;
use crate::memory::AccessError;

/// Rows of a matrix of `ldmatrix`, and 16-bit elements of a row.
const SIDE: usize = 8;
/// Bytes of such a row.
const ROW_BYTES: u32 = 16;

/// Such a matrix: rows of elements.
type Small = [[u16; SIDE]; SIDE];

impl View<'_, '_, '_> {
    /// `ldmatrix`: lane 8i + j gives the address of row j of matrix i.
    pub(super) fn load_rows(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        matrix: &Matrix,
        transposed: bool,
        active: u32,
    ) -> Result<(), LaneFault> {
        let Some((space, address)) = matrix.place else {
            return Ok(());
        };
        let addresses = addresses(registers, address);
        let mut small = [Small::default(); 4];
        for (at, rows) in small.iter_mut().enumerate().take(matrix.d.len()) {
            for (row, elements) in rows.iter_mut().enumerate() {
                let lane = SIDE * at + row;
                let bytes = self.row(space, addresses[lane], false, lane as u32)?;
                for (element, bytes) in elements.iter_mut().zip(bytes.as_chunks::<2>().0) {
                    *element = u16::from_le_bytes(*bytes);
                }
            }
        }
        for (&d, rows) in matrix.d.iter().zip(&small) {
            registers.put32(d, active, &fragment(rows, transposed));
        }
        Ok(())
    }

    /// `stmatrix`
    pub(super) fn store_rows(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        matrix: &Matrix,
        transposed: bool,
        _: u32,
    ) -> Result<(), LaneFault> {
        let Some((space, address)) = matrix.place else {
            return Ok(());
        };
        let addresses = addresses(registers, address);
        for (at, &a) in matrix.a.iter().enumerate() {
            let rows = rows_of(&registers.lanes32(a), transposed);
            for (row, elements) in rows.iter().enumerate() {
                let lane = SIDE * at + row;
                let bytes = self.row(space, addresses[lane], true, lane as u32)?;
                for (bytes, element) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(elements) {
                    *bytes = element.to_le_bytes();
                }
            }
        }
        Ok(())
    }

    /// A row of a small matrix, which only shared memory holds.
    fn row(
        &mut self,
        space: Space,
        address: u64,
        write: bool,
        lane: u32,
    ) -> Result<&mut [u8], LaneFault> {
        if place(space, address).space != Space::Shared {
            let why = AccessError::WrongSpace;
            return Err(refused(why, space, address, ROW_BYTES, write, lane));
        }
        self.checked(space, address, ROW_BYTES, write, lane)
    }

    /// `wmma.load`: the first lane's address and stride are those of all.
    pub(super) fn load_tile(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        matrix: &Matrix,
        tile: &Tile,
        active: u32,
    ) -> Result<(), LaneFault> {
        let mut units = [0u64; MAX_UNITS];
        let size = tile.unit_bytes;
        self.lines(registers, matrix, tile, active, false, |bytes, at, step| {
            for (unit, bytes) in bytes.chunks_exact(size).enumerate() {
                let mut word = [0; 8];
                word[..size].copy_from_slice(bytes);
                units[at + unit * step] = u64::from_le_bytes(word);
            }
        })?;
        let packed = tile.packed();
        let per_lane = packed * matrix.d.len();
        let bits = 8 * size;
        for (register, &d) in matrix.d.iter().enumerate() {
            let out: Lanes64 = std::array::from_fn(|lane| {
                (0..packed).fold(0, |word, at| {
                    let element = register * packed + at;
                    let (row, column) = linear(lane, element, per_lane, tile.rows, tile.columns);
                    word | units[row * tile.columns + column] << (at * bits)
                })
            });
            if matrix.wide {
                registers.put64(d, active, &out);
            } else {
                registers.put32(d, active, &out.map(|word| word as u32));
            }
        }
        Ok(())
    }

    /// `wmma.store`
    pub(super) fn store_tile(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        matrix: &Matrix,
        tile: &Tile,
        active: u32,
    ) -> Result<(), LaneFault> {
        let mut units = [0u64; MAX_UNITS];
        let size = tile.unit_bytes;
        let packed = tile.packed();
        let per_lane = packed * matrix.a.len();
        for (register, &a) in matrix.a.iter().enumerate() {
            let words = if matrix.wide {
                registers.lanes64(a)
            } else {
                registers.lanes32(a).map(u64::from)
            };
            for (lane, word) in words.into_iter().enumerate() {
                for at in 0..packed {
                    let element = register * packed + at;
                    let (row, column) = linear(lane, element, per_lane, tile.rows, tile.columns);
                    units[row * tile.columns + column] = word >> (at * 8 * size);
                }
            }
        }
        self.lines(registers, matrix, tile, active, true, |bytes, at, step| {
            for (unit, bytes) in bytes.chunks_exact_mut(size).enumerate() {
                bytes.copy_from_slice(&units[at + unit * step].to_le_bytes()[..size]);
            }
        })
    }

    /// Calls `f` for each row, or column, that is contiguous in memory: its bytes, the number of its first unit in row-major order, and how
    /// far apart its units are there.
    fn lines(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        matrix: &Matrix,
        tile: &Tile,
        active: u32,
        write: bool,
        mut f: impl FnMut(&mut [u8], usize, usize),
    ) -> Result<(), LaneFault> {
        let Some((space, address)) = matrix.place else {
            return Ok(());
        };
        let lane = active.trailing_zeros() & 31;
        let base = addresses(registers, address)[lane as usize];
        let (lines, length, line_step, unit_step) = match tile.major {
            Major::Row => (tile.rows, tile.columns, tile.columns, 1),
            Major::Column => (tile.columns, tile.rows, 1, tile.columns),
        };
        let stride = match matrix.stride {
            Some(slot) => {
                u64::from(registers.lanes32(slot)[lane as usize] / tile.elements_per_unit)
            }
            None => length as u64,
        };
        let size = tile.unit_bytes as u32;
        self.aligned(space, base, size, write, lane)?;
        for line in 0..lines {
            let offset = (line as u64)
                .wrapping_mul(stride)
                .wrapping_mul(u64::from(size));
            let address = base.wrapping_add(offset);
            let total = size * length as u32;
            let bytes = self
                .spaces
                .bytes(place(space, address), u64::from(total), write)
                .map_err(|error| refused(error, space, address, total, write, lane))?;
            f(bytes, line * line_step, unit_step);
        }
        Ok(())
    }
}

/// Most units of a matrix.
const MAX_UNITS: usize = 32 * 16;

/// `movmatrix`
pub(super) fn transpose(registers: &mut OneWarp<'_, '_>, matrix: &Matrix, active: u32) {
    for (&d, &a) in matrix.d.iter().zip(&matrix.a) {
        let rows = rows_of(&registers.lanes32(a), false);
        registers.put32(d, active, &fragment(&rows, true));
    }
}

/// What each lane holds of a small matrix: two neighbours in a row, or, transposed, in a column.
fn fragment(rows: &Small, transposed: bool) -> Lanes32 {
    std::array::from_fn(|lane| {
        let (group, first) = (lane / 4, lane % 4 * 2);
        let (low, high) = if transposed {
            (rows[first][group], rows[first + 1][group])
        } else {
            (rows[group][first], rows[group][first + 1])
        };
        u32::from(low) | u32::from(high) << 16
    })
}

/// The inverse of [`fragment`].
fn rows_of(lanes: &Lanes32, transposed: bool) -> Small {
    let mut rows = Small::default();
    for (lane, word) in lanes.iter().enumerate() {
        let (group, first) = (lane / 4, lane % 4 * 2);
        for (at, half) in [(first, *word), (first + 1, word >> 16)] {
            let (row, column) = if transposed { (at, group) } else { (group, at) };
            rows[row][column] = half as u16;
        }
    }
    rows
}
