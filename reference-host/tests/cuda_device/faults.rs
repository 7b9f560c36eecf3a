//! Kernels that fail: the guest is told, keeps its buffers, and can go on; nobody else notices.

use std::thread;

use wasi_cuda_host::device::DeviceError;

use crate::guest::{Guest, HEAD, answer, host, module, window};

/// Kernels of one window, each with a fault of its own, and what a driver calls it.
fn faults() -> Vec<(&'static str, u32, String)> {
    let to = ".param .u64 to";
    let address = "ld.param.u64 %d1, [to];";
    vec![
        (
            "no memory there",
            700,
            module(
                to,
                &format!("{address}\nadd.u64 %d1, %d1, 1099511627776;\nst.global.u32 [%d1], 1;"),
            ),
        ),
        (
            "the null address",
            700,
            module(to, "mov.u64 %d1, 0;\nld.global.u32 %r1, [%d1];"),
        ),
        (
            "beyond the window",
            700,
            module(to, &format!("{address}\nst.global.u32 [%d1+1048576], 1;")),
        ),
        (
            "misaligned",
            716,
            module(to, &format!("{address}\nst.global.u32 [%d1+1], 1;")),
        ),
        ("trap", 719, module(to, "trap;")),
        ("an assertion", 710, assertion()),
        ("a stack without an end", 714, recursion()),
        ("no end", 702, module(to, "again:\nbra again;")),
        (
            "a write, then a trap",
            719,
            module(to, &format!("{address}\nst.global.u32 [%d1], 13;\ntrap;")),
        ),
    ]
}

fn assertion() -> String {
    format!(
        "{HEAD}.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .align 1 .b8 text[6] = {{120, 32, 62, 32, 48, 0}};
.visible .entry k(.param .u64 to)
{{
.reg .b64 %d1;
mov.u64 %d1, text;
cvta.global.u64 %d1, %d1;
{{
.param .b64 m;
.param .b64 f;
.param .b32 l;
.param .b64 n;
.param .b64 s;
st.param.b64 [m], %d1;
st.param.b64 [f], %d1;
st.param.b32 [l], 12;
st.param.b64 [n], %d1;
st.param.b64 [s], 1;
call.uni __assertfail, (m, f, l, n, s);
}}
ret;
}}
"
    )
}

fn recursion() -> String {
    format!(
        "{HEAD}.func deep(.param .b32 depth)
{{
.reg .b32 %r<3>;
.local .align 4 .b8 frame[4096];
ld.param.u32 %r1, [depth];
st.local.u32 [frame], %r1;
add.u32 %r1, %r1, 1;
{{
.param .b32 next;
st.param.b32 [next], %r1;
call deep, (next);
}}
ld.local.u32 %r2, [frame];
ret;
}}
.visible .entry k(.param .u64 to)
{{
{{
.param .b32 depth;
st.param.b32 [depth], 0;
call deep, (depth);
}}
ret;
}}
"
    )
}

#[test]
fn a_fault_ends_its_launch_and_nothing_else() {
    let host = host();
    let mut neighbour = Guest::new(&host);
    let next_door = neighbour.kernel(&answer(), "k");
    let theirs = neighbour.buffer(b"theirs");
    let mut guest = Guest::new(&host);
    let good = guest.kernel(&answer(), "k");
    let ours = guest.buffer(b"ours");
    for (what, code, text) in faults() {
        let bad = guest.kernel(&text, "k");
        // Twice, since the first may have left the second another way to go.
        for _ in 0..2 {
            guest.put(0, &[5]);
            let answered = guest.launch(bad, 1, &[window(0, 4)]);
            assert_eq!(answered, -5, "{what}: {}", guest.words());
            match guest.error() {
                Some(DeviceError::LostContext(error)) => assert_eq!(error.code, code, "{what}"),
                other => panic!("{what}: {other:?}"),
            }
            assert_eq!(
                guest.word(0),
                5,
                "{what}: a launch that fails changes no memory"
            );
            assert_eq!(guest.sync(), 0, "{what}");
            assert_eq!(neighbour.sync(), 0, "{what}");

            assert_eq!(guest.launch(good, 1, &[window(0, 4)]), 0, "{what}");
            assert_eq!(guest.word(0), 42, "{what}");
            assert_eq!(guest.read(ours, 4), Ok(b"ours".to_vec()), "{what}");
            neighbour.put(0, &[0]);
            assert_eq!(neighbour.launch(next_door, 1, &[window(0, 4)]), 0, "{what}");
            assert_eq!(neighbour.word(0), 42, "{what}");
            assert_eq!(neighbour.read(theirs, 6), Ok(b"theirs".to_vec()), "{what}");
        }
    }
    assert_eq!(guest.free(ours), 0);
    assert_eq!(guest.free(ours), -11);
}

