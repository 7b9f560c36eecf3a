//! A sequence of calls, and what each answer is held against.

use std::collections::VecDeque;
use std::ptr::null_mut;

use fastrand::Rng;
use soft_cuda::api::{
    context, graph, graph_exec, host_memory, library, link, memory, pointer, pool,
};
use soft_cuda::{
    CUcontext, CUgraph, CUgraphExec, CUlibrary, CUlinkState, CUmemoryPool, CUresult, Error,
};

use crate::body::draw::{Arena, Draw, HOST_BYTES, Made, SLOT_WORDS};
use crate::body::shadow::Shadow;
use crate::body::table::{CALLS, Call};
use crate::body::world::{Kind, Pinned, Scratch, World};

/// What one thread carries from call to call.
pub(crate) struct Caller<'a> {
    pub(crate) world: &'a World,
    pub(crate) arena: Arena,
    pub(crate) rng: Rng,
    pub(crate) sequence: u64,
    /// For each function: calls, and those that succeeded.
    pub(crate) counts: Vec<[u64; 2]>,
    /// The last calls, for the report.
    trail: VecDeque<String>,
    /// The function that is being called, for a watcher.
    pub(crate) at: &'a std::sync::atomic::AtomicU64,
}

/// What a driver may not do.
#[derive(Debug)]
pub(crate) struct Violation(pub String);

impl<'a> Caller<'a> {
    pub(crate) fn new(world: &'a World, at: &'a std::sync::atomic::AtomicU64) -> Self {
        Self {
            world,
            arena: Arena::new(),
            rng: Rng::with_seed(0),
            sequence: 0,
            counts: vec![[0; 2]; CALLS.len()],
            trail: VecDeque::new(),
            at,
        }
    }

    /// Runs the sequence with this number.
    ///
    /// # Errors
    ///
    /// What the driver did that it may not do.
    pub(crate) fn run(&mut self, sequence: u64) -> Result<(), Violation> {
        self.sequence = sequence;
        self.rng = Rng::with_seed(sequence);
        self.trail.clear();
        for name in FIRST {
            self.call_by_name(name)?;
        }
        let mut shadow = Shadow::new(self)?;
        for _ in 0..self.rng.u32(20..80) {
            if self.rng.u32(0..4) == 0 {
                shadow.step(self)?;
            } else {
                let at = self.rng.usize(0..CALLS.len());
                let is_wild = self.rng.bool();
                self.call(at, is_wild)?;
            }
        }
        shadow.compare_all(self)?;
        self.clean_up(shadow)
    }

    fn call_by_name(&mut self, name: &str) -> Result<(), Violation> {
        match CALLS.iter().position(|call| call.name == name) {
            Some(at) => self.call(at, false),
            None => Err(self.violation(format!("{name} is not in the table"))),
        }
    }

    fn call(&mut self, at: usize, is_wild: bool) -> Result<(), Violation> {
        let Call { name, make } = &CALLS[at];
        let current = current();
        let mut draw = Draw {
            rng: &mut self.rng,
            world: self.world,
            arena: &mut self.arena,
            current: current.0,
            sequence: self.sequence,
            is_wild,
            refused: None,
            freed_address: false,
            moves_nothing: false,
            handles: Vec::new(),
            ends: Vec::new(),
            frees: None,
            frees_host: None,
            makes: Vec::new(),
            registers: false,
            seen: Vec::new(),
        };
        self.at.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let code = make(&mut draw);
        let Draw {
            refused,
            freed_address,
            moves_nothing,
            handles,
            ends,
            frees,
            frees_host,
            makes,
            registers,
            seen,
            ..
        } = draw;
        let words: Vec<_> = seen.iter().map(|value| format!("{value:#x}")).collect();
        self.note(format!("{name}({}) -> {code}", words.join(", ")));
        let [calls, successes] = &mut self.counts[at];
        *calls += 1;
        *successes += u64::from(code == 0);
        if code != 0 {
            self.world.known().pinned.extend(frees_host);
            return match Error::of(code) {
                Some(_) => Ok(()),
                None => Err(self.violation(format!("{code} is no code of the driver API"))),
            };
        }
        if let Some(why) = refused {
            return Err(self.violation(format!("{why} was taken")));
        }
        if freed_address && !moves_nothing {
            return Err(self.violation("an address that was freed was taken".into()));
        }
        for (kind, bits) in ends {
            self.world.known().ended(kind, bits);
        }
        if let Some(address) = frees {
            self.world.known().freed(address);
        }
        if registers {
            self.world.known().pinned.push(Pinned {
                address: seen[0] as usize,
                bytes: seen[1] as usize,
                is_registered: true,
                sequence: self.sequence,
            });
        }
        for (made, place) in makes {
            self.made(made, place, current, &handles, &seen)?;
        }
        Ok(())
    }

