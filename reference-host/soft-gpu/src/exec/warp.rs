//! A warp: registers and local memory of 32 lanes, and the fragments into which its lanes have split.
//!
//! Lanes that take different ways become fragments of their own, each with a place in the code and a stack of calls. The
//! fragment deepest in calls, and among those the one earliest in the code, runs first; when it reaches the place where
//! another waits, the two become one. That reconverges structured code at the earliest point and is correct for any control
//! flow whatever, since no fragment ever depends on another having met it. A fragment that runs on and on while others could
//! is set aside for a turn, so that spinning lanes cannot starve the lane they wait for.

use super::async_copy::Copies;
use super::form::{Form, HALF, Register};
use super::lanes::{FULL, LANES};
use super::local::Local;
use super::shape::Class;
use crate::code::Function;

/// Registers, local memory and fragments of one warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    /// Lanes that exist and have not exited.
    pub(crate) alive: u32,
    /// Thread index of each lane, by axis.
    pub(crate) thread: [Register<u32>; 3],
    pub(crate) r32: Vec<Register<u32>>,
    pub(crate) r64: Vec<Register<u64>>,
    pub(crate) pred: Vec<u32>,
    pub(crate) local: Local,
    pub(crate) fragments: Vec<Fragment>,
    /// Blocks entered since another fragment last had a turn.
    pub(crate) patience: u32,
    /// Blocks that the running fragment may still enter whatever its place, after others starved it.
    pub(crate) grace: u32,
    /// Counts turns, to find the fragment that has waited longest.
    pub(crate) turn: u64,
    /// Lanes that `bar.warp.sync` has released since the warp last ran.
    pub(crate) released: u32,
    /// What each barrier counted when it last released threads of this warp.
    pub(crate) votes: [Votes; 16],
    /// Asynchronous copies that have not been carried out.
    pub(crate) copies: Copies,
    /// The registers hold this launch's constants and prologue results.
    prepared: bool,
}

/// Predicates that threads brought to a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Votes {
    pub(crate) yes: u32,
    pub(crate) all: u32,
}

/// Lanes of a warp that go together.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) state: State,
    pub(crate) frame: Frame,
    pub(crate) callers: Vec<Caller>,
    pub(crate) last_turn: u64,
}

/// What a fragment waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// Other lanes, at an exchange that names them.
    Lanes,
    /// `bar.warp.sync` of these lanes.
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
}

/// Blocks that a fragment may enter while others are ready.
const PATIENCE: u32 = 1 << 12;

impl Warp {
    /// Makes this the warp `index` of a block, with the registers that `template` has prepared; returns its only fragment, about to enter
    /// the kernel.
    ///
    /// A warp that has run this launch's kernel before only needs some of its registers cleared.
    pub(crate) fn start(
        &mut self,
        index: u32,
        block: [u32; 3],
        function: &Function,
        template: &Self,
        patterns: bool,
    ) -> Fragment {
        self.index = index;
        self.number_threads(block, patterns);
        if self.r32.len() < template.r32.len()
            || self.r64.len() < template.r64.len()
            || !self.prepared
        {
            self.r32.clone_from(&template.r32);
            self.r64.clone_from(&template.r64);
            self.pred.clone_from(&template.pred);
            self.prepared = true;
        } else {
            for &(class, slot) in &function.cleared {
                match class {
                    Class::R32 => self.r32[slot as usize].set(Form::uniform(0), patterns),
                    Class::R64 => self.r64[slot as usize].set(Form::uniform(0), patterns),
                    Class::Pred => self.pred[slot as usize] = 0,
                }
            }
        }
        self.local.reset(function.frame_bytes);
        self.copies.clear();
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

    /// A warp about to run the prologue of a kernel: afterwards its registers are what every warp of the launch starts with.
    ///
    /// Its index is the kernel's number.
    pub(crate) fn template(function: &Function, number: u32, patterns: bool) -> Self {
        let mut template = Self {
            index: number,
            alive: FULL,
            ..Self::default()
        };
        template.enter(template.frame(), function, FULL, patterns);
        let fragment = template.all(function.prologue, template.frame());
        template.park(fragment);
        template
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
            last_turn: 0,
        }
    }

