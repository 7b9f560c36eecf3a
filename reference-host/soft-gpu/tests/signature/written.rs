//! Which parameters kernels write through, by kind of statement.

use crate::{Signature, sources};

/// The flags of a kernel with pointers `a`, `b` and `c`, already in `%a`, `%b` and `%c`, a number `n` in `%n` and a structure `s` of 24 bytes:
/// `w` for a parameter that may be written through.
fn flags(before: &str, code: &str) -> String {
    let text = format!(
        ".version 8.8 .target sm_90 .address_size 64 {before}
        .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .align 8 .b8 s[24]) {{
        .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %n, %t, %r<32>; .reg .b64 %a, %b, %c, %u<32>; .reg .f32 %f<9>; .reg .f64 %g<9>;
        .shared .align 16 .b8 box[256]; .local .align 16 .b8 own[64];
        ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;
        {code} ret; }}"
    );
    let found = Signature::of(text.as_bytes(), "k")
        .unwrap_or_else(|error| panic!("{code}: {error}"))
        .expect("a kernel");
    let letter = |written: &bool| if *written { 'w' } else { '-' };
    found.written().iter().map(letter).collect()
}

/// `code` and the flags of `a b c n s`.
#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (code, expected) in rows {
        assert_eq!(flags(FUNCTIONS, code), *expected, "{code}");
    }
}

const ALL: &str = "wwwww";
const NONE: &str = "-----";

/// Functions that the kernels here call.
const FUNCTIONS: &str = "
    .global .u32 cell; .global .u64 pointer; .const .u64 fixed[4];
    .func (.param .b64 r) same(.param .b64 x) { .reg .b64 %x; ld.param.b64 %x, [x]; st.param.b64 [r], %x; ret; }
    .func put(.param .b64 to, .param .b32 value) { .reg .b64 %x; .reg .b32 %v; ld.param.b64 %x, [to]; ld.param.b32 %v, [value]; st.global.b32 [%x], %v; ret; }
    .func (.reg .b64 r) later(.reg .b64 x) { add.u64 r, x, 8; ret; }
    .func again(.param .b64 x, .param .b64 y) { .reg .b64 %x, %y; ld.param.b64 %x, [x]; ld.param.b64 %y, [y]; st.global.b32 [%x], 1;
        { .param .b64 p; .param .b64 q; st.param.b64 [p], %y; st.param.b64 [q], %y; call again, (p, q); } ret; }
    .extern .func elsewhere(.param .b64 x);
    .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 x);";

#[test]
fn stores_write_through_their_address() {
    check(&[
        ("", NONE),
        ("ld.global.u32 %r1, [%a];", NONE),
        ("st.global.u32 [%b], %r1;", "-w---"),
        ("st.u8 [%b+3], %r1;", "-w---"),
        ("st.global.v4.u32 [%c+16], {%r1, %r2, %r3, %r4};", "--w--"),
        ("@%p1 st.global.u32 [%b], 1;", "-w---"),
        (
            "@!%p1 st.global.u32 [%b], 1; st.global.u32 [%a], 1;",
            "ww---",
        ),
        ("st.volatile.global.u64 [%a], %b;", "w----"),
        ("atom.global.add.u32 %r1, [%a], 1;", "w----"),
        ("atom.cas.b64 %u1, [%c+8], %a, %b;", "--w--"),
        ("red.global.add.f32 [%b], %f1;", "-w---"),
        ("st.relaxed.gpu.global.u32 [%b], 1;", "-w---"),
        (
            "cp.async.ca.shared.global [box], [%a], 4; cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;",
            NONE,
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [%b], [box], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
            "-w---",
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%a], 16, [box];",
            NONE,
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%c], [box], 16;",
            "--w--",
        ),
        ("discard.global.L2 [%a], 128;", "w----"),
        (
            "mbarrier.init.shared.b64 [box], 1; mbarrier.arrive.shared.b64 %u1, [box]; mbarrier.test_wait.shared.b64 %p1, [box], %u1;",
            NONE,
        ),
        ("mbarrier.arrive.b64 _, [%a];", "w----"),
        (
            "wmma.store.d.sync.aligned.m16n16k16.row.f32 [%b], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};",
            "-w---",
        ),
        (
            "wmma.load.c.sync.aligned.m16n16k16.row.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%b];",
            NONE,
        ),
        (
            "stmatrix.sync.aligned.m8n8.x1.shared.b16 [box], {%r1};",
            NONE,
        ),
        (
            "st.shared.u64 [box], %a; st.local.u64 [own], %b; red.shared.add.u32 [box], 1;",
            NONE,
        ),
        (
            "st.shared.u32 [%r1], 1; st.shared::cluster.u32 [%r1], 1;",
            NONE,
        ),
        (
            "st.global.u32 [cell], 1; atom.add.u32 %r1, [cell], 1;",
            NONE,
        ),
        (
            "prefetch.global.L2 [%a]; fence.acq_rel.gpu; bar.sync 0; membar.gl; nanosleep.u32 1;",
            NONE,
        ),
    ]);
}

