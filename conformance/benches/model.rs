//! How many calls a second the model judges: `cargo bench -p wasi-cuda-conformance --bench model`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::time::Instant;

use wasi_cuda_conformance::Profile;
use wasi_cuda_conformance::model::operation::layout;
use wasi_cuda_conformance::model::{Call, MemoryKind, Model, Options};

fn main() {
    let mut model = Model::new(Profile::Device, Options::default());
    let guest = model.instantiate(MemoryKind::Ordinary, 2);
    for (at, bytes) in &layout().segments {
        model.poke(guest, u64::from(*at), bytes);
    }
    let [(ptx_ptr, ptx_len), (entry_ptr, entry_len)] =
        layout().known[1].map(|(at, len)| (at.cast_signed(), len.cast_signed()));
    let load = Call::LoadPtx {
        ptx_ptr,
        ptx_len,
        entry_ptr,
        entry_len,
    };
    model.poke(guest, 1024, b"\x07\0\x90\0\0\x04\0\0\0\x05\x01\0\0\0");
    let launch = Call::Launch {
        kernel_id: 1,
        grid: [1; 3],
        block: [32, 1, 1],
        shared_mem: 0,
        args_ptr: 1024,
        args_len: 14,
    };
    model.apply(guest, &load, 1).expect("an id");
    model.apply(guest, &Call::alloc(64), 1).expect("a handle");
    let round = [
        (launch, 0),
        (Call::Sync, 0),
        (Call::memcpy_h2d(1, 40_000, 64), 0),
        (Call::memcpy_d2h(40_000, 1, 64), 0),
        (Call::memcpy_d2h(-1, 1, 64), -2),
        (Call::alloc(0), -9),
        (Call::free(77), -11),
    ];
    let started = Instant::now();
    for _ in 0..ROUNDS {
        for (call, answer) in &round {
            model.apply(guest, call, *answer).expect("it is allowed");
        }
    }
    let calls = ROUNDS * round.len();
    let second = started.elapsed().as_secs_f64();
    println!(
        "{calls} calls judged in {second:.3} s, {:.0} a second",
        calls as f64 / second
    );
    let started = Instant::now();
    for _ in 0..ROUNDS / 10 {
        assert!(model.allowed(guest, &load).accepts(2));
    }
    let each = started.elapsed().as_secs_f64() / (ROUNDS / 10) as f64;
    println!(
        "a load of {ptx_len} bytes of PTX judged in {:.2} us",
        each * 1e6
    );
}

const ROUNDS: usize = 200_000;
