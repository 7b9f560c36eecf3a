//! The interpreter: runs one fragment until it ends, waits, or gives way to another.

use super::access::{SquadView, addresses};
use super::block::Block;
use super::build::Build;
use super::form::Form;
use super::lanes::{FULL, LANES, Registers};
use super::mask::Mask;
use super::squad::{Fragment, Squad, State};
use super::{LaneFault, barrier, bits_of, budget::OutOfSlice, exchange};
use crate::code::{NONE, Op, Reduction, Space};
use crate::fault::FaultKind;
use crate::memory::{FUNCTION_BASE, FUNCTION_STRIDE, resolve};

impl Block<'_, '_> {
    /// Runs a fragment; afterwards it has ended, or has been put back into the squad.
    ///
    /// On a fault, `fragment.pc` is the micro-op that faulted.
    pub(super) fn run_fragment<B: Build>(
        &mut self,
        build: B,
        squad: &mut Squad,
        fragment: &mut Fragment,
    ) -> Result<(), LaneFault> {
        let code = self.grid.code;
        // Fragments are compared and set aside with all of their callers.
        let callers = fragment.callers.len() as u64;
        self.grid.budget.charge_roughly(callers / 16);
        let mut pc = fragment.pc;
        'frame: loop {
            let frame = fragment.frame;
            let mut registers = Registers::new(
                squad.r32.from(frame.r32),
                squad.r64.from(frame.r64),
                &mut squad.pred[frame.pred as usize * squad.warps..],
                !squad.alive,
            );
            registers.activate(fragment.mask);
            let fragment_warps = u64::from(registers.touched.count_ones());
            /// The memory of the fragment's warps.
            macro_rules! view {
                () => {
                    SquadView {
                        spaces: &mut self.spaces,
                        locals: &mut squad.local,
                        frame: frame.local,
                    }
                };
            }
            loop {
                // Saves the call where other operations follow each other, as loads do.
                if let Some(Op::Lane(_)) = code.ops.get(pc as usize) {
                    pc = run_lane_operations(build, &code.ops, pc, &mut registers);
                }
                let Some(op) = code.ops.get(pc as usize) else {
                    return Err(LaneFault {
                        kind: FaultKind::BadTarget(u64::from(pc)),
                        lane: fragment.mask.first() as u32,
                    });
                };
                match *op {
                    Op::Lane(_) => continue,
                    Op::Rare(ref rare) => rare.execute(build, &mut registers),
                    Op::Block { cost } => {
                        let cost = u64::from(cost) * fragment_warps;
                        if let Some(rest) = self.grid.budget.slice_left.checked_sub(cost) {
                            self.grid.budget.slice_left = rest;
                        } else {
                            fragment.pc = pc;
                            match self.grid.budget.out_of_slice(cost) {
                                OutOfSlice::GoOn => {}
                                OutOfSlice::GiveWay => {
                                    self.gives_way = true;
                                    squad.park(fragment.clone());
                                    return Ok(());
                                }
                                OutOfSlice::Exhausted => {
                                    return Err(LaneFault {
                                        kind: FaultKind::BudgetExhausted(self.grid.budget.total),
                                        lane: fragment.mask.first() as u32,
                                    });
                                }
                            }
                        }
                        if let Some(sharing) = &mut self.spaces.together {
                            sharing.give_way();
                        }
                        if !squad.fragments.is_empty() {
                            self.grid
                                .budget
                                .charge_roughly(2 * squad.fragments.len() as u64);
                            fragment.pc = pc;
                            if !squad.meet(fragment) {
                                squad.park(fragment.clone());
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
                        let bits = registers.pred_mask(pred);
                        let chosen = fragment.mask & if negated { !bits } else { bits };
                        if chosen.is_empty() {
                            pc += skip;
                            registers.activate(fragment.mask);
                        } else {
                            registers.activate(chosen);
                        }
                    }
                    Op::Unguard => registers.activate(fragment.mask),
                    Op::Branch { target } => {
                        pc = target;
                        continue;
                    }
                    Op::BranchIf {
                        pred,
                        negated,
                        target,
                    } => {
                        let bits = registers.pred_mask(pred);
                        let taken = registers.chosen & if negated { !bits } else { bits };
                        if taken == registers.chosen {
                            pc = target;
                            continue;
                        }
                        if !taken.is_empty() {
                            pc = self.split(squad, fragment, taken, target, pc + 1);
                            continue 'frame;
                        }
                    }
                    Op::Load(ref access) => view!()
                        .load(build, &mut registers, access, code)
                        .inspect_err(|_| fragment.pc = pc)?,
                    Op::Store(ref access) => view!()
                        .store(build, &mut registers, access, code)
                        .inspect_err(|_| fragment.pc = pc)?,
                    Op::Atomic(atomic) => {
                        let list = atomic.registers(code);
                        view!()
                            .each_warp(&mut registers, |_, view, registers, active| {
                                view.atomic(registers, atomic, list, active)
                            })
                            .inspect_err(|_| fragment.pc = pc)?;
                    }
                    Op::Special { d, register } => {
                        let thread = (squad.index, &squad.thread);
                        self.special(&mut registers, thread, (d, register));
                    }
                    Op::Special64 { d, register } => self.special64(&mut registers, (d, register)),
                    Op::DynamicShared { d } => {
                        let offset = self.dynamic_shared_offset();
                        registers.put_form32(d, Form::uniform(offset));
                    }
                    Op::FrameAddress { d, offset } => {
                        let address = u64::from(frame.local.wrapping_add(offset));
                        registers.put_form64(d, Form::uniform(address));
                    }
                    Op::IsSpace { d, address, space } => {
                        for warp in bits_of(registers.touched) {
                            let active = registers.chosen.warp(warp);
                            let mut registers = registers.of_warp(warp);
                            let addresses = registers.lanes64(address);
                            let inside = |lane: usize| {
                                resolve(addresses[lane]).space == space
                                    && (space != Space::Global || addresses[lane] != 0)
                            };
                            let bits = bits_of(active)
                                .filter(|&lane| inside(lane))
                                .fold(0, |bits, lane| bits | 1 << lane);
                            registers.put_pred(d, active, bits);
                        }
                    }
                    Op::ActiveMask { d } => {
                        for warp in bits_of(registers.touched) {
                            let active = registers.chosen.warp(warp);
                            let mut registers = registers.of_warp(warp);
                            registers.put_form32(d, active, Form::uniform(active));
                        }
                    }
                    Op::WarpBarrier { members } => {
                        let chosen = registers.chosen;
                        let named = |warp: usize, registers: &mut Registers<'_>| {
                            let first = chosen.warp(warp).trailing_zeros() as usize & 31;
                            let lists = registers.of_warp(warp).lanes32(members);
                            let same =
                                exchange::lanes_with(&lists, lists[first], chosen.warp(warp));
                            (lists[first], same)
                        };
                        let others_wait = squad
                            .fragments
                            .iter()
                            .any(|other| matches!(other.state, State::WarpBarrier { .. }));
                        let waits = others_wait
                            || bits_of(registers.touched).any(|warp| {
                                let (members, same) = named(warp, &mut registers);
                                same != chosen.warp(warp)
                                    || members & squad.alive.warp(warp) & !same != 0
                            });
                        if waits || self.watch.is_some() {
                            let groups: Vec<(usize, u32, u32)> = bits_of(registers.touched)
                                .map(|warp| {
                                    let (members, same) = named(warp, &mut registers);
                                    (warp, members, same)
                                })
                                .collect();
                            for (warp, members, same) in groups {
                                // Lanes that wait for others are on their own.
                                let rest = chosen.warp(warp) & !same;
                                self.set_aside(
                                    squad,
                                    fragment,
                                    Mask::of_warp(warp, rest),
                                    pc,
                                    State::Ready,
                                );
                                let state = if squad.release_warp_barrier(warp, members, same) {
                                    State::Ready
                                } else {
                                    State::WarpBarrier { members }
                                };
                                // Where it has been released, lanes that waited at this very place join it before it goes on.
                                self.set_aside(
                                    squad,
                                    fragment,
                                    Mask::of_warp(warp, same),
                                    pc + 1,
                                    state,
                                );
                            }
                            return Ok(());
                        }
                    }
                    Op::Shuffle { .. }
                    | Op::Match { .. }
                    | Op::Vote { .. }
                    | Op::Redux { .. }
                    | Op::Elect { .. }
                    | Op::Matrix { .. } => {
                        let members = exchange::members_register(code, op);
                        let chosen = registers.chosen;
                        let mut ready = chosen;
                        for warp in bits_of(registers.touched) {
                            let (active, alive) = (chosen.warp(warp), squad.alive.warp(warp));
                            let mut registers = registers.of_warp(warp);
                            *ready.warp_mut(warp) =
                                exchange::ready(&mut registers, members, active, alive);
                        }
                        if ready != chosen {
                            // A basic block starts just before: there the lanes that wait are met by those they wait for.
                            let rest = fragment.mask & !ready;
                            self.set_aside(squad, fragment, rest, pc - 1, State::Lanes);
                            if ready.is_empty() {
                                return Ok(());
                            }
                            fragment.mask = ready;
                            continue 'frame;
                        }
                        let Op::Matrix { index, .. } = *op else {
                            for warp in bits_of(registers.touched) {
                                let mut registers = registers.of_warp(warp);
                                exchange::exchange(&mut registers, code, op, chosen.warp(warp));
                            }
                            pc += 1;
                            continue;
                        };
                        if let Some(matrix) = code.matrices.get(index as usize) {
                            view!()
                                .each_warp(&mut registers, |_, view, registers, active| {
                                    view.matrix(registers, matrix, active)
                                })
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
                        let groups = barrier::groups(&mut registers, id, count)
                            .inspect_err(|_| fragment.pc = pc)?;
                        if arrive_only {
                            for barrier::Group { id, lanes, .. } in groups.all() {
                                for warp in bits_of(lanes.touched()) {
                                    self.arrive(id, squad.index + warp as u32, lanes.warp(warp));
                                }
                            }
                            pc += 1;
                            continue;
                        }
                        if let barrier::Group {
                            id,
                            count: NONE,
                            lanes,
                        } = groups.first
                            && lanes == squad.alive
                            && let Some(votes) = self.complete_alone(id)
                        {
                            for warp in &mut squad.votes {
                                warp[id as usize] = votes;
                            }
                            pc += 1;
                            continue;
                        }
                        for barrier::Group { id, count, lanes } in groups.all() {
                            self.set_aside(
                                squad,
                                fragment,
                                lanes,
                                pc + 1,
                                State::Barrier { id, count },
                            );
                        }
                        return Ok(());
                    }
                    Op::BarrierVote {
                        id,
                        source,
                        negated,
                    } => {
                        for warp in bits_of(registers.touched) {
                            let active = registers.chosen.warp(warp);
                            let registers = registers.of_warp(warp);
                            let id = registers.lane32(id, active.trailing_zeros() as usize);
                            let yes = registers.pred_bits(source);
                            self.vote(id, if negated { !yes } else { yes }, active);
                        }
                    }
                    Op::BarrierResult { id, d, reduction } => {
                        for warp in bits_of(registers.touched) {
                            let active = registers.chosen.warp(warp);
                            let mut registers = registers.of_warp(warp);
                            let id = registers.lane32(id, active.trailing_zeros() as usize);
                            let votes = squad.votes[warp].get(id as usize);
                            let votes = votes.copied().unwrap_or_default();
                            let all = |yes: bool| if yes { FULL } else { 0 };
                            match reduction {
                                Reduction::And => {
                                    registers.put_pred(d, active, all(votes.yes == votes.all));
                                }
                                Reduction::Or => registers.put_pred(d, active, all(votes.yes > 0)),
                                Reduction::Count => registers.put32(d, active, &[votes.yes; LANES]),
                            }
                        }
                    }
                    Op::AsyncCopy { index } => {
                        let Some(copy) = code.copies.get(index as usize) else {
                            pc += 1;
                            continue;
                        };
                        let (copies, watch) = (&mut squad.copies, &mut self.watch);
                        let mut view = SquadView {
                            spaces: &mut self.spaces,
                            locals: &mut squad.local,
                            frame: frame.local,
                        };
                        view.each_warp(&mut registers, |warp, view, registers, active| {
                            view.copy_async(registers, copy, &mut copies[warp], active)?;
                            if let Some(watch) = watch {
                                let to = addresses(registers, copy.to);
                                bits_of(active).for_each(|lane| watch.copied(to[lane], copy.bytes));
                            }
                            Ok(())
                        })
                        .inspect_err(|_| fragment.pc = pc)?;
                    }
                    Op::AsyncCommit => {
                        for warp in bits_of(registers.touched) {
                            squad.copies[warp].commit(registers.chosen.warp(warp));
                        }
                    }
                    Op::AsyncWait { groups } => {
                        let allowed = (groups != NONE).then_some(groups);
                        let (copies, budget) = (&mut squad.copies, &mut self.grid.budget);
                        let mut view = SquadView {
                            spaces: &mut self.spaces,
                            locals: &mut squad.local,
                            frame: frame.local,
                        };
                        view.each_warp(&mut registers, |warp, view, _, active| {
                            let copies = &mut copies[warp];
                            budget.charge_roughly(4 * copies.outstanding() as u64);
                            view.wait_async(copies, allowed, active);
                            Ok(())
                        })?;
                    }
                    Op::Mbarrier(op) => {
                        let mut over = Mask::NONE;
                        view!()
                            .each_warp(&mut registers, |warp, view, registers, active| {
                                *over.warp_mut(warp) = view.mbarrier(registers, op, active)?;
                                Ok(())
                            })
                            .inspect_err(|_| fragment.pc = pc)?;
                        if let Some(watch) = &mut self.watch {
                            watch.forget();
                        }
                        if op.patient && over != registers.chosen {
                            // Whoever is awaited had better run now.
                            fragment.pc = pc + 1;
                            self.gives_way = true;
                            squad.yield_turn(fragment.clone());
                            return Ok(());
                        }
                    }
                    Op::Call { site } => {
                        let Some(callee) = code.sites.get(site as usize).map(|site| site.callee)
                        else {
                            return Err(LaneFault {
                                kind: FaultKind::BadTarget(u64::from(site)),
                                lane: fragment.mask.first() as u32,
                            });
                        };
                        fragment.pc = pc;
                        pc = self.call(squad, fragment, callee, site)?;
                        continue 'frame;
                    }
                    Op::CallIndirect { address, site } => {
                        // Lanes that call another function than the first lane does call it later.
                        let chosen = registers.chosen;
                        let target = registers.lane64(address, chosen.first());
                        let same = Mask::by_warp(|warp| match chosen.warp(warp) {
                            0 => 0,
                            active => {
                                let targets = registers.of_warp(warp).lanes64(address);
                                bits_of(active)
                                    .filter(|&lane| targets[lane] == target)
                                    .fold(0, |mask, lane| mask | 1 << lane)
                            }
                        });
                        fragment.pc = pc;
                        self.set_aside(squad, fragment, chosen & !same, pc, State::Ready);
                        fragment.mask = same;
                        let callee = target.wrapping_sub(FUNCTION_BASE) / FUNCTION_STRIDE;
                        let known = target >= FUNCTION_BASE
                            && target.is_multiple_of(FUNCTION_STRIDE)
                            && callee < code.functions.len() as u64;
                        if !known {
                            return Err(LaneFault {
                                kind: FaultKind::BadTarget(target),
                                lane: same.first() as u32,
                            });
                        }
                        pc = self.call(squad, fragment, callee as u32, site)?;
                        continue 'frame;
                    }
                    Op::BranchIndex { index, table } => {
                        let table = code
                            .tables
                            .get(table as usize)
                            .map(Vec::as_slice)
                            .unwrap_or_default();
                        let chosen = registers.chosen;
                        let first = registers.lane32(index, chosen.first());
                        let Some(&target) = table.get(first as usize) else {
                            fragment.pc = pc;
                            return Err(LaneFault {
                                kind: FaultKind::BadTarget(u64::from(first)),
                                lane: chosen.first() as u32,
                            });
                        };
                        let same = Mask::by_warp(|warp| match chosen.warp(warp) {
                            0 => 0,
                            active => {
                                let mut registers = registers.of_warp(warp);
                                exchange::lanes_with(registers.view32(index), first, active)
                            }
                        });
                        // The others come back to this branch.
                        self.set_aside(squad, fragment, chosen & !same, pc, State::Ready);
                        fragment.mask = same;
                        pc = target;
                        continue 'frame;
                    }
                    Op::Return => match fragment.leave() {
                        Some(caller) => {
                            if let Some(site) = code.sites.get(caller.site as usize) {
                                for (warp, local) in squad.local.iter_mut().enumerate() {
                                    local.pass_all(
                                        &site.results,
                                        caller.frame.local,
                                        frame.local,
                                        fragment.mask.warp(warp),
                                        true,
                                    );
                                }
                            }
                            pc = caller.return_pc;
                            continue 'frame;
                        }
                        None => {
                            squad.exit(fragment.mask);
                            return Ok(());
                        }
                    },
                    Op::Exit => {
                        squad.exit(fragment.mask);
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
                        let (index, watch) = (squad.index, &mut self.watch);
                        let mut view = SquadView {
                            spaces: &mut self.spaces,
                            locals: &mut squad.local,
                            frame: frame.local,
                        };
                        view.each_warp(&mut registers, |warp, view, registers, active| {
                            if let Some(watch) = watch {
                                let at = (index + warp as u32, pc);
                                watch.observe(registers, at, &original, list, strong, active)?;
                            }
                            if let Op::Atomic(atomic) = original {
                                view.atomic(registers, atomic, atomic.registers(code), active)?;
                            }
                            Ok(())
                        })?;
                        match original {
                            Op::Load(ref access) => {
                                view.load(build, &mut registers, access, code)?;
                            }
                            Op::Store(ref access) => {
                                view.store(build, &mut registers, access, code)?;
                            }
                            _ => {}
                        }
                    }
                    Op::Runtime(function) => {
                        fragment.pc = pc;
                        for warp in bits_of(registers.touched) {
                            let local = &mut squad.local[warp];
                            let active = registers.chosen.warp(warp);
                            self.runtime(function, local, frame.local, active)
                                .map_err(|fault| fault.in_warp(warp))?;
                        }
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
                            lane: registers.chosen.first() as u32,
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
