//! Libraries, the linker, and occupancy.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod kernel;
mod own;

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{null, null_mut};

use kernel::{KERNELS, argument, launch};
use own::{INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, allocate, answers, call, download, fresh};
use soft_cuda::api::{context, function, library, link, module, occupancy};
use soft_cuda::{CUcontext, CUfunction, CUkernel, CUlibrary, CUlinkState, CUmodule, CUresult};

fn try_load(source: &str) -> Result<CUlibrary, CUresult> {
    let source = CString::new(source).expect("no zeros");
    let mut loaded = CUlibrary::default();
    let answer = call!(library::cuLibraryLoadData(
        &mut loaded,
        source.as_ptr().cast(),
        null_mut(),
        null_mut(),
        0,
        null_mut(),
        null_mut(),
        0
    ));
    if answer == 0 { Ok(loaded) } else { Err(answer) }
}

fn kernel_of(library: CUlibrary, name: &CStr) -> CUkernel {
    let mut found = CUkernel::default();
    answers!(library::cuLibraryGetKernel(
        &mut found,
        library,
        name.as_ptr()
    ));
    found
}

fn word(address: u64) -> u32 {
    u32::from_le_bytes(download(address, 4).try_into().expect("4 bytes"))
}

#[test]
fn a_library_serves_every_context_with_variables_of_its_own() {
    fresh();
    let loaded = try_load(KERNELS).expect("a good source");
    let count = kernel_of(loaded, c"count");
    assert_eq!(count, kernel_of(loaded, c"count"));
    let variable = || {
        let (mut start, mut size) = (0, 0);
        answers!(library::cuLibraryGetGlobal(
            &mut start,
            &mut size,
            loaded,
            c"counter".as_ptr()
        ));
        assert_eq!(size, 4);
        start
    };
    let first = variable();
    assert_eq!(launch(CUfunction(count.0), [1; 3], [5, 1, 1], &[]), 0);
    assert_eq!(word(first), 45);
    let mut other = CUcontext::default();
    answers!(context::cuCtxCreate_v2(&mut other, 0, 0));
    let second = variable();
    assert_ne!(first, second);
    let mut here = CUfunction::default();
    answers!(library::cuKernelGetFunction(&mut here, count));
    assert_eq!(launch(here, [1; 3], [1; 3], &[]), 0);
    assert_eq!((word(second), word(first)), (41, 45));
    // The module cannot be unloaded on its own.
    let mut of_library = CUmodule::default();
    answers!(library::cuLibraryGetModule(&mut of_library, loaded));
    answers!(module::cuModuleUnload(of_library), 800);
    answers!(library::cuLibraryUnload(loaded));
    answers!(library::cuLibraryUnload(loaded), INVALID_HANDLE);
    assert_eq!(launch(here, [1; 3], [1; 3], &[]), INVALID_HANDLE);
    assert_eq!(
        launch(CUfunction(count.0), [1; 3], [1; 3], &[]),
        INVALID_HANDLE
    );
    answers!(module::cuModuleUnload(of_library), INVALID_HANDLE);
}

#[test]
fn a_library_outlives_a_context_that_failed() {
    let doomed = fresh();
    let loaded = try_load(KERNELS).expect("a good source");
    let trap = CUfunction(kernel_of(loaded, c"trap").0);
    assert_eq!(launch(trap, [1; 3], [1; 3], &[]), 0);
    answers!(context::cuCtxSynchronize(), 719);
    fresh();
    let count = CUfunction(kernel_of(loaded, c"count").0);
    assert_eq!(launch(count, [1; 3], [1; 3], &[]), 0);
    answers!(context::cuCtxSynchronize());
    answers!(context::cuCtxDestroy_v2(doomed));
    answers!(library::cuLibraryUnload(loaded));
}

