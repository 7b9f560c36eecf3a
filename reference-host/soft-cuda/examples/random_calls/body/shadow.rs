//! Memory of a sequence's own, with a second copy of what must be in it.

use std::ffi::c_void;
use std::ptr::null_mut;

use soft_cuda::api::{context, copy, fill, launch, memory, module};
use soft_cuda::{CUcontext, CUfunction, CUmodule, CUresult, CUstream};

use crate::body::sequence::{Caller, Violation};
use crate::body::sources;
use crate::body::world::Kind;

/// Pieces of memory that no call but those of this file writes.
pub(crate) struct Shadow {
    contexts: Vec<Own>,
    pieces: Vec<Piece>,
}

/// A context with a kernel that writes a word.
struct Own {
    context: CUcontext,
    store: CUfunction,
}

struct Piece {
    address: u64,
    /// What must be there.
    bytes: Vec<u8>,
    context: CUcontext,
}

impl Shadow {
    /// Makes contexts of its own, which other calls know and may destroy.
    pub(crate) fn new(caller: &mut Caller) -> Result<Self, Violation> {
        let mut shadow = Self {
            contexts: Vec::new(),
            pieces: Vec::new(),
        };
        for _ in 0..caller.rng.u32(1..=2) {
            let (mut made, mut loaded, mut store) = (CUcontext(0), CUmodule(0), CUfunction(0));
            // SAFETY: places are good, names and sources are strings.
            let code = unsafe {
                let mut code = context::cuCtxCreate_v2(&mut made, 0, 0);
                if code == 0 {
                    code = module::cuModuleLoadData(&mut loaded, sources::GOOD.as_ptr().cast());
                }
                if code == 0 {
                    code = module::cuModuleGetFunction(&mut store, loaded, c"store".as_ptr());
                }
                code
            };
            if code != 0 {
                return Err(caller.violation(format!("a context and a kernel in it: {code}")));
            }
            let sequence = caller.sequence;
            if !caller
                .world
                .known()
                .made(Kind::Context, made.0, 0, sequence)
            {
                return Err(caller.violation("a context was given out again".into()));
            }
            shadow.contexts.push(Own {
                context: made,
                store,
            });
        }
        Ok(shadow)
    }

