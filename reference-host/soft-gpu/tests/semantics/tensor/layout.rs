//! Which element of a matrix each lane holds, element by element as the PTX ISA's text has it.

/// Where element `i` of a lane's fragment of factor `a` stands.
pub(super) fn a_at(m: usize, k: usize, bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    match (m, k, bits) {
        (8, 4, 64) => (group, t),
        (16, 4, 64 | 32) => (if i == 0 { group } else { group + 8 }, t),
        (16, 8, 64 | 32) => (
            if i == 0 || i == 2 { group } else { group + 8 },
            if i < 2 { t } else { t + 4 },
        ),
        (16, 16, 64) => (
            if i.is_multiple_of(2) {
                group
            } else {
                group + 8
            },
            t + i / 2 * 4,
        ),
        (16, 8, 16) => (if i < 2 { group } else { group + 8 }, t * 2 + (i & 1)),
        (16, 16, 16) => (
            if i < 2 || (4..6).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 4 {
                t * 2 + (i & 1)
            } else {
                t * 2 + (i & 1) + 8
            },
        ),
        (8, 16, 8) => (group, t * 4 + i),
        (16, 16, 8) => (if i < 4 { group } else { group + 8 }, t * 4 + (i & 3)),
        (16, 32, 8) => (
            if i < 4 || (8..12).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 8 {
                t * 4 + (i & 3)
            } else {
                t * 4 + (i & 3) + 16
            },
        ),
        (8, 32, 4) => (group, t * 8 + i),
        (16, 32, 4) => (if i < 8 { group } else { group + 8 }, t * 8 + (i & 7)),
        (16, 64, 4) => (
            if i < 8 || (16..24).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 16 {
                t * 8 + (i & 7)
            } else {
                t * 8 + (i & 7) + 32
            },
        ),
        (8, 128, 1) => (group, t * 32 + i),
        (16, 128, 1) => (if i < 32 { group } else { group + 8 }, t * 32 + (i & 31)),
        (16, 256, 1) => (
            if i < 32 || (64..96).contains(&i) {
                group
            } else {
                group + 8
            },
            if i < 64 {
                t * 32 + (i & 31)
            } else {
                t * 32 + (i & 31) + 128
            },
        ),
        other => panic!("no fragment for {other:?}"),
    }
}

/// The same for factor `b`.
pub(super) fn b_at(k: usize, bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    let row = match (k, bits) {
        (4, 64 | 32) => t,
        (8, 64 | 32) | (16, 64) => t + i * 4,
        (8, 16) => t * 2 + i,
        (16, 16) => {
            if i < 2 {
                t * 2 + (i & 1)
            } else {
                t * 2 + (i & 1) + 8
            }
        }
        (16, 8) => t * 4 + i,
        (32, 8) => {
            if i < 4 {
                t * 4 + (i & 3)
            } else {
                t * 4 + (i & 3) + 16
            }
        }
        (32, 4) => t * 8 + i,
        (64, 4) => {
            if i < 8 {
                t * 8 + (i & 7)
            } else {
                t * 8 + (i & 7) + 32
            }
        }
        (128, 1) => t * 32 + i,
        (256, 1) => {
            if i < 32 {
                t * 32 + i
            } else {
                t * 32 + (i & 31) + 128
            }
        }
        other => panic!("no fragment for {other:?}"),
    };
    (row, group)
}

/// The same for sums.
pub(super) fn sum_at(lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, t * 2 + (i & 1))
}
