//! Loads, stores and atomics of a warp.
//!
//! The common patterns, consecutive addresses and one address for all lanes, take one bounds check and one copy; all else
//! goes lane by lane, which is also where faults are found.

use super::lanes::{FULL, LANES, Lanes32, Lanes64, Registers};
use super::local::Local;
use super::{LaneFault, lanes_of};
use crate::code::{Access, Address, Atomic, AtomicOp, Element, NONE, Space};
use crate::exec::float::{op32, op64};
use crate::fault::FaultKind;
use crate::memory::{AccessError, Place, Spaces, resolve};

/// The memory that one fragment reaches.
pub(crate) struct View<'v, 'l, 'm> {
    pub(crate) spaces: &'v mut Spaces<'l, 'm>,
    pub(crate) local: &'v mut Local,
    /// Start of the running function's frame in local memory.
    pub(crate) frame: u32,
}

/// The address of each lane.
#[inline]
fn addresses(registers: &Registers<'_>, address: Address) -> Lanes64 {
    if address.base == NONE {
        return [i64::from(address.offset).cast_unsigned(); LANES];
    }
    if address.narrow {
        let base = &registers.r32[address.base as usize];
        let offset = address.offset.cast_unsigned();
        return std::array::from_fn(|lane| u64::from(base[lane].wrapping_add(offset)));
    }
    let base = &registers.r64[address.base as usize];
    let offset = i64::from(address.offset).cast_unsigned();
    std::array::from_fn(|lane| base[lane].wrapping_add(offset))
}

#[inline]
fn is_consecutive(addresses: &Lanes64, stride: u64) -> bool {
    let first = addresses[0];
    let mut difference = 0;
    for (lane, address) in addresses.iter().enumerate() {
        difference |= address ^ first.wrapping_add(lane as u64 * stride);
    }
    difference == 0
}

#[inline]
fn is_uniform(addresses: &Lanes64) -> bool {
    let first = addresses[0];
    addresses
        .iter()
        .fold(0, |difference, address| difference | (address ^ first))
        == 0
}

#[inline]
fn place(space: Space, address: u64) -> Place {
    match space {
        Space::Generic => resolve(address),
        space => Place { space, address },
    }
}

