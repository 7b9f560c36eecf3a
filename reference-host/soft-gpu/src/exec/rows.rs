//! Loads and stores of a whole squad along a pattern: one bounds check and one copy for as many warps as lie in a row.
//!
//! Each says whether it has done the access; nothing is changed where it has not, be it for lack of a pattern or for a fault.

use super::access::{SquadView, decode, in_a_row, squad_form};
use super::bits_of;
use super::file::Row;
use super::form::{Form, HALF};
use super::lanes::{LANES, Registers};
use super::load::{part, words32};
use super::mask::WARPS;
use super::store::{part as part_mut, words32 as put_words};
use crate::code::{Access, Code, Element, Space};

impl SquadView<'_, '_, '_> {
    /// Loads what stands at one place in each half, the same for all warps, without a fault; whether it was that.
    pub(super) fn load_same(
        &mut self,
        registers: &mut Registers<'_>,
        access: &Access,
        list: &[u32],
    ) -> bool {
        if access.space == Space::Frame {
            return false;
        }
        let Some(form) = squad_form(registers, access.address).filter(Form::is_flat) else {
            return false;
        };
        let size = access.element.bytes() as usize;
        let total = (size * list.len()) as u64;
        if (form.low | form.high) & (total - 1) != 0 {
            return false;
        }
        let Some((base, region)) = self.spaces.readable(access.space, form.low) else {
            return false;
        };
        let (Some(low), Some(high)) = (
            part(region, form.low.wrapping_sub(base), total),
            part(region, form.high.wrapping_sub(base), total),
        ) else {
            return false;
        };
        let places = low.chunks_exact(size).zip(high.chunks_exact(size));
        for (&d, (low, high)) in list.iter().zip(places) {
            let form = Form::flat(decode(access.element, low), decode(access.element, high));
            if access.element == Element::B64 {
                registers.r64.put_form(d, registers.touched, form);
            } else {
                let form = form.map(|value| value as u32);
                registers.r32.put_form(d, registers.touched, form);
            }
        }
        true
    }

    /// Loads a word for every lane along a pattern without a fault; whether it was that.
    #[inline(always)]
    pub(super) fn load_words(
        &mut self,
        registers: &mut Registers<'_>,
        access: &Access,
        code: &Code,
    ) -> bool {
        let Some((d, form, start)) = aligned_words(registers, access, code) else {
            return false;
        };
        let there = self.spaces.readable(access.space, start);
        there.is_some_and(|(base, region)| load_words_of(registers, d, form, base, region))
            || self.spaces.together.is_some()
                && self.load_words_shared(registers, d, &form, access.space)
    }

    /// The same in memory that threads share, chunk by chunk.
    #[inline(never)]
    fn load_words_shared(
        &mut self,
        registers: &mut Registers<'_>,
        d: u32,
        form: &Form<u64>,
        space: Space,
    ) -> bool {
        let warps = registers.touched;
        if form.step == 0 {
            let mut words = [[0; 2]; WARPS];
            for warp in bits_of(warps) {
                let at = form.of_warp(warp);
                for (word, address) in words[warp].iter_mut().zip([at.low, at.high]) {
                    let read = self.together(space, address, false);
                    let found = match read {
                        Some(together) => together.load(address, 4).map(|word| word as u32),
                        None => self
                            .spaces
                            .readable(space, address)
                            .and_then(|(base, chunk)| {
                                let bytes = part(chunk, address.wrapping_sub(base), WORD)?;
                                Some(decode(Element::B32, bytes) as u32)
                            }),
                    };
                    let Some(found) = found else { return false };
                    *word = found;
                }
            }
            put_flat_words(registers, d, &words);
            return true;
        }
        if form.step != WORD {
            return false;
        }
        let file = &mut registers.r32;
        let rows = &mut file.rows[d as usize * file.warps..][..file.warps];
        if let Some((first, count)) = in_a_row(form, warps)
            && let start = form.of_warp(first).low
            && let Some(together) = self.together(space, start, false)
            && together.load_rows(start, &mut rows[first..first + count])
        {
            file.lanes_only(d, warps);
            return true;
        }
        for warp in bits_of(warps) {
            let at = form.of_warp(warp);
            let halves = rows[warp].0.as_chunks_mut::<HALF>().0;
            for (half, start) in halves.iter_mut().zip([at.low, at.high]) {
                let done = match self.together(space, start, false) {
                    Some(together) => together.load32s(start, half),
                    None => self
                        .spaces
                        .readable(space, start)
                        .is_some_and(|(base, chunk)| {
                            let bytes = part(chunk, start.wrapping_sub(base), ROW / 2);
                            bytes.is_some_and(|bytes| {
                                words32::<HALF>(half, bytes);
                                true
                            })
                        }),
                };
                if !done {
                    // Lanes of the register that have been overwritten are loaded again.
                    return false;
                }
            }
        }
        file.lanes_only(d, warps);
        true
    }

    /// Stores consecutive words of all lanes without a fault; whether it was that.
    #[inline(always)]
    pub(super) fn store_words(
        &mut self,
        registers: &mut Registers<'_>,
        access: &Access,
        code: &Code,
    ) -> bool {
        let warps = registers.touched;
        let Some((source, form, start)) = aligned_words(registers, access, code) else {
            return false;
        };
        if form.step != WORD {
            return false;
        }
        let file = &mut registers.r32;
        file.spread(source, warps);
        let rows = &file.rows[source as usize * file.warps..][..file.warps];
        let there = self.spaces.region(access.space, start, true);
        there.is_some_and(|(base, region)| store_words_in(rows, warps, form, base, region))
            || self.spaces.together.is_some()
                && self.store_words_shared(rows, warps, &form, access.space)
    }

    /// The same in memory that threads share, chunk by chunk.
    #[inline(never)]
    fn store_words_shared(
        &mut self,
        rows: &[Row<u32>],
        warps: u32,
        form: &Form<u64>,
        space: Space,
    ) -> bool {
        if let Some((first, count)) = in_a_row(form, warps)
            && let start = form.of_warp(first).low
            && let Some(together) = self.together(space, start, true)
            && together.store_rows(start, &rows[first..first + count])
        {
            return true;
        }
        for warp in bits_of(warps) {
            let at = form.of_warp(warp);
            let halves = rows[warp].0.as_chunks::<HALF>().0;
            for (half, start) in halves.iter().zip([at.low, at.high]) {
                let done = match self.together(space, start, true) {
                    Some(together) => together.store32s(start, half),
                    None => {
                        let there = self.spaces.region(space, start, true);
                        there.is_some_and(|(base, chunk)| {
                            let bytes = part_mut(chunk, start.wrapping_sub(base), ROW / 2);
                            bytes.is_some_and(|bytes| {
                                put_words::<HALF>(bytes, half);
                                true
                            })
                        })
                    }
                };
                if !done {
                    // What has been stored is stored again, lane by lane.
                    return false;
                }
            }
        }
        true
    }
}

