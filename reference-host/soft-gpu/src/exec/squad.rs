//! A squad: warps of a block that go together, and the fragments into which their lanes have split.
//!
//! As long as warps do the same, one decoded micro-op serves all of them. Lanes that take different ways, of one warp or of several,
//! become fragments of their own, each with a place in the code and a stack of calls. The
//! fragment deepest in calls, and among those the one earliest in the code, runs first; when it reaches the place where
//! another waits, the two become one. That reconverges structured code at the earliest point and is correct for any control
//! flow whatever, since no fragment ever depends on another having met it. A fragment that runs on and on while others could
//! is set aside for a turn, so that spinning lanes cannot starve the lane they wait for.

use super::async_copy::Copies;
use super::file::{File, all};
use super::form::{Form, HALF};
use super::lanes::{FULL, LANES, RegisterCount};
use super::local::Local;
use super::mask::{Mask, WARPS};
use super::shape::Class;
use crate::code::Function;

/// Registers, local memory and fragments of the warps of a squad.
#[derive(Debug, Default)]
pub(crate) struct Squad {
    /// The number of its first warp in the block.
    pub(crate) index: u32,
    /// How many warps it has room for, all of a launch the same; those behind the block's last one have no living lane.
    pub(crate) warps: usize,
    /// Lanes that exist and have not exited.
    pub(crate) alive: Mask,
    /// Thread index of each lane, a register an axis.
    pub(crate) thread: File<u32>,
    pub(crate) r32: File<u32>,
    pub(crate) r64: File<u64>,
    /// A word a warp for each predicate.
    pub(crate) pred: Vec<u32>,
    /// Local memory of each warp.
    pub(crate) local: Vec<Local>,
    pub(crate) fragments: Vec<Fragment>,
    /// Blocks entered since another fragment last had a turn.
    pub(crate) patience: u32,
    /// Blocks that the running fragment may still enter whatever its place, after others starved it.
    pub(crate) grace: u32,
    /// Counts turns, to find the fragment that has waited longest.
    pub(crate) turn: u64,
    /// Lanes that `bar.warp.sync` has released since the squad last ran.
    pub(crate) released: Mask,
    /// What each barrier counted when it last released threads of each warp.
    pub(crate) votes: Vec<[Votes; 16]>,
    /// Asynchronous copies of each warp that have not been carried out.
    pub(crate) copies: Vec<Copies>,
    /// The registers hold this launch's constants and prologue results.
    prepared: bool,
}

/// Predicates that threads brought to a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Votes {
    pub(crate) yes: u32,
    pub(crate) all: u32,
}

/// Lanes of a squad that go together.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) pc: u32,
    pub(crate) mask: Mask,
    pub(crate) state: State,
    pub(crate) frame: Frame,
    pub(crate) callers: Vec<Caller>,
    /// A digest of the callers: fragments in different calls are told apart without going through them, of which there may be thousands.
    pub(crate) path: u64,
    pub(crate) last_turn: u64,
}

/// What a fragment waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// Other lanes, at an exchange that names them.
    Lanes,
    /// `bar.warp.sync` of these lanes of the one warp that the fragment is of.
    WarpBarrier {
        members: u32,
    },
    /// `bar.sync` with this number and thread count; a count of `u32::MAX` is every thread.
    Barrier {
        id: u32,
        count: u32,
    },
}

/// Where a running function's registers and memory start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    pub(crate) r32: u32,
    pub(crate) r64: u32,
    pub(crate) pred: u32,
    pub(crate) local: u32,
}

/// A function that waits for the one it called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) return_pc: u32,
    pub(crate) site: u32,
    pub(crate) frame: Frame,
    /// The digest of its own callers.
    pub(crate) path: u64,
}

/// Blocks that a fragment may enter while others are ready.
const PATIENCE: u32 = 1 << 12;

impl Squad {
    /// A squad about to run the prologue of a kernel: afterwards its registers are what every squad of the launch starts with.
    ///
    /// Its index is the kernel's number.
    pub(crate) fn template(function: &Function, number: u32, warps: usize, patterns: bool) -> Self {
        let mut template = Self {
            index: number,
            warps,
            alive: Mask::of_warps(all(warps), FULL),
            thread: File::new(warps, patterns),
            r32: File::new(warps, patterns),
            r64: File::new(warps, patterns),
            ..Self::default()
        };
        template.thread.grow(3);
        template.local.resize_with(warps, Local::default);
        template.copies.resize_with(warps, Copies::default);
        template.votes.resize(warps, [Votes::default(); 16]);
        template.enter(template.frame(), function, template.alive);
        let fragment = template.all(function.prologue, template.frame());
        template.park(fragment);
        template
    }

