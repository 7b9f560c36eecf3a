//! The lowered form of a module: what the executor runs.
//!
//! All functions' micro-ops stand in one vector; a basic block starts with [`Op::Block`], which is where lanes that went
//! different ways meet again and where the watchdog counts. Operand lists of variable length stand in side tables.

use std::collections::BTreeMap;

use crate::exec::formats::Half;
use crate::exec::lanes::{RegisterCount, Slots};
use crate::exec::ops::LaneOp;
use crate::exec::rare::RareOp;
use crate::exec::shape::Class;
use crate::exec::tensor::Matrix;
use crate::types::Type;

/// One micro-op.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Each active lane for itself, registers only.
    Lane(LaneOp),
    /// The same for operations kept out of the interpreter's loop.
    Rare(RareOp),
    /// A basic block of `cost` micro-ops begins.
    Block { cost: u32 },
    /// Until the matching [`Op::Unguard`] only lanes with the predicate run; with none, `skip` micro-ops are passed over.
    Guard { pred: u32, negated: bool, skip: u32 },
    /// The guard ends.
    Unguard,
    /// Jump.
    Branch { target: u32 },
    /// Lanes with the predicate jump.
    BranchIf {
        pred: u32,
        negated: bool,
        target: u32,
    },
    /// Each lane jumps to the entry of table `table` that its index register selects.
    BranchIndex { index: u32, table: u32 },
    /// Direct call.
    Call { site: u32 },
    /// Call of the function whose address is in a 64-bit register.
    CallIndirect { address: u32, site: u32 },
    /// Return from a function; from a kernel, exit.
    Return,
    /// The active lanes end.
    Exit,
    /// `trap`.
    Trap,
    /// `membar` and `fence`: matters where several threads run blocks.
    Fence,
    /// A 32-bit special register.
    Special { d: u32, register: Special },
    /// A 64-bit special register.
    Special64 { d: u32, register: Special64 },
    /// Byte offset of dynamic shared memory to a 32-bit register.
    DynamicShared { d: u32 },
    /// Address, in local space, of byte `offset` of the running function's frame, to a 64-bit register.
    FrameAddress { d: u32, offset: u32 },
    /// Memory to registers.
    Load(Access),
    /// Registers to memory.
    Store(Access),
    /// Read, modify, write, lane after lane.
    Atomic(Atomic),
    /// Whether a generic address lies in a window.
    IsSpace { d: u32, address: u32, space: Space },
    /// `bar` / `barrier`: ids and counts are 32-bit registers, [`NONE`] where all threads take part.
    Barrier {
        id: u32,
        count: u32,
        arrive_only: bool,
    },
    /// `bar.warp.sync`.
    WarpBarrier { members: u32 },
    /// `shfl.sync`; operands in list `list`: d, p or [`NONE`], a, b, c, members.
    Shuffle { mode: Shuffle, list: u32 },
    /// `vote.sync`: predicate to predicate, or to a mask for [`Vote::Ballot`].
    Vote {
        mode: Vote,
        d: u32,
        source: u32,
        negated: bool,
        members: u32,
    },
    /// `match.any.sync` / `match.all.sync`; operands in list `list`: d, p or [`NONE`], a, members.
    Match { all: bool, wide: bool, list: u32 },
    /// `redux.sync`.
    Redux {
        op: Redux,
        d: u32,
        a: u32,
        members: u32,
    },
    /// `activemask`.
    ActiveMask { d: u32 },
    /// Counts the predicate towards the reduction of the barrier that follows.
    BarrierVote { id: u32, source: u32, negated: bool },
    /// What the barrier that has been passed reduced, to a predicate, or to a 32-bit register for [`Reduction::Count`].
    BarrierResult {
        id: u32,
        d: u32,
        reduction: Reduction,
    },
    /// `elect.sync`: the lane that is elected to d or [`NONE`], whether this is it to p.
    Elect { d: u32, p: u32, members: u32 },
    /// `cp.async`, by its number.
    AsyncCopy { index: u32 },
    /// `cp.async.commit_group`
    AsyncCommit,
    /// `cp.async.wait_group` with the number of groups that may remain; [`NONE`] for `wait_all`.
    AsyncWait { groups: u32 },
    /// An operation on an `mbarrier` object.
    Mbarrier(Mbarrier),
    /// A matrix instruction, by its number; `members` holds all lanes.
    Matrix { index: u32, members: u32 },
    /// The whole of a function that the CUDA runtime supplies.
    Runtime(Runtime),
    /// In the copy of the code that a launch with checks runs: the access that the code itself has here.
    Watched {
        /// It orders others.
        strong: bool,
    },
}

impl From<LaneOp> for Op {
    fn from(op: LaneOp) -> Self {
        Self::Lane(op)
    }
}

