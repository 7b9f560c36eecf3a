//! How arguments are drawn: good ones, and every kind of bad one.

use fastrand::Rng;

use crate::body::world::{KINDS, Kind, Known, Pinned, World};

/// A call's arguments as they are drawn, and what the call's answer will mean.
pub(crate) struct Draw<'a> {
    pub(crate) rng: &'a mut Rng,
    pub(crate) world: &'a World,
    pub(crate) arena: &'a mut Arena,
    /// The calling thread's context.
    pub(crate) current: usize,
    pub(crate) sequence: u64,
    /// Whether arguments may be bad.
    pub(crate) is_wild: bool,
    /// Why the call must not succeed.
    pub(crate) refused: Option<&'static str>,
    /// An address that was freed is among the arguments; a call that moves no bytes may still take it.
    pub(crate) freed_address: bool,
    pub(crate) moves_nothing: bool,
    /// Handles among the arguments, the last one of each kind first.
    pub(crate) handles: Vec<(Kind, usize)>,
    /// What ends if the call succeeds.
    pub(crate) ends: Vec<(Kind, usize)>,
    pub(crate) frees: Option<u64>,
    pub(crate) frees_host: Option<Pinned>,
    /// Places where new things are, if the call succeeds.
    pub(crate) makes: Vec<(Made, *const u64)>,
    pub(crate) registers: bool,
    /// All arguments, for the report.
    pub(crate) seen: Vec<u64>,
}

/// What a place holds after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Handle(Kind),
    /// A number of handles of functions or kernels: as many as are not zero.
    Handles(Kind),
    Memory,
    HostMemory,
}

impl Draw<'_> {
    /// True once in so many times, if arguments may be bad.
    pub(crate) fn bad(&mut self, once_in: u32) -> bool {
        self.is_wild && self.rng.u32(0..once_in) == 0
    }

    /// One of some values.
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.usize(0..of.len())]
    }

    /// Notes that the call must not succeed.
    pub(crate) fn refuse(&mut self, why: &'static str) {
        self.refused = Some(why);
    }

    /// A handle of a kind, or something that is none.
    pub(crate) fn handle(&mut self, kind: Kind, may_be_null: bool) -> usize {
        let bits = self.pick(kind, may_be_null);
        self.handles.push((kind, bits));
        self.seen.push(bits as u64);
        bits
    }

    fn pick(&mut self, kind: Kind, may_be_null: bool) -> usize {
        let known = self.world.known();
        if self.is_wild && self.rng.u32(0..4) == 0 {
            let bits = wrong(self.rng, &known, kind);
            let is_default_stream = kind == Kind::Stream && bits <= 2;
            let is_kernel = kind == Kind::Function && known.is_live(Kind::Kernel, bits);
            // Bits of a handle may be one that another thread has been given and not noted yet.
            if !is_default_stream && !is_kernel && (bits != 0 || !may_be_null) {
                self.refused = Some("a handle that is none");
            }
            return bits;
        }
        if kind == Kind::Stream && self.rng.u32(0..3) == 0 {
            return self.rng.usize(0..3);
        }
        if may_be_null && self.rng.bool() {
            return 0;
        }
        let own = match kind {
            Kind::Context if self.current != 0 && self.rng.u32(0..3) != 0 => vec![self.current],
            Kind::Stream | Kind::Event | Kind::Module => known.live(kind, Some(self.current)),
            Kind::Function => {
                let mut own = known.live(Kind::Module, Some(self.current));
                own.retain(|module| !known.live(kind, Some(*module)).is_empty());
                match own.is_empty() {
                    true => Vec::new(),
                    false => known.live(kind, Some(own[self.rng.usize(0..own.len())])),
                }
            }
            Kind::Node => self
                .handles
                .iter()
                .rev()
                .find(|(kind, _)| *kind == Kind::Graph)
                .map_or_else(Vec::new, |(_, graph)| known.live(kind, Some(*graph))),
            _ => Vec::new(),
        };
        let among = if own.is_empty() || (self.is_wild && self.rng.u32(0..8) == 0) {
            known.live(kind, None)
        } else {
            own
        };
        if among.is_empty() {
            // A default stream is always there; nothing else is.
            return 0;
        }
        among[self.rng.usize(0..among.len())]
    }

    /// An address of device memory with its number of bytes from there on, or something that is none.
    pub(crate) fn address(&mut self) -> (u64, usize) {
        let (address, bytes) = self.pick_address();
        self.seen.push(address);
        (address, bytes)
    }

    fn pick_address(&mut self) -> (u64, usize) {
        let known = self.world.known();
        let own = known
            .scratch
            .iter()
            .filter(|one| one.context == self.current);
        let mut among: Vec<_> = own.copied().collect();
        if among.is_empty() || (self.is_wild && self.rng.u32(0..8) == 0) {
            among = known.scratch.clone();
        }
        let one = match among.is_empty() {
            true => None,
            false => Some(among[self.rng.usize(0..among.len())]),
        };
        if self.is_wild && self.rng.u32(0..4) == 0 {
            let start = one.map_or(DEVICE_SPACE, |one| one.address);
            let end = one.map_or(DEVICE_SPACE, |one| one.address + one.bytes as u64);
            return match self.rng.u32(0..7) {
                0 => (0, 0),
                1 | 2 => match known.freed.len() {
                    0 => (0, 0),
                    number => {
                        self.freed_address = true;
                        (known.freed[self.rng.usize(0..number)], 64)
                    }
                },
                3 => (end, 0),
                4 => (end - 1, 1),
                5 => (start.wrapping_sub(1), 1),
                _ => (DEVICE_SPACE + self.rng.u64(0..1 << 43), 16),
            };
        }
        match one {
            Some(one) if self.rng.u32(0..4) == 0 => {
                let at = self.rng.usize(0..one.bytes) & !3;
                (one.address + at as u64, one.bytes - at)
            }
            Some(one) => (one.address, one.bytes),
            None => (0, 0),
        }
    }

    /// A number of bytes, elements or rows: mostly small, at times wild.
    pub(crate) fn size(&mut self) -> usize {
        let size = if self.bad(6) {
            self.one(&[
                0,
                0,
                1 << 32,
                1 << 40,
                1 << 62,
                isize::MAX as usize,
                usize::MAX,
            ])
        } else {
            match self.rng.u32(0..4) {
                0 => self.rng.usize(1..=16),
                1 => 16,
                2 => self.rng.usize(1..=64) * 4,
                _ => 256,
            }
        };
        self.moves_nothing |= size == 0;
        self.seen.push(size as u64);
        size
    }
}

