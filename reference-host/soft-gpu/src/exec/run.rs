//! The interpreter: runs one fragment until it ends, waits, or gives way to another.

use super::access::{View, addresses};
use super::block::Block;
use super::build::{Build, Guaranteed};
use super::form::Form;
use super::lanes::{FULL, LANES, Registers};
use super::warp::{Fragment, State, Warp};
use super::watch::Watch;
use super::{LaneFault, budget::OutOfSlice, exchange, lanes_of};
use crate::code::{NONE, Op, Reduction, Space};
use crate::fault::{Fault, FaultKind};
use crate::memory::{FUNCTION_BASE, FUNCTION_STRIDE, resolve};

impl Block<'_, '_> {
    /// Runs a warp until none of its fragments can go on, or its slice of the budget is used up.
    pub(crate) fn run_warp(&mut self, warp: &mut Warp) -> Result<(), Box<Fault>> {
        match warp.next() {
            Some(mut fragment) => self.run_from(warp, &mut fragment),
            None => Ok(()),
        }
    }

    /// Does the same, `fragment` first. Most warps have no other from start to end, so that it need not go through their lists.
    pub(crate) fn run_from(
        &mut self,
        warp: &mut Warp,
        fragment: &mut Fragment,
    ) -> Result<(), Box<Fault>> {
        self.grid.budget.begin_slice();
        self.gives_way = false;
        loop {
            let outcome = match self.processor {
                #[cfg(target_arch = "x86_64")]
                pulp::Arch::V3(build) => self.run_fragment(build, warp, fragment),
                _ => self.run_fragment(Guaranteed, warp, fragment),
            };
            if warp.released != 0
                && let Some(watch) = &mut self.watch
            {
                let threads: Vec<u32> = Watch::threads(warp.index, warp.released).collect();
                watch.join(&threads, None);
            }
            warp.released = 0;
            if let Err(LaneFault { kind, lane }) = outcome {
                return Err(self.fault(warp, self.blamed(fragment), lane, kind));
            }
            if self.gives_way {
                return Ok(());
            }
            match warp.next() {
                Some(next) => *fragment = next,
                None => return Ok(()),
            }
        }
    }

