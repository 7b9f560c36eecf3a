//! The executable specification: a state machine that says what a host may answer.
//!
//! A [`Model`] stands for a whole host with its instances. For a [`Call`] in the present state,
//! [`allowed`](Model::allowed) gives the set of outcomes that the ABI allows; [`apply`](Model::apply) judges what a host
//! really answered and moves the state: ids, quotas, memory, buffers, the recorded message. Everything that checks hosts
//! call by call, random testing first, asks this one place.
//!
//! It is written from the ABI and its errata, never from a host: it has its own caps, its own argument parser, its own
//! table of codes.
//!
//! # How to read a rule
//!
//! `rules/` has a file for each import. A rule starts from success, which some requirement promises, and adds what is
//! wrong with the call:
//!
//! - `fault(code, rule)`: this is wrong. Success is out, and the code is one of those that fit. Several faults: the code of
//!   any of them, since the ABI does not say which is met first.
//! - `may(code)`: the ABI leaves this refusal open beside what else is allowed.
//! - `must_fail(rule)`: it may fail in any of the ways added with `may`, and may not succeed.
//!
//! Each rule is a [`Rule`]: the id of the catalogue's requirement and its level. A [`Deviation`] names them. With
//! [`Options::strict`], the default, recommendations (`should`) are judged like the rest, and named as what they are;
//! without it, breaking one is allowed.
//!
//! # What is not known
//!
//! Texts of messages, the variables of modules behind a fault, windows of a launch that is not synced: such bytes are
//! unknown rather than wrong. [`unknown`](Model::unknown) says where they are and [`learn`](Model::learn) takes what the
//! guest has there, checking it where it can be checked: a message must be UTF-8 and stay as it is.
//!
//! # Example
//!
//! ```
//! use wasi_cuda_conformance::Profile;
//! use wasi_cuda_conformance::model::{Call, MemoryKind, Model, Options};
//!
//! let mut model = Model::new(Profile::Device, Options::default());
//! let guest = model.instantiate(MemoryKind::Ordinary, 1);
//! model.apply(guest, &Call::alloc(64), 7)?;
//! // Four bytes at the end of one page are in bounds, five are not.
//! assert_eq!(model.allowed(guest, &Call::memcpy_h2d(7, 65532, 4)).to_string(), "0");
//! let deviation = model.apply(guest, &Call::memcpy_h2d(7, 65532, 5), 0).unwrap_err();
//! assert!(deviation.to_string().contains("memcpy.h2d.region"));
//! # Ok::<(), wasi_cuda_conformance::model::Deviation>(())
//! ```

mod allowed;
mod argv;
mod call;
mod codes;
mod contents;
mod instance;
mod kernel;
mod memory;
pub mod operation;
mod rule;
mod rules;
#[cfg(test)]
mod tests;

pub use allowed::{Allowed, Deviation, Success, What};
pub use call::{Call, Import};
pub use codes::{Code, CodeSet};
pub use kernel::{Known, Param, known, rejected};
pub use memory::MemoryKind;
pub use rule::{ALL as RULES, Rule, Rules};

use crate::profile::Profile;
use instance::{Ended, Instance};
use memory::Memory;

/// A host, as the ABI has it.
#[derive(Clone, Debug)]
pub struct Model {
    profile: Profile,
    options: Options,
    instances: Vec<Option<Instance>>,
    ended: Ended,
}

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Hold the host to recommendations too.
    pub strict: bool,
    /// Device memory that the host has for sure; beyond it an allocation may fail.
    pub device_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strict: true,
            device_bytes: u64::MAX,
        }
    }
}

impl Model {
    /// A host without instances.
    pub fn new(profile: Profile, options: Options) -> Model {
        Model {
            profile,
            options,
            instances: Vec::new(),
            ended: Ended::default(),
        }
    }

    /// The kind of host.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Adds an instance and gives its number; the numbers of ended instances are used again.
    pub fn instantiate(&mut self, kind: MemoryKind, pages: u64) -> usize {
        let instance = Some(Instance::new(Memory::new(kind, pages, self.options.strict)));
        match self.instances.iter().position(Option::is_none) {
            Some(free) => {
                self.instances[free] = instance;
                free
            }
            None => {
                self.instances.push(instance);
                self.instances.len() - 1
            }
        }
    }

    /// Adds an instance under this number, in place of the one that is there.
    pub fn instantiate_as(&mut self, number: usize, kind: MemoryKind, pages: u64) {
        if self.instances.len() <= number {
            self.instances.resize_with(number + 1, || None);
        }
        self.instances[number] = Some(Instance::new(Memory::new(kind, pages, self.options.strict)));
    }

    /// Ends an instance: all it held is free again.
    pub fn end(&mut self, instance: usize) {
        if let Some(instance) = self.instances.get_mut(instance).and_then(Option::take) {
            self.ended.add(&instance);
        }
    }

    /// Whether there is such an instance.
    pub fn is_live(&self, instance: usize) -> bool {
        self.instance(instance).is_some()
    }

    /// The guest writes to its own memory; the part past its end is dropped.
    pub fn poke(&mut self, instance: usize, at: u64, bytes: &[u8]) {
        let Some(instance) = self.instance_mut(instance) else {
            return;
        };
        let room = instance.memory.size_bytes.saturating_sub(at);
        let len = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        instance.disturb(at, len as u64);
        instance
            .memory
            .contents
            .write(at, bytes.get(..len).unwrap_or_default());
    }

