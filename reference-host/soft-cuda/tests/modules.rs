//! Modules: what loads, what is refused and how that is told.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod kernel;
mod own;

use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};

use kernel::{KERNELS, function, load, try_load};
use own::{INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, answers, call, fresh};
use soft_cuda::api::{device, error, function as func, module};
use soft_cuda::{CUfunction, CUmodule, CUresult};

const BAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.visible .entry bad()\n{\n    frobnicate.u32 %r1, %r2;\n}\n";

/// Loads a source with options; the answer and what became of the values.
fn load_with(source: &str, options: &[(u32, *mut c_void)]) -> (CUresult, Vec<*mut c_void>) {
    let source = CString::new(source).expect("no zeros");
    let (mut numbers, mut values): (Vec<u32>, Vec<*mut c_void>) = options.iter().copied().unzip();
    let mut loaded = CUmodule::default();
    let answer = call!(module::cuModuleLoadDataEx(
        &mut loaded,
        source.as_ptr().cast(),
        u32::try_from(options.len()).expect("few"),
        numbers.as_mut_ptr(),
        values.as_mut_ptr()
    ));
    assert_eq!(answer == 0, loaded != CUmodule::default());
    (answer, values)
}

#[test]
fn logs_are_strings_that_never_pass_their_size() {
    fresh();
    for size in [4096usize, 16, 1, 0] {
        for (source, answer) in [(KERNELS, 0), (BAD, 218)] {
            let mut info = vec![0xAAu8; 5000];
            let mut errors = vec![0xAAu8; 5000];
            let (given, values) = load_with(
                source,
                &[
                    (3, info.as_mut_ptr().cast()),
                    (4, without_provenance_mut(size)),
                    (5, errors.as_mut_ptr().cast()),
                    (6, without_provenance_mut(size)),
                ],
            );
            assert_eq!(given, answer);
            assert_eq!(values[0], info.as_mut_ptr().cast());
            assert_eq!(values[2], errors.as_mut_ptr().cast());
            for (log, word) in [(&info, values[1]), (&errors, values[3])] {
                assert!(log[size..].iter().all(|byte| *byte == 0xAA), "guards");
                if size == 0 {
                    assert_eq!(word.addr(), 0);
                    continue;
                }
                let text = CStr::from_bytes_until_nul(&log[..size]).expect("an end");
                assert_eq!(text.count_bytes(), word.addr());
            }
            if size > 0 {
                assert_eq!(info[0], 0);
                assert_eq!(errors[0] == 0, answer == 0 || size == 1);
            }
            if size == 4096 && answer != 0 {
                let text = CStr::from_bytes_until_nul(&errors).expect("an end");
                let text = text.to_str().expect("text");
                let place = "ptxas application ptx input, line 7; error   : ";
                assert!(text.starts_with(place), "{text}");
                assert!(text.contains("frobnicate"), "{text}");
            }
        }
    }
}

#[test]
fn the_time_that_compiling_took_is_a_float_in_its_own_word() {
    fresh();
    let mut guard = 0xAAAA_AAAA_AAAA_AAAAu64;
    let (answer, values) = load_with(KERNELS, &[(2, (&raw mut guard).cast())]);
    assert_eq!(answer, 0);
    assert_eq!(guard, 0xAAAA_AAAA_AAAA_AAAA, "the address is not followed");
    let bits = u32::try_from(values[0].addr() & 0xFFFF_FFFF).expect("32 bits");
    let time = f32::from_bits(bits);
    assert!(time.is_finite() && time >= 0.0);
}