    /// Notes what a call has made.
    fn made(
        &mut self,
        made: Made,
        place: *const u64,
        current: CUcontext,
        handles: &[(Kind, usize)],
        seen: &[u64],
    ) -> Result<(), Violation> {
        // SAFETY: a place is a slot, which has so many words.
        let words = unsafe { std::slice::from_raw_parts(place, SLOT_WORDS) };
        let last = |kind| {
            handles
                .iter()
                .rev()
                .find(|one| one.0 == kind)
                .map(|one| one.1)
        };
        let kinds = match made {
            Made::Memory => return self.made_memory(words[0]),
            Made::HostMemory => {
                self.world.known().pinned.push(Pinned {
                    address: words[0] as usize,
                    bytes: seen[1] as usize,
                    is_registered: false,
                    sequence: self.sequence,
                });
                return Ok(());
            }
            Made::Handle(kind) if words[0] == 0 => {
                return Err(self.violation(format!("no {kind:?} was given out")));
            }
            Made::Handle(kind) | Made::Handles(kind) => kind,
        };
        let parent = match kinds {
            Kind::Module => last(Kind::Library).unwrap_or(current.0),
            Kind::Stream | Kind::Event => current.0,
            Kind::Function => last(Kind::Module).or(last(Kind::Kernel)).unwrap_or(0),
            Kind::Kernel => last(Kind::Library).unwrap_or(0),
            // A graph among the parameters comes after the one that the node is put into.
            Kind::Node => handles
                .iter()
                .find(|one| one.0 == Kind::Graph)
                .map_or(0, |one| one.1),
            _ => 0,
        };
        for bits in words.iter().take_while(|bits| **bits != 0) {
            let bits = *bits as usize;
            if !self.world.known().made(kinds, bits, parent, self.sequence) {
                return Err(self.violation(format!("{bits:#x} was given out again after its end")));
            }
        }
        Ok(())
    }

    fn made_memory(&mut self, address: u64) -> Result<(), Violation> {
        let (mut bytes, mut owner) = (0, 0usize);
        // SAFETY: both places are good for what is written there.
        let found = unsafe {
            memory::cuMemGetAddressRange_v2(null_mut(), &mut bytes, address) == 0
                && pointer::cuPointerGetAttribute((&raw mut owner).cast(), 1, address) == 0
        };
        if !found || bytes > HOST_BYTES {
            // More than the host's memory that copies use: managed memory may be larger than the device's.
            // SAFETY: addresses are never followed.
            call(unsafe { memory::cuMemFree_v2(address) });
            return Ok(());
        }
        // Where the context has failed or is gone by now, nothing can be asked.
        if owner != 0 {
            let mut known = self.world.known();
            if known.is_live(Kind::Context, owner) {
                known.scratch.push(Scratch {
                    address,
                    bytes,
                    context: owner,
                });
            }
        }
        Ok(())
    }

