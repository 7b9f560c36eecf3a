//! Opt-in checks of shared memory: reads of bytes that nobody wrote, and accesses that nothing orders.
//!
//! A launch that asks for them runs a copy of the code in which accesses are replaced by [`Op::Watched`], so that other launches pay
//! nothing. Every thread has a vector clock. Barriers join the clocks of the threads they release; atomics and accesses with an ordering
//! (`.volatile`, `.relaxed`, `.acquire`, `.release`) join through the place they access, which is more order than the ISA promises:
//! what is reported is never ordered, what is not reported may be.

use std::rc::Rc;

use hashbrown::HashMap;

use super::access::{addresses, place, value_of};
use super::lanes::LANES;
use super::one_warp::OneWarp;
use super::{LaneFault, bits_of};
use crate::code::{Access, Address, Atomic, Code, Op, Space};
use crate::fault::{FaultKind, OtherAccess};
use crate::launch::Checks;
use crate::module::Module;

/// What the checks know about the running block.
#[derive(Debug)]
pub(crate) struct Watch {
    checks: Checks,
    /// Threads of a block along x and y, to number them.
    extent: [u32; 2],
    /// Whether each byte has been written.
    written: Vec<bool>,
    cells: Vec<Cell>,
    /// Each thread's own clock.
    clocks: Vec<u32>,
    /// What each thread has seen of the others' clocks.
    seen: Vec<Rc<Vec<u32>>>,
    /// What has been left at each place that threads synchronise through.
    places: HashMap<(Space, u64), Vec<u32>>,
    /// What threads that only arrived left at each barrier.
    arrivals: Vec<Vec<u32>>,
}

/// The accesses to one byte that later ones may race with.
#[derive(Clone, Debug, Default)]
struct Cell {
    write: Option<Past>,
    value: u8,
    reads: Vec<Past>,
}

/// One access in the past.
#[derive(Clone, Copy, Debug)]
struct Past {
    thread: u32,
    clock: u32,
    pc: u32,
    strong: bool,
}

/// One lane's access that is about to happen.
#[derive(Clone, Copy, Debug)]
struct Now {
    thread: u32,
    pc: u32,
    space: &'static str,
    /// As the instruction gave it.
    address: u64,
    start: usize,
    bytes: u32,
    reads: bool,
    writes: bool,
    strong: bool,
}

/// Barriers of a block.
const BARRIERS: usize = 16;

impl Watch {
    pub(crate) fn new(checks: Checks, block: [u32; 3], shared_bytes: usize) -> Self {
        let threads = (block[0] * block[1] * block[2]) as usize;
        let mut watch = Self {
            checks,
            extent: [block[0], block[1]],
            written: vec![false; shared_bytes],
            cells: vec![Cell::default(); shared_bytes],
            clocks: vec![0; threads],
            seen: Vec::new(),
            places: HashMap::new(),
            arrivals: Vec::new(),
        };
        watch.start();
        watch
    }

    /// A block begins.
    pub(crate) fn start(&mut self) {
        let threads = self.clocks.len();
        self.written.fill(false);
        self.cells.fill(Cell::default());
        self.clocks.fill(1);
        let nothing = Rc::new(vec![0; threads]);
        self.seen = vec![nothing; threads];
        self.places.clear();
        self.arrivals = vec![vec![0; threads]; BARRIERS];
    }

    /// Checks and notes what the lanes of `active` are about to do at the micro-op `pc`.
    pub(crate) fn observe(
        &mut self,
        registers: &mut OneWarp<'_, '_>,
        (warp, pc): (u32, u32),
        op: &Op,
        list: &[u32],
        strong: bool,
        active: u32,
    ) -> Result<(), LaneFault> {
        let Some(shape) = Shape::of(op) else {
            return Ok(());
        };
        let addresses = addresses(registers, shape.address);
        for lane in bits_of(active) {
            let address = addresses[lane];
            let thread = warp * LANES as u32 + lane as u32;
            let at = place(shape.space, address);
            if at.space == Space::Shared {
                let start = usize::try_from(at.address).unwrap_or(usize::MAX);
                let now = Now {
                    thread,
                    pc,
                    space: shape.space.word(),
                    address,
                    start,
                    bytes: shape.bytes,
                    reads: shape.reads,
                    writes: shape.writes,
                    strong: strong || shape.atomic,
                };
                let stored = |byte: u32| match *op {
                    Op::Store(access) => {
                        let size = access.element.bytes();
                        let source = list.get((byte / size) as usize).copied()?;
                        let value = value_of(registers, source, access.element, lane);
                        Some((value >> (8 * (byte % size))) as u8)
                    }
                    _ => None,
                };
                self.note(now, stored).map_err(|kind| LaneFault {
                    kind,
                    lane: lane as u32,
                })?;
            }
            if strong || shape.atomic {
                self.synchronise(thread, (at.space, at.address));
            }
        }
        Ok(())
    }

