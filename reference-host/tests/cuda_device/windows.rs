//! Guest memory that kernels see.

use std::fmt::Write;

use wasi_cuda_host::argv::Arg;

use crate::child;
use crate::guest::{Guest, MEMORY_BYTES, answer, host, module, window};

/// `left[0] = 42; seen[0] = right[0]`.
fn through_two_windows() -> String {
    module(
        ".param .u64 left, .param .u64 right, .param .u64 seen",
        "ld.param.u64 %d1, [left];
ld.param.u64 %d2, [right];
ld.param.u64 %d3, [seen];
st.global.u32 [%d1], 42;
ld.global.u32 %r1, [%d2];
st.global.u32 [%d3], %r1;",
    )
}

#[test]
fn windows_that_overlap_share_their_bytes() {
    let mut guest = Guest::new(&host());
    let kernel = guest.kernel(&through_two_windows(), "k");
    // The word at 128, seen by the second window from its start, the middle and its end, or not at all.
    let cases = [
        ("the same", window(128, 4), 42),
        ("around", window(128, 64), 42),
        ("apart", window(132, 4), 7),
        ("far", window(4096, 4), 7),
    ];
    for (what, right, seen) in cases {
        guest.put(128, &[7, 7]);
        guest.put(4096, &[7]);
        guest.put(256, &[0]);
        let args = [window(128, 4), right, window(256, 4)];
        assert_eq!(guest.launch(kernel, 1, &args), 0, "{what}");
        assert_eq!(guest.word(256), seen, "{what}");
        assert_eq!(guest.word(128), 42, "{what}");
        assert_eq!(guest.word(132), 7, "{what}");
    }
    // A chain: the first and the last meet through the one between.
    let three = module(
        ".param .u64 a, .param .u64 b, .param .u64 c",
        "ld.param.u64 %d1, [a];
ld.param.u64 %d2, [b];
ld.param.u64 %d3, [c];
st.global.u32 [%d1+12], 1;
st.global.u32 [%d2], 2;
ld.global.u32 %r1, [%d2+8];
st.global.u32 [%d3+8], %r1;",
    );
    let kernel = guest.kernel(&three, "k");
    guest.put(512, &[0, 0, 0, 0, 9, 5, 0, 0]);
    let args = [window(512, 16), window(524, 12), window(532, 12)];
    assert_eq!(guest.launch(kernel, 1, &args), 0, "{}", guest.words());
    let words: Vec<u32> = (0..8).map(|word| guest.word(512 + 4 * word)).collect();
    assert_eq!(words, [0, 0, 0, 2, 9, 5, 0, 5]);
}

#[test]
fn only_windows_that_a_kernel_may_write_are_copied_back() {
    let done = child::run(
        "windows::only_windows_that_a_kernel_may_write_are_copied_back",
        &[],
        || {
            let mut guest = Guest::new(&host());
            let reader = module(
                ".param .u64 from, .param .u64 also",
                "ld.param.u64 %d1, [from];
ld.param.u64 %d2, [also];
ld.global.u32 %r1, [%d1];
ld.global.u32 %r2, [%d2];
add.u32 %r1, %r1, %r2;
setp.eq.u32 %p, %r1, 3;
@%p ret;
trap;",
            );
            let reader = guest.kernel(&reader, "k");
            guest.put(0, &[1]);
            guest.put(4096, &[2]);
            let args = [window(0, 4), window(4096, 4)];
            assert_eq!(guest.launch(reader, 1, &args), 0, "{}", guest.words());
            // Two windows, far from each other, of which the second is written.
            let copier = module(
                ".param .u64 from, .param .u64 to",
                "ld.param.u64 %d1, [from];
ld.param.u64 %d2, [to];
ld.global.u32 %r1, [%d1];
st.global.u32 [%d2], %r1;",
            );
            let copier = guest.kernel(&copier, "k");
            assert_eq!(guest.launch(copier, 1, &args), 0, "{}", guest.words());
            assert_eq!(guest.word(4096), 1);
        },
    );
    let copies = ["cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"].map(|copy| done.calls(copy));
    assert_eq!(copies, [4, 1]);
}

#[test]
fn windows_lie_anywhere_in_memory() {
    let mut guest = Guest::new(&host());
    let kernel = guest.kernel(&answer(), "k");
    for at in [0, 4, 65_532, 65_536, MEMORY_BYTES - 4] {
        assert_eq!(guest.launch(kernel, 1, &[window(at, 4)]), 0, "{at}");
        assert_eq!(guest.word(at), 42, "{at}");
    }
    let before = guest.memory.clone();
    assert_eq!(guest.launch(kernel, 1, &[window(0, MEMORY_BYTES)]), 0);
    // All of memory went there and back; what differs is where the host was given arguments.
    guest.memory[56 << 10..][..64].copy_from_slice(&before[56 << 10..][..64]);
    assert!(guest.memory == before, "memory has changed");
    assert_eq!(
        guest.launch(kernel, 1, &[window(MEMORY_BYTES - 3, 4)]),
        -2,
        "one byte over the end"
    );
}

