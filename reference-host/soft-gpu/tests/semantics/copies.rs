//! Asynchronous copies and the barriers in memory that go with them.

use soft_gpu::FaultKind;

use crate::harness::Kernel;

/// Copies of every size, with fewer bytes read than written and with sources that are ignored.
#[test]
fn copies_are_there_after_the_wait() {
    for (bytes, cache) in [(4u32, "ca"), (8, "ca"), (16, "ca"), (16, "cg")] {
        for taken in ["", "size", "predicate", "not", "hint", "size and hint"] {
            let (before, more) = match taken {
                "size" => (
                    format!("and.b32 %r8, %t, {};", bytes - 1),
                    ", %r8".to_owned(),
                ),
                "predicate" => (
                    "and.b32 %r8, %t, 1; setp.eq.u32 %p1, %r8, 0;".to_owned(),
                    ", %p1".to_owned(),
                ),
                "not" => (
                    "and.b32 %r8, %t, 1; setp.eq.u32 %p1, %r8, 0;".to_owned(),
                    ", !%p1".to_owned(),
                ),
                "hint" => ("mov.u64 %u5, 0;".to_owned(), ", %u5".to_owned()),
                "size and hint" => (
                    format!("mov.u64 %u5, 0; and.b32 %r8, %t, {};", bytes - 1),
                    ", %r8, %u5".to_owned(),
                ),
                _ => (String::new(), String::new()),
            };
            let words = if taken.contains("hint") {
                ".L2::cache_hint.L2::128B"
            } else {
                ""
            };
            let mut kernel = Kernel::new(
                ".shared .align 16 .b8 box[1024];",
                &format!(
                    "mad.wide.u32 %u1, %t, {bytes}, %data; mov.u32 %r9, box; mad.lo.u32 %r9, %t, 16, %r9;\n\
                     st.shared.v4.u32 [%r9], {{-1, -1, -1, -1}}; {before}\n\
                     cp.async.{cache}.shared.global{words} [%r9], [%u1], {bytes}{more}; cp.async.wait_all;\n\
                     mad.wide.u32 %u2, %t, 16, %data; ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%r9]; st.global.v4.u32 [%u2+1024], {{%r1, %r2, %r3, %r4}};"
                ),
            )
            .block(64);
            let mut data: Vec<u8> = (0..1024u32).map(|at| (at * 37 + 11) as u8).collect();
            let input = data.clone();
            data.resize(2048, 0);
            kernel.try_run(&mut data).expect("a run");
            for thread in 0..64usize {
                let bytes = bytes as usize;
                let read = match taken {
                    "size" | "size and hint" => thread % bytes,
                    "predicate" => thread % 2 * bytes,
                    "not" => (1 - thread % 2) * bytes,
                    _ => bytes,
                };
                let mut expected = [0xFF; 16];
                expected[..bytes].fill(0);
                expected[..read].copy_from_slice(&input[thread * bytes..][..read]);
                assert_eq!(
                    data[1024 + thread * 16..][..16],
                    expected,
                    "{bytes} bytes, {taken}, thread {thread}"
                );
            }
        }
    }
}

/// Each of three groups is there once the wait allows no group that young, and not before.
#[test]
fn groups_are_waited_for_from_the_oldest() {
    let reads = "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r9]; mad.lo.u32 %r1, %r1, 10, %r2; mad.lo.u32 %r1, %r1, 10, %r3; mad.lo.u32 %r1, %r1, 10, %r4;";
    let mut code =
        "mov.u32 %r9, box; mad.lo.u32 %r9, %t, 16, %r9; st.shared.v4.u32 [%r9], {0, 0, 0, 0};\n"
            .to_owned();
    for group in 0..3 {
        code.push_str(&format!(
            "cp.async.ca.shared.global [%r9+{0}], [%data+{0}], 4; cp.async.commit_group;\n",
            4 * group
        ));
    }
    // The fourth copy belongs to a group that nobody commits.
    code.push_str(
        "cp.async.ca.shared.global [%r9+12], [%data+12], 4; mad.wide.u32 %u1, %t, 24, %data;\n",
    );
    for (at, wait) in [
        "",
        "cp.async.wait_group 2;",
        "cp.async.wait_group 1;",
        "cp.async.wait_group 0;",
        "cp.async.wait_all;",
    ]
    .iter()
    .enumerate()
    {
        code.push_str(&format!(
            "{wait} {reads} st.global.u32 [%u1+{}], %r1;\n",
            16 + 4 * at
        ));
    }
    let mut data = vec![1, 2, 3, 4];
    data.resize(4 + 6 * 33, 0);
    let found = Kernel::new(".shared .align 16 .b8 box[528];", &code)
        .block(33)
        .run_on(&data);
    for thread in 0..33 {
        assert_eq!(
            found[4 + 6 * thread..][..5],
            [0, 1000, 1200, 1230, 1234],
            "thread {thread}"
        );
    }
}

