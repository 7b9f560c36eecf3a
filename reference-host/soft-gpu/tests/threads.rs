//! Launches on several threads of the host.

use soft_gpu::{FaultKind, LaunchConfig, LaunchError, Memory, Module, launch};

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Runs kernel `k` of `body` on four threads over `bytes`, mapped at `start`.
fn run(
    body: &str,
    blocks: u32,
    start: u64,
    bytes: &mut [u8],
    budget: u64,
) -> Result<(), LaunchError> {
    let module = Module::load(format!("{HEADER}{body}").as_bytes())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut memory = Memory::new();
    memory.map(start, bytes).expect("free addresses");
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [64, 1, 1],
        instruction_budget: budget,
        threads: 4,
        ..LaunchConfig::default()
    };
    let entry = module.entry("k").expect("a kernel");
    launch(
        &module,
        entry,
        &config,
        &start.to_le_bytes(),
        &mut module.globals(),
        &mut memory,
    )
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect()
}

/// Thread `i` of 64 * 500 adds to, and puts its bit into, words that all share, and takes a lock of compare-and-swap for a plain counter.
const SHARED_WORDS: &str = "
.global .u32 turns;
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<3>;
    ld.param.u64 %d0, [p];
    mov.u32 %r0, %tid.x;
    red.global.add.u32 [%d0], %r0;
    red.global.add.u64 [%d0+8], 3;
    and.b32 %r1, %r0, 31;
    shl.b32 %r1, 1, %r1;
    red.global.or.b32 [%d0+4], %r1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra DONE;
AGAIN:
    atom.global.cas.b32 %r2, [%d0+16], 0, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra AGAIN;
    membar.gl;
    ld.global.u32 %r3, [%d0+20];
    add.u32 %r3, %r3, 1;
    st.global.u32 [%d0+20], %r3;
    ld.global.u32 %r4, [turns];
    add.u32 %r4, %r4, 1;
    st.global.u32 [turns], %r4;
    membar.gl;
    st.global.u32 [%d0+24], %r4;
    atom.global.exch.b32 %r5, [%d0+16], 0;
DONE:
    ret;
}";

#[test]
fn atomics_of_all_blocks_count() {
    let mut bytes = vec![0; 32];
    run(SHARED_WORDS, 500, 0x1000, &mut bytes, 1 << 40).expect("no fault");
    let adds = 500 * (0..64).sum::<u32>();
    let wide = 3 * 64 * 500;
    assert_eq!(
        words(&bytes),
        [adds, u32::MAX, wide, 0, 0, 500, 500, 0],
        "sums, bits, 64-bit sum, lock, counters under the lock"
    );
}

/// Each thread writes the byte of its number, in a block of its own kind of width, so that neighbours share words.
const BYTES: &str = "
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<4>; .reg .b64 %d<3>;
    ld.param.u64 %d0, [p];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r2, %r0, 300, %r1;
    cvt.u64.u32 %d1, %r2;
    add.u64 %d2, %d0, %d1;
    st.global.u8 [%d2], %r2;
    ret;
}";

#[test]
fn bytes_of_one_word_are_written_by_several_blocks() {
    // Even and odd places, and a size that is no multiple of a word: in place, in part, and copied.
    for start in [0x1000u64, 0x1003] {
        let mut bytes = vec![0xEE; 64 * 300 + 3];
        run(BYTES, 300, start, &mut bytes, 1 << 40).expect("no fault");
        for (at, byte) in bytes.iter().enumerate() {
            let expected = if at < 64 * 300 { at as u8 } else { 0xEE };
            assert_eq!(*byte, expected, "byte {at} from {start:#x}");
        }
    }
}