impl From<RareOp> for Op {
    fn from(op: RareOp) -> Self {
        Self::Rare(op)
    }
}

/// No register: an operand that was left out.
pub(crate) const NONE: u32 = u32::MAX;

/// Functions that the CUDA runtime supplies on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// `vprintf`
    Printf,
    /// `malloc`
    Malloc,
    /// `free`
    Free,
    /// `__assertfail`
    Assert,
}

impl Runtime {
    /// The function of a name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "vprintf" => Self::Printf,
            "malloc" => Self::Malloc,
            "free" => Self::Free,
            "__assertfail" => Self::Assert,
            _ => return None,
        })
    }

    /// Bytes of its parameters and of its results.
    pub(crate) fn signature(self) -> (&'static [u32], &'static [u32]) {
        match self {
            Self::Printf => (&[8, 8], &[4]),
            Self::Malloc => (&[8], &[8]),
            Self::Free => (&[8], &[]),
            Self::Assert => (&[8, 8, 4, 8, 8], &[]),
        }
    }
}

/// State space of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    /// The kernel's parameter buffer.
    KernelParam,
    /// The running function's frame at a fixed offset.
    Frame,
}

impl Space {
    /// The space that a word of [`Space::word`] names.
    pub(crate) fn of_word(word: &str) -> Self {
        match word {
            "global" => Self::Global,
            "shared" => Self::Shared,
            "local" => Self::Local,
            "const" => Self::Const,
            "param" => Self::KernelParam,
            _ => Self::Generic,
        }
    }

    /// The space's PTX word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local | Self::Frame => "local",
            Self::Const => "const",
            Self::KernelParam => "param",
        }
    }
}

/// How one memory element relates to its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    U8,
    S8,
    U16,
    S16,
    B32,
    B64,
}

impl Element {
    /// The element of a type as wide as memory has it; `None` for predicates and 128-bit types.
    pub(crate) fn of(ty: Type) -> Option<Self> {
        Some(match (ty.bytes(), ty.is_signed()) {
            (1, false) => Self::U8,
            (1, true) => Self::S8,
            (2, false) => Self::U16,
            (2, true) => Self::S16,
            (4, _) => Self::B32,
            (8, _) => Self::B64,
            _ => return None,
        })
    }

    /// Bytes in memory.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 => 2,
            Self::B32 => 4,
            Self::B64 => 8,
        }
    }
}

/// A load or store of `count` elements between memory and the registers in list `list`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) element: Element,
    pub(crate) count: u8,
    pub(crate) list: u32,
    pub(crate) address: Address,
}

impl Access {
    /// The registers that it loads or stores.
    pub(crate) fn registers(self, code: &Code) -> &[u32] {
        let start = self.list as usize;
        code.lists
            .get(start..start.saturating_add(usize::from(self.count)))
            .unwrap_or_default()
    }
}

/// Where an access goes: a register of addresses, or the sum of two, plus an offset; or the offset alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    /// [`NONE`] where the offset is the whole address.
    pub(crate) base: u32,
    /// The base is a 32-bit register.
    pub(crate) narrow: bool,
    pub(crate) offset: i32,
    /// A 64-bit register to add to a base of 64 bits, or [`NONE`].
    pub(crate) index: u32,
}

/// An atomic operation on `count` elements in a row; operands in list `list`: results, operands, values to swap in, of each as many
/// as there are elements, [`NONE`] where it has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) space: Space,
    pub(crate) op: AtomicOp,
    pub(crate) element: Element,
    pub(crate) count: u8,
    pub(crate) list: u32,
    pub(crate) address: Address,
}

impl Atomic {
    /// Its list.
    pub(crate) fn registers(self, code: &Code) -> &[u32] {
        let start = self.list as usize;
        let length = usize::from(self.count).saturating_mul(3);
        code.lists
            .get(start..start.saturating_add(length))
            .unwrap_or_default()
    }
}

/// What an atomic does with the old value and its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    AddF32,
    AddF64,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
    /// One or two packed 16-bit floats.
    AddHalf(Half),
    MinHalf(Half),
    MaxHalf(Half),
    /// Two 64-bit elements as one of 128 bits.
    ExchangeWide,
    CompareAndSwapWide,
}

/// `shfl` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `vote` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// What a barrier makes of the predicates of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    And,
    Or,
    Count,
}

/// A copy from global to shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: u32,
    /// 32-bit register with how many bytes are read, the rest being zero; or [`NONE`].
    pub(crate) size: u32,
    /// Predicate with which nothing is read; or [`NONE`].
    pub(crate) ignore: u32,
    pub(crate) negated: bool,
}