    /// One lane's access; `stored` gives the bytes that a plain store writes.
    fn note(&mut self, now: Now, stored: impl Fn(u32) -> Option<u8>) -> Result<(), FaultKind> {
        let end = now.start.saturating_add(now.bytes as usize);
        if end > self.written.len() {
            // The access itself will fail.
            return Ok(());
        }
        let unwritten = |written: &[bool]| written[now.start..end].iter().any(|written| !written);
        if self.checks.uninitialised_shared && now.reads && unwritten(&self.written) {
            return Err(FaultKind::Uninitialised {
                space: now.space,
                address: now.address,
                bytes: now.bytes,
            });
        }
        if now.writes {
            self.written[now.start..end].fill(true);
        }
        if !self.checks.shared_races {
            return Ok(());
        }
        for byte in 0..now.bytes {
            let at = now.start + byte as usize;
            let value = stored(byte);
            if let Some((other, write)) = self.conflict(&now, &self.cells[at], value) {
                return Err(FaultKind::Race {
                    space: now.space,
                    address: now.address,
                    bytes: now.bytes,
                    write: now.writes,
                    other: OtherAccess {
                        thread: self.index_of(other.thread),
                        // The line comes with the report.
                        line: other.pc,
                        write,
                    },
                });
            }
            let past = Past {
                thread: now.thread,
                clock: self.clocks[now.thread as usize],
                pc: now.pc,
                strong: now.strong,
            };
            let seen = &self.seen[now.thread as usize];
            let cell = &mut self.cells[at];
            if now.writes {
                cell.write = Some(past);
                cell.value = value.unwrap_or(0);
                cell.reads.clear();
            } else {
                let ordered = |read: &Past| {
                    read.thread == now.thread || read.clock <= seen[read.thread as usize]
                };
                cell.reads.retain(|read| !ordered(read));
                cell.reads.push(past);
            }
        }
        Ok(())
    }

    /// The past access to a byte that nothing orders before this one, and whether it wrote.
    fn conflict(&self, now: &Now, cell: &Cell, value: Option<u8>) -> Option<(Past, bool)> {
        let seen = &self.seen[now.thread as usize];
        let races = |past: &Past| {
            past.thread != now.thread
                && past.clock > seen[past.thread as usize]
                && !(past.strong && now.strong)
        };
        if let Some(write) = cell.write
            && races(&write)
        {
            // Two plain stores of the same byte: whichever comes last, it is the same.
            let same = !now.reads && !write.strong && !now.strong && value == Some(cell.value);
            if !same {
                return Some((write, true));
            }
        }
        if now.writes {
            return cell
                .reads
                .iter()
                .find(|read| races(read))
                .map(|read| (*read, false));
        }
        None
    }

    /// A thread acquires what others left at a place, and leaves what it knows.
    fn synchronise(&mut self, thread: u32, place: (Space, u64)) {
        let thread = thread as usize;
        let threads = self.clocks.len();
        let left = self.places.entry(place).or_insert_with(|| vec![0; threads]);
        let seen = Rc::make_mut(&mut self.seen[thread]);
        seen[thread] = self.clocks[thread];
        join(seen, left);
        left.clone_from(seen);
        self.clocks[thread] += 1;
    }