    /// Makes this the squad of the block's warps from `index` on, with the registers that `template` has prepared; returns its only
    /// fragment, about to enter the kernel.
    ///
    /// A squad that has run this launch's kernel before only needs some of its registers cleared.
    pub(crate) fn start(
        &mut self,
        index: u32,
        block: [u32; 3],
        function: &Function,
        template: &Self,
    ) -> Fragment {
        self.index = index;
        if self.r32.len() < template.r32.len()
            || self.r64.len() < template.r64.len()
            || !self.prepared
        {
            let warps = template.warps;
            self.warps = warps;
            self.thread.copy_from(&template.thread);
            self.r32.copy_from(&template.r32);
            self.r64.copy_from(&template.r64);
            self.pred.clone_from(&template.pred);
            self.local.resize_with(warps, Local::default);
            self.copies.resize_with(warps, Copies::default);
            self.votes.resize(warps, [Votes::default(); 16]);
            self.prepared = true;
        } else {
            let warps = all(self.warps);
            let (mut r32, mut r64) = (self.r32.from(0), self.r64.from(0));
            for &(class, slot) in &function.cleared {
                match class {
                    Class::R32 => r32.put_form(slot, warps, Form::uniform(0)),
                    Class::R64 => r64.put_form(slot, warps, Form::uniform(0)),
                    Class::Pred => self.pred[slot as usize * self.warps..][..self.warps].fill(0),
                }
            }
        }
        self.number_threads(block);
        for (local, copies) in self.local.iter_mut().zip(&mut self.copies) {
            local.reset(function.frame_bytes);
            copies.clear();
        }
        self.patience = 0;
        self.grace = 0;
        self.turn = 1;
        self.fragments.clear();
        self.all(function.start, template.frame())
    }

    /// The frame of the kernel itself.
    fn frame(&self) -> Frame {
        Frame {
            function: self.index,
            ..Frame::default()
        }
    }

    /// All living lanes, about to run what stands at `pc`.
    #[inline(always)]
    fn all(&self, pc: u32, frame: Frame) -> Fragment {
        Fragment {
            pc,
            mask: self.alive,
            state: State::Ready,
            frame,
            callers: Vec::new(),
            path: 0,
            last_turn: 0,
        }
    }

    /// Sets which lanes exist and which thread each is.
    fn number_threads(&mut self, block: [u32; 3]) {
        let threads = block[0] * block[1] * block[2];
        let first = self.index * LANES as u32;
        let room = (self.warps * LANES) as u32;
        self.alive = Mask::first_lanes(threads.saturating_sub(first).min(room));
        let warps = all(self.warps);
        let mut thread = self.thread.from(0);
        if block[1] == 1 && block[2] == 1 {
            let form = Form {
                along: LANES as u32,
                ..Form::affine(first, first + HALF as u32, 1)
            };
            // Along the other axes all have been 0 since the squad was made: a launch's blocks are of one size.
            thread.put_form(0, warps, form);
            return;
        }
        let place = |number: u32| {
            [
                number % block[0],
                number / block[0] % block[1],
                number / block[0] / block[1],
            ]
        };
        if block[0].is_multiple_of(HALF as u32) {
            let (low, high) = (place(first), place(first + HALF as u32));
            let next = if self.alive.touched() > 1 {
                place(first + LANES as u32)
            } else {
                low
            };
            for axis in 0..3 {
                let form = Form {
                    along: next[axis].wrapping_sub(low[axis]),
                    ..Form::affine(low[axis], high[axis], u32::from(axis == 0))
                };
                thread.put_form(axis as u32, warps, form);
            }
            return;
        }
        let mut at = place(first);
        for axis in 0..3 {
            thread.lanes_only(axis, warps);
        }
        for warp in 0..self.warps {
            for lane in 0..LANES {
                for axis in 0..3 {
                    thread.row(axis, warp)[lane] = at[axis as usize];
                }
                at[0] += 1;
                if at[0] == block[0] {
                    at[0] = 0;
                    at[1] += 1;
                }
                if at[1] == block[1] {
                    at[1] = 0;
                    at[2] += 1;
                }
            }
        }
    }