#[test]
fn addresses_go_through_arithmetic() {
    check(&[
        (
            "mul.wide.u32 %u1, %t, 4; add.s64 %u2, %b, %u1; st.global.u32 [%u2], 1;",
            "-w---",
        ),
        (
            "mad.wide.u32 %u1, %n, 4, %c; st.global.u32 [%u1], 1;",
            "--ww-",
        ),
        (
            "cvta.to.global.u64 %u1, %a; cvta.global.u64 %u2, %u1; st.u32 [%u2], 1;",
            "w----",
        ),
        (
            "selp.b64 %u1, %a, %b, %p1; st.global.u32 [%u1], 1;",
            "ww---",
        ),
        (
            "mov.u64 %u1, %a; @%p1 mov.u64 %u1, %b; st.global.u32 [%u1], 1;",
            "ww---",
        ),
        (
            "sub.s64 %u1, %b, %a; add.s64 %u2, %c, %u1; st.global.u32 [%u2], 1;",
            "www--",
        ),
        ("and.b64 %u1, %a, -16; st.global.u32 [%u1], 1;", "w----"),
        (
            "mov.b64 {%r1, %r2}, %a; mov.b64 %u1, {%r1, %r2}; st.global.u32 [%u1], 1;",
            "w----",
        ),
        (
            "mov.b64 {%r1, %r2}, %a; shfl.sync.idx.b32 %r3|%p1, %r1, 0, 31, -1; shfl.sync.idx.b32 %r4, %r2, 0, 31, -1; mov.b64 %u1, {%r3, %r4}; st.global.u32 [%u1], 1;",
            "w----",
        ),
        (
            "mov.b64 {%r1, %r2}, %a; add.cc.u32 %r1, %r1, 4; addc.u32 %r2, %r2, 0; mov.b64 %u1, {%r1, %r2}; st.global.u32 [%u1], 1;",
            "w----",
        ),
        (
            "xor.b64 %u1, %a, %b; xor.b64 %u2, %u1, %a; st.global.u32 [%u2], 1;",
            "ww---",
        ),
        // Whatever the order of statements is, a loop may come back.
        (
            "L: st.global.u32 [%u1], 1; mov.u64 %u1, %c; @%p1 bra L;",
            "--w--",
        ),
        (
            "mov.u64 %u1, %b; L: add.u64 %u1, %u1, 4; st.global.u32 [%u1], 1; @%p1 bra L;",
            "-w---",
        ),
        (
            "mov.u64 %u1, 0; @%p1 mov.u64 %u1, %b; st.global.u32 [%u1], 1;",
            "-w---",
        ),
        (
            ".reg .v2 .b64 v; mov.b64 v.x, %a; mov.b64 v.y, %b; mov.b64 %u1, v.x; st.global.u32 [%u1], 1;",
            "ww---",
        ),
        (
            "{ .reg .b64 %u1; mov.u64 %u1, %a; } mov.u64 %u1, %b; st.global.u32 [%u1], 1;",
            "-w---",
        ),
        (
            "{ .reg .b64 %x<3>; mov.u64 %x1, %a; { .reg .b64 %x<3>; mov.u64 %x1, %b; } st.global.u32 [%x1], 1; }",
            "w----",
        ),
    ]);
}

#[test]
fn parameters_are_read_whole_and_in_part() {
    check(&[
        ("ld.param.u64 %u1, [s+8]; st.global.u32 [%u1], 1;", "----w"),
        (
            "ld.param.u32 %r1, [b]; ld.param.u32 %r2, [b+4]; mov.b64 %u1, {%r1, %r2}; st.global.u32 [%u1], 1;",
            "-w---",
        ),
        (
            "ld.param.v2.u64 {%u1, %u2}, [a]; st.global.u32 [%u2], 1;",
            "ww---",
        ),
        ("ld.param.u64 %u1, [a+8]; st.global.u32 [%u1], 1;", "-w---"),
        ("ld.param.u64 %u1, [c+4]; st.global.u32 [%u1], 1;", "--ww-"),
        ("ld.param.u64 %u1, [s+24]; st.global.u32 [%u1], 1;", ALL),
        ("ld.param.u64 %u1, [a+-8]; st.global.u32 [%u1], 1;", ALL),
        (
            "mov.b64 %u1, s; ld.param.u64 %u2, [%u1+8]; st.global.u32 [%u2], 1;",
            ALL,
        ),
        (
            "mov.b64 %u1, s; add.u64 %u1, %u1, 8; ld.param.u64 %u2, [%u1]; add.u64 %u3, %a, %u2; st.global.u32 [%u3], 1;",
            ALL,
        ),
        (
            "mov.b64 %u1, s; cvta.param.u64 %u2, %u1; ld.u64 %u3, [%u2]; st.global.u32 [%u3], 1;",
            ALL,
        ),
    ]);
}

