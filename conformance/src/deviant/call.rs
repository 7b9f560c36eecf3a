//! One call of a guest, as a deviant sees it and passes it on.

use wasi_cuda_host::abi::{AbiError, Import};
use wasi_cuda_host::device::DeviceError;
use wasi_cuda_host::{Error, Refusal};

use super::code;
use super::world::{Guest, Notes, World, id_of, join, set_id};

/// A call on its way from a guest to the reference host.
pub(super) struct Call<'a> {
    pub(super) import: Import,
    /// Sign-extended, in the order of the import's parameters.
    pub(super) args: Vec<i64>,
    /// The caller's memory.
    pub(super) memory: Option<&'a mut [u8]>,
    /// What the caller exports as its memory.
    pub(super) exported: Exported,
    pub(super) world: &'a mut World,
    /// The calling guest's number.
    pub(super) me: usize,
    /// Makes the call trap instead of answering.
    pub(super) trap: bool,
}

/// What a guest exports as `memory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exported {
    Nothing,
    Memory,
    Memory64,
    SharedMemory,
    /// Something that is no memory.
    Other,
}

/// What the reference host answers to the arguments as they are now, and with what else a deviant may make the call.
impl Call<'_> {
    /// Lets the reference host make the call.
    pub(super) fn pass(&mut self) -> i64 {
        self.world
            .call(self.me, self.import, self.memory.as_deref_mut(), &self.args)
    }

    /// The same in another guest's name, with this guest's memory.
    pub(super) fn pass_as(&mut self, guest: usize) -> i64 {
        self.world
            .call(guest, self.import, self.memory.as_deref_mut(), &self.args)
    }

    /// The same with quota that nothing has used yet: for loads and allocations.
    pub(super) fn pass_spare(&mut self) -> i64 {
        self.world
            .call_spare(self.me, self.import, self.memory.as_deref_mut(), &self.args)
    }

    /// The same with other bytes as the caller's memory.
    pub(super) fn pass_on(&mut self, memory: &mut [u8]) -> i64 {
        self.world
            .call(self.me, self.import, Some(memory), &self.args)
    }

    /// Makes another call in this guest's name.
    pub(super) fn also(&mut self, import: Import, memory: Option<&mut [u8]>, args: &[i64]) -> i64 {
        self.world.call(self.me, import, memory, args)
    }

    /// The same with this guest's memory.
    pub(super) fn also_here(&mut self, import: Import, args: &[i64]) -> i64 {
        self.world
            .call(self.me, import, self.memory.as_deref_mut(), args)
    }

    /// Passes the call on and answers with another code where the answer is `from`.
    pub(super) fn recode(&mut self, from: AbiError, to: AbiError) -> i64 {
        self.instead(from, code(to))
    }

    /// Passes the call on and answers with another number where the answer is `from`.
    pub(super) fn instead(&mut self, from: AbiError, to: i64) -> i64 {
        match self.pass() {
            answer if answer == code(from) => to,
            answer => answer,
        }
    }

    /// Answers with this code where `wrong` holds, as if the call broke a rule.
    pub(super) fn refuse_if(&mut self, wrong: bool, error: AbiError) -> i64 {
        if wrong { code(error) } else { self.pass() }
    }

    /// Traps.
    pub(super) fn trap_if(&mut self, wrong: bool) -> i64 {
        if wrong {
            self.trap = true;
            0
        } else {
            self.pass()
        }
    }
}

/// The arguments.
impl Call<'_> {
    /// An argument by its parameter's name, sign-extended.
    pub(super) fn arg(&self, name: &str) -> i64 {
        self.place(name)
            .and_then(|place| self.args.get(place))
            .copied()
            .unwrap_or_else(|| panic!("{:?} has no parameter `{name}`", self.import))
    }

    /// The same, unsigned as offsets and lengths are.
    pub(super) fn unsigned(&self, name: &str) -> u64 {
        self.arg(name).cast_unsigned() & u64::from(u32::MAX)
    }

    /// Replaces an argument.
    pub(super) fn set(&mut self, name: &str, value: i64) -> &mut Self {
        match self.place(name).and_then(|place| self.args.get_mut(place)) {
            Some(arg) => *arg = value,
            None => panic!("{:?} has no parameter `{name}`", self.import),
        }
        self
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.import
            .params()
            .iter()
            .position(|(param, _)| *param == name)
    }

    /// The kernel id or the handle that the call names.
    pub(super) fn id(&self) -> i64 {
        id_of(self.import, &self.args).unwrap_or_else(|| panic!("{:?} names no id", self.import))
    }

    /// Replaces it.
    pub(super) fn set_id(&mut self, id: i64) -> &mut Self {
        set_id(self.import, &mut self.args, id);
        self
    }

    /// The size that an allocation asks for.
    pub(super) fn size(&self) -> u64 {
        join(self.arg("size_lo"), self.arg("size_hi")).cast_unsigned()
    }

    /// Replaces it.
    pub(super) fn set_size(&mut self, bytes: u64) -> &mut Self {
        let bytes = bytes.cast_signed();
        self.set("size_lo", bytes & i64::from(u32::MAX))
            .set("size_hi", bytes >> 32)
    }

    /// The three axes of a shape: `grid` or `block`.
    pub(super) fn axes(&self, shape: &str) -> [i64; 3] {
        AXES.map(|axis| self.arg(&format!("{shape}_{axis}")))
    }

    /// Replaces them.
    pub(super) fn set_axes(&mut self, shape: &str, axes: [i64; 3]) -> &mut Self {
        for (axis, value) in AXES.into_iter().zip(axes) {
            self.set(&format!("{shape}_{axis}"), value);
        }
        self
    }
}

