//! Loads.
//!
//! Addresses that follow a pattern of consecutive elements, or of one address, take one bounds check and one copy a half; all else
//! goes lane by lane, which is also where faults are found.

use super::LaneFault;
use super::access::{SquadView, View, address_form, addresses, decode, out_of_bounds, place, put};
use super::build::Build;
use super::form::{Form, HALF};
use super::lanes::{LANES, Lanes32, Lanes64, Registers};
use super::one_warp::OneWarp;
use crate::code::{Access, Code, Element, Space};

impl SquadView<'_, '_, '_> {
    /// `ld`.
    #[inline(always)]
    pub(crate) fn load<B: Build>(
        &mut self,
        build: B,
        registers: &mut Registers<'_>,
        access: &Access,
        code: &Code,
    ) -> Result<(), LaneFault> {
        // Most loads are of a word a lane; a function of their own has few values to keep.
        if access.element == Element::B32
            && access.count == 1
            && registers.whole
            && build.wide(
                #[inline(always)]
                || self.load_words(registers, access, code),
            )
        {
            return Ok(());
        }
        let list = access.registers(code);
        if registers.whole && self.load_same(registers, access, list) {
            return Ok(());
        }
        build.wide(
            #[inline(always)]
            || {
                self.each_warp(
                    registers,
                    #[inline(always)]
                    |_, view, registers, active| {
                        if view.load_pattern(registers, access, list, active) {
                            return Ok(());
                        }
                        view.load_otherwise(registers, *access, list, active)
                    },
                )
            },
        )
    }
}

