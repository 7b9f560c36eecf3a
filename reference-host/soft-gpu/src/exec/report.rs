//! Reports of faults: where, in which instruction, and what lies near.

use super::bits_of;
use super::block::Block;
use super::local::Local;
use super::mask::Mask;
use super::squad::{Fragment, Squad, State};
use crate::code::{Function, NONE, Op, Space};
use crate::error::Location;
use crate::fault::{Awaited, Fault, FaultKind, Nearest, Object, Wait};
use crate::memory::{FIRST_PAGE_BYTES, resolve};
use crate::module::Module;

impl Block<'_, '_> {
    /// Describes a fault of a lane at a micro-op.
    pub(crate) fn fault(&self, squad: &Squad, pc: u32, lane: u32, kind: FaultKind) -> Box<Fault> {
        let (mut kind, nearest) = self.look_around(squad, kind);
        let module = self.grid.module;
        if let FaultKind::Race { other, .. } = &mut kind {
            // So far it holds the micro-op.
            other.line = module.line_of(other.line);
        }
        Box::new(Fault {
            kind,
            kernel: self.grid.entry.name.clone(),
            function: module.function_at(pc).unwrap_or_default().to_owned(),
            block: self.index,
            thread: squad.thread_of(lane as usize),
            line: module.line_of(pc),
            instruction: module.statement_at(pc),
            nearest,
        })
    }

    /// The micro-op that a fragment's fault is laid to: in a function of the runtime, the call of it.
    pub(super) fn blamed(&self, fragment: &Fragment) -> u32 {
        let op = self.grid.module.code.ops.get(fragment.pc as usize);
        match (op, fragment.callers.last()) {
            (Some(Op::Runtime(_)), Some(caller)) => caller.return_pc.saturating_sub(1),
            _ => fragment.pc,
        }
    }

    /// No warp of a block can go on.
    pub(super) fn deadlock(&self, squads: &[Squad]) -> Box<Fault> {
        let waiting = squads.iter().map(|squad| squad.alive.count()).sum();
        let mut waits = Vec::new();
        let mut first = None;
        for squad in squads {
            for warp in bits_of(squad.alive.touched()) {
                let here = |fragment: &&Fragment| fragment.mask.warp(warp) != 0;
                for fragment in squad.fragments.iter().filter(here) {
                    let lanes = fragment.mask.warp(warp);
                    // A fragment waits for lanes at the block in front of its exchange, and just behind a barrier.
                    let pc = match fragment.state {
                        State::Lanes => fragment.pc.saturating_add(1),
                        _ => fragment.pc.saturating_sub(1),
                    };
                    let lane = Mask::of_warp(warp, lanes).first() as u32;
                    first.get_or_insert((squad, pc, lane));
                    let awaited = match fragment.state {
                        State::Barrier { id, count } => Awaited::Barrier {
                            id,
                            count: (count != NONE).then_some(count),
                        },
                        State::Ready | State::Lanes | State::WarpBarrier { .. } => Awaited::Lanes,
                    };
                    waits.push(Wait {
                        warp: squad.index + warp as u32,
                        lanes,
                        line: self.grid.module.line_of(pc),
                        awaited,
                    });
                }
            }
        }
        let kind = FaultKind::Deadlock { waiting, waits };
        match first {
            Some((squad, pc, lane)) => self.fault(squad, pc, lane, kind),
            None => self.fault(&Squad::default(), 0, 0, kind),
        }
    }

    /// Finds what lies nearest to a bad access, and tells null and dangling pointers from other bad ones.
    fn look_around(&self, squad: &Squad, kind: FaultKind) -> (FaultKind, Option<Nearest>) {
        let (space, address) = match kind {
            FaultKind::OutOfBounds { space, address, .. }
            | FaultKind::Misaligned { space, address, .. }
            | FaultKind::ReadOnly { space, address, .. }
            | FaultKind::WrongSpace { space, address, .. } => (space, address),
            FaultKind::Uninitialised { space, address, .. }
            | FaultKind::Race { space, address, .. } => (space, address),
            FaultKind::BadFree { address, .. } => ("global", address),
            _ => return (kind, None),
        };
        let place = match space {
            "generic" => resolve(address),
            word => crate::memory::Place {
                space: Space::of_word(word),
                address,
            },
        };
        let mut search = Search {
            address: place.address,
            shift: address.wrapping_sub(place.address),
            best: None,
        };
        self.candidates(squad, place.space, &mut search);
        let nearest = search.best.map(|(_, nearest)| nearest);
        let FaultKind::OutOfBounds {
            space,
            address,
            bytes,
            write,
        } = kind
        else {
            return (kind, nearest);
        };
        let dangling = nearest.as_ref().is_some_and(|nearest| {
            matches!(nearest.object, Object::FreedRegion | Object::FreedHeapBlock)
                && u64::try_from(nearest.offset).is_ok_and(|offset| offset < nearest.bytes)
        });
        let kind = if dangling {
            FaultKind::UseAfterFree {
                space,
                address,
                bytes,
                write,
            }
        } else if place.space == Space::Global && address < FIRST_PAGE_BYTES {
            FaultKind::Null {
                space,
                address,
                bytes,
                write,
            }
        } else {
            kind
        };
        (kind, nearest)
    }

