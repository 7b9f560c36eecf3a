//! Threads of one warp that wait for each other, as code for sm_70 and later may.

use crate::harness::Kernel;

/// Each thread of `threads` adds one to a plain counter under a lock that `acquire` takes and `release` gives back.
#[track_caller]
fn counts(threads: u32, acquire: &str, release: &str) {
    let code = format!(
        "mov.u64 %u2, lock; {acquire}\n\
         ld.volatile.global.u32 %r2, [%data]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%data], %r2; membar.gl;\n{release}"
    );
    let mut kernel = Kernel::new(".global .align 4 .u32 lock[2];", &code).block(threads);
    kernel.config.grid = [3, 1, 1];
    assert_eq!(kernel.run(1), [3 * threads], "{acquire}");
}

#[test]
fn spin_locks() {
    // The lane that holds the lock stands behind those that spin, and before them.
    counts(
        96,
        "SPIN: atom.global.cas.b32 %r1, [%u2], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;",
        "atom.global.exch.b32 %r1, [%u2], 0;",
    );
    counts(
        96,
        "bra TRY; HELD: bra IN; TRY: atom.global.exch.b32 %r1, [%u2], 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra HELD; bra TRY; IN:",
        "st.volatile.global.u32 [%u2], 0;",
    );
    // With back-off, which grows and is bounded.
    counts(
        64,
        "mov.u32 %r5, 8; SPIN: atom.global.cas.b32 %r1, [%u2], 0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra IN;
         nanosleep.u32 %r5; shl.b32 %r5, %r5, 1; min.u32 %r5, %r5, 256; bra SPIN; IN:",
        "atom.global.exch.b32 %r1, [%u2], 0;",
    );
    // First come, first served.
    counts(
        64,
        "atom.global.add.u32 %r1, [%u2], 1; WAIT: ld.volatile.global.u32 %r3, [%u2+4]; setp.ne.u32 %p1, %r3, %r1; @%p1 bra WAIT;",
        "add.u32 %r1, %r1, 1; st.volatile.global.u32 [%u2+4], %r1;",
    );
}

/// A lock that is taken in a device function and given back by the caller, so that holder and waiters differ in their calls too.
#[test]
fn locks_across_calls() {
    let before = ".global .u32 lock;
        .func take() { .reg .pred %p; .reg .b32 %r; .reg .b64 %l; mov.u64 %l, lock;
        SPIN: atom.global.cas.b32 %r, [%l], 0, 1; setp.ne.u32 %p, %r, 0; @%p bra SPIN; ret; }";
    let code = "call take; ld.volatile.global.u32 %r2, [%data]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%data], %r2; membar.gl;
        mov.u64 %u2, lock; atom.global.exch.b32 %r1, [%u2], 0;";
    assert_eq!(Kernel::new(before, code).block(64).run(1), [64]);
}

/// Lane 0 waits for lane 1, which waits for lane 2, and so on to the last; and the other way round.
#[test]
fn chains_of_lanes() {
    for (first, next) in [(31, 4i32), (0, -4)] {
        let code = format!(
            "setp.eq.u32 %p1, %t, {first}; @%p1 bra SIGNAL;\n\
             WAIT: ld.volatile.global.u32 %r1, [%mine+{next}]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;\n\
             SIGNAL: add.u32 %r2, %t, 1; st.volatile.global.u32 [%mine], %r2;"
        );
        let expected: Vec<u32> = (1..=32).collect();
        assert_eq!(Kernel::new("", &code).block(32).run(32), expected);
    }
}