impl View<'_, '_, '_> {
    /// Loads along a pattern without a fault; whether it was one.
    #[inline(always)]
    fn load_pattern(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        access: &Access,
        list: &[u32],
        active: u32,
    ) -> bool {
        if access.space == Space::Frame {
            return false;
        }
        let Some(form) = address_form(registers, access.address) else {
            return false;
        };
        // A power of two, which a division would not know.
        let total = u64::from(access.element.bytes()) * list.len() as u64;
        if (form.low | form.high) & (total - 1) != 0 {
            return false;
        }
        let Some((base, region)) = self.spaces.readable(access.space, form.low) else {
            return false;
        };
        if form.is_flat() {
            return load_flat(registers, access, list, active, &form, (base, region));
        }
        if form.step != total {
            return false;
        }
        let half = HALF as u64 * total;
        let whole = registers.covers(active);
        if whole && form.high == form.low.wrapping_add(half) {
            let Some(bytes) = part(region, form.low.wrapping_sub(base), 2 * half) else {
                return false;
            };
            match (access.element, list) {
                (Element::B32, &[d]) => words32::<LANES>(registers.whole32(d), bytes),
                (Element::B64, &[d]) => words64::<LANES>(registers.whole64(d), bytes),
                _ => columns(registers, access.element, list, 0, bytes),
            }
            return true;
        }
        let (Some(lower), Some(upper)) = (
            part(region, form.low.wrapping_sub(base), half),
            part(region, form.high.wrapping_sub(base), half),
        ) else {
            return false;
        };
        if !whole {
            return load_some(registers, access.element, list, active, [lower, upper]);
        }
        match (access.element, list) {
            (Element::B32, &[d]) => {
                if let [low, high] = registers.whole32(d).as_chunks_mut::<HALF>().0 {
                    words32::<HALF>(low, lower);
                    words32::<HALF>(high, upper);
                }
            }
            (Element::B64, &[d]) => {
                if let [low, high] = registers.whole64(d).as_chunks_mut::<HALF>().0 {
                    words64::<HALF>(low, lower);
                    words64::<HALF>(high, upper);
                }
            }
            _ => {
                columns(registers, access.element, list, 0, lower);
                columns(registers, access.element, list, HALF, upper);
            }
        }
        true
    }

    /// Loads that follow no pattern, lie in local memory, or fault.
    #[inline(always)]
    fn load_otherwise(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        access: Access,
        list: &[u32],
        active: u32,
    ) -> Result<(), LaneFault> {
        if access.space == Space::Frame {
            return self.load_frame(registers, access, list, active);
        }
        let addresses = addresses(registers, access.address);
        self.load_lanes(registers, access, list, active, &addresses)
    }

    #[inline(always)]
    fn load_lanes(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
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
            if let Some(together) = self.together(access.space, address, false) {
                self.aligned(access.space, address, total, false, lane as u32)?;
                let whole = together.contains(address, u64::from(total));
                for (at, column) in (0u64..).zip(values.iter_mut().take(list.len())) {
                    let raw = together
                        .load(address.wrapping_add(at * size as u64), size as u32)
                        .filter(|_| whole);
                    let missing =
                        || out_of_bounds(access.space, address, total, false, lane as u32);
                    column[lane] = extend(access.element, raw.ok_or_else(missing)?);
                }
                lanes &= lanes - 1;
                continue;
            }
            if place(access.space, address).space == Space::Local {
                self.load_local(access, list.len(), lane, address, &mut values)?;
                lanes &= lanes - 1;
                continue;
            }
            // Names the fault where this lane's access is bad; otherwise its region serves the lanes that follow.
            self.checked_read(access.space, address, total, lane as u32)?;
            let Some((base, region)) = self.spaces.readable(access.space, address) else {
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
        registers: &mut OneWarp<'_, '_>,
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

/// A load of one place in each half.
#[inline(always)]
fn load_flat(
    registers: &mut OneWarp<'_, '_>,
    access: &Access,
    list: &[u32],
    active: u32,
    form: &Form<u64>,
    (base, region): (u64, &[u8]),
) -> bool {
    let size = access.element.bytes() as usize;
    let total = (size * list.len()) as u64;
    let (Some(low), Some(high)) = (
        part(region, form.low.wrapping_sub(base), total),
        part(region, form.high.wrapping_sub(base), total),
    ) else {
        return false;
    };
    if let (Element::B32, &[d]) = (access.element, list) {
        let low = decode(Element::B32, low) as u32;
        let high = decode(Element::B32, high) as u32;
        registers.put_form32(d, active, Form::flat(low, high));
        return true;
    }
    let places = low.chunks_exact(size).zip(high.chunks_exact(size));
    for (&d, (low, high)) in list.iter().zip(places) {
        let low = decode(access.element, low);
        let high = decode(access.element, high);
        if access.element == Element::B64 {
            registers.put_form64(d, active, Form::flat(low, high));
        } else {
            registers.put_form32(d, active, Form::flat(low as u32, high as u32));
        }
    }
    true
}

/// Consecutive records for the active lanes.
#[inline(always)]
fn load_some(
    registers: &mut OneWarp<'_, '_>,
    element: Element,
    list: &[u32],
    active: u32,
    halves: [&[u8]; 2],
) -> bool {
    let size = element.bytes() as usize;
    for (at, &d) in list.iter().enumerate() {
        let mut out = [0; LANES];
        for (out, bytes) in out.as_chunks_mut::<HALF>().0.iter_mut().zip(halves) {
            let column = bytes.chunks_exact(size).skip(at).step_by(list.len());
            for (out, bytes) in out.iter_mut().zip(column) {
                *out = decode(element, bytes);
            }
        }
        put(registers, d, element, active, &out);
    }
    true
}

/// `bytes` bytes at an offset of a region.
#[inline(always)]
pub(super) fn part(region: &[u8], offset: u64, bytes: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    region.get(start..start.checked_add(bytes as usize)?)
}

#[inline(always)]
pub(super) fn words32<const N: usize>(out: &mut [u32; N], bytes: &[u8]) {
    if let Some(words) = bytes.as_chunks::<4>().0.first_chunk::<N>() {
        for lane in 0..N {
            out[lane] = u32::from_le_bytes(words[lane]);
        }
    }
}

#[inline(always)]
fn words64<const N: usize>(out: &mut [u64; N], bytes: &[u8]) {
    if let Some(words) = bytes.as_chunks::<8>().0.first_chunk::<N>() {
        for lane in 0..N {
            out[lane] = u64::from_le_bytes(words[lane]);
        }
    }
}

/// Lanes from `first` on take consecutive records of an element for each register of `list`; lanes before it have been written.
#[inline(always)]
fn columns(
    registers: &mut OneWarp<'_, '_>,
    element: Element,
    list: &[u32],
    first: usize,
    bytes: &[u8],
) {
    match (element, list) {
        (Element::B64, list) => {
            for (at, &d) in list.iter().enumerate() {
                let out = registers.whole64(d).iter_mut().skip(first);
                let column = bytes.as_chunks::<8>().0.iter().skip(at);
                for (out, chunk) in out.zip(column.step_by(list.len())) {
                    *out = u64::from_le_bytes(*chunk);
                }
            }
        }
        (Element::B32, list) => {
            for (at, &d) in list.iter().enumerate() {
                let out = registers.whole32(d).iter_mut().skip(first);
                let column = bytes.as_chunks::<4>().0.iter().skip(at);
                for (out, chunk) in out.zip(column.step_by(list.len())) {
                    *out = u32::from_le_bytes(*chunk);
                }
            }
        }
        (_, list) => {
            let size = element.bytes() as usize;
            for (at, &d) in list.iter().enumerate() {
                let out = registers.whole32(d).iter_mut().skip(first);
                let column = bytes.chunks_exact(size).skip(at);
                for (out, chunk) in out.zip(column.step_by(list.len())) {
                    *out = decode(element, chunk) as u32;
                }
            }
        }
    }
}
