//! Faults of the heap and failed assertions.

use soft_gpu::{FaultKind, Nearest, Object};

use crate::harness::Kernel;

const DECLARATIONS: &str = ".extern .func (.param .b64 r) malloc(.param .b64 bytes); .extern .func free(.param .b64 address);";
const HEAP: u64 = 0x7E01_0000_0000;

/// A kernel that makes a block of 24 bytes, whose address is in `%u10`, and then does `act`.
fn with_block(act: &str) -> Kernel {
    let code = "{ .param .b64 a; .param .b64 b; st.param.b64 [a], 24; call (b), malloc, (a); ld.param.b64 %u10, [b]; }";
    Kernel::new(DECLARATIONS, &format!("{code}\n{act}"))
}

/// Line of `act` in [`with_block`].
const LINE: u32 = 10;

fn block(object: Object, offset: i64) -> Option<Nearest> {
    Some(Nearest {
        object,
        start: HEAP,
        bytes: 24,
        offset,
    })
}

#[test]
fn accesses_past_a_block() {
    let fault = with_block("st.u32 [%u10+24], 1;").fault(4);
    let kind = FaultKind::OutOfBounds {
        space: "generic",
        address: HEAP + 24,
        bytes: 4,
        write: true,
    };
    assert_eq!(fault.kind, kind);
    assert_eq!(
        (fault.line, &*fault.instruction, &*fault.function),
        (LINE, "st.u32 [%u10+24], 1", "k")
    );
    assert_eq!(fault.nearest, block(Object::HeapBlock, 24));
    with_block("st.u32 [%u10+20], 1;").run(1);
}

#[test]
fn accesses_after_free() {
    let free = "{ .param .b64 a; st.param.b64 [a], %u10; call free, (a); }";
    let fault = with_block(&format!("{free}\nld.global.u64 %u1, [%u10+8];")).fault(4);
    let kind = FaultKind::UseAfterFree {
        space: "global",
        address: HEAP + 8,
        bytes: 8,
        write: false,
    };
    assert_eq!(fault.kind, kind);
    assert_eq!(
        (fault.line, &*fault.instruction, fault.thread),
        (LINE + 1, "ld.global.u64 %u1, [%u10+8]", [0; 3])
    );
    assert_eq!(fault.nearest, block(Object::FreedHeapBlock, 8));
    with_block(&format!("ld.global.u64 %u1, [%u10+8];\n{free}")).run(1);
}

#[test]
fn frees_of_what_is_no_block() {
    let free = "{ .param .b64 a; st.param.b64 [a], %u10;\ncall free, (a); }";
    let again = with_block(&format!("{free}{free}")).fault(4);
    assert_eq!(
        again.kind,
        FaultKind::BadFree {
            address: HEAP,
            again: true
        }
    );
    assert_eq!(
        (again.line, &*again.instruction, &*again.function),
        (LINE + 2, "call free, (a)", "k")
    );
    assert_eq!(again.nearest, block(Object::FreedHeapBlock, 0));
    let inside = with_block(&format!("add.u64 %u10, %u10, 8; {free}")).fault(4);
    assert_eq!(
        inside.kind,
        FaultKind::BadFree {
            address: HEAP + 8,
            again: false
        }
    );
    assert_eq!(inside.nearest, block(Object::HeapBlock, 8));
    with_block(&format!("{free} mov.u64 %u10, 0; {free}")).run(1);
}

#[test]
fn assertions() {
    let declaration = ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s) .noreturn;
        .global .b8 message[6] = {120, 32, 62, 32, 48, 0}; .global .b8 file[5] = {97, 46, 99, 117, 0}; .global .b8 name[2] = {102, 0};
        .func check(.param .b32 x) { .reg .pred %p; .reg .b32 %x; .reg .b64 %m, %f, %n; ld.param.u32 %x, [x]; setp.gt.s32 %p, %x, 0; @%p ret;
        mov.u64 %m, message; mov.u64 %f, file; mov.u64 %n, name;
        cvta.global.u64 %m, %m; cvta.global.u64 %f, %f; cvta.global.u64 %n, %n;
        { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s; st.param.b64 [m], %m; st.param.b64 [f], %f;
        st.param.b32 [l], 12; st.param.b64 [n], %n; st.param.b64 [s], 1;
        call.uni __assertfail, (m, f, l, n, s); } }";
    let kernel = |value: &str| {
        let code = format!(
            "sub.s32 %r1, {value}, %t; {{ .param .b32 x; st.param.b32 [x], %r1; call check, (x); }}"
        );
        Kernel::new(declaration, &code).block(40)
    };
    let fault = kernel("36").fault(4);
    let kind = FaultKind::Assert {
        message: "x > 0".to_owned(),
        file: "a.cu".to_owned(),
        line: 12,
        function: "f".to_owned(),
    };
    assert_eq!(fault.kind, kind);
    assert_eq!((&*fault.kernel, &*fault.function), ("k", "check"));
    assert_eq!(
        (fault.block, fault.thread, fault.line),
        ([0; 3], [36, 0, 0], 11)
    );
    assert_eq!(
        &*fault.instruction,
        "call.uni __assertfail, (m, f, l, n, s)"
    );
    assert_eq!(fault.nearest, None);
    kernel("40").run(1);
}
