//! Which element of a matrix each lane holds where: the fragments of the PTX ISA's figures, as functions.
//!
//! A register of a fragment holds `packed` elements, the first in its lowest bits. All shapes of `mma` but the oldest follow one rule: eight
//! groups of four lanes stand for rows (of `a` and of the sum) or columns (of `b`), the lanes of a group share out the other axis.
//! The ISA leaves open how `wmma` spreads its fragments; here they lie in row-major order, and once more from the start where
//! a fragment has room for more than one matrix.

/// How a product's fragments are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `mma` from sm_75 on.
    Groups,
    /// `mma.m8n8k4` of half precision: four products at once, each of eight lanes.
    QuadPairs,
    /// `wmma`.
    Linear,
}

/// Storage order of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Major {
    Row,
    Column,
}

/// Row and column.
pub(crate) type Position = (usize, usize);

/// Where element `at` of register `register` of lane `lane` stands in factor `a`, in [`Layout::Groups`].
#[inline(always)]
pub(crate) fn group_a(lane: usize, register: usize, at: usize, packed: usize) -> Position {
    let (group, in_group) = (lane / 4, lane % 4);
    (
        group + 8 * (register % 2),
        in_group * packed + at + 4 * packed * (register / 2),
    )
}

/// The same for factor `b`.
#[inline(always)]
pub(crate) fn group_b(lane: usize, register: usize, at: usize, packed: usize) -> Position {
    let (group, in_group) = (lane / 4, lane % 4);
    (in_group * packed + at + 4 * packed * register, group)
}

/// Calls `f` with all of factor `a` in [`Layout::Groups`], as few elements at a time as a lane's register holds: the number of the first in
/// row-major order, of `k` columns, and the register's word.
#[inline(always)]
pub(crate) fn group_rows(
    words: &[u32; 32],
    register: usize,
    packed: usize,
    k: usize,
    mut f: impl FnMut(usize, u32),
) {
    for group in 0..8 {
        let start = (group + 8 * (register % 2)) * k + 4 * packed * (register / 2);
        for in_group in 0..4 {
            f(start + in_group * packed, words[4 * group + in_group]);
        }
    }
}

/// The same for factor `b`, a row of eight columns at a time: the number of its first element in row-major order, the place of its elements in
/// their registers, and their words, each four lanes behind the one before.
#[inline(always)]
pub(crate) fn group_columns(
    words: &[u32; 32],
    register: usize,
    packed: usize,
    mut f: impl FnMut(usize, usize, &[u32]),
) {
    for in_group in 0..4 {
        for at in 0..packed {
            let row = in_group * packed + at + 4 * packed * register;
            f(8 * row, at, &words[in_group..]);
        }
    }
}

/// The same for a sum, by the number of the element over all registers.
#[inline(always)]
pub(crate) fn group_sum(lane: usize, element: usize) -> Position {
    let (group, in_group) = (lane / 4, lane % 4);
    (group + 8 * (element / 2), in_group * 2 + element % 2)
}

/// In [`Layout::Linear`], by the number of the element over all registers, of which a lane has `per_lane`.
#[inline(always)]
pub(crate) fn linear(
    lane: usize,
    element: usize,
    per_lane: usize,
    rows: usize,
    columns: usize,
) -> Position {
    let at = (lane * per_lane + element) % (rows * columns);
    (at / columns, at % columns)
}

/// Which of the four products of [`Layout::QuadPairs`] a lane takes part in.
#[inline(always)]
pub(crate) fn quad_pair(lane: usize) -> usize {
    lane % 16 / 4
}

/// Where element `element` of a lane stands in factor `a` of its product.
#[inline(always)]
pub(crate) fn quad_a(lane: usize, element: usize, major: Major) -> Position {
    let upper = lane / 16 * 4;
    match major {
        Major::Row => (lane % 4 + upper, element),
        Major::Column => (element + upper, lane % 4),
    }
}

/// The same for factor `b`.
#[inline(always)]
pub(crate) fn quad_b(lane: usize, element: usize, major: Major) -> Position {
    let upper = lane / 16 * 4;
    match major {
        Major::Row => (lane % 4, element + upper),
        Major::Column => (element, lane % 4 + upper),
    }
}

