//! Blocks of a grid: squads of warps take turns, barriers release them.

use super::bits_of;
use super::budget::Budget;
use super::cost;
use super::lanes::LANES;
use super::mask::Mask;
use super::squad::{Squad, State, Votes, warps_together};
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
    pub(crate) means: Means,
}

/// What makes execution fast and changes no result. Only a test asks for less than all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    /// Registers may hold patterns.
    pub(crate) patterns: bool,
    /// Warps may go together.
    pub(crate) squads: bool,
}

impl Means {
    pub(crate) const ALL: Self = Self {
        patterns: true,
        squads: true,
    };
}

/// Runs every block of the grid, x fastest.
pub(crate) fn run_grid<'g>(
    grid: Grid<'g>,
    spaces: Spaces<'g, '_>,
    watch: Option<Box<Watch>>,
) -> Result<(), Box<Fault>> {
    let size = grid.config.grid;
    let mut next = [0; 3];
    run_blocks(grid, spaces, watch, || {
        let this = next;
        next = index_after(this, size);
        (this[2] < size[2]).then_some(this)
    })
}

/// The index of the block after one, x fastest; behind the last, z is the grid's.
pub(crate) fn index_after([mut x, mut y, mut z]: [u32; 3], size: [u32; 3]) -> [u32; 3] {
    x += 1;
    if x == size[0] {
        (x, y) = (0, y + 1);
    }
    if y == size[1] {
        (y, z) = (0, z + 1);
    }
    [x, y, z]
}

/// Runs the blocks that `next` names, until it names none.
pub(crate) fn run_blocks<'g>(
    grid: Grid<'g>,
    spaces: Spaces<'g, '_>,
    watch: Option<Box<Watch>>,
    mut next: impl FnMut() -> Option<[u32; 3]>,
) -> Result<(), Box<Fault>> {
    let (mut first, mut pool) = (Squad::default(), Vec::new());
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
        one_squad: false,
        watch,
    };
    // The checks follow each warp's accesses by themselves.
    let warps = if block.watch.is_none() && block.grid.means.squads {
        warps_together(block.grid.config.block, function.registers)
    } else {
        1
    };
    let mut template = Squad::template(function, number, warps, block.grid.means.patterns);
    block.run_squad(&mut template)?;
    while let Some(index) = next() {
        block.index = index;
        block.arrived = [0; 16];
        if let Some(watch) = &mut block.watch {
            watch.start();
        }
        block.votes = [Votes::default(); 16];
        block.spaces.shared.fill(0);
        block.pay(cost::of_block(block.spaces.shared.len()), function)?;
        block.run(function, &template, &mut first, &mut pool)?;
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
    /// The squad that ran last used up its slice and could go on.
    pub(crate) gives_way: bool,
    /// One squad has all of the block's warps.
    one_squad: bool,
    /// The checks that the launch asked for.
    pub(crate) watch: Option<Box<Watch>>,
}

impl Block<'_, '_> {
    /// Runs the block's warps until all have ended. `squad` is where they begin; `pool` lends more and takes them back.
    fn run(
        &mut self,
        function: &Function,
        template: &Squad,
        squad: &mut Squad,
        pool: &mut Vec<Squad>,
    ) -> Result<(), Box<Fault>> {
        let [x, y, z] = self.grid.config.block;
        let warps = (x * y * z).div_ceil(LANES as u32);
        let start_cost = cost::of_warp(function);
        let together = template.warps;
        self.one_squad = warps as usize <= together;
        let mut waiting: Vec<Squad> = Vec::new();
        for index in (0..warps).step_by(together) {
            let count = (together as u32).min(warps - index);
            self.pay(start_cost * u64::from(count), function)?;
            let mut fragment = squad.start(index, self.grid.config.block, function, template);
            self.run_from(squad, &mut fragment)?;
            // A squad that has ended lends its registers to the next.
            if !squad.fragments.is_empty() {
                waiting.push(std::mem::replace(squad, pool.pop().unwrap_or_default()));
            }
        }
        while !waiting.is_empty() {
            // What is ready here has given way: it may wait for threads that a barrier holds.
            let ready = waiting.iter().any(Squad::is_ready);
            if !self.release(&mut waiting, ready) && !ready {
                return Err(self.deadlock(&waiting));
            }
            let mut at = 0;
            while let Some(squad) = waiting.get_mut(at) {
                if squad.is_ready() {
                    self.run_squad(squad)?;
                }
                if squad.fragments.is_empty() {
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
        Err(self.fault(&Squad::default(), function.start, 0, kind))
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

    /// Whether a barrier of all threads is complete as soon as all living threads of this squad are there; then its votes.
    #[inline(always)]
    pub(crate) fn complete_alone(&mut self, id: u32) -> Option<Votes> {
        let arrived = self.arrived.get(id as usize)?;
        if !self.one_squad || *arrived != 0 || self.watch.is_some() {
            return None;
        }
        self.votes.get_mut(id as usize).map(std::mem::take)
    }

    /// Releases the threads of every barrier that is complete; whether any was.
    ///
    /// Threads that have exited no longer count, and a warp all of whose remaining lanes wait counts as a whole one. As long as
    /// `more` may come, more than the count that a barrier asks for stay: some of them wait for the next turn, and it is not known which.
    fn release(&mut self, squads: &mut [Squad], more: bool) -> bool {
        let mut released = false;
        let mut waited_at = 0u32;
        for fragment in squads.iter().flat_map(|squad| &squad.fragments) {
            if let State::Barrier { id, .. } = fragment.state {
                waited_at |= 1 << (id & 15);
            }
        }
        for id in bits_of(waited_at).map(|id| id as u32) {
            let here = |state: State| matches!(state, State::Barrier { id: at, .. } if at == id);
            let mut count = None;
            let mut present = 0;
            let mut warps = 0;
            let mut everyone = true;
            for squad in squads.iter() {
                let mut waiting = Mask::NONE;
                for fragment in squad.fragments.iter().filter(|each| here(each.state)) {
                    waiting |= fragment.mask;
                    if let State::Barrier { count: next, .. } = fragment.state {
                        count = Some(count.map_or(next, |least: u32| least.min(next)));
                    }
                }
                for warp in bits_of(squad.alive.touched()) {
                    let (mask, alive) = (waiting.warp(warp), squad.alive.warp(warp));
                    present += if mask == alive {
                        LANES as u32
                    } else {
                        mask.count_ones()
                    };
                    everyone &= mask == alive;
                    warps += 1;
                }
            }
            let Some(count) = count else { continue };
            let arrived = self.arrived[id as usize];
            // A barrier of all threads counts those that have not exited.
            let needed = if count == NONE {
                warps * LANES as u32
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
            for squad in squads.iter_mut() {
                for fragment in squad.fragments.iter_mut().filter(|each| here(each.state)) {
                    fragment.state = State::Ready;
                    for warp in bits_of(fragment.mask.touched()) {
                        squad.votes[warp][id as usize] = votes;
                        if self.watch.is_some() {
                            let lanes = fragment.mask.warp(warp);
                            threads.extend(Watch::threads(squad.index + warp as u32, lanes));
                        }
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
