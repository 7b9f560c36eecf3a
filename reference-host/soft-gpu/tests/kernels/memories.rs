//! Memory: constants with addresses, dynamic shared memory, vectors, local arrays, unions, packed structs.

use crate::device::{Arg, Random, Shape, assert_same, bits32, builds, release};

#[test]
fn constants() {
    let mut random = Random(301);
    for mut kernels in builds("constants") {
        let settings = random.many(4, Random::u32);
        kernels.set("settings", &settings);
        let mut args = [
            Arg::value(7i32),
            Arg::zeros::<i64>(64),
            Arg::zeros::<f64>(64),
            Arg::zeros::<f32>(64),
        ];
        // A thread changes a number through a pointer in memory: the change stays for the next launch.
        for launch in 1..3 {
            kernels.run("constants", Shape::line(1, 64), &mut args);
            let words = b"to be or not to be\0";
            let entries = [
                (1, -7, 0.5, 'a'),
                (3, 1 << 40, -2.25, 'b'),
                (5, 9, 1e100, 'c'),
            ];
            let weights = [[0.5f32, -1.0, 2.0, 0.25], [1e10, -0.0, 3.0, -4.0]];
            let mut whole: Vec<i64> = (0..64)
                .map(|i| {
                    let (number, scale, _, code) = entries[i % 3];
                    number * scale
                        + i64::from(u32::from(code))
                        + i64::from(words[i % words.len()])
                        + [-1i64, 2, -300, 32767, -32768][i % 5]
                })
                .collect();
            whole[1] = 1 + 10 * launch;
            let parts: Vec<f64> = (0..64)
                .map(|i| entries[i % 3].2 + f64::from(settings[i & 3]))
                .collect();
            let dots: Vec<f32> = (0..64)
                .map(|i| (0..7).fold(0.0, |dot, k| dot + weights[i & 1][k & 3] * k as f32))
                .collect();
            assert_same(&args[1].values(), &whole, (&kernels.file, launch));
            assert_same(&args[2].values(), &parts, (&kernels.file, launch));
            assert_same(
                &bits32(&args[3].values()),
                &bits32(&dots),
                (&kernels.file, launch),
            );
        }
    }
}

#[test]
fn dynamic_shared() {
    let mut random = Random(302);
    let mut kernels = release("dynamic-shared");
    for (blocks, side) in [(1, 1), (2, 7), (3, 16), (1, 32)] {
        let threads = side * side;
        let mut shape = Shape::line(blocks, threads);
        shape.dynamic_shared_bytes = threads * 12;
        let a = random.many(shape.threads(), Random::f64);
        let b = random.many(shape.threads(), Random::i32);
        let mut args = [
            Arg::buffer(&a),
            Arg::buffer(&b),
            Arg::zeros::<f64>(a.len()),
            Arg::zeros::<i32>(a.len()),
            Arg::value(side as i32),
        ];
        kernels.run("dynamic_shared", shape, &mut args);
        let (side, threads) = (side as usize, threads as usize);
        let transposed: Vec<f64> = a
            .chunks(threads)
            .flat_map(|tile| (0..threads).map(|i| tile[i % side * side + i / side]))
            .collect();
        let reversed: Vec<i32> = b
            .chunks(threads)
            .flat_map(|line| line.iter().rev().copied())
            .collect();
        assert_same(&args[2].values(), &transposed, shape);
        assert_same(&args[3].values(), &reversed, shape);
    }
}

#[test]
fn vectors() {
    let mut random = Random(303);
    let mut kernels = release("vectors");
    let n = 96;
    let a = random.many(4 * n, Random::f32);
    let b = random.many(4 * n, |random| random.u32() as i16);
    let c = random.many(4 * n, |random| random.u32() as u8);
    let d = random.many(2 * n, Random::f64);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::buffer(&c),
        Arg::buffer(&d),
        Arg::zeros::<f32>(4 * n),
        Arg::zeros::<i16>(4 * n),
        Arg::zeros::<u8>(4 * n),
        Arg::zeros::<f64>(2 * n),
    ];
    kernels.run("vectors", Shape::line(1, n as u32), &mut args);
    let from = |i: usize| &a[4 * i..][..4];
    let floats: Vec<f32> = (0..n)
        .flat_map(|i| {
            let (x, y) = (from(i), from(n - 1 - i));
            [x[0] + y[3], x[1] + y[2], x[2] - y[1], x[3] - y[0]]
        })
        .collect();
    let shorts: Vec<i16> = b.chunks(4).flat_map(|s| [s[3], s[0], s[1], s[2]]).collect();
    let bytes: Vec<u8> = c
        .chunks(4)
        .flat_map(|u| [u[0] ^ u[3], u[1], u[2].wrapping_add(u[0]), 255 - u[3]])
        .collect();
    let doubles: Vec<f64> = (0..n)
        .flat_map(|i| [d[2 * i + 1], d[2 * (i ^ 1)]])
        .collect();
    assert_same(&bits32(&args[4].values()), &bits32(&floats), "floats");
    assert_same(&args[5].values(), &shorts, "shorts");
    assert_same(&args[6].values(), &bytes, "bytes");
    assert_same(&args[7].values(), &doubles, "doubles");
}

