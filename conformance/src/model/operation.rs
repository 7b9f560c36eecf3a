//! Operations in words that mean something in any state: what random testing and fuzzing are made of.
//!
//! An [`Operation`] names kernels and buffers by where they stand (the third live one, one that is freed, one of another
//! instance), and places and lengths by what makes them interesting (the last that is good, the first that is bad).
//! [`resolve`] turns it into a raw [`Call`](super::Call) for the present state. Every operation can be resolved in every state, so any
//! list of them is a sequence that can be run, and cut shorter.

mod layout;
mod resolve;

pub use layout::{ARGV_AT, BULK_AT, Layout, PAGES, PLAY_AT, layout};
pub use resolve::{Id, Resolved, Step, resolve};

/// Something done to one of the instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The instance; it comes into being when it is first used, and again after its end.
    pub instance: u8,
    /// What is done.
    pub action: Action,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// `sync`
    Sync,
    /// `last_error_len`
    LastErrorLen,
    /// `last_error_copy`
    LastErrorCopy {
        /// The destination.
        to: Place,
        /// Its length.
        len: Length,
    },
    /// `alloc`
    Alloc(Size),
    /// `free`
    Free(Pick),
    /// `memcpy_h2d`
    CopyIn {
        /// The buffer.
        buffer: Pick,
        /// The source.
        from: Place,
        /// How much.
        len: Length,
    },
    /// `memcpy_d2h`
    CopyOut {
        /// The buffer.
        buffer: Pick,
        /// The destination.
        to: Place,
        /// How much.
        len: Length,
    },
    /// `load_ptx`
    Load {
        /// What is loaded.
        text: Text,
        /// Under which name.
        entry: Entry,
    },
    /// `launch`
    Launch {
        /// The kernel.
        kernel: Pick,
        /// Grid, block and shared memory.
        shape: Shape,
        /// The arguments.
        args: Args,
    },
    /// The guest writes eight bytes to its memory.
    Poke {
        /// Where.
        at: Place,
        /// What.
        value: u64,
    },
    /// The guest's memory grows.
    Grow,
    /// As many allocations one after the other, up to the first that is refused.
    AllocMany(u16, Size),
    /// As many loads of an empty kernel one after the other, up to the first that is refused.
    LoadMany(u16),
    /// The instance ends.
    End,
}

/// A kernel or a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pick {
    /// Out of which.
    pub from: From,
    /// Which one of them, counted round.
    pub index: u8,
    /// Which bits are turned over: none for 0, else as [`Pick::FLIPS`] has it.
    pub flip: u8,
}

/// Where a kernel or buffer is picked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum From {
    /// The instance's own, live.
    Live,
    /// The instance's own, not live any more.
    Dead,
    /// The live ones of the other instances.
    Foreign,
    /// Those that instances held that have ended.
    Ended,
    /// Numbers that nobody gave out.
    MadeUp,
}

/// An offset in guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A place in the middle, 64 bytes from the next.
    Slot(u8),
    /// Any place in the middle.
    Play(u16),
    /// So that the region ends this far beyond memory: 0 is the last good place.
    EndsAt(i8),
    /// A number, such as one near 2^31 or 2^32.
    Raw(i32),
}

/// A count of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// So many.
    Bytes(u16),
    /// The size of the buffer, and this many more or fewer.
    Whole(i8),
    /// A number, such as one near 2^31 or 2^32.
    Raw(i32),
}

/// A size to allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// So many bytes.
    Bytes(u16),
    /// 256 MiB and this many more or fewer.
    Cap(i8),
    /// What is left of the instance's bytes, and this many more or fewer.
    Rest(i8),
    /// The high half, above a low half of so many bytes.
    High(u16, i32),
    /// All bits of both halves.
    Most,
}

/// A PTX text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// A known module, by number.
    Known(u8),
    /// One that no assembler takes, by number.
    Rejected(u8),
    /// A known module without so many bytes at its end.
    Cut(u8, u8),
    /// A region.
    Region(Place, Length),
}

/// An entry name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// The one of the known module.
    Right,
    /// The one of another module.
    Other(u8),
    /// No bytes.
    Empty,
    /// Bytes that are not UTF-8.
    NotText,
    /// As many letters.
    Letters(u16),
    /// A region.
    Region(Place, Length),
}

/// Grid, block and dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Blocks by axis.
    pub grid: [i32; 3],
    /// Threads by axis.
    pub block: [i32; 3],
    /// Bytes.
    pub shared_bytes: i32,
}

/// Arguments: those that fit the kernel, and what is changed about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Args {
    /// The windows, used in turn.
    pub windows: [Window; 2],
    /// What the numbers are made from.
    pub values: u64,
    /// What is wrong, if anything.
    pub twist: Twist,
    /// Where the buffer lies; `None` for its usual place.
    pub at: Option<Place>,
}

/// A window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Where.
    pub at: Place,
    /// How many bytes more than the kernel needs, or fewer.
    pub more: i8,
}

/// How arguments do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Twist {
    /// They do.
    None,
    /// The last record is missing.
    Missing,
    /// There is another record, of this tag.
    Extra(u8),
    /// So many bytes of the last record are missing.
    Cut(u8),
    /// This record has this tag.
    Tag(u8, u8),
    /// This record is four bytes instead of eight, or the other way round.
    Width(u8),
    /// This number of records of four bytes instead.
    Records(u8),
    /// Zero bytes behind the records, so many in all.
    Long(u16),
    /// A length of the buffer that is none.
    Length(i32),
}

impl Pick {
    /// The first live one.
    pub const FIRST: Pick = Pick {
        from: From::Live,
        index: 0,
        flip: 0,
    };

    /// The bits that can be turned over.
    pub const FLIPS: [i64; 6] = [0, 1 << 32, i64::MIN, 1 << 40, 1 << 62, -1 << 32];

    /// Ids that nobody gave out, most likely.
    pub const MADE_UP: [i64; 8] = [
        0,
        1,
        -1,
        2,
        i64::MAX,
        i64::MIN,
        1 << 32,
        0x0123_4567_89AB_CDEF,
    ];
}
