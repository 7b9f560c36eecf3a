//! From an operation to a call.

use super::layout::{ARGV_AT, PLAY_AT, PLAY_BYTES, layout};
use super::{Action, Args, Entry, From, Length, Operation, Pick, Place, Size, Text, Twist, Window};
use crate::model::Model;
use crate::model::call::Call;
use crate::model::instance::{Ended, Instance, Source, Table};
use crate::model::kernel::{Known, Param, known};

/// What an operation comes to in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Where the guest first writes the bytes that [`resolve`] has put in its buffer, if there are any.
    pub poke_at: u32,
    /// Then this is done.
    pub step: Step,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A call, and the id it names, if it names one.
    Call(Call, Option<Id>),
    /// Loads or allocations, the same so many times, up to the first that is refused.
    Many(u16, Call),
    /// Nothing more than the poke.
    Poke,
    /// Memory grows by a page.
    Grow,
    /// The instance ends.
    End,
}

/// An id as a call names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    /// One that was given out, or a made-up number.
    pub base: i64,
    /// The bits that are turned over.
    pub flip: i64,
}

impl Id {
    /// The number that is passed.
    pub fn number(self) -> i64 {
        self.base ^ self.flip
    }
}

/// Turns an operation of this instance into a call; `poke` gets the bytes to write first.
///
/// Without such an instance the call is a `sync`.
pub fn resolve(
    operation: &Operation,
    number: usize,
    model: &Model,
    poke: &mut Vec<u8>,
) -> Resolved {
    poke.clear();
    let Some(instance) = model.instance(number) else {
        return Resolved {
            poke_at: 0,
            step: Step::Call(Call::Sync, None),
        };
    };
    let scene = Scene {
        model,
        number,
        instance,
    };
    let mut poke_at = 0;
    let step = match operation.action {
        Action::Sync => Step::Call(Call::Sync, None),
        Action::LastErrorLen => Step::Call(Call::LastErrorLen, None),
        Action::LastErrorCopy { to, len } => {
            let dst_len = length(len, 0);
            let dst_ptr = scene.place(to, dst_len);
            Step::Call(Call::LastErrorCopy { dst_ptr, dst_len }, None)
        }
        Action::Alloc(size) => Step::Call(Call::alloc(scene.size(size)), None),
        Action::Free(pick) => {
            let id = scene.pick(pick, |it| &it.buffers, |it| &it.buffers);
            Step::Call(Call::free(id.number()), Some(id))
        }
        Action::CopyIn { buffer, from, len } => {
            let (id, len) = scene.buffer(buffer, len);
            let call = Call::memcpy_h2d(id.number(), scene.place(from, len), len);
            Step::Call(call, Some(id))
        }
        Action::CopyOut { buffer, to, len } => {
            let (id, len) = scene.buffer(buffer, len);
            let call = Call::memcpy_d2h(scene.place(to, len), id.number(), len);
            Step::Call(call, Some(id))
        }
        Action::Load { text, entry } => Step::Call(scene.load(text, entry), None),
        Action::Launch {
            kernel,
            shape,
            args,
        } => {
            let id = scene.pick(kernel, |it| &it.kernels, |it| &it.kernels);
            let args_len = scene.args(id.number(), &args, poke);
            let args_ptr = match args.at {
                None => ARGV_AT.cast_signed(),
                Some(place) => scene.place(place, args_len),
            };
            poke_at = args_ptr.cast_unsigned();
            let call = Call::Launch {
                kernel_id: id.number(),
                grid: shape.grid,
                block: shape.block,
                shared_mem: shape.shared_bytes,
                args_ptr,
                args_len,
            };
            Step::Call(call, Some(id))
        }
        Action::Poke { at, value } => {
            poke.extend(value.to_le_bytes());
            poke_at = scene.place(at, 8).cast_unsigned();
            Step::Poke
        }
        Action::Grow => Step::Grow,
        Action::AllocMany(count, size) => Step::Many(count, Call::alloc(scene.size(size))),
        Action::LoadMany(count) => Step::Many(count, scene.load(Text::Known(0), Entry::Right)),
        Action::End => Step::End,
    };
    // A guest cannot write past its own memory.
    let room = instance
        .memory
        .size_bytes
        .saturating_sub(u64::from(poke_at));
    poke.truncate(usize::try_from(room).unwrap_or(usize::MAX));
    Resolved { poke_at, step }
}