/// The register of an access to one word a lane, the pattern of its addresses, which are aligned in the first lane of each half, and the first
/// of them.
#[inline(always)]
fn aligned_words(
    registers: &mut Registers<'_>,
    access: &Access,
    code: &Code,
) -> Option<(u32, Form<u64>, u64)> {
    let &register = code.lists.get(access.list as usize)?;
    let form = squad_form(registers, access.address)?;
    let first = registers.touched.trailing_zeros() as usize;
    let aligned = (form.low | form.high | form.along) & (WORD - 1) == 0;
    aligned.then(|| (register, form, form.of_warp(first).low))
}

/// Loads a word for every lane along a pattern of addresses from a region; whether it could.
#[inline(always)]
fn load_words_of(
    registers: &mut Registers<'_>,
    d: u32,
    form: Form<u64>,
    base: u64,
    region: &[u8],
) -> bool {
    let warps = registers.touched;
    // Offsets in the region.
    let form = Form {
        low: form.low.wrapping_sub(base),
        high: form.high.wrapping_sub(base),
        ..form
    };
    if form.step == 0 {
        return load_flat_words(registers, d, &form, region);
    }
    if form.step != WORD {
        return false;
    }
    let file = &mut registers.r32;
    let rows = &mut file.rows[d as usize * file.warps..][..file.warps];
    if let Some((first, count)) = in_a_row(&form, warps) {
        let start = form.of_warp(first).low;
        let Some(bytes) = part(region, start, count as u64 * ROW) else {
            return false;
        };
        for (row, bytes) in rows[first..].iter_mut().zip(bytes.as_chunks::<128>().0) {
            words32::<LANES>(&mut row.0, bytes);
        }
        file.lanes_only(d, warps);
        return true;
    }
    let halves = |warp: usize| {
        let form = form.of_warp(warp);
        Some([
            part(region, form.low, ROW / 2)?,
            part(region, form.high, ROW / 2)?,
        ])
    };
    // Nothing is written before all is known to be there.
    if !bits_of(warps).all(|warp| halves(warp).is_some()) {
        return false;
    }
    for warp in bits_of(warps) {
        if let (Some(halves), [low, high]) = (halves(warp), rows[warp].0.as_chunks_mut::<HALF>().0)
        {
            words32::<HALF>(low, halves[0]);
            words32::<HALF>(high, halves[1]);
        }
    }
    file.lanes_only(d, warps);
    true
}

