//! The register file of a squad: for each register 32 lanes a warp, or the pattern that they follow, or both.

use super::form::{Form, Word};
use super::lanes::LANES;
use super::mask::{Mask, WARPS};

/// Sets of warps of a register, each of them a bit a warp, side by side in one word: those whose lanes are written out.
pub(super) const IN_LANES: u32 = 0;
/// Those whose lanes follow the register's pattern.
pub(super) const PATTERN: u32 = WARPS as u32;
/// The same, if the pattern has one value in each half.
pub(super) const FLAT: u32 = 2 * WARPS as u32;

/// What is known of a register beside its lanes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head<T> {
    pub(super) form: Form<T>,
    /// Sets of warps at [`IN_LANES`], [`PATTERN`] and [`FLAT`]. Each warp is in one of the first two.
    pub(super) known: u32,
}

/// The lanes of a warp.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Row<T>(pub(super) [T; LANES]);

/// Registers of one width.
#[derive(Clone, Debug, Default)]
pub(crate) struct File<T> {
    heads: Vec<Head<T>>,
    /// As many a register as the squad has warps.
    rows: Vec<Row<T>>,
    warps: usize,
    patterns: bool,
}

/// Registers from some number on.
#[derive(Debug)]
pub(crate) struct Window<'w, T> {
    pub(super) heads: &'w mut [Head<T>],
    pub(super) rows: &'w mut [Row<T>],
    pub(super) warps: usize,
    /// Values may be kept as patterns. Only a test turns it off.
    patterns: bool,
}

/// All of a squad's `warps`, a bit each.
#[inline(always)]
pub(super) fn all(warps: usize) -> u32 {
    (1 << warps) - 1
}

/// Whether all of `warps` are in the set at `place` of `known`.
#[inline(always)]
pub(super) fn holds(known: u32, place: u32, warps: u32) -> bool {
    !(known >> place) & warps == 0
}

impl<T: Word> File<T> {
    /// No registers yet, for squads of so many warps.
    pub(crate) fn new(warps: usize, patterns: bool) -> Self {
        Self {
            heads: Vec::new(),
            rows: Vec::new(),
            warps,
            patterns,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// Makes at least `count` registers exist; new ones are 0.
    pub(crate) fn grow(&mut self, count: u32) {
        let count = count as usize;
        let first = self.heads.len();
        if first < count {
            self.heads.resize(count, Head::default());
            self.rows
                .resize(count * self.warps, Row([T::default(); LANES]));
            let warps = all(self.warps);
            let mut window = self.from(first as u32);
            for slot in 0..(count - first) as u32 {
                window.put_form(slot, warps, Form::uniform(T::default()));
            }
        }
    }

    /// Makes this a copy of another.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.warps = other.warps;
        self.patterns = other.patterns;
        self.heads.clone_from(&other.heads);
        self.rows
            .resize(other.rows.len(), Row([T::default(); LANES]));
        for (slot, head) in other.heads.iter().enumerate() {
            if head.known >> IN_LANES & all(self.warps) != 0 {
                let rows = slot * self.warps..(slot + 1) * self.warps;
                self.rows[rows.clone()].copy_from_slice(&other.rows[rows]);
            }
        }
    }

    /// The registers from `first` on.
    #[inline(always)]
    pub(crate) fn from(&mut self, first: u32) -> Window<'_, T> {
        Window {
            heads: &mut self.heads[first as usize..],
            rows: &mut self.rows[first as usize * self.warps..],
            warps: self.warps,
            patterns: self.patterns,
        }
    }

    /// One lane's value.
    pub(crate) fn lane(&self, slot: u32, warp: usize, lane: usize) -> T {
        let (Some(head), Some(row)) = (
            self.heads.get(slot as usize),
            self.rows.get(slot as usize * self.warps + warp),
        ) else {
            return T::default();
        };
        if head.known >> warp & 1 == 1 {
            row.0[lane % LANES]
        } else {
            head.form.of_warp(warp).lane(lane)
        }
    }

    /// The pattern of all warps, if it is known.
    #[inline(always)]
    pub(crate) fn form(&self, slot: u32) -> Option<Form<T>> {
        let head = self.heads.get(slot as usize)?;
        holds(head.known, PATTERN, all(self.warps)).then_some(head.form)
    }
}

