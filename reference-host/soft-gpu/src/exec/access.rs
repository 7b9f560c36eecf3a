//! The memory of a squad and of a warp, and what loads, stores and atomics have in common.

use super::LaneFault;
use super::form::{Form, HALF};
use super::lanes::{LANES, Lanes64, Registers};
use super::local::Local;
use super::one_warp::OneWarp;
use super::together::Together;
use crate::code::{Address, Element, NONE, Space};
use crate::fault::FaultKind;
use crate::memory::{AccessError, Place, Spaces, resolve};

/// The memory that the warps of a squad reach.
pub(crate) struct SquadView<'v, 'l, 'm> {
    pub(crate) spaces: &'v mut Spaces<'l, 'm>,
    /// Local memory of each warp.
    pub(crate) locals: &'v mut [Local],
    /// Start of the running function's frame in local memory.
    pub(crate) frame: u32,
}

impl<'l, 'm> SquadView<'_, 'l, 'm> {
    /// The memory that threads share, if they do and the access is to words there.
    #[inline(always)]
    pub(super) fn together(
        &mut self,
        space: Space,
        address: u64,
        write: bool,
    ) -> Option<&'l Together<'m>> {
        together(self.spaces, space, address, write)
    }

    /// Does `work` for each warp that has an active lane, with its registers and active lanes, until one faults.
    #[inline(always)]
    pub(crate) fn each_warp(
        &mut self,
        registers: &mut Registers<'_>,
        mut work: impl FnMut(
            usize,
            &mut View<'_, 'l, 'm>,
            &mut OneWarp<'_, '_>,
            u32,
        ) -> Result<(), LaneFault>,
    ) -> Result<(), LaneFault> {
        let mut warps = registers.touched;
        while warps != 0 {
            let warp = warps.trailing_zeros() as usize;
            warps &= warps - 1;
            let active = registers.chosen.warp(warp);
            let mut view = View {
                spaces: self.spaces,
                local: &mut self.locals[warp],
                frame: self.frame,
            };
            work(warp, &mut view, &mut registers.of_warp(warp), active)
                .map_err(|fault| fault.in_warp(warp))?;
        }
        Ok(())
    }
}

/// The memory that one warp reaches.
pub(crate) struct View<'v, 'l, 'm> {
    pub(crate) spaces: &'v mut Spaces<'l, 'm>,
    pub(crate) local: &'v mut Local,
    /// Start of the running function's frame in local memory.
    pub(crate) frame: u32,
}

impl<'l, 'm> View<'_, 'l, 'm> {
    /// The memory that threads share, if they do and the access is to words there.
    #[inline(always)]
    pub(super) fn together(
        &mut self,
        space: Space,
        address: u64,
        write: bool,
    ) -> Option<&'l Together<'m>> {
        together(self.spaces, space, address, write)
    }

    pub(super) fn aligned(
        &self,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
        lane: u32,
    ) -> Result<(), LaneFault> {
        // Accesses have a power of two of bytes.
        if address & u64::from(bytes.saturating_sub(1)) != 0 {
            let kind = FaultKind::Misaligned {
                space: space.word(),
                address,
                bytes,
                write,
            };
            return Err(LaneFault { kind, lane });
        }
        Ok(())
    }

    /// The bytes that one lane reads outside local memory.
    #[inline]
    pub(super) fn checked_read(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        lane: u32,
    ) -> Result<&[u8], LaneFault> {
        self.aligned(space, address, bytes, false, lane)?;
        let (base, region) = self.spaces.readable(space, address).unwrap_or_default();
        let start = address.wrapping_sub(base) as usize;
        region
            .get(start..start.saturating_add(bytes as usize))
            .ok_or_else(|| out_of_bounds(space, address, bytes, false, lane))
    }

    /// The bytes of one lane's access outside local memory.
    #[inline]
    pub(super) fn checked(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
        lane: u32,
    ) -> Result<&mut [u8], LaneFault> {
        self.aligned(space, address, bytes, write, lane)?;
        self.spaces
            .bytes(place(space, address), u64::from(bytes), write)
            .map_err(|error| refused(error, space, address, bytes, write, lane))
    }
}

/// Where memory is as it was mapped and this thread may access it so, that is nothing to share.
#[inline(always)]
fn together<'l, 'm>(
    spaces: &mut Spaces<'l, 'm>,
    space: Space,
    address: u64,
    write: bool,
) -> Option<&'l Together<'m>> {
    let sharing = spaces.together.as_mut()?;
    let plain = place(space, address).space != Space::Global
        || if write {
            sharing.plain_mut(address).is_some()
        } else {
            sharing.plain(address).is_some()
        };
    (!plain).then_some(sharing.together)
}

/// The pattern of the addresses of a squad's lanes, if it is known or they have one.
///
/// Where it gives an address that wraps in 32 bits, that is beyond every region.
#[inline(always)]
pub(super) fn squad_form(registers: &mut Registers<'_>, address: Address) -> Option<Form<u64>> {
    let warps = registers.touched;
    let offset = i64::from(address.offset).cast_unsigned();
    if address.base == NONE {
        return Some(Form::uniform(offset));
    }
    if address.narrow {
        let form = registers.r32.pattern(address.base, warps)?;
        let at = |first: u32| u64::from(first.wrapping_add(offset as u32));
        return Some(Form {
            low: at(form.low),
            high: at(form.high),
            step: u64::from(form.step),
            along: i64::from(form.along.cast_signed()).cast_unsigned(),
        });
    }
    let mut form = registers.r64.pattern(address.base, warps)?;
    if address.index != NONE {
        form = form.plus(registers.r64.pattern(address.index, warps)?);
    }
    form.low = form.low.wrapping_add(offset);
    form.high = form.high.wrapping_add(offset);
    Some(form)
}