/// One lane hands 200 values to another through one cell.
#[test]
fn producer_and_consumer_in_one_warp() {
    for (producer, consumer) in [(3, 20), (20, 3)] {
        let code = format!(
            "mov.u32 %r1, 0; mov.u32 %r5, 0; setp.eq.u32 %p1, %t, {producer}; @%p1 bra PRODUCE; setp.eq.u32 %p1, %t, {consumer}; @%p1 bra CONSUME; exit;\n\
             PRODUCE: ld.volatile.shared.u32 %r2, [full]; setp.ne.u32 %p2, %r2, 0; @%p2 bra PRODUCE;\n\
             mul.lo.u32 %r3, %r1, %r1; st.volatile.shared.u32 [cell], %r3; st.volatile.shared.u32 [full], 1;\n\
             add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 200; @%p2 bra PRODUCE; exit;\n\
             CONSUME: ld.volatile.shared.u32 %r2, [full]; setp.eq.u32 %p2, %r2, 0; @%p2 bra CONSUME;\n\
             ld.volatile.shared.u32 %r3, [cell]; mad.lo.u32 %r5, %r5, 31, %r3; st.volatile.shared.u32 [full], 0;\n\
             add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 200; @%p2 bra CONSUME; st.global.u32 [%data], %r5;"
        );
        let expected = (0..200u32).fold(0u32, |sum, i| sum.wrapping_mul(31).wrapping_add(i * i));
        let mut kernel = Kernel::new(".shared .u32 full; .shared .u32 cell;", &code).block(32);
        assert_eq!(kernel.run(1), [expected]);
    }
}

/// Warps that spin on what other warps of the block do, in both orders, and on what an earlier block did.
#[test]
fn warps_and_blocks_wait_for_each_other() {
    for waiting in [0, 3] {
        let code = format!(
            "shr.u32 %r1, %t, 5; setp.eq.u32 %p1, %r1, {waiting}; @!%p1 bra WORK;\n\
             WAIT: ld.volatile.global.u32 %r2, [%data]; setp.lt.u32 %p2, %r2, 96; @%p2 bra WAIT; st.global.u32 [%data+4], %r2; bra DONE;\n\
             WORK: red.global.add.u32 [%data], 1; DONE:"
        );
        assert_eq!(Kernel::new("", &code).block(128).run(2), [96, 96]);
    }
    let code = "mov.u32 %r1, %ctaid.x; WAIT: ld.volatile.global.u32 %r2, [%data]; setp.lt.u32 %p1, %r2, %r1; @%p1 bra WAIT; red.global.add.u32 [%data], 1;";
    let mut kernel = Kernel::new("", code);
    kernel.config.grid = [50, 1, 1];
    assert_eq!(kernel.run(1), [50]);
}

/// Barriers by number, with counts, with warps cut short, and threads that are gone.
#[test]
fn barriers_of_some_threads() {
    // Pairs of warps go through barriers of their own, at different paces, 20 times; the last warp has 16 threads.
    let code = "shr.u32 %r1, %t, 6; add.u32 %r1, %r1, 1; mov.u32 %r2, 0; mov.u32 %r5, 0; shl.b32 %r6, %t, 2; mov.u32 %r7, cells; add.u32 %r6, %r7, %r6;\n\
        LOOP: st.shared.u32 [%r6], %r2; bar.sync %r1, 64; xor.b32 %r8, %t, 32; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, %r7; ld.shared.u32 %r9, [%r8]; add.u32 %r5, %r5, %r9;\n\
        bar.sync %r1, 64; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 20; @%p1 bra LOOP; st.global.u32 [%mine], %r5;";
    let mut kernel = Kernel::new(".shared .u32 cells[256];", code).block(240);
    let found = kernel.run(240);
    let sum: u32 = (0..20).sum();
    for (thread, value) in found.iter().enumerate() {
        // Threads 208 to 223 read cells of threads that do not exist.
        let alone = (208..224).contains(&thread);
        assert_eq!(*value, if alone { 0 } else { sum }, "thread {thread}");
    }
    // Threads that have ended are not waited for.
    let code = "setp.ge.u32 %p1, %t, 40; @%p1 exit; red.shared.add.u32 [n], 1; bar.sync 0; ld.shared.u32 %r1, [n]; st.global.u32 [%mine], %r1;";
    let mut kernel = Kernel::new(".shared .u32 n;", code).block(100);
    let expected: Vec<u32> = (0..100).map(|t| if t < 40 { 40 } else { 0 }).collect();
    assert_eq!(kernel.run(100), expected);
}