/// Something that is no live handle of a kind, and never will be.
fn wrong(rng: &mut Rng, known: &Known, kind: Kind) -> usize {
    let any = |rng: &mut Rng, among: &[usize]| match among.is_empty() {
        true => 0,
        false => among[rng.usize(0..among.len())],
    };
    match rng.u32(0..5) {
        0 => 0,
        1 => any(rng, &known.dead(kind)),
        2 => {
            let other = KINDS[rng.usize(0..KINDS.len())];
            let bits = any(rng, &known.live(other, None));
            if other == kind || known.is_live(kind, bits) {
                0
            } else {
                bits
            }
        }
        // No driver gives out an odd handle.
        3 => any(rng, &known.live(kind, None)) | 5,
        _ => rng.usize(8..) | 5,
    }
}

/// Memory of one thread for all that calls read and write; it is never given back, since work of the driver's may come late.
pub(crate) struct Arena {
    slots: Box<[[u64; SLOT_WORDS]]>,
    next: usize,
    /// Bytes that copies read, all the same.
    pub(crate) source: &'static [u8],
    /// Bytes that copies write.
    pub(crate) target: *mut u8,
    /// Memory that the driver may be asked to register.
    pub(crate) own: *mut u8,
}

impl Arena {
    pub(crate) fn new() -> Self {
        let bytes = |value| Box::leak(vec![value; HOST_BYTES].into_boxed_slice());
        Self {
            slots: vec![[0; SLOT_WORDS]; SLOTS].into_boxed_slice(),
            next: 0,
            source: bytes(0x3C),
            target: bytes(0).as_mut_ptr(),
            own: bytes(0).as_mut_ptr(),
        }
    }

    /// Room for a few answers, zeroed.
    pub(crate) fn slot(&mut self) -> *mut u64 {
        self.next = (self.next + 1) % SLOTS;
        let slot = &mut self.slots[self.next];
        slot.fill(0);
        slot.as_mut_ptr()
    }
}

/// Bytes of each of a thread's ranges of host memory: more than any live piece of device memory that calls copy to or from.
pub(crate) const HOST_BYTES: usize = 1 << 20;
/// Where device memory begins.
const DEVICE_SPACE: u64 = 0x1100_0000_0000;
const SLOTS: usize = 64;
/// Words of a slot.
pub(crate) const SLOT_WORDS: usize = 512;
