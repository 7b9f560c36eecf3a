//! The same launch, again and again: the same bits and the same fault.

use soft_gpu::{Fault, LaunchError};

use crate::harness::Kernel;

/// How often each kernel runs.
const RUNS: usize = 10_000;

/// Runs a kernel of two blocks of two warps many times, and returns what all runs did alike.
#[track_caller]
fn always(code: &str) -> (Vec<u8>, Vec<u8>, Option<Fault>) {
    let fresh = || {
        let mut kernel = Kernel::new(".shared .u32 cell[4]; .global .u32 total;", code).block(48);
        kernel.config.grid = [2, 1, 1];
        kernel.config.instruction_budget = 20_000;
        kernel
    };
    let mut kernel = fresh();
    let initial = kernel.globals.clone();
    let mut run = || {
        let mut data = vec![0; 256];
        kernel.globals = initial.clone();
        let fault = match kernel.try_run(&mut data) {
            Ok(()) => None,
            Err(LaunchError::Fault(fault)) => Some(*fault),
            Err(other) => panic!("{other}"),
        };
        let total = kernel
            .globals
            .variable("total")
            .unwrap_or_default()
            .to_vec();
        (data, total, fault)
    };
    let first = run();
    for turn in 1..RUNS {
        assert_eq!(run(), first, "run {turn} of {code}");
    }
    // Another module of the same source, too.
    kernel = fresh();
    let mut data = vec![0; 256];
    let again = kernel.try_run(&mut data);
    assert_eq!((data, again.is_ok()), (first.0.clone(), first.2.is_none()));
    first
}

#[test]
fn kernels_without_races() {
    let (data, _, fault) = always(
        "mov.u32 %r1, %ctaid.x; mul.lo.u32 %r2, %t, %t; add.u32 %r2, %r2, %r1; setp.eq.u32 %p1, %r1, 1; @%p1 st.global.u32 [%mine], %r2;",
    );
    assert_eq!(fault, None);
    assert_eq!(data[4..8], [2, 0, 0, 0]);
}

#[test]
fn kernels_with_races() {
    // Last writer wins; lost updates; the order of atomics seen through what they return; float sums; clocks.
    let racy = [
        "st.global.u32 [%data], %t; st.shared.u32 [cell], %t; ld.shared.u32 %r1, [cell]; st.global.u32 [%mine+4], %r1;",
        "ld.global.u32 %r1, [%data]; add.u32 %r1, %r1, 1; st.global.u32 [%data], %r1; bar.sync 0; ld.global.u32 %r2, [%data]; add.u32 %r2, %r2, %t; st.global.u32 [%data], %r2;",
        "atom.global.add.u32 %r1, [total], 1; st.global.u32 [%mine+8], %r1; atom.global.exch.b32 %r2, [%data], %t; st.global.u32 [%mine+12], %r2;",
        "cvt.rn.f32.u32 %f1, %t; mul.f32 %f1, %f1, 0f3DCCCCCD; red.global.add.f32 [%data], %f1; red.shared.add.f32 [cell], %f1; bar.sync 0; ld.shared.f32 %f2, [cell]; st.global.f32 [%mine+4], %f2;",
        "mov.u32 %r1, %clock; mov.u64 %u1, %globaltimer; cvt.u32.u64 %r2, %u1; add.u32 %r1, %r1, %r2; st.global.u32 [%mine], %r1;",
    ];
    for code in racy {
        let (data, _, fault) = always(code);
        assert_eq!(fault, None, "{code}");
        assert!(data.iter().any(|byte| *byte != 0), "{code}");
    }
}

#[test]
fn kernels_that_fault() {
    let faulty = [
        // Which thread sees the flag first depends on the order.
        "atom.global.add.u32 %r1, [total], 1; setp.eq.u32 %p1, %r1, 70; @%p1 trap; st.global.u32 [%mine], %r1;",
        "st.global.u32 [%mine+100], %t; st.global.u32 [%mine], %t;",
        "setp.lt.u32 %p1, %t, 20; @%p1 bar.sync 1; bar.sync 2;",
        "LOOP: red.global.add.u32 [%data], 1; bra LOOP;",
    ];
    for code in faulty {
        let (_, _, fault) = always(code);
        assert!(fault.is_some(), "{code}");
    }
}
