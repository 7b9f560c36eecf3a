//! Rows that other implementations got wrong, with the answers that the ISA gives.

use crate::harness::{Kernel, Snippet};

/// Runs one instruction on literal operands.
#[track_caller]
fn gives(code: &str, ty: &str, expected: u64) {
    let found = Snippet::new(&["b32"], &[ty], code).run(&[vec![0]]);
    assert_eq!(found, [[expected]], "{code}");
}

#[test]
fn bit_fields_beyond_the_top() {
    gives("bfe.u32 d0, 0xFFFFFFFF, 32, 8;", "b32", 0);
    gives("bfe.s32 d0, 0x80000000, 32, 8;", "b32", 0xFFFF_FFFF);
    gives("bfe.s32 d0, 0x80000000, 28, 8;", "b32", 0xFFFF_FFF8);
    gives("bfe.u32 d0, 0x1234, 256, 8;", "b32", 0x34);
    gives("bfe.s32 d0, -1, 0, 0;", "b32", 0);
    gives("bfi.b32 d0, 0xFF, 0, 28, 8;", "b32", 0xF000_0000);
    gives("bfi.b32 d0, 0xFF, 5, 32, 8;", "b32", 5);
    gives("cvt.rz.f32.s32 d0, 0x7FFFFFFF;", "f32", 0x4EFF_FFFF);
}

#[test]
fn the_upper_half_is_taken_before_the_addend() {
    gives("mad.hi.u32 d0, 0x80000000, 2, 0xFFFFFFFF;", "b32", 0);
    gives("mad.hi.s32 d0, 0x80000000, 2, 0;", "b32", 0xFFFF_FFFF);
    gives("mad.hi.u16 d0, 0x8000, 2, 0xFFFF;", "b16", 0);
    gives("mad.hi.s16 d0, 0x8000, 2, 0;", "b16", 0xFFFF);
    gives(
        "mad.hi.u64 d0, 0x8000000000000000, 2, 0xFFFFFFFFFFFFFFFF;",
        "b64",
        0,
    );
    gives("mad.hi.s64 d0, 0x8000000000000000, 2, 0;", "b64", u64::MAX);
}

#[test]
fn funnel_shifts_by_the_whole_width() {
    let (a, b) = (0x1111_1111, 0x2222_2222);
    let shift =
        |mode: &str, count: u32| format!("shf.{mode}.b32 d0, 0x11111111, 0x22222222, {count};");
    gives(&shift("l.clamp", 32), "b32", a);
    gives(&shift("l.clamp", 40), "b32", a);
    gives(&shift("r.clamp", 32), "b32", b);
    gives(&shift("l.wrap", 32), "b32", b);
    gives(&shift("r.wrap", 32), "b32", a);
    gives(&shift("l.clamp", 0), "b32", b);
}

#[test]
fn permuted_bytes_replicate_signs() {
    gives("prmt.b32 d0, 0x000080FF, 0, 0xBA98;", "b32", 0x0000_FFFF);
    gives("prmt.b32 d0, 0x000080FF, 0, 0x3210;", "b32", 0x0000_80FF);
    gives(
        "prmt.b32 d0, 0x000080FF, 0, 0xFFFF3210;",
        "b32",
        0x0000_80FF,
    );
}

/// The tables of the ISA: byte numbers of the result from the most significant byte down, for the selector's low two bits.
#[test]
fn permute_modes_follow_their_tables() {
    const TABLES: [(&str, [[u32; 4]; 4]); 6] = [
        (
            "f4e",
            [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]],
        ),
        (
            "b4e",
            [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]],
        ),
        (
            "rc8",
            [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            "ecl",
            [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            "ecr",
            [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]],
        ),
        (
            "rc16",
            [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]],
        ),
    ];
    for (mode, table) in TABLES {
        for (selector, bytes) in table.into_iter().enumerate() {
            // Byte n of the pair holds 0x10 + n.
            let expected = bytes
                .into_iter()
                .fold(0, |word, byte| word << 8 | (0x10 + u64::from(byte)));
            for high in [0, 0xABCD_EF00u32, 4] {
                let selector = selector as u32 | high;
                gives(
                    &format!("prmt.b32.{mode} d0, 0x13121110, 0x17161514, {selector};"),
                    "b32",
                    expected,
                );
            }
        }
    }
}

