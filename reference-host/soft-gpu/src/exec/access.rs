//! The memory of a fragment, and what loads, stores and atomics have in common.

use super::LaneFault;
use super::form::Form;
use super::lanes::{LANES, Lanes64, Registers};
use super::local::Local;
use super::together::Together;
use crate::code::{Address, Element, NONE, Space};
use crate::fault::FaultKind;
use crate::memory::{AccessError, Place, Spaces, resolve};

/// The memory that one fragment reaches.
pub(crate) struct View<'v, 'l, 'm> {
    pub(crate) spaces: &'v mut Spaces<'l, 'm>,
    pub(crate) local: &'v mut Local,
    /// Start of the running function's frame in local memory.
    pub(crate) frame: u32,
}

impl<'l> View<'_, 'l, '_> {
    /// The memory that threads share, if they do and the address is there.
    #[inline(always)]
    pub(super) fn together(&self, space: Space, address: u64) -> Option<&'l Together<'l>> {
        self.spaces
            .together
            .filter(|_| place(space, address).space == Space::Global)
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
            .map_err(|error| match error {
                AccessError::OutOfBounds => out_of_bounds(space, address, bytes, write, lane),
                AccessError::ReadOnly => LaneFault {
                    kind: FaultKind::ReadOnly {
                        space: space.word(),
                        address,
                        bytes,
                    },
                    lane,
                },
            })
    }
}

/// The address of each lane.
#[inline]
pub(super) fn addresses(registers: &mut Registers<'_>, address: Address) -> Lanes64 {
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

/// The pattern of the lanes' addresses, if they have one.
///
/// Addresses of 32 bits may wrap between the lanes of a half where the pattern's do not: no region reaches that far.
#[inline(always)]
pub(super) fn address_form(registers: &mut Registers<'_>, address: Address) -> Option<Form<u64>> {
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
        let index = registers.pattern64(address.index)?;
        form.low = form.low.wrapping_add(index.low);
        form.high = form.high.wrapping_add(index.high);
        form.step = form.step.wrapping_add(index.step);
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
    registers: &mut Registers<'_>,
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
    registers: &Registers<'_>,
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
