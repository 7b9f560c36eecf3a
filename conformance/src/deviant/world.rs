//! What the instances of one deviant host have, and how the reference host serves them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wasi_cuda_host::abi::{Import, Value, ValueType};
use wasi_cuda_host::calls;
use wasi_cuda_host::{Host as CudaHost, Instance};

/// One deviant host and the guests it has served so far.
pub(super) struct World {
    host: Arc<CudaHost>,
    /// Serves what the first refuses for its caps.
    spare: Arc<CudaHost>,
    granted: bool,
    /// One for each instance that ever was; those that have ended stay as what is known of them.
    pub(super) guests: Vec<Guest>,
    /// What mistakes that reach across instances keep.
    pub(super) notes: Notes,
}

/// One guest: its state in the reference host, and what the layer knows of it.
pub(super) struct Guest {
    /// `None` once the guest has ended.
    pub(super) instance: Option<Instance>,
    spare: Option<Instance>,
    spare_ids: BTreeSet<i64>,
    /// Ids that the guest knows under another number.
    pub(super) known_as: BTreeMap<i64, i64>,
    /// Live kernels, oldest first, and the bytes of their PTX.
    pub(super) kernels: Vec<(i64, u64)>,
    /// Live buffers and their sizes.
    pub(super) buffers: BTreeMap<i64, u64>,
    /// The bytes of all live buffers.
    pub(super) buffer_bytes: u64,
    /// Handles that were live once, oldest first, and the bytes of each.
    pub(super) freed: Vec<(i64, u64)>,
    /// The bytes of all buffers that were live once.
    pub(super) freed_bytes: u64,
    /// What mistakes keep.
    pub(super) notes: Notes,
}

/// Room for what a mistake has to remember; each deviant has one mistake, so one set of places serves them all.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) number: i64,
    pub(super) flag: bool,
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) changes: Vec<(usize, u8)>,
    pub(super) ids: BTreeMap<Vec<u8>, i64>,
    pub(super) texts: BTreeMap<i64, (Vec<u8>, Vec<u8>)>,
    pub(super) calls: BTreeMap<i64, Vec<i64>>,
    pub(super) windows: BTreeMap<(u64, u64), Vec<u8>>,
}

