//! Exchanges between the lanes of a warp: shuffles, votes, matches and reductions.
//!
//! Source: PTX ISA, `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`.

use super::lanes::{LANES, Lanes32, Registers};
use super::lanes_of;
use crate::code::{NONE, Redux, Shuffle, Vote};

/// `shfl.sync`; `operands` are d, p, a, b, c.
pub(crate) fn shuffle(
    registers: &mut Registers<'_>,
    mode: Shuffle,
    [d, p, a, b, c]: [u32; 5],
    active: u32,
) {
    let (values, sources, clamps) = (
        registers.r32[a as usize],
        registers.r32[b as usize],
        registers.r32[c as usize],
    );
    let mut in_range = 0u32;
    let out: Lanes32 = std::array::from_fn(|lane| {
        let lane = lane as u32;
        let (b, clamp, segment) = (
            sources[lane as usize] & 31,
            clamps[lane as usize] & 31,
            clamps[lane as usize] >> 8 & 31,
        );
        let limit = (lane & segment) | (clamp & !segment);
        let (source, valid) = match mode {
            Shuffle::Up => (lane.wrapping_sub(b), lane >= b && lane - b >= limit),
            Shuffle::Down => (lane + b, lane + b <= limit),
            Shuffle::Butterfly => (lane ^ b, lane ^ b <= limit),
            Shuffle::Index => {
                let source = (lane & segment) | (b & !segment);
                (source, source <= limit)
            }
        };
        in_range |= u32::from(valid) << lane;
        let from = if valid { source & 31 } else { lane };
        values[from as usize]
    });
    registers.put32(d, active, &out);
    if p != NONE {
        registers.put_pred(p, active, in_range);
    }
}

/// `vote.sync` among the active members.
pub(crate) fn vote(
    registers: &mut Registers<'_>,
    mode: Vote,
    d: u32,
    source: u32,
    negated: bool,
    voters: u32,
    active: u32,
) {
    let votes = if negated {
        !registers.pred[source as usize]
    } else {
        registers.pred[source as usize]
    } & voters;
    let all = |yes: bool| if yes { u32::MAX } else { 0 };
    match mode {
        Vote::All => registers.put_pred(d, active, all(votes == voters)),
        Vote::Any => registers.put_pred(d, active, all(votes != 0)),
        Vote::Uniform => registers.put_pred(d, active, all(votes == voters || votes == 0)),
        Vote::Ballot => registers.put32(d, active, &[votes; LANES]),
    }
}

/// `match.sync` among the active members; `operands` are d, p, a.
pub(crate) fn matching(
    registers: &mut Registers<'_>,
    all: bool,
    wide: bool,
    [d, p, a]: [u32; 3],
    members: u32,
    active: u32,
) {
    let value = |lane: usize| {
        if wide {
            registers.r64[a as usize][lane]
        } else {
            u64::from(registers.r32[a as usize][lane])
        }
    };
    let mut out = [0u32; LANES];
    for lane in lanes_of(active) {
        out[lane] = lanes_of(members)
            .filter(|&other| value(other) == value(lane))
            .fold(0, |mask, other| mask | 1 << other);
    }
    let agree = lanes_of(active).all(|lane| out[lane] == members);
    if all && !agree {
        out = [0; LANES];
    }
    registers.put32(d, active, &out);
    if p != NONE {
        registers.put_pred(p, active, if agree { u32::MAX } else { 0 });
    }
}

/// `redux.sync` among the active members.
pub(crate) fn redux(
    registers: &mut Registers<'_>,
    op: Redux,
    d: u32,
    a: u32,
    members: u32,
    active: u32,
) {
    let values = registers.r32[a as usize];
    let signed = |value: u32| value.cast_signed();
    let result = lanes_of(members)
        .map(|lane| values[lane])
        .reduce(|x, y| match op {
            Redux::Add => x.wrapping_add(y),
            Redux::MinSigned => signed(x).min(signed(y)).cast_unsigned(),
            Redux::MaxSigned => signed(x).max(signed(y)).cast_unsigned(),
            Redux::MinUnsigned => x.min(y),
            Redux::MaxUnsigned => x.max(y),
            Redux::And => x & y,
            Redux::Or => x | y,
            Redux::Xor => x ^ y,
        })
        .unwrap_or(0);
    registers.put32(d, active, &[result; LANES]);
}
