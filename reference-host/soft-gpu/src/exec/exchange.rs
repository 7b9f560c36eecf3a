//! Exchanges between the lanes of a warp: shuffles, votes, matches and reductions.
//!
//! Source: PTX ISA, `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`.

use super::bits_of;
use super::form::Form;
use super::lanes::{FULL, LANES, Lanes32};
use super::one_warp::OneWarp;
use crate::code::{Code, NONE, Op, Redux, Shuffle, Vote};

/// The register that holds an exchange's member mask.
pub(crate) fn members_register(code: &Code, op: &Op) -> u32 {
    match *op {
        Op::Shuffle { list, .. } => code.list::<6>(list)[5],
        Op::Match { list, .. } => code.list::<4>(list)[3],
        Op::Elect { members, .. }
        | Op::Matrix { members, .. }
        | Op::Vote { members, .. }
        | Op::Redux { members, .. } => members,
        _ => 0,
    }
}

/// The lanes of `active` all of whose living members, which a register names, are active too.
///
/// Lanes may name different members: groups of a warp exchange side by side.
pub(crate) fn ready(registers: &mut OneWarp<'_, '_>, members: u32, active: u32, alive: u32) -> u32 {
    if let Some(members) = uniform(registers, members) {
        return if members & alive & !active == 0 {
            active
        } else {
            0
        };
    }
    let members = registers.view32(members);
    let missing = (0..LANES).fold(0, |mask, lane| {
        mask | u32::from(members[lane] & alive & !active != 0) << lane
    });
    active & !missing
}

/// The lanes of `active` in which a register holds `value`.
pub(crate) fn lanes_with(register: &Lanes32, value: u32, active: u32) -> u32 {
    active
        & (0..LANES).fold(0, |mask, lane| {
            mask | u32::from(register[lane] == value) << lane
        })
}

/// An exchange whose lanes are all ready, group by group.
pub(crate) fn exchange(registers: &mut OneWarp<'_, '_>, code: &Code, op: &Op, active: u32) {
    if let Op::Shuffle { mode, list } = *op {
        // A shuffle asks nothing of the group but that it is there.
        shuffle(registers, mode, code.list(list), active);
        return;
    }
    let lists = registers.lanes32(members_register(code, op));
    let mut rest = active;
    while rest != 0 {
        let members = lists[rest.trailing_zeros() as usize];
        let group = lanes_with(&lists, members, rest);
        rest &= !group;
        let members = members & active;
        match *op {
            Op::Vote {
                mode,
                d,
                source,
                negated,
                ..
            } => vote(registers, mode, d, source, negated, members, group),
            Op::Match { all, wide, list } => {
                matching(registers, all, wide, code.list(list), members, group);
            }
            Op::Elect { d, p, .. } => elect(registers, d, p, members, group),
            Op::Redux { op, d, a, .. } => redux(registers, op, d, a, members, group),
            _ => {}
        }
    }
}

/// The value that all lanes of a register hold, if they hold one.
fn uniform(registers: &mut OneWarp<'_, '_>, slot: u32) -> Option<u32> {
    registers.pattern32(slot)?.as_uniform()
}

/// A shuffle of a whole warp that is not divided, by one distance: how compilers reduce and scan.
///
/// Returns what each lane gets and which lanes' sources are in range.
fn shuffle_whole(
    registers: &mut OneWarp<'_, '_>,
    mode: Shuffle,
    [a, b, c]: [u32; 3],
) -> Option<(Lanes32, u32)> {
    let usual = match mode {
        Shuffle::Up => 0,
        Shuffle::Down | Shuffle::Butterfly | Shuffle::Index => LANES as u32 - 1,
    };
    if uniform(registers, c)? != usual {
        return None;
    }
    let distance = uniform(registers, b)? & (LANES as u32 - 1);
    let by = distance as usize;
    let values = registers.view32(a);
    let mut out = *values;
    Some(match mode {
        Shuffle::Up => {
            out[by..].copy_from_slice(&values[..LANES - by]);
            (out, FULL << distance)
        }
        Shuffle::Down => {
            out[..LANES - by].copy_from_slice(&values[by..]);
            (out, FULL >> distance)
        }
        Shuffle::Butterfly => {
            for lane in 0..LANES {
                out[lane] = values[(lane ^ by) % LANES];
            }
            (out, FULL)
        }
        Shuffle::Index => ([values[by]; LANES], FULL),
    })
}

