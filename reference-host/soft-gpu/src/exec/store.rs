//! Stores.

use super::access::{View, addresses, consecutive, out_of_bounds, place, value_of};
use super::lanes::{FULL, LANES, Lanes64, Registers};
use super::{LaneFault, lanes_of};
use crate::code::{Access, Element, Space};

impl View<'_, '_, '_> {
    /// `st`.
    #[inline(always)]
    pub(crate) fn store(
        &mut self,
        registers: &Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        let size = u64::from(access.element.bytes());
        if let ([source], FULL) = (list, active)
            && let Some(first) = consecutive(registers, access.address, size)
            && let Ok(bytes) =
                self.spaces
                    .bytes(place(access.space, first), size * LANES as u64, true)
        {
            encode_consecutive(registers, *source, access.element, bytes);
            return Ok(());
        }
        self.store_otherwise(registers, access, list, active)
    }

    /// Stores that are not of 32 consecutive elements.
    #[inline(never)]
    fn store_otherwise(
        &mut self,
        registers: &Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        if access.space == Space::Frame {
            return self.store_frame(registers, access, list, active);
        }
        let addresses = addresses(registers, access.address);
        self.store_lanes(registers, access, list, active, &addresses)
    }

    fn store_lanes(
        &mut self,
        registers: &Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
        addresses: &Lanes64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes() as usize;
        let total = access.element.bytes() * list.len() as u32;
        let mut lanes = active;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            let address = addresses[lane];
            if place(access.space, address).space == Space::Local {
                self.store_local(registers, access, list, lane, address)?;
                lanes &= lanes - 1;
                continue;
            }
            // Names the fault where this lane's access is bad; otherwise its region serves the lanes that follow.
            let bytes = self.checked(access.space, address, total, true, lane as u32)?;
            if let (&[source], 4) = (list, size) {
                let Some((base, region)) = self.spaces.region(access.space, address) else {
                    break;
                };
                lanes = scatter(
                    region,
                    base,
                    addresses,
                    lanes,
                    &registers.r32[source as usize],
                );
                continue;
            }
            for (&source, chunk) in list.iter().zip(bytes.chunks_exact_mut(size)) {
                let value = value_of(registers, source, access.element, lane);
                chunk.copy_from_slice(&value.to_le_bytes()[..size]);
            }
            lanes &= lanes - 1;
        }
        Ok(())
    }

    /// One lane's store to local memory.
    fn store_local(
        &mut self,
        registers: &Registers<'_>,
        access: Access,
        list: &[u32],
        lane: usize,
        address: u64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes();
        let total = size * list.len() as u32;
        self.aligned(access.space, address, total, true, lane as u32)?;
        let start = place(access.space, address).address;
        for (at, &source) in (0u64..).zip(list) {
            let value = value_of(registers, source, access.element, lane);
            let written =
                self.local
                    .write(lane, start.wrapping_add(at * u64::from(size)), size, value);
            written
                .ok_or_else(|| out_of_bounds(access.space, address, total, true, lane as u32))?;
        }
        Ok(())
    }

    /// A store at a fixed offset of the frame.
    fn store_frame(
        &mut self,
        registers: &Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        let mut address = self
            .frame
            .wrapping_add(access.address.offset.cast_unsigned());
        let size = access.element.bytes();
        let first = active.trailing_zeros();
        self.aligned(
            Space::Local,
            u64::from(address),
            size * list.len() as u32,
            true,
            first,
        )?;
        for &source in list {
            let missing = || out_of_bounds(Space::Local, u64::from(address), size, true, first);
            if access.element == Element::B32 && active == FULL {
                *self.local.row_mut(address).ok_or_else(missing)? = registers.r32[source as usize];
            } else {
                for lane in lanes_of(active) {
                    let value = value_of(registers, source, access.element, lane);
                    self.local
                        .write(lane, u64::from(address), size, value)
                        .ok_or_else(missing)?;
                }
            }
            address = address.wrapping_add(size);
        }
        Ok(())
    }
}

/// Stores words of the lanes of `lanes`, lowest first, as long as they lie in `region`; returns the lanes that are left.
#[inline]
fn scatter(
    region: &mut [u8],
    base: u64,
    addresses: &Lanes64,
    mut lanes: u32,
    values: &[u32; LANES],
) -> u32 {
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        let offset = addresses[lane].wrapping_sub(base) as usize;
        let bytes = region
            .get_mut(offset..)
            .and_then(|rest| rest.first_chunk_mut::<4>());
        let Some(bytes) = bytes.filter(|_| addresses[lane].is_multiple_of(4)) else {
            break;
        };
        *bytes = values[lane].to_le_bytes();
        lanes &= lanes - 1;
    }
    lanes
}

/// Encodes 32 consecutive elements.
#[inline(always)]
fn encode_consecutive(registers: &Registers<'_>, source: u32, element: Element, bytes: &mut [u8]) {
    match element {
        Element::B64 => {
            for (chunk, value) in bytes
                .as_chunks_mut::<8>()
                .0
                .iter_mut()
                .zip(&registers.r64[source as usize])
            {
                *chunk = value.to_le_bytes();
            }
        }
        Element::B32 => {
            for (chunk, value) in bytes
                .as_chunks_mut::<4>()
                .0
                .iter_mut()
                .zip(&registers.r32[source as usize])
            {
                *chunk = value.to_le_bytes();
            }
        }
        Element::U16 | Element::S16 => {
            for (chunk, value) in bytes
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip(&registers.r32[source as usize])
            {
                *chunk = (*value as u16).to_le_bytes();
            }
        }
        Element::U8 | Element::S8 => {
            for (byte, value) in bytes.iter_mut().zip(&registers.r32[source as usize]) {
                *byte = *value as u8;
            }
        }
    }
}