/// A warp spins until others, which meet at a barrier of their own first, say go: it must not keep them from meeting.
#[test]
fn barriers_of_some_warps_while_another_spins() {
    let spins = [
        // On a flag.
        (
            "mov.u32 %r2, 0;",
            "WAIT: ld.volatile.shared.u32 %r1, [flag]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;",
            "@%p3 st.volatile.shared.u32 [flag], 1;",
        ),
        // On a barrier in memory.
        (
            "mov.u32 %r2, flag; setp.eq.u32 %p4, %t, 0; @%p4 mbarrier.init.shared.b64 [%r2], 2;",
            "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra WAIT;",
            "@%p3 mbarrier.arrive.shared.b64 _, [%r2];",
        ),
    ];
    for (prepare, wait, go) in spins {
        // The one that spins comes before the others, and after them.
        for spinner in [0, 2] {
            let code = format!(
                "{prepare}\nbar.sync 0; shr.u32 %r3, %t, 5; setp.eq.u32 %p1, %r3, {spinner}; @%p1 bra WAIT;\n\
                 and.b32 %r4, %t, 31; setp.eq.u32 %p3, %r4, 0; st.global.u32 [%mine], 1; bar.sync 1, 64;\n\
                 xor.b32 %r5, %r3, {}; shl.b32 %r5, %r5, 5; add.u32 %r5, %r5, %r4; mad.wide.u32 %u1, %r5, 4, %data;\n\
                 ld.global.u32 %r6, [%u1]; add.u32 %r6, %r6, 1; bar.sync 1, 64; st.global.u32 [%mine], %r6;\n{go}\nbra END;\n\
                 {wait}\nst.global.u32 [%mine], 7;\nEND:",
                // The numbers of the two others differ in these bits.
                if spinner == 0 { 1 ^ 2 } else { 1 }
            );
            let mut kernel = Kernel::new(".shared .align 8 .b64 flag;", &code).block(96);
            kernel.config.instruction_budget = 1 << 22;
            let expected: Vec<u32> = (0..96u32)
                .map(|thread| if thread / 32 == spinner { 7 } else { 2 })
                .collect();
            assert_eq!(kernel.run(96), expected, "{wait} of warp {spinner}");
        }
    }
}

/// Two warps hand each other the turn 100 times through barriers in memory: whoever tries in vain lets the other run at once.
#[test]
fn warps_that_wait_in_turn() {
    for first in [0, 1] {
        let code = format!(
            "setp.ne.u32 %p1, %t, 0; mov.u32 %r5, gates; @%p1 bra READY;\n\
             mbarrier.init.shared.b64 [%r5], 32; mbarrier.init.shared.b64 [%r5+8], 32;\n\
             READY: bar.sync 0; mov.u32 %r1, 0; shr.u32 %r2, %t, 5; setp.eq.u32 %p2, %r2, {first}; @%p2 bra SERVE;\n\
             RETURN: and.b32 %r3, %r1, 1; GET: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], %r3; @!%p3 bra GET;\n\
             mbarrier.arrive.shared.b64 _, [%r5+8]; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra RETURN; bra END;\n\
             SERVE: and.b32 %r3, %r1, 1; mbarrier.arrive.shared.b64 _, [%r5];\n\
             BACK: mbarrier.try_wait.parity.shared.b64 %p3, [%r5+8], %r3; @!%p3 bra BACK;\n\
             add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra SERVE; END: st.global.u32 [%mine], %r1;"
        );
        let mut kernel = Kernel::new(".shared .align 8 .b8 gates[16];", &code).block(64);
        // A warp that tried thousands of times in vain would need several times as much.
        kernel.config.instruction_budget = 1 << 17;
        assert_eq!(kernel.run(64), [100; 64]);
    }
}

