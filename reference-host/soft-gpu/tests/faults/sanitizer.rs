//! The checks of shared memory that a launch may ask for.

use soft_gpu::{
    Checks, Fault, FaultKind, LaunchConfig, LaunchError, Memory, Module, Nearest, Object,
    OtherAccess, launch,
};

use crate::harness::Kernel;

const VARIABLES: &str = ".shared .align 8 .b32 box[100];";

const BOTH: Checks = Checks {
    uninitialised_shared: true,
    shared_races: true,
};

/// Runs `code` in a block of `threads` with checks; without them it must always pass.
#[track_caller]
fn checked(threads: u32, code: &str, checks: Checks) -> Result<(), Box<Fault>> {
    let mut kernel = Kernel::new(
        VARIABLES,
        &format!("shl.b32 %r1, %t, 2; mov.u32 %r2, box; add.u32 %r2, %r2, %r1;\n{code}"),
    )
    .block(threads);
    kernel.config.grid = [2, 1, 1];
    kernel
        .try_run(&mut [0; 512])
        .expect("no fault without the checks");
    kernel.config.checks = checks;
    match kernel.try_run(&mut [0; 512]) {
        Ok(()) => Ok(()),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

#[track_caller]
fn is_fine(threads: u32, code: &str) {
    if let Err(fault) = checked(threads, code, BOTH) {
        panic!("{fault}\n{code}")
    }
}

/// The race that a kernel has: the faulting thread, its line and instruction, and the other access.
#[track_caller]
fn race(threads: u32, code: &str) -> (u32, u32, String, OtherAccess) {
    let checks = Checks {
        uninitialised_shared: false,
        ..BOTH
    };
    let fault = checked(threads, code, checks).expect_err(code);
    let FaultKind::Race {
        space: "shared",
        bytes: 4,
        other,
        ..
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(fault.block, [0; 3]);
    (fault.thread[0], fault.line, fault.instruction, other)
}

fn other(thread: u32, line: u32, write: bool) -> OtherAccess {
    OtherAccess {
        thread: [thread, 0, 0],
        line,
        write,
    }
}

#[test]
fn reads_of_what_nobody_wrote() {
    let fault = checked(
        64,
        "st.shared.u32 [%r2], %t; bar.sync 0;\nld.shared.u32 %r3, [%r2+4];",
        BOTH,
    )
    .expect_err("the last thread reads past what was written");
    let kind = FaultKind::Uninitialised {
        space: "shared",
        address: 256,
        bytes: 4,
    };
    assert_eq!(fault.kind, kind);
    assert_eq!(
        (fault.block, fault.thread, fault.line, &*fault.instruction),
        ([0; 3], [63, 0, 0], 11, "ld.shared.u32 %r3, [%r2+4]")
    );
    assert_eq!((&*fault.kernel, &*fault.function), ("k", "k"));
    let near = Nearest {
        object: Object::Variable("box".to_owned()),
        start: 0,
        bytes: 400,
        offset: 256,
    };
    assert_eq!(fault.nearest, Some(near));
    is_fine(
        64,
        "st.shared.u32 [%r2], %t;\nbar.sync 0; ld.shared.u32 %r3, [%r2];",
    );
    // Half of what is read was written; a generic address; an atomic reads too.
    for code in [
        "st.shared.u8 [%r2], %t; st.shared.u8 [%r2+1], %t; ld.shared.u32 %r3, [%r2];",
        "cvt.u64.u32 %u1, %r2; cvta.shared.u64 %u1, %u1; ld.u32 %r3, [%u1];",
        "atom.shared.add.u32 %r3, [%r2], 1;",
    ] {
        let fault = checked(8, code, BOTH).expect_err(code);
        assert!(
            matches!(fault.kind, FaultKind::Uninitialised { bytes: 4, .. }),
            "{fault}"
        );
    }
}

#[test]
fn reads_of_what_another_thread_writes() {
    let swap = |between: &str, distance: u32| {
        format!(
            "st.shared.u32 [%r2], %t;\n{between}\nxor.b32 %r3, %r1, {}; mov.u32 %r4, box; add.u32 %r4, %r4, %r3;\nld.shared.u32 %r5, [%r4];",
            4 * distance
        )
    };
    let found = race(32, &swap("", 1));
    let line = |line: u32| 9 + line;
    assert_eq!(
        found,
        (
            0,
            line(4),
            "ld.shared.u32 %r5, [%r4]".to_owned(),
            other(1, line(1), true)
        )
    );
    is_fine(32, &swap("bar.warp.sync -1;", 1));
    is_fine(64, &swap("bar.sync 0;", 1));
    is_fine(64, &swap("bar.sync 3;", 32));
    // Ordered within each warp, and not between them; a fence alone orders nothing.
    let found = race(64, &swap("bar.warp.sync -1;", 32));
    assert_eq!(
        (found.0, found.1, found.3),
        (32, line(1), other(0, line(4), false))
    );
    race(32, &swap("membar.cta;", 1));
}

#[test]
fn writes_of_what_another_thread_reads_or_writes() {
    let shift = |between: &str| {
        format!(
            "st.shared.u32 [%r2+4], %t; st.shared.u32 [box], 9; bar.sync 0;\nld.shared.u32 %r3, [%r2];\n{between}\nst.shared.u32 [%r2+4], %r3;"
        )
    };
    let found = race(32, &shift(""));
    assert_eq!(
        found,
        (
            0,
            13,
            "st.shared.u32 [%r2+4], %r3".to_owned(),
            other(1, 11, false)
        )
    );
    is_fine(32, &shift("bar.sync 0;"));
    // Different values to one place; the same value is the same in any order.
    let found = race(32, "\nst.shared.u32 [box], %t;");
    assert_eq!(
        found,
        (
            1,
            11,
            "st.shared.u32 [box], %t".to_owned(),
            other(0, 11, true)
        )
    );
    is_fine(64, "st.shared.u32 [box], 1;");
}

#[test]
fn atomics_order_each_other_and_what_they_guard() {
    let zero = "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [box], 0; @%p1 st.shared.u32 [box+4], 0; bar.sync 0;\n";
    is_fine(
        64,
        &format!(
            "{zero}atom.shared.add.u32 %r3, [box], 1; red.shared.max.u32 [box], %t; bar.sync 0; ld.shared.u32 %r4, [box];"
        ),
    );
    race(
        64,
        &format!("{zero}red.shared.add.u32 [box], 1;\nld.shared.u32 %r4, [box];"),
    );
    // A lock around plain accesses, taken by lanes of all warps.
    let lock = format!(
        "{zero}mov.u32 %r9, 0;
        TRY: atom.shared.cas.b32 %r3, [box], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra AGAIN;
        ld.shared.u32 %r4, [box+4]; add.u32 %r4, %r4, 1; st.shared.u32 [box+4], %r4;
        membar.cta; atom.shared.exch.b32 %r3, [box], 0; mov.u32 %r9, 1;
        AGAIN: setp.eq.u32 %p3, %r9, 0; @%p3 bra TRY;"
    );
    is_fine(64, &lock);
    race(
        64,
        &lock.replace("atom.shared.cas.b32 %r3, [box], 0, 1;", "mov.u32 %r3, 0;"),
    );
    // A flag, with an ordering and without.
    let flag = |store: &str, load: &str| {
        format!(
            "{zero}setp.ge.u32 %p4, %t, 32; @%p4 bra WAIT;
        @%p1 st.shared.u32 [box+8], 42; @%p1 membar.cta; @%p1 {store}.u32 [box], 1; bra DONE;
        WAIT: {load}.u32 %r3, [box]; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT;
        ld.shared.u32 %r4, [box+8];
        DONE: bar.sync 0;"
        )
    };
    is_fine(64, &flag("st.volatile.shared", "ld.volatile.shared"));
    is_fine(64, &flag("st.release.cta.shared", "ld.acquire.cta.shared"));
    race(64, &flag("st.shared", "ld.shared"));
}

#[test]
fn barriers_order_those_who_take_part() {
    // Producers arrive and go on, consumers wait.
    let pipe = |arrive: &str| {
        format!(
            "setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUME;
        st.shared.u32 [%r2], %t; {arrive} bra DONE;
        CONSUME: bar.sync 1, 64; sub.u32 %r3, %r2, 128;
        ld.shared.u32 %r4, [%r3];
        DONE: bar.sync 0;"
        )
    };
    is_fine(64, &pipe("bar.arrive 1, 64;"));
    // Two of three warps meet; the third one's stores are not ordered by it.
    let three = "st.shared.u32 [%r2], %t; setp.ge.u32 %p1, %t, 64; @%p1 exit; bar.sync 2, 64;\nmov.u32 %r3, box; ld.shared.u32 %r4, [%r3+{at}];";
    is_fine(96, &three.replace("{at}", "128"));
    let found = race(96, &three.replace("{at}", "256"));
    assert_eq!((found.0, found.3), (0, other(64, 10, true)));
    // One block's accesses are not another's: the grid has two.
    is_fine(
        32,
        "st.shared.u32 [%r2], %t; bar.sync 0; ld.shared.u32 %r3, [box+8];",
    );
}

/// nvcc's output for a kernel whose blocks copy their tile and its four edges, but not its corners, and then read all of it.
#[test]
fn corners_that_a_stencil_never_writes() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/kernels/stencil.ptx"
    );
    let module = Module::load(&std::fs::read(path).expect("the kernel")).expect("good PTX");
    let entry = module.entry("stencil2d").expect("the kernel");
    let launch_with = |checks| {
        let (mut from, mut to) = ([1; 1024], [0; 1024]);
        let mut memory = Memory::new();
        memory.map(0x1000, &mut from).expect("a free place");
        memory.map(0x2000, &mut to).expect("a free place");
        let mut params = [0x1000u64.to_le_bytes(), 0x2000u64.to_le_bytes()].concat();
        params.extend([16u32, 16].map(u32::to_le_bytes).as_flattened());
        let config = LaunchConfig {
            block: [16, 16, 1],
            checks,
            ..LaunchConfig::default()
        };
        launch(
            &module,
            entry,
            &config,
            &params,
            &mut module.globals(),
            &mut memory,
        )
    };
    launch_with(Checks::default()).expect("no fault without checks");
    let races = Checks {
        uninitialised_shared: false,
        ..BOTH
    };
    launch_with(races).expect("no race");
    let Err(LaunchError::Fault(fault)) = launch_with(BOTH) else {
        panic!("the corner was found written")
    };
    let corner = FaultKind::Uninitialised {
        space: "shared",
        address: 0,
        bytes: 4,
    };
    assert_eq!((fault.kind, fault.thread), (corner, [0; 3]));
    let near = fault.nearest.expect("the tile");
    assert_eq!((near.bytes, near.offset), (18 * 18 * 4, 0));
}
