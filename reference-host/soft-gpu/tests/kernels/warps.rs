//! Lanes that exchange: `votes.cu`, `shuffles.cu`, `cooperative-groups.cu`, `elect.cu`, and what a thread knows of
//! itself in `special-registers.cu`.

use crate::device::{Arg, Random, Shape, assert_same, release};

/// The lanes of a warp for which `test` holds, as a mask.
fn mask(test: impl Fn(usize) -> bool) -> u32 {
    (0..32)
        .filter(|lane| test(*lane))
        .fold(0, |mask, lane| mask | 1 << lane)
}

/// What `votes` stores for the lanes of one whole warp; `None` where a lane stores nothing.
fn votes(x: &[u32], lane: usize) -> Vec<Option<u32>> {
    let own = x[lane];
    let all = x.iter().all(|x| x & 1 == 1);
    let any = x.contains(&7);
    let same = x.iter().all(|other| *other == x[0]);
    let signed = |x: &u32| x.cast_signed();
    let least = x.iter().map(signed).min().expect("32 lanes");
    let first = [
        u32::from(all) | u32::from(any) << 1,
        mask(|i| x[i] > 100),
        mask(|i| x[i] & 3 == own & 3),
        if same { !2 } else { 0 },
        x.iter().fold(0, |sum: u32, x| sum.wrapping_add(*x)),
        least.cast_unsigned(),
        *x.iter().max().expect("32 lanes"),
        x.iter().fold(u32::MAX, |and, x| and & (x | 0xFF)) ^ x.iter().fold(0, |xor, x| xor ^ x),
    ];
    let member = |i: usize| i % 3 == 1;
    let second = [
        (0..32).filter(|i| member(*i)).fold(0, |or, i| or | x[i]),
        mask(|i| member(i) && x[i] & 2 != 0),
        mask(|i| member(i) && x[i] & 1 == own & 1),
        mask(member),
    ];
    let first = first.into_iter().map(Some);
    first
        .chain(second.map(|word| member(lane).then_some(word)))
        .collect()
}

#[test]
fn votes_and_reductions() {
    let mut random = Random(901);
    let mut kernels = release("votes");
    for spread in [1, 2, 8, 300, u32::MAX] {
        let data = random.many(96, |random| {
            (random.u32() % spread).wrapping_mul(2) | u32::from(spread != 8)
        });
        let untouched = 0xABCD_0123;
        let mut args = [Arg::buffer(&data), Arg::buffer(&vec![untouched; 12 * 96])];
        kernels.run("votes", Shape::line(1, 96), &mut args);
        let expected: Vec<u32> = data
            .chunks(32)
            .flat_map(|x| (0..32).flat_map(|lane| votes(x, lane)).collect::<Vec<_>>())
            .map(|word| word.unwrap_or(untouched))
            .collect();
        assert_same(&args[1].values(), &expected, spread);
    }
}

#[test]
fn leaders() {
    let mut kernels = release("votes");
    let mut args = [Arg::buffer(&[5u32]), Arg::buffer(&[u32::MAX; 64])];
    kernels.run("leaders", Shape::line(1, 64), &mut args);
    // 19 lanes of each warp get a number each, in the order of lanes within a warp.
    assert_same(&args[0].values(), &[5 + 2 * 19u32], "counter");
    let old: Vec<u32> = args[1].values();
    let mut taken: Vec<u32> = old
        .iter()
        .copied()
        .filter(|number| *number != u32::MAX)
        .collect();
    for warp in old.chunks(32) {
        assert!(
            warp[20..]
                .iter()
                .chain(&warp[3..4])
                .all(|number| *number == u32::MAX)
        );
        let own: Vec<u32> = warp
            .iter()
            .copied()
            .filter(|number| *number != u32::MAX)
            .collect();
        assert!(own.windows(2).all(|pair| pair[0] < pair[1]), "{own:?}");
    }
    taken.sort_unstable();
    assert_same(&taken, &(5..43).collect::<Vec<u32>>(), "numbers");
}

#[test]
fn shuffles() {
    let mut random = Random(902);
    let mut kernels = release("shuffles");
    let a = random.many(64, Random::i32);
    let b = random.many(64, Random::f64);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<i32>(512),
        Arg::zeros::<f64>(128),
    ];
    kernels.run("shuffles", Shape::line(1, 64), &mut args);
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    for (i, own) in a.iter().enumerate() {
        let (lane, warp) = (i % 32, i / 32 * 32);
        // The start of the lane's segment of `width` lanes.
        let segment = |width: usize| warp + lane / width * width;
        let up = |d: usize, width: usize| if lane % width >= d { i - d } else { i };
        let down = |d: usize, width: usize| if lane % width + d < width { i + d } else { i };
        narrow.extend(
            [
                warp + (i * 5 + 3) % 32,
                segment(8) + i / 2 % 8,
                up(3, 32),
                up(2, 4),
                down(7, 32),
                down(5, 16),
                warp + (lane ^ 21),
                i ^ 3,
            ]
            .map(|source| a[source]),
        );
        wide.extend([b[i ^ 16], b[warp + (own & 31) as usize]]);
    }
    assert_same(&args[2].values(), &narrow, "32 bits");
    assert_same(&args[3].values(), &wide, "64 bits");
}