/// An operation on an `mbarrier` object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mbarrier {
    pub(crate) kind: MbarrierKind,
    /// Threads whose wait is not over let others run first.
    pub(crate) patient: bool,
    pub(crate) space: Space,
    /// The state before, a 64-bit register; the predicate of a test; or [`NONE`].
    pub(crate) d: u32,
    /// A count or a parity in a 32-bit register, or a state; [`NONE`] is a count of 1.
    pub(crate) operand: u32,
    pub(crate) address: Address,
}

impl MbarrierKind {
    /// Whether the result is a predicate.
    pub(crate) fn is_test(self) -> bool {
        matches!(self, Self::TestState | Self::TestParity)
    }
}

/// What is done with an `mbarrier` object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierKind {
    Init,
    Invalidate,
    Arrive,
    Drop,
    /// One arrival, and bytes to be awaited.
    ArriveExpecting,
    DropExpecting,
    /// Bytes to be awaited.
    Expect,
    /// Bytes that have come.
    Complete,
    TestState,
    TestParity,
}

/// `redux` operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redux {
    Add,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
}

/// 32-bit special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    ThreadIndex(Axis),
    BlockSize(Axis),
    BlockIndex(Axis),
    GridSize(Axis),
    Lane,
    Warp,
    WarpCount,
    MaskEqual,
    MaskLess,
    MaskLessEqual,
    MaskGreater,
    MaskGreaterEqual,
    Clock,
    ClockHigh,
    /// `%smid`, `%gridid` and others that are always 0 here.
    Zero,
    /// `%nsmid` and others that are always 1 here.
    One,
    DynamicSharedBytes,
    TotalSharedBytes,
}

/// 64-bit special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special64 {
    Clock,
    /// `%globaltimer`: micro-ops executed so far, so that a run is repeatable.
    Timer,
    Zero,
}

/// A grid or block axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// 0, 1 or 2.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::X => 0,
            Self::Y => 1,
            Self::Z => 2,
        }
    }
}

/// Bytes passed between a caller's frame and its callee's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passing {
    pub(crate) caller_offset: u32,
    pub(crate) callee_offset: u32,
    pub(crate) bytes: u32,
}

/// One place that calls.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    /// Index into [`Code::functions`]; for an indirect call, [`NONE`].
    pub(crate) callee: u32,
    pub(crate) arguments: Vec<Passing>,
    pub(crate) results: Vec<Passing>,
}

/// A function's needs and place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    /// Index of its first micro-op; [`NONE`] while only declared.
    pub(crate) start: u32,
    pub(crate) registers: RegisterCount,
    /// Constants and the registers that hold them.
    pub(crate) constants32: Vec<(u32, u32)>,
    pub(crate) constants64: Vec<(u32, u64)>,
    /// Of a kernel: where the operations begin that are done once a launch.
    pub(crate) prologue: u32,
    /// Of a kernel: registers that must be zero when a warp starts.
    pub(crate) cleared: Vec<(Class, u32)>,
    /// Bytes of its frame, a multiple of 16.
    pub(crate) frame_bytes: u32,
    /// Size and offset in the frame of each formal parameter and result.
    pub(crate) params: Vec<FormalParam>,
    pub(crate) results: Vec<FormalParam>,
}

/// A formal parameter of a device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormalParam {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

/// Everything executable of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) ops: Vec<Op>,
    /// Where in the source the statement of each micro-op stands.
    pub(crate) places: Vec<u32>,
    pub(crate) lists: Vec<u32>,
    pub(crate) tables: Vec<Vec<u32>>,
    pub(crate) sites: Vec<CallSite>,
    pub(crate) matrices: Vec<Matrix>,
    pub(crate) copies: Vec<AsyncCopy>,
    pub(crate) functions: Vec<Function>,
    /// Name of each function.
    pub(crate) names: Vec<String>,
    /// Functions that are aliases, and the functions whose code they have.
    pub(crate) aliases: BTreeMap<u32, u32>,
}

impl Code {
    /// The function whose code runs where `function` is called.
    #[inline]
    pub(crate) fn behind(&self, function: u32) -> u32 {
        if self.aliases.is_empty() {
            return function;
        }
        self.aliases.get(&function).copied().unwrap_or(function)
    }

    /// Operands `0..N` of list `start`.
    pub(crate) fn list<const N: usize>(&self, start: u32) -> [u32; N] {
        self.lists
            .get(start as usize..)
            .and_then(|rest| rest.first_chunk())
            .copied()
            .unwrap_or([NONE; N])
    }
}

/// Operation with no operands named yet.
pub(crate) type LaneOpOf = fn(Slots) -> LaneOp;

/// As [`LaneOpOf`], of those kept out of the interpreter's loop.
pub(crate) type RareOpOf = fn(Slots) -> RareOp;
