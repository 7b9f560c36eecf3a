//! Loads.
//!
//! Consecutive addresses, and one address for all lanes, take one bounds check; all else goes lane by lane, which is also where faults
//! are found.

use super::LaneFault;
use super::access::{View, addresses, consecutive, decode, is_uniform, out_of_bounds, place, put};
use super::lanes::{FULL, LANES, Lanes32, Lanes64, Registers};
use crate::code::{Access, Element, Space};

impl View<'_, '_, '_> {
    /// `ld`.
    #[inline(always)]
    pub(crate) fn load(
        &mut self,
        registers: &mut Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        let size = u64::from(access.element.bytes());
        if let ([d], FULL) = (list, active)
            && let Some(first) = consecutive(registers, access.address, size)
            && let Ok(bytes) =
                self.spaces
                    .bytes(place(access.space, first), size * LANES as u64, false)
        {
            decode_consecutive(registers, *d, access.element, bytes);
            return Ok(());
        }
        self.load_otherwise(registers, access, list, active)
    }

    /// Loads that are not of 32 consecutive elements.
    #[inline(never)]
    fn load_otherwise(
        &mut self,
        registers: &mut Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        if access.space == Space::Frame {
            return self.load_frame(registers, access, list, active);
        }
        let addresses = addresses(registers, access.address);
        if is_uniform(&addresses)
            && active != 0
            && !matches!(place(access.space, addresses[0]).space, Space::Local)
        {
            return self.load_uniform(registers, access, list, active, addresses[0]);
        }
        self.load_lanes(registers, access, list, active, &addresses)
    }

    fn load_uniform(
        &mut self,
        registers: &mut Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
        address: u64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes();
        let total = size * list.len() as u32;
        let lane = active.trailing_zeros();
        let bytes = self.checked(access.space, address, total, false, lane)?;
        for (&d, chunk) in list.iter().zip(bytes.chunks_exact(size as usize)) {
            let value = decode(access.element, chunk);
            if access.element == Element::B64 {
                registers.put64(d, active, &[value; LANES]);
            } else {
                registers.put32(d, active, &[value as u32; LANES]);
            }
        }
        Ok(())
    }

    fn load_lanes(
        &mut self,
        registers: &mut Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
        addresses: &Lanes64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes() as usize;
        let total = access.element.bytes() * list.len() as u32;
        let mut values = [[0u64; LANES]; 4];
        let mut lanes = active;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            let address = addresses[lane];
            if place(access.space, address).space == Space::Local {
                self.load_local(access, list.len(), lane, address, &mut values)?;
                lanes &= lanes - 1;
                continue;
            }
            // Names the fault where this lane's access is bad; otherwise its region serves the lanes that follow.
            self.checked(access.space, address, total, false, lane as u32)?;
            let Some((base, region)) = self.spaces.region(access.space, address) else {
                break;
            };
            lanes = match (size, list.len()) {
                (1, 1) => gather::<1>(
                    region,
                    base,
                    addresses,
                    lanes,
                    access.element,
                    &mut values[0],
                ),
                (2, 1) => gather::<2>(
                    region,
                    base,
                    addresses,
                    lanes,
                    access.element,
                    &mut values[0],
                ),
                (4, 1) => gather::<4>(
                    region,
                    base,
                    addresses,
                    lanes,
                    access.element,
                    &mut values[0],
                ),
                (8, 1) => gather::<8>(
                    region,
                    base,
                    addresses,
                    lanes,
                    access.element,
                    &mut values[0],
                ),
                _ => {
                    let offset = address.wrapping_sub(base) as usize;
                    let bytes = region
                        .get(offset..offset.saturating_add(total as usize))
                        .unwrap_or_default();
                    for (column, chunk) in values.iter_mut().zip(bytes.chunks_exact(size)) {
                        column[lane] = decode(access.element, chunk);
                    }
                    lanes & (lanes - 1)
                }
            };
        }
        for (&d, column) in list.iter().zip(&values) {
            put(registers, d, access.element, active, column);
        }
        Ok(())
    }

    /// One lane's load from local memory.
    fn load_local(
        &mut self,
        access: Access,
        count: usize,
        lane: usize,
        address: u64,
        values: &mut [Lanes64; 4],
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes();
        let total = size * count as u32;
        self.aligned(access.space, address, total, false, lane as u32)?;
        let start = place(access.space, address).address;
        for (at, column) in (0u64..).zip(values.iter_mut().take(count)) {
            let raw = self
                .local
                .read(lane, start.wrapping_add(at * u64::from(size)), size);
            let raw =
                raw.ok_or_else(|| out_of_bounds(access.space, address, total, false, lane as u32))?;
            column[lane] = extend(access.element, raw);
        }
        Ok(())
    }

    /// A load at a fixed offset of the frame: whole rows.
    fn load_frame(
        &mut self,
        registers: &mut Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        let mut address = self
            .frame
            .wrapping_add(access.address.offset.cast_unsigned());
        let size = access.element.bytes();
        let lane = active.trailing_zeros();
        self.aligned(
            Space::Local,
            u64::from(address),
            size * list.len() as u32,
            false,
            lane,
        )?;
        for &d in list {
            let missing = || out_of_bounds(Space::Local, u64::from(address), size, false, lane);
            let low = self.local.row(address).ok_or_else(missing)?;
            match access.element {
                Element::B32 => registers.put32(d, active, low),
                Element::B64 => {
                    let high = self
                        .local
                        .row(address.wrapping_add(4))
                        .ok_or_else(missing)?;
                    let mut out = [0; LANES];
                    for lane in 0..LANES {
                        out[lane] = u64::from(high[lane]) << 32 | u64::from(low[lane]);
                    }
                    registers.put64(d, active, &out);
                }
                element => {
                    let shift = 8 * (address % 4);
                    let mask = if size == 1 { 0xFF } else { 0xFFFF };
                    let out: Lanes32 =
                        low.map(|low| extend(element, u64::from(low >> shift & mask)) as u32);
                    registers.put32(d, active, &out);
                }
            }
            address = address.wrapping_add(size);
        }
        Ok(())
    }
}