    /// Sets which lanes exist and which thread each is.
    fn number_threads(&mut self, block: [u32; 3], patterns: bool) {
        let threads = block[0] * block[1] * block[2];
        let first = self.index * LANES as u32;
        let count = threads.saturating_sub(first).min(LANES as u32);
        self.alive = if count == LANES as u32 {
            FULL
        } else {
            (1 << count) - 1
        };
        let place = |number: u32| {
            [
                number % block[0],
                number / block[0] % block[1],
                number / block[0] / block[1],
            ]
        };
        if block[1] == 1 && block[2] == 1 {
            self.thread[0].set(Form::affine(first, first + HALF as u32, 1), patterns);
            // Along the other axes all have been 0 since the warp was made: a launch's blocks are of one size.
            return;
        }
        if block[0].is_multiple_of(HALF as u32) {
            let (low, high) = (place(first), place(first + HALF as u32));
            for (axis, register) in self.thread.iter_mut().enumerate() {
                let step = u32::from(axis == 0);
                register.set(Form::affine(low[axis], high[axis], step), patterns);
            }
            return;
        }
        let mut at = place(first);
        let [x, y, z] = &mut self.thread;
        let (x, y, z) = (x.lanes_only(), y.lanes_only(), z.lanes_only());
        for lane in 0..LANES {
            (x[lane], y[lane], z[lane]) = (at[0], at[1], at[2]);
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

    /// Prepares a function's registers and frame in the lanes of `mask`: zero, and its constants.
    pub(crate) fn enter(&mut self, frame: Frame, function: &Function, mask: u32, patterns: bool) {
        let counts = function.registers;
        let zero32 = Register::of(Form::uniform(0));
        let zero64 = Register::of(Form::uniform(0));
        grow(&mut self.r32, frame.r32 + counts.r32, zero32);
        grow(&mut self.r64, frame.r64 + counts.r64, zero64);
        grow(&mut self.pred, frame.pred + counts.pred, 0);
        self.local.reserve(frame.local + function.frame_bytes);
        self.local.zero(frame.local, function.frame_bytes, mask);
        let r32 = &mut self.r32[frame.r32 as usize..][..counts.r32 as usize];
        let r64 = &mut self.r64[frame.r64 as usize..][..counts.r64 as usize];
        let pred = &mut self.pred[frame.pred as usize..][..counts.pred as usize];
        pred.iter_mut().for_each(|pred| *pred &= !mask);
        if mask == FULL {
            r32.iter_mut()
                .for_each(|register| register.set(Form::uniform(0), patterns));
            r64.iter_mut()
                .for_each(|register| register.set(Form::uniform(0), patterns));
            for &(slot, value) in &function.constants32 {
                r32[slot as usize].set(Form::uniform(value), patterns);
            }
            for &(slot, value) in &function.constants64 {
                r64[slot as usize].set(Form::uniform(value), patterns);
            }
            return;
        }
        r32.iter_mut()
            .for_each(|register| register.blend(mask, &[0; LANES]));
        r64.iter_mut()
            .for_each(|register| register.blend(mask, &[0; LANES]));
        for &(slot, value) in &function.constants32 {
            r32[slot as usize].blend(mask, &[value; LANES]);
        }
        for &(slot, value) in &function.constants64 {
            r64[slot as usize].blend(mask, &[value; LANES]);
        }
    }

    /// The thread that a lane is.
    pub(crate) fn thread_of(&self, lane: usize) -> [u32; 3] {
        [0, 1, 2].map(|axis: usize| self.thread[axis].lane(lane))
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

    /// Puts a fragment back.
    pub(crate) fn park(&mut self, fragment: Fragment) {
        self.fragments.push(fragment);
    }

    /// Lanes end. Others that waited for them look again.
    pub(crate) fn exit(&mut self, mask: u32) {
        self.alive &= !mask;
        for fragment in &mut self.fragments {
            if matches!(fragment.state, State::Lanes) {
                fragment.state = State::Ready;
            }
        }
        for at in 0..self.fragments.len() {
            if let State::WarpBarrier { members } = self.fragments[at].state {
                self.release_warp_barrier(members, 0);
            }
        }
    }

    /// Releases the lanes that wait at a `bar.warp.sync` of `members` if, together with those of `arriving`, all living members
    /// are there; whether they are.
    pub(crate) fn release_warp_barrier(&mut self, members: u32, arriving: u32) -> bool {
        let waits = |fragment: &&mut Fragment| fragment.state == State::WarpBarrier { members };
        let here = self
            .fragments
            .iter_mut()
            .filter(waits)
            .fold(arriving, |mask, fragment| mask | fragment.mask);
        let complete = members & self.alive & !here == 0;
        if complete {
            self.released |= here;
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
        self.pc == other.pc && self.frame == other.frame && self.callers == other.callers
    }
}

fn grow<T: Clone>(file: &mut Vec<T>, count: u32, value: T) {
    if file.len() < count as usize {
        file.resize(count as usize, value);
    }
}