struct Scene<'a> {
    model: &'a Model,
    number: usize,
    instance: &'a Instance,
}

impl Scene<'_> {
    fn pick<T>(
        &self,
        pick: Pick,
        table: impl Fn(&Instance) -> &Table<T>,
        ended: impl Fn(&Ended) -> &[i64],
    ) -> Id {
        let index = usize::from(pick.index);
        let own = table(self.instance);
        let base = match pick.from {
            From::Live => own.nth(index),
            From::Dead => own.nth_dead(index),
            From::Foreign => self
                .model
                .instances
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != self.number)
                .find_map(|(_, other)| table(other.as_ref()?).nth(index)),
            From::Ended => {
                let ended = ended(&self.model.ended);
                index
                    .checked_rem(ended.len())
                    .and_then(|index| ended.get(ended.len() - 1 - index).copied())
            }
            From::MadeUp => None,
        };
        match base {
            Some(base) => Id {
                base,
                flip: counted_round(&Pick::FLIPS, pick.flip),
            },
            None => Id {
                base: counted_round(&Pick::MADE_UP, pick.index),
                flip: 0,
            },
        }
    }

    fn buffer(&self, pick: Pick, len: Length) -> (Id, i32) {
        let id = self.pick(pick, |it| &it.buffers, |it| &it.buffers);
        let size = self
            .instance
            .buffers
            .get(id.number())
            .map_or(64, |buffer| buffer.size_bytes);
        (id, length(len, size))
    }

    fn place(&self, place: Place, len: i32) -> i32 {
        match place {
            Place::Slot(slot) => (PLAY_AT + u32::from(slot) * 64).cast_signed(),
            Place::Play(offset) => (PLAY_AT + u32::from(offset) % PLAY_BYTES).cast_signed(),
            Place::EndsAt(beyond) => {
                let size = self.instance.memory.size_bytes.cast_signed();
                let at = size - i64::from(len) + i64::from(beyond);
                low_half(at.max(0).cast_unsigned())
            }
            Place::Raw(at) => at,
        }
    }

    fn size(&self, size: Size) -> u64 {
        match size {
            Size::Bytes(bytes) => u64::from(bytes),
            Size::Cap(more) => CAP_BYTES.saturating_add_signed(i64::from(more)),
            Size::Rest(more) => (16 * CAP_BYTES)
                .saturating_sub(self.instance.buffer_bytes)
                .min(CAP_BYTES)
                .saturating_add_signed(i64::from(more)),
            Size::Most => u64::MAX,
            Size::High(low, high) => u64::from(high.cast_unsigned()) << 32 | u64::from(low),
        }
    }

    fn load(&self, text: Text, entry: Entry) -> Call {
        let layout = layout();
        let module = match text {
            Text::Known(index) | Text::Cut(index, _) => usize::from(index) % layout.known.len(),
            Text::Rejected(_) | Text::Region(..) => 0,
        };
        let right = |index: usize| layout.known.get(index).map_or((0, 0), |[_, entry]| *entry);
        let (ptx_ptr, ptx_len) = match text {
            Text::Known(_) => signed(layout.known[module][0]),
            Text::Cut(_, less) => {
                let (at, len) = layout.known[module][0];
                signed((at, len.saturating_sub(u32::from(less))))
            }
            Text::Rejected(index) => signed(counted_round(&layout.rejected, index)),
            Text::Region(at, len) => self.region(at, len),
        };
        let (entry_ptr, entry_len) = match entry {
            Entry::Right => signed(right(module)),
            Entry::Other(index) => signed(right(usize::from(index) % layout.known.len())),
            Entry::Empty => (0, 0),
            Entry::NotText => signed(layout.not_text),
            Entry::Letters(count) => {
                let (at, most) = layout.letters;
                signed((at, u32::from(count).min(most)))
            }
            Entry::Region(at, len) => self.region(at, len),
        };
        Call::LoadPtx {
            ptx_ptr,
            ptx_len,
            entry_ptr,
            entry_len,
        }
    }

    fn region(&self, at: Place, len: Length) -> (i32, i32) {
        let len = length(len, 64);
        (self.place(at, len), len)
    }

    /// Writes the argument buffer and gives its length.
    fn args(&self, kernel_id: i64, args: &Args, bytes: &mut Vec<u8>) -> i32 {
        let module = match self.instance.kernels.get(kernel_id).map(|it| it.source) {
            Some(Source::Known(index, _)) => known().get(index),
            _ => None,
        };
        let params = module.map_or(&[][..], |module| &module.params);
        let kept = match args.twist {
            Twist::Missing => params.len().saturating_sub(1),
            Twist::Records(_) => 0,
            _ => params.len(),
        };
        let mut last = 0;
        let mut windows = args.windows.iter().cycle();
        for (index, param) in params.iter().enumerate().take(kept) {
            last = bytes.len();
            let turned = u32::try_from(index).unwrap_or(0) * 13;
            let value = args.values.rotate_left(turned);
            let twisted = match args.twist {
                Twist::Width(at) => usize::from(at) % params.len() == index,
                _ => false,
            };
            match (param, twisted) {
                (Param::Four, false) | (Param::Eight, true) => {
                    let value = number(module, index, value, args);
                    bytes.push([1, 3, 5][index % 3]);
                    bytes.extend(value.to_le_bytes());
                }
                (Param::Eight, false) | (Param::Four, true) => {
                    bytes.push([2, 4, 6][index % 3]);
                    bytes.extend(value.to_le_bytes());
                }
                (Param::Window(_), true) => {
                    bytes.push(5);
                    bytes.extend([0; 4]);
                }
                (Param::Window(need), false) => {
                    let window = windows.next().copied().unwrap_or(Window {
                        at: Place::Slot(0),
                        more: 0,
                    });
                    let len = need.saturating_add_signed(i32::from(window.more));
                    bytes.push(7);
                    bytes.extend(self.place(window.at, len.cast_signed()).to_le_bytes());
                    bytes.extend(len.to_le_bytes());
                }
            }
            if let Twist::Tag(at, tag) = args.twist
                && usize::from(at) % params.len() == index
                && let Some(byte) = bytes.get_mut(last)
            {
                *byte = tag;
            }
        }
        match args.twist {
            Twist::Extra(tag) => {
                bytes.push(tag);
                bytes.extend(
                    [0; 8]
                        .iter()
                        .take(if tag % 2 == 1 && tag < 7 { 4 } else { 8 }),
                );
            }
            Twist::Cut(less) => {
                let len = bytes.len().saturating_sub(usize::from(less).max(1));
                bytes.truncate(len.max(last));
            }
            Twist::Records(count) => {
                for index in 0..count {
                    bytes.push(1);
                    bytes.extend(u32::from(index).to_le_bytes());
                }
            }
            Twist::Long(len) => bytes.resize(usize::from(len), 0),
            Twist::Length(len) => return len,
            _ => {}
        }
        i32::try_from(bytes.len()).unwrap_or(i32::MAX)
    }
}

/// A four-byte argument; a count of bytes to copy mostly stays within the windows.
fn number(module: Option<&Known>, index: usize, value: u64, args: &Args) -> u32 {
    let value = low_half(value).cast_unsigned();
    if module.is_some_and(|module| module.entry == "copy") && index == 2 && value.count_ones() < 28
    {
        let room = args.windows.iter().map(|window| window.more.max(0)).min();
        return value % (u32::from(room.unwrap_or(0).unsigned_abs()) + 1);
    }
    value
}

fn length(len: Length, whole: u64) -> i32 {
    match len {
        Length::Bytes(bytes) => i32::from(bytes),
        Length::Whole(more) => low_half(whole.saturating_add_signed(i64::from(more))),
        Length::Raw(len) => len,
    }
}

fn counted_round<T: Copy>(list: &[T], index: u8) -> T {
    list[usize::from(index) % list.len()]
}

fn signed((at, len): (u32, u32)) -> (i32, i32) {
    (at.cast_signed(), len.cast_signed())
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low_half(number: u64) -> i32 {
    (number as u32).cast_signed()
}

/// Largest buffer.
const CAP_BYTES: u64 = 256 << 20;