/// A byte beside a window is not the kernel's.
#[test]
fn what_is_beside_a_window_stays_as_it_is() {
    let mut guest = Guest::new(&host());
    let fill = module(
        ".param .u64 to",
        "ld.param.u64 %d1, [to];
mov.u32 %r1, %tid.x;
cvt.u64.u32 %d2, %r1;
add.u64 %d1, %d1, %d2;
st.global.u8 [%d1], 255;",
    );
    let kernel = guest.kernel(&fill, "k");
    for (at, len) in [(1000, 1), (1001, 3), (1003, 17), (1024, 256), (4095, 2)] {
        guest.memory[..8192].fill(0);
        let args = [window(at, len)];
        assert_eq!(guest.launch(kernel, len as i32, &args), 0, "{at} {len}");
        for (offset, byte) in guest.memory[..8192].iter().enumerate() {
            let within = (at..at + len).contains(&offset);
            assert_eq!(
                *byte,
                if within { 255 } else { 0 },
                "{offset} of {at} {len}"
            );
        }
    }
}

#[test]
fn a_window_without_bytes_is_an_address_that_nothing_is_at() {
    let mut guest = Guest::new(&host());
    let address = module(
        ".param .u64 empty, .param .u64 to",
        "ld.param.u64 %d1, [empty];
ld.param.u64 %d2, [to];
st.global.u64 [%d2], %d1;",
    );
    let kernel = guest.kernel(&address, "k");
    for at in [0, 100, MEMORY_BYTES] {
        guest.put(200, &[1, 1]);
        let args = [window(at, 0), window(200, 8)];
        assert_eq!(guest.launch(kernel, 1, &args), 0, "{at}");
        assert_eq!([guest.word(200), guest.word(204)], [0, 0], "{at}");
    }
    let kernel = guest.kernel(&answer(), "k");
    assert_eq!(guest.launch(kernel, 1, &[window(100, 0)]), -5);
    assert_eq!(guest.launch(kernel, 1, &[window(100, 4)]), 0);
}

#[test]
fn as_many_windows_as_there_may_be() {
    let mut params = String::new();
    let mut body = String::new();
    for index in 0..128 {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(params, "{comma}.param .u64 w{index}");
        let _ = writeln!(
            body,
            "ld.param.u64 %d1, [w{index}];\nst.global.u32 [%d1], {};",
            1000 + index
        );
    }
    let mut guest = Guest::new(&host());
    let kernel = guest.kernel(&module(&params, &body), "k");
    // Apart, end to end, and all in the same place.
    for stride in [64, 4, 0] {
        guest.memory[..16_384].fill(0);
        let args: Vec<Arg> = (0..128).map(|index| window(stride * index, 4)).collect();
        assert_eq!(guest.launch(kernel, 1, &args), 0, "{}", guest.words());
        for index in 0..128 {
            let right = if stride == 0 {
                1127
            } else {
                1000 + index as u32
            };
            assert_eq!(guest.word(stride * index), right, "{stride} {index}");
        }
    }
}

/// Memory for windows is kept between launches: nothing of one shows in the next.
#[test]
fn a_launch_sees_nothing_of_the_last() {
    let mut guest = Guest::new(&host());
    let kernel = guest.kernel(&answer(), "k");
    let sum = module(
        ".param .u64 words",
        "ld.param.u64 %d1, [words];
mov.u32 %r1, 0;
mov.u32 %r2, 0;
loop:
ld.global.u32 %r3, [%d1];
add.u32 %r2, %r2, %r3;
add.u64 %d1, %d1, 4;
add.u32 %r1, %r1, 1;
setp.lt.u32 %p, %r1, 64;
@%p bra loop;
ld.param.u64 %d1, [words];
st.global.u32 [%d1], %r2;",
    );
    let sum = guest.kernel(&sum, "k");
    for round in 0..3 {
        assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), 0);
        guest.put(256, &[round; 64]);
        assert_eq!(guest.launch(sum, 1, &[window(256, 256)]), 0);
        assert_eq!(guest.word(256), 64 * round);
    }
}

/// Memory beside the windows that a kernel can reach is its own instance's: new memory is cleared before any kernel sees it.
#[test]
fn what_lies_beyond_a_window_is_nobody_elses() {
    // One more word of another place each time: beyond the first piece, between two, and as far as the allocation goes.
    let spy = module(
        ".param .u64 to, .param .u32 beyond",
        "ld.param.u64 %d1, [to];
ld.param.u32 %r1, [beyond];
cvt.u64.u32 %d2, %r1;
add.u64 %d2, %d1, %d2;
ld.global.u32 %r2, [%d2];
st.global.u32 [%d1], %r2;",
    );
    let host = host();
    let mut secret = Guest::new(&host);
    let mut guest = Guest::new(&host);
    let spy = guest.kernel(&spy, "k");
    let writer = secret.kernel(&answer(), "k");
    for beyond in [4, 128, 4096, 65_000] {
        secret.memory[..32_768].fill(0xEE);
        assert_eq!(secret.launch(writer, 1, &[window(0, 32_768)]), 0);
        guest.put(0, &[5]);
        let args = [window(0, 4), Arg::U32(beyond)];
        assert_eq!(
            guest.launch(spy, 1, &args),
            0,
            "{beyond}: {}",
            guest.words()
        );
        assert_eq!(guest.word(0), 0, "{beyond}");
        // The allocation grows.
        assert_eq!(secret.launch(writer, 1, &[window(0, MEMORY_BYTES)]), 0);
    }
    let args = [window(0, MEMORY_BYTES), Arg::U32(MEMORY_BYTES as u32 + 16)];
    guest.put(0, &[5]);
    assert_eq!(guest.launch(spy, 1, &args), 0, "{}", guest.words());
    assert_eq!(guest.word(0), 0);
}
