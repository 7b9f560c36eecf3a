//! The arguments of the driver API's functions: a type for each thing that a function may ask for.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use soft_cuda::api::graph_params::*;
use soft_cuda::api::launch::LaunchConfig;
use soft_cuda::api::managed::CUmemLocation;
use soft_cuda::api::pool::{CUmemAccessDesc, CUmemPoolProps};
use soft_cuda::api::rows::{CUDA_MEMCPY2D, CUDA_MEMCPY3D};
use soft_cuda::{
    CUcontext, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUkernel, CUlibrary,
    CUlinkState, CUmemoryPool, CUmodule, CUstream,
};

use crate::body::draw::{Draw, HOST_BYTES, Made, SLOT_WORDS};
use crate::body::sources;
use crate::body::structures::*;
use crate::body::world::{Kind, Pinned};

/// Something that a function takes.
pub(crate) trait Argument {
    /// As what.
    type C;
    /// One of it.
    fn draw(draw: &mut Draw) -> Self::C;
}

/// What is passed: itself, or a pointer to words as one to whatever the function wants there.
pub(crate) trait Passed<C> {
    fn into_c(self) -> C;
}

impl<T> Passed<T> for T {
    fn into_c(self) -> T {
        self
    }
}

/// A pointer to words of a slot, or null.
pub(crate) struct Words(*mut u64);

impl<T> Passed<*mut T> for Words {
    fn into_c(self) -> *mut T {
        self.0.cast()
    }
}

impl<T> Passed<*const T> for Words {
    fn into_c(self) -> *const T {
        self.0.cast_const().cast()
    }
}

/// For each kind: a live handle or one that is none, a place for a new one, and, where it can end by itself, one that ends with the call.
macro_rules! handles {
    ($($kind:ident $place:ident ($($end:ident)?) $c:ident)*) => {$(
        pub(crate) struct $kind;
        impl Argument for $kind {
            type C = $c;
            fn draw(draw: &mut Draw) -> $c {
                $c(draw.handle(Kind::$kind, false))
            }
        }

        pub(crate) struct $place;
        impl Argument for $place {
            type C = *mut $c;
            fn draw(draw: &mut Draw) -> *mut $c {
                place(draw, Made::Handle(Kind::$kind)).cast()
            }
        }

        $(
        pub(crate) struct $end;
        impl Argument for $end {
            type C = $c;
            fn draw(draw: &mut Draw) -> $c {
                let bits = draw.handle(Kind::$kind, false);
                draw.ends.push((Kind::$kind, bits));
                if Kind::$kind == Kind::Context {
                    draw.world.known().doomed(bits);
                }
                $c(bits)
            }
        }
        )?
    )*};
}

handles! {
    Context NewContext (EndContext) CUcontext
    Module NewModule (EndModule) CUmodule
    Function NewFunction () CUfunction
    Library NewLibrary (EndLibrary) CUlibrary
    Kernel NewKernel () CUkernel
    Link NewLink (EndLink) CUlinkState
    Stream NewStream (EndStream) CUstream
    Event NewEvent (EndEvent) CUevent
    Graph NewGraph (EndGraph) CUgraph
    Node NewNode (EndNode) CUgraphNode
    Exec NewExec (EndExec) CUgraphExec
    Pool NewPool (EndPool) CUmemoryPool
}