/// One element of little-endian bytes as its register has it.
#[inline(always)]
fn decode(element: Element, bytes: &[u8]) -> u64 {
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

/// Sign extension of what [`Local::read`] gives.
fn extend(element: Element, raw: u64) -> u64 {
    match element {
        Element::S8 => decode(element, &[raw as u8]),
        Element::S16 => decode(element, &(raw as u16).to_le_bytes()),
        _ => raw,
    }
}

/// Decodes 32 consecutive elements.
#[inline]
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

impl View<'_, '_, '_> {
    /// `ld`.
    #[inline]
    pub(crate) fn load(
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
        let size = access.element.bytes();
        if let ([d], FULL) = (list, active) {
            if is_consecutive(&addresses, u64::from(size))
                && addresses[0].is_multiple_of(u64::from(size))
            {
                let whole = self.spaces.bytes(
                    place(access.space, addresses[0]),
                    u64::from(size) * LANES as u64,
                    false,
                );
                if let Ok(bytes) = whole {
                    decode_consecutive(registers, *d, access.element, bytes);
                    return Ok(());
                }
            }
        }
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

    #[inline(never)]
    fn load_lanes(
        &mut self,
        registers: &mut Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
        addresses: &Lanes64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes();
        let total = size * list.len() as u32;
        let mut values = [[0u64; LANES]; 4];
        for lane in lanes_of(active) {
            let address = addresses[lane];
            let place = place(access.space, address);
            if place.space == Space::Local {
                self.aligned(access.space, address, total, false, lane as u32)?;
                for (at, column) in (0u64..).zip(values.iter_mut().take(list.len())) {
                    let offset = at * u64::from(size);
                    let raw = self
                        .local
                        .read(lane, place.address.wrapping_add(offset), size);
                    column[lane] = extend(
                        access.element,
                        raw.ok_or_else(|| {
                            out_of_bounds(access.space, address, total, false, lane as u32)
                        })?,
                    );
                }
            } else {
                let bytes = self.checked(access.space, address, total, false, lane as u32)?;
                for (column, chunk) in values.iter_mut().zip(bytes.chunks_exact(size as usize)) {
                    column[lane] = decode(access.element, chunk);
                }
            }
        }
        for (&d, column) in list.iter().zip(&values) {
            put(registers, d, access.element, active, column);
        }
        Ok(())
    }

    /// `st`.
    #[inline]
    pub(crate) fn store(
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
        let size = access.element.bytes();
        if let ([source], FULL) = (list, active)
            && is_consecutive(&addresses, u64::from(size))
            && addresses[0].is_multiple_of(u64::from(size))
        {
            let whole = self.spaces.bytes(
                place(access.space, addresses[0]),
                u64::from(size) * LANES as u64,
                true,
            );
            if let Ok(bytes) = whole {
                encode_consecutive(registers, *source, access.element, bytes);
                return Ok(());
            }
        }
        self.store_lanes(registers, access, list, active, &addresses)
    }

    #[inline(never)]
    fn store_lanes(
        &mut self,
        registers: &Registers<'_>,
        access: Access,
        list: &[u32],
        active: u32,
        addresses: &Lanes64,
    ) -> Result<(), LaneFault> {
        let size = access.element.bytes();
        let total = size * list.len() as u32;
        for lane in lanes_of(active) {
            let address = addresses[lane];
            let place = place(access.space, address);
            if place.space == Space::Local {
                self.aligned(access.space, address, total, true, lane as u32)?;
                for (at, &source) in (0u64..).zip(list) {
                    let value = value_of(registers, source, access.element, lane);
                    let to = place.address.wrapping_add(at * u64::from(size));
                    let written = self.local.write(lane, to, size, value);
                    written.ok_or_else(|| {
                        out_of_bounds(access.space, address, total, true, lane as u32)
                    })?;
                }
            } else {
                let bytes = self.checked(access.space, address, total, true, lane as u32)?;
                for (&source, chunk) in list.iter().zip(bytes.chunks_exact_mut(size as usize)) {
                    let value = value_of(registers, source, access.element, lane);
                    chunk.copy_from_slice(&value.to_le_bytes()[..size as usize]);
                }
            }
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
                    let out = std::array::from_fn(|lane| {
                        u64::from(high[lane]) << 32 | u64::from(low[lane])
                    });
                    registers.put64(d, active, &out);
                }
                element => {
                    let shift = 8 * (address % 4);
                    let mask = if size == 1 { 0xFF } else { 0xFFFF };
                    let out: Lanes32 = std::array::from_fn(|lane| {
                        extend(element, u64::from(low[lane] >> shift & mask)) as u32
                    });
                    registers.put32(d, active, &out);
                }
            }
            address = address.wrapping_add(size);
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

    /// `atom` and `red`: lanes in order, each seeing what the one before wrote.
    pub(crate) fn atomic(
        &mut self,
        registers: &mut Registers<'_>,
        atomic: Atomic,
        [d, b, c]: [u32; 3],
        active: u32,
    ) -> Result<(), LaneFault> {
        let addresses = addresses(registers, atomic.address);
        let size = if atomic.wide { 8 } else { 4 };
        let mut old = [0u64; LANES];
        let element = if atomic.wide {
            Element::B64
        } else {
            Element::B32
        };
        for lane in lanes_of(active) {
            let operand = value_of(registers, b, element, lane);
            let swap = if c == NONE {
                0
            } else {
                value_of(registers, c, element, lane)
            };
            let bytes = self.checked(atomic.space, addresses[lane], size, true, lane as u32)?;
            let before = decode(element, bytes);
            old[lane] = before;
            let after = if atomic.wide {
                update64(atomic.op, before, operand, swap)
            } else {
                u64::from(update32(
                    atomic.op,
                    before as u32,
                    operand as u32,
                    swap as u32,
                ))
            };
            bytes.copy_from_slice(&after.to_le_bytes()[..size as usize]);
        }
        if d != NONE {
            put(registers, d, element, active, &old);
        }
        Ok(())
    }

    fn aligned(
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
    fn checked(
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

fn out_of_bounds(space: Space, address: u64, bytes: u32, write: bool, lane: u32) -> LaneFault {
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

fn put(registers: &mut Registers<'_>, d: u32, element: Element, active: u32, values: &Lanes64) {
    if element == Element::B64 {
        registers.put64(d, active, values);
    } else {
        registers.put32(d, active, &std::array::from_fn(|lane| values[lane] as u32));
    }
}

#[inline]
fn value_of(registers: &Registers<'_>, source: u32, element: Element, lane: usize) -> u64 {
    if element == Element::B64 {
        registers.r64[source as usize][lane]
    } else {
        u64::from(registers.r32[source as usize][lane])
    }
}

/// Encodes 32 consecutive elements.
#[inline]
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

fn update32(op: AtomicOp, old: u32, b: u32, c: u32) -> u32 {
    match op {
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::AddF32 | AtomicOp::AddF64 => op32(old, b, |x, y| x + y),
        AtomicOp::MinSigned => old.cast_signed().min(b.cast_signed()).cast_unsigned(),
        AtomicOp::MaxSigned => old.cast_signed().max(b.cast_signed()).cast_unsigned(),
        AtomicOp::MinUnsigned => old.min(b),
        AtomicOp::MaxUnsigned => old.max(b),
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exchange => b,
        AtomicOp::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOp::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}

fn update64(op: AtomicOp, old: u64, b: u64, c: u64) -> u64 {
    match op {
        AtomicOp::Add => old.wrapping_add(b),
        AtomicOp::AddF32 | AtomicOp::AddF64 => op64(old, b, |x, y| x + y),
        AtomicOp::MinSigned => old.cast_signed().min(b.cast_signed()).cast_unsigned(),
        AtomicOp::MaxSigned => old.cast_signed().max(b.cast_signed()).cast_unsigned(),
        AtomicOp::MinUnsigned => old.min(b),
        AtomicOp::MaxUnsigned => old.max(b),
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exchange => b,
        AtomicOp::CompareAndSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicOp::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}
