//! One sequence of operations on one host, each answer compared with the model and memory after each of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::arguments::export;
use super::driver::{self, MOST_PAGES};
use super::stats::Stats;
use super::trace::Trace;
use crate::catalogue::Level;
use crate::model::operation::{
    BULK_AT, Id, Operation, PAGES, PLAY_AT, Resolved, Step, layout, resolve,
};
use crate::model::{Call, Deviation, Import, MemoryKind, Model, Options, What};
use crate::profile::Profile;
use crate::runtime::{Guest, Host, InstantiateError, Outcome, Runtime, Value};

/// Something to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// What the guests export as `memory`.
    pub memory: MemoryKind,
    /// What is done.
    pub operations: Vec<Operation>,
}

/// How a sequence failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Index of the operation; the number of operations when what is looked at after the last of them was wrong.
    pub at: usize,
    /// What happened.
    pub what: Fault,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An answer, or memory, that the model does not allow.
    #[error("{0}")]
    Deviation(Deviation),
    /// A call trapped.
    #[error("{call} trapped: {text}; requirements: call.no-trap")]
    Trap {
        /// The call.
        call: String,
        /// What the runtime said.
        text: String,
    },
    /// A call did not come back in time.
    #[error("{call} did not come back in time; requirements: call.no-trap")]
    Hang {
        /// The call.
        call: String,
    },
    /// The host died of a call.
    #[error("{call} crashed the host: {text}; requirements: call.no-trap")]
    Crash {
        /// The call.
        call: String,
        /// What the runtime said.
        text: String,
    },
}

impl Fault {
    /// Whether it breaks recommendations only.
    pub fn is_recommendation(&self) -> bool {
        match self {
            Fault::Deviation(deviation) => {
                deviation.rules.iter().all(|rule| rule.level != Level::Must)
            }
            Fault::Trap { .. } | Fault::Hang { .. } | Fault::Crash { .. } => false,
        }
    }

    /// The requirements that it breaks, by id.
    pub fn requirements(&self) -> Vec<&'static str> {
        match self {
            Fault::Deviation(deviation) => deviation.rules.iter().map(|rule| rule.id).collect(),
            Fault::Trap { .. } | Fault::Hang { .. } | Fault::Crash { .. } => vec!["call.no-trap"],
        }
    }
}

/// Why a sequence could not be run to its end.
pub(super) enum Stop {
    /// The host is at fault.
    Fault(Fault),
    /// The runtime could not do its work.
    Broken(String),
}

impl From<Deviation> for Stop {
    fn from(deviation: Deviation) -> Stop {
        Stop::Fault(Fault::Deviation(deviation))
    }
}

/// What a session needs from outside.
pub(super) struct Surroundings<'a> {
    pub(super) runtime: &'a dyn Runtime,
    pub(super) wasm: &'a [u8],
    pub(super) options: Options,
    pub(super) limit: Duration,
    /// Told before and after each call into the runtime.
    pub(super) mark: &'a dyn Fn(bool),
    /// Told the index of the operation under way.
    pub(super) at: &'a AtomicUsize,
    /// Takes down what is done, if anyone wants to know.
    pub(super) trace: Option<&'a Mutex<Trace>>,
}

/// Runs a sequence.
pub(super) fn run(
    sequence: &Sequence,
    around: &Surroundings<'_>,
    stats: &mut Stats,
) -> Result<Option<Failure>, String> {
    let host = guarded(around, || around.runtime.start());
    let host = match host {
        Ok(host) => host.map_err(|text| format!("no host: {text}"))?,
        Err(text) => return Err(format!("no host: {text}")),
    };
    let mut session = Session {
        around,
        stats,
        memory: sequence.memory,
        model: Model::new(around.runtime.info().profile, around.options),
        guests: [None, None, None],
        host: Some(host),
        poke: Vec::new(),
    };
    let mut at = 0;
    let mut outcome = Ok(());
    for operation in &sequence.operations {
        around.at.store(at, Ordering::Relaxed);
        outcome = session.operation(operation);
        if outcome.is_err() {
            break;
        }
        at += 1;
    }
    let ended = match outcome {
        Ok(()) => {
            around.at.store(at, Ordering::Relaxed);
            session.look_around()
        }
        Err(stop) => Err(stop),
    };
    let crashed = matches!(ended, Err(Stop::Fault(Fault::Crash { .. })));
    let torn = session.tear_down(crashed);
    match ended.and(torn) {
        Ok(()) => Ok(None),
        Err(Stop::Fault(what)) => Ok(Some(Failure { at, what })),
        Err(Stop::Broken(text)) => Err(text),
    }
}