#[test]
fn attributes_of_a_kernel_hold_for_its_functions_unless_they_have_their_own() {
    fresh();
    let loaded = try_load(KERNELS).expect("a good source");
    let shared = kernel_of(loaded, c"shared");
    let mut here = CUfunction::default();
    answers!(library::cuKernelGetFunction(&mut here, shared));
    let of_kernel = || {
        let mut value = 0;
        answers!(library::cuKernelGetAttribute(&mut value, 8, shared, 0));
        value
    };
    let of_function = || {
        let mut value = 0;
        answers!(function::cuFuncGetAttribute(&mut value, 8, here));
        value
    };
    assert_eq!((of_kernel(), of_function()), (47 << 10, 47 << 10));
    answers!(library::cuKernelSetAttribute(8, 100 << 10, shared, 0));
    assert_eq!((of_kernel(), of_function()), (100 << 10, 100 << 10));
    answers!(function::cuFuncSetAttribute(here, 8, 60 << 10));
    answers!(library::cuKernelSetAttribute(8, 50 << 10, shared, 0));
    assert_eq!((of_kernel(), of_function()), (50 << 10, 60 << 10));
    answers!(
        library::cuKernelSetAttribute(8, 227 << 10, shared, 0),
        INVALID_VALUE
    );
    answers!(library::cuKernelSetAttribute(8, 0, shared, 1), 101);
    answers!(
        library::cuKernelSetAttribute(0, 1, shared, 0),
        INVALID_VALUE
    );
}

#[test]
fn what_a_library_holds_can_be_listed() {
    fresh();
    let loaded = try_load(KERNELS).expect("a good source");
    let mut count = 0;
    answers!(library::cuLibraryGetKernelCount(&mut count, loaded));
    let mut kernels = vec![CUkernel::default(); count as usize + 1];
    let room = count + 1;
    answers!(library::cuLibraryEnumerateKernels(
        kernels.as_mut_ptr(),
        room,
        loaded
    ));
    assert_eq!(kernels.pop(), Some(CUkernel::default()));
    let mut names = Vec::new();
    for kernel in kernels {
        let (mut name, mut of) = (null(), CUlibrary::default());
        answers!(library::cuKernelGetName(&mut name, kernel));
        answers!(library::cuKernelGetLibrary(&mut of, kernel));
        assert_eq!(of, loaded);
        // SAFETY: the driver's string, which stays while the library is loaded.
        names.push(unsafe { CStr::from_ptr(name) }.to_owned());
    }
    assert_eq!(names[0], c"nothing".to_owned());
    assert!(names.contains(&c"mixed".to_owned()));
    let mixed = kernel_of(loaded, c"mixed");
    let (mut count, mut offset, mut size) = (0, 0, 0);
    answers!(library::cuKernelGetParamCount(mixed, &mut count));
    answers!(library::cuKernelGetParamInfo(
        mixed,
        3,
        &mut offset,
        &mut size
    ));
    assert_eq!((count, offset, size), (4, 24, 12));
    answers!(
        library::cuKernelGetParamInfo(mixed, 4, &mut offset, &mut size),
        INVALID_VALUE
    );
    let mut missing = CUkernel::default();
    answers!(
        library::cuLibraryGetKernel(&mut missing, loaded, c"absent".as_ptr()),
        NOT_FOUND
    );
    for bad in [
        0,
        1,
        mixed.0 + 16_000,
        mixed.0 | 1 << 32,
        loaded.0,
        usize::MAX,
    ] {
        answers!(
            library::cuKernelGetParamCount(CUkernel(bad), &mut count),
            INVALID_HANDLE
        );
    }
    assert_eq!(try_load(".version 8.0\nnonsense"), Err(218));
}

/// A linker, and the buffer that it writes errors to.
struct Linking {
    state: CUlinkState,
    log: Box<[u8; 4096]>,
    _values: Box<[*mut c_void; 2]>,
}

impl Linking {
    fn begin() -> Self {
        let mut log = Box::new([0xAA; 4096]);
        let mut options = [5, 6];
        let mut values = Box::new([
            log.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(4096),
        ]);
        let mut state = CUlinkState::default();
        answers!(link::cuLinkCreate_v2(
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            &mut state
        ));
        Self {
            state,
            log,
            _values: values,
        }
    }

    fn add(&self, source: &str) -> CUresult {
        call!(link::cuLinkAddData_v2(
            self.state,
            1,
            source.as_ptr().cast_mut().cast(),
            source.len(),
            c"a".as_ptr(),
            0,
            null_mut(),
            null_mut()
        ))
    }

    fn complete(&self) -> Result<Vec<u8>, CUresult> {
        let (mut start, mut length) = (null_mut(), 0);
        match call!(link::cuLinkComplete(self.state, &mut start, &mut length)) {
            // SAFETY: the linker's image, as long as it says.
            0 => Ok(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) }.to_vec()),
            answer => Err(answer),
        }
    }

    fn log(&self) -> String {
        let text = CStr::from_bytes_until_nul(self.log.as_slice()).expect("an end");
        text.to_string_lossy().into_owned()
    }
}

