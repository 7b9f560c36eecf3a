//! What goes wrong while a kernel runs, and where.

use thiserror::Error;

/// A kernel's fault, with the first thread that hit it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("kernel {kernel}, block ({}, {}, {}), thread ({}, {}, {}), PTX line {line}: {kind}",
    block[0], block[1], block[2], thread[0], thread[1], thread[2])]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Name of the kernel.
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in its block.
    pub thread: [u32; 3],
    /// Line of the instruction in the PTX source, from 1.
    pub line: u32,
}

/// What happened to a faulting thread.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
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
    /// `trap` was executed.
    #[error("trap")]
    Trap,
    /// The watchdog's budget of micro-ops was used up.
    #[error("stopped by the watchdog after {0} warp instructions")]
    BudgetExhausted(u64),
    /// Threads wait at a barrier, or for lanes of their warp, that can never come.
    #[error("deadlock: {waiting} threads wait at a barrier that can never complete")]
    Deadlock {
        /// How many threads wait.
        waiting: u32,
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

fn access(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}