    /// Prepares a function's registers and frame in the lanes of `mask`: zero, and its constants.
    pub(crate) fn enter(&mut self, frame: Frame, function: &Function, mask: Mask) {
        let counts = function.registers;
        self.r32.grow(frame.r32 + counts.r32);
        self.r64.grow(frame.r64 + counts.r64);
        let predicates = (frame.pred + counts.pred) as usize * self.warps;
        if self.pred.len() < predicates {
            self.pred.resize(predicates, 0);
        }
        let first = frame.pred as usize * self.warps;
        for words in self.pred[first..predicates].chunks_exact_mut(self.warps) {
            for (warp, word) in words.iter_mut().enumerate() {
                *word &= !mask.warp(warp);
            }
        }
        for (warp, local) in self.local.iter_mut().enumerate() {
            local.reserve(frame.local + function.frame_bytes);
            local.zero(frame.local, function.frame_bytes, mask.warp(warp));
        }
        let (mut r32, mut r64) = (self.r32.from(frame.r32), self.r64.from(frame.r64));
        (0..counts.r32).for_each(|slot| r32.fill(slot, &mask, 0));
        (0..counts.r64).for_each(|slot| r64.fill(slot, &mask, 0));
        for &(slot, value) in &function.constants32 {
            r32.fill(slot, &mask, value);
        }
        for &(slot, value) in &function.constants64 {
            r64.fill(slot, &mask, value);
        }
    }

