//! Blocks of a grid: warps take turns, barriers release them.

use super::budget::Budget;
use super::cost;
use super::lanes::LANES;
use super::warp::{State, Votes, Warp};
use super::watch::Watch;
use crate::code::{Code, Function, NONE};
use crate::fault::{Fault, FaultKind};
use crate::launch::LaunchConfig;
use crate::memory::Spaces;
use crate::module::{Entry, Module};

/// One launch in progress.
pub(crate) struct Grid<'g> {
    pub(crate) module: &'g Module,
    /// The module's code, or the copy of it that checks accesses.
    pub(crate) code: &'g Code,
    pub(crate) entry: &'g Entry,
    pub(crate) config: &'g LaunchConfig,
    pub(crate) budget: Budget<'g>,
    /// Registers may hold patterns. Only a test turns it off.
    pub(crate) patterns: bool,
}

/// Runs every block of the grid, x fastest.
pub(crate) fn run_grid<'g>(
    grid: Grid<'g>,
    spaces: Spaces<'g, '_>,
    watch: Option<Box<Watch>>,
) -> Result<(), Box<Fault>> {
    let [x, y, z] = grid.config.grid;
    let mut next = Some([0; 3]);
    run_blocks(grid, spaces, watch, || {
        let this = next?;
        let [mut at_x, mut at_y, mut at_z] = this;
        at_x += 1;
        if at_x == x {
            (at_x, at_y) = (0, at_y + 1);
        }
        if at_y == y {
            (at_y, at_z) = (0, at_z + 1);
        }
        next = (at_z < z).then_some([at_x, at_y, at_z]);
        Some(this)
    })
}

/// Runs the blocks that `next` names, until it names none.
pub(crate) fn run_blocks<'g>(
    grid: Grid<'g>,
    spaces: Spaces<'g, '_>,
    watch: Option<Box<Watch>>,
    mut next: impl FnMut() -> Option<[u32; 3]>,
) -> Result<(), Box<Fault>> {
    let mut pool = Vec::new();
    let number = grid.entry.function;
    let Some(function) = grid.module.code.functions.get(number as usize) else {
        return Ok(());
    };
    let mut block = Block {
        grid,
        spaces,
        index: [0; 3],
        arrived: [0; 16],
        votes: [Votes::default(); 16],
        processor: pulp::Arch::new(),
        gives_way: false,
        watch,
    };
    let mut template = Warp::template(function, number, block.grid.patterns);
    block.run_warp(&mut template)?;
    while let Some(index) = next() {
        block.index = index;
        block.arrived = [0; 16];
        if let Some(watch) = &mut block.watch {
            watch.start();
        }
        block.votes = [Votes::default(); 16];
        block.spaces.shared.fill(0);
        block.pay(cost::of_block(block.spaces.shared.len()), function)?;
        block.run(function, &template, &mut pool)?;
    }
    block.grid.budget.give_back();
    Ok(())
}

/// One block in progress.
pub(crate) struct Block<'g, 'm> {
    pub(crate) grid: Grid<'g>,
    pub(crate) spaces: Spaces<'g, 'm>,
    pub(crate) index: [u32; 3],
    /// Threads that `bar.arrive` has brought to each barrier.
    arrived: [u32; 16],
    /// Predicates that threads have brought to each barrier.
    votes: [Votes; 16],
    /// What the machine's processor can do.
    pub(crate) processor: pulp::Arch,
    /// The warp that ran last used up its slice and could go on.
    pub(crate) gives_way: bool,
    /// The checks that the launch asked for.
    pub(crate) watch: Option<Box<Watch>>,
}

impl Block<'_, '_> {
    /// Runs the block's warps until all have ended. `pool` lends warps and takes them back.
    fn run(
        &mut self,
        function: &Function,
        template: &Warp,
        pool: &mut Vec<Warp>,
    ) -> Result<(), Box<Fault>> {
        let [x, y, z] = self.grid.config.block;
        let warps = (x * y * z).div_ceil(LANES as u32);
        let start_cost = cost::of_warp(function);
        let mut waiting: Vec<Warp> = Vec::new();
        let mut warp = pool.pop().unwrap_or_default();
        for index in 0..warps {
            self.pay(start_cost, function)?;
            let mut fragment = warp.start(
                index,
                self.grid.config.block,
                function,
                template,
                self.grid.patterns,
            );
            self.run_from(&mut warp, &mut fragment)?;
            // A warp that has ended lends its registers to the next.
            if !warp.fragments.is_empty() {
                waiting.push(std::mem::replace(&mut warp, pool.pop().unwrap_or_default()));
            }
        }
        pool.push(warp);
        while !waiting.is_empty() {
            // What is ready here has given way: it may wait for threads that a barrier holds.
            let ready = waiting.iter().any(Warp::is_ready);
            if !self.release(&mut waiting, ready) && !ready {
                return Err(self.deadlock(&waiting));
            }
            let mut at = 0;
            while let Some(warp) = waiting.get_mut(at) {
                if warp.is_ready() {
                    self.run_warp(warp)?;
                }
                if warp.fragments.is_empty() {
                    pool.push(waiting.remove(at))
                } else {
                    at += 1
                }
            }
        }
        Ok(())
    }