/// The first of `warps` and their number, if words along a pattern of one step are consecutive over all of them.
#[inline(always)]
pub(super) fn in_a_row(form: &Form<u64>, warps: u32) -> Option<(usize, usize)> {
    const WORD: u64 = 4;
    let first = warps.trailing_zeros() as usize;
    let count = warps.count_ones() as usize;
    let consecutive = warps >> first == (1 << count) - 1
        && form.step == WORD
        && form.high == form.low.wrapping_add(HALF as u64 * WORD)
        && (form.along == LANES as u64 * WORD || count == 1);
    consecutive.then_some((first, count))
}

/// The address of each lane of a warp.
#[inline]
pub(super) fn addresses(registers: &mut OneWarp<'_, '_>, address: Address) -> Lanes64 {
    if address.base == NONE {
        return [i64::from(address.offset).cast_unsigned(); LANES];
    }
    if address.narrow {
        let base = registers.view32(address.base);
        let offset = address.offset.cast_unsigned();
        return base.map(|base| u64::from(base.wrapping_add(offset)));
    }
    let mut out = registers.lanes64(address.base);
    let offset = i64::from(address.offset).cast_unsigned();
    if address.index != NONE {
        let index = registers.view64(address.index);
        for lane in 0..LANES {
            out[lane] = out[lane].wrapping_add(index[lane]);
        }
    }
    for address in &mut out {
        *address = address.wrapping_add(offset);
    }
    out
}

/// The pattern of the addresses of a warp's lanes, if they have one.
///
/// Addresses of 32 bits may wrap between the lanes of a half where the pattern's do not: no region reaches that far.
#[inline(always)]
pub(super) fn address_form(registers: &mut OneWarp<'_, '_>, address: Address) -> Option<Form<u64>> {
    let offset = i64::from(address.offset).cast_unsigned();
    if address.base == NONE {
        return Some(Form::uniform(offset));
    }
    if address.narrow {
        let form = registers.pattern32(address.base)?;
        let at = |first: u32| u64::from(first.wrapping_add(offset as u32));
        return Some(Form::affine(
            at(form.low),
            at(form.high),
            u64::from(form.step),
        ));
    }
    let mut form = registers.pattern64(address.base)?;
    if address.index != NONE {
        form = form.plus(registers.pattern64(address.index)?);
    }
    Some(Form::affine(
        form.low.wrapping_add(offset),
        form.high.wrapping_add(offset),
        form.step,
    ))
}

/// The place behind an address of a space.
#[inline]
pub(super) fn place(space: Space, address: u64) -> Place {
    match space {
        Space::Generic => resolve(address),
        space => Place { space, address },
    }
}

/// One element of little-endian bytes as its register has it.
#[inline(always)]
pub(super) fn decode(element: Element, bytes: &[u8]) -> u64 {
    match *bytes {
        [a] if element == Element::S8 => u64::from(i32::from(a.cast_signed()).cast_unsigned()),
        [a] => u64::from(a),
        [a, b] if element == Element::S16 => {
            u64::from(i32::from(i16::from_le_bytes([a, b])).cast_unsigned())
        }
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// The fault of an access that memory refuses.
#[cold]
pub(super) fn refused(
    error: AccessError,
    space: Space,
    address: u64,
    bytes: u32,
    write: bool,
    lane: u32,
) -> LaneFault {
    let word = space.word();
    let kind = match error {
        AccessError::OutOfBounds => return out_of_bounds(space, address, bytes, write, lane),
        AccessError::ReadOnly => FaultKind::ReadOnly {
            space: word,
            address,
            bytes,
        },
        AccessError::WrongSpace => FaultKind::WrongSpace {
            space: word,
            address,
            bytes,
            write,
        },
    };
    LaneFault { kind, lane }
}

pub(super) fn out_of_bounds(
    space: Space,
    address: u64,
    bytes: u32,
    write: bool,
    lane: u32,
) -> LaneFault {
    LaneFault {
        kind: FaultKind::OutOfBounds {
            space: space.word(),
            address,
            bytes,
            write,
        },
        lane,
    }
}

pub(super) fn put(
    registers: &mut OneWarp<'_, '_>,
    d: u32,
    element: Element,
    active: u32,
    values: &Lanes64,
) {
    if element == Element::B64 {
        registers.put64(d, active, values);
    } else {
        registers.put32(d, active, &values.map(|value| value as u32));
    }
}

/// One lane's value of a register.
#[inline]
pub(super) fn value_of(
    registers: &OneWarp<'_, '_>,
    source: u32,
    element: Element,
    lane: usize,
) -> u64 {
    if element == Element::B64 {
        registers.lane64(source, lane)
    } else {
        u64::from(registers.lane32(source, lane))
    }
}