#[test]
fn unknown_options_and_bad_values_are_refused() {
    fresh();
    for (option, value, answer) in [
        (0, 32, 0),
        (7, 4, 0),
        (7, 5, INVALID_VALUE),
        (9, 90, 0),
        (9, 91, INVALID_VALUE),
        (9, 100, 209),
        (19, 1, 801),
        (35, 0, 0),
        (36, 0, INVALID_VALUE),
        (1000, 0, INVALID_VALUE),
        (u32::MAX, 0, INVALID_VALUE),
    ] {
        let (given, _) = load_with(KERNELS, &[(option, without_provenance_mut(value))]);
        assert_eq!(given, answer, "{option} {value}");
    }
    let (mut loaded, source) = (CUmodule::default(), CString::new(KERNELS).expect("text"));
    let source = source.as_ptr().cast();
    let mut words = [null_mut(); 1];
    let mut numbers = [0];
    for (count, options, values, answer) in [
        (1, null_mut(), words.as_mut_ptr(), INVALID_VALUE),
        (1, numbers.as_mut_ptr(), null_mut(), INVALID_VALUE),
        (0, null_mut(), null_mut(), 0),
    ] {
        answers!(
            module::cuModuleLoadDataEx(&mut loaded, source, count, options, values),
            answer
        );
    }
}

#[test]
fn each_kind_of_bad_image_has_its_code() {
    fresh();
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for (source, answer) in [
        (String::new(), 200),
        ("nonsense".into(), 218),
        (BAD.into(), 218),
        (".version 99.0\n.target sm_80\n".into(), 222),
        (
            ".version 8.8\n.target sm_100\n.address_size 64\n".into(),
            209,
        ),
        (format!("{header}.visible .entry k() {{"), 218),
        (format!("{header}.global .texref t;"), 801),
        (header.to_owned(), 0),
    ] {
        let given = try_load(&source).err().unwrap_or(0);
        assert_eq!(given, answer, "{source}");
    }
    let mut loaded = CUmodule::default();
    for (bytes, answer) in [
        (b"\x7FELF\x02\x01\x01\0".as_slice(), 209),
        (b"\x50\xED\x55\xBA\x01\0", 209),
        (b"\xB1\x43\x62\x46\x01\0", 209),
        (b"\x01soft-cuda link\n\0", 200),
        (b"\x01\0", 200),
        (b"\xFF\xFE\0", 200),
    ] {
        let mut padded = bytes.to_vec();
        padded.resize(64, 0);
        answers!(
            module::cuModuleLoadData(&mut loaded, padded.as_ptr().cast()),
            answer
        );
        answers!(
            module::cuModuleLoadFatBinary(&mut loaded, padded.as_ptr().cast()),
            answer
        );
    }
    answers!(module::cuModuleLoadData(&mut loaded, null()), INVALID_VALUE);
    answers!(
        module::cuModuleLoadData(null_mut(), padded_source().as_ptr().cast()),
        INVALID_VALUE
    );
}

fn padded_source() -> CString {
    CString::new(KERNELS).expect("no zeros")
}

#[test]
fn modules_load_from_files() {
    fresh();
    let path = std::env::temp_dir().join(format!("soft-cuda-{}.ptx", std::process::id()));
    std::fs::write(&path, KERNELS).expect("a file");
    let name = CString::new(path.to_str().expect("text")).expect("no zeros");
    let mut loaded = CUmodule::default();
    answers!(module::cuModuleLoad(&mut loaded, name.as_ptr()));
    function(loaded, "nothing");
    std::fs::remove_file(&path).expect("the file");
    answers!(module::cuModuleLoad(&mut loaded, name.as_ptr()), 301);
    answers!(module::cuModuleLoad(&mut loaded, null()), INVALID_VALUE);
}

