//! Accesses that the warps of a block make together: the first thread that is out of bounds is named, wherever its warp's words lie.

use soft_gpu::{FaultKind, LaunchError};

use crate::harness::{IN, Kernel};

const THREADS: u32 = 256;

/// Where each thread accesses a word: statements that put the offset into `%r3`, from the warp in `%r1` and the lane in `%r2`, and the same
/// in Rust.
type Place = (&'static str, fn(u32, u32) -> u32);

const PLACES: [Place; 7] = [
    // One after the other, and with gaps between warps and halves.
    (
        "mul.lo.u32 %r3, %r1, 128; mad.lo.u32 %r3, %r2, 4, %r3;",
        |warp, lane| 128 * warp + 4 * lane,
    ),
    (
        "mul.lo.u32 %r3, %r1, 256; mad.lo.u32 %r3, %r2, 4, %r3;",
        |warp, lane| 256 * warp + 4 * lane,
    ),
    (
        "mul.lo.u32 %r3, %r1, 256; mad.lo.u32 %r3, %r2, 4, %r3; shr.u32 %r4, %r2, 4; mad.lo.u32 %r3, %r4, 64, %r3;",
        |warp, lane| 256 * warp + 4 * lane + 64 * (lane / 16),
    ),
    // The last warp first.
    (
        "sub.u32 %r3, 7, %r1; mul.lo.u32 %r3, %r3, 128; mad.lo.u32 %r3, %r2, 4, %r3;",
        |warp, lane| 128 * (7 - warp) + 4 * lane,
    ),
    // One place for each warp, for each half, and words that lie apart.
    ("mul.lo.u32 %r3, %r1, 64;", |warp, _| 64 * warp),
    (
        "shr.u32 %r4, %r2, 4; mul.lo.u32 %r3, %r4, 32; mad.lo.u32 %r3, %r1, 64, %r3;",
        |warp, lane| 64 * warp + 32 * (lane / 16),
    ),
    (
        "mul.lo.u32 %r3, %r1, 512; mad.lo.u32 %r3, %r2, 12, %r3;",
        |warp, lane| 512 * warp + 12 * lane,
    ),
];

/// Guards, and which warps and lanes they let through.
type Guard = (&'static str, fn(u32, u32) -> bool);

const GUARDS: [Guard; 3] = [
    ("", |_, _| true),
    ("setp.ne.u32 %p1, %r2, 9; @%p1 ", |_, lane| lane != 9),
    (
        "and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 1; @%p1 ",
        |warp, _| warp % 2 == 1,
    ),
];

#[test]
fn the_first_thread_out_of_bounds_is_named() {
    for (place, offset) in PLACES {
        let offset = |thread: u32| offset(thread / 32, thread % 32);
        let most = (0..THREADS).map(offset).max().unwrap_or(0) + 4;
        for access in ["ld.global.u32 %r5, [%u1]", "st.global.u32 [%u1], %t"] {
            // Lanes before the one that runs it decide nothing.
            for (guard, active) in GUARDS {
                let code = format!(
                    "shr.u32 %r1, %t, 5; and.b32 %r2, %t, 31; {place} cvt.u64.u32 %u1, %r3; add.u64 %u1, %u1, %data; {guard}{access};"
                );
                for bytes in [4, most / 3, most / 2 + 20, most - 40, most - 4, most] {
                    let bytes = bytes / 4 * 4;
                    let mut values = vec![0; bytes as usize];
                    let outcome = Kernel::new("", &code).block(THREADS).try_run(&mut values);
                    let bad = (0..THREADS)
                        .filter(|t| active(t / 32, t % 32))
                        .find(|&t| offset(t) + 4 > bytes);
                    let Some(bad) = bad else {
                        outcome.unwrap_or_else(|error| panic!("{code}: {error}"));
                        continue;
                    };
                    let Err(LaunchError::Fault(fault)) = outcome else {
                        panic!("{code}, {bytes} bytes: no fault");
                    };
                    assert_eq!(fault.thread, [bad, 0, 0], "{code}, {bytes} bytes");
                    let kind = FaultKind::OutOfBounds {
                        space: "global",
                        address: IN + u64::from(offset(bad)),
                        bytes: 4,
                        write: access.starts_with("st"),
                    };
                    assert_eq!(fault.kind, kind, "{code}, {bytes} bytes");
                }
            }
        }
    }
}