    /// Destroys everything that the sequence made.
    fn clean_up(&mut self, shadow: Shadow) -> Result<(), Violation> {
        let own = |kind| self.world.known().of_sequence(kind, self.sequence);
        let pinned = {
            let mut known = self.world.known();
            let sequence = self.sequence;
            let (own, others) = known
                .pinned
                .iter()
                .partition(|one| one.sequence == sequence);
            known.pinned = others;
            own
        };
        let pinned: Vec<Pinned> = pinned;
        let mut destroyed = CUcontext(0);
        // SAFETY: the place is good.
        call(unsafe { context::cuCtxCreate_v2(&mut destroyed, 0, 0) });
        for one in pinned {
            let address = std::ptr::with_exposed_provenance_mut(one.address);
            // SAFETY: the driver made it or was told of it; nothing of this thread uses it any more.
            unsafe {
                match one.is_registered {
                    true => call(host_memory::cuMemHostUnregister(address)),
                    false => call(host_memory::cuMemFreeHost(address)),
                }
            }
        }
        // SAFETY: handles are never followed.
        call(unsafe { context::cuCtxDestroy_v2(destroyed) });
        for bits in own(Kind::Link) {
            // SAFETY: handles are never followed.
            call(unsafe { link::cuLinkDestroy(CUlinkState(bits)) });
            self.world.known().ended(Kind::Link, bits);
        }
        for bits in own(Kind::Library) {
            // SAFETY: handles are never followed.
            call(unsafe { library::cuLibraryUnload(CUlibrary(bits)) });
            self.world.known().ended(Kind::Library, bits);
        }
        for bits in own(Kind::Exec) {
            // SAFETY: handles are never followed.
            call(unsafe { graph_exec::cuGraphExecDestroy(CUgraphExec(bits)) });
            self.world.known().ended(Kind::Exec, bits);
        }
        for bits in own(Kind::Graph) {
            // SAFETY: handles are never followed.
            call(unsafe { graph::cuGraphDestroy(CUgraph(bits)) });
            self.world.known().ended(Kind::Graph, bits);
        }
        for bits in own(Kind::Pool) {
            // SAFETY: handles are never followed.
            call(unsafe { pool::cuMemPoolDestroy(CUmemoryPool(bits)) });
            self.world.known().ended(Kind::Pool, bits);
        }
        let mut contexts = own(Kind::Context);
        contexts.extend(shadow.contexts());
        for bits in &contexts {
            self.world.known().doomed(*bits);
            // SAFETY: handles are never followed.
            call(unsafe { context::cuCtxDestroy_v2(CUcontext(*bits)) });
            self.world.known().ended(Kind::Context, *bits);
        }
        // SAFETY: null is a place that is not wanted.
        while unsafe { context::cuCtxPopCurrent_v2(null_mut()) } == 0 {}
        self.world.known().forget_doomed(&contexts);
        Ok(())
    }

    /// Notes what was called, for the report.
    pub(crate) fn note(&mut self, what: String) {
        if self.trail.len() >= TRAIL {
            self.trail.pop_front();
        }
        self.trail.push_back(what);
    }

    /// What the driver did that it may not do, with what was called before.
    pub(crate) fn violation(&self, what: String) -> Violation {
        let trail: Vec<_> = self
            .trail
            .iter()
            .map(|line| format!("    {line}"))
            .collect();
        Violation(format!(
            "sequence {}: {what}\n{}",
            self.sequence,
            trail.join("\n")
        ))
    }
}

/// The calling thread's context, 0 if there is none.
pub(crate) fn current() -> CUcontext {
    let mut current = CUcontext(0);
    // SAFETY: the place is good.
    call(unsafe { context::cuCtxGetCurrent(&mut current) });
    current
}

/// A call whose answer says nothing, since others may have done its work.
fn call(_answer: CUresult) {}

/// What a sequence calls first, so that there is something to work with.
const FIRST: &[&str] = &[
    "cuCtxCreate_v2",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleGetFunction",
    "cuModuleGetFunction",
    "cuStreamCreate",
    "cuEventCreate",
    "cuEventCreate",
    "cuMemAlloc_v2",
    "cuMemAlloc_v2",
    "cuMemAllocHost_v2",
    "cuMemPoolCreate",
    "cuLibraryLoadData",
    "cuLibraryGetKernel",
    "cuLinkCreate_v2",
    "cuGraphCreate",
    "cuGraphAddEmptyNode",
    "cuGraphAddMemsetNode",
    "cuGraphAddKernelNode_v2",
    "cuGraphInstantiateWithFlags",
];
/// Calls that a report shows.
const TRAIL: usize = 60;