#[test]
fn the_carry_flag_is_implicit_and_per_thread() {
    let code = ".reg .b32 lo, hi; { .pragma \"nounroll\"; mad.lo.cc.u32 lo, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF; \
                madc.hi.u32 hi, 0xFFFFFFFF, 0xFFFFFFFF, 0; } mov.b64 d0, {lo, hi};";
    gives(code, "b64", 0xFFFF_FFFF_0000_0000);
    // Every lane sets its flag; odd lanes sit out of what would clear it; then both read it.
    let mut kernel = Kernel::new(
        "",
        "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0;\n\
         add.cc.u32 %r2, 0xFFFFFFFF, 1;\n\
         @%p1 add.cc.u32 %r3, 1, 1;\n\
         addc.u32 %r4, 0, 0;\n\
         sub.cc.u32 %r5, 0, %r1;\n\
         subc.u32 %r6, 10, 0;\n\
         mad.lo.u32 %r7, %r6, 16, %r4;\n\
         st.global.u32 [%mine], %r7;",
    )
    .block(40);
    let expected: Vec<u32> = (0..40)
        .map(|t| if t % 2 == 0 { 10 * 16 } else { 9 * 16 + 1 })
        .collect();
    assert_eq!(kernel.run(40), expected);
}

#[test]
fn atomic_increments_and_decrements_wrap_at_their_bound() {
    let one = |op: &str, bound: u32, cell: u32| {
        let mut kernel = Kernel::new(
            "",
            &format!("atom.global.{op}.u32 %r1, [%data], {bound}; st.global.u32 [%data+4], %r1;"),
        );
        let found = kernel.run_on(&[cell, 99]);
        assert_eq!(found[1], cell, "the old value");
        found[0]
    };
    assert_eq!([2, 3, 7].map(|cell| one("inc", 3, cell)), [3, 0, 0]);
    assert_eq!([3, 0, 7].map(|cell| one("dec", 3, cell)), [2, 3, 3]);
    assert_eq!(["inc", "dec"].map(|op| one(op, 0, 5)), [0, 0]);
    let mut kernel = Kernel::new(
        "",
        "atom.global.inc.u32 %r1, [%data], 31; st.global.u32 [%mine+4], %r1;",
    )
    .block(33);
    let found = kernel.run(34);
    assert_eq!(found[0], 1);
    let mut olds = found[1..].to_vec();
    olds.sort_unstable();
    let mut expected: Vec<u32> = (0..32).collect();
    expected.insert(0, 0);
    assert_eq!(olds, expected);
}

/// `turns` turns of adding one each and reading the sum between barriers; `prelude` runs first.
fn counting(prelude: &str, turns: u32) -> Kernel {
    Kernel::new(
        ".shared .align 4 .u32 sum;",
        &format!(
            "{prelude}\nmov.u32 %r1, 0; mov.u32 %r9, 0; bar.sync 0; bar.sync 0;\n\
             LOOP: red.shared.add.u32 [sum], 1; bar.sync 0; ld.shared.u32 %r2, [sum]; bar.sync 0;\n\
             setp.eq.u32 %p5, %r1, 0; @%p5 mov.u32 %r3, %r2; sub.u32 %r4, %r2, %r9; mov.u32 %r9, %r2;\n\
             setp.ne.u32 %p6, %r4, %r3; @%p6 trap;\n\
             add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, {turns}; @%p1 bra LOOP;\n\
             st.global.u32 [%mine], %r2;"
        ),
    )
    .block(128)
}

#[test]
fn barriers_hold_over_many_turns() {
    assert_eq!(counting("", 1000).run(128), [128_000; 128]);
}

#[test]
fn a_warp_that_has_exited_is_not_waited_for() {
    let mut expected = vec![96_000; 96];
    expected.extend([0; 32]);
    assert_eq!(
        counting("setp.ge.u32 %p2, %t, 96; @%p2 exit;", 1000).run(128),
        expected
    );
}

#[test]
fn a_barrier_whose_guard_holds_acts() {
    let prelude = "setp.ne.u32 %p2, 0, 0; @!%p2 bar.sync 0;";
    assert_eq!(counting(prelude, 3).run(128), [384; 128]);
}

#[test]
fn half_of_the_warps_can_use_a_barrier_of_their_own() {
    let prelude = "setp.lt.u32 %p2, %t, 64; @%p2 bar.sync 1, 64; @!%p2 bar.sync 2, 64;";
    assert_eq!(counting(prelude, 3).run(128), [384; 128]);
}

#[test]
fn debug_lines_change_nothing() {
    let text = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k( .param .u64 data )
{
.loc 1 5 0
.reg .pred %p<3>;
.reg .b32 %r<3>;
.reg .b64 %rd<2>;
$L__func_begin0:
ld.param.b64 %rd1, [ data + 0 ];
$L__tmp0:
mov.pred %p1, -1;
@%p1 ld.global.b32 { %r1 }, [ %rd1 + 0 ];
.loc 1 6 3
add.s32 %r1, %r1, 1;
@%p1 st.global.b32 [ %rd1 + 4 ], { %r1 };
ret;
$L__func_end0:
}
.file 1 \"x.py\"
.section .debug_abbrev
{
.b8 1
.b8 17,1,37,8,0,0
}
.section .debug_info
{
.b32 50
.b32 .debug_abbrev
.b64 $L__func_begin0
}
";
    assert_eq!(Kernel::of_text(text).run_on(&[41, 0]), [41, 42]);
}