/// Lanes deep in calls that differ are told apart in no time, so that the watchdog's budget stands for time there too.
#[test]
fn lanes_deep_in_different_calls() {
    let sites: String = (0..32)
        .map(|at| format!("S{at}: call spin; bra END;\n"))
        .collect();
    let names: Vec<String> = (0..32).map(|at| format!("S{at}")).collect();
    let functions = format!(
        ".func spin() {{ L: bra L; }}
         .func deep(.param .b32 n) {{ .reg .b32 %n, %t; .reg .pred %p; ld.param.b32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra LAST; sub.u32 %n, %n, 1;
         {{ .param .b32 a; st.param.b32 [a], %n; call deep, (a); }} ret;
         LAST: mov.u32 %t, %laneid; T: .branchtargets {}; brx.idx %t, T; {sites} END: ret; }}",
        names.join(",")
    );
    // Compared one by one, the calls of such fragments take minutes.
    let depth = 2000;
    let code = format!(
        "{{ .param .b32 a; mov.u32 %r1, {depth}; st.param.b32 [a], %r1; call deep, (a); }}"
    );
    let mut kernel = Kernel::new(&functions, &code).block(32);
    kernel.config.instruction_budget = 1 << 26;
    let fault = kernel.fault(1);
    assert_eq!(fault.kind, soft_gpu::FaultKind::BudgetExhausted(1 << 26));
}

/// Half of each warp waits for the other half, which the last warp's reaches first: a warp that is complete releases no lanes of others.
#[test]
fn warps_are_synchronised_each_for_itself() {
    let code = "and.b32 %r1, %t, 31; shr.u32 %r2, %t, 5; mov.u32 %r3, cells; mad.lo.u32 %r3, %r2, 4, %r3; setp.ge.u32 %p1, %r1, 16; @%p1 bra SLOW;\n\
        bar.warp.sync -1; ld.volatile.shared.u32 %r5, [%r3]; bra END;\n\
        COME: st.volatile.shared.u32 [%r3], 7; bar.warp.sync -1; mov.u32 %r5, 9; bra END;\n\
        SLOW: sub.u32 %r4, 4, %r2; mul.lo.u32 %r4, %r4, 50;\n\
        LOOP: sub.u32 %r4, %r4, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra COME; bra LOOP;\n\
        END: st.global.u32 [%mine], %r5;";
    let expected: Vec<u32> = (0..128)
        .map(|thread| if thread % 32 < 16 { 7 } else { 9 })
        .collect();
    let mut kernel = Kernel::new(".shared .u32 cells[4];", code).block(128);
    assert_eq!(kernel.run(128), expected);
}

/// A warp that enters a function leaves what another, which waits in it, keeps there.
#[test]
fn warps_enter_a_function_each_for_itself() {
    let functions = ".func f(.param .b32 n, .param .b64 to) { .reg .b32 %n, %d; .reg .b64 %to; .reg .pred %p; ld.param.b32 %n, [n]; ld.param.b64 %to, [to];\n\
        setp.lt.u32 %p, %n, 32; bar.sync 1, 64; selp.b32 %d, 5, 6, %p; add.u32 %d, %d, %n; st.global.u32 [%to], %d; ret; }";
    let call = "{ .param .b32 a; .param .b64 b; st.param.b32 [a], %t; st.param.b64 [b], %mine; call f, (a, b); }";
    // The second warp comes when the first waits at the barrier.
    let code =
        format!("setp.ge.u32 %p1, %t, 32; @%p1 bra LATE;\n{call} bra END;\nLATE: {call}\nEND:");
    let expected: Vec<u32> = (0..64)
        .map(|thread| thread + if thread < 32 { 5 } else { 6 })
        .collect();
    let mut kernel = Kernel::new(functions, &code).block(64);
    assert_eq!(kernel.run(64), expected);
}
