//! Exchanges between lanes against models that read the ISA's pseudo-code, and barriers of warps and blocks.

use crate::harness::{Kernel, Random};

/// Runs `code`, which finds a row of four words of its lane in `%r1 %r2 %r3 %r4` and leaves two in `%r5 %r6`.
fn lanes(code: &str, rows: &[[u32; 4]]) -> Vec<[u32; 2]> {
    let threads = rows.len();
    let mut kernel = Kernel::new(
        "",
        &format!(
            "mad.wide.u32 %u1, %t, 16, %data; ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%u1]; mov.u32 %r5, 0; mov.u32 %r6, 0;\n\
             {code}\nDONE: mad.wide.u32 %u2, %t, 8, %data; st.global.v2.u32 [%u2+{}], {{%r5, %r6}};",
            threads * 16
        ),
    )
    .block(threads as u32);
    let mut data: Vec<u32> = rows.iter().flatten().copied().collect();
    data.resize(threads * 6, 0);
    let found = kernel.run_on(&data);
    found[threads * 4..].as_chunks::<2>().0.to_vec()
}

fn random_rows(seed: u64, threads: usize) -> Vec<[u32; 4]> {
    let mut random = Random(seed);
    (0..threads)
        .map(|_| std::array::from_fn(|_| random.next() as u32))
        .collect()
}

#[test]
fn shuffles() {
    for mode in ["up", "down", "bfly", "idx"] {
        for seed in 0..104 {
            let mut rows = random_rows(seed, 32);
            // From here on every distance, with higher bits that do not count, the same for all lanes.
            if let Some(distance) = seed.checked_sub(40) {
                rows.iter_mut().for_each(|row| row[1] = distance as u32);
            }
            // Half of the runs use one segment for all lanes, as compilers do.
            if seed % 2 == 0 || seed >= 40 {
                let clamp = if mode == "up" { 0 } else { 31 };
                let segment = [0, 16, 24, 28, 30, 31][seed as usize / 2 % 6];
                let segment = if seed < 40 { segment } else { 0 };
                rows.iter_mut()
                    .for_each(|row| row[2] = segment << 8 | clamp);
            }
            let found = lanes(
                &format!(
                    "shfl.sync.{mode}.b32 %r5|%p1, %r1, %r2, %r3, -1; selp.u32 %r6, 1, 0, %p1;"
                ),
                &rows,
            );
            for (lane, found) in (0u32..).zip(&found) {
                let row = rows[lane as usize];
                let (bval, cval, segmask) = (row[1] & 31, row[2] & 31, row[2] >> 8 & 31);
                let max_lane = (lane & segmask) | (cval & !segmask);
                let min_lane = lane & segmask;
                let signed = |value: u32| i64::from(value);
                let (from, valid) = match mode {
                    "up" => (
                        signed(lane) - signed(bval),
                        signed(lane) - signed(bval) >= signed(max_lane),
                    ),
                    "down" => (
                        signed(lane) + signed(bval),
                        signed(lane) + signed(bval) <= signed(max_lane),
                    ),
                    "bfly" => (signed(lane ^ bval), (lane ^ bval) <= max_lane),
                    _ => {
                        let from = min_lane | (bval & !segmask);
                        (signed(from), from <= max_lane)
                    }
                };
                let from = if valid { from as usize } else { lane as usize };
                assert_eq!(
                    *found,
                    [rows[from][0], u32::from(valid)],
                    "{mode} lane {lane}, run {seed}"
                );
            }
        }
    }
}

/// Member masks that split a warp into groups which exchange side by side.
const GROUPS: [[u32; 4]; 4] = [
    [u32::MAX; 4],
    [0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000],
    [0x5555_5555, 0xAAAA_AAAA, 0, 0],
    [1, 0xFFFF_FFFE, 0, 0],
];