struct Session<'a> {
    around: &'a Surroundings<'a>,
    stats: &'a mut Stats,
    memory: MemoryKind,
    model: Model,
    guests: [Option<Box<dyn Guest>>; SLOTS],
    host: Option<Box<dyn Host>>,
    poke: Vec<u8>,
}

impl Session<'_> {
    fn operation(&mut self, operation: &Operation) -> Result<(), Stop> {
        let slot = usize::from(operation.instance) % SLOTS;
        self.stats.operations += 1;
        if !self.model.is_live(slot) {
            self.instantiate(slot)?;
        }
        let mut bytes = std::mem::take(&mut self.poke);
        let Resolved { poke_at, step } = resolve(operation, slot, &self.model, &mut bytes);
        let poked = self.poke(slot, poke_at, &bytes);
        self.poke = bytes;
        poked?;
        self.step(slot, step)
    }

    fn step(&mut self, slot: usize, step: Step) -> Result<(), Stop> {
        match step {
            Step::Poke => {}
            Step::Call(call, id) => self.call(slot, &call, id)?,
            Step::Many(count, call) => self.many(slot, count, &call)?,
            Step::Grow => {
                if self.model.memory_bytes(slot) >= u64::from(MOST_PAGES) * 65536 {
                    return Ok(());
                }
                self.trace(|trace| trace.grow(slot));
                let answer = self.guest(slot, "grow", &[])?;
                if answer >= 0 {
                    self.model.grow(slot, 1);
                }
            }
            Step::End => {
                self.trace(|trace| trace.end(slot));
                let guest = self.guests[slot].take();
                guarded(self.around, || drop(guest)).map_err(|text| {
                    Stop::Fault(Fault::Crash {
                        call: "the end of an instance".to_owned(),
                        text,
                    })
                })?;
                self.model.end(slot);
                return Ok(());
            }
        }
        let call = match step {
            Step::Call(call, _) | Step::Many(_, call) => Some(call),
            _ => None,
        };
        self.check_memory(slot, call.as_ref())
    }

    fn call(&mut self, slot: usize, call: &Call, id: Option<Id>) -> Result<(), Stop> {
        let (export, args) = export(call, id);
        if self.around.trace.is_some() {
            let allowed = self.model.allowed(slot, call);
            self.trace(|trace| trace.call(slot, call, id, &allowed));
        }
        let answer = self.guest_call(slot, export, &args, call)?;
        self.stats.count(call.import(), answer);
        self.trace(|trace| trace.answered(slot, call, answer));
        self.apply(slot, call, answer)
    }

    fn apply(&mut self, slot: usize, call: &Call, answer: i64) -> Result<(), Stop> {
        self.model.apply(slot, call, answer).map_err(|deviation| {
            self.trace(|trace| trace.deviation(slot, &deviation));
            Stop::from(deviation)
        })
    }

    fn many(&mut self, slot: usize, count: u16, call: &Call) -> Result<(), Stop> {
        let (export, mut args) = match call.import() {
            Import::LoadPtx => ("load_many", export(call, None).1),
            _ => ("alloc_many", export(call, None).1),
        };
        args.insert(0, Value::I32(i32::from(count)));
        let many = self.around.trace.is_some().then(|| {
            let index = self.trace(|trace| trace.many(slot, export, &args));
            index.unwrap_or(0)
        });
        let done = self.guest_call(slot, export, &args, call)?;
        let mut ids = Vec::new();
        let kept_at = |index: usize| BULK_AT + u32::try_from(index).unwrap_or(0) * 8;
        for index in 0..usize::try_from(done).unwrap_or(0) {
            ids.push(self.guest(slot, "peek", &[at(kept_at(index))])?);
        }
        let refusal = self.guest(slot, "refusal", &[])?;
        if let Some(many) = many {
            self.trace(|trace| trace.many_ids(many, &ids));
        }
        for (index, id) in ids.iter().enumerate() {
            self.stats.count(call.import(), *id);
            self.model.apply(slot, call, *id).map_err(|deviation| {
                self.trace(|trace| trace.one_too_many(slot, index, &deviation));
                Stop::from(deviation)
            })?;
            self.model
                .poke(slot, u64::from(kept_at(index)), &id.to_le_bytes());
        }
        if refusal < 0 {
            self.stats.count(call.import(), refusal);
            let allowed = self.model.allowed(slot, call);
            self.trace(|trace| trace.refused(slot, ids.len(), (call, &allowed), refusal));
            self.apply(slot, call, refusal)
        } else {
            self.trace(|trace| trace.granted_all(ids.len()));
            Ok(())
        }
    }

    /// Compares the guest's memory with the model's and learns what the model cannot know.
    fn check_memory(&mut self, slot: usize, call: Option<&Call>) -> Result<(), Stop> {
        if let Some((copied, len)) = self.model.unread_message(slot) {
            let bytes = self.peek(slot, u64::from(copied), u64::from(len))?;
            self.learn(slot, u64::from(copied), &bytes)?;
        }
        while let Some((unknown, len)) = self.model.unknown(slot) {
            let bytes = self.peek(slot, unknown, len)?;
            self.learn(slot, unknown, &bytes)?;
        }
        let pages = u32::try_from(self.model.memory_bytes(slot) / 4096).unwrap_or(0);
        let mut page = 0;
        while page < pages {
            // A run of pages that are known.
            let first = page;
            let mut whole = 0;
            while page < pages {
                let Some(digest) = self.model.digest(slot, page) else {
                    break;
                };
                whole = driver::fold(whole, digest);
                page += 1;
            }
            if page > first && self.digest(slot, first, page - first)? != whole {
                return self.find_difference(slot, first..page, call);
            }
            if page < pages {
                self.check_bytes(slot, page, call)?;
                page += 1;
            }
        }
        Ok(())
    }

    fn find_difference(
        &mut self,
        slot: usize,
        pages: std::ops::Range<u32>,
        call: Option<&Call>,
    ) -> Result<(), Stop> {
        for page in pages {
            let expected = self.model.digest(slot, page).unwrap_or(0);
            if self.digest(slot, page, 1)? != driver::fold(0, expected) {
                self.check_bytes(slot, page, call)?;
            }
        }
        Err(Stop::Broken(
            "the digest of a guest's memory differs, and none of its bytes does".to_owned(),
        ))
    }

    /// Compares those bytes of a page that are known.
    fn check_bytes(&mut self, slot: usize, page: u32, call: Option<&Call>) -> Result<(), Stop> {
        let start = u64::from(page) * 4096;
        let bytes = self.peek(slot, start, 4096)?;
        for (place, actual) in (start..).zip(bytes) {
            let Some(expected) = self.model.byte(slot, place) else {
                continue;
            };
            if expected != actual {
                let what = What::Memory {
                    instance: slot,
                    at: u32::try_from(place).unwrap_or(u32::MAX),
                    expected,
                    actual,
                };
                self.trace(|trace| trace.byte(slot, place, expected));
                let rules = self.model.memory_rules(slot, place, call);
                let what = Box::new(what);
                return Err(Stop::from(Deviation { what, rules }));
            }
        }
        Ok(())
    }

    fn learn(&mut self, slot: usize, at: u64, bytes: &[u8]) -> Result<(), Stop> {
        self.trace(|trace| trace.learned(slot, at, bytes));
        self.model.learn(slot, at, bytes).map_err(|deviation| {
            self.trace(|trace| trace.message(slot, &deviation));
            Stop::from(deviation)
        })
    }

    /// What is left to see when all is done: memory of every instance, what buffers hold, the last message.
    fn look_around(&mut self) -> Result<(), Stop> {
        if self.model.profile() == Profile::Disabled {
            return Ok(());
        }
        for slot in 0..SLOTS {
            if !self.model.is_live(slot) {
                continue;
            }
            self.check_memory(slot, None)?;
            self.step(slot, Step::Call(Call::Sync, None))?;
            for (handle, size) in self.model.some_buffers(slot, MOST_LOOKED_AT) {
                let len = i32::try_from(size.min(4096)).unwrap_or(0);
                let call = Call::memcpy_d2h(PLAY_AT.cast_signed(), handle, len);
                let id = Id {
                    base: handle,
                    flip: 0,
                };
                self.step(slot, Step::Call(call, Some(id)))?;
            }
            let call = Call::LastErrorCopy {
                dst_ptr: PLAY_AT.cast_signed(),
                dst_len: 1024,
            };
            self.step(slot, Step::Call(call, None))?;
        }
        Ok(())
    }

    fn instantiate(&mut self, slot: usize) -> Result<(), Stop> {
        let (wasm, limit) = (self.around.wasm, self.around.limit);
        self.trace(|trace| trace.instantiate(slot));
        let host = &mut self.host;
        let guest = guarded(self.around, || match host {
            Some(host) => host.instantiate(wasm, limit),
            None => Err(InstantiateError::Failed("there is no host".to_owned())),
        });
        let guest = match guest {
            Ok(Ok(guest)) => guest,
            Ok(Err(error)) => return Err(Stop::Broken(error.to_string())),
            Err(text) => {
                let call = "instantiation".to_owned();
                return Err(Stop::Fault(Fault::Crash { call, text }));
            }
        };
        self.guests[slot] = Some(guest);
        self.model
            .instantiate_as(slot, self.memory, u64::from(PAGES));
        for (place, bytes) in &layout().segments {
            self.model.poke(slot, u64::from(*place), bytes);
        }
        Ok(())
    }

    fn poke(&mut self, slot: usize, place: u32, bytes: &[u8]) -> Result<(), Stop> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.trace(|trace| trace.poke(slot, place, bytes));
        let mut next = place;
        let (words, tail) = bytes.as_chunks::<8>();
        for word in words {
            let value = Value::I64(i64::from_le_bytes(*word));
            self.guest(slot, "poke", &[at(next), value])?;
            next += 8;
        }
        for byte in tail {
            self.guest(slot, "poke8", &[at(next), Value::I32(i32::from(*byte))])?;
            next += 1;
        }
        self.model.poke(slot, u64::from(place), bytes);
        Ok(())
    }

    fn peek(&mut self, slot: usize, from: u64, len: u64) -> Result<Vec<u8>, Stop> {
        let size = self.model.memory_bytes(slot);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            let place = from + bytes.len() as u64;
            let offset = u32::try_from(place).unwrap_or(u32::MAX);
            if place + 8 <= size {
                let word = self.guest(slot, "peek", &[at(offset)])?;
                bytes.extend(word.to_le_bytes());
            } else {
                let byte = self.guest(slot, "peek8", &[at(offset)])?;
                bytes.extend(byte.to_le_bytes().first());
            }
        }
        bytes.truncate(usize::try_from(len).unwrap_or(0));
        Ok(bytes)
    }

    fn digest(&mut self, slot: usize, page: u32, pages: u32) -> Result<u64, Stop> {
        let args = [at(page * 4096), Value::I32(pages.cast_signed())];
        Ok(self.guest(slot, "digest", &args)?.cast_unsigned())
    }

    /// Calls an export that does not concern the host.
    fn guest(&mut self, slot: usize, export: &str, args: &[Value]) -> Result<i64, Stop> {
        self.invoke(slot, export, args, &|| export.to_owned())
    }

    /// Calls an export that calls the host.
    fn guest_call(
        &mut self,
        slot: usize,
        export: &str,
        args: &[Value],
        call: &Call,
    ) -> Result<i64, Stop> {
        self.invoke(slot, export, args, &|| call.to_string())
    }

    fn invoke(
        &mut self,
        slot: usize,
        export: &str,
        args: &[Value],
        name: &dyn Fn() -> String,
    ) -> Result<i64, Stop> {
        let Some(guest) = self.guests[slot].as_mut() else {
            return Err(Stop::Broken(
                "a call of an instance that is not there".to_owned(),
            ));
        };
        let limit = self.around.limit;
        let outcome = guarded(self.around, || guest.call(export, args, limit))
            .unwrap_or_else(Outcome::Crashed);
        let call = name;
        match outcome {
            Outcome::Returned(values) => Ok(values
                .first()
                .and_then(|value| value.as_integer())
                .unwrap_or(0)),
            Outcome::Trapped(text) => Err(Stop::Fault(Fault::Trap { call: call(), text })),
            Outcome::TimedOut => Err(Stop::Fault(Fault::Hang { call: call() })),
            Outcome::Crashed(text) => Err(Stop::Fault(Fault::Crash { call: call(), text })),
            Outcome::Failed(text) => Err(Stop::Broken(text)),
        }
    }

    fn trace<R>(&self, note: impl FnOnce(&mut Trace) -> R) -> Option<R> {
        let trace = self.around.trace?;
        Some(note(
            &mut trace.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// Ends instances and host; what crashed is given up, since it may crash again.
    fn tear_down(&mut self, crashed: bool) -> Result<(), Stop> {
        let guests = std::mem::take(&mut self.guests);
        let host = self.host.take();
        if crashed {
            std::mem::forget((guests, host));
            return Ok(());
        }
        guarded(self.around, || {
            drop(guests);
            drop(host);
        })
        .map_err(|text| {
            Stop::Fault(Fault::Crash {
                call: "the end of the instances".to_owned(),
                text,
            })
        })
    }
}

/// Calls into the runtime, with panics caught.
fn guarded<R>(around: &Surroundings<'_>, call: impl FnOnce() -> R) -> Result<R, String> {
    (around.mark)(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    (around.mark)(false);
    result.map_err(|panic| {
        panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .map_or_else(
                || "the host panicked".to_owned(),
                |text| format!("the host panicked: {text}"),
            )
    })
}

fn at(place: u32) -> Value {
    Value::I32(place.cast_signed())
}

/// Most instances at a time.
pub(super) const SLOTS: usize = 3;

/// Buffers of an instance that are looked at when all is done.
const MOST_LOOKED_AT: usize = 6;