/// Words of all widths there and back: `out[i] = in[i] + 1` with loads and stores of one, two and four words, and of double words.
const WIDTHS: &str = "
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .reg .b64 %d<6>;
    ld.param.u64 %d0, [p];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r0, %r1, 64, %r0;
    mul.wide.u32 %d1, %r0, 32;
    add.u64 %d1, %d1, %d0;
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];
    add.u32 %r2, %r2, 1; add.u32 %r3, %r3, 1; add.u32 %r4, %r4, 1; add.u32 %r5, %r5, 1;
    st.global.v2.u32 [%d1], {%r2, %r3};
    st.global.v2.u32 [%d1+8], {%r4, %r5};
    ld.global.u64 %d2, [%d1+16];
    add.u64 %d2, %d2, 1;
    st.global.u64 [%d1+16], %d2;
    ld.global.s16 %r6, [%d1+24];
    add.s32 %r6, %r6, 1;
    st.global.u16 [%d1+24], %r6;
    ret;
}";

#[test]
fn every_width_is_loaded_and_stored() {
    let (blocks, records) = (40, 40 * 64);
    let old: Vec<u8> = (0..32 * records).map(|at: u32| (at % 251) as u8).collect();
    let mut bytes = old.clone();
    run(WIDTHS, blocks, 0x2000, &mut bytes, 1 << 40).expect("no fault");
    for (new, old) in bytes.chunks(32).zip(old.chunks(32)) {
        for at in [0, 4, 8, 12] {
            assert_eq!(words(new)[at / 4], words(old)[at / 4].wrapping_add(1));
        }
        let double =
            |bytes: &[u8]| u64::from_le_bytes(*bytes[16..].first_chunk().expect("8 bytes"));
        assert_eq!(double(new), double(old).wrapping_add(1));
        let half = |bytes: &[u8]| u16::from_le_bytes([bytes[24], bytes[25]]);
        assert_eq!(half(new), half(old).wrapping_add(1));
        assert_eq!(new[26..], old[26..]);
    }
}

/// Block 37 and those behind it read one word past the end.
const FAULTS: &str = "
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p<2>;
    ld.param.u64 %d0, [p];
    mov.u32 %r1, %ctaid.x;
    setp.lt.u32 %p1, %r1, 37;
    @%p1 bra DONE;
    ld.global.u32 %r2, [%d0+64];
DONE:
    ret;
}";

#[test]
fn of_several_faults_the_first_block_counts() {
    for _ in 0..20 {
        let error = run(FAULTS, 1000, 0x1000, &mut [0; 64], 1 << 40).expect_err("out of bounds");
        let LaunchError::Fault(fault) = error else {
            panic!("{error}");
        };
        assert_eq!(fault.block, [37, 0, 0]);
        assert_eq!(fault.thread, [0, 0, 0]);
        assert!(matches!(
            fault.kind,
            FaultKind::OutOfBounds {
                address: 0x1040,
                bytes: 4,
                ..
            }
        ));
    }
}

/// What was unmapped is remembered on every thread.
#[test]
fn accesses_after_free_are_told_from_others() {
    let module = Module::load(format!("{HEADER}{FAULTS}").as_bytes()).expect("good PTX");
    let mut bytes = [0; 64];
    let mut memory = Memory::new();
    memory.map(0x1000, &mut bytes).expect("free addresses");
    memory.note_freed(0x1040, 64);
    let config = LaunchConfig {
        grid: [1000, 1, 1],
        block: [64, 1, 1],
        threads: 4,
        ..LaunchConfig::default()
    };
    let outcome = launch(
        &module,
        module.entry("k").expect("a kernel"),
        &config,
        &0x1000u64.to_le_bytes(),
        &mut module.globals(),
        &mut memory,
    );
    let Err(LaunchError::Fault(fault)) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(matches!(
        fault.kind,
        FaultKind::UseAfterFree {
            address: 0x1040,
            bytes: 4,
            ..
        }
    ));
}

