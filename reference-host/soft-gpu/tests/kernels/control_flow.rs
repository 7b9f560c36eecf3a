//! Control flow: switches, recursion, indirect calls, structs by value, templates, gotos, early exits.

use crate::device::{Arg, Random, Shape, assert_same, bits32, builds, bytes_of, release};

/// The machine of `switch.cu`.
fn machine(code: &[u8], input: i32) -> i32 {
    let (mut x, mut y, mut z) = (input, 1i32, 0i32);
    let (mut at, mut steps) = (0, 0);
    while at < code.len() && steps < 4 * code.len() {
        match code[at] & 15 {
            0 => x = x.wrapping_add(y),
            1 => x = x.wrapping_sub(z),
            2 => x = x.wrapping_mul(3),
            3 => (x, y) = (y, x),
            4 => z ^= x,
            5 => y = x.count_ones() as i32,
            6 => x = x.wrapping_abs(),
            7 => at += (z & 1) as usize,
            8 => z = z.wrapping_add(7),
            9 => x >>= 1,
            10 => y |= z,
            11 => z = z.wrapping_mul(5).wrapping_add(1),
            12 => at = if x > y { at / 2 } else { at },
            13 => break,
            _ => y = !y,
        }
        at += 1;
        steps += 1;
    }
    x ^ (y << 1) ^ (z << 2)
}

#[test]
fn switch() {
    let mut random = Random(201);
    for name in ["switch", "switch.nvrtc"] {
        let mut kernels = release(name);
        for (blocks, threads, length) in [(1, 1, 5), (2, 50, 12), (1, 128, 40)] {
            let shape = Shape::line(blocks, threads);
            let code = random.many(shape.threads() * length, |random| random.u32() as u8);
            let inputs = random.many(shape.threads(), |random| random.spread() as i32);
            let mut args = [
                Arg::buffer(&code),
                Arg::value(length as i32),
                Arg::buffer(&inputs),
                Arg::zeros::<i32>(inputs.len()),
            ];
            kernels.run("machine", shape, &mut args);
            let expected: Vec<i32> = code
                .chunks(length)
                .zip(&inputs)
                .map(|(code, input)| machine(code, *input))
                .collect();
            assert_same(&args[3].values(), &expected, (name, shape));
        }
    }
}

#[test]
fn branch_table() {
    let mut random = Random(202);
    let mut kernels = release("branch-table");
    let shape = Shape::line(2, 128);
    let a = random.many(256, Random::u32);
    let mut args = [Arg::buffer(&a), Arg::zeros::<u32>(256)];
    kernels.run("branch_table", shape, &mut args);
    let expected: Vec<u32> = a
        .iter()
        .map(|&x| {
            let y = match x & 3 {
                0 => x.wrapping_add(100),
                2 => !x,
                _ => x.wrapping_mul(7),
            };
            (0..x & 7).fold(y, |y, k| y.wrapping_mul(33).wrapping_add(k))
        })
        .collect();
    assert_same(&args[1].values(), &expected, &kernels.file);
}

#[test]
fn recursion() {
    let mut random = Random(203);
    // Ackermann's function for m of 0, 1 and 2 in closed form.
    let ackermann = |m: u32, n: u32| match m {
        0 => n + 1,
        1 => n + 2,
        _ => 2 * n + 3,
    };
    for mut kernels in builds("recursion") {
        for (blocks, threads, length) in [(1, 5, 1), (1, 33, 24), (2, 40, 17)] {
            let shape = Shape::line(blocks, threads);
            let mut rows = random.many(shape.threads() * length, |random| random.spread() as i32);
            let mut args = [
                Arg::buffer(&rows),
                Arg::value(length as i32),
                Arg::zeros::<u32>(shape.threads()),
            ];
            kernels.run("recursion", shape, &mut args);
            rows.chunks_mut(length).for_each(<[i32]>::sort_unstable);
            let counts: Vec<u32> = (0..shape.threads() as u32)
                .map(|i| ackermann(i % 3, i % 4) * 2 + i % 11 % 2)
                .collect();
            assert_same(&args[0].values(), &rows, (&kernels.file, shape));
            assert_same(&args[2].values(), &counts, (&kernels.file, shape));
        }
    }
}