    /// Offers the search all objects of a space.
    fn candidates(&self, squad: &Squad, space: Space, search: &mut Search) {
        let module = self.grid.module;
        match space {
            Space::Global => {
                // First, since a variable says more than the region that the caller may have mapped for it.
                for placed in module.variables.iter().filter(|placed| !placed.constant) {
                    let start = placed.address(module.globals_base);
                    search.offer(start, u64::from(placed.bytes), || {
                        Object::Variable(placed.name.to_string())
                    });
                }
                self.spaces
                    .global_objects(|object, start, bytes| search.offer(start, bytes, || object));
            }
            Space::Const => {
                for placed in module.variables.iter().filter(|placed| placed.constant) {
                    let start = u64::from(placed.offset);
                    search.offer(start, u64::from(placed.bytes), || {
                        Object::Variable(placed.name.to_string())
                    });
                }
            }
            Space::Shared => {
                let kernel = self.grid.entry.function;
                let own = |owner: u32| owner == NONE || owner == kernel;
                for placed in module.shared.iter().filter(|placed| own(placed.kernel)) {
                    search.offer(u64::from(placed.offset), u64::from(placed.bytes), || {
                        Object::Variable(placed.name.to_string())
                    });
                }
                let dynamic = self.grid.config.dynamic_shared_bytes;
                if dynamic > 0 {
                    let start = u64::from(self.dynamic_shared_offset());
                    search.offer(start, u64::from(dynamic), || Object::DynamicShared);
                }
            }
            Space::KernelParam => {
                for param in &self.grid.entry.params {
                    let (start, bytes) = (param.offset_bytes, param.size_bytes);
                    search.offer(u64::from(start), u64::from(bytes), || {
                        Object::Parameter(param.name.clone())
                    });
                }
            }
            Space::Local | Space::Frame => {
                let bytes = squad.local.first().map_or(0, Local::bytes);
                search.offer(0, bytes, || Object::Stack);
            }
            Space::Generic => {}
        }
    }
}

/// Looks for the object nearest to an address.
struct Search {
    address: u64,
    /// What to add to an address of the space to have it as the instruction gave it.
    shift: u64,
    best: Option<(u64, Nearest)>,
}

impl Search {
    fn offer(&mut self, start: u64, bytes: u64, object: impl FnOnce() -> Object) {
        let end = start.saturating_add(bytes);
        let distance = if self.address < start {
            start - self.address
        } else if self.address < end {
            0
        } else {
            // Just behind counts as farther than inside.
            (self.address - end).saturating_add(1)
        };
        if self
            .best
            .as_ref()
            .is_some_and(|(best, _)| *best <= distance)
        {
            return;
        }
        let offset = i128::from(self.address) - i128::from(start);
        let nearest = Nearest {
            object: object(),
            start: start.wrapping_add(self.shift),
            bytes,
            offset: i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX }),
        };
        self.best = Some((distance, nearest));
    }
}

impl Module {
    /// The function that a micro-op belongs to.
    pub(crate) fn function_at(&self, pc: u32) -> Option<&str> {
        let starts = self.code.functions.iter().enumerate();
        let within = starts.filter(|(_, function)| {
            // A kernel's prologue stands behind its body, and so before the next function.
            function.start != NONE && function.start <= pc
        });
        let (number, _) = within.max_by_key(|(_, function)| function.start)?;
        self.code.names.get(number).map(String::as_str)
    }

    /// The source line of a micro-op.
    pub(crate) fn line_of(&self, pc: u32) -> u32 {
        let place = self.code.places.get(pc as usize).copied().unwrap_or(0);
        Location::of(&self.source, place).line
    }

    /// The statement that a micro-op was made of, with its guard; blanks are made one, and what is long is cut off.
    pub(crate) fn statement_at(&self, pc: u32) -> String {
        let begins = |function: &Function| function.start == pc;
        let Some(&place) = self.code.places.get(pc as usize) else {
            return String::new();
        };
        if self.code.functions.iter().any(begins) {
            // No statement, but the function's header.
            return String::new();
        }
        let place = place as usize;
        let start = guard_start(&self.source, place).unwrap_or(place);
        let rest = self.source.get(start..).unwrap_or_default();
        let text = rest.split(|byte| *byte == b';').next().unwrap_or_default();
        let text = text.get(..SHOWN_BYTES).unwrap_or(text);
        let text = String::from_utf8_lossy(text);
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if line.starts_with('}') {
            return String::new();
        }
        if text.len() == SHOWN_BYTES {
            line.push_str(" …");
        }
        line
    }
}

/// Where the guard in front of an opcode starts, if there is one.
fn guard_start(source: &[u8], opcode: usize) -> Option<usize> {
    let before = source.get(opcode.saturating_sub(SHOWN_BYTES)..opcode)?;
    let blanks = |text: &[u8]| text.trim_ascii_end().len();
    let name = |text: &[u8]| {
        let part =
            |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'$' | b'%');
        text.len() - text.iter().rev().take_while(part).count()
    };
    let mut rest = &before[..blanks(before)];
    rest = &rest[..name(rest)];
    rest = &rest[..blanks(rest)];
    rest = rest.strip_suffix(b"!").unwrap_or(rest);
    rest = &rest[..blanks(rest)];
    rest.ends_with(b"@")
        .then(|| opcode - (before.len() - rest.len()) - 1)
}

/// Most bytes of a statement in a report.
const SHOWN_BYTES: usize = 120;