#[test]
fn structs_of_vectors() {
    let mut random = Random(304);
    let mut kernels = release("vectors");
    let n = 60;
    let positions = random.many(3 * n, Random::f32);
    let own = random.many(n, Random::i32);
    let ids = random.many(n, Random::i32);
    // Three floats and an integer each.
    let words: Vec<u32> = positions
        .chunks(3)
        .zip(&own)
        .flat_map(|(p, id)| {
            [
                p[0].to_bits(),
                p[1].to_bits(),
                p[2].to_bits(),
                id.cast_unsigned(),
            ]
        })
        .collect();
    let mut args = [Arg::buffer(&words), Arg::buffer(&ids), Arg::zeros::<f32>(n)];
    kernels.run("particles", Shape::line(1, n as u32), &mut args);
    let moved: Vec<u32> = (0..n)
        .flat_map(|i| {
            let p = &positions[3 * i..][..3];
            let id = ids[own[i] as usize & 31].wrapping_add(ids[i]);
            [
                (p[0] + p[1] * 0.5).to_bits(),
                p[1].to_bits(),
                p[2].to_bits(),
                id.cast_unsigned(),
            ]
        })
        .collect();
    let energy: Vec<f32> = positions.chunks(3).map(|p| p[2] + 1.0).collect();
    assert_same(&args[0].values(), &moved, "particles");
    assert_same(&bits32(&args[2].values()), &bits32(&energy), "energy");
}

/// What a thread of `local_arrays` makes of its seed.
fn local_arrays(mut seed: u32) -> u64 {
    let mut order: Vec<usize> = (0..64).collect();
    for k in (1..64).rev() {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        order.swap(k, (seed >> 16) as usize % (k + 1));
    }
    let mut counts = [0u64; 16];
    let mut sums: Vec<f64> = (0..8).map(f64::from).collect();
    for k in 0..64 {
        counts[(order[k] ^ order[(k + 1) & 63]) & 15] += 1;
    }
    for k in 0..64 {
        sums[order[k] & 7] += sums[k & 7] * 0.5;
    }
    let hash = order.iter().fold(0u64, |hash, item| {
        hash.wrapping_mul(31).wrapping_add(*item as u64)
    });
    let hash = counts.iter().fold(hash, |hash, count| {
        hash.wrapping_mul(37).wrapping_add(*count)
    });
    sums.iter().enumerate().fold(hash, |hash, (k, sum)| {
        hash ^ (sum.to_bits().cast_signed() >> k).cast_unsigned()
    })
}

#[test]
fn arrays_of_each_thread() {
    let mut random = Random(305);
    let mut kernels = release("local-arrays");
    let shape = Shape::line(2, 50);
    let seeds = random.many(100, Random::u32);
    let mut args = [Arg::buffer(&seeds), Arg::zeros::<u64>(100)];
    kernels.run("local_arrays", shape, &mut args);
    let expected: Vec<u64> = seeds.iter().map(|seed| local_arrays(*seed)).collect();
    assert_same(&args[1].values(), &expected, shape);
}

#[test]
fn unions() {
    let mut random = Random(306);
    let mut kernels = release("unions.nvrtc");
    let a = random.many(77, Random::u32);
    let mut args = [Arg::buffer(&a), Arg::zeros::<u32>(77)];
    kernels.run("unions", Shape::line(1, 77), &mut args);
    let expected: Vec<u32> = a
        .iter()
        .enumerate()
        .map(|(i, word)| {
            let turned = word.rotate_right(8 * (i as u32 & 3)).swap_bytes();
            turned ^ word ^ 0x55 << (16 * (i & 1))
        })
        .collect();
    assert_same(&args[1].values(), &expected, &kernels.file);
}

#[test]
fn packed_structs() {
    let mut random = Random(307);
    let mut kernels = release("unions.nvrtc");
    let records = random.many(7 * 45, |random| random.u32() as u8);
    let mut args = [Arg::buffer(&records)];
    kernels.run("records", Shape::line(1, 45), &mut args);
    let expected: Vec<u8> = records
        .chunks(7)
        .flat_map(|record| {
            let value = u32::from_le_bytes([record[1], record[2], record[3], record[4]])
                .wrapping_add(record[0].into());
            let check = (value ^ value >> 16) as u16;
            [&record[..1], &value.to_le_bytes(), &check.to_le_bytes()].concat()
        })
        .collect();
    assert_same(&args[0].values(), &expected, &kernels.file);
}

#[test]
fn address_spaces() {
    let mut kernels = release("address-spaces");
    let a: Vec<i32> = (100..170).collect();
    for which in 0..9 {
        let mut args = [Arg::buffer(&a), Arg::zeros::<u32>(140), Arg::value(which)];
        kernels.run("address_spaces", Shape::line(1, 70), &mut args);
        let local = [5, 6, 7, which];
        let expected: Vec<u32> = (0..70i32)
            .flat_map(|i| match (which + i) % 5 {
                0 => [1, 100 + i],
                1 => [1, 3],
                2 => [2, 100],
                3 => [4, local[which as usize & 3]],
                _ => [8, 4],
            })
            .map(i32::cast_unsigned)
            .collect();
        assert_same(&args[1].values(), &expected, which);
    }
}

#[test]
fn addresses() {
    let mut random = Random(308);
    let mut kernels = release("address-spaces");
    let a = random.many(64, |random| random.i32() / 200);
    let mut args = [Arg::buffer(&a), Arg::zeros::<i32>(66)];
    kernels.run("addresses", Shape::line(1, 64), &mut args);
    let mut expected: Vec<i32> = (0..64)
        .map(|i| {
            let other = a[i ^ 1] * 2;
            other + if i >= 20 { a[i] } else { -a[i] }
        })
        .collect();
    expected.push(a.iter().sum());
    expected.push(*a.iter().max().expect("64 numbers"));
    assert_same(&args[1].values(), &expected, "sums");
}