    /// Its contexts.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = usize> {
        self.contexts.iter().map(|own| own.context.0)
    }

    /// One call that makes, changes, reads or frees memory.
    pub(crate) fn step(&mut self, caller: &mut Caller) -> Result<(), Violation> {
        let with = caller.rng.usize(0..self.contexts.len());
        let with = self.contexts[with].context;
        // SAFETY: handles are never followed.
        let code = unsafe { context::cuCtxSetCurrent(with) };
        if code != 0 {
            return self.failed(caller, "making current", code, &[with]);
        }
        if self.pieces.len() < 2 {
            return self.allocate(caller, with);
        }
        let at = caller.rng.usize(0..self.pieces.len());
        match caller.rng.u32(0..12) {
            0 if self.pieces.len() < 6 => self.allocate(caller, with),
            0 | 1 => self.free(caller, with, at),
            2 | 3 => self.write(caller, with, at),
            4 | 5 => self.fill(caller, with, at),
            6 | 7 => self.copy(caller, with, at),
            8 | 9 => self.store(caller, at),
            _ => self.compare(caller, with, at),
        }
    }

    /// Reads everything and compares.
    pub(crate) fn compare_all(&mut self, caller: &mut Caller) -> Result<(), Violation> {
        for at in (0..self.pieces.len()).rev() {
            // A piece that cannot be read any more is forgotten, and others with it.
            if at < self.pieces.len() {
                let with = self.pieces[at].context;
                // SAFETY: handles are never followed.
                let code = unsafe { context::cuCtxSetCurrent(with) };
                match code {
                    0 => self.compare(caller, with, at)?,
                    code => self.failed(caller, "making current", code, &[with])?,
                }
            }
        }
        Ok(())
    }

    fn allocate(&mut self, caller: &mut Caller, with: CUcontext) -> Result<(), Violation> {
        let bytes: Vec<u8> = {
            let len = caller.rng.usize(4..2000);
            std::iter::repeat_with(|| caller.rng.u8(..))
                .take(len)
                .collect()
        };
        let mut address = 0;
        // SAFETY: the place is good.
        let code = unsafe {
            match caller.rng.bool() {
                true => memory::cuMemAlloc_v2(&mut address, bytes.len()),
                false => memory::cuMemAllocAsync(&mut address, bytes.len(), CUstream(0)),
            }
        };
        caller.note(format!(
            "own memory: {address:#x}, {} bytes -> {code}",
            bytes.len()
        ));
        if code == OUT_OF_MEMORY {
            // The device's pool may be one with a limit by now.
            return Ok(());
        }
        if code != 0 {
            return self.failed(caller, "allocating", code, &[with]);
        }
        // SAFETY: so many bytes are there.
        let code = unsafe { copy::cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()) };
        if code != 0 {
            return self.failed(caller, "writing what was allocated", code, &[with]);
        }
        self.pieces.push(Piece {
            address,
            bytes,
            context: with,
        });
        Ok(())
    }

    fn free(&mut self, caller: &mut Caller, with: CUcontext, at: usize) -> Result<(), Violation> {
        let piece = self.pieces.swap_remove(at);
        // SAFETY: addresses are never followed.
        let code = unsafe { memory::cuMemFree_v2(piece.address) };
        caller.note(format!("own memory: free {:#x} -> {code}", piece.address));
        if code != 0 {
            return self.failed(caller, "freeing", code, &[with, piece.context]);
        }
        let mut byte = 0u8;
        // SAFETY: the place is good for a byte.
        let code = unsafe { copy::cuMemcpyDtoH_v2((&raw mut byte).cast(), piece.address, 1) };
        match code {
            0 => Err(caller.violation("memory was read after it was freed".into())),
            _ => Ok(()),
        }
    }

    /// A range of a piece.
    fn range(&self, caller: &mut Caller, at: usize) -> std::ops::Range<usize> {
        let len = self.pieces[at].bytes.len();
        let start = caller.rng.usize(0..len);
        start..start + caller.rng.usize(1..=len - start)
    }

    fn write(&mut self, caller: &mut Caller, with: CUcontext, at: usize) -> Result<(), Violation> {
        let range = self.range(caller, at);
        let bytes: Vec<_> = range.clone().map(|_| caller.rng.u8(..)).collect();
        let address = self.pieces[at].address + range.start as u64;
        let from: *const c_void = bytes.as_ptr().cast();
        // SAFETY: so many bytes are there until the call returns, and those of pageable memory are read until then.
        let code = unsafe {
            match caller.rng.bool() {
                true => copy::cuMemcpyHtoD_v2(address, from, bytes.len()),
                false => copy::cuMemcpyHtoDAsync_v2(address, from, bytes.len(), CUstream(2)),
            }
        };
        caller.note(format!(
            "own memory: write {address:#x}, {} bytes -> {code}",
            bytes.len()
        ));
        if code != 0 {
            let owner = self.pieces[at].context;
            return self.failed(caller, "writing", code, &[with, owner]);
        }
        self.pieces[at].bytes[range].copy_from_slice(&bytes);
        Ok(())
    }

    fn fill(&mut self, caller: &mut Caller, with: CUcontext, at: usize) -> Result<(), Violation> {
        let Piece {
            address, context, ..
        } = self.pieces[at];
        let mut range = self.range(caller, at);
        if caller.rng.u32(0..4) == 0 {
            range = 0..self.pieces[at].bytes.len();
        }
        let value = caller.rng.u32(..);
        let start = address + range.start as u64;
        let (size, code) = match caller.rng.u32(0..3) {
            // SAFETY: addresses are never followed.
            0 => (1, unsafe {
                fill::cuMemsetD8_v2(start, value as u8, range.len())
            }),
            // SAFETY: addresses are never followed.
            1 => (1, unsafe {
                fill::cuMemsetD8Async(start, value as u8, range.len(), CUstream(0))
            }),
            _ => {
                range.start &= !3;
                range.end = range.start + range.len() / 4 * 4;
                let start = address + range.start as u64;
                // SAFETY: addresses are never followed.
                (4, unsafe {
                    fill::cuMemsetD32Async(start, value, range.len() / 4, CUstream(1))
                })
            }
        };
        caller.note(format!(
            "own memory: fill {start:#x}, {range:?} of {size} -> {code}"
        ));
        if code != 0 {
            return self.failed(caller, "filling", code, &[with, context]);
        }
        for chunk in self.pieces[at].bytes[range].chunks_mut(size) {
            chunk.copy_from_slice(&value.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }

    fn copy(&mut self, caller: &mut Caller, with: CUcontext, at: usize) -> Result<(), Violation> {
        let from = caller.rng.usize(0..self.pieces.len());
        let source = self.range(caller, from);
        let room = self.pieces[at].bytes.len();
        let len = source.len().min(room);
        let start = caller.rng.usize(0..=room - len);
        let to_address = self.pieces[at].address + start as u64;
        let from_address = self.pieces[from].address + source.start as u64;
        // SAFETY: addresses are never followed.
        let code = unsafe {
            match caller.rng.u32(0..3) {
                0 => copy::cuMemcpyDtoD_v2(to_address, from_address, len),
                1 => copy::cuMemcpyAsync(to_address, from_address, len, CUstream(0)),
                _ => copy::cuMemcpyDtoDAsync_v2(to_address, from_address, len, CUstream(0)),
            }
        };
        caller.note(format!(
            "own memory: copy {from_address:#x} to {to_address:#x}, {len} bytes -> {code}"
        ));
        let owners = [with, self.pieces[at].context, self.pieces[from].context];
        if code != 0 {
            return self.failed(caller, "copying", code, &owners);
        }
        let bytes = self.pieces[from].bytes[source.start..source.start + len].to_vec();
        self.pieces[at].bytes[start..start + len].copy_from_slice(&bytes);
        Ok(())
    }

    /// Has a kernel write a word.
    fn store(&mut self, caller: &mut Caller, at: usize) -> Result<(), Violation> {
        let Piece {
            address, context, ..
        } = self.pieces[at];
        let start = caller.rng.usize(0..=self.pieces[at].bytes.len() - 4) & !3;
        let (mut address, mut value) = (address + start as u64, caller.rng.u32(..));
        let own = self.contexts.iter().find(|own| own.context == context);
        let store = own.map_or(CUfunction(0), |own| own.store);
        let mut params: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut value).cast()];
        // SAFETY: the kernel has two parameters, and so many places there are; handles are never followed.
        let code = unsafe {
            match context::cuCtxSetCurrent(context) {
                0 => launch::cuLaunchKernel(
                    store,
                    1,
                    1,
                    1,
                    1,
                    1,
                    1,
                    0,
                    CUstream(0),
                    params.as_mut_ptr(),
                    null_mut(),
                ),
                code => code,
            }
        };
        caller.note(format!(
            "own memory: store {value:#x} at {address:#x} -> {code}"
        ));
        if code != 0 {
            return self.failed(caller, "launching", code, &[context]);
        }
        self.pieces[at].bytes[start..start + 4].copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn compare(
        &mut self,
        caller: &mut Caller,
        with: CUcontext,
        at: usize,
    ) -> Result<(), Violation> {
        let piece = &self.pieces[at];
        let mut bytes = vec![0u8; piece.bytes.len()];
        // SAFETY: so many bytes are there.
        let code =
            unsafe { copy::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), piece.address, bytes.len()) };
        caller.note(format!(
            "own memory: read {:#x}, {} bytes -> {code}",
            piece.address,
            bytes.len()
        ));
        if code != 0 {
            let owner = piece.context;
            return self.failed(caller, "reading", code, &[with, owner]);
        }
        let different = bytes
            .iter()
            .zip(&piece.bytes)
            .position(|(got, expected)| got != expected);
        match different {
            Some(index) => {
                let (got, expected) = (bytes[index], piece.bytes[index]);
                Err(caller.violation(format!("byte {index} is {got:#x} and not {expected:#x}")))
            }
            None => Ok(()),
        }
    }

    /// A call failed that had good arguments: right only where a context has failed, or somebody destroys it.
    fn failed(
        &mut self,
        caller: &mut Caller,
        what: &str,
        code: CUresult,
        contexts: &[CUcontext],
    ) -> Result<(), Violation> {
        let known = caller.world.known();
        let is_doomed = contexts.iter().any(|one| known.is_doomed(one.0));
        drop(known);
        if !is_doomed && !FAULTS.contains(&code) {
            return Err(caller.violation(format!("{what} own memory: {code}")));
        }
        self.pieces
            .retain(|piece| !contexts.contains(&piece.context));
        Ok(())
    }
}

const OUT_OF_MEMORY: CUresult = 2;
/// What a context that has failed answers.
const FAULTS: &[CUresult] = &[700, 702, 710, 714, 716, 717, 718, 719];
