//! The turns of a squad's fragments: one after the other runs, and lanes that part from it are set aside.

use super::LaneFault;
use super::bits_of;
use super::block::Block;
use super::build::Guaranteed;
use super::mask::Mask;
use super::squad::{Fragment, Squad, State};
use super::watch::Watch;
use crate::fault::Fault;

impl Block<'_, '_> {
    /// Runs a squad until none of its fragments can go on, or its slice of the budget is used up.
    pub(crate) fn run_squad(&mut self, squad: &mut Squad) -> Result<(), Box<Fault>> {
        match squad.next() {
            Some(mut fragment) => self.run_from(squad, &mut fragment),
            None => Ok(()),
        }
    }

    /// Does the same, `fragment` first. Most squads have no other from start to end, so that it need not go through their lists.
    pub(crate) fn run_from(
        &mut self,
        squad: &mut Squad,
        fragment: &mut Fragment,
    ) -> Result<(), Box<Fault>> {
        self.grid.budget.begin_slice();
        self.gives_way = false;
        loop {
            let outcome = match self.processor {
                #[cfg(target_arch = "x86_64")]
                pulp::Arch::V3(build) => self.run_fragment(build, squad, fragment),
                _ => self.run_fragment(Guaranteed, squad, fragment),
            };
            if let Some(watch) = &mut self.watch {
                let released = std::mem::take(&mut squad.released);
                for warp in bits_of(released.touched()) {
                    let index = squad.index + warp as u32;
                    let threads: Vec<u32> = Watch::threads(index, released.warp(warp)).collect();
                    watch.join(&threads, None);
                }
            }
            if let Err(LaneFault { kind, lane }) = outcome {
                return Err(self.fault(squad, self.blamed(fragment), lane, kind));
            }
            if self.gives_way {
                return Ok(());
            }
            match squad.next() {
                Some(next) => *fragment = next,
                None => return Ok(()),
            }
        }
    }

    /// Lanes part at a branch; returns where the fragment goes on: the earlier of the two places.
    pub(super) fn split(
        &mut self,
        squad: &mut Squad,
        fragment: &mut Fragment,
        taken: Mask,
        target: u32,
        next: u32,
    ) -> u32 {
        let passed = fragment.mask & !taken;
        let (first, later) = if target < next {
            (taken, passed)
        } else {
            (passed, taken)
        };
        self.set_aside(squad, fragment, later, target.max(next), State::Ready);
        fragment.mask = first;
        target.min(next)
    }

    /// Sets lanes of a fragment aside, if there are any, with a copy of their callers.
    pub(super) fn set_aside(
        &mut self,
        squad: &mut Squad,
        fragment: &Fragment,
        mask: Mask,
        pc: u32,
        state: State,
    ) {
        if !mask.is_empty() {
            let callers = fragment.callers.len() as u64;
            self.grid.budget.charge_roughly(callers / 16);
            squad.park(Fragment {
                pc,
                mask,
                state,
                ..fragment.clone()
            });
        }
    }
}