    /// Charges the start of a block or a warp.
    #[inline(always)]
    fn pay(&mut self, cost: u64, function: &Function) -> Result<(), Box<Fault>> {
        if self.grid.budget.charge(cost) {
            return Ok(());
        }
        self.cannot_pay(function)
    }

    #[cold]
    fn cannot_pay(&self, function: &Function) -> Result<(), Box<Fault>> {
        let kind = FaultKind::BudgetExhausted(self.grid.budget.total);
        Err(self.fault(&Warp::default(), function.start, 0, kind))
    }

    /// `bar.arrive`.
    pub(crate) fn arrive(&mut self, id: u32, warp: u32, mask: u32) {
        if let Some(watch) = &mut self.watch {
            watch.arrive(id, warp, mask);
        }
        if let Some(arrived) = self.arrived.get_mut(id as usize) {
            *arrived += mask.count_ones();
        }
    }

    /// Counts the predicates of threads on their way to a barrier.
    pub(crate) fn vote(&mut self, id: u32, yes: u32, mask: u32) {
        if let Some(votes) = self.votes.get_mut(id as usize) {
            votes.yes += (yes & mask).count_ones();
            votes.all += mask.count_ones();
        }
    }

    /// Releases the threads of every barrier that is complete; whether any was.
    ///
    /// Threads that have exited no longer count, and a warp all of whose remaining lanes wait counts as a whole one. As long as
    /// `more` may come, more than the count that a barrier asks for stay: some of them wait for the next turn, and it is not known which.
    fn release(&mut self, warps: &mut [Warp], more: bool) -> bool {
        let mut released = false;
        let mut waited_at = 0u32;
        for fragment in warps.iter().flat_map(|warp| &warp.fragments) {
            if let State::Barrier { id, .. } = fragment.state {
                waited_at |= 1 << (id & 15);
            }
        }
        for id in super::lanes_of(waited_at).map(|id| id as u32) {
            let here = |state: State| matches!(state, State::Barrier { id: at, .. } if at == id);
            let mut count = None;
            let mut present = 0;
            let mut everyone = true;
            for warp in warps.iter() {
                let mask = warp
                    .fragments
                    .iter()
                    .filter(|fragment| here(fragment.state))
                    .fold(0, |mask, fragment| mask | fragment.mask);
                present += if mask == warp.alive {
                    LANES as u32
                } else {
                    mask.count_ones()
                };
                everyone &= mask == warp.alive;
                let counts = warp
                    .fragments
                    .iter()
                    .filter_map(|fragment| match fragment.state {
                        State::Barrier { id: at, count } if at == id => Some(count),
                        _ => None,
                    });
                count = counts.fold(count, |least: Option<u32>, next| {
                    Some(least.map_or(next, |least| least.min(next)))
                });
            }
            let Some(count) = count else { continue };
            let arrived = self.arrived[id as usize];
            // A barrier of all threads counts those that have not exited.
            let needed = if count == NONE {
                warps.len() as u32 * LANES as u32
            } else {
                count
            };
            let complete = if more {
                count != NONE && present + arrived == needed
            } else {
                (count == NONE && everyone) || present + arrived >= needed
            };
            if !complete {
                continue;
            }
            // What arrived beyond need is there for the next turn.
            self.arrived[id as usize] = arrived.saturating_sub(needed.saturating_sub(present));
            released = true;
            let mut threads = Vec::new();
            let votes = std::mem::take(&mut self.votes[id as usize]);
            for warp in warps.iter_mut() {
                let index = warp.index;
                for fragment in warp.fragments.iter_mut().filter(|each| here(each.state)) {
                    fragment.state = State::Ready;
                    warp.votes[id as usize] = votes;
                    if self.watch.is_some() {
                        threads.extend(Watch::threads(index, fragment.mask));
                    }
                }
            }
            if let Some(watch) = &mut self.watch {
                watch.join(&threads, Some(id));
            }
        }
        released
    }
}
