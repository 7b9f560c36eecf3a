//! Sorting, scanning and searching: `radix-sort.cu`, `bitonic-sort.cu`, `lookback-scan.cu`, `string-search.cu`,
//! `edit-distance.cu`.

use crate::device::{Arg, Random, Shape, assert_same, release};

#[test]
fn radix_sort() {
    let mut random = Random(401);
    let mut kernels = release("radix-sort");
    for spread in [1, 7, 1 << 20, u32::MAX] {
        let keys = random.many(3 * 256, |random| random.u32() % spread);
        let values = random.many(keys.len(), Random::u32);
        let mut args = [Arg::buffer(&keys), Arg::buffer(&values)];
        kernels.run("radix_sort", Shape::line(3, 256), &mut args);
        let mut pairs: Vec<(u32, u32)> = keys.into_iter().zip(values).collect();
        for block in pairs.chunks_mut(256) {
            block.sort_by_key(|pair| pair.0);
        }
        let (keys, values): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        assert_same(&args[0].values(), &keys, spread);
        assert_same(&args[1].values(), &values, spread);
    }
}

#[test]
fn bitonic_sort() {
    let mut random = Random(402);
    let mut kernels = release("bitonic-sort.nvrtc");
    for (blocks, threads) in [(1, 1), (2, 2), (1, 64), (2, 512)] {
        for descending in [0, 1] {
            let mut shape = Shape::line(blocks, threads);
            shape.dynamic_shared_bytes = threads * 8;
            let mut data = random.many(shape.threads(), Random::f64);
            let mut args = [Arg::buffer(&data), Arg::value(descending)];
            kernels.run("bitonic_sort", shape, &mut args);
            for block in data.chunks_mut(threads as usize) {
                block.sort_by(f64::total_cmp);
                if descending == 1 {
                    block.reverse();
                }
            }
            assert_same(&args[0].values(), &data, (shape, descending));
        }
    }
}

#[test]
fn lookback_scan() {
    let mut random = Random(403);
    let mut kernels = release("lookback-scan");
    for (blocks, threads) in [(1, 32), (5, 64), (9, 256)] {
        let shape = Shape::line(blocks, threads);
        let data = random.many(shape.threads(), Random::u32);
        let mut args = [
            Arg::buffer(&data),
            Arg::zeros::<u32>(data.len()),
            Arg::zeros::<u64>(blocks as usize),
            Arg::zeros::<u32>(1),
        ];
        kernels.run("lookback_scan", shape, &mut args);
        let sums: Vec<u32> = data
            .iter()
            .scan(0u32, |sum, x| {
                *sum = sum.wrapping_add(*x);
                Some(*sum)
            })
            .collect();
        assert_same(&args[1].values(), &sums, shape);
        assert_same(&args[3].values(), &[blocks], shape);
    }
}

/// A text of few letters, so that words occur often.
fn text(random: &mut Random, length: usize) -> Vec<u8> {
    random.many(length, |random| b'a' + (random.u32() % 3) as u8)
}

#[test]
fn string_search() {
    let mut random = Random(404);
    let mut kernels = release("string-search");
    for word in [&b"a"[..], b"ab", b"abcab", b"aaaa", b"never"] {
        let mut constant = [0u8; 16];
        constant[..word.len()].copy_from_slice(word);
        kernels.set("word", &constant);
        let text = text(&mut random, 1000);
        let mut args = [
            Arg::buffer(&text),
            Arg::value(text.len() as i32),
            Arg::value(word.len() as i32),
            Arg::zeros::<i32>(text.len()),
            Arg::zeros::<i32>(1),
        ];
        kernels.run("search", Shape::line(8, 128), &mut args);
        let expected: Vec<i32> = (0..)
            .zip(text.windows(word.len()))
            .filter(|(_, window)| *window == word)
            .map(|(at, _)| at)
            .collect();
        let count: Vec<i32> = args[4].values();
        assert_eq!(count, [expected.len() as i32]);
        let mut places: Vec<i32> = args[3].values();
        places.truncate(expected.len());
        places.sort_unstable();
        assert_same(&places, &expected, word);

        let part = 25;
        let mut args = [
            Arg::buffer(&text),
            Arg::value(part as i32),
            Arg::value(word.len() as i32),
            Arg::zeros::<i32>(40),
        ];
        kernels.run("skipping", Shape::line(2, 20), &mut args);
        let expected: Vec<i32> = text
            .chunks(part)
            .map(|part| {
                part.windows(word.len())
                    .filter(|window| *window == word)
                    .count() as i32
            })
            .collect();
        assert_same(&args[3].values(), &expected, word);
    }
}

/// The distance row by row, where the kernel goes by diagonals.
fn edit_distance(a: &[u8], b: &[u8]) -> i32 {
    let mut row: Vec<i32> = (0..=b.len() as i32).collect();
    for (a, start) in a.iter().zip(1..) {
        let mut diagonal = row[0];
        row[0] = start;
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + i32::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(1 + diagonal.min(row[j]));
        }
    }
    row[b.len()]
}

#[test]
fn edit_distances() {
    assert_eq!(edit_distance(b"kitten", b"sitting"), 3);
    let mut random = Random(405);
    let mut kernels = release("edit-distance");
    for (n, m) in [(1, 1), (6, 60), (40, 33), (100, 5), (200, 200)] {
        let a = text(&mut random, n);
        let b = text(&mut random, m);
        let mut shape = Shape::line(1, n as u32 + 1);
        shape.dynamic_shared_bytes = 6 * (n as u32 + 1);
        let mut args = [
            Arg::buffer(&a),
            Arg::buffer(&b),
            Arg::value(n as i32),
            Arg::value(m as i32),
            Arg::zeros::<i32>(1),
        ];
        kernels.run("edit_distance", shape, &mut args);
        assert_same(&args[4].values(), &[edit_distance(&a, &b)], (n, m));
    }
}