#[test]
fn virtual_functions() {
    let mut random = Random(204);
    for mut kernels in builds("virtual") {
        // Small whole numbers, so that contraction to fused operations changes nothing.
        let sizes = random.many(64, |random| (random.u32() % 1000) as f32);
        let mut args = [Arg::buffer(&sizes), Arg::zeros::<f32>(128)];
        kernels.run("shapes", Shape::line(1, 64), &mut args);
        let expected: Vec<f32> = sizes
            .iter()
            .enumerate()
            .flat_map(|(i, size)| {
                let ring = 3.0 * ((size + 1.0) * (size + 1.0) - size * size);
                if i % 3 == 0 {
                    [size * size, size * size * 2.0]
                } else {
                    [ring, ring + 2.0]
                }
            })
            .collect();
        assert_same(
            &bits32(&args[1].values()),
            &bits32(&expected),
            &kernels.file,
        );
    }
}

#[test]
fn function_pointers() {
    let mut random = Random(205);
    for mut kernels in builds("virtual") {
        let steps = 9;
        let which = random.many(64 * steps, |random| (random.u32() % 3) as i32);
        let values = random.many(64, Random::spread);
        let mut args = [
            Arg::buffer(&which),
            Arg::buffer(&values),
            Arg::value(steps as i32),
        ];
        kernels.run("pointers", Shape::line(1, 64), &mut args);
        let expected: Vec<i64> = which
            .chunks(steps)
            .zip(&values)
            .map(|(which, value)| {
                which
                    .iter()
                    .zip(1i64..)
                    .fold(*value, |value, (which, k)| match which {
                        0 => value.wrapping_add(k),
                        1 => value.wrapping_mul(k),
                        _ => value << (k & 7),
                    })
            })
            .collect();
        assert_same(&args[1].values(), &expected, &kernels.file);
    }
}

/// A product as the kernel adds it up: in the order of `k`, each step fused.
fn product(a: &[f32], b: &[f32]) -> Vec<f32> {
    (0..9)
        .map(|at| {
            (0..3).fold(0.0, |sum, k| {
                a[at / 3 * 3 + k].mul_add(b[k * 3 + at % 3], sum)
            })
        })
        .collect()
}

#[test]
fn structs() {
    let mut random = Random(206);
    let mut kernels = release("structs");
    let a = random.many(9 * 40, Random::f32);
    let b = random.many(9 * 40, Random::f32);
    let mut args = [Arg::buffer(&a), Arg::buffer(&b), Arg::zeros::<f32>(9 * 40)];
    kernels.run("matrices", Shape::line(1, 40), &mut args);
    let expected: Vec<f32> = a
        .chunks(9)
        .zip(b.chunks(9))
        .flat_map(|(a, b)| product(&product(a, b), a))
        .collect();
    assert_same(&bits32(&args[2].values()), &bits32(&expected), "matrices");
}

/// The struct `Mixed` of `structs.cu`.
#[derive(Clone, Copy)]
struct Mixed {
    tag: i8,
    half: i16,
    value: f64,
    list: [i32; 3],
}

impl Mixed {
    fn random(random: &mut Random) -> Self {
        Self {
            tag: random.u32() as i8,
            half: random.u32() as i16,
            value: random.f64(),
            list: [random.i32(), random.i32() / 2, random.i32()],
        }
    }

    /// As it lies in memory, padding as zeros.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = bytes_of(&[self.tag, 0]);
        bytes.extend(bytes_of(&[self.half]));
        bytes.extend([0; 4]);
        bytes.extend(bytes_of(&[self.value]));
        bytes.extend(bytes_of(&self.list));
        bytes.extend([0; 4]);
        bytes
    }

    fn turned(self, by: i8) -> Self {
        let tag = self.tag.wrapping_add(by);
        Self {
            tag,
            half: (i32::from(self.half) * 3 - i32::from(tag)) as i16,
            value: self.value / 2.0 + f64::from(self.list[1]),
            list: [self.list[2], self.list[1], self.list[0] ^ i32::from(by)],
        }
    }
}

#[test]
fn structs_of_mixed_members() {
    let mut random = Random(207);
    let mut kernels = release("structs");
    let all = random.many(50, Mixed::random);
    let extra = Mixed::random(&mut random);
    let mut args = [
        Arg::Buffer(all.iter().flat_map(Mixed::bytes).collect()),
        Arg::Value(extra.bytes()),
    ];
    kernels.run("mixed", Shape::line(1, 50), &mut args);
    let Arg::Buffer(found) = &args[0] else {
        panic!("a buffer")
    };
    for (i, (found, mixed)) in found.chunks(32).zip(&all).enumerate() {
        let mut expected = mixed.turned(i as i8);
        expected.list[1] = expected.list[1].wrapping_add(extra.turned(1).list[2]);
        let members = |bytes: &[u8]| [&bytes[..1], &bytes[2..4], &bytes[8..28]].concat();
        assert_eq!(members(found), members(&expected.bytes()), "thread {i}");
    }
}