/// Stores rows of words along a pattern of addresses to a region; whether it could.
#[inline(always)]
fn store_words_in(
    rows: &[Row<u32>],
    warps: u32,
    form: Form<u64>,
    base: u64,
    region: &mut [u8],
) -> bool {
    let form = Form {
        low: form.low.wrapping_sub(base),
        high: form.high.wrapping_sub(base),
        ..form
    };
    if let Some((first, count)) = in_a_row(&form, warps) {
        let start = form.of_warp(first).low;
        let Some(bytes) = part_mut(region, start, count as u64 * ROW) else {
            return false;
        };
        for (row, bytes) in rows[first..].iter().zip(bytes.as_chunks_mut::<128>().0) {
            put_words::<LANES>(bytes, &row.0);
        }
        return true;
    }
    let mut there = |first: u64| part_mut(&mut *region, first, ROW / 2).is_some();
    let all = bits_of(warps).all(|warp| {
        let form = form.of_warp(warp);
        there(form.low) && there(form.high)
    });
    if !all {
        return false;
    }
    // Lanes write in order, should the places overlap.
    for warp in bits_of(warps) {
        let at = form.of_warp(warp);
        let halves = rows[warp].0.as_chunks::<HALF>().0;
        for (start, lanes) in [at.low, at.high].into_iter().zip(halves) {
            if let Some(bytes) = part_mut(region, start, ROW / 2) {
                put_words::<HALF>(bytes, lanes);
            }
        }
    }
    true
}

/// Loads one word for each half of each warp; whether all are there.
#[inline(always)]
fn load_flat_words(
    registers: &mut Registers<'_>,
    d: u32,
    offsets: &Form<u64>,
    region: &[u8],
) -> bool {
    let word = |offset: u64| {
        let bytes = part(region, offset, WORD)?;
        Some(decode(Element::B32, bytes) as u32)
    };
    let warps = registers.touched;
    if offsets.along == 0 {
        let (Some(low), Some(high)) = (word(offsets.low), word(offsets.high)) else {
            return false;
        };
        registers.r32.put_form(d, warps, Form::flat(low, high));
        return true;
    }
    let mut words = [[0; 2]; WARPS];
    for warp in bits_of(warps) {
        let at = offsets.of_warp(warp);
        let (Some(low), Some(high)) = (word(at.low), word(at.high)) else {
            return false;
        };
        words[warp] = [low, high];
    }
    put_flat_words(registers, d, &words);
    true
}

/// Writes one word to each half of each warp.
#[inline(always)]
fn put_flat_words(registers: &mut Registers<'_>, d: u32, words: &[[u32; 2]; WARPS]) {
    let warps = registers.touched;
    let first = words[warps.trailing_zeros() as usize % WARPS];
    if bits_of(warps).all(|warp| words[warp] == first) {
        let form = Form::flat(first[0], first[1]);
        registers.r32.put_form(d, warps, form);
        return;
    }
    for warp in bits_of(warps) {
        let [low, high] = words[warp];
        Form::flat(low, high).write(registers.r32.row(d, warp));
    }
    registers.r32.lanes_only(d, warps);
}

/// Bytes of a word.
const WORD: u64 = 4;

/// Bytes of a word for each lane of a warp.
const ROW: u64 = LANES as u64 * WORD;