    /// The guest's memory has grown by so many pages.
    pub fn grow(&mut self, instance: usize, pages: u64) {
        if let Some(instance) = self.instance_mut(instance) {
            instance.memory.size_bytes += pages.saturating_mul(65536);
        }
    }

    /// Size of the guest's memory; 0 without an instance.
    pub fn memory_bytes(&self, instance: usize) -> u64 {
        self.instance(instance)
            .map_or(0, |instance| instance.memory.size_bytes)
    }

    /// The byte of guest memory, if it is known, and judged at all.
    pub fn byte(&self, instance: usize, at: u64) -> Option<u8> {
        let instance = self.instance(instance)?;
        if instance.lost || instance.in_flight(at, 1) {
            return None;
        }
        instance.memory.contents.byte(at)
    }

    /// The digest of 4096 bytes of guest memory, if all of them are known.
    pub fn digest(&mut self, instance: usize, page: u32) -> Option<u64> {
        let instance = self.instance_mut(instance)?;
        let at = u64::from(page) * contents::PAGE as u64;
        if instance.lost || instance.in_flight(at, contents::PAGE as u64) {
            return None;
        }
        instance.memory.contents.digest(page)
    }

    /// The first run of unknown bytes in guest memory that can be looked at now: offset and length.
    pub fn unknown(&self, instance: usize) -> Option<(u64, u64)> {
        let instance = self.instance(instance)?;
        if instance.lost || !instance.pending.is_empty() {
            return None;
        }
        instance.memory.contents.unknown(instance.memory.size_bytes)
    }

    /// The message that the last call copied and that nobody has looked at: offset and length.
    pub fn unread_message(&self, instance: usize) -> Option<(u32, u32)> {
        self.instance(instance)?.message.copied
    }

    /// Takes bytes that the guest has in its memory as known.
    ///
    /// # Errors
    ///
    /// They are those of a message that was just copied, and it is no text, or not the message that it was.
    pub fn learn(&mut self, instance: usize, at: u64, bytes: &[u8]) -> Result<(), Deviation> {
        let Some(instance) = self.instance_mut(instance) else {
            return Ok(());
        };
        instance.memory.contents.write(at, bytes);
        match instance.message.copied {
            Some((copied, len)) if u64::from(copied) == at && bytes.len() == len as usize => {
                rules::last_error::learn(instance, copied, bytes)
            }
            _ => Ok(()),
        }
    }

    /// What this call may answer now; everything, when there is no such instance.
    pub fn allowed(&self, instance: usize, call: &Call) -> Allowed {
        rules::allowed(self, instance, call)
    }

    /// Judges what the call answered, and moves the state as that answer says.
    ///
    /// # Errors
    ///
    /// The answer is not allowed. The state is then as before.
    pub fn apply(&mut self, instance: usize, call: &Call, result: i64) -> Result<(), Deviation> {
        rules::apply(self, instance, call, result)
    }

    /// Some live buffers of the instance, the oldest first: handle and size in bytes.
    pub fn some_buffers(&self, instance: usize, most: usize) -> Vec<(i64, u64)> {
        let Some(instance) = self.instance(instance) else {
            return Vec::new();
        };
        let count = instance.buffers.len().min(most);
        let handles = (0..count).filter_map(|index| instance.buffers.nth(index));
        handles
            .filter_map(|handle| Some((handle, instance.buffers.get(handle)?.size_bytes)))
            .collect()
    }

    /// The requirements that a change of memory breaks which this call did not have to make.
    pub fn memory_rules(&self, instance: usize, at: u64, call: Option<&Call>) -> Rules {
        let counted = self.instance(instance).and_then(|it| it.counted);
        if counted.is_some_and(|counted| (counted..counted + 4).contains(&at)) {
            return Rules::one(rule::LAUNCH_MODULE_VARIABLES);
        }
        let mut rules = Rules::default();
        match call.map(Call::import) {
            Some(Import::Launch) => {
                rules.add(rule::LAUNCH_WINDOW_ACCESS);
                rules.add(rule::LAUNCH_WINDOW_ISOLATION);
            }
            Some(Import::Sync) => rules.add(rule::SYNC_EFFECTS),
            Some(Import::MemcpyD2h) => {
                rules.add(rule::MEMCPY_ROUND_TRIP);
                rules.add(rule::ALLOC_ZEROED);
                rules.add(rule::MEMCPY_REFUSED_WRITES_NOTHING);
            }
            Some(Import::LastErrorCopy) => {
                rules.add(rule::LAST_ERROR_COPY);
                rules.add(rule::LAST_ERROR_TRUNCATE);
            }
            Some(Import::MemcpyH2d) => rules.add(rule::MEMCPY_REFUSED_WRITES_NOTHING),
            _ => rules.add(rule::LAUNCH_WINDOW_OWN_MEMORY),
        }
        rules
    }

    fn instance(&self, number: usize) -> Option<&Instance> {
        self.instances.get(number)?.as_ref()
    }

    fn instance_mut(&mut self, number: usize) -> Option<&mut Instance> {
        self.instances.get_mut(number)?.as_mut()
    }
}
