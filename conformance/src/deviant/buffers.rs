//! Mistakes about what buffers hold and what becomes of it.

use wasi_cuda_host::abi::AbiError::{Internal, InvalidHandle, LaunchFailed, QuotaExceeded};
use wasi_cuda_host::abi::Import::{Alloc, Free, Launch, MemcpyD2h, MemcpyH2d, Sync};

use super::call::Call;
use super::free::{Class, class_of};
use super::world::low_half;
use super::{Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    Deviant::new(
        "alloc-rounded-down",
        &["alloc.holds-its-size"],
        "rounds sizes down to a multiple of four",
        &[Alloc],
        |c| {
            let size = c.size() & !3;
            if size > 0 {
                c.set_size(size);
            }
            c.pass()
        },
    ),
    Deviant::new(
        "buffer-of-one-page",
        &["alloc.holds-its-size"],
        "has one page behind each buffer, over and over",
        &[MemcpyD2h],
        |c| {
            let (at, answer) = (c.unsigned("dst_ptr"), c.pass());
            let bytes = c.bytes("dst_ptr", "len").map(<[u8]>::to_vec);
            if let Some(bytes) = bytes.filter(|bytes| answer == 0 && bytes.len() > PAGE) {
                // What was written last to a place of the page is what every place like it reads.
                let places = (0..bytes.len()).map(|place| {
                    let last = (bytes.len() - 1 - place % PAGE) / PAGE * PAGE + place % PAGE;
                    bytes.get(last).copied().unwrap_or(0)
                });
                let shown: Vec<u8> = places.collect();
                c.store(at, &shown);
            }
            answer
        },
    ),
    Deviant::new(
        "buffers-overlap",
        &["alloc.separate"],
        "keeps all buffers of an instance in one place",
        &[MemcpyH2d],
        |c| {
            let (handle, len) = (c.id(), c.unsigned("len"));
            let answer = c.pass();
            let mut others: Vec<i64> = c
                .guest()
                .buffers
                .iter()
                .filter(|(_, size)| **size >= len)
                .map(|(other, _)| *other)
                .collect();
            others.retain(|other| answer == 0 && *other != handle);
            for other in others {
                c.set_id(other).pass();
            }
            answer
        },
    ),
    Deviant::new(
        "buffers-overlap-between-instances",
        &["alloc.separate"],
        "keeps the buffers of all instances in one place",
        &[MemcpyH2d],
        |c| {
            let len = c.unsigned("len");
            let answer = c.pass();
            for other in c.others() {
                let buffers = c.world.guests.get(other).map(|guest| guest.buffers.clone());
                let fitting = buffers
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|(_, size)| answer == 0 && *size >= len);
                for (handle, _) in fitting {
                    c.set_id(handle).pass_as(other);
                }
            }
            answer
        },
    ),
    Deviant::new(
        "free-clears-next",
        &["free.others-stay"],
        "clears the buffer behind one that it frees",
        &[Free],
        |c| {
            let handle = c.id();
            let answer = c.pass();
            let next = c
                .guest()
                .buffers
                .range(handle..)
                .next()
                .map(|(next, size)| (*next, *size));
            if let Some((next, size)) = next.filter(|_| answer == 0) {
                clear(c, next, size);
            }
            answer
        },
    ),
    Deviant::new(
        "free-refused-gives-back",
        &["free.refused-returns-no-quota"],
        "gives quota back for a free that it refused",
        &[Alloc, Free],
        |c| {
            let answer = c.pass();
            let refused = c.import == Free && answer == code(InvalidHandle);
            c.notes().number += i64::from(refused);
            let owed = c.notes().number;
            if c.import == Alloc && answer == code(QuotaExceeded) && owed > 0 {
                c.notes().number -= 1;
                return c.pass_spare();
            }
            answer
        },
    ),
    Deviant::new(
        "free-unknown-gives-back",
        &["free.refused-returns-no-quota"],
        "gives quota back for handles that nobody has",
        &[Alloc, Free],
        |c| {
            let unknown = c.import == Free && class_of(c) == Class::Unknown;
            let answer = c.pass();
            if unknown {
                c.notes().number += 1;
            }
            let owed = c.notes().number;
            if c.import == Alloc && answer == code(QuotaExceeded) && owed > 0 {
                c.notes().number -= 1;
                return c.pass_spare();
            }
            answer
        },
    ),
    Deviant::new(
        "h2d-clears-source",
        &["memcpy.source-unchanged"],
        "clears what it copied to the device",
        &[MemcpyH2d],
        |c| {
            let (at, len) = (
                c.unsigned("src_ptr"),
                usize::try_from(c.unsigned("len")).unwrap_or(0),
            );
            let answer = c.pass();
            if answer == 0 {
                c.store(at, &vec![0; len]);
            }
            answer
        },
    ),
    Deviant::new(
        "d2h-clears-buffer",
        &["memcpy.source-unchanged"],
        "clears a buffer once it was copied",
        &[MemcpyD2h],
        |c| {
            let (handle, len) = (c.id(), c.unsigned("len"));
            let answer = c.pass();
            if answer == 0 {
                clear(c, handle, len);
            }
            answer
        },
    ),
    Deviant::new(
        "h2d-late",
        &["memcpy.done-on-return"],
        "copies to the device when the next call comes",
        &[MemcpyH2d, MemcpyD2h, Free, Launch, Sync],
        |c| {
            if let Some(args) = c.notes().calls.remove(&0) {
                c.also_here(MemcpyH2d, &args);
            }
            let handle_and_len = (c.import == MemcpyH2d).then(|| (c.id(), c.unsigned("len")));
            match handle_and_len {
                Some((handle, len))
                    if c.memory.is_some()
                        && !c.outside("src_ptr", "len")
                        && c.guest()
                            .buffers
                            .get(&handle)
                            .is_some_and(|size| len <= *size) =>
                {
                    let args = c.args.clone();
                    c.notes().calls.insert(0, args);
                    0
                }
                _ => c.pass(),
            }
        },
    ),
    Deviant::new(
        "h2d-two-faults-internal",
        &["memcpy.two-faults"],
        "answers internal when both handle and source are wrong",
        &[MemcpyH2d],
        |c| {
            let wrong = class_of(c) != Class::Own && c.outside("src_ptr", "len");
            c.refuse_if(wrong, Internal)
        },
    ),
    Deviant::new(
        "d2h-two-faults-internal",
        &["memcpy.two-faults"],
        "answers internal when both handle and destination are wrong",
        &[MemcpyD2h],
        |c| {
            let wrong = class_of(c) != Class::Own && c.outside("dst_ptr", "len");
            c.refuse_if(wrong, Internal)
        },
    ),
    Deviant::new(
        "fault-clears-others-buffers",
        &["launch.fault.other-buffers"],
        "clears the buffers of other instances when a kernel faults",
        &[Launch, MemcpyD2h],
        |c| {
            if let Some(answer) = noting_fault(c) {
                return answer;
            }
            let faulted = c.world.notes.number;
            let other = faulted != 0 && faulted != c.me as i64 + 1;
            read_as_zeros(c, other)
        },
    ),
    Deviant::new(
        "fault-frees-others-buffers",
        &["launch.fault.other-buffers"],
        "forgets the buffers of other instances when a kernel faults",
        &[Launch, MemcpyD2h],
        |c| {
            if let Some(answer) = noting_fault(c) {
                return answer;
            }
            let faulted = c.world.notes.number;
            let other = faulted != 0 && faulted != c.me as i64 + 1;
            c.refuse_if(other, InvalidHandle)
        },
    ),
    Deviant::new(
        "fault-clears-buffers",
        &["launch.fault.buffers"],
        "clears an instance's buffers when its kernel faults",
        &[Launch, MemcpyD2h],
        |c| {
            if let Some(answer) = noting_fault(c) {
                return answer;
            }
            let own = c.world.notes.number == c.me as i64 + 1;
            read_as_zeros(c, own)
        },
    ),
];

const PAGE: usize = 4096;

/// Makes a launch and keeps in the world's notes whose kernel faulted last; `None` for other calls.
fn noting_fault(c: &mut Call<'_>) -> Option<i64> {
    if c.import != Launch {
        return None;
    }
    let answer = c.pass();
    if answer == code(LaunchFailed) {
        c.world.notes.number = c.me as i64 + 1;
    }
    Some(answer)
}

fn clear(c: &mut Call<'_>, handle: i64, bytes: u64) {
    let mut zeros = vec![0; usize::try_from(bytes.min(1 << 20)).unwrap_or(0)];
    let args = [
        i64::from(low_half(handle)),
        handle >> 32,
        0,
        zeros.len() as i64,
    ];
    c.also(MemcpyH2d, Some(&mut zeros), &args);
}

fn read_as_zeros(c: &mut Call<'_>, cleared: bool) -> i64 {
    let (at, len) = (
        c.unsigned("dst_ptr"),
        usize::try_from(c.unsigned("len")).unwrap_or(0),
    );
    let answer = c.pass();
    if answer == 0 && cleared {
        c.store(at, &vec![0; len]);
    }
    answer
}
