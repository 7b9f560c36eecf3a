//! What the CUDA runtime does for kernels: `printf.cu`, `heap.cu`, and kernels that stop on purpose: `failures.cu`.

use soft_gpu::FaultKind;

use crate::device::{Arg, Random, Shape, assert_same, release};

#[test]
fn printf() {
    let mut kernels = release("printf");
    let (n, x) = (5, 1.256);
    let mut args = [Arg::value(n), Arg::value(x)];
    kernels.run("print", Shape::line(2, 40), &mut args);
    let text = String::from_utf8(kernels.globals.take_output()).expect("text");
    let mut expected: Vec<String> = (0..2).map(|block| format!("block {block} of 2")).collect();
    for _ in 0..2 {
        expected.extend((0..n).map(|i| {
            format!(
                "thread {i}: {:5.2} {} {} {:x} %",
                x * f64::from(i),
                if i % 2 == 1 { "odd" } else { "even" },
                char::from(b'a' + i as u8),
                0x1_2345_6789u64 << i
            )
        }));
    }
    // Threads print in any order.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn lists_on_the_heap() {
    let mut random = Random(1701);
    let mut kernels = release("heap");
    let n = 12;
    let mut values = random.many(n * 50, |random| random.spread() as i32);
    let mut args = [
        Arg::buffer(&values),
        Arg::value(n as i32),
        Arg::zeros::<i32>(values.len()),
    ];
    kernels.run("lists", Shape::line(1, 50), &mut args);
    values.chunks_mut(n).for_each(<[i32]>::sort_unstable);
    assert_same(&args[2].values(), &values, "sorted lists");
}

#[test]
fn arrays_on_the_heap() {
    let mut kernels = release("heap");
    for (blocks, threads) in [(1, 1), (3, 100)] {
        let shape = Shape::line(blocks, threads);
        let mut args = [Arg::zeros::<u32>(shape.threads())];
        kernels.run("arrays", shape, &mut args);
        let expected: Vec<u32> = (0..blocks)
            .flat_map(|block| (0..threads).rev().map(move |i| i * i + block))
            .collect();
        assert_same(&args[0].values(), &expected, shape);
    }
}

#[test]
fn assertions() {
    let mut kernels = release("failures");
    let a: Vec<i32> = (0..70).collect();
    let mut args = [Arg::buffer(&a), Arg::zeros::<i32>(70), Arg::value(70)];
    kernels.run("asserts", Shape::line(1, 70), &mut args);
    assert_same(&args[1].values(), &a, "no assertion fails");
    args[2] = Arg::value(37);
    let fault = kernels.fault("asserts", Shape::line(1, 70), &mut args);
    let FaultKind::Assert {
        message,
        file,
        function,
        ..
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(message, "a[threadIdx.x] < limit");
    assert!(file.ends_with("failures.cu"), "{file}");
    assert!(function.contains("asserts"), "{function}");
    assert_eq!(
        (fault.kernel.as_str(), fault.thread),
        ("asserts", [37, 0, 0])
    );
}

#[test]
fn traps() {
    let mut kernels = release("failures");
    let a: Vec<i32> = (0..70).collect();
    let mut args = [Arg::buffer(&a), Arg::zeros::<i32>(70), Arg::value(70)];
    kernels.run("traps", Shape::line(1, 70), &mut args);
    assert_same(&args[1].values(), &a, "no trap");
    args[2] = Arg::value(69);
    let fault = kernels.fault("traps", Shape::line(1, 70), &mut args);
    assert_eq!((&fault.kind, fault.thread), (&FaultKind::Trap, [69, 0, 0]));
}
