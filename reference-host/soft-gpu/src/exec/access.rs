//! The memory of a fragment, and what loads, stores and atomics have in common.

use super::LaneFault;
use super::lanes::{LANES, Lanes32, Lanes64, Registers};
use super::local::Local;
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

impl View<'_, '_, '_> {
    pub(super) fn aligned(
        &self,
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
        lane: u32,
    ) -> Result<(), LaneFault> {
        if bytes != 0 && !address.is_multiple_of(u64::from(bytes)) {
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
pub(super) fn addresses(registers: &Registers<'_>, address: Address) -> Lanes64 {
    if address.base == NONE {
        return [i64::from(address.offset).cast_unsigned(); LANES];
    }
    if address.narrow {
        let base = &registers.r32[address.base as usize];
        let offset = address.offset.cast_unsigned();
        return base.map(|base| u64::from(base.wrapping_add(offset)));
    }
    let mut out = registers.r64[address.base as usize];
    let offset = i64::from(address.offset).cast_unsigned();
    for address in &mut out {
        *address = address.wrapping_add(offset);
    }
    out
}

/// The first lane's address where each lane's lies `stride` behind the one before and the first is a multiple of `stride`.
#[inline(always)]
pub(super) fn consecutive(registers: &Registers<'_>, address: Address, stride: u64) -> Option<u64> {
    if address.base == NONE {
        return None;
    }
    let row = stride.trailing_zeros() as usize & 3;
    let first = if address.narrow {
        let base = &registers.r32[address.base as usize];
        let ramp = &RAMPS32[row];
        let mut difference = 0;
        for lane in 0..LANES {
            difference |= base[lane] ^ base[0].wrapping_add(ramp[lane]);
        }
        let first = base[0].wrapping_add(address.offset.cast_unsigned());
        (difference == 0).then_some(u64::from(first))
    } else {
        let base = &registers.r64[address.base as usize];
        if base[1].wrapping_sub(base[0]) != stride {
            return None;
        }
        let ramp = &RAMPS64[row];
        let mut difference = 0;
        for lane in 0..LANES {
            difference |= base[lane] ^ base[0].wrapping_add(ramp[lane]);
        }
        (difference == 0).then(|| base[0].wrapping_add_signed(i64::from(address.offset)))
    };
    first.filter(|first| first.is_multiple_of(stride))
}

/// Whether all lanes have one address.
#[inline]
pub(super) fn is_uniform(addresses: &Lanes64) -> bool {
    let first = addresses[0];
    addresses
        .iter()
        .fold(0, |difference, address| difference | (address ^ first))
        == 0
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
        registers.r64[source as usize][lane]
    } else {
        u64::from(registers.r32[source as usize][lane])
    }
}

/// How far each lane's element lies behind the first lane's, for elements of 1, 2, 4 and 8 bytes.
static RAMPS64: [Lanes64; 4] = {
    let mut ramps = [[0; LANES]; 4];
    let mut at = 0;
    while at < 4 * LANES {
        ramps[at / LANES][at % LANES] = ((at % LANES) as u64) << (at / LANES);
        at += 1;
    }
    ramps
};

/// The same for 32-bit addresses.
static RAMPS32: [Lanes32; 4] = {
    let mut ramps = [[0; LANES]; 4];
    let mut at = 0;
    while at < 4 * LANES {
        ramps[at / LANES][at % LANES] = RAMPS64[at / LANES][at % LANES] as u32;
        at += 1;
    }
    ramps
};
