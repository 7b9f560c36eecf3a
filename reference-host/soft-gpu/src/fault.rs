//! What goes wrong while a kernel runs, and where.

use std::fmt;

use thiserror::Error;

/// A kernel's fault, with the first thread that hit it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Name of the kernel.
    pub kernel: String,
    /// Name of the function that the instruction stands in: the kernel, or a device function that it called.
    pub function: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in its block.
    pub thread: [u32; 3],
    /// Line of the instruction in the PTX source, from 1.
    pub line: u32,
    /// The instruction as the source has it, with its guard, blanks made one; cut off where it is long. Empty where no
    /// instruction is to blame.
    pub instruction: String,
    /// For faults of memory: what lies nearest to the address in its state space. `None` where that space is empty.
    pub nearest: Option<Nearest>,
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [i, j, k]) = (self.block, self.thread);
        write!(f, "kernel {}", self.kernel)?;
        if self.function != self.kernel {
            write!(f, " in {}", self.function)?;
        }
        write!(
            f,
            ", block ({x}, {y}, {z}), thread ({i}, {j}, {k}), PTX line {}",
            self.line
        )?;
        if !self.instruction.is_empty() {
            write!(f, " `{}`", self.instruction)?;
        }
        write!(f, ": {}", self.kind)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; it is {nearest}"),
            None => Ok(()),
        }
    }
}

/// A piece of memory near a bad access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// What it is.
    pub object: Object,
    /// Its first address, in the numbering of the access: generic where the access was.
    pub start: u64,
    /// Its size.
    pub bytes: u64,
    /// From its first byte to the access's: negative before it, [`Nearest::bytes`] and more behind it.
    pub offset: i64,
}

/// What a piece of memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Object {
    /// A region that the caller mapped.
    Region,
    /// A region that the caller declared freed.
    FreedRegion,
    /// A variable of the module.
    Variable(String),
    /// A parameter of the kernel.
    Parameter(String),
    /// The launch's dynamic shared memory.
    DynamicShared,
    /// A block that `malloc` gave out.
    HeapBlock,
    /// A block that went back with `free`.
    FreedHeapBlock,
    /// The thread's local memory: the frames of the functions it is in.
    Stack,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            object,
            start,
            bytes,
            offset,
        } = self;
        match u64::try_from(*offset) {
            Err(_) => write!(f, "{} bytes before", offset.unsigned_abs())?,
            Ok(offset) if offset >= *bytes => {
                write!(f, "{} bytes past the end of", offset.saturating_sub(*bytes))?
            }
            Ok(offset) => write!(f, "{offset} bytes into")?,
        }
        write!(f, " {object} ({bytes} bytes at {start:#x})")
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Region => f.write_str("a mapped region"),
            Self::FreedRegion => f.write_str("a freed region"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Parameter(name) => write!(f, "parameter {name}"),
            Self::DynamicShared => f.write_str("dynamic shared memory"),
            Self::HeapBlock => f.write_str("a heap block"),
            Self::FreedHeapBlock => f.write_str("a freed heap block"),
            Self::Stack => f.write_str("the thread's stack"),
        }
    }
}