fn members(groups: [u32; 4], lane: usize) -> u32 {
    groups
        .into_iter()
        .find(|mask| mask >> lane & 1 == 1)
        .unwrap_or(0)
}

/// Without `.sync`, votes and shuffles are among the lanes that are there: here those of one side of a branch, then all.
#[test]
fn exchanges_without_sync_are_among_the_lanes_that_are_there() {
    let mut kernel = Kernel::of_text(
        ".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n\
         .reg .pred %p<9>; .reg .b32 %t, %r<9>; .reg .b64 %data, %at;\n\
         ld.param.u64 %data, [data]; mov.u32 %t, %tid.x; mad.wide.u32 %at, %t, 32, %data; mul.lo.u32 %r1, %t, 3;\n\
         setp.lt.u32 %p1, %t, 12; setp.lt.u32 %p2, %t, 20; @%p1 bra LOW;\n\
         vote.ballot.b32 %r2, %p2; vote.all.pred %p3, %p2; vote.any.pred %p4, %p2; vote.uni.pred %p5, %p2;\n\
         shfl.down.b32 %r3|%p6, %r1, 1, 31; bra JOINED;\n\
         LOW: vote.ballot.b32 %r2, %p2; vote.all.pred %p3, %p2; vote.any.pred %p4, !%p2; vote.uni.pred %p5, %p2;\n\
         shfl.idx.b32 %r3|%p6, %r1, 7, 31;\n\
         JOINED: vote.ballot.b32 %r4, %p1; selp.u32 %r5, 1, 0, %p3; selp.u32 %r6, 1, 0, %p4; selp.u32 %r7, 1, 0, %p5;\n\
         selp.u32 %r8, 1, 0, %p6; st.global.v4.u32 [%at], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%at+16], {%r6, %r7, %r8, %t};\n\
         ret;\n}\n",
    )
    .block(32);
    let found = kernel.run_on(&[0; 32 * 8]);
    for (lane, found) in (0u32..).zip(found.as_chunks::<8>().0) {
        let low = lane < 12;
        let neighbour = (lane + 1).min(31);
        let expected = [
            if low { 0xFFF } else { 0xF_F000 },
            3 * if low { 7 } else { neighbour },
            0xFFF,
            u32::from(low),
            u32::from(!low),
            u32::from(low),
            u32::from(low || lane < 31),
            lane,
        ];
        assert_eq!(*found, expected, "lane {lane}");
    }
}