const CALLER: &str = ".version 7.0\n.target sm_75\n.address_size 64\n
.visible .func (.param .b32 out) thrice (.param .b32 in) {
    .reg .b32 %r;
    ld.param.b32 %r, [in]; mul.lo.u32 %r, %r, 3; st.param.b32 [out], %r; ret;
}
.extern .func (.param .b32 out) twice (.param .b32 in);
.extern .global .u32 base;
.visible .entry caller(.param .u64 to) {
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    { .param .b32 i; .param .b32 o; st.param.b32 [i], 21; call (o), twice, (i); ld.param.b32 %r1, [o]; }
    ld.global.u32 %r2, [base];
    add.u32 %r1, %r1, %r2;
    ld.param.u64 %rd1, [to];
    st.global.u32 [%rd1], %r1;
    ret;
}";

const CALLEE: &str = "// a callee
.version 8.0 .target sm_80
.address_size 64
.extern .func (.param .b32 out) thrice (.param .b32 in);
.visible .global .u32 base = 100;
.visible .entry callee(.param .u64 to) {
    .reg .b32 %r1; .reg .b64 %rd1;
    { .param .b32 i; .param .b32 o; st.param.b32 [i], 5; call (o), thrice, (i); ld.param.b32 %r1, [o]; }
    ld.param.u64 %rd1, [to];
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .func (.param .b32 out) twice (.param .b32 in) {
    .reg .b32 %r;
    ld.param.b32 %r, [in]; add.u32 %r, %r, %r; st.param.b32 [out], %r; ret;
}";

#[test]
fn sources_that_use_each_other_are_linked() {
    fresh();
    let linking = Linking::begin();
    assert_eq!(linking.add(CALLER), 0);
    assert_eq!(linking.add(CALLEE), 0, "{}", linking.log());
    let image = linking.complete().expect("an image");
    assert_eq!(linking.log(), "");
    assert_eq!(linking.complete().as_ref(), Ok(&image), "the same again");
    assert_eq!(linking.add(CALLEE), INVALID_VALUE);
    answers!(link::cuLinkDestroy(linking.state));
    answers!(link::cuLinkDestroy(linking.state), INVALID_HANDLE);
    let mut loaded = CUmodule::default();
    answers!(module::cuModuleLoadData(&mut loaded, image.as_ptr().cast()));
    let to = allocate(4);
    let caller = kernel::function(loaded, "caller");
    assert_eq!(launch(caller, [1; 3], [1; 3], &[argument(&to)]), 0);
    assert_eq!(word(to), 142);
    let callee = kernel::function(loaded, "callee");
    assert_eq!(launch(callee, [1; 3], [1; 3], &[argument(&to)]), 0);
    assert_eq!(word(to), 15);
    // An image may be linked again.
    let again = Linking::begin();
    answers!(link::cuLinkAddData_v2(
        again.state,
        0,
        image.as_ptr().cast_mut().cast(),
        image.len(),
        null(),
        0,
        null_mut(),
        null_mut()
    ));
    again.complete().expect("an image");
}

#[test]
fn kernels_of_several_sources_stand_side_by_side() {
    fresh();
    let source = |name: &str, value: u32| {
        format!(
            ".version 8.0 .target sm_80 .address_size 64 .global .u32 own = {value};
            .visible .entry {name}(.param .u64 to) {{ .reg .b32 %r; .reg .b64 %rd;
            ld.param.u64 %rd, [to]; ld.global.u32 %r, [own]; st.global.u32 [%rd], %r; }}"
        )
    };
    let linking = Linking::begin();
    assert_eq!(linking.add(&source("one", 11)), 0);
    assert_eq!(linking.add(&source("two", 22)), 0);
    let image = linking.complete().expect("an image");
    let mut loaded = CUmodule::default();
    answers!(module::cuModuleLoadData(&mut loaded, image.as_ptr().cast()));
    let to = allocate(4);
    for (name, value) in [("one", 11), ("two", 22)] {
        let function = kernel::function(loaded, name);
        assert_eq!(launch(function, [1; 3], [1; 3], &[argument(&to)]), 0);
        assert_eq!(word(to), value);
    }
    let mut count = 0;
    answers!(module::cuModuleGetFunctionCount(&mut count, loaded));
    assert_eq!(count, 2);
    let twice = Linking::begin();
    assert_eq!(twice.add(&source("one", 11)), 0);
    assert_eq!(twice.add(&source("one", 12)), 0);
    assert_eq!(twice.complete(), Err(218));
    assert!(twice.log().contains("Multiple definition of 'one'"));
}

#[test]
fn what_cannot_be_linked_is_refused_with_a_message() {
    fresh();
    let linking = Linking::begin();
    assert_eq!(linking.add(".version 8.0 .target sm_80 bad"), 218);
    assert!(
        linking
            .log()
            .starts_with("ptxas application ptx input, line 1; error")
    );
    assert_eq!(linking.complete(), Err(200), "nothing was taken in");
    let alone = Linking::begin();
    assert_eq!(alone.add(CALLER), 0);
    assert_eq!(alone.complete(), Err(218));
    assert!(alone.log().contains("twice"), "{}", alone.log());
    let elf = b"\x7FELF\x02\x01\x01";
    for (kind, answer) in [(0, 200), (2, 200), (3, 200), (4, 200), (5, 801), (6, 1)] {
        answers!(
            link::cuLinkAddData_v2(
                linking.state,
                kind,
                elf.as_ptr().cast_mut().cast(),
                elf.len(),
                null(),
                0,
                null_mut(),
                null_mut()
            ),
            answer
        );
    }
    answers!(
        link::cuLinkAddFile_v2(
            linking.state,
            1,
            c"/nonexistent".as_ptr(),
            0,
            null_mut(),
            null_mut()
        ),
        301
    );
    for bad in [0, 1, linking.state.0 + 1600, usize::MAX] {
        let (mut start, mut length) = (null_mut(), 0);
        answers!(
            link::cuLinkComplete(CUlinkState(bad), &mut start, &mut length),
            INVALID_HANDLE
        );
    }
}

#[test]
fn occupancy_follows_threads_and_shared_memory() {
    fresh();
    let loaded = kernel::load();
    let (nothing, shared, few) = (
        kernel::function(loaded, "nothing"),
        kernel::function(loaded, "shared"),
        kernel::function(loaded, "few"),
    );
    let blocks = |function, threads, bytes| {
        let mut blocks = -1;
        let answer = call!(occupancy::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks,
            function,
            threads,
            bytes
        ));
        if answer == 0 { Ok(blocks) } else { Err(answer) }
    };
    assert_eq!(blocks(nothing, 1024, 0), Ok(2));
    assert_eq!(blocks(nothing, 1000, 0), Ok(2));
    assert_eq!(blocks(nothing, 1, 0), Ok(32));
    assert_eq!(blocks(nothing, 1025, 0), Ok(0));
    assert_eq!(blocks(nothing, 64, 48 << 10), Ok(4));
    assert_eq!(blocks(nothing, 64, usize::MAX), Ok(0));
    assert_eq!(blocks(shared, 64, 47 << 10), Ok(4));
    assert_eq!(blocks(few, 65, 0), Ok(0));
    for threads in [0, -1, c_int::MIN] {
        assert_eq!(blocks(nothing, threads, 0), Err(INVALID_VALUE));
    }
    let best = |function, shared_of, limit| {
        let (mut grid, mut block) = (0, 0);
        let answer = call!(occupancy::cuOccupancyMaxPotentialBlockSize(
            &mut grid, &mut block, function, shared_of, 0, limit
        ));
        if answer == 0 {
            Ok((grid, block))
        } else {
            Err(answer)
        }
    };
    assert_eq!(best(nothing, None, 0), Ok((264, 1024)));
    assert_eq!(best(nothing, None, 256), Ok((132 * 8, 256)));
    assert_eq!(best(few, None, 0), Ok((132 * 32, 64)));
    assert_eq!(best(nothing, None, -1), Err(INVALID_VALUE));
    unsafe extern "C" fn much(threads: c_int) -> usize {
        if threads > 100 { usize::MAX } else { 0 }
    }
    assert_eq!(best(nothing, Some(much), 0), Ok((132 * 32, 64)));
    let room = |blocks, threads| {
        let mut bytes = 0;
        let answer = call!(occupancy::cuOccupancyAvailableDynamicSMemPerBlock(
            &mut bytes, shared, blocks, threads
        ));
        if answer == 0 { Ok(bytes) } else { Err(answer) }
    };
    assert_eq!(room(1, 64), Ok(226 << 10));
    assert_eq!(room(4, 64), Ok(55 << 10));
    assert_eq!(room(3, 1024), Err(INVALID_VALUE));
    assert_eq!(room(0, 64), Err(INVALID_VALUE));
}