#[test]
fn templates() {
    let mut random = Random(208);
    for name in ["templates", "templates.nvrtc"] {
        let mut kernels = release(name);
        let a = random.many(64, Random::i32);
        let factor = random.i32();
        let mut args = [Arg::buffer(&a), Arg::zeros::<i32>(256), Arg::value(factor)];
        kernels.run("templates", Shape::line(1, 64), &mut args);
        let expected: Vec<i32> = a
            .iter()
            .enumerate()
            .flat_map(|(i, &a)| {
                let captured = i as i32 * 5;
                let items = (0..6).map(|k| a >> k);
                let x = a.cast_unsigned();
                let horner = [3u32, 9, 27, 243, 2187].iter().fold(0u32, |value, power| {
                    value.wrapping_mul(x).wrapping_add(*power)
                });
                [
                    items.clone().fold(0i32, |x, y| {
                        x.wrapping_mul(factor)
                            .wrapping_add(y)
                            .wrapping_add(captured)
                    }),
                    items.fold(a, |x, y| {
                        if x > y {
                            x.wrapping_sub(y)
                        } else {
                            y.wrapping_sub(x)
                        }
                    }),
                    horner.cast_signed(),
                    a.wrapping_add(1).wrapping_mul(factor) ^ captured,
                ]
            })
            .collect();
        assert_same(&args[1].values(), &expected, name);
    }
}

/// Where `gotos` of `gotos.cu` is.
enum Place {
    Top,
    Middle,
    Side,
}

fn gotos(start: u32) -> u32 {
    let (mut x, mut trace, mut left) = (start, 0u32, 60);
    let mut place = if x & 1 == 1 {
        Place::Middle
    } else {
        Place::Top
    };
    loop {
        match place {
            Place::Top => {
                trace = trace.wrapping_mul(3).wrapping_add(1);
                x = if x.is_multiple_of(3) {
                    x / 3
                } else {
                    x.wrapping_mul(2).wrapping_add(1)
                };
                left -= 1;
                if left == -1 {
                    break;
                }
                place = Place::Middle;
            }
            Place::Middle => {
                trace = trace.wrapping_mul(5).wrapping_add(2);
                x ^= x >> 7;
                if x.is_multiple_of(5) {
                    place = Place::Side;
                } else {
                    left -= 1;
                    if left < 0 {
                        break;
                    }
                    place = Place::Top;
                }
            }
            Place::Side => {
                trace = trace.wrapping_mul(7).wrapping_add(3);
                x = x.wrapping_add(13);
                if x & 2 != 0 {
                    place = Place::Middle;
                } else {
                    left -= 1;
                    if left < 0 {
                        break;
                    }
                }
            }
        }
    }
    trace ^ x
}

#[test]
fn irreducible_gotos() {
    let mut random = Random(209);
    let mut kernels = release("gotos");
    for (blocks, threads) in [(1, 32), (3, 77)] {
        let shape = Shape::line(blocks, threads);
        let start = random.many(shape.threads(), |random| random.spread() as u32);
        let mut args = [Arg::buffer(&start), Arg::zeros::<u32>(start.len())];
        kernels.run("gotos", shape, &mut args);
        let expected: Vec<u32> = start.iter().map(|x| gotos(*x)).collect();
        assert_same(&args[1].values(), &expected, shape);
    }
}

#[test]
fn threads_that_leave_early() {
    let mut random = Random(210);
    let mut kernels = release("gotos");
    let limits = random.many(100, |random| (random.u32() % 900) as i32 - 200);
    let mut args = [Arg::buffer(&limits), Arg::zeros::<i32>(100)];
    kernels.run("leavers", Shape::line(1, 100), &mut args);
    let expected: Vec<i32> = limits
        .iter()
        .map(|limit| match limit {
            ..0 => -1,
            limit => (0..=21).find(|k| k * k > *limit).unwrap_or(121),
        })
        .collect();
    assert_same(&args[1].values(), &expected, &kernels.file);
}
