//! Deviant hosts: the reference host with one thing wrong, to show that the suite would notice.
//!
//! A deviant sits between a guest and the reference host and changes arguments, answers, memory or PTX text on the way,
//! as a host with that one mistake would. Each names the requirements it breaks; the test `deviants` runs the cases that
//! claim them and demands that at least one of them fails for each. A suite that passes a deviant has a hole.
//!
//! Deviants are data: a table for each part of the ABI, an entry for each mistake with its name, what it breaks, one
//! sentence that says what is wrong, and the small function that makes it so.
//!
//! # Example
//!
//! ```
//! use wasi_cuda_conformance::deviant;
//!
//! let deviant = deviant::named("alloc-size-cap-one-more").expect("a deviant of this name");
//! assert_eq!(deviant.breaks, ["alloc.size-cap"]);
//! ```

mod alloc;
mod argv;
mod buffers;
mod call;
mod dimensions;
mod execution;
mod fault;
mod free;
mod instance;
mod kernels;
mod last_error;
mod launch;
mod link;
mod load;
mod malformed;
mod memcpy;
mod memory;
mod no_trap;
mod params;
mod profile;
mod ptx;
mod runtime;
mod sync;
mod windows;
mod world;

use wasi_cuda_host::abi::Import;

use crate::judge::Verdict;
use crate::profile::Profile;

use call::Call;
pub use runtime::{Bench, DeviantHost};

/// A host with one mistake.
#[derive(Debug)]
pub struct Deviant {
    /// Stable name, lower-case words joined by `-`.
    pub name: &'static str,
    /// The requirements it breaks; the first is the one it is made for.
    pub breaks: &'static [&'static str],
    /// The host profile it is a deviant of.
    pub profile: Profile,
    /// What it does wrong, to be read after "a host that".
    pub wrong: &'static str,
    /// How a case ends that catches it: a failure, or, of one that crashes or hangs, what that is.
    pub shows_as: Verdict,
    flaw: Flaw,
}

/// Every deviant, in the order of the ABI's parts.
pub fn all() -> impl Iterator<Item = &'static Deviant> {
    TABLES.iter().copied().flatten()
}

/// The deviant of this name.
pub fn named(name: &str) -> Option<&'static Deviant> {
    all().find(|deviant| deviant.name == name)
}

/// The deviants that break a requirement.
pub fn breaking(requirement: &str) -> impl Iterator<Item = &'static Deviant> {
    all().filter(move |deviant| deviant.breaks.contains(&requirement))
}

const TABLES: &[&[Deviant]] = &[
    link::DEVIANTS,
    no_trap::DEVIANTS,
    memory::DEVIANTS,
    load::DEVIANTS,
    malformed::DEVIANTS,
    kernels::DEVIANTS,
    dimensions::DEVIANTS,
    launch::DEVIANTS,
    argv::DEVIANTS,
    params::DEVIANTS,
    windows::DEVIANTS,
    execution::DEVIANTS,
    fault::DEVIANTS,
    sync::DEVIANTS,
    alloc::DEVIANTS,
    free::DEVIANTS,
    memcpy::DEVIANTS,
    buffers::DEVIANTS,
    last_error::DEVIANTS,
    instance::DEVIANTS,
    profile::DEVIANTS,
];

/// Where a deviant's mistake lies.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    /// Nowhere: the layer alone, which must not be noticed.
    None,
    /// In the answers to these imports.
    Calls(&'static [Import], Act),
    /// In what it runs: a text in which each first piece is replaced by the second.
    Text(&'static [(&'static str, &'static str)]),
    /// In what a module may import.
    Linking(Linking),
    /// In which export is taken for the caller's memory, as the calls of every import see it.
    Memory(MemoryChoice, Act),
}

/// Makes a call as the deviant does.
type Act = fn(&mut Call<'_>) -> i64;

/// A mistake in the import module.
#[derive(Clone, Copy, Debug)]
enum Linking {
    /// An import is not defined.
    Without(Import),
    /// An import is defined with whatever type a module asks for.
    AnyType(Import),
    /// A name is defined that should not be, with whatever type a module asks for.
    Extra(&'static str),
    /// Every name is defined.
    AnyName,
}

/// Which export is the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryChoice {
    /// The memory that is exported as `memory`, as it should be.
    Named,
    /// The first memory that is exported at all.
    First,
}

impl Deviant {
    /// A deviant with a device in whose answers to some imports the mistake lies.
    const fn new(
        name: &'static str,
        breaks: &'static [&'static str],
        wrong: &'static str,
        imports: &'static [Import],
        act: Act,
    ) -> Deviant {
        Deviant::with(name, breaks, wrong, Flaw::Calls(imports, act))
    }

    const fn with(
        name: &'static str,
        breaks: &'static [&'static str],
        wrong: &'static str,
        flaw: Flaw,
    ) -> Deviant {
        Deviant {
            name,
            breaks,
            profile: Profile::Device,
            wrong,
            shows_as: Verdict::Fail,
            flaw,
        }
    }

    /// The same on another profile.
    const fn on(self, profile: Profile) -> Deviant {
        Deviant { profile, ..self }
    }

    /// The same, caught by a case that ends in this way.
    const fn showing_as(self, shows_as: Verdict) -> Deviant {
        Deviant { shows_as, ..self }
    }

    /// The layer without a mistake.
    const fn none(profile: Profile) -> Deviant {
        Deviant::with("none", &[], "has nothing wrong", Flaw::None).on(profile)
    }

    /// Makes a guest's call.
    fn answer(&self, call: &mut Call<'_>) -> i64 {
        match self.flaw {
            Flaw::Calls(imports, act) if imports.contains(&call.import) => act(call),
            Flaw::Memory(_, act) => act(call),
            Flaw::Text(pairs) if call.import == Import::LoadPtx => call.load_altered(|text| {
                pairs
                    .iter()
                    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
            }),
            Flaw::None | Flaw::Calls(..) | Flaw::Text(_) | Flaw::Linking(_) => call.pass(),
        }
    }
}

/// The code of an error, as answers carry it.
const fn code(error: wasi_cuda_host::abi::AbiError) -> i64 {
    error.code() as i64
}