#[test]
fn what_comes_from_memory_may_be_any_address() {
    check(&[
        ("ld.global.u64 %u1, [%a]; st.global.u32 [%u1], 1;", ALL),
        (
            "ld.global.u64 %u1, [%a]; add.u64 %u2, %b, %u1; st.global.u32 [%u2], 1;",
            ALL,
        ),
        ("ld.shared.u64 %u1, [box]; st.global.u32 [%u1], 1;", ALL),
        (
            "ld.local.v2.b64 {%u1, %u2}, [own]; st.global.u32 [%u2], 1;",
            ALL,
        ),
        ("ld.global.u64 %u1, [pointer]; st.global.u32 [%u1], 1;", ALL),
        ("ld.const.u64 %u1, [fixed+8]; st.global.u32 [%u1], 1;", ALL),
        (
            "atom.global.exch.b64 %u1, [%a], 0; st.global.u32 [%u1], 1;",
            ALL,
        ),
        ("ldu.global.u64 %u1, [%a]; st.global.u32 [%u1], 1;", ALL),
        // As a value it does not matter, and shared memory is nobody's.
        ("ld.global.u64 %u1, [%a]; st.global.u64 [%b], %u1;", "-w---"),
        (
            "ld.global.f64 %g1, [%a]; fma.rn.f64 %g2, %g1, %g1, %g1; st.global.f64 [%b], %g2;",
            "-w---",
        ),
        // In halves.
        (
            "ld.global.v2.u32 {%r1, %r2}, [%a]; mov.b64 %u1, {%r1, %r2}; st.global.u32 [%u1], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; cvt.u64.u32 %u1, %r1; cvt.u64.u32 %u2, %r2; shl.b64 %u2, %u2, 32; or.b64 %u3, %u1, %u2; st.global.u32 [%u3], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; cvt.u64.u32 %u1, %r1; mad.wide.u32 %u3, %r2, 65536, %u1; add.u64 %u3, %u3, %b; st.global.u32 [%u3], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; cvt.u64.u32 %u2, %r1; shl.b64 %u2, %u2, 10; shl.b64 %u2, %u2, 10; add.u64 %u3, %b, %u2; st.global.u32 [%u3], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; cvt.u64.u32 %u1, %r1; L: shl.b64 %u1, %u1, 1; @%p1 bra L; add.u64 %u3, %b, %u1; st.global.u32 [%u3], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; cvt.u64.u32 %u1, %r1; bfi.b64 %u2, %u1, %u1, 32, 32; add.u64 %u2, %u2, %b; st.global.u32 [%u2], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; mul.wide.u32 %u1, %r1, %r1; add.u64 %u2, %u1, %b; st.global.u32 [%u2], 1;",
            ALL,
        ),
        (
            "ld.global.f32 %f1, [%a]; cvt.rzi.u64.f32 %u1, %f1; add.u64 %u2, %u1, %b; st.global.u32 [%u2], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; cvt.u64.u32 %u1, %r1; st.global.u32 [%u1], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; cvt.u64.u32 %u1, %r1; mov.u64 %u2, %b; @%p1 mov.u64 %u2, %u1; st.global.u32 [%u2], 1;",
            ALL,
        ),
        (
            "ld.global.u32 %r1, [%a]; cvt.u64.u32 %u1, %r1; selp.b64 %u2, %b, %u1, %p1; st.global.u32 [%u2], 1;",
            ALL,
        ),
    ]);
}

