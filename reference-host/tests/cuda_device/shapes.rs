//! Shapes of launches: what the device takes beyond, and short of, what the interface does.

use crate::guest::{Guest, HEAD, answer, host, window};

fn last_shared_word(at: u32) -> String {
    format!(
        "{HEAD}.extern .shared .align 4 .b8 room[];
.visible .entry k(.param .u64 to)
{{
.reg .b32 %r<3>;
.reg .b64 %d1;
mov.u32 %r1, room;
st.shared.u32 [%r1+{at}], 77;
ld.shared.u32 %r2, [%r1+{at}];
ld.param.u64 %d1, [to];
st.global.u32 [%d1], %r2;
ret;
}}
"
    )
}

#[test]
fn dynamic_shared_memory_up_to_what_the_device_has() {
    let mut guest = Guest::new(&host());
    for kib in [1, 48, 49, 64, 100, 227] {
        let bytes = kib << 10;
        let kernel = guest.kernel(&last_shared_word(bytes - 4), "k");
        guest.put(0, &[0]);
        let args = [window(0, 4)];
        let code = guest.launch_as(kernel, [1; 3], [1; 3], bytes as i32, &args);
        assert_eq!(
            (code, guest.word(0)),
            (0, 77),
            "{kib} KiB: {}",
            guest.words()
        );
        // A word more than was asked for is a fault; the kernel goes on afterwards.
        assert_eq!(
            guest.launch_as(kernel, [1; 3], [1; 3], bytes as i32 - 4, &args),
            -5
        );
        assert_eq!(
            guest.launch_as(kernel, [1; 3], [1; 3], bytes as i32, &args),
            0
        );
    }
    // The interface's cap is over what this device has.
    let kernel = guest.kernel(&last_shared_word(0), "k");
    let args = [window(0, 4)];
    assert_eq!(
        guest.launch_as(kernel, [1; 3], [1; 3], 228 << 10, &args),
        -5
    );
    assert_eq!(
        guest.launch_as(kernel, [1; 3], [1; 3], (228 << 10) + 1, &args),
        -8
    );
    assert_eq!(guest.launch_as(kernel, [1; 3], [1; 3], 4, &args), 0);
}

/// What a kernel declares and what its launch asks for count together.
#[test]
fn dynamic_shared_memory_beside_the_kernels_own() {
    let mut guest = Guest::new(&host());
    let text = last_shared_word(0).replace(
        "mov.u32 %r1, room;",
        ".shared .align 4 .b8 own[40960];\nmov.u32 %r1, own;\nst.shared.u32 [%r1+40956], 1;\nmov.u32 %r1, room;",
    );
    let kernel = guest.kernel(&text, "k");
    let args = [window(0, 4)];
    for (kib, right) in [
        (4, 0),
        (8, 0),
        (20, 0),
        (64, 0),
        (187, 0),
        (188, -5),
        (4, 0),
    ] {
        guest.put(0, &[0]);
        let code = guest.launch_as(kernel, [1; 3], [1; 3], kib << 10, &args);
        assert_eq!(code, right, "40 and {kib} KiB: {}", guest.words());
        assert_eq!(guest.word(0), if right == 0 { 77 } else { 0 });
    }
}

#[test]
fn shapes_that_the_device_does_not_take_do_no_harm() {
    let mut guest = Guest::new(&host());
    let kernel = guest.kernel(&answer(), "k");
    let buffer = guest.buffer(b"kept");
    let args = [window(0, 4)];
    let cases = [
        ([1, 65_536, 1], [1, 1, 1], -5),
        ([1, 1, 65_536], [1, 1, 1], -5),
        ([1, 1, 1], [1, 1, 65], -5),
        ([1, 1, 1], [1, 1, 1024], -5),
        ([1, 1, 1], [1025, 1, 1], -8),
        ([1, 1, 1], [32, 32, 2], -8),
        ([0, 1, 1], [1, 1, 1], -8),
        ([1, -1, 1], [1, 1, 1], -8),
    ];
    for (grid, block, right) in cases {
        guest.put(0, &[0]);
        let code = guest.launch_as(kernel, grid, block, 0, &args);
        assert_eq!((code, guest.word(0)), (right, 0), "{grid:?} {block:?}");
        assert!(!guest.words().is_empty());
    }
    for (grid, block) in [
        ([3, 2, 2], [4, 4, 64]),
        ([1, 1, 1], [1, 1024, 1]),
        ([1, 65_535, 1], [1; 3]),
    ] {
        guest.put(0, &[0]);
        let code = guest.launch_as(kernel, grid, block, 0, &args);
        assert_eq!((code, guest.word(0)), (0, 42), "{grid:?} {block:?}");
    }
    assert_eq!(guest.read(buffer, 4), Ok(b"kept".to_vec()));
}