impl World {
    pub(super) fn new(host: Arc<CudaHost>, spare: Arc<CudaHost>, granted: bool) -> World {
        World {
            host,
            spare,
            granted,
            guests: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// Adds a guest and answers its number.
    pub(super) fn enter(&mut self) -> usize {
        self.guests.push(Guest {
            instance: Some(self.instance_of(&self.host)),
            spare: None,
            spare_ids: BTreeSet::new(),
            known_as: BTreeMap::new(),
            kernels: Vec::new(),
            buffers: BTreeMap::new(),
            buffer_bytes: 0,
            freed: Vec::new(),
            freed_bytes: 0,
            notes: Notes::default(),
        });
        self.guests.len() - 1
    }

    /// Ends a guest. Its entry stays, so that numbers do not change.
    pub(super) fn leave(&mut self, guest: usize) {
        if let Some(guest) = self.guests.get_mut(guest) {
            guest.instance = None;
            guest.spare = None;
        }
    }

    fn instance_of(&self, host: &Arc<CudaHost>) -> Instance {
        if self.granted {
            host.instance()
        } else {
            host.instance_without_capability()
        }
    }

    /// Makes a call in a guest's name.
    pub(super) fn call(
        &mut self,
        guest: usize,
        import: Import,
        memory: Option<&mut [u8]>,
        args: &[i64],
    ) -> i64 {
        let mut args = args.to_vec();
        let Some(guest) = self.guests.get_mut(guest) else {
            return 0;
        };
        let id = id_of(import, &args);
        let real = id.map(|id| guest.known_as.get(&id).copied().unwrap_or(id));
        if let Some(real) = real {
            set_id(import, &mut args, real);
        }
        let on_spare = real.is_some_and(|id| guest.spare_ids.contains(&id));
        let instance = if on_spare {
            guest.spare.as_mut()
        } else {
            guest.instance.as_mut()
        };
        let answer = instance.map_or(0, |instance| make(instance, import, memory, &args));
        guest.keep_account(import, &args, answer, id);
        answer
    }

    /// Makes a load or an allocation with another host's quota.
    pub(super) fn call_spare(
        &mut self,
        guest: usize,
        import: Import,
        memory: Option<&mut [u8]>,
        args: &[i64],
    ) -> i64 {
        let fresh = self.instance_of(&self.spare);
        let Some(guest) = self.guests.get_mut(guest) else {
            return 0;
        };
        let spare = guest.spare.get_or_insert(fresh);
        let answer = make(spare, import, memory, args);
        if answer >= 0 {
            guest.spare_ids.insert(answer);
        }
        guest.keep_account(import, args, answer, None);
        answer
    }
}

impl Guest {
    /// The PTX bytes of all live kernels.
    pub(super) fn ptx_bytes(&self) -> u64 {
        self.kernels.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Notes what a call that was made changed; `named` is the id as the guest named it.
    fn keep_account(&mut self, import: Import, args: &[i64], answer: i64, named: Option<i64>) {
        match (import, args) {
            (Import::LoadPtx, [_, len, ..]) if answer >= 0 => {
                self.kernels
                    .push((answer, u64::try_from(*len).unwrap_or(0)));
            }
            (Import::Alloc, [low, high]) if answer >= 0 => {
                let bytes = join(*low, *high).cast_unsigned();
                self.buffers.insert(answer, bytes);
                self.buffer_bytes += bytes;
            }
            (Import::Free, [low, high]) if answer == 0 => {
                let handle = join(*low, *high);
                if let Some(bytes) = self.buffers.remove(&handle) {
                    self.buffer_bytes -= bytes;
                    self.freed_bytes += bytes;
                    self.freed.push((named.unwrap_or(handle), bytes));
                }
            }
            _ => {}
        }
    }
}

/// Makes the call; the arguments are those of the import's parameters, cut to their widths.
fn make(instance: &mut Instance, import: Import, memory: Option<&mut [u8]>, args: &[i64]) -> i64 {
    let args: Vec<Value> = import
        .params()
        .iter()
        .zip(args)
        .map(|((_, ty), arg)| match ty {
            ValueType::I32 => Value::I32(low_half(*arg)),
            ValueType::I64 => Value::I64(*arg),
        })
        .collect();
    calls::call(import, instance, memory, &args)
        .unwrap_or_else(|| unreachable!("the arguments have the import's types"))
        .as_i64()
}

/// The kernel id or the handle among the arguments.
pub(super) fn id_of(import: Import, args: &[i64]) -> Option<i64> {
    match (import, args) {
        (Import::Launch, [id, ..]) => Some(*id),
        (Import::Free, [low, high])
        | (Import::MemcpyH2d, [low, high, ..])
        | (Import::MemcpyD2h, [_, low, high, ..]) => Some(join(*low, *high)),
        _ => None,
    }
}

/// Puts another id in the place of the one among the arguments.
pub(super) fn set_id(import: Import, args: &mut [i64], id: i64) {
    match (import, args) {
        (Import::Launch, [place, ..]) => *place = id,
        (Import::Free, [low, high])
        | (Import::MemcpyH2d, [low, high, ..])
        | (Import::MemcpyD2h, [_, low, high, ..]) => {
            (*low, *high) = (i64::from(low_half(id)), id >> 32);
        }
        _ => {}
    }
}

/// A 64-bit number from its halves.
pub(super) fn join(low: i64, high: i64) -> i64 {
    i64::from(low_half(low).cast_unsigned()) | high << 32
}

/// The low 32 bits.
pub(super) fn low_half(number: i64) -> i32 {
    number as i32
}