    /// Runs a fragment; afterwards it has ended, or has been put back into the warp.
    ///
    /// On a fault, `fragment.pc` is the micro-op that faulted.
    fn run_fragment<B: Build>(
        &mut self,
        build: B,
        warp: &mut Warp,
        fragment: &mut Fragment,
    ) -> Result<(), LaneFault> {
        let code = self.grid.code;
        // Fragments are compared and set aside with all of their callers.
        let callers = fragment.callers.len() as u64;
        self.grid.budget.charge_roughly(callers / 16);
        let mut pc = fragment.pc;
        'frame: loop {
            let frame = fragment.frame;
            let Warp { r32, r64, pred, .. } = warp;
            let mut registers = Registers::new(
                &mut r32[frame.r32 as usize..],
                &mut r64[frame.r64 as usize..],
                &mut pred[frame.pred as usize..],
                !warp.alive,
                self.grid.patterns,
            );
            let mut active = fragment.mask;
            registers.activate(active);
            loop {
                // Saves the call where other operations follow each other, as loads do.
                if let Some(Op::Lane(_)) = code.ops.get(pc as usize) {
                    pc = run_lane_operations(build, &code.ops, pc, &mut registers);
                }
                let Some(op) = code.ops.get(pc as usize) else {
                    return Err(LaneFault {
                        kind: FaultKind::BadTarget(u64::from(pc)),
                        lane: fragment.mask.trailing_zeros(),
                    });
                };
                match *op {
                    Op::Lane(_) => continue,
                    Op::Rare(ref rare) => rare.execute(build, &mut registers),
                    Op::Block { cost } => {
                        if let Some(rest) = self.grid.budget.slice_left.checked_sub(u64::from(cost))
                        {
                            self.grid.budget.slice_left = rest;
                        } else {
                            fragment.pc = pc;
                            match self.grid.budget.out_of_slice(u64::from(cost)) {
                                OutOfSlice::GoOn => {}
                                OutOfSlice::GiveWay => {
                                    self.gives_way = true;
                                    warp.park(fragment.clone());
                                    return Ok(());
                                }
                                OutOfSlice::Exhausted => {
                                    return Err(LaneFault {
                                        kind: FaultKind::BudgetExhausted(self.grid.budget.total),
                                        lane: active.trailing_zeros(),
                                    });
                                }
                            }
                        }
                        if !warp.fragments.is_empty() {
                            self.grid
                                .budget
                                .charge_roughly(2 * warp.fragments.len() as u64);
                            fragment.pc = pc;
                            if !warp.meet(fragment) {
                                warp.park(fragment.clone());
                                return Ok(());
                            }
                            pc += 1;
                            continue 'frame;
                        }
                    }
                    Op::Guard {
                        pred,
                        negated,
                        skip,
                    } => {
                        let chosen = registers.pred_bits(pred);
                        active = fragment.mask & if negated { !chosen } else { chosen };
                        if active == 0 {
                            active = fragment.mask;
                            pc += skip;
                        }
                        registers.activate(active);
                    }
                    Op::Unguard => {
                        active = fragment.mask;
                        registers.activate(active);
                    }
                    Op::Branch { target } => {
                        pc = target;
                        continue;
                    }
                    Op::BranchIf {
                        pred,
                        negated,
                        target,
                    } => {
                        let chosen = registers.pred_bits(pred);
                        let taken = active & if negated { !chosen } else { chosen };
                        if taken == active {
                            pc = target;
                            continue;
                        }
                        if taken != 0 {
                            pc = split(warp, fragment, taken, target, pc + 1);
                            continue 'frame;
                        }
                    }
                    Op::Load(ref access) => {
                        let mut view = View {
                            spaces: &mut self.spaces,
                            local: &mut warp.local,
                            frame: frame.local,
                        };
                        view.load(build, &mut registers, access, code, active)
                            .inspect_err(|_| fragment.pc = pc)?;
                    }
                    Op::Store(ref access) => {
                        let mut view = View {
                            spaces: &mut self.spaces,
                            local: &mut warp.local,
                            frame: frame.local,
                        };
                        view.store(build, &mut registers, access, code, active)
                            .inspect_err(|_| fragment.pc = pc)?;
                    }
                    Op::Atomic(atomic) => {
                        let mut view = View {
                            spaces: &mut self.spaces,
                            local: &mut warp.local,
                            frame: frame.local,
                        };
                        view.atomic(&mut registers, atomic, atomic.registers(code), active)
                            .inspect_err(|_| fragment.pc = pc)?;
                    }
                    Op::Special { d, register } => {
                        let warp = (warp.index, &warp.thread);
                        self.special(&mut registers, warp, (d, register), active);
                    }
                    Op::Special64 { d, register } => {
                        self.special64(&mut registers, (d, register), active);
                    }
                    Op::DynamicShared { d } => {
                        let offset = self.dynamic_shared_offset();
                        registers.put_form32(d, active, Form::uniform(offset));
                    }
                    Op::FrameAddress { d, offset } => {
                        let address = u64::from(frame.local.wrapping_add(offset));
                        registers.put_form64(d, active, Form::uniform(address));
                    }
                    Op::IsSpace { d, address, space } => {
                        let addresses = registers.lanes64(address);
                        let inside = |lane: usize| {
                            resolve(addresses[lane]).space == space
                                && (space != Space::Global || addresses[lane] != 0)
                        };
                        let bits = lanes_of(active)
                            .filter(|&lane| inside(lane))
                            .fold(0, |bits, lane| bits | 1 << lane);
                        registers.put_pred(d, active, bits);
                    }
                    Op::ActiveMask { d } => registers.put_form32(d, active, Form::uniform(active)),
                    Op::WarpBarrier { members } => {
                        let lists = registers.lanes32(members);
                        let members = lists[active.trailing_zeros() as usize & 31];
                        let same = exchange::lanes_with(&lists, members, active);
                        if same != active {
                            // Lanes that wait for others are on their own.
                            park_rest(warp, fragment, same, pc, State::Ready);
                        }
                        fragment.pc = pc + 1;
                        if !warp.release_warp_barrier(members, same) {
                            fragment.state = State::WarpBarrier { members };
                        }
                        // Where it has been released, lanes that waited at this very place join it before it goes on.
                        warp.park(fragment.clone());
                        return Ok(());
                    }
                    Op::Shuffle { .. }
                    | Op::Match { .. }
                    | Op::Vote { .. }
                    | Op::Redux { .. }
                    | Op::Elect { .. }
                    | Op::Matrix { .. } => {
                        let members = exchange::members_register(code, op);
                        let ready = exchange::ready(&mut registers, members, active, warp.alive);
                        if ready != active {
                            // A basic block starts just before: there the lanes that wait are met by those they wait for.
                            park_rest(warp, fragment, ready, pc - 1, State::Lanes);
                            if ready == 0 {
                                return Ok(());
                            }
                            continue 'frame;
                        }
                        let Op::Matrix { index, .. } = *op else {
                            exchange::exchange(&mut registers, code, op, active);
                            pc += 1;
                            continue;
                        };
                        if let Some(matrix) = code.matrices.get(index as usize) {
                            let mut view = View {
                                spaces: &mut self.spaces,
                                local: &mut warp.local,
                                frame: frame.local,
                            };
                            view.matrix(&mut registers, matrix, active)
                                .inspect_err(|_| fragment.pc = pc)?;
                            if matrix.d.is_empty()
                                && let Some(watch) = &mut self.watch
                            {
                                watch.forget();
                            }
                        }
                    }
                    Op::Barrier {
                        id,
                        count,
                        arrive_only,
                    } => {
                        let first = active.trailing_zeros() as usize;
                        let id = registers.lane32(id, first);
                        let count = if count == NONE {
                            NONE
                        } else {
                            registers.lane32(count, first)
                        };
                        if id > 15 || (count != NONE && (count == 0 || count % LANES as u32 != 0)) {
                            fragment.pc = pc;
                            return Err(LaneFault {
                                kind: FaultKind::BadBarrier { id, count },
                                lane: first as u32,
                            });
                        }
                        if arrive_only {
                            self.arrive(id, warp.index, active);
                        } else {
                            fragment.pc = pc + 1;
                            fragment.state = State::Barrier { id, count };
                            warp.park(fragment.clone());
                            return Ok(());
                        }
                    }
                    Op::BarrierVote {
                        id,
                        source,
                        negated,
                    } => {
                        let id = registers.lanes32(id)[active.trailing_zeros() as usize & 31];
                        let yes = registers.pred_bits(source);
                        self.vote(id, if negated { !yes } else { yes }, active);
                    }
                    Op::BarrierResult { id, d, reduction } => {
                        let id = registers.lanes32(id)[active.trailing_zeros() as usize & 31];
                        let votes = warp.votes.get(id as usize).copied().unwrap_or_default();
                        let all = |yes: bool| if yes { FULL } else { 0 };
                        match reduction {
                            Reduction::And => {
                                registers.put_pred(d, active, all(votes.yes == votes.all));
                            }
                            Reduction::Or => registers.put_pred(d, active, all(votes.yes > 0)),
                            Reduction::Count => registers.put32(d, active, &[votes.yes; LANES]),
                        }
                    }
                    Op::AsyncCopy { index } => {
                        let Some(copy) = code.copies.get(index as usize) else {
                            pc += 1;
                            continue;
                        };
                        let mut view = View {
                            spaces: &mut self.spaces,
                            local: &mut warp.local,
                            frame: frame.local,
                        };
                        view.copy_async(&mut registers, copy, &mut warp.copies, active)
                            .inspect_err(|_| fragment.pc = pc)?;
                        if let Some(watch) = &mut self.watch {
                            let to = addresses(&mut registers, copy.to);
                            lanes_of(active).for_each(|lane| watch.copied(to[lane], copy.bytes));
                        }
                    }
                    Op::AsyncCommit => warp.copies.commit(active),
                    Op::AsyncWait { groups } => {
                        let looked_at = warp.copies.outstanding() as u64;
                        self.grid.budget.charge_roughly(4 * looked_at);
                        let mut view = View {
                            spaces: &mut self.spaces,
                            local: &mut warp.local,
                            frame: frame.local,
                        };
                        let allowed = (groups != NONE).then_some(groups);
                        view.wait_async(&mut warp.copies, allowed, active);
                    }
                    Op::Mbarrier(op) => {
                        let mut view = View {
                            spaces: &mut self.spaces,
                            local: &mut warp.local,
                            frame: frame.local,
                        };
                        let over = view
                            .mbarrier(&mut registers, op, active)
                            .inspect_err(|_| fragment.pc = pc)?;
                        if let Some(watch) = &mut self.watch {
                            watch.forget();
                        }
                        if op.patient && over != active {
                            // Whoever is awaited had better run now.
                            fragment.pc = pc + 1;
                            self.gives_way = true;
                            warp.park(fragment.clone());
                            return Ok(());
                        }
                    }
                    Op::Call { site } => {
                        let Some(callee) = code.sites.get(site as usize).map(|site| site.callee)
                        else {
                            return Err(LaneFault {
                                kind: FaultKind::BadTarget(u64::from(site)),
                                lane: active.trailing_zeros(),
                            });
                        };
                        fragment.pc = pc;
                        pc = self.call(warp, fragment, callee, site)?;
                        continue 'frame;
                    }
                    Op::CallIndirect { address, site } => {
                        // Lanes that call another function than the first lane does call it later.
                        let targets = registers.lanes64(address);
                        let target = targets[active.trailing_zeros() as usize];
                        let same = lanes_of(active)
                            .filter(|&lane| targets[lane] == target)
                            .fold(0, |mask, lane| mask | 1 << lane);
                        fragment.pc = pc;
                        if same != active {
                            let mut rest = fragment.clone();
                            rest.mask = active & !same;
                            fragment.mask = same;
                            warp.park(rest);
                        }
                        let callee = target.wrapping_sub(FUNCTION_BASE) / FUNCTION_STRIDE;
                        let known = target >= FUNCTION_BASE
                            && target.is_multiple_of(FUNCTION_STRIDE)
                            && callee < code.functions.len() as u64;
                        if !known {
                            return Err(LaneFault {
                                kind: FaultKind::BadTarget(target),
                                lane: same.trailing_zeros(),
                            });
                        }
                        pc = self.call(warp, fragment, callee as u32, site)?;
                        continue 'frame;
                    }
                    Op::BranchIndex { index, table } => {
                        let table = code
                            .tables
                            .get(table as usize)
                            .map(Vec::as_slice)
                            .unwrap_or_default();
                        let indices = registers.lanes32(index);
                        let first = indices[active.trailing_zeros() as usize];
                        let Some(&target) = table.get(first as usize) else {
                            fragment.pc = pc;
                            return Err(LaneFault {
                                kind: FaultKind::BadTarget(u64::from(first)),
                                lane: active.trailing_zeros(),
                            });
                        };
                        let same = lanes_of(active)
                            .filter(|&lane| indices[lane] == first)
                            .fold(0, |mask, lane| mask | 1 << lane);
                        if same != active {
                            // The others come back to this branch.
                            let mut rest = fragment.clone();
                            rest.mask = active & !same;
                            rest.pc = pc;
                            fragment.mask = same;
                            warp.park(rest);
                        }
                        pc = target;
                        continue 'frame;
                    }
                    Op::Return => match fragment.callers.pop() {
                        Some(caller) => {
                            if let Some(site) = code.sites.get(caller.site as usize) {
                                warp.local.pass_all(
                                    &site.results,
                                    caller.frame.local,
                                    frame.local,
                                    fragment.mask,
                                    true,
                                );
                            }
                            fragment.frame = caller.frame;
                            pc = caller.return_pc;
                            continue 'frame;
                        }
                        None => {
                            warp.exit(fragment.mask);
                            return Ok(());
                        }
                    },
                    Op::Exit => {
                        warp.exit(fragment.mask);
                        return Ok(());
                    }
                    Op::Watched { strong } => {
                        fragment.pc = pc;
                        let Some(&original) = self.grid.module.code.ops.get(pc as usize) else {
                            return Ok(());
                        };
                        let list = match original {
                            Op::Load(access) | Op::Store(access) => access.registers(code),
                            _ => &[],
                        };
                        if let Some(watch) = &mut self.watch {
                            let at = (warp.index, pc);
                            watch.observe(&mut registers, at, &original, list, strong, active)?;
                        }
                        let mut view = View {
                            spaces: &mut self.spaces,
                            local: &mut warp.local,
                            frame: frame.local,
                        };
                        match original {
                            Op::Load(ref access) => {
                                view.load(build, &mut registers, access, code, active)?;
                            }
                            Op::Store(ref access) => {
                                view.store(build, &mut registers, access, code, active)?;
                            }
                            Op::Atomic(atomic) => {
                                view.atomic(
                                    &mut registers,
                                    atomic,
                                    atomic.registers(code),
                                    active,
                                )?;
                            }
                            _ => {}
                        }
                    }
                    Op::Runtime(function) => {
                        fragment.pc = pc;
                        let local = &mut warp.local;
                        self.runtime(function, local, frame.local, active)?;
                    }
                    Op::Fence => {
                        if self.spaces.together.is_some() {
                            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                        }
                    }
                    Op::Trap => {
                        fragment.pc = pc;
                        return Err(LaneFault {
                            kind: FaultKind::Trap,
                            lane: active.trailing_zeros(),
                        });
                    }
                }
                pc += 1;
            }
        }
    }
}