#[test]
fn names_lead_to_functions_and_variables() {
    fresh();
    let loaded = load();
    let nothing = function(loaded, "nothing");
    assert_eq!(nothing, function(loaded, "nothing"));
    assert_ne!(nothing, function(load(), "nothing"));
    let mut missing = CUfunction::default();
    for (name, answer) in [
        (c"absent", NOT_FOUND),
        (c"counter", NOT_FOUND),
        (c"", INVALID_VALUE),
    ] {
        answers!(
            module::cuModuleGetFunction(&mut missing, loaded, name.as_ptr()),
            answer
        );
    }
    answers!(
        module::cuModuleGetFunction(&mut missing, loaded, null()),
        INVALID_VALUE
    );
    let (mut start, mut size) = (0, 0);
    answers!(
        module::cuModuleGetGlobal_v2(&mut start, &mut size, loaded, c"absent".as_ptr()),
        NOT_FOUND
    );
    answers!(module::cuModuleGetGlobal_v2(
        &mut start,
        null_mut(),
        loaded,
        c"table".as_ptr()
    ));
    answers!(module::cuModuleGetGlobal_v2(
        null_mut(),
        &mut size,
        loaded,
        c"table".as_ptr()
    ));
    assert_eq!(size, 64);
    assert_eq!(start % 8, 0);
    answers!(
        module::cuModuleGetGlobal_v2(null_mut(), null_mut(), loaded, c"table".as_ptr()),
        INVALID_VALUE
    );
    for bad in [0, 1, loaded.0 + 16_000, nothing.0, usize::MAX] {
        answers!(
            module::cuModuleGetFunction(&mut missing, CUmodule(bad), c"nothing".as_ptr()),
            INVALID_HANDLE
        );
        answers!(module::cuModuleUnload(CUmodule(bad)), INVALID_HANDLE);
    }
    assert_eq!(missing, CUfunction::default());
}

#[test]
fn functions_can_be_listed_and_know_where_they_are_from() {
    fresh();
    let loaded = load();
    let mut count = 0;
    answers!(module::cuModuleGetFunctionCount(&mut count, loaded));
    let mut functions = vec![CUfunction::default(); count as usize + 1];
    answers!(module::cuModuleEnumerateFunctions(
        functions.as_mut_ptr(),
        count + 1,
        loaded
    ));
    assert_eq!(functions.pop(), Some(CUfunction::default()));
    assert_eq!(functions[0], function(loaded, "nothing"));
    for function in &functions {
        let (mut of, mut loading, mut name) = (CUmodule::default(), -1, null());
        answers!(func::cuFuncGetModule(&mut of, *function));
        answers!(func::cuFuncIsLoaded(&mut loading, *function));
        answers!(func::cuFuncLoad(*function));
        answers!(func::cuFuncGetName(&mut name, *function));
        assert_eq!((of, loading), (loaded, 1));
        // SAFETY: the driver's string, which stays while the module is loaded.
        let name = unsafe { CStr::from_ptr(name) };
        let mut again = CUfunction::default();
        answers!(module::cuModuleGetFunction(
            &mut again,
            loaded,
            name.as_ptr()
        ));
        assert_eq!(again, *function);
    }
    let mut one = [CUfunction::default(); 2];
    answers!(module::cuModuleEnumerateFunctions(
        one.as_mut_ptr(),
        1,
        loaded
    ));
    assert_eq!(one, [functions[0], CUfunction::default()]);
    answers!(module::cuModuleUnload(loaded));
    answers!(func::cuFuncLoad(functions[0]), INVALID_HANDLE);
    answers!(module::cuModuleUnload(loaded), INVALID_HANDLE);
}

