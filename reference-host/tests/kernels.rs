//! Kernels on the software device, through the engine-neutral calls.

use std::sync::{Arc, Mutex};

use wasi_cuda_host::argv::{Arg, Window, encode};
use wasi_cuda_host::calls::{self, LaunchArgs};
use wasi_cuda_host::device::SoftDevice;
use wasi_cuda_host::{Host, Instance};

const NOT_AVAILABLE: i32 = -1;
const LAUNCH_FAILED: i32 = -5;

/// `add` sums two arrays, `copy` moves one word, `poke` writes near a window, `count` keeps a variable, `stop` traps,
/// `spin` never ends, `pair` takes two words as one aggregate, `short` and `triple` take what no record holds.
const PTX: &str = "
.version 7.0
.target sm_52
.address_size 64

.global .u32 calls = 40;
.global .align 1 .b8 greeting[11] = {98, 108, 111, 99, 107, 32, 37, 100, 33, 10, 0};
.extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments);

.visible .entry greet()
{
    .local .align 8 .b8 frame[8];
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    .param .b64 first;
    .param .b64 second;
    .param .b32 count;
    mov.u32 %r1, %ctaid.x;
    mov.u64 %rd1, frame;
    st.local.u32 [%rd1], %r1;
    cvta.local.u64 %rd2, %rd1;
    mov.u64 %rd3, greeting;
    cvta.global.u64 %rd3, %rd3;
    st.param.b64 [first], %rd3;
    st.param.b64 [second], %rd2;
    call.uni (count), vprintf, (first, second);
    ret;
}

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [sum];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra done;
    mul.wide.u32 %rd4, %r5, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.u32 %r6, [%rd5];
    ld.global.u32 %r7, [%rd6];
    add.s32 %r6, %r6, %r7;
    st.global.u32 [%rd7], %r6;
done:
    ret;
}

.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.global.u32 %r1, [%rd1];
    st.global.u32 [%rd2], %r1;
    ret;
}