    /// The thread that a lane is.
    pub(crate) fn thread_of(&self, lane: usize) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.thread.lane(axis, lane / LANES, lane % LANES))
    }

    /// Whether any fragment could run.
    pub(crate) fn is_ready(&self) -> bool {
        self.fragments
            .iter()
            .any(|fragment| fragment.state == State::Ready)
    }

    /// Takes the fragment that is to run next, with every fragment merged into it that stands at the same place.
    pub(crate) fn next(&mut self) -> Option<Fragment> {
        self.turn += 1;
        if let [only] = self.fragments.as_slice()
            && only.state == State::Ready
        {
            return self.fragments.pop();
        }
        let ready = self
            .fragments
            .iter()
            .enumerate()
            .filter(|(_, fragment)| fragment.state == State::Ready);
        let chosen = if self.patience >= PATIENCE {
            self.patience = 0;
            self.grace = PATIENCE;
            ready.min_by_key(|(_, fragment)| fragment.last_turn)
        } else {
            ready.min_by_key(|(_, fragment)| fragment.priority())
        };
        let (at, _) = chosen?;
        let mut fragment = self.fragments.swap_remove(at);
        fragment.last_turn = self.turn;
        self.merge_into(&mut fragment);
        Some(fragment)
    }

    /// At the start of a basic block: merges fragments that wait here, and says whether `fragment` is to go on.
    ///
    /// The caller hands a fragment that is not to go on back with [`Warp::park`].
    pub(crate) fn meet(&mut self, fragment: &mut Fragment) -> bool {
        self.merge_into(fragment);
        let mut others = self
            .fragments
            .iter()
            .filter(|other| other.state == State::Ready)
            .peekable();
        if others.peek().is_none() {
            self.patience = 0;
            return true;
        }
        self.patience += 1;
        if self.grace > 0 {
            self.grace -= 1;
            return true;
        }
        self.patience < PATIENCE && others.all(|other| fragment.priority() <= other.priority())
    }

    /// Puts a fragment back that can only wait: whichever has waited longest is next.
    pub(crate) fn yield_turn(&mut self, mut fragment: Fragment) {
        fragment.last_turn = self.turn;
        self.patience = PATIENCE;
        self.park(fragment);
    }

    /// Puts a fragment back.
    pub(crate) fn park(&mut self, fragment: Fragment) {
        self.fragments.push(fragment);
    }

    /// Lanes end. Others that waited for them look again.
    pub(crate) fn exit(&mut self, mask: Mask) {
        self.alive = self.alive & !mask;
        for fragment in &mut self.fragments {
            if matches!(fragment.state, State::Lanes) {
                fragment.state = State::Ready;
            }
        }
        for at in 0..self.fragments.len() {
            let fragment = &self.fragments[at];
            if let State::WarpBarrier { members } = fragment.state {
                let warp = fragment.mask.touched().trailing_zeros() as usize;
                self.release_warp_barrier(warp, members, 0);
            }
        }
    }

    /// Releases the lanes of a warp that wait at a `bar.warp.sync` of `members` if, together with those of `arriving`, all living members
    /// are there; whether they are.
    pub(crate) fn release_warp_barrier(
        &mut self,
        warp: usize,
        members: u32,
        arriving: u32,
    ) -> bool {
        let waits = |fragment: &&mut Fragment| {
            fragment.state == State::WarpBarrier { members } && fragment.mask.warp(warp) != 0
        };
        let here = self
            .fragments
            .iter_mut()
            .filter(waits)
            .fold(arriving, |mask, fragment| mask | fragment.mask.warp(warp));
        let complete = members & self.alive.warp(warp) & !here == 0;
        if complete {
            self.released |= Mask::of_warp(warp, here);
            for fragment in self.fragments.iter_mut().filter(waits) {
                fragment.state = State::Ready;
            }
        }
        complete
    }

    fn merge_into(&mut self, fragment: &mut Fragment) {
        let mut at = 0;
        while let Some(other) = self.fragments.get(at) {
            if matches!(other.state, State::Ready | State::Lanes) && other.is_with(fragment) {
                fragment.mask |= other.mask;
                self.fragments.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }
}

impl Fragment {
    /// Less is sooner: deepest in calls, then earliest in the code.
    fn priority(&self) -> (usize, u32) {
        (usize::MAX - self.callers.len(), self.pc)
    }

    /// Whether both stand at the same place of the same calls.
    fn is_with(&self, other: &Self) -> bool {
        self.pc == other.pc
            && self.path == other.path
            && self.frame == other.frame
            && self.callers == other.callers
    }

    /// Goes into a function, to return to `return_pc`.
    pub(crate) fn enter(&mut self, return_pc: u32, site: u32, frame: Frame) {
        self.callers.push(Caller {
            return_pc,
            site,
            frame: self.frame,
            path: self.path,
        });
        let call = u64::from(site) << 32 | u64::from(return_pc);
        let mixed = (self.path ^ call).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        self.path = (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        self.frame = frame;
    }

    /// Comes back from a function; the caller that it returns to, or nothing where it ran the kernel itself.
    pub(crate) fn leave(&mut self) -> Option<Caller> {
        let caller = self.callers.pop()?;
        self.path = caller.path;
        self.frame = caller.frame;
        Some(caller)
    }
}

/// How many warps of a block go together: as many as there is room for, of which the thread indices have a pattern.
pub(crate) fn warps_together(block: [u32; 3], registers: RegisterCount) -> usize {
    let [x, y, z] = block;
    let total = (x * y * z).div_ceil(LANES as u32);
    let bytes = LANES * (4 * registers.r32 as usize + 8 * registers.r64 as usize);
    let room = (MOST_BYTES / bytes.max(1)).clamp(1, WARPS);
    // Warps in a row along which every index grows evenly.
    let even = if y == 1 && z == 1 || !x.is_multiple_of(HALF as u32) {
        total
    } else {
        match x / HALF as u32 {
            1 if z == 1 => total,
            1 if y.is_multiple_of(2) => y / 2,
            2 if z == 1 => total,
            2 => y,
            halves if halves.is_multiple_of(2) => halves / 2,
            _ => 1,
        }
    };
    let most = (room as u32).min(total);
    if even == total {
        return total.div_ceil(total.div_ceil(most)) as usize;
    }
    let fits = |warps: &u32| even.is_multiple_of(*warps);
    (1..=most).rev().find(fits).unwrap_or(1) as usize
}

/// Most bytes of registers of a squad: what stays in a processor's second cache beside memory.
const MOST_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::{LANES, RegisterCount, Squad, warps_together};
    use crate::code::Function;
    use crate::exec::mask::WARPS;

    #[test]
    fn squads_number_their_threads_as_the_block_does() {
        let blocks = [
            [1, 1, 1],
            [33, 1, 1],
            [256, 1, 1],
            [1024, 1, 1],
            [288, 1, 1],
            [16, 16, 1],
            [16, 7, 1],
            [16, 3, 2],
            [16, 6, 4],
            [32, 5, 1],
            [32, 3, 5],
            [48, 7, 3],
            [64, 4, 4],
            [96, 10, 1],
            [128, 3, 2],
            [8, 8, 4],
            [5, 7, 3],
            [1, 1, 64],
            [512, 2, 1],
        ];
        for block @ [x, y, z] in blocks {
            let threads = x * y * z;
            let warps = warps_together(block, RegisterCount::default());
            assert!((1..=WARPS).contains(&warps), "{block:?}");
            let template = Squad::template(&Function::default(), 0, warps, true);
            let mut squad = Squad::default();
            for index in (0..threads.div_ceil(LANES as u32)).step_by(warps) {
                squad.start(index, block, &Function::default(), &template);
                for lane in squad.alive.lanes() {
                    let number = index * LANES as u32 + lane as u32;
                    let expected = [number % x, number / x % y, number / x / y];
                    assert_eq!(squad.thread_of(lane), expected, "{block:?} {number}");
                }
                let last = (index + warps as u32) * LANES as u32;
                let alive = last.min(threads) - index * LANES as u32;
                assert_eq!(squad.alive.count(), alive, "{block:?}");
            }
        }
    }
}