#[test]
fn attributes_of_functions_are_those_of_the_kernel() {
    fresh();
    let loaded = load();
    let value = |name, attribute| {
        let mut value = i32::MIN;
        let function = function(loaded, name);
        match call!(func::cuFuncGetAttribute(&mut value, attribute, function)) {
            0 => Ok(value),
            answer => Err(answer),
        }
    };
    assert_eq!(value("nothing", 0), Ok(1024));
    assert_eq!(value("few", 0), Ok(64));
    assert_eq!(value("exactly", 0), Ok(32));
    assert_eq!(value("shared", 1), Ok(1024));
    assert_eq!(value("nothing", 1), Ok(0));
    assert_eq!(value("nothing", 2), Ok(8));
    assert_eq!(value("nothing", 5), Ok(80));
    assert_eq!(value("nothing", 6), Ok(90));
    assert_eq!(value("nothing", 8), Ok(48 << 10));
    assert_eq!(value("shared", 8), Ok(47 << 10));
    assert_eq!(value("nothing", 9), Ok(-1));
    for attribute in 0..18 {
        assert!(value("nothing", attribute).is_ok(), "{attribute}");
    }
    for attribute in [-1, 18, i32::MAX, i32::MIN] {
        assert_eq!(value("nothing", attribute), Err(INVALID_VALUE));
    }
    let nothing = function(loaded, "nothing");
    for (attribute, wished, answer) in [
        (9, 50, 0),
        (9, 101, INVALID_VALUE),
        (9, -2, INVALID_VALUE),
        (14, 1, 0),
        (14, 2, INVALID_VALUE),
        (0, 1, INVALID_VALUE),
        (1, 1, INVALID_VALUE),
        (17, 0, INVALID_VALUE),
    ] {
        answers!(func::cuFuncSetAttribute(nothing, attribute, wished), answer);
    }
    assert_eq!(value("nothing", 9), Ok(50));
    answers!(func::cuFuncSetCacheConfig(nothing, 3));
    answers!(func::cuFuncSetCacheConfig(nothing, 4), INVALID_VALUE);
}

#[test]
fn the_device_is_described() {
    fresh();
    let mut name = [0xAAu8; 32];
    answers!(device::cuDeviceGetName(name.as_mut_ptr().cast(), 5, 0));
    assert_eq!(&name[..6], b"soft\0\xAA");
    answers!(device::cuDeviceGetName(name.as_mut_ptr().cast(), 32, 0));
    let text = CStr::from_bytes_until_nul(&name).expect("an end");
    assert_eq!(text, c"soft-cuda sm_90");
    for room in [0, -1, i32::MIN] {
        answers!(
            device::cuDeviceGetName(name.as_mut_ptr().cast(), room, 0),
            INVALID_VALUE
        );
    }
    let mut id = [0u8; 13];
    answers!(device::cuDeviceGetPCIBusId(id.as_mut_ptr().cast(), 13, 0));
    let mut found = -1;
    answers!(device::cuDeviceGetByPCIBusId(
        &mut found,
        id.as_ptr().cast()
    ));
    assert_eq!(found, 0);
    for (id, answer) in [
        (c"0000:00:00.0", 101),
        (c"ffff:00:00.0", 0),
        (c"ffff:00:00", 0),
        (c"00:00", 101),
        (c"", INVALID_VALUE),
        (c"zz:00.0", INVALID_VALUE),
        (c"+0:00.0", INVALID_VALUE),
        (c"1:2:3:4", INVALID_VALUE),
    ] {
        answers!(
            device::cuDeviceGetByPCIBusId(&mut found, id.as_ptr()),
            answer
        );
    }
    let mut value = -1;
    answers!(device::cuDeviceGetAttribute(&mut value, 75, 0));
    assert_eq!(value, 9);
    answers!(
        device::cuDeviceGetAttribute(&mut value, 0, 0),
        INVALID_VALUE
    );
    answers!(device::cuDeviceGetAttribute(&mut value, 75, 1), 101);
    answers!(device::cuDeviceCanAccessPeer(&mut value, 0, 0));
    assert_eq!(value, 0);
}

#[test]
fn codes_have_names_and_words() {
    let mut text = null();
    for (code, name) in [
        (0, c"CUDA_SUCCESS"),
        (1, c"CUDA_ERROR_INVALID_VALUE"),
        (999, c"CUDA_ERROR_UNKNOWN"),
    ] {
        answers!(error::cuGetErrorName(code, &mut text));
        // SAFETY: the driver's string, which stays.
        assert_eq!(unsafe { CStr::from_ptr(text) }, name);
        answers!(error::cuGetErrorString(code, &mut text));
        assert!(!text.is_null());
    }
    for code in [-1i32 as u32, 9999, 5000] {
        answers!(error::cuGetErrorName(code, &mut text), INVALID_VALUE);
        assert!(text.is_null());
    }
    answers!(error::cuGetErrorName(1, null_mut()), INVALID_VALUE);
}
