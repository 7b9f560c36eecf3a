use super::*;
use crate::argv::{self, Window};
use crate::error::Error;

#[test]
fn a_launch_is_refused_by_the_first_rule_it_breaks() {
    let mut guest = Guest::new(Fake {
        params: vec![4, 8],
        ..Fake::default()
    });
    let kernel_id = guest.load(0, 4, 0, 1);
    let mut good = Vec::new();
    argv::encode(Arg::U32(1), &mut good);
    argv::encode(
        Arg::Ptr(Window {
            offset: 65_536,
            len: 0,
        }),
        &mut good,
    );
    let args_len = good.len() as i32;
    guest.memory[..good.len()].copy_from_slice(&good);
    guest.memory[1000] = 0xff;
    let ok = LaunchArgs {
        args_len,
        ..one_thread(kernel_id)
    };
    type Change = fn(&mut LaunchArgs);
    let table: &[(&str, Change, i32)] = &[
        ("good", |_| (), 0),
        ("largest grid", |call| call.grid = [i32::MAX; 3], 0),
        ("largest block", |call| call.block = [1024, 1, 1], 0),
        ("deep block", |call| call.block = [1, 1, 1024], 0),
        ("most shared memory", |call| call.shared_mem = 228 << 10, 0),
        ("grid of none", |call| call.grid = [1, 0, 1], -8),
        ("negative grid", |call| call.grid = [1, 1, -1], -8),
        ("block of none", |call| call.block = [0, 1, 1], -8),
        (
            "block axis over the cap",
            |call| call.block = [1, 1025, 1],
            -8,
        ),
        ("too many threads", |call| call.block = [32, 33, 1], -8),
        (
            "product that would wrap",
            |call| call.block = [1024, 1024, 1024],
            -8,
        ),
        (
            "too much shared memory",
            |call| call.shared_mem = (228 << 10) + 1,
            -8,
        ),
        ("negative shared memory", |call| call.shared_mem = -1, -8),
        (
            "arguments outside, before dimensions",
            |call| {
                call.args_ptr = -8;
                call.args_len = 16;
                call.grid = [0; 3]
            },
            -2,
        ),
        (
            "arguments of negative length",
            |call| call.args_len = -1,
            -2,
        ),
        (
            "arguments far too long",
            |call| call.args_len = i32::MAX,
            -2,
        ),
        (
            "arguments over the cap on bytes",
            |call| call.args_len = 4097,
            -10,
        ),
        ("unknown kernel", |call| call.kernel_id += 1, -3),
        ("negative kernel", |call| call.kernel_id = -1, -3),
        ("bad record", |call| call.args_ptr = 1000, -9),
        ("a record cut off", |call| call.args_len -= 1, -9),
        ("a record too few", |call| call.args_len = 5, -9),
        ("no records", |call| call.args_len = 0, -9),
        (
            "a narrow record first",
            |call| {
                call.args_ptr = 5;
                call.args_len = 9
            },
            -9,
        ),
    ];
    for (what, change, expected) in table {
        let mut call = ok;
        change(&mut call);
        assert_eq!(guest.launch(call), *expected, "{what}");
    }
    let mut swapped = Vec::new();
    argv::encode(Arg::U64(1), &mut swapped);
    argv::encode(Arg::U64(1), &mut swapped);
    guest.memory[..swapped.len()].copy_from_slice(&swapped);
    assert_eq!(
        guest.launch(LaunchArgs {
            args_len: swapped.len() as i32,
            ..ok
        }),
        -9
    );
    assert!(matches!(
        guest.instance.last_error(),
        Some(Error::Refused(Refusal::ParamSize { index: 0, .. }))
    ));
}

#[test]
fn an_empty_argument_buffer_may_lie_anywhere() {
    let mut guest = Guest::new(Fake::default());
    let kernel_id = guest.load(0, 4, 0, 1);
    let ok = one_thread(kernel_id);
    for args_ptr in [0, 65_536, 65_537, -1, i32::MIN, i32::MAX] {
        assert_eq!(
            guest.launch(LaunchArgs { args_ptr, ..ok }),
            0,
            "args_ptr {args_ptr}"
        );
    }
    assert_eq!(
        launch(&mut guest.instance, None, ok),
        0,
        "a guest without memory"
    );
    assert_eq!(
        launch(&mut guest.instance, None, LaunchArgs { args_len: 1, ..ok }),
        -2
    );
}