#[test]
fn threads_share_one_budget() {
    let endless = "
.visible .entry k(.param .u64 p) {
LOOP:
    bra LOOP;
}";
    let error = run(endless, 8, 0x1000, &mut [0; 64], 1 << 22).expect_err("stopped");
    let LaunchError::Fault(fault) = error else {
        panic!("{error}");
    };
    assert_eq!(fault.kind, FaultKind::BudgetExhausted(1 << 22));
    let mut bytes = vec![0; 32];
    run(SHARED_WORDS, 500, 0x1000, &mut bytes, 1 << 24).expect("this budget covers all blocks");
}

/// Blocks read one region and write another, even ones the other way round than odd ones.
const CROSSED: &str = "
.visible .entry k(.param .u64 p, .param .u64 q) {
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
    ld.param.u64 %d0, [p];
    ld.param.u64 %d1, [q];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p0, %r2, 0;
    selp.b64 %d2, %d0, %d1, %p0;
    selp.b64 %d3, %d1, %d0, %p0;
    mad.lo.u32 %r3, %r1, 64, %r0;
    mul.wide.u32 %d4, %r3, 4;
    add.u64 %d3, %d3, %d4;
    mul.wide.u32 %d5, %r0, 4;
    add.u64 %d2, %d2, %d5;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
AGAIN:
    ld.global.u32 %r6, [%d2];
    add.u32 %r5, %r5, %r6;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 50;
    @%p1 bra AGAIN;
    st.global.u32 [%d3+256], %r5;
    ret;
}";

#[test]
fn regions_are_read_and_written_crosswise() {
    const BLOCKS: u32 = 40;
    let module = Module::load(format!("{HEADER}{CROSSED}").as_bytes()).expect("PTX");
    for round in 0..50u32 {
        // Odd rounds have regions that do not lie on 8-byte boundaries.
        let skew = u64::from(round % 2) * 4;
        let starts = [0x1_0000 + skew, 0x9_0000 + skew];
        let mut regions = [1u32, 2].map(|value| -> Vec<u8> {
            let words = 64 + 64 * BLOCKS as usize;
            (0..words as u32)
                .flat_map(|at| (value * at.min(64)).to_le_bytes())
                .collect()
        });
        let mut memory = Memory::new();
        for (start, bytes) in starts.into_iter().zip(&mut regions) {
            memory.map(start, bytes).expect("free addresses");
        }
        let config = LaunchConfig {
            grid: [BLOCKS, 1, 1],
            block: [64, 1, 1],
            threads: 4,
            ..LaunchConfig::default()
        };
        let params = starts.map(u64::to_le_bytes).concat();
        let entry = module.entry("k").expect("a kernel");
        let mut globals = module.globals();
        launch(&module, entry, &config, &params, &mut globals, &mut memory).expect("no fault");
        for (number, (bytes, other)) in regions.iter().zip([2u32, 1]).enumerate() {
            let words = words(bytes);
            for (at, word) in words.iter().enumerate().skip(64) {
                let block = (at - 64) / 64;
                // Even blocks write the second region.
                let written = (block % 2 == 0) == (number == 1);
                let expected = if written {
                    50 * other * (at % 64) as u32
                } else {
                    (3 - other) * 64
                };
                assert_eq!(*word, expected, "round {round}, region {number}, word {at}");
            }
        }
    }
}

#[test]
fn a_block_sees_what_another_writes_to_what_it_reads() {
    let body = "
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<3>;
    ld.param.u64 %d0, [p];
    mov.u32 %r0, %ctaid.x;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra WRITE;
AGAIN:
    ld.volatile.global.u32 %r1, [%d0];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    st.global.u32 [%d0+4], %r1;
    ret;
WRITE:
    st.volatile.global.u32 [%d0], 7;
    ret;
}";
    for _ in 0..100 {
        let mut bytes = vec![0; 64];
        run(body, 2, 0x1_0000, &mut bytes, 1 << 40).expect("no fault");
        assert_eq!(words(&bytes)[..2], [7, 7]);
    }
}