/// Lanes of a mask.
fn of(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

#[test]
fn votes() {
    for groups in GROUPS {
        for seed in 0..24 {
            let mut rows = random_rows(seed, 32);
            for (lane, row) in rows.iter_mut().enumerate() {
                row[0] = match seed % 4 {
                    0 => 0,
                    1 => 1,
                    _ => row[0] & 1,
                };
                row[1] = members(groups, lane);
            }
            let found = lanes(
                "setp.eq.u32 %p1, %r1, 1; vote.sync.all.pred %p2, %p1, %r2; vote.sync.any.pred %p3, %p1, %r2;\n\
                 vote.sync.uni.pred %p4, %p1, %r2; vote.sync.any.pred %p5, !%p1, %r2;\n\
                 selp.u32 %r5, 1, 0, %p2; @%p3 or.b32 %r5, %r5, 2; @%p4 or.b32 %r5, %r5, 4; @%p5 or.b32 %r5, %r5, 8;\n\
                 vote.sync.ballot.b32 %r6, %p1, %r2;",
                &rows,
            );
            for (lane, found) in found.iter().enumerate() {
                let mask = rows[lane][1];
                let ballot = of(mask).fold(0, |bits, at| bits | rows[at][0] << at);
                let (all, any) = (ballot == mask, ballot != 0);
                let none_too = ballot != mask;
                let bits = u32::from(all)
                    | u32::from(any) << 1
                    | u32::from(all || !any) << 2
                    | u32::from(none_too) << 3;
                assert_eq!(
                    *found,
                    [bits, ballot],
                    "lane {lane} of {groups:x?}, run {seed}"
                );
            }
        }
    }
}

#[test]
fn matches() {
    for groups in GROUPS {
        for seed in 0..12 {
            let mut rows = random_rows(seed, 32);
            for (lane, row) in rows.iter_mut().enumerate() {
                row[0] = if seed % 3 == 0 { 7 } else { row[0] % 3 };
                row[1] = members(groups, lane);
            }
            for wide in [false, true] {
                let (widen, ty, value) = if wide {
                    ("shl.b64 %u3, %u3, 33;", "b64", "%u3")
                } else {
                    ("", "b32", "%r1")
                };
                let any = lanes(
                    &format!(
                        "cvt.u64.u32 %u3, %r1; {widen} match.any.sync.{ty} %r5, {value}, %r2;"
                    ),
                    &rows,
                );
                let all = lanes(
                    &format!(
                        "cvt.u64.u32 %u3, %r1; {widen} match.all.sync.{ty} %r5|%p1, {value}, %r2; selp.u32 %r6, 1, 0, %p1;"
                    ),
                    &rows,
                );
                for lane in 0..32 {
                    let mask = rows[lane][1];
                    let same = of(mask)
                        .filter(|at| rows[*at][0] == rows[lane][0])
                        .fold(0, |bits, at| bits | 1 << at);
                    assert_eq!(
                        any[lane],
                        [same, 0],
                        "lane {lane} of {groups:x?}, run {seed}"
                    );
                    let agreed = same == mask;
                    let expected = [if agreed { mask } else { 0 }, u32::from(agreed)];
                    assert_eq!(
                        all[lane], expected,
                        "lane {lane} of {groups:x?}, run {seed}"
                    );
                }
            }
        }
    }
}

#[test]
fn reductions() {
    type Fold = fn(u32, u32) -> u32;
    let operations: [(&str, Fold); 9] = [
        ("add.u32", u32::wrapping_add),
        ("add.s32", u32::wrapping_add),
        ("min.u32", u32::min),
        ("max.u32", u32::max),
        ("min.s32", |a, b| {
            a.cast_signed().min(b.cast_signed()).cast_unsigned()
        }),
        ("max.s32", |a, b| {
            a.cast_signed().max(b.cast_signed()).cast_unsigned()
        }),
        ("and.b32", |a, b| a & b),
        ("or.b32", |a, b| a | b),
        ("xor.b32", |a, b| a ^ b),
    ];
    for (op, fold) in operations {
        for groups in GROUPS {
            for seed in 0..6 {
                let mut rows = random_rows(seed, 32);
                rows.iter_mut()
                    .enumerate()
                    .for_each(|(lane, row)| row[1] = members(groups, lane));
                let found = lanes(&format!("redux.sync.{op} %r5, %r1, %r2;"), &rows);
                for (lane, found) in found.iter().enumerate() {
                    let expected = of(rows[lane][1]).map(|at| rows[at][0]).reduce(fold);
                    assert_eq!(Some(found[0]), expected, "{op} lane {lane} of {groups:x?}");
                }
            }
        }
    }
}

/// Lanes arrive at one exchange by different ways and at different times.
#[test]
fn an_exchange_waits_for_its_diverged_members() {
    let rows: Vec<[u32; 4]> = (0..32).map(|lane| [lane * 10, 0, 0, 0]).collect();
    let found = lanes(
        "and.b32 %r7, %t, 3; mov.u32 %r8, 0; setp.eq.u32 %p1, %r7, 0; @%p1 bra MEET;\n\
         LOOP: add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, %r7; @%p2 bra LOOP;\n\
         MEET: shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1; redux.sync.add.u32 %r6, %r8, -1;",
        &rows,
    );
    for (lane, found) in (0u32..).zip(found) {
        assert_eq!(found, [(lane ^ 1) * 10, 8 * 6], "lane {lane}");
    }
}

/// Groups of a warp that have diverged do not wait for one another.
#[test]
fn groups_exchange_though_others_are_elsewhere() {
    let rows: Vec<[u32; 4]> = (0..32u32)
        .map(|lane| [lane, 0xFFu32 << (lane & 24), 0, 0])
        .collect();
    let found = lanes(
        "setp.lt.u32 %p1, %t, 8; @%p1 bra FIRST;\n\
         setp.lt.u32 %p2, %t, 16; @%p2 bra SECOND;\n\
         redux.sync.add.u32 %r5, %r1, %r2; bra DONE;\n\
         SECOND: redux.sync.max.u32 %r5, %r1, 0xFF00; bra DONE;\n\
         FIRST: redux.sync.min.u32 %r5, %r1, 0xFF;",
        &rows,
    );
    for (lane, found) in (0u32..).zip(found) {
        let expected = match lane / 8 {
            0 => 0,
            1 => 15,
            group => 8 * 8 * group + 28,
        };
        assert_eq!(found[0], expected, "lane {lane}");
    }
}

/// A group whose members wait elsewhere in the same converged fragment does not hold the ready one up.
#[test]
fn a_ready_group_goes_on_while_another_waits() {
    let rows: Vec<[u32; 4]> = (0..32u32)
        .map(|lane| [lane, if lane < 16 { 0xFFFF } else { 0xFFFF_0000 }, 0, 0])
        .collect();
    // Lanes 24 to 31 come late, and only once lane 0 has passed the exchange.
    let found = lanes(
        "setp.lt.u32 %p1, %t, 24; @%p1 bra MEET;\n\
         SPIN: ld.volatile.global.u32 %r9, [%data+12]; setp.eq.u32 %p2, %r9, 0; @%p2 bra SPIN;\n\
         MEET: redux.sync.add.u32 %r5, %r1, %r2;\n\
         setp.ne.u32 %p3, %t, 0; @%p3 bra DONE; st.volatile.global.u32 [%data+12], 1;",
        &rows,
    );
    for (lane, found) in found.iter().enumerate() {
        assert_eq!(found[0], if lane < 16 { 120 } else { 376 }, "lane {lane}");
    }
}

#[test]
fn members_that_have_exited_are_not_waited_for() {
    let mut kernel = Kernel::new(
        "",
        "setp.ge.u32 %p1, %t, 20; @%p1 exit; bar.warp.sync -1; shfl.sync.idx.b32 %r1, %t, 7, 31, -1;\n\
         vote.sync.ballot.b32 %r2, 1, -1; add.u32 %r1, %r1, %r2; st.global.u32 [%mine], %r1;",
    )
    .block(32);
    let mut expected = vec![0xF_FFFF + 7; 20];
    expected.extend([0; 12]);
    assert_eq!(kernel.run(32), expected);
}

/// Lanes wait at a warp barrier for others that exit instead of coming.
#[test]
fn an_exit_completes_a_warp_barrier() {
    let mut kernel = Kernel::new(
        "",
        "setp.lt.u32 %p1, %t, 16; @%p1 bra WAIT; mov.u32 %r1, 0;\n\
         LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, %t; @%p2 bra LOOP; exit;\n\
         WAIT: bar.warp.sync -1; st.global.u32 [%mine], 1;",
    )
    .block(32);
    let mut expected = vec![1; 16];
    expected.extend([0; 16]);
    assert_eq!(kernel.run(32), expected);
}

/// Two groups of one warp use warp barriers of their own, at different places.
#[test]
fn warp_barriers_are_kept_apart_by_their_members() {
    let mut kernel = Kernel::new(
        "",
        "setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;\n\
         setp.lt.u32 %p2, %t, 24; @%p2 bra HIGH;\n\
         SPIN: ld.volatile.global.u32 %r1, [%data]; setp.eq.u32 %p3, %r1, 0; @%p3 bra SPIN; st.global.u32 [%data+8], 5;\n\
         HIGH: bar.warp.sync 0xFFFF0000; ld.global.u32 %r2, [%data+8]; st.global.u32 [%mine+64], %r2; exit;\n\
         LOW: setp.lt.u32 %p4, %t, 8; @%p4 bra EARLY; bar.warp.sync 0xFFFF; bra STORE;\n\
         EARLY: bar.warp.sync 0xFFFF;\n\
         STORE: setp.eq.u32 %p5, %t, 3; @%p5 st.volatile.global.u32 [%data], 9;",
    )
    .block(32);
    let found = kernel.run(48);
    assert_eq!([found[0], found[2]], [9, 5]);
    assert_eq!(found[32..], [5; 16]);
}

/// A lock that lanes of one warp take by spinning.
#[test]
fn lanes_that_spin_do_not_starve_the_lane_that_holds_the_lock() {
    let mut kernel = Kernel::new(
        "",
        "SPIN: atom.global.cas.b32 %r1, [%data], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;\n\
         ld.volatile.global.u32 %r2, [%data+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%data+4], %r2;\n\
         atom.global.exch.b32 %r3, [%data], 0;",
    )
    .block(32);
    assert_eq!(kernel.run(2), [0, 32]);
}

/// One warp spins on what another, that runs later, writes.
#[test]
fn warps_that_spin_give_way_to_others() {
    let mut kernel = Kernel::new(
        "",
        "setp.ge.u32 %p1, %t, 64; @%p1 bra WRITE;\n\
         SPIN: ld.volatile.global.u32 %r1, [%data]; setp.eq.u32 %p2, %r1, 0; @%p2 bra SPIN;\n\
         st.global.u32 [%mine+4], %r1; exit;\nWRITE: st.volatile.global.u32 [%data], 8;",
    )
    .block(96);
    assert_eq!(kernel.run(65), [8; 65]);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    // Two slots, four turns: warp 0 fills, warp 1 empties; barriers 1 and 2 say full, 3 and 4 empty.
    let mut kernel = Kernel::new(
        ".shared .u32 slot;",
        "mov.u32 %r1, 0; setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUME;\n\
         PRODUCE: st.shared.u32 [slot], %r1; bar.arrive 1, 64; bar.sync 2, 64;\n\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 4; @%p2 bra PRODUCE; exit;\n\
         CONSUME: bar.sync 1, 64; ld.shared.u32 %r2, [slot]; mad.lo.u32 %r3, %r3, 10, %r2; bar.arrive 2, 64;\n\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 4; @%p2 bra CONSUME; st.global.u32 [%data], %r3;",
    )
    .block(64);
    assert_eq!(kernel.run(1), [123]);
}

#[test]
fn diverged_lanes_meet_at_a_block_barrier() {
    let mut kernel = Kernel::new(
        ".shared .u32 sum;",
        "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;\n\
         red.shared.add.u32 [sum], 1; barrier.sync 0; bra READ;\n\
         EVEN: red.shared.add.u32 [sum], 100; barrier.sync 0;\n\
         READ: ld.shared.u32 %r2, [sum]; st.global.u32 [%mine], %r2;",
    )
    .block(50);
    assert_eq!(kernel.run(50), [2525; 50]);
}

#[test]
fn active_lanes_are_those_that_are_here() {
    let mut kernel = Kernel::new(
        "",
        "setp.lt.u32 %p1, %t, 5; @%p1 bra FEW; activemask.b32 %r1; bra STORE;\nFEW: activemask.b32 %r1;\n\
         STORE: @!%p1 activemask.b32 %r2; st.global.u32 [%mine], %r1;",
    )
    .block(32);
    let mut expected = vec![0x1F; 5];
    expected.extend([!0x1F; 27]);
    assert_eq!(kernel.run(32), expected);
}