/// Declares arguments that are drawn by an expression.
macro_rules! arguments {
    ($($(#[$meta:meta])* $name:ident: $c:ty = |$draw:ident| $value:expr;)*) => {$(
        $(#[$meta])*
        pub(crate) struct $name;
        impl Argument for $name {
            type C = $c;
            fn draw($draw: &mut Draw) -> $c {
                $value
            }
        }
    )*};
}

arguments! {
    /// A context, or null for the current one.
    SomeContext: CUcontext = |draw| CUcontext(draw.handle(Kind::Context, true));
    /// Room for handles of functions.
    Functions: *mut CUfunction = |draw| place(draw, Made::Handles(Kind::Function)).cast();
    /// Room for handles of kernels.
    Kernels: *mut CUkernel = |draw| place(draw, Made::Handles(Kind::Kernel)).cast();
    /// Nodes of a graph.
    Nodes: *const CUgraphNode = |draw| nodes(draw).cast();
    /// As many nodes.
    NodeCount: usize = |draw| {
        // Lists of nodes are short where there are none.
        let none = draw.handles.contains(&(Kind::Node, 0));
        if draw.bad(8) { NODES + 3 } else if none { 0 } else { draw.one(&[0, 1, 1, 2]) }
    };
    /// A place for memory of the device's.
    NewMemory: *mut u64 = |draw| place(draw, Made::Memory);
    /// A place for memory of the host's.
    NewHost: *mut *mut c_void = |draw| place(draw, Made::HostMemory).cast();

    Device: c_int = |draw| if draw.bad(5) { draw.refuse("a device that is none"); draw.one(&[-1, 1, 7, c_int::MIN, c_int::MAX]) } else { 0 };
    /// A small number, or a wild one.
    Number: c_int = |draw| if draw.bad(4) { draw.rng.i32(..) } else { draw.rng.i32(0..=16) };
    /// A priority.
    Priority: c_int = |draw| draw.rng.i32(-7..=2);
    Length: c_int = |draw| if draw.bad(4) { draw.one(&[-1, 0, c_int::MIN]) } else { draw.rng.i32(1..=256) };
    /// Flags, of which few are set.
    Flags: c_uint = |draw| if draw.bad(4) { draw.rng.u32(..) } else { draw.one(&[0, 0, 0, 0, 1, 2]) };
    LongFlags: u64 = |draw| if draw.bad(4) { draw.rng.u64(..) } else { 0 };
    NoFlags: c_uint = |draw| if draw.bad(6) { draw.rng.u32(..) } else { 0 };
    /// An enumeration.
    Enum: c_uint = |draw| if draw.bad(4) { draw.one(&[20, 1000, 0x8000_0000, u32::MAX]) } else { draw.rng.u32(0..12) };
    EnumInt: c_int = |draw| if draw.bad(4) { draw.one(&[-1, 1000, c_int::MIN, c_int::MAX]) } else { draw.rng.i32(0..20) };
    /// An attribute of a device.
    Attribute: c_int = |draw| if draw.bad(4) { draw.rng.i32(..) } else { draw.rng.i32(1..162) };
    Byte: u8 = |draw| draw.rng.u8(..);
    Half: u16 = |draw| draw.rng.u16(..);
    Word: c_uint = |draw| draw.rng.u32(..);
    Code: c_uint = |draw| if draw.bad(4) { draw.rng.u32(..) } else { draw.one(&[0, 1, 2, 100, 201, 400, 700, 999]) };
    Version: c_int = |draw| if draw.bad(4) { draw.rng.i32(..) } else { draw.one(&[3020, 11000, 12000, 12080, 13000, 13050]) };

    /// A number of bytes or elements.
    Size: usize = |draw| draw.size();
    /// A number of rows.
    Height: usize = |draw| if draw.bad(6) { draw.size() } else { draw.rng.usize(1..=3) };
    Pitch: usize = |draw| if draw.bad(6) { draw.rng.usize(..) } else { draw.one(&[0, 256, 512, 1024]) };
    Element: c_uint = |draw| if draw.bad(4) { draw.rng.u32(..) } else { draw.one(&[4, 8, 16]) };
    Index: usize = |draw| if draw.bad(4) { draw.rng.usize(..) } else { draw.rng.usize(0..3) };

    Zero: c_int = |draw| if draw.bad(8) { draw.one(&[-1, 1]) } else { 0 };
    OneOrTwo: c_uint = |draw| if draw.bad(4) { draw.rng.u32(..) } else { draw.one(&[1, 2]) };

    /// An address of device memory.
    Address: u64 = |draw| draw.address().0;
    /// An address that may have been freed: the answer says so.
    AnyAddress: u64 = |draw| { let (address, _) = draw.address(); draw.freed_address = false; address };
    /// An address that is freed at once.
    FreeNow: u64 = |draw| frees(draw);
    /// An address that is freed later.
    FreeLater: u64 = |draw| { let address = frees(draw); draw.frees = None; draw.freed_address = false; address };
    /// Memory of the host's to be read.
    HostSource: *const c_void = |draw| host(draw, false, true).cast_const();
    /// Memory of the host's to be written.
    HostTarget: *mut c_void = |draw| host(draw, true, true);
    /// Memory of the host's that the driver made.
    FreeHost: *mut c_void = |draw| pinned(draw, false);
    /// Memory of the host's that the driver knows.
    Unregister: *mut c_void = |draw| pinned(draw, true);
    /// Memory of the host's that the driver may know.
    SomeHost: *mut c_void = |draw| some_host(draw);
    /// Memory of the host's that the driver shall know.
    Register: *mut c_void = |draw| {
        draw.registers = true;
        let at = draw.rng.usize(0..HOST_BYTES / 4096 - 1) * 4096 + if draw.bad(4) { 20 } else { 0 };
        let place: *mut c_void = if draw.bad(8) { null_mut() } else { draw.arena.own.wrapping_add(at).cast() };
        draw.seen.push(place.expose_provenance() as u64);
        place
    };
    RegisterSize: usize = |draw| { let size = if draw.bad(4) { 0 } else { draw.one(&[1, 64, 4096]) }; draw.seen.push(size as u64); size };

    /// A name of a kernel, a variable or neither.
    Name: *const c_char = |draw| if draw.bad(5) { draw.one(&[c"".as_ptr(), c"none".as_ptr(), null()]) } else { sources::name(draw.rng) };
    /// A name of a variable.
    Variable: *const c_char = |draw| if draw.bad(5) { draw.one(&[c"store".as_ptr(), c"none".as_ptr(), null()]) } else { c"variable".as_ptr() };
    /// A name of a function of the driver's.
    Symbol: *const c_char = |draw| if draw.bad(4) { draw.one(&[c"".as_ptr(), c"cuNone".as_ptr(), null()]) } else { draw.one(&[c"cuInit", c"cuMemAlloc", c"cuGraphCreate", c"cuCtxCreate", c"cuArrayCreate"]).as_ptr() };
    Bus: *const c_char = |draw| draw.one(&[c"FFFF:00:00.0".as_ptr(), c"0".as_ptr(), c"".as_ptr(), null()]);
    /// A path at which there is nothing.
    Path: *const c_char = |draw| draw.one(&[c"/nonexistent/file".as_ptr(), c"".as_ptr(), null()]);
    /// Something to load.
    Image: *const c_void = |draw| if draw.bad(3) { draw.one(sources::BAD) } else { sources::good(draw.rng) }.cast();
    /// PTX for a linker.
    Data: *mut c_void = |_draw| sources::LINKED.as_ptr().cast_mut().cast();
    DataSize: usize = |draw| if draw.bad(4) { draw.one(&[0, 1, 20]) } else { sources::LINKED.count_bytes() + 1 };
    DataKind: c_uint = |draw| if draw.bad(4) { draw.rng.u32(0..20) } else { 1 };
    /// No options.
    None0: c_uint = |_draw| 0;
    NoOptions: *mut c_uint = |_draw| null_mut();
    NoValues: *mut *mut c_void = |_draw| null_mut();
    /// A log in a buffer, and its size: two options.
    Two: c_uint = |draw| if draw.bad(8) { 0 } else { 2 };
    LogOptions: *mut c_uint = |draw| {
        let options = if draw.bad(6) { [draw.rng.u32(..), draw.rng.u32(0..40)] } else { draw.one(&[[3, 4], [5, 6]]) };
        let known = options == [3, 4] || options == [5, 6];
        // The values below are those of a log; for other options they would be numbers, or addresses that must not be followed.
        let options = if known { options } else { [options[0] | 64, 6] };
        leaked(options.into_iter().collect())
    };
    LogValues: *mut *mut c_void = |draw| {
        let bytes = draw.one(&[0, 1, 16, 4096]);
        let log: *mut c_void = draw.arena.target.cast();
        leaked(vec![log, std::ptr::without_provenance_mut(bytes)])
    };

    /// A place for an answer of any size.
    Answer: Words = |draw| Words(answer(draw, 20));
    /// A place for an answer that need not be wanted.
    Wanted: Words = |draw| { let refused = draw.refused; let place = answer(draw, 4); draw.refused = refused; Words(place) };
    Uuid: *const [u8; 16] = |draw| if draw.bad(4) { null() } else { draw.arena.slot().cast_const().cast() };
    /// Names and places of attributes of memory.
    Attributes: *const c_uint = |draw| filled(draw, &[1, 2, 3, 9, 11, 5]).cast_const().cast();
    Places: Words = |draw| Words(places(draw).cast());
    Few: c_uint = |draw| draw.rng.u32(0..=3);
    FewSizes: *const usize = |draw| filled(draw, &[8, 8, 8]).cast_const().cast();
    Eight: usize = |draw| if draw.bad(3) { draw.one(&[0, 4, 12, 64]) } else { draw.one(&[4, 8]) };
    Zeros: Words = |draw| Words(if draw.bad(4) { null_mut() } else { draw.arena.slot() });

    Grid: c_uint = |draw| if draw.bad(8) { draw.one(&[0, 65_536, 1 << 31, u32::MAX]) } else { draw.rng.u32(1..=2) };
    Block: c_uint = |draw| if draw.bad(8) { draw.one(&[0, 65, 1025, u32::MAX]) } else { draw.one(&[1, 1, 2, 4]) };
    Shared: c_uint = |draw| if draw.bad(8) { draw.one(&[48 << 10, (48 << 10) + 1, 227 << 10, u32::MAX]) } else { 0 };
    /// Arguments of a kernel: enough for any.
    Params: *mut *mut c_void = |draw| params(draw);
    NoExtra: *mut *mut c_void = |draw| if draw.bad(8) { extra(draw) } else { null_mut() };
    Config: *const LaunchConfig = |draw| config(draw);

    /// How much room there is for nodes, and how many there are.
    Room: Words = |draw| {
        let place = filled(draw, &[0, 0, 0, 0]).cast::<u64>(); let room = draw.rng.u64(0..64);
        // SAFETY: a slot is a word at least.
        unsafe { place.write(room) };
        if draw.bad(8) { draw.refuse("no place for the number"); Words(null_mut()) } else { Words(place) }
    };
    KernelNode: *const CUDA_KERNEL_NODE_PARAMS = |draw| { let v1 = kernel_node(draw); let kern = CUkernel(0); let ctx = CUcontext(0); stored(draw, CUDA_KERNEL_NODE_PARAMS { v1, kern, ctx }) };
    KernelNode1: *const CUDA_KERNEL_NODE_PARAMS_v1 = |draw| { let value = kernel_node(draw); stored(draw, value) };
    FillNode: *const CUDA_MEMSET_NODE_PARAMS = |draw| { let value = fill_node(draw); stored(draw, value) };
    HostNode: *const CUDA_HOST_NODE_PARAMS = |draw| { let function = Plain::draw(draw); stored(draw, CUDA_HOST_NODE_PARAMS { function, user_data: null_mut() }) };
    AnyNode: *mut CUgraphNodeParams = |draw| any_node(draw).cast_mut();
    Instantiation: *mut CUDA_GRAPH_INSTANTIATE_PARAMS = |draw| { let flags = LongFlags::draw(draw); let upload_stream = CUstream(draw.handle(Kind::Stream, false)); draw.refused = None; stored(draw, CUDA_GRAPH_INSTANTIATE_PARAMS { flags, upload_stream, ..Default::default() }).cast_mut() };
    LogSize: usize = |draw| draw.one(&[0, 1, 16, 4096]);
    LogPlace: *mut c_char = |draw| draw.arena.slot().cast();

    Copy2: *const CUDA_MEMCPY2D = |draw| copy2(draw);
    Copy3: *const CUDA_MEMCPY3D = |draw| copy3(draw, false);
    CopyPeer: *const CUDA_MEMCPY3D = |draw| copy3(draw, true);
    Location: CUmemLocation = |draw| location(draw);
    Locations: *const CUmemLocation = |draw| { let value = location(draw); stored(draw, value) };
    Access: *const CUmemAccessDesc = |draw| { let value = CUmemAccessDesc { location: location(draw), flags: if draw.bad(3) { 9 } else { 3 } }; let refused = draw.refused;
        let place = stored(draw, value);
        // How many there are is another argument.
        draw.refused = refused;
        place };
    One: usize = |draw| if draw.bad(4) { 0 } else { 1 };
    PoolKind: c_int = |draw| if draw.bad(4) { 7 } else { 1 };
    PoolProps: *const CUmemPoolProps = |draw| {
        let mut props = CUmemPoolProps { alloc_type: 1, handle_types: 0, location: location(draw), security_attributes: 0, max_size: 0, usage: 0, gpu_direct_rdma_capable: 0, reserved: [0; 53] };
        if draw.bad(3) { props.handle_types = 1 }
        if draw.bad(3) { props.max_size = draw.size() }
        stored(draw, props)
    };

    Plain: Option<unsafe extern "C" fn(*mut c_void)> = |draw| if draw.bad(6) { draw.refuse("no function"); None } else { Some(plain) };
    Callback: Option<unsafe extern "C" fn(CUstream, c_uint, *mut c_void)> = |draw| if draw.bad(6) { draw.refuse("no function"); None } else { Some(callback) };
    SharedOf: Option<unsafe extern "C" fn(c_int) -> usize> = |draw| if draw.rng.bool() { None } else { Some(shared_of) };
    UserData: *mut c_void = |_draw| null_mut();
}

/// A place for something new, or null.
fn place(draw: &mut Draw, made: Made) -> *mut u64 {
    if draw.bad(10) {
        draw.refuse("no place for the answer");
        draw.seen.push(0);
        return null_mut();
    }
    let place = draw.arena.slot();
    draw.seen.push(1);
    draw.makes.push((made, place.cast_const()));
    place
}

fn answer(draw: &mut Draw, null_once_in: u32) -> *mut u64 {
    if draw.bad(null_once_in) {
        draw.refuse("no place for the answer");
        return null_mut();
    }
    draw.arena.slot()
}

fn filled(draw: &mut Draw, words: &[u32]) -> *mut u32 {
    let place: *mut u32 = draw.arena.slot().cast();
    // SAFETY: a slot has room for more than these words.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), place, words.len()) };
    place
}

/// A value in memory that the call may read.
pub(super) fn stored<T>(draw: &mut Draw, value: T) -> *const T {
    const { assert!(size_of::<T>() <= SLOT_WORDS * 8) };
    if draw.bad(12) {
        draw.refuse("no parameters");
        return null();
    }
    let place: *mut T = draw.arena.slot().cast();
    // SAFETY: a slot has room for it, by the assertion, and is aligned as words are.
    unsafe { place.write_unaligned(value) };
    place
}

/// Memory that stays, since a linker may write there until its end.
fn leaked<T>(values: Vec<T>) -> *mut T {
    values.leak().as_mut_ptr()
}

fn nodes(draw: &mut Draw) -> *mut u64 {
    let refused = draw.refused;
    let place = draw.arena.slot();
    for index in 0..NODES + 3 {
        let bits = if draw.bad(10) {
            77
        } else {
            draw.handle(Kind::Node, false)
        };
        // SAFETY: a slot has more words than that.
        unsafe { place.add(index).write(bits as u64) };
    }
    // How many of them count is another argument.
    draw.refused = refused;
    place
}

fn frees(draw: &mut Draw) -> u64 {
    let (address, _) = draw.address();
    let mut known = draw.world.known();
    if let Some(at) = known.scratch.iter().position(|one| one.address == address) {
        known.scratch.swap_remove(at);
        draw.frees = Some(address);
    }
    address
}

pub(super) fn host(draw: &mut Draw, is_written: bool, is_linear: bool) -> *mut c_void {
    if draw.bad(8) {
        return null_mut();
    }
    if draw.rng.u32(0..4) == 0 {
        let known = draw.world.known();
        // Another sequence may give its own back meanwhile, and the driver would take it for memory that the program promises.
        let is_own =
            |one: &&Pinned| one.sequence == draw.sequence && !one.is_registered && one.bytes >= 256;
        let own: Vec<_> = known.pinned.iter().filter(is_own).collect();
        if is_linear && !own.is_empty() {
            let one = own[draw.rng.usize(0..own.len())];
            return std::ptr::with_exposed_provenance_mut(one.address);
        }
    }
    if is_written {
        draw.arena.target.cast()
    } else {
        draw.arena.source.as_ptr().cast_mut().cast()
    }
}

fn pinned(draw: &mut Draw, is_registered: bool) -> *mut c_void {
    if draw.bad(4) {
        return draw.one(&[null_mut(), draw.arena.target.cast()]);
    }
    let mut known = draw.world.known();
    let own: Vec<_> = (0..known.pinned.len())
        .filter(|at| {
            known.pinned[*at].is_registered == is_registered
                && known.pinned[*at].sequence == draw.sequence
        })
        .collect();
    if own.is_empty() {
        return null_mut();
    }
    let one = known.pinned.swap_remove(own[draw.rng.usize(0..own.len())]);
    draw.frees_host = Some(one);
    std::ptr::with_exposed_provenance_mut(one.address)
}

fn some_host(draw: &mut Draw) -> *mut c_void {
    if draw.bad(4) {
        return draw.one(&[null_mut(), draw.arena.target.cast()]);
    }
    let known = draw.world.known();
    match known.pinned.len() {
        0 => null_mut(),
        number => std::ptr::without_provenance_mut(known.pinned[draw.rng.usize(0..number)].address),
    }
}

fn places(draw: &mut Draw) -> *mut *mut c_void {
    let place: *mut *mut c_void = draw.arena.slot().cast();
    for index in 0..6 {
        let target = if draw.bad(20) {
            null_mut()
        } else {
            draw.arena.slot().cast()
        };
        // SAFETY: a slot has more words than that.
        unsafe { place.add(index).write(target) };
    }
    place
}

/// Pointers to an address, and to words.
fn params(draw: &mut Draw) -> *mut *mut c_void {
    if draw.bad(12) {
        return null_mut();
    }
    let place: *mut *mut c_void = draw.arena.slot().cast();
    let (address, _) = draw.address();
    // A kernel that is given an address of no memory fails, and its context with it: seldom, so that others are tried too.
    draw.freed_address = false;
    for index in 0..4 {
        let value = draw.arena.slot();
        let word = if index == 0 { address & !3 } else { 4 };
        // SAFETY: a slot is a word at least.
        unsafe { value.write(word) };
        let argument = if draw.bad(20) {
            null_mut()
        } else {
            value.cast()
        };
        // SAFETY: a slot has more words than that.
        unsafe { place.add(index).write(argument) };
    }
    place
}

fn extra(draw: &mut Draw) -> *mut *mut c_void {
    let place: *mut usize = draw.arena.slot().cast();
    let size = draw.arena.slot();
    let buffer = draw.arena.slot();
    let bytes = draw.one(&[0, 8, 12, 16, 64]);
    let list = [
        1,
        buffer.expose_provenance(),
        2,
        size.expose_provenance(),
        draw.one(&[0, 9]),
    ];
    // SAFETY: slots have room for more.
    unsafe {
        size.write(bytes);
        std::ptr::copy_nonoverlapping(list.as_ptr(), place, list.len());
    }
    place.cast()
}

unsafe extern "C" fn plain(_data: *mut c_void) {
    called();
}

unsafe extern "C" fn callback(_stream: CUstream, _result: c_uint, _data: *mut c_void) {
    called();
}

/// A function that the driver calls may not call the driver.
fn called() {
    let mut context = CUcontext(0);
    // SAFETY: the place is good.
    let answer = unsafe { soft_cuda::api::context::cuCtxGetCurrent(&mut context) };
    assert_eq!(answer, 800, "a call from a function that the driver calls");
    CALLED.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn shared_of(threads: c_int) -> usize {
    threads.unsigned_abs() as usize * 4
}

/// How often the driver called functions of ours.
pub(crate) static CALLED: AtomicU64 = AtomicU64::new(0);
/// Nodes in a list, at most.
const NODES: usize = 3;
