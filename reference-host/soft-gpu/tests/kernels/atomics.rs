//! Atomic operations of all kinds: `atomics.cu`.
//!
//! Only what no order of the threads changes is compared.

use std::collections::BTreeSet;

use crate::device::{Arg, Random, Shape, assert_same, release};

#[test]
fn atomics() {
    let mut random = Random(1401);
    let mut kernels = release("atomics");
    for (blocks, threads) in [(1, 1), (2, 50), (3, 256)] {
        let shape = Shape::line(blocks, threads);
        let values = random.many(shape.threads(), |random| random.spread() as i32);
        let u = [5u32, u32::MAX, 7, u32::MAX, 0, 0xF00F, 3, 40];
        let w = [9u64, u64::MAX, 1 << 63, u64::MAX, 0, 77];
        let mut args = [
            Arg::buffer(&values),
            Arg::buffer(&[1, 2, i32::MAX, i32::MIN]),
            Arg::buffer(&u),
            Arg::buffer(&w),
            Arg::zeros::<u32>(2 * values.len()),
        ];
        kernels.run("atomics", shape, &mut args);
        let sum = values
            .iter()
            .fold(0i32, |sum, value| sum.wrapping_add(*value));
        let least = *values.iter().min().expect("a thread");
        let greatest = *values.iter().max().expect("a thread");
        assert_same(
            &args[1].values(),
            &[sum.wrapping_add(1), 2i32.wrapping_sub(sum), least, greatest],
            shape,
        );

        let x: Vec<u32> = values.iter().map(|value| value.cast_unsigned()).collect();
        // One thread after the other: any order gives the same set of old values.
        let (mut up, mut down) = (u[6], u[7]);
        let (mut olds_up, mut olds_down) = (Vec::new(), Vec::new());
        for _ in &x {
            olds_up.push(up);
            olds_down.push(down);
            up = if up >= 49 { 0 } else { up + 1 };
            down = if down == 0 || down > 30 { 30 } else { down - 1 };
        }
        let expected = [
            x.iter().fold(u[0], |sum, x| sum.wrapping_add(*x)),
            x.iter().fold(u[1], |least, x| least.min(*x)),
            x.iter().fold(u[2], |greatest, x| greatest.max(*x)),
            x.iter().fold(u[3], |bits, x| bits & (x | 0xFF)),
            x.iter().fold(u[4], |bits, x| bits | x & 0xF0F0),
            x.iter().fold(u[5], |bits, x| bits ^ x),
            up,
            down,
        ];
        assert_same(&args[2].values(), &expected, shape);
        let old: Vec<u32> = args[4].values();
        for (at, mut expected) in [olds_up, olds_down].into_iter().enumerate() {
            let mut found: Vec<u32> = old.iter().copied().skip(at).step_by(2).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_same(&found, &expected, (shape, at));
        }

        let wide = || x.iter().map(|x| u64::from(*x) << 20);
        let signed = |wide: u64| wide.cast_signed() - (1 << 50);
        let expected = [
            wide().fold(w[0], u64::wrapping_add),
            wide().fold(w[1], u64::min),
            wide().map(signed).fold(i64::MIN, i64::max).cast_unsigned(),
            (0..x.len()).fold(w[3], |bits, i| bits & !(1 << (i & 63))),
            x.iter().fold(w[4], |bits, x| bits | 1 << (x & 63)),
            wide().fold(w[5], |bits, wide| bits ^ wide),
        ];
        assert_same(&args[3].values(), &expected, shape);
    }
}

#[test]
fn slots() {
    let mut random = Random(1402);
    let mut kernels = release("atomics");
    let shape = Shape::line(2, 96);
    let keys = random.many(192, |random| random.u32() % 120 + 1);
    let mut args = [
        Arg::buffer(&keys),
        Arg::zeros::<u32>(256),
        Arg::value(255u32),
        Arg::zeros::<u32>(1),
        Arg::zeros::<u32>(192),
    ];
    kernels.run("slots", shape, &mut args);
    let table: Vec<u32> = args[1].values();
    let found: Vec<u32> = table.iter().copied().filter(|key| *key != 0).collect();
    let distinct: BTreeSet<u32> = keys.iter().copied().collect();
    assert_eq!(found.len(), distinct.len(), "no key twice");
    assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), distinct);
    for key in distinct {
        let start = (key.wrapping_mul(2_654_435_761) >> 16) & 255;
        let probes = (0..256).map(|step| table[(start + step) as usize & 255]);
        assert!(
            probes.take_while(|slot| *slot != 0).any(|slot| slot == key),
            "key {key}"
        );
    }
    // Exchanges make one chain through all threads.
    let (mut at, next) = (args[3].values::<u32>()[0], args[4].values::<u32>());
    let mut seen = BTreeSet::new();
    while at != 0 {
        assert!(seen.insert(at), "thread {at} twice");
        at = next[at as usize - 1];
    }
    assert_eq!(seen.len(), 192);
}