.visible .entry poke(.param .u64 window, .param .s64 beyond)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [window];
    ld.param.u64 %rd2, [beyond];
    add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r1, 0x11223344;
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry count(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [calls];
    add.u32 %r1, %r1, 1;
    st.global.u32 [calls], %r1;
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry stop()
{
    trap;
}

.visible .entry spin()
{
again:
    bra again;
}

.visible .entry pair(.param .align 4 .b8 words[8], .param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u32 %r1, [words];
    ld.param.u32 %r2, [words+4];
    ld.param.u64 %rd1, [out];
    sub.u32 %r1, %r1, %r2;
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry short(.param .u16 value)
{
    ret;
}

.visible .entry triple(.param .align 4 .b8 words[12])
{
    ret;
}
";

const ARGS_AT: usize = 60_000;

struct Guest {
    instance: Instance,
    memory: Vec<u8>,
}

impl Guest {
    fn new(host: &Arc<Host>) -> Self {
        Self {
            instance: host.instance(),
            memory: vec![0; 65_536],
        }
    }

    fn load(&mut self, entry: &str) -> i64 {
        self.memory[..PTX.len()].copy_from_slice(PTX.as_bytes());
        self.memory[ARGS_AT..ARGS_AT + entry.len()].copy_from_slice(entry.as_bytes());
        let (ptx_len, entry_len) = (PTX.len() as i32, entry.len() as i32);
        let id = calls::load_ptx(
            &mut self.instance,
            Some(&mut self.memory),
            0,
            ptx_len,
            ARGS_AT as i32,
            entry_len,
        );
        self.memory.fill(0);
        id
    }

    fn launch(&mut self, kernel_id: i64, grid: [i32; 3], block: [i32; 3], args: &[Arg]) -> i32 {
        let mut bytes = Vec::new();
        args.iter().for_each(|arg| encode(*arg, &mut bytes));
        self.memory[ARGS_AT..ARGS_AT + bytes.len()].copy_from_slice(&bytes);
        let (args_ptr, args_len) = (ARGS_AT as i32, bytes.len() as i32);
        let args = LaunchArgs {
            kernel_id,
            grid,
            block,
            shared_mem: 0,
            args_ptr,
            args_len,
        };
        let launched = calls::launch(&mut self.instance, Some(&mut self.memory), args);
        if launched == 0 {
            calls::sync(&mut self.instance)
        } else {
            launched
        }
    }

    fn one(&mut self, kernel_id: i64, args: &[Arg]) -> i32 {
        self.launch(kernel_id, [1; 3], [1; 3], args)
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes([
            self.memory[at],
            self.memory[at + 1],
            self.memory[at + 2],
            self.memory[at + 3],
        ])
    }

    fn set_word(&mut self, at: usize, value: u32) {
        self.memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

fn ptr(offset: usize, len: usize) -> Arg {
    Arg::Ptr(Window {
        offset: offset as u32,
        len: len as u32,
    })
}

#[test]
fn a_kernel_reads_and_writes_its_windows_and_nothing_else() {
    let mut guest = Guest::new(&Host::soft());
    let add = guest.load("add");
    for n in [1usize, 31, 100, 1000] {
        guest.memory.fill(0);
        for at in 0..n {
            guest.set_word(4 * at, at as u32 * 3);
            guest.set_word(8000 + 4 * at, u32::MAX - at as u32);
        }
        let before = guest.memory.clone();
        let args = [
            ptr(0, 4 * n),
            ptr(8000, 4 * n),
            ptr(16_000, 4 * n),
            Arg::U32(n as u32),
        ];
        assert_eq!(
            guest.launch(add, [n.div_ceil(64) as i32, 1, 1], [64, 1, 1], &args),
            0
        );
        for at in 0..n {
            assert_eq!(
                guest.word(16_000 + 4 * at),
                (at as u32 * 3).wrapping_add(u32::MAX - at as u32)
            );
        }
        let outside =
            |memory: &[u8]| [&memory[..16_000], &memory[16_000 + 4 * n..ARGS_AT]].concat();
        assert!(
            outside(&guest.memory) == outside(&before),
            "bytes outside the output window changed"
        );
    }
}

#[test]
fn overlapping_windows_are_the_same_bytes() {
    let mut guest = Guest::new(&Host::soft());
    let (copy, add) = (guest.load("copy"), guest.load("add"));
    guest.set_word(100, 7);
    guest.set_word(104, 8);
    // Both windows cover both words; the second starts where the first's second word is.
    assert_eq!(guest.one(copy, &[ptr(100, 8), ptr(104, 4)]), 0);
    assert_eq!((guest.word(100), guest.word(104)), (7, 7));
    assert_eq!(
        guest.one(add, &[ptr(100, 4), ptr(100, 4), ptr(100, 4), Arg::U32(1)]),
        0
    );
    assert_eq!(guest.word(100), 14);
}

#[test]
fn an_address_is_as_aligned_as_the_guest_s_offset() {
    let mut guest = Guest::new(&Host::soft());
    let copy = guest.load("copy");
    assert_eq!(guest.one(copy, &[ptr(16, 4), ptr(32, 4)]), 0);
    for offset in [17, 18, 19] {
        assert_eq!(
            guest.one(copy, &[ptr(16, 4), ptr(offset, 4)]),
            LAUNCH_FAILED,
            "offset {offset}"
        );
    }
}

#[test]
fn an_access_beside_a_window_faults_and_leaves_the_guest_s_memory_alone() {
    let mut guest = Guest::new(&Host::soft());
    let poke = guest.load("poke");
    for (beyond, expected) in [
        (0, 0),
        (12, 0),
        (-4, LAUNCH_FAILED),
        (16, LAUNCH_FAILED),
        (1 << 40, LAUNCH_FAILED),
    ] {
        guest.memory.fill(0);
        assert_eq!(
            guest.one(poke, &[ptr(1024, 16), Arg::I64(beyond)]),
            expected,
            "beyond {beyond}"
        );
        let written = guest.memory[..ARGS_AT]
            .iter()
            .filter(|byte| **byte != 0)
            .count();
        assert_eq!(written, if expected == 0 { 4 } else { 0 });
    }
    // A window of no bytes allows no access, and an address is all a kernel gets of it.
    assert_eq!(guest.one(poke, &[ptr(1024, 0), Arg::I64(0)]), LAUNCH_FAILED);
    let text = guest.instance.last_error_text();
    assert!(text.contains("poke"), "the fault names the kernel: {text}");
}

#[test]
fn a_fault_stays_with_its_launch() {
    let host = Host::new(SoftDevice::new().instruction_budget(10_000));
    let (mut faulty, mut neighbour) = (Guest::new(&host), Guest::new(&host));
    let (stop, spin) = (faulty.load("stop"), faulty.load("spin"));
    let copy = faulty.load("copy");
    let neighbour_copy = neighbour.load("copy");
    for kernel in [stop, spin, stop] {
        assert_eq!(faulty.one(kernel, &[]), LAUNCH_FAILED);
        faulty.set_word(0, 5);
        assert_eq!(
            (faulty.one(copy, &[ptr(0, 4), ptr(4, 4)]), faulty.word(4)),
            (0, 5)
        );
        assert_eq!(neighbour.one(neighbour_copy, &[ptr(0, 4), ptr(4, 4)]), 0);
    }
}

#[test]
fn a_kernel_s_variables_last_and_are_its_own() {
    let host = Host::soft();
    let (mut a, mut b) = (Guest::new(&host), Guest::new(&host));
    let (first, second, other) = (a.load("count"), a.load("count"), b.load("count"));
    let count = |guest: &mut Guest, kernel| {
        assert_eq!(guest.one(kernel, &[ptr(0, 4)]), 0);
        guest.word(0)
    };
    assert_eq!(
        [
            count(&mut a, first),
            count(&mut a, first),
            count(&mut a, second)
        ],
        [41, 42, 41]
    );
    assert_eq!([count(&mut b, other), count(&mut a, first)], [41, 43]);
}

#[test]
fn what_kernels_print_reaches_the_embedder() {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&printed);
    let device = SoftDevice::new().output(move |text| sink.lock().unwrap().push(text.to_vec()));
    let mut guest = Guest::new(&Host::new(device));
    let (greet, copy) = (guest.load("greet"), guest.load("copy"));
    assert_eq!(guest.launch(greet, [3, 1, 1], [1, 1, 1], &[]), 0);
    assert_eq!(guest.one(copy, &[ptr(0, 4), ptr(4, 4)]), 0);
    assert_eq!(guest.one(greet, &[]), 0);
    let texts = ["block 0!\nblock 1!\nblock 2!\n", "block 0!\n"];
    assert_eq!(
        *printed.lock().unwrap(),
        texts.map(|text| text.as_bytes().to_vec())
    );
}

#[test]
fn shapes_that_no_device_takes_are_the_device_s_to_refuse() {
    let mut guest = Guest::new(&Host::soft());
    let stop = guest.load("stop");
    let copy = guest.load("copy");
    for (grid, block) in [
        ([1, 65_536, 1], [1; 3]),
        ([1, 1, 65_536], [1; 3]),
        ([1; 3], [1, 1, 65]),
    ] {
        assert_eq!(guest.launch(stop, grid, block, &[]), LAUNCH_FAILED);
    }
    assert_eq!(
        guest.launch(copy, [1, 65_535, 1], [1; 3], &[ptr(0, 4), ptr(4, 4)]),
        0
    );
    assert_eq!(
        guest.launch(copy, [1; 3], [1, 1, 64], &[ptr(0, 4), ptr(4, 4)]),
        0
    );
}

#[test]
fn arguments_that_do_not_fit_the_parameters_never_reach_the_kernel() {
    for (host, fits) in [(Host::soft(), 0), (Host::none(), NOT_AVAILABLE)] {
        let mut guest = Guest::new(&host);
        let copy = guest.load("copy");
        for args in [
            &[][..],
            &[ptr(0, 4)],
            &[ptr(0, 4), Arg::U32(4)],
            &[ptr(0, 4), ptr(4, 4), ptr(8, 4)],
        ] {
            assert_eq!(guest.one(copy, args), -9, "{args:?}");
        }
        assert_eq!(guest.one(copy, &[ptr(0, 4), ptr(4, 4)]), fits);
    }
}

#[test]
fn a_parameter_takes_any_record_of_its_size_and_no_other() {
    let mut guest = Guest::new(&Host::soft());
    let pair = guest.load("pair");
    let words = 7u64 << 32 | 50;
    for arg in [Arg::U64(words), Arg::I64(words as i64), Arg::F64(words)] {
        guest.set_word(0, 0);
        assert_eq!((guest.one(pair, &[arg, ptr(0, 4)]), guest.word(0)), (0, 43));
    }
    assert_eq!(guest.one(pair, &[Arg::U32(50), ptr(0, 4)]), -9);
    assert_eq!(guest.one(pair, &[Arg::U32(50), Arg::U32(7), ptr(0, 4)]), -9);
    let (short, triple) = (guest.load("short"), guest.load("triple"));
    for arg in [Arg::U32(1), Arg::U64(1), ptr(0, 4)] {
        assert_eq!(guest.one(short, &[arg]), -9);
        assert_eq!(guest.one(triple, &[arg]), -9);
    }
}

#[test]
fn a_freed_buffer_s_bytes_are_nobody_else_s() {
    let host = Host::soft();
    let (mut a, mut b) = (Guest::new(&host), Guest::new(&host));
    for _ in 0..50 {
        let handle = calls::alloc(&mut a.instance, 4096, 0);
        let (lo, hi) = (handle as i32, (handle >> 32) as i32);
        a.memory.fill(0x5a);
        assert_eq!(
            calls::memcpy_h2d(&mut a.instance, Some(&mut a.memory), lo, hi, 0, 4096),
            0
        );
        assert_eq!(calls::free(&mut a.instance, lo, hi), 0);

        let handle = calls::alloc(&mut b.instance, 4096, 0);
        let (lo, hi) = (handle as i32, (handle >> 32) as i32);
        // A short write first: it is what brings the buffer's bytes into being.
        b.memory.fill(1);
        assert_eq!(
            calls::memcpy_h2d(&mut b.instance, Some(&mut b.memory), lo, hi, 0, 4),
            0
        );
        assert_eq!(
            calls::memcpy_d2h(&mut b.instance, Some(&mut b.memory), 0, lo, hi, 4096),
            0
        );
        assert!(
            b.memory[..4].iter().all(|byte| *byte == 1)
                && b.memory[4..4096].iter().all(|byte| *byte == 0)
        );
        assert_eq!(calls::free(&mut b.instance, lo, hi), 0);
    }
}
