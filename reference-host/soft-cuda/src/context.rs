//! Contexts: who owns what, which one is current, and which has failed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::link::Link;
use crate::error::Error;
use crate::event::Event;
use crate::handle::{Handle, Kind, Table};
use crate::memory::{DeviceMemory, shared};
use crate::module::Modules;
use crate::queue::{Queue, StreamId};
use crate::settings::Settings;
use crate::stream::Stream;
use crate::types::CUcontext;

/// A context. Its work is one queue, its state is behind one lock.
#[derive(Debug)]
pub(crate) struct Context {
    /// Its own number, by which handles of what it owns name it.
    pub(crate) serial: u32,
    pub(crate) device: i32,
    flags: AtomicU32,
    is_primary: bool,
    /// Uses that were counted by name, beside the first.
    attached: AtomicU32,
    destroyed: AtomicBool,
    /// Held by whoever carries out work of the queue, so that it stays in order while functions of the program run without the state.
    pub(crate) engine: Mutex<()>,
    state: Mutex<State>,
}

/// What a context owns.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The error that ended it; every call but its destruction answers it from then on.
    pub(crate) lost: Option<Error>,
    pub(crate) queue: Queue,
    pub(crate) memory: DeviceMemory,
    pub(crate) streams: Table<Stream>,
    /// What a program asked of streams beside, by attribute.
    pub(crate) stream_wishes: BTreeMap<(StreamId, u32), [u64; 8]>,
    pub(crate) events: Table<Event>,
    pub(crate) modules: Modules,
    pub(crate) links: Table<Link>,
    pub(crate) settings: Settings,
}

impl Context {
    /// Makes a context and keeps it.
    pub(crate) fn create(flags: u32) -> Result<Arc<Self>, Error> {
        Self::make(flags, false)
    }

    /// Makes a context that only [`primary`](crate::primary) ends.
    pub(crate) fn create_primary(flags: u32) -> Result<Arc<Self>, Error> {
        Self::make(flags, true)
    }

    fn make(flags: u32, is_primary: bool) -> Result<Arc<Self>, Error> {
        let mut contexts = contexts();
        let serial = contexts.last.checked_add(1).ok_or(Error::OutOfMemory)?;
        contexts.last = serial;
        let context = Arc::new(Self {
            serial,
            device: 0,
            flags: AtomicU32::new(flags),
            is_primary,
            attached: AtomicU32::new(0),
            destroyed: AtomicBool::new(false),
            engine: Mutex::default(),
            state: Mutex::default(),
        });
        contexts.live.insert(serial, Arc::clone(&context));
        Ok(context)
    }

    /// The context with this handle.
    pub(crate) fn of(handle: CUcontext) -> Result<Arc<Self>, Error> {
        let handle = Handle::parse_unowned(handle.0, Kind::Context).ok_or(Error::InvalidContext)?;
        Self::numbered(handle.serial).ok_or(Error::InvalidContext)
    }

    /// The live context with this number.
    pub(crate) fn numbered(serial: u32) -> Option<Arc<Self>> {
        contexts().live.get(&serial).cloned()
    }

    /// The calling thread's context, whether or not it has failed.
    pub(crate) fn current() -> Result<Arc<Self>, Error> {
        let context = top().ok_or(Error::InvalidContext)?;
        if context.destroyed.load(Ordering::Acquire) {
            return Err(Error::ContextIsDestroyed);
        }
        Ok(context)
    }

    /// The calling thread's context, to work with.
    pub(crate) fn working() -> Result<Arc<Self>, Error> {
        let context = Self::current()?;
        match context.state().lost {
            Some(error) => Err(error),
            None => Ok(Arc::clone(&context)),
        }
    }

    /// The handle.
    pub(crate) fn handle(&self) -> CUcontext {
        let handle = Handle {
            context: 0,
            serial: self.serial,
        };
        CUcontext(handle.bits(Kind::Context))
    }

    /// The flags that it was made with or given since.
    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    pub(crate) fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    pub(crate) fn is_primary(&self) -> bool {
        self.is_primary
    }

    /// Counts one more use.
    pub(crate) fn attach(&self) {
        let more = |uses: u32| uses.checked_add(1);
        let _ = self
            .attached
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Counts one use less; whether that was the last.
    pub(crate) fn detach(&self) -> bool {
        let less = |uses: u32| uses.checked_sub(1);
        self.attached
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_err()
    }

    /// Its state, whatever happened to it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its state, to work with.
    pub(crate) fn open(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.state();
        match state.lost {
            Some(error) => Err(error),
            None => Ok(state),
        }
    }

    /// Ends it and everything it owns; work that somebody still carries out for it finds it lost.
    pub(crate) fn destroy(&self) {
        self.destroyed.store(true, Ordering::Release);
        contexts().live.remove(&self.serial);
        *self.state() = State {
            lost: Some(Error::ContextIsDestroyed),
            ..State::default()
        };
        shared::free_of(self.serial);
    }
}

/// The calling thread's contexts, the current one last.
pub(crate) fn push(context: Arc<Context>) {
    STACK.with_borrow_mut(|stack| stack.push(context));
}

/// Takes the current context off.
pub(crate) fn pop() -> Option<Arc<Context>> {
    STACK.with_borrow_mut(Vec::pop)
}

/// The calling thread's current context, whatever happened to it.
pub(crate) fn top() -> Option<Arc<Context>> {
    STACK.with_borrow(|stack| stack.last().cloned())
}

/// All live contexts, in the order of their making.
pub(crate) fn all() -> Vec<Arc<Context>> {
    contexts().live.values().cloned().collect()
}

#[derive(Default)]
struct Contexts {
    last: u32,
    live: BTreeMap<u32, Arc<Context>>,
}

fn contexts() -> MutexGuard<'static, Contexts> {
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

static CONTEXTS: Mutex<Contexts> = Mutex::new(Contexts {
    last: 0,
    live: BTreeMap::new(),
});

thread_local! {
    static STACK: RefCell<Vec<Arc<Context>>> = const { RefCell::new(Vec::new()) };
}