/// Loads the lanes of `lanes`, lowest first, as long as their accesses lie in `region`; returns the lanes that are left.
#[inline]
fn gather<const BYTES: usize>(
    region: &[u8],
    base: u64,
    addresses: &Lanes64,
    mut lanes: u32,
    element: Element,
    out: &mut Lanes64,
) -> u32 {
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        let offset = addresses[lane].wrapping_sub(base) as usize;
        let bytes = region
            .get(offset..)
            .and_then(|rest| rest.first_chunk::<BYTES>());
        let Some(bytes) = bytes.filter(|_| addresses[lane].is_multiple_of(BYTES as u64)) else {
            break;
        };
        out[lane] = decode(element, bytes);
        lanes &= lanes - 1;
    }
    lanes
}

/// Sign extension of what [`Local::read`] gives.
fn extend(element: Element, raw: u64) -> u64 {
    match element {
        Element::S8 => decode(element, &[raw as u8]),
        Element::S16 => decode(element, &(raw as u16).to_le_bytes()),
        _ => raw,
    }
}

/// Decodes 32 consecutive elements.
#[inline(always)]
fn decode_consecutive(registers: &mut Registers<'_>, d: u32, element: Element, bytes: &[u8]) {
    match element {
        Element::B64 => {
            let out = &mut registers.r64[d as usize];
            for (out, chunk) in out.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *out = u64::from_le_bytes(*chunk);
            }
        }
        Element::B32 => {
            let out = &mut registers.r32[d as usize];
            for (out, chunk) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *out = u32::from_le_bytes(*chunk);
            }
        }
        _ => {
            let out = &mut registers.r32[d as usize];
            for (out, chunk) in out
                .iter_mut()
                .zip(bytes.chunks_exact(element.bytes() as usize))
            {
                *out = decode(element, chunk) as u32;
            }
        }
    }
}