#[test]
fn scan_of_a_warp() {
    let mut random = Random(903);
    let mut kernels = release("shuffles");
    let a = random.many(128, |random| random.i32() / 64);
    let mut args = [
        Arg::buffer(&a),
        Arg::zeros::<i32>(128),
        Arg::zeros::<i32>(128),
    ];
    kernels.run("warp_scan", Shape::line(1, 128), &mut args);
    let sums: Vec<i32> = a
        .chunks(32)
        .flat_map(|warp| (1..=32).map(|n| warp[..n].iter().sum()))
        .collect();
    let greatest: Vec<i32> = a
        .chunks(8)
        .flat_map(|part| [*part.iter().max().expect("eight lanes"); 8])
        .collect();
    assert_same(&args[1].values(), &sums, "sums");
    assert_same(&args[2].values(), &greatest, "segments");
}

#[test]
fn cooperative_groups() {
    let mut random = Random(904);
    let mut kernels = release("cooperative-groups");
    let (blocks, threads) = (2, 64);
    let a = random.many(128, |random| random.i32() / 1000);
    let mut args = [
        Arg::buffer(&a),
        Arg::zeros::<i32>(256),
        Arg::zeros::<i32>(128),
        Arg::zeros::<i32>(2),
    ];
    kernels.run("groups", Shape::line(blocks, threads), &mut args);
    let tile_sum = |i: usize| -> i32 { a[i / 8 * 8..][..8].iter().sum() };
    let sums: Vec<i32> = (0..128)
        .flat_map(|i| [tile_sum(i), a[i / 8 * 8 + 7 - i % 8] + (i % 64 / 8) as i32])
        .collect();
    let ranks: Vec<i32> = (0..128)
        .map(|i| {
            let here = |lane: &usize| a[i / 32 * 32 + lane] % 3 == 0;
            let size = (0..32).filter(here).count();
            let before = (0..i % 32).filter(here).count();
            if here(&(i % 32)) {
                (before * 100 + size) as i32
            } else {
                -1
            }
        })
        .collect();
    let blocks: Vec<i32> = a.chunks(64).map(|block| block.iter().sum()).collect();
    assert_same(&args[1].values(), &sums, "sums");
    assert_same(&args[2].values(), &ranks, "ranks");
    assert_same(&args[3].values(), &blocks, "blocks");
}

#[test]
fn special_registers() {
    let mut kernels = release("special-registers");
    for (grid, block) in [([3, 2, 2], [5, 4, 3]), ([1, 1, 1], [64, 1, 1])] {
        let shape = Shape {
            grid,
            block,
            dynamic_shared_bytes: 100,
        };
        let stride = 24;
        let mut args = [
            Arg::zeros::<u32>(shape.threads() * stride),
            Arg::value(stride as i32),
        ];
        kernels.run("registers", shape, &mut args);
        let found: Vec<u32> = args[0].values();
        let threads: u32 = block.iter().product();
        for (i, found) in (0u32..).zip(found.chunks(stride)) {
            let within = |i: u32, extent: [u32; 3]| {
                [
                    i % extent[0],
                    i / extent[0] % extent[1],
                    i / extent[0] / extent[1],
                ]
            };
            let (thread, place) = (within(i % threads, block), within(i / threads, grid));
            let lane = i % threads % 32;
            let bit = 1u32 << lane;
            let masks = [
                lane,
                bit,
                bit - 1,
                bit | (bit - 1),
                !(bit | (bit - 1)),
                !(bit - 1),
                100,
            ];
            let expected = [
                &thread[..],
                &block,
                &place,
                &grid,
                &masks,
                &[i % threads / 32, threads.div_ceil(32)],
            ]
            .concat();
            assert_same(&found[..21], &expected, (shape, i));
            assert!(
                found[21] < found[22],
                "processor {} of {}",
                found[21],
                found[22]
            );
        }
    }
}

#[test]
fn clocks() {
    let mut kernels = release("special-registers");
    let mut args = [Arg::zeros::<i64>(4 * 64)];
    kernels.run("clocks", Shape::line(1, 64), &mut args);
    for times in args[0].values::<i64>().chunks(4) {
        let [sum, short, nanoseconds, all] = times else {
            panic!("four times")
        };
        assert!(0 < *sum && *sum < 10 * all, "{times:?}");
        assert!(0 < *short && *short <= *all, "{times:?}");
        assert!(*nanoseconds >= 0, "{times:?}");
    }
}

#[test]
fn elections() {
    let mut kernels = release("elect");
    let untouched = 99u32;
    let mut args = [Arg::buffer(&[untouched; 64]), Arg::buffer(&[untouched; 64])];
    kernels.run("elect", Shape::line(1, 64), &mut args);
    let (leaders, flags) = (args[0].values::<u32>(), args[1].values::<u32>());
    for (warp, members) in [0..32usize, 8..16].into_iter().enumerate() {
        let leaders = &leaders[32 * warp..][..32];
        let flags = &flags[32 * warp..][..32];
        let leader = leaders[members.start];
        assert!(members.contains(&(leader as usize)), "leader {leader}");
        for (lane, (found, flag)) in leaders.iter().zip(flags).enumerate() {
            let expected = if members.contains(&lane) {
                (leader, u32::from(lane as u32 == leader))
            } else {
                (untouched, untouched)
            };
            assert_eq!((*found, *flag), expected, "warp {warp}, lane {lane}");
        }
    }
}
