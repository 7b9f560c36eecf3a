//! Barriers that reduce, and the election of a lane.

use crate::harness::{Kernel, Random};

/// All threads learn what the predicates of all are, turn after turn, in whole and in ragged blocks.
#[test]
fn barriers_reduce_predicates() {
    for threads in [1u32, 32, 33, 96, 128, 250] {
        for form in ["bar", "bar.cta", "barrier", "barrier.cta"] {
            let aligned = if form.starts_with("barrier") {
                ".aligned"
            } else {
                ""
            };
            // Turn k of a thread has its predicate in bit k of its word.
            let mut kernel = Kernel::new(
                "",
                &format!(
                    "ld.global.u32 %r1, [%mine]; mov.u32 %r8, 0; mov.u32 %r9, 0;\n\
                     LOOP: shr.u32 %r2, %r1, %r9; and.b32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0;\n\
                     {form}.red.popc{aligned}.u32 %r3, 0, %p1; {form}.red.and.pred %p2, 1, %p1; {form}.red.or.pred %p3, 2, %p1; {form}.red.popc.u32 %r4, 0, !%p1;\n\
                     selp.u32 %r5, 1000, 0, %p2; selp.u32 %r6, 5000, 0, %p3; add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6; mad.lo.u32 %r3, %r4, 100000, %r3;\n\
                     mad.lo.u32 %r8, %r8, 31, %r3; add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, 16; @%p4 bra LOOP; st.global.u32 [%mine], %r8;"
                ),
            )
            .block(threads);
            let mut random = Random(u64::from(threads));
            let words: Vec<u32> = (0..threads)
                .map(|_| {
                    let word = random.next() as u32;
                    // Some turns have everyone's predicate, some nobody's.
                    word & 0xFF7D | 0x0041
                })
                .collect();
            let mut expected = 0u32;
            for turn in 0..16 {
                let yes = words.iter().filter(|word| *word >> turn & 1 == 1).count() as u32;
                let sum = yes
                    + if yes == threads { 1000 } else { 0 }
                    + if yes > 0 { 5000 } else { 0 }
                    + (threads - yes) * 100_000;
                expected = expected.wrapping_mul(31).wrapping_add(sum);
            }
            assert_eq!(
                kernel.run_on(&words),
                vec![expected; threads as usize],
                "{form}, {threads} threads"
            );
        }
    }
}

/// Two pairs of warps reduce apart from each other, by a number in a register.
#[test]
fn pairs_of_warps_reduce_for_themselves() {
    let mut kernel = Kernel::new(
        "",
        "shr.u32 %r1, %t, 6; add.u32 %r1, %r1, 3; ld.global.u32 %r2, [%mine]; setp.ne.u32 %p1, %r2, 0;\n\
         barrier.red.popc.u32 %r3, %r1, 64, %p1; barrier.red.and.pred %p2, %r1, 64, %p1; selp.u32 %r4, 1000, 0, %p2; add.u32 %r3, %r3, %r4; st.global.u32 [%mine], %r3;",
    )
    .block(128);
    let words: Vec<u32> = (0..128)
        .map(|thread| u32::from(thread < 64 || thread % 5 == 0))
        .collect();
    let found = kernel.run_on(&words);
    let second = (64..128).filter(|thread| thread % 5 == 0).count() as u32;
    assert_eq!(found[..64], [1064; 64]);
    assert_eq!(found[64..], vec![second; 64]);
}

/// Lanes that have parted bring their predicates by different ways.
#[test]
fn diverged_lanes_reduce_together() {
    let mut kernel = Kernel::new(
        "",
        "and.b32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 0; @%p1 bra FOURTH; setp.eq.u32 %p2, %t, %t; barrier.red.popc.u32 %r2, 0, %p2; bra STORE;\n\
         FOURTH: setp.ne.u32 %p2, %t, %t; barrier.red.popc.u32 %r2, 0, %p2; add.u32 %r2, %r2, 100;\n\
         STORE: st.global.u32 [%mine], %r2;",
    )
    .block(64);
    let expected: Vec<u32> = (0..64)
        .map(|thread| if thread % 4 == 0 { 148 } else { 48 })
        .collect();
    assert_eq!(kernel.run(64), expected);
}

#[test]
fn the_lowest_member_is_elected() {
    for (members, leader) in [
        (u32::MAX, 0),
        (0xFFFF_FF00, 8),
        (0x8000_0000, 31),
        (0x0100_0100, 8),
    ] {
        let mut kernel = Kernel::new(
            "",
            &format!(
                "mov.u32 %r1, {members}; shr.u32 %r2, %r1, %t; and.b32 %r2, %r2, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra OUT;\n\
                 elect.sync %r3|%p2, %r1; elect.sync _|%p3, %r1; selp.u32 %r4, 100, 0, %p2; selp.u32 %r5, 1000, 2000, %p3; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5;\n\
                 st.global.u32 [%mine], %r3; OUT: add.u32 %r9, %r9, 1;"
            ),
        )
        .block(32);
        let expected: Vec<u32> = (0..32)
            .map(|lane| match members >> lane & 1 {
                0 => 0,
                _ if lane == leader => leader + 1100,
                _ => leader + 2000,
            })
            .collect();
        assert_eq!(kernel.run(32), expected, "{members:#x}");
    }
}