const AXES: [&str; 3] = ["x", "y", "z"];

/// The memory.
impl Call<'_> {
    /// The memory's size, 0 when there is none.
    pub(super) fn memory_len(&self) -> u64 {
        self.memory
            .as_deref()
            .map_or(0, |memory| memory.len() as u64)
    }

    /// The bytes of a region given by the names of its two parameters; `None` outside the memory.
    pub(super) fn bytes(&self, pointer: &str, len: &str) -> Option<&[u8]> {
        let start = usize::try_from(self.unsigned(pointer)).ok()?;
        let end = start.checked_add(usize::try_from(self.arg(len)).ok()?)?;
        self.memory.as_deref()?.get(start..end)
    }

    /// One byte of the memory.
    pub(super) fn byte(&self, at: u64) -> Option<u8> {
        self.memory
            .as_deref()?
            .get(usize::try_from(at).ok()?)
            .copied()
    }

    /// The first byte behind a region.
    pub(super) fn end(&self, pointer: &str, len: &str) -> u64 {
        self.unsigned(pointer) + self.unsigned(len)
    }

    /// Whether a region reaches over the memory's end; not where there is no memory, which is another matter.
    pub(super) fn outside(&self, pointer: &str, len: &str) -> bool {
        self.memory.is_some() && self.end(pointer, len) > self.memory_len()
    }

    /// Stores bytes where they are inside the memory.
    pub(super) fn store(&mut self, at: u64, bytes: &[u8]) {
        let place = usize::try_from(at).ok().and_then(|start| {
            let end = start.checked_add(bytes.len())?;
            self.memory.as_deref_mut()?.get_mut(start..end)
        });
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
    }

    /// The memory's bytes in a copy that is at least `bytes` longer.
    pub(super) fn memory_with_room(&self, bytes: usize) -> Vec<u8> {
        let mut copy = self.memory.as_deref().unwrap_or_default().to_vec();
        copy.resize(copy.len() + bytes, 0);
        copy
    }

    /// Where the memory differs from an earlier copy of its start, with the byte that each has there: the copy's and the
    /// memory's.
    pub(super) fn changes_since(&self, before: &[u8]) -> Vec<(usize, u8, u8)> {
        let now = self.memory.as_deref().unwrap_or_default();
        differences(before, now)
    }

    /// Makes the memory equal to the start of a copy.
    pub(super) fn take_back(&mut self, copy: &[u8]) {
        if let Some(memory) = self.memory.as_deref_mut()
            && let Some(start) = copy.get(..memory.len())
        {
            memory.copy_from_slice(start);
        }
    }
}

/// The guests.
impl Call<'_> {
    /// The calling guest.
    pub(super) fn guest(&mut self) -> &mut Guest {
        &mut self.world.guests[self.me]
    }

    /// What the mistake keeps for the calling guest.
    pub(super) fn notes(&mut self) -> &mut Notes {
        &mut self.guest().notes
    }

    /// The numbers of all other guests that have not ended.
    pub(super) fn others(&self) -> Vec<usize> {
        let live = self.world.guests.iter().enumerate();
        live.filter(|(number, guest)| *number != self.me && guest.instance.is_some())
            .map(|(number, _)| number)
            .collect()
    }

    /// Why the calling guest's newest refused call was refused before any device saw it.
    pub(super) fn refusal(&mut self) -> Option<Refusal> {
        match self.guest().instance.as_ref()?.last_error()? {
            Error::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// What the device found wrong with the calling guest's newest refused call.
    pub(super) fn device_error(&mut self) -> Option<&DeviceError> {
        match self.guest().instance.as_ref()?.last_error()? {
            Error::Device(error) => Some(error),
            _ => None,
        }
    }
}

/// Where two texts differ, with the byte of each. By pages first: most of a large memory is as it was.
pub(super) fn differences(old: &[u8], new: &[u8]) -> Vec<(usize, u8, u8)> {
    const PAGE: usize = 4096;
    let pages = old.chunks(PAGE).zip(new.chunks(PAGE)).enumerate();
    pages
        .filter(|(_, (old, new))| old != new)
        .flat_map(|(page, (old, new))| {
            let bytes = old.iter().zip(new).enumerate();
            bytes
                .filter(|(_, (old, new))| old != new)
                .map(move |(at, (old, new))| (page * PAGE + at, *old, *new))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_in_every_page() {
        let mut new = vec![0; 10_000];
        let old = new.clone();
        assert_eq!(differences(&old, &new), []);
        for (at, byte) in [(0, 1), (4095, 2), (4096, 3), (9_999, 4)] {
            new[at] = byte;
        }
        let expected = [(0, 0, 1), (4095, 0, 2), (4096, 0, 3), (9_999, 0, 4)];
        assert_eq!(differences(&old, &new), expected);
        // What only one of them has is no difference.
        assert_eq!(differences(&old[..4096], &new), expected[..2]);
    }
}