/// What happened to a faulting thread.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to the first page, where no memory is ever mapped: through a null pointer, as a rule.
    #[error("{} of {bytes} bytes at {space} address {address:#x}, a null pointer", access(*write))]
    Null {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// A store rather than a load.
        write: bool,
    },
    /// An access outside every region of its space.
    #[error("{} of {bytes} bytes at {space} address {address:#x} is out of bounds", access(*write))]
    OutOfBounds {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// A store rather than a load.
        write: bool,
    },
    /// An access to memory that has been freed.
    #[error("{} of {bytes} bytes at {space} address {address:#x} after it was freed", access(*write))]
    UseAfterFree {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// A store rather than a load.
        write: bool,
    },
    /// An address that is no multiple of the access's size.
    #[error("{} of {bytes} bytes at {space} address {address:#x} is misaligned", access(*write))]
    Misaligned {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// A store rather than a load.
        write: bool,
    },
    /// A store to constant or parameter memory.
    #[error("write of {bytes} bytes at {space} address {address:#x}, which is read-only")]
    ReadOnly {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
    },
    /// A generic address of a space that the instruction does not reach: atomics have no local memory, objects of `mbarrier` and
    /// small matrices are in shared memory alone.
    #[error("{} of {bytes} bytes at {space} address {address:#x}, which lies in a space that the instruction does not reach", access(*write))]
    WrongSpace {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// It writes, or reads and writes.
        write: bool,
    },
    /// `free` of something that is no block of the heap, or no longer.
    #[error("free of {address:#x}, {}", if *again { "which was freed before" } else { "where no block of the heap starts" })]
    BadFree {
        /// The address given.
        address: u64,
        /// A block started there and has been freed.
        again: bool,
    },
    /// `assert` failed: `__assertfail` was called.
    #[error("{file}:{line}: {function}: assertion `{message}` failed")]
    Assert {
        /// The assertion's text.
        message: String,
        /// The source file.
        file: String,
        /// The line in it.
        line: u32,
        /// The function around it.
        function: String,
    },
    /// A read of shared memory that no thread of the block has written: only with [`Checks`](crate::Checks).
    #[error("read of {bytes} bytes at {space} address {address:#x}, not all of which were written")]
    Uninitialised {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
    },
    /// Two accesses to shared memory that nothing orders, one of them a plain write: only with [`Checks`](crate::Checks).
    #[error("race: {} of {bytes} bytes at {space} address {address:#x} against {other}", access(*write))]
    Race {
        /// State space of the access.
        space: &'static str,
        /// Address as the instruction gave it.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// A store or an atomic rather than a load.
        write: bool,
        /// The access that came first in this run.
        other: OtherAccess,
    },
    /// `trap` was executed.
    #[error("trap")]
    Trap,
    /// The watchdog's budget of micro-ops was used up.
    #[error("stopped by the watchdog after {0} warp instructions")]
    BudgetExhausted(u64),
    /// Threads wait at a barrier, or for lanes of their warp, that can never come.
    #[error(
        "deadlock: {waiting} threads wait at a barrier that can never complete: {}",
        Waits(waits)
    )]
    Deadlock {
        /// How many threads wait.
        waiting: u32,
        /// Who waits where, by warp.
        waits: Vec<Wait>,
    },
    /// More stack than a thread has.
    #[error("stack overflow: more than {limit} bytes of local memory")]
    StackOverflow {
        /// Bytes that a thread has.
        limit: u64,
    },
    /// A call or indexed branch to something that is not there.
    #[error("indirect call or branch to {0:#x}, where no target is")]
    BadTarget(u64),
    /// A barrier number over 15, or a thread count that is no multiple of 32.
    #[error("barrier {id} with {count} threads is invalid")]
    BadBarrier {
        /// The barrier's number.
        id: u32,
        /// The thread count asked for.
        count: u32,
    },
}

/// The other access of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherAccess {
    /// Index of its thread in the block.
    pub thread: [u32; 3],
    /// Line of its instruction.
    pub line: u32,
    /// A store or an atomic rather than a load.
    pub write: bool,
}

impl fmt::Display for OtherAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.thread;
        let (access, line) = (access(self.write), self.line);
        write!(f, "the {access} of thread ({x}, {y}, {z}) at line {line}")
    }
}

/// Threads of one warp that wait at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Number of the warp in its block.
    pub warp: u32,
    /// The lanes that wait, a bit each.
    pub lanes: u32,
    /// Line of the instruction at which they wait.
    pub line: u32,
    /// What they wait for.
    pub awaited: Awaited,
}

/// What waiting threads wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// `bar.sync` and its like.
    Barrier {
        /// The barrier's number.
        id: u32,
        /// The thread count asked for; `None` is every thread of the block.
        count: Option<u32>,
    },
    /// Other lanes of the warp, at `bar.warp.sync` or an exchange that names them.
    Lanes,
}

/// Words a list of waits, cut off where it is long.
struct Waits<'w>(&'w [Wait]);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, wait) in self.0.iter().take(SHOWN_WAITS).enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            let Wait {
                warp,
                lanes,
                line,
                awaited,
            } = wait;
            let count = lanes.count_ones();
            write!(f, "{separator}{count} of warp {warp} at line {line} for ")?;
            match awaited {
                Awaited::Barrier { id, count: None } => write!(f, "barrier {id}")?,
                Awaited::Barrier {
                    id,
                    count: Some(count),
                } => {
                    write!(f, "barrier {id} of {count} threads")?;
                }
                Awaited::Lanes => f.write_str("other lanes")?,
            }
        }
        match self.0.len().checked_sub(SHOWN_WAITS) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, ", and {more} more"),
        }
    }
}

/// Most waits that a message lists.
const SHOWN_WAITS: usize = 4;

fn access(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}
