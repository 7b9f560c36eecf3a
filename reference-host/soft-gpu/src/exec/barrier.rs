//! Which barriers the warps of a squad come to.

use super::lanes::{LANES, Registers};
use super::mask::Mask;
use super::{LaneFault, bits_of};
use crate::code::NONE;
use crate::fault::FaultKind;

/// Lanes that come to one barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) id: u32,
    /// Threads that it waits for; [`NONE`] is all of the block.
    pub(crate) count: u32,
    pub(crate) lanes: Mask,
}

/// All that come to barriers at once.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) first: Group,
    others: Vec<Group>,
}

impl Groups {
    pub(crate) fn all(&self) -> impl Iterator<Item = Group> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

/// The active lanes by the barriers that two registers name, `count` unless it is [`NONE`]. A warp goes where its first lane does.
pub(crate) fn groups(
    registers: &mut Registers<'_>,
    id: u32,
    count: u32,
) -> Result<Groups, LaneFault> {
    let chosen = registers.chosen;
    let mut all: Option<Groups> = None;
    for warp in bits_of(registers.touched) {
        let first = warp * LANES + chosen.warp(warp).trailing_zeros() as usize;
        let id = registers.lane32(id, first);
        let count = match count {
            NONE => NONE,
            count => registers.lane32(count, first),
        };
        if id > 15 || (count != NONE && (count == 0 || count % LANES as u32 != 0)) {
            return Err(LaneFault {
                kind: FaultKind::BadBarrier { id, count },
                lane: first as u32,
            });
        }
        let lanes = Mask::of_warp(warp, chosen.warp(warp));
        let group = Group { id, count, lanes };
        match &mut all {
            None => {
                all = Some(Groups {
                    first: group,
                    others: Vec::new(),
                });
            }
            Some(groups) => {
                let same = |other: &&mut Group| (other.id, other.count) == (id, count);
                let mut known = std::iter::once(&mut groups.first).chain(&mut groups.others);
                match known.find(same) {
                    Some(other) => other.lanes |= lanes,
                    None => groups.others.push(group),
                }
            }
        }
    }
    Ok(all.unwrap_or(Groups {
        first: Group {
            id: 0,
            count: NONE,
            lanes: Mask::NONE,
        },
        others: Vec::new(),
    }))
}