/// Lanes commit and wait for themselves.
#[test]
fn lanes_wait_for_their_own_copies() {
    let mut kernel = Kernel::new(
        ".shared .align 16 .b8 box[512];",
        "mov.u32 %r9, box; mad.lo.u32 %r9, %t, 16, %r9; st.shared.u32 [%r9], 0; cp.async.ca.shared.global [%r9], [%data], 4; cp.async.commit_group;\n\
         setp.lt.u32 %p1, %t, 16; @%p1 cp.async.wait_group 0; bar.warp.sync -1; ld.shared.u32 %r1, [%r9];\n\
         @!%p1 cp.async.wait_all; ld.shared.u32 %r2, [%r9]; mad.lo.u32 %r1, %r1, 10, %r2; st.global.u32 [%mine+4], %r1;",
    )
    .block(32);
    let mut data = vec![7];
    data.resize(33, 0);
    let found = kernel.run_on(&data);
    assert_eq!(found[1..17], [77; 16]);
    assert_eq!(found[17..], [7; 16]);
}

/// More copies in flight than the device keeps: the oldest have been carried out.
#[test]
fn any_number_of_copies_may_be_in_flight() {
    let mut kernel = Kernel::new(
        ".shared .align 16 .b8 box[4096];",
        "mov.u32 %r9, box; mov.u64 %u1, %data; mov.u32 %r1, 0;\n\
         LOOP: cp.async.ca.shared.global [%r9], [%u1], 4; cp.async.commit_group; add.u32 %r9, %r9, 4; add.u64 %u1, %u1, 4;\n\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1024; @%p1 bra LOOP; cp.async.wait_all;\n\
         mov.u32 %r9, box; mov.u32 %r1, 0; mov.u32 %r2, 0;\n\
         SUM: ld.shared.u32 %r3, [%r9]; mad.lo.u32 %r2, %r2, 31, %r3; add.u32 %r9, %r9, 4; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1024; @%p1 bra SUM;\n\
         st.global.u32 [%data], %r2;",
    );
    let data: Vec<u32> = (0..1024)
        .map(|at: u32| at.wrapping_mul(2_654_435_761))
        .collect();
    let expected = data
        .iter()
        .fold(0u32, |sum, value| sum.wrapping_mul(31).wrapping_add(*value));
    assert_eq!(kernel.run_on(&data)[0], expected);
}

#[test]
fn copies_are_checked_where_they_are_asked_for() {
    let fault = |code: &str| {
        Kernel::new(
            ".shared .align 16 .b8 box[64];",
            &format!("mov.u32 %r9, box; {code}"),
        )
        .fault(64)
    };
    let found = fault("cp.async.ca.shared.global [%r9+64], [%data], 4;");
    assert!(
        matches!(
            found.kind,
            FaultKind::OutOfBounds {
                space: "shared",
                address: 64,
                bytes: 4,
                write: true
            }
        ),
        "{found}"
    );
    let found = fault("cp.async.ca.shared.global [%r9], [%data+64], 8;");
    assert!(
        matches!(
            found.kind,
            FaultKind::OutOfBounds {
                space: "global",
                bytes: 8,
                write: false,
                ..
            }
        ),
        "{found}"
    );
    let found = fault("cp.async.cg.shared.global [%r9+8], [%data], 16;");
    assert!(
        matches!(
            found.kind,
            FaultKind::Misaligned {
                space: "shared",
                address: 8,
                bytes: 16,
                ..
            }
        ),
        "{found}"
    );
    let found = fault("cp.async.cg.shared.global [%r9], [%data+4], 16;");
    assert!(
        matches!(
            found.kind,
            FaultKind::Misaligned {
                space: "global",
                bytes: 16,
                ..
            }
        ),
        "{found}"
    );
    // What is not read need not be there.
    Kernel::new(
        ".shared .align 16 .b8 box[64];",
        "mov.u32 %r9, box; cp.async.ca.shared.global [%r9], [%data+64], 8, 0; cp.async.wait_all;",
    )
    .run(16);
}