/// The same for a sum, whose elements of 32 bits are spread in another way than those of 16.
#[inline(always)]
pub(crate) fn quad_sum(lane: usize, element: usize, wide: bool) -> Position {
    let upper = lane / 16 * 4;
    if wide {
        (
            (lane & 1) + (element & 2) + upper,
            (element & 4) + (lane & 2) + (element & 1),
        )
    } else {
        (lane % 4 + upper, element)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Major, Position, group_a, group_b, group_columns, group_rows, group_sum, quad_a, quad_b,
        quad_sum,
    };
    use std::collections::BTreeSet;

    /// Every element of a matrix is held once.
    fn covers(rows: usize, columns: usize, held: impl Iterator<Item = Position>) {
        let mut count = 0;
        let positions: BTreeSet<Position> = held.inspect(|_| count += 1).collect();
        assert_eq!(count, rows * columns);
        let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        assert!(all.eq(positions), "{rows} x {columns}");
    }

    fn elements(registers: usize, packed: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..32).flat_map(move |lane| {
            (0..registers).flat_map(move |register| (0..packed).map(move |at| (lane, register, at)))
        })
    }

    #[test]
    fn fragments_hold_each_element_once() {
        for (m, k, packed) in [
            (8, 4, 1),
            (16, 4, 1),
            (16, 16, 1),
            (16, 8, 2),
            (16, 16, 2),
            (8, 16, 4),
            (16, 32, 4),
            (16, 64, 8),
            (16, 256, 32),
        ] {
            let registers = m * k / packed / 32;
            covers(
                m,
                k,
                elements(registers, packed)
                    .map(|(lane, register, at)| group_a(lane, register, at, packed)),
            );
            let registers = k * 8 / packed / 32;
            covers(
                k,
                8,
                elements(registers, packed)
                    .map(|(lane, register, at)| group_b(lane, register, at, packed)),
            );
            covers(
                m,
                8,
                elements(m * 8 / 32, 1).map(|(lane, element, _)| group_sum(lane, element)),
            );
        }
    }

    #[test]
    fn quad_pairs_hold_each_element_once() {
        // The lanes of the second product.
        let lanes = || [4, 5, 6, 7, 20, 21, 22, 23].into_iter();
        let held =
            |count: usize| lanes().flat_map(move |lane| (0..count).map(move |at| (lane, at)));
        for major in [Major::Row, Major::Column] {
            covers(8, 4, held(4).map(|(lane, at)| quad_a(lane, at, major)));
            covers(4, 8, held(4).map(|(lane, at)| quad_b(lane, at, major)));
        }
        for wide in [false, true] {
            covers(8, 8, held(8).map(|(lane, at)| quad_sum(lane, at, wide)));
        }
    }

    /// The walks over factors visit each element where the rule says it is.
    #[test]
    fn walks_follow_the_rule() {
        let words: [u32; 32] = std::array::from_fn(|lane| lane as u32);
        for (packed, registers) in [(1, 4usize), (2, 4), (4, 4), (8, 4), (2, 1), (4, 2)] {
            let k = 4 * packed * registers.div_ceil(2);
            for register in 0..registers {
                let mut count = 0;
                group_rows(&words, register, packed, k, |start, word| {
                    count += 1;
                    for at in 0..packed {
                        let (row, column) = group_a(word as usize, register, at, packed);
                        assert_eq!(start + at, row * k + column);
                    }
                });
                assert_eq!(count, 32);
                group_columns(&words, register, packed, |start, at, words| {
                    for column in 0..8 {
                        let lane = words[4 * column] as usize;
                        let (row, group) = group_b(lane, register, at, packed);
                        assert_eq!(start + column, 8 * row + group);
                    }
                    count += 8;
                });
                assert_eq!(count, 32 + 32 * packed);
            }
        }
    }

    /// Elements that the ISA's figures name.
    #[test]
    fn fragments_are_those_of_the_figures() {
        // m16n8k16 of 16 bits: a5 of lane 6 is row 1, column 13; b3 of lane 9: row 11, column 2.
        assert_eq!(group_a(6, 2, 1, 2), (1, 13));
        assert_eq!(group_b(9, 1, 1, 2), (11, 2));
        // m16n8k32 of 8 bits: a13 of lane 31 is row 15, column 29.
        assert_eq!(group_a(31, 3, 1, 4), (15, 29));
        assert_eq!(group_sum(31, 3), (15, 7));
        // m8n8k4: c5 of lane 19 in single precision.
        assert_eq!(quad_sum(19, 5, true), (5, 7));
    }
}