/// A module that comes back after a fault is as new: a variable's value is gone, as the message says.
#[test]
fn variables_begin_anew_after_a_fault() {
    let count = format!(
        "{HEAD}.global .u32 count = 7;
.visible .entry k(.param .u64 to)
{{
.reg .b32 %r1;
.reg .b64 %d1;
ld.global.u32 %r1, [count];
add.u32 %r1, %r1, 1;
st.global.u32 [count], %r1;
ld.param.u64 %d1, [to];
st.global.u32 [%d1], %r1;
ret;
}}
"
    );
    let mut guest = Guest::new(&host());
    let counter = guest.kernel(&count, "k");
    let trap = guest.kernel(&module("", "trap;"), "k");
    for _ in 0..2 {
        for right in [8, 9, 10] {
            assert_eq!(guest.launch(counter, 1, &[window(0, 4)]), 0);
            assert_eq!(guest.word(0), right);
        }
        assert_eq!(guest.launch(trap, 1, &[]), -5);
    }
}

/// Two kernels of one text are two modules: what one leaves in a variable the other does not see, nor another instance.
#[test]
fn kernels_share_no_variables() {
    let text = format!(
        "{HEAD}.global .u32 count;
.visible .entry k(.param .u64 to)
{{
.reg .b32 %r1;
.reg .b64 %d1;
atom.global.add.u32 %r1, [count], 1;
ld.param.u64 %d1, [to];
st.global.u32 [%d1], %r1;
ret;
}}
"
    );
    let host = host();
    let mut guests = [Guest::new(&host), Guest::new(&host)];
    for guest in &mut guests {
        for _ in 0..2 {
            let kernel = guest.kernel(&text, "k");
            for right in 0..3 {
                assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), 0);
                assert_eq!(guest.word(0), right);
            }
        }
    }
}

/// Faulting and well-behaved guests side by side, each on a thread of its own, on one host.
#[test]
fn guests_on_several_threads() {
    let host = host();
    thread::scope(|scope| {
        for number in 0..6u8 {
            let host = &host;
            scope.spawn(move || {
                let mut guest = Guest::new(host);
                let good = guest.kernel(&answer(), "k");
                let trap = guest.kernel(&module("", "trap;"), "k");
                let buffer = guest.buffer(&[number; 100]);
                for _ in 0..20 {
                    guest.put(0, &[0]);
                    assert_eq!(
                        guest.launch(good, 1, &[window(0, 4)]),
                        0,
                        "{}",
                        guest.words()
                    );
                    assert_eq!(guest.word(0), 42);
                    if number % 2 == 0 {
                        assert_eq!(guest.launch(trap, 1, &[]), -5);
                    }
                    assert_eq!(guest.read(buffer, 100), Ok(vec![number; 100]));
                }
                assert_eq!(guest.free(buffer), 0);
            });
        }
    });
    assert_eq!(host.kernel_usage().count, 0);
    assert_eq!(
        (host.buffer_usage().count, host.buffer_usage().bytes),
        (0, 0)
    );
}

/// An instance that goes from thread to thread takes everything along.
#[test]
fn an_instance_moves_between_threads() {
    let host = host();
    let mut guest = Guest::new(&host);
    let kernel = guest.kernel(&answer(), "k");
    let buffer = guest.buffer(b"along");
    for round in 0..4 {
        guest = thread::spawn(move || {
            guest.put(0, &[0]);
            assert_eq!(guest.launch(kernel, 1, &[window(0, 4)]), 0);
            assert_eq!(guest.word(0), 42);
            assert_eq!(guest.read(buffer, 5), Ok(b"along".to_vec()), "{round}");
            guest
        })
        .join()
        .expect("the thread ends well");
    }
}