/// A phase ends when all have arrived, and a state tells its own phase from the next.
#[test]
fn barriers_in_memory_count_phases() {
    let mut kernel = Kernel::new(
        ".shared .align 8 .b64 gate;",
        "mbarrier.init.shared.b64 [gate], 3; mov.u32 %r9, 0;\n\
         mbarrier.arrive.shared.b64 %u1, [gate]; mbarrier.test_wait.shared.b64 %p1, [gate], %u1; selp.u32 %r1, 1, 0, %p1;\n\
         mbarrier.pending_count.b64 %r2, %u1; mbarrier.arrive.release.cta.shared::cta.b64 %u2, [gate], 2; mbarrier.pending_count.b64 %r3, %u2;\n\
         mbarrier.test_wait.shared.b64 %p1, [gate], %u1; selp.u32 %r4, 1, 0, %p1; mbarrier.test_wait.parity.shared.b64 %p1, [gate], 0; selp.u32 %r5, 1, 0, %p1;\n\
         mbarrier.test_wait.parity.acquire.cta.shared.b64 %p1, [gate], 1; selp.u32 %r6, 1, 0, %p1;\n\
         st.global.v4.u32 [%data], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%data+16], {%r5, %r6};\n\
         mbarrier.arrive_drop.shared.b64 %u3, [gate]; mbarrier.arrive.noComplete.shared.b64 %u4, [gate], 1; mbarrier.arrive.shared.b64 _, [gate], 1;\n\
         mbarrier.arrive.shared.b64 %u5, [gate]; mbarrier.pending_count.b64 %r7, %u5; mbarrier.test_wait.parity.shared.b64 %p1, [gate], 1; selp.u32 %r8, 1, 0, %p1;\n\
         st.global.v2.u32 [%data+24], {%r7, %r8}; mbarrier.inval.shared.b64 [gate]; mbarrier.init.shared.b64 [gate], 1;\n\
         mbarrier.arrive.expect_tx.shared.b64 %u6, [gate], 48; mbarrier.try_wait.shared.b64 %p1, [gate], %u6; selp.u32 %r10, 1, 0, %p1;\n\
         mbarrier.complete_tx.relaxed.cta.shared.b64 [gate], 32; mbarrier.test_wait.shared.b64 %p1, [gate], %u6; selp.u32 %r11, 1, 0, %p1;\n\
         mbarrier.complete_tx.relaxed.cta.shared.b64 [gate], 16; mbarrier.try_wait.shared.b64 %p1, [gate], %u6, 1000; selp.u32 %r12, 1, 0, %p1;\n\
         mbarrier.expect_tx.relaxed.cta.shared.b64 [gate], 8; mbarrier.arrive.shared.b64 %u7, [gate]; mbarrier.test_wait.shared.b64 %p1, [gate], %u7; selp.u32 %r13, 1, 0, %p1;\n\
         st.global.v4.u32 [%data+32], {%r10, %r11, %r12, %r13};",
    );
    assert_eq!(kernel.run(12), [0, 3, 2, 1, 1, 0, 2, 1, 0, 0, 1, 0]);
}

/// A pipeline: warps wait in memory for what one of them copies, over many phases.
#[test]
fn warps_meet_at_a_barrier_in_memory() {
    let mut kernel = Kernel::new(
        ".shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .align 16 .b8 box[512];",
        "setp.ne.u32 %p1, %t, 0; @%p1 bra READY; mbarrier.init.shared.b64 [full], 32; mbarrier.init.shared.b64 [empty], 64;\n\
         READY: bar.sync 0; mov.u32 %r1, 0; mov.u32 %r8, 0; setp.ge.u32 %p2, %t, 32; @%p2 bra CONSUME;\n\
         mov.u32 %r9, box; mad.lo.u32 %r9, %t, 4, %r9; mov.u64 %u1, %mine;\n\
         PRODUCE: cp.async.ca.shared.global [%r9], [%u1], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [full]; and.b32 %r2, %r1, 1;\n\
         HOLD: mbarrier.try_wait.parity.shared.b64 %p3, [empty], %r2; @!%p3 bra HOLD;\n\
         add.u64 %u1, %u1, 128; add.u32 %r1, %r1, 1; setp.lt.u32 %p4, %r1, 20; @%p4 bra PRODUCE; exit;\n\
         CONSUME: and.b32 %r2, %r1, 1; sub.u32 %r3, %t, 32; and.b32 %r3, %r3, 31; mov.u32 %r9, box; mad.lo.u32 %r9, %r3, 4, %r9;\n\
         AGAIN: mbarrier.try_wait.parity.shared.b64 %p3, [full], %r2; @!%p3 bra AGAIN;\n\
         ld.shared.u32 %r4, [%r9]; mad.lo.u32 %r8, %r8, 3, %r4; mbarrier.arrive.shared.b64 %u9, [empty];\n\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p4, %r1, 20; @%p4 bra CONSUME; sub.u32 %r5, %t, 32; mad.wide.u32 %u2, %r5, 4, %data; st.global.u32 [%u2+2560], %r8;",
    )
    .block(96);
    let mut data: Vec<u32> = (0..640u32).map(|at| at * at + 1).collect();
    let expected: Vec<u32> = (0..64)
        .map(|thread| {
            (0..20).fold(0u32, |sum, turn| {
                sum.wrapping_mul(3)
                    .wrapping_add(data[32 * turn + thread % 32])
            })
        })
        .collect();
    data.resize(640 + 64, 0);
    assert_eq!(kernel.run_on(&data)[640..], expected);
}

#[test]
fn a_barrier_in_memory_must_be_shared() {
    let found = Kernel::new("", "mbarrier.init.b64 [%data], 1;").fault(16);
    assert!(
        matches!(
            found.kind,
            FaultKind::WrongSpace {
                space: "generic",
                bytes: 8,
                ..
            }
        ),
        "{found}"
    );
    let found = Kernel::new(
        ".shared .align 8 .b8 box[16];",
        "mov.u32 %r1, box; mbarrier.init.shared.b64 [%r1+4], 1;",
    )
    .fault(16);
    assert!(
        matches!(
            found.kind,
            FaultKind::Misaligned {
                address: 4,
                bytes: 8,
                ..
            }
        ),
        "{found}"
    );
}