/// `shfl.sync`; `operands` are d, p, a, b, c.
fn shuffle(registers: &mut OneWarp<'_, '_>, mode: Shuffle, [d, p, a, b, c]: [u32; 5], active: u32) {
    if active == FULL
        && let Some((out, in_range)) = shuffle_whole(registers, mode, [a, b, c])
    {
        registers.put32(d, active, &out);
        if p != NONE {
            registers.put_pred(p, active, in_range);
        }
        return;
    }
    let (values, sources, clamps) = (
        registers.lanes32(a),
        registers.lanes32(b),
        registers.lanes32(c),
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
        // A lane that is not there gives nothing that could be told from the lane's own value.
        let there = valid && active >> (source & 31) & 1 == 1;
        let from = if there { source & 31 } else { lane };
        values[from as usize]
    });
    registers.put32(d, active, &out);
    if p != NONE {
        registers.put_pred(p, active, in_range);
    }
}

/// `vote.sync` of the lanes of `voters`, for those of `active`.
fn vote(
    registers: &mut OneWarp<'_, '_>,
    mode: Vote,
    d: u32,
    source: u32,
    negated: bool,
    voters: u32,
    active: u32,
) {
    let votes = if negated {
        !registers.pred_bits(source)
    } else {
        registers.pred_bits(source)
    } & voters;
    let all = |yes: bool| if yes { u32::MAX } else { 0 };
    match mode {
        Vote::All => registers.put_pred(d, active, all(votes == voters)),
        Vote::Any => registers.put_pred(d, active, all(votes != 0)),
        Vote::Uniform => registers.put_pred(d, active, all(votes == voters || votes == 0)),
        Vote::Ballot => registers.put_form32(d, active, Form::uniform(votes)),
    }
}

/// `match.sync` among `members`, for the lanes of `active`; the operands are d, p, a.
fn matching(
    registers: &mut OneWarp<'_, '_>,
    all: bool,
    wide: bool,
    [d, p, a]: [u32; 3],
    members: u32,
    active: u32,
) {
    let values = if wide {
        registers.lanes64(a)
    } else {
        registers.lanes32(a).map(u64::from)
    };
    let mut out = [0u32; LANES];
    for lane in bits_of(active) {
        out[lane] = bits_of(members)
            .filter(|&other| values[other] == values[lane])
            .fold(0, |mask, other| mask | 1 << other);
    }
    let agree = bits_of(active).all(|lane| out[lane] == members);
    if all && !agree {
        out = [0; LANES];
    }
    registers.put32(d, active, &out);
    if p != NONE {
        registers.put_pred(p, active, if agree { u32::MAX } else { 0 });
    }
}

/// `elect.sync`: the lowest of `members`, told to the lanes of `active`.
fn elect(registers: &mut OneWarp<'_, '_>, d: u32, p: u32, members: u32, active: u32) {
    let leader = members.trailing_zeros() & 31;
    if d != NONE {
        registers.put32(d, active, &[leader; LANES]);
    }
    registers.put_pred(p, active, 1 << leader);
}

/// `redux.sync` of `members`, for the lanes of `active`.
fn redux(registers: &mut OneWarp<'_, '_>, op: Redux, d: u32, a: u32, members: u32, active: u32) {
    let values = registers.lanes32(a);
    let signed = |value: u32| value.cast_signed();
    let result = bits_of(members)
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
    registers.put_form32(d, active, Form::uniform(result));
}