/// Runs the lane operations from `pc` on; returns where something else stands.
///
/// A loop of its own, since most operations are of this kind and this little loop has few values to keep at hand.
#[inline(never)]
fn run_lane_operations<B: Build>(
    build: B,
    ops: &[Op],
    pc: u32,
    registers: &mut Registers<'_>,
) -> u32 {
    let mut at = pc as usize;
    while let Some(Op::Lane(lane)) = ops.get(at) {
        lane.execute(build, registers);
        at += 1;
    }
    at as u32
}

/// Lanes part at a branch; returns where the fragment goes on: the earlier of the two places.
fn split(warp: &mut Warp, fragment: &mut Fragment, taken: u32, target: u32, next: u32) -> u32 {
    let mut other = fragment.clone();
    let (first, later) = if target < next {
        (taken, fragment.mask & !taken)
    } else {
        (fragment.mask & !taken, taken)
    };
    fragment.mask = first;
    other.mask = later;
    other.pc = target.max(next);
    warp.park(other);
    target.min(next)
}

/// Leaves the fragment the lanes of `kept` and sets its others aside.
fn park_rest(warp: &mut Warp, fragment: &mut Fragment, kept: u32, pc: u32, state: State) {
    let mut rest = fragment.clone();
    rest.mask = fragment.mask & !kept;
    rest.pc = pc;
    rest.state = state;
    fragment.mask = kept;
    warp.park(rest);
}