    /// A barrier has released these threads: each has seen what all had done. `arrived` is the barrier that others only arrived at.
    pub(crate) fn join(&mut self, threads: &[u32], arrived: Option<u32>) {
        let Some(&first) = threads.first() else {
            return;
        };
        let mut all = (*self.seen[first as usize]).clone();
        let mut last = Rc::clone(&self.seen[first as usize]);
        for &thread in threads {
            let seen = &self.seen[thread as usize];
            if !Rc::ptr_eq(seen, &last) {
                join(&mut all, seen);
                last = Rc::clone(seen);
            }
        }
        for &thread in threads {
            let own = &mut all[thread as usize];
            *own = (*own).max(self.clocks[thread as usize]);
        }
        if let Some(left) = arrived.and_then(|id| self.arrivals.get(id as usize)) {
            join(&mut all, left);
        }
        let all = Rc::new(all);
        for &thread in threads {
            self.seen[thread as usize] = Rc::clone(&all);
            self.clocks[thread as usize] += 1;
        }
    }

    /// An asynchronous copy has been asked for: the bytes will be written, in an order that is not looked into.
    pub(crate) fn copied(&mut self, start: u64, bytes: u32) {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let end = start.saturating_add(bytes as usize);
        if let Some(written) = self.written.get_mut(start..end) {
            written.fill(true);
            self.cells[start..end].fill(Cell::default());
        }
    }

    /// A matrix or a barrier object is about to be written somewhere: nothing is known of shared memory from here on.
    pub(crate) fn forget(&mut self) {
        self.written.fill(true);
        self.cells.fill(Cell::default());
    }

    /// Lanes of a warp arrive at a barrier and go on.
    pub(crate) fn arrive(&mut self, id: u32, warp: u32, mask: u32) {
        let Some(left) = self.arrivals.get_mut(id as usize) else {
            return;
        };
        for lane in bits_of(mask) {
            let thread = warp as usize * LANES + lane;
            join(left, &self.seen[thread]);
            left[thread] = self.clocks[thread];
            self.clocks[thread] += 1;
        }
    }

    /// The numbers of the threads of a warp's lanes.
    pub(crate) fn threads(warp: u32, mask: u32) -> impl Iterator<Item = u32> {
        bits_of(mask).map(move |lane| warp * LANES as u32 + lane as u32)
    }

    fn index_of(&self, thread: u32) -> [u32; 3] {
        let [x, y] = self.extent;
        [thread % x, thread / x % y, thread / x / y]
    }
}

/// The larger of each pair of clocks.
fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

/// What an operation does to memory.
#[derive(Clone, Copy, Debug)]
struct Shape {
    space: Space,
    address: Address,
    bytes: u32,
    reads: bool,
    writes: bool,
    atomic: bool,
}

impl Shape {
    fn of(op: &Op) -> Option<Self> {
        let plain = |access: Access, writes: bool| Self {
            space: access.space,
            address: access.address,
            bytes: access.element.bytes() * u32::from(access.count),
            reads: !writes,
            writes,
            atomic: false,
        };
        Some(match *op {
            Op::Load(access) => plain(access, false),
            Op::Store(access) => plain(access, true),
            Op::Atomic(atomic) => Self {
                space: atomic.space,
                address: atomic.address,
                bytes: bytes_of(atomic),
                reads: true,
                writes: true,
                atomic: true,
            },
            _ => return None,
        })
    }
}

fn bytes_of(atomic: Atomic) -> u32 {
    atomic.element.bytes() * u32::from(atomic.count)
}

impl Module {
    /// The code with every access replaced that the checks want to see.
    pub(crate) fn watched(&self) -> Code {
        let mut code = self.code.clone();
        for (pc, op) in (0u32..).zip(&mut code.ops) {
            let Some(shape) = Shape::of(op) else {
                continue;
            };
            let strong = self.is_ordered(pc);
            if strong || shape.atomic || matches!(shape.space, Space::Shared | Space::Generic) {
                *op = Op::Watched { strong };
            }
        }
        code
    }

    /// Whether the statement of a micro-op orders other accesses.
    fn is_ordered(&self, pc: u32) -> bool {
        let place = self.code.places.get(pc as usize).copied().unwrap_or(0);
        let rest = self.source.get(place as usize..).unwrap_or_default();
        let word = |byte: &&u8| !byte.is_ascii_whitespace() && **byte != b'[';
        let opcode: Vec<u8> = rest.iter().take_while(word).copied().collect();
        let mut modifiers = opcode.split(|byte| *byte == b'.');
        modifiers.any(|modifier| {
            let ordered: [&[u8]; 5] = [b"volatile", b"relaxed", b"acquire", b"release", b"mmio"];
            ordered.contains(&modifier)
        })
    }
}
