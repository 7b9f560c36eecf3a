//! `warp.cu`: votes, shuffles, matches and lane masks.

use crate::device::{Arg, Random, Shape, assert_same, builds};

/// What each lane of one whole warp stores.
fn expected(x: &[i32]) -> Vec<u32> {
    let mask = |test: &dyn Fn(i32) -> bool| {
        (0..32)
            .filter(|lane| test(x[*lane]))
            .fold(0u32, |mask, lane| mask | 1 << lane)
    };
    let ballot = mask(&|v| v > 3);
    let any = u32::from(x.iter().any(|v| *v > 9));
    let all = u32::from(x.iter().all(|v| *v > 0));
    let same = x.iter().all(|v| *v == x[0]);
    (0..32)
        .map(|lane| {
            let v = x[lane];
            let from = |source: usize| x[source].cast_unsigned();
            let up = from(lane.saturating_sub(1));
            let down = from(if lane % 16 + 2 < 16 { lane + 2 } else { lane });
            let shuffled = from(ballot as usize & 31)
                .wrapping_add(up)
                .wrapping_add(down)
                .wrapping_add(from(lane ^ 4));
            let matched = mask(&|other| other == v) ^ if same { u32::MAX } else { 0 };
            let branch = if v > 5 {
                mask(&|other| other > 5).count_ones()
            } else {
                0
            };
            let below = (ballot & ((1 << lane) - 1)).count_ones();
            [
                ballot,
                any,
                all,
                shuffled,
                matched,
                u32::from(same),
                u32::MAX,
                branch,
                below,
            ]
            .into_iter()
            .fold(0, u32::wrapping_add)
        })
        .collect()
}

#[test]
fn warp() {
    let mut random = Random(15);
    for mut kernels in builds("warp") {
        for (blocks, threads) in [(1, 32), (1, 96), (2, 256)] {
            for spread in [1, 2, 12, 1 << 30] {
                let shape = Shape::line(blocks, threads);
                let data = random.many(threads as usize, |random| random.i32().rem_euclid(spread));
                let mut args = [Arg::buffer(&data), Arg::buffer(&vec![0u32; data.len()])];
                kernels.run("warp", shape, &mut args);
                let expected: Vec<u32> = data.chunks_exact(32).flat_map(expected).collect();
                assert_same(&args[1].values(), &expected, (&kernels.file, shape, spread));
            }
        }
    }
}