#[test]
fn loaded_indices_are_no_addresses() {
    check(&[
        (
            "ld.global.u32 %r1, [%a]; mul.wide.u32 %u1, %r1, 4; add.s64 %u2, %b, %u1; st.global.u32 [%u2], 1;",
            "-w---",
        ),
        (
            "ld.global.s32 %r1, [%a]; mad.wide.s32 %u1, %r1, 24, %c; st.global.u32 [%u1], 1;",
            "--w--",
        ),
        (
            "ld.global.u16 %h1, [%a]; cvt.u64.u16 %u1, %h1; shl.b64 %u3, %u1, 5; add.s64 %u2, %u3, %b; st.global.u32 [%u2], 1;",
            "-w---",
        ),
        (
            "ld.global.u32 %r1, [%a]; mad.lo.s32 %r2, %r1, %n, %t; cvt.s64.s32 %u1, %r2; shl.b64 %u3, %u1, 2; add.s64 %u2, %b, %u3; st.global.u32 [%u2], 1;",
            "-w-w-",
        ),
        (
            "ld.shared.u32 %r1, [box]; L: shl.b32 %r1, %r1, 1; @%p1 bra L; mul.wide.u32 %u1, %r1, 4; add.s64 %u2, %b, %u1; st.global.u32 [%u2], 1;",
            "-w---",
        ),
        (
            "atom.global.add.u32 %r1, [%a], 1; mul.wide.u32 %u1, %r1, 4; add.s64 %u2, %b, %u1; st.global.u32 [%u2], 1;",
            "ww---",
        ),
    ]);
}

#[test]
fn forged_addresses_may_be_any() {
    check(&[
        ("mov.u64 %u1, 0x700000000; st.global.u32 [%u1], 1;", ALL),
        (
            "mov.u64 %u1, 0x700000000; mul.wide.u32 %u2, %t, 4; add.u64 %u1, %u1, %u2; st.global.u32 [%u1], 1;",
            ALL,
        ),
        ("mov.u64 %u1, %clock64; st.global.u32 [%u1], 1;", ALL),
        ("st.global.u32 [%u9], 1;", ALL),
        ("add.u64 %u1, %u1, 4; st.global.u32 [%u1], 1;", ALL),
        (
            "mov.u64 %u1, %b; @%p1 mov.u64 %u1, 0x700000000; st.global.u32 [%u1], 1;",
            ALL,
        ),
        (
            "selp.b64 %u1, 0x700000000, %b, %p1; st.global.u32 [%u1], 1;",
            ALL,
        ),
        ("mov.u64 %u1, 0; st.global.u32 [%u1], 1;", ALL),
        (
            "clz.b64 %r1, %a; cvt.u64.u32 %u1, %r1; st.global.u32 [%u1], 1;",
            ALL,
        ),
        (
            "mov.u64 %u1, cell; mul.wide.u32 %u2, %t, 4; add.u64 %u1, %u1, %u2; st.global.u32 [%u1], 1;",
            NONE,
        ),
        (
            "mov.u64 %u1, box; cvta.shared.u64 %u2, %u1; st.u32 [%u2], 1;",
            NONE,
        ),
    ]);
}

#[test]
fn what_is_not_known_may_write_anything() {
    check(&[
        ("frobnicate.u32 %r1, %r2;", ALL),
        ("frobnicate.u32 %r1, [%a, {%r1}, %r2] gibberish | 7;", ALL),
        ("st.global.u32 [%unknown], 1;", ALL),
        ("multimem.red.global.add.u32 [%a], 1;", ALL),
        ("tensormap.replace.tile.rank.global.b1024.b32 [%a], 1;", ALL),
        (
            "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%a, {%r1}], [box];",
            ALL,
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%a, {%r1}], [box];",
            NONE,
        ),
        ("tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%a, {%r5}];", NONE),
        ("sust.b.1d.b32.trap [%a, {%r1}], {%r2};", ALL),
        (".alias x, same;", ALL),
    ]);
}