impl<T: Word> Window<'_, T> {
    /// Writes the lanes of `warps` out where they are not yet.
    #[inline(always)]
    pub(super) fn spread(&mut self, slot: u32, warps: u32) {
        let missing = warps & !self.heads[slot as usize].known;
        if missing != 0 {
            self.write_out(slot, missing);
        }
    }

    /// Lanes of `warps` from the pattern.
    #[inline(always)]
    fn write_out(&mut self, slot: u32, warps: u32) {
        let slot = slot as usize;
        let head = &mut self.heads[slot];
        let form = head.form;
        head.known |= warps;
        let rows = &mut self.rows[slot * self.warps..][..self.warps];
        for warp in super::bits_of(warps) {
            form.of_warp(warp).write(&mut rows[warp].0);
        }
    }

    /// Gives the lanes of `warps` a pattern.
    #[inline(always)]
    pub(super) fn put_form(&mut self, slot: u32, warps: u32, form: Form<T>) {
        let known = self.heads[slot as usize].known;
        let others = known >> PATTERN & !known & !warps & all(WARPS);
        if others != 0 {
            self.write_out(slot, others);
        }
        let flat = if form.is_flat() { warps << FLAT } else { 0 };
        let head = &mut self.heads[slot as usize];
        let in_lanes = (known | others) & all(WARPS) & !warps;
        head.known = in_lanes | warps << PATTERN | flat;
        head.form = form;
        if !self.patterns {
            self.write_out(slot, warps);
            self.lanes_only(slot, warps);
        }
    }

    /// Of `warps` only the lanes are known from now on.
    #[inline(always)]
    pub(super) fn lanes_only(&mut self, slot: u32, warps: u32) {
        let known = &mut self.heads[slot as usize].known;
        *known = (*known & !(warps << PATTERN | warps << FLAT)) | warps;
    }

    /// One warp's lanes, which must be written out, or are about to be.
    #[inline(always)]
    pub(super) fn row(&mut self, slot: u32, warp: usize) -> &mut [T; LANES] {
        &mut self.rows[slot as usize * self.warps + warp].0
    }

    /// The pattern of `warps`, where it is known.
    #[inline(always)]
    pub(super) fn form(&self, slot: u32, warps: u32) -> Option<Form<T>> {
        let head = &self.heads[slot as usize];
        holds(head.known, PATTERN, warps).then_some(head.form)
    }

    /// The pattern of `warps`, which is looked for in their lanes where it is not known, and then kept.
    #[inline(always)]
    pub(super) fn pattern(&mut self, slot: u32, warps: u32) -> Option<Form<T>> {
        if let Some(form) = self.form(slot, warps) {
            return Some(form);
        }
        if !self.patterns {
            return None;
        }
        self.look_for_pattern(slot, warps)
    }

    #[inline(never)]
    fn look_for_pattern(&mut self, slot: u32, warps: u32) -> Option<Form<T>> {
        self.spread(slot, warps);
        let first = warps.trailing_zeros() as usize;
        let form = Form::of_lanes(self.row(slot, first))?;
        let others = warps & (warps - 1);
        let mut along = T::default();
        if others >> (first + 1) & 1 == 1 {
            along = self.row(slot, first + 1)[0].minus(form.low);
        }
        for warp in super::bits_of(others) {
            let offset = along.times(T::of((warp - first) as u32));
            let here = Form::affine(form.low.plus(offset), form.high.plus(offset), form.step);
            if Form::of_lanes(self.row(slot, warp))? != here {
                return None;
            }
        }
        let start = along.times(T::of(first as u32));
        let form = Form {
            low: form.low.minus(start),
            high: form.high.minus(start),
            step: form.step,
            along,
        };
        let head = &mut self.heads[slot as usize];
        // It replaces the old pattern, which other warps may need.
        if head.known >> PATTERN & !head.known & all(WARPS) == 0 {
            let flat = if form.is_flat() { warps << FLAT } else { 0 };
            head.known = head.known & all(WARPS) | warps << PATTERN | flat;
            head.form = form;
        }
        Some(form)
    }

    /// One lane's value.
    #[inline(always)]
    pub(super) fn lane(&self, slot: u32, warp: usize, lane: usize) -> T {
        let head = &self.heads[slot as usize];
        if head.known >> warp & 1 == 1 {
            self.rows[slot as usize * self.warps + warp].0[lane % LANES]
        } else {
            head.form.of_warp(warp).lane(lane)
        }
    }

    /// Sets the lanes of `mask` to one value.
    pub(super) fn fill(&mut self, slot: u32, mask: &Mask, value: T) {
        let whole = mask.whole();
        if whole != 0 {
            self.put_form(slot, whole, Form::uniform(value));
        }
        for warp in super::bits_of(mask.touched() & !whole) {
            self.blend(slot, warp, mask.warp(warp), &[value; LANES]);
        }
    }

    /// Writes the active lanes of a warp.
    #[inline(always)]
    pub(super) fn blend(&mut self, slot: u32, warp: usize, active: u32, out: &[T; LANES]) {
        self.spread(slot, 1 << warp);
        self.lanes_only(slot, 1 << warp);
        let lanes = self.row(slot, warp);
        for lane in 0..LANES {
            lanes[lane] = if active >> lane & 1 == 1 {
                out[lane]
            } else {
                lanes[lane]
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{File, Form, LANES, Mask, WARPS, all};
    use crate::exec::bits_of;

    /// Random numbers, the same on every run.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u32 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as u32
        }

        fn below(&mut self, bound: u32) -> u32 {
            self.next() % bound
        }

        fn form(&mut self) -> Form<u32> {
            let mut number = || match self.below(3) {
                0 => 0,
                1 => self.below(200),
                _ => self.next() << 1,
            };
            Form {
                low: number(),
                high: number(),
                step: number(),
                along: number(),
            }
        }
    }

    #[test]
    fn registers_hold_what_was_put_there_however_they_hold_it() {
        let mut random = Random(7);
        for warps in 1..=WARPS {
            let mut file = File::<u32>::new(warps, true);
            file.grow(2);
            let mut expected = [[[0u32; LANES]; WARPS]; 2];
            for _ in 0..4000 {
                let slot = random.below(2);
                let some = (1 + random.below(all(warps))) & all(warps);
                let model = &mut expected[slot as usize];
                let mut window = file.from(0);
                match random.below(6) {
                    0 | 1 => {
                        let form = random.form();
                        window.put_form(slot, some, form);
                        for warp in bits_of(some) {
                            model[warp] = std::array::from_fn(|lane| form.of_warp(warp).lane(lane));
                        }
                    }
                    2 => {
                        let (warp, active) = (some.trailing_zeros() as usize, random.next() << 1);
                        let out = std::array::from_fn(|_| random.below(9));
                        window.blend(slot, warp, active, &out);
                        for lane in bits_of(active) {
                            model[warp][lane] = out[lane];
                        }
                    }
                    3 => {
                        let value = random.next();
                        let mask = Mask::by_warp(|warp| match some >> warp & 1 {
                            0 => 0,
                            _ => {
                                random.next()
                                    | random.next() << 16
                                    | (warp as u32 % 2).wrapping_neg()
                            }
                        });
                        window.fill(slot, &mask, value);
                        for lane in mask.lanes() {
                            model[lane / LANES][lane % LANES] = value;
                        }
                    }
                    4 => {
                        window.spread(slot, some);
                        for warp in bits_of(some) {
                            assert_eq!(*window.row(slot, warp), model[warp]);
                        }
                    }
                    _ => {
                        if let Some(form) = window.pattern(slot, some) {
                            for warp in bits_of(some) {
                                let form = form.of_warp(warp);
                                assert_eq!(
                                    std::array::from_fn(|lane| form.lane(lane)),
                                    model[warp]
                                );
                            }
                        }
                    }
                }
                let mut copy = File::new(1, true);
                copy.copy_from(&file);
                for (slot, rows) in (0..).zip(&expected) {
                    for (warp, row) in rows.iter().take(warps).enumerate() {
                        for file in [&file, &copy] {
                            let lane = |lane| file.lane(slot, warp, lane);
                            assert_eq!(std::array::from_fn(lane), *row);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_pattern_is_found_in_lanes_where_there_is_one() {
        let mut random = Random(3);
        for _ in 0..2000 {
            let warps = 1 + random.below(WARPS as u32) as usize;
            let some = (1 + random.below(all(warps))) & all(warps);
            let form = random.form();
            let mut file = File::<u32>::new(warps, true);
            file.grow(1);
            let mut window = file.from(0);
            for warp in 0..warps {
                let lanes = std::array::from_fn(|lane| form.of_warp(warp).lane(lane));
                window.blend(0, warp, u32::MAX, &lanes);
            }
            let found = window.pattern(0, some);
            let first = some.trailing_zeros();
            // Between warps that are not neighbours a pattern is looked for only if they hold the same.
            let neighbours = some & (some - 1) == 0 || some >> (first + 1) & 1 == 1;
            assert!(found.is_some() || !neighbours);
            if let Some(found) = found {
                for warp in bits_of(some) {
                    assert_eq!(found.of_warp(warp), form.of_warp(warp));
                }
            }
        }
    }
}
