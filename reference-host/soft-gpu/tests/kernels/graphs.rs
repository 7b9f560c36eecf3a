//! Graphs, clusters and puzzles: `breadth-first.cu`, `k-means.cu`, `life.cu`, `queens.cu`.

use std::collections::VecDeque;

use crate::device::{Arg, Random, Shape, assert_same, release};

#[test]
fn breadth_first() {
    let mut random = Random(501);
    let mut kernels = release("breadth-first");
    let nodes = 500usize;
    let neighbours: Vec<Vec<i32>> = (0..nodes)
        .map(|_| {
            let degree = random.u32() as usize % 4;
            random.many(degree, |random| (random.u32() as usize % nodes) as i32)
        })
        .collect();
    let mut starts = vec![0];
    for list in &neighbours {
        starts.push(starts[starts.len() - 1] + list.len() as i32);
    }
    let mut levels = vec![-1i32; nodes];
    levels[3] = 0;
    let mut args = [
        Arg::buffer(&starts),
        Arg::buffer(&neighbours.concat()),
        Arg::buffer(&levels),
        Arg::buffer(&[3i32]),
        Arg::value(1i32),
        Arg::zeros::<i32>(nodes),
        Arg::zeros::<i32>(1),
        Arg::value(1i32),
    ];
    for level in 1.. {
        args[7] = Arg::value(level);
        args[5] = Arg::zeros::<i32>(nodes);
        args[6] = Arg::zeros::<i32>(1);
        kernels.run("breadth_first", Shape::line(4, 128), &mut args);
        let count = args[6].values::<i32>()[0];
        if count == 0 {
            break;
        }
        let frontier = args[5].values::<i32>();
        args[3] = Arg::buffer(&frontier[..count as usize]);
        args[4] = Arg::value(count);
    }
    let mut queue = VecDeque::from([3usize]);
    while let Some(node) = queue.pop_front() {
        for &next in &neighbours[node] {
            if levels[next as usize] == -1 {
                levels[next as usize] = levels[node] + 1;
                queue.push_back(next as usize);
            }
        }
    }
    assert!(
        levels.iter().any(|level| *level > 5),
        "the graph is deep enough"
    );
    assert_same(&args[2].values(), &levels, "levels");
}

#[test]
fn components() {
    let mut random = Random(502);
    let mut kernels = release("breadth-first");
    let nodes = 400;
    let edges = random.many(330, |random| {
        [(random.u32() % nodes) as i32, (random.u32() % nodes) as i32]
    });
    let mut args = [
        Arg::buffer(&edges.concat()),
        Arg::value(edges.len() as i32),
        Arg::buffer(&(0..nodes as i32).collect::<Vec<_>>()),
    ];
    kernels.run("components", Shape::line(2, 64), &mut args);
    let parents: Vec<i32> = args[2].values();
    let roots: Vec<i32> = (0..nodes as i32)
        .map(|mut node| {
            while parents[node as usize] != node {
                node = parents[node as usize];
            }
            node
        })
        .collect();
    // The least node of each component, by spreading it along the edges until nothing changes.
    let mut least: Vec<i32> = (0..nodes as i32).collect();
    loop {
        let before = least.clone();
        for &[a, b] in &edges {
            let both = least[a as usize].min(least[b as usize]);
            least[a as usize] = both;
            least[b as usize] = both;
        }
        if least == before {
            break;
        }
    }
    assert_same(&roots, &least, "components");
}

#[test]
fn k_means() {
    let mut random = Random(503);
    let mut kernels = release("k-means");
    let points = random.many(1000, |random| [0; 3].map(|_: i32| random.i32() / 10_000));
    let centres = random.many(8, |random| [0; 3].map(|_: i32| random.i32() / 10_000));
    let mut args = [
        Arg::buffer(&points.concat()),
        Arg::value(points.len() as i32),
        Arg::buffer(&centres.concat()),
        Arg::zeros::<i32>(points.len()),
        Arg::zeros::<i32>(24),
        Arg::zeros::<u32>(8),
    ];
    kernels.run("k_means", Shape::line(3, 96), &mut args);
    let (mut nearest, mut sums, mut counts) = (Vec::new(), [0i32; 24], [0u32; 8]);
    for point in &points {
        let distance = |centre: &[i32; 3]| -> i64 {
            centre
                .iter()
                .zip(point)
                .map(|(c, p)| i64::from(p - c) * i64::from(p - c))
                .sum()
        };
        let best = (0..8)
            .min_by_key(|c| distance(&centres[*c]))
            .expect("eight centres");
        nearest.push(best as i32);
        counts[best] += 1;
        for (sum, coordinate) in sums[3 * best..].iter_mut().zip(point) {
            *sum += coordinate;
        }
    }
    assert_same(&args[3].values(), &nearest, "nearest");
    assert_same(&args[4].values(), &sums, "sums");
    assert_same(&args[5].values(), &counts, "counts");
}

#[test]
fn life() {
    let mut random = Random(504);
    let mut kernels = release("life");
    let (words, rows) = (3usize, 20usize);
    let width = 32 * words;
    let mut cells = random.many(width * rows, |random| random.u32().is_multiple_of(3));
    let packed = |cells: &[bool]| -> Vec<u32> {
        cells
            .chunks(32)
            .map(|word| {
                word.iter()
                    .rev()
                    .fold(0, |bits, cell| bits << 1 | u32::from(*cell))
            })
            .collect()
    };
    let mut args = [
        Arg::buffer(&packed(&cells)),
        Arg::zeros::<u32>(words * rows),
        Arg::value(words as i32),
        Arg::value(rows as i32),
    ];
    for generation in 0..10 {
        kernels.run("life", Shape::line(2, 32), &mut args);
        let alive = |x: usize, y: usize| cells[y % rows * width + x % width];
        cells = (0..width * rows)
            .map(|at| {
                let (x, y) = (at % width, at / width);
                let around = (0..9)
                    .filter(|k| *k != 4 && alive(x + width - 1 + k % 3, y + rows - 1 + k / 3))
                    .count();
                around == 3 || around == 2 && alive(x, y)
            })
            .collect();
        assert_same(&args[1].values(), &packed(&cells), generation);
        args.swap(0, 1);
    }
}

#[test]
fn queens() {
    let mut kernels = release("queens");
    // The numbers that everyone has counted.
    for (n, ways) in [(4, 2u64), (5, 10), (6, 4), (7, 40), (8, 92)] {
        let mut args = [Arg::value(n), Arg::zeros::<u64>(1)];
        kernels.run("queens", Shape::line(2, 40), &mut args);
        assert_same(&args[1].values(), &[ways], n);
    }
}