#[test]
fn calls_are_followed() {
    let put = |argument: &str| {
        format!(
            "{{ .param .b64 x; .param .b32 y; st.param.b64 [x], {argument}; st.param.b32 [y], %n; call put, (x, y); }}"
        )
    };
    let same = |argument: &str| {
        format!(
            "{{ .param .b64 x; .param .b64 y; st.param.b64 [x], {argument}; call (y), same, (x); ld.param.b64 %u1, [y]; }}"
        )
    };
    let store = "st.global.u32 [%u1], 1;";
    check(&[
        (&put("%b"), "-w---"),
        (&format!("{}{}", put("%b"), put("%c")), "-ww--"),
        (&format!("{}{store}", same("%a")), "w----"),
        // All that one function is called with is one.
        (
            &format!("{} mov.u64 %u3, %u1; {}{store}", same("%a"), same("%b")),
            "ww---",
        ),
        (&put("0x700000000"), ALL),
        (&format!("ld.global.u64 %u1, [%a]; {}", put("%u1")), ALL),
        (&format!("{} ld.global.u32 %r1, [%u1];", same("%a")), NONE),
        ("call (%u1), later, (%b); st.global.u32 [%u1], 1;", "-w---"),
        (
            "{ .param .b64 x; .param .b64 y; st.param.b64 [x], %a; st.param.b64 [y], %b; call again, (x, y); }",
            "ww---",
        ),
        (
            "{ .param .b64 x; st.param.b64 [x], %a; call elsewhere, (x); }",
            ALL,
        ),
        (
            "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %a; st.param.b64 [y], %b; call (z), vprintf, (x, y); }",
            ALL,
        ),
        (
            "mov.u64 %u1, put; P: .callprototype _ (.param .b64 _, .param .b32 _); { .param .b64 x; .param .b32 y; call %u1, (x, y), P; }",
            ALL,
        ),
        ("call nowhere, (%a);", ALL),
        ("call put, (%a);", ALL),
    ]);
    // An index is one on the other side too.
    let indexed = format!(
        "ld.global.u32 %r1, [%a]; mul.wide.u32 %u2, %r1, 4; add.s64 %u3, %b, %u2; {}",
        put("%u3")
    );
    assert_eq!(flags(FUNCTIONS, &indexed), "-w---");
    let far = same("%u2").replace(
        "st.param.b64 [x], %u2;",
        "ld.global.u32 %r1, [%a]; mul.wide.u32 %u2, %r1, 4; st.param.b64 [x], %u2;",
    );
    assert_eq!(
        flags(
            FUNCTIONS,
            &format!("{far} add.s64 %u3, %c, %u1; st.global.u32 [%u3], 1;")
        ),
        "--w--"
    );
    // Halves of an address, each in its place of an argument.
    let halves = ".func both(.param .align 8 .b8 x[8]) { .reg .b64 %x; ld.param.b64 %x, [x]; st.global.b32 [%x], 1; ret; }";
    let code = "ld.global.v2.u32 {%r1, %r2}, [%a]; { .param .align 8 .b8 x[8]; st.param.b32 [x], %r1; st.param.b32 [x+4], %r2; call both, (x); }";
    assert_eq!(flags(halves, code), ALL);
    let code = "mov.b64 {%r1, %r2}, %c; { .param .align 8 .b8 x[8]; st.param.b32 [x], %r1; st.param.b32 [x+4], %r2; call both, (x); }";
    assert_eq!(flags(halves, code), "--w--");
}

/// Of kernels that nvcc compiled: pointers to constants are not written through, where the kernel does nothing that might write anywhere.
#[test]
fn compiled_kernels_keep_what_their_sources_call_constant() {
    let (mut kept, mut writing) = (0, 0);
    let mut wrong = Vec::new();
    for (path, source) in sources() {
        let name = path.file_name().expect("a file").to_string_lossy();
        let Some(stem) = name.split('.').next() else {
            continue;
        };
        let Ok(cuda) = std::fs::read_to_string(path.with_file_name(format!("{stem}.cu"))) else {
            continue;
        };
        for header in cuda.split("__global__ void ").skip(1) {
            let (entry, rest) = header.split_once('(').expect("parameters");
            let (params, _) = rest.split_once(')').expect("an end of parameters");
            let Some(signature) = Signature::of(&source, entry).expect("it loads") else {
                continue;
            };
            let written = signature.written();
            let params: Vec<&str> = params
                .split(',')
                .filter(|it| !it.trim().is_empty())
                .collect();
            assert_eq!(params.len(), written.len(), "{name}: {entry}: {params:?}");
            let constant = |param: &str| param.contains("const ") && param.contains('*');
            for (param, written) in params.iter().zip(written) {
                if !constant(param) {
                    writing += usize::from(*written);
                } else if *written {
                    wrong.push(format!("{name}: {entry}"));
                } else {
                    kept += 1;
                }
            }
        }
    }
    wrong.dedup();
    assert_eq!(wrong, WRITING_ANYWHERE);
    assert!(
        kept > 150 && writing > 150,
        "{kept} kept, {writing} written"
    );
}

/// Kernels that allocate, assert, call by address, or store what a pointer from memory points to.
const WRITING_ANYWHERE: &[&str] = &[
    "failures.ptx: asserts",
    "heap.ptx: lists",
    "virtual.debug.ptx: shapes",
    "virtual.debug.ptx: pointers",
    "virtual.ptx: shapes",
    "virtual.ptx: pointers",
];
