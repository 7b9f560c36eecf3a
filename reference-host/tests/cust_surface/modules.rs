use std::io::Write;

use cust::context::{CacheConfig, SharedMemoryConfig};
use cust::error::CudaError;
use cust::function::{BlockSize, FunctionAttribute, GridSize};
use cust::launch;
use cust::link::Linker;
use cust::memory::CopyDestination;
use cust::module::{JitFallback, JitTarget, Module, ModuleJitOption, OptLevel};

use crate::{PTX, enter, module};

#[test]
fn every_way_to_load() {
    let _context = enter();
    let text = std::ffi::CString::new(PTX).expect("no zero");
    let options = [
        ModuleJitOption::MaxRegisters(32),
        ModuleJitOption::OptLevel(OptLevel::O2),
        ModuleJitOption::Target(JitTarget::Compute86),
        ModuleJitOption::Fallback(JitFallback::PreferPtx),
        ModuleJitOption::GenenerateDebugInfo(false),
        ModuleJitOption::GenerateLineInfo(true),
    ];
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(PTX.as_bytes()).expect("a write");
    let from_file = Module::from_file(file.path()).expect("a module");
    #[allow(deprecated, reason = "they are public functions all the same")]
    let old = [
        Module::from_str(PTX).expect("a module"),
        Module::load_from_string(&text).expect("a module"),
    ];
    let new = [
        Module::from_ptx(PTX, &options).expect("a module"),
        Module::from_ptx_cstr(&text, &[]).expect("a module"),
        from_file,
    ];
    for module in old.into_iter().chain(new) {
        assert!(module.get_function("add").is_ok());
        assert_eq!(
            module.get_function("absent").err(),
            Some(CudaError::NotFound)
        );
        assert!(Module::drop(module).is_ok());
    }
    assert_eq!(
        Module::from_ptx("no PTX", &[]).err(),
        Some(CudaError::InvalidPtx)
    );
    assert_eq!(
        Module::from_file("/absent/file.ptx").err(),
        Some(CudaError::FileNotFound)
    );
    for image in [&b"\x7FELF and no more"[..], b"no image"] {
        assert!(Module::from_cubin(image, &[]).is_err());
        assert!(Module::from_fatbin(image, &[]).is_err());
    }
}

#[test]
fn variables() {
    let _context = enter();
    let module = module();
    let mut counter = module.get_global::<u32>(c"counter").expect("a variable");
    let mut value = 0;
    counter.copy_to(&mut value).expect("a copy");
    assert_eq!(value, 3);
    counter.copy_from(&40).expect("a copy");
    counter.copy_to(&mut value).expect("a copy");
    assert_eq!(value, 40);
    let factor = module.get_global::<f64>(c"factor").expect("a variable");
    let mut number = 0.0;
    factor.copy_to(&mut number).expect("a copy");
    assert_eq!(number, 2.0);
    assert_eq!(
        module.get_global::<u32>(c"absent").err(),
        Some(CudaError::NotFound)
    );
}

#[test]
fn functions() {
    let _context = enter();
    let module = module();
    let mut room = module.get_function("room").expect("a function");
    assert!(!room.to_raw().is_null());
    let attribute = |attribute| room.get_attribute(attribute);
    assert_eq!(attribute(FunctionAttribute::MaxThreadsPerBlock), Ok(128));
    assert_eq!(
        attribute(FunctionAttribute::SharedMemorySizeBytes),
        Ok(1024)
    );
    assert_eq!(attribute(FunctionAttribute::PtxVersion), Ok(70));
    assert_eq!(attribute(FunctionAttribute::BinaryVersion), Ok(90));
    assert_eq!(attribute(FunctionAttribute::LocalSizeBytes), Ok(0));
    assert!(attribute(FunctionAttribute::ConstSizeBytes).is_ok());
    assert!(attribute(FunctionAttribute::NumRegisters).is_ok_and(|count| count > 0));
    assert!(attribute(FunctionAttribute::CacheModeCa).is_ok());
    // Two blocks share what a multiprocessor has; each is charged a reserve and its own.
    let shared = room
        .available_dynamic_shared_memory_per_block(GridSize::x(1), BlockSize::x(128))
        .expect("a size");
    assert!((1..=227 << 10).contains(&shared), "{shared}");
    let blocks = room
        .max_active_blocks_per_multiprocessor(BlockSize::x(128), 0)
        .expect("a number");
    assert_eq!(blocks, 16, "2048 threads of 128");
    let few = room
        .max_active_blocks_per_multiprocessor(BlockSize::x(128), 40 << 10)
        .expect("a number");
    assert_eq!(few, 5, "228 KiB of 42");
    let (grid, block) = room
        .suggested_launch_configuration(0, BlockSize::x(0))
        .expect("a shape");
    assert!((32..=128).contains(&block) && grid >= 132, "{grid} {block}");
    assert_eq!(room.set_cache_config(CacheConfig::PreferL1), Ok(()));
    assert_eq!(
        room.set_shared_memory_config(SharedMemoryConfig::FourByteBankSize),
        Ok(())
    );
}

#[test]
fn a_linked_image_is_loaded_like_any() {
    let _context = enter();
    let mut linker = Linker::new().expect("a linker");
    linker
        .add_ptx(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r; ld.param.b32 %r, [x]; add.u32 %r, %r, %r; st.param.b32 [r], %r; ret; }\n",
        )
        .expect("a part");
    linker
        .add_ptx(
            ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func (.param .b32 r) twice(.param .b32 x);\n.visible .entry k(.param .u64 to) { .reg .b32 %r; .reg .b64 %d; { .param .b32 x; .param .b32 r; st.param.b32 [x], 21; call (r), twice, (x); ld.param.b32 %r, [r]; } ld.param.u64 %d, [to]; st.global.u32 [%d], %r; ret; }\n",
        )
        .expect("a part");
    let image = linker.complete().expect("an image");
    let module = Module::from_cubin(&image, &[]).expect("a module");
    let function = module.get_function("k").expect("a function");
    let answer = cust::memory::DeviceBox::new(&0u32).expect("a box");
    let stream = crate::streams::stream();
    let address = answer.as_device_ptr();
    // SAFETY: the kernel has one parameter, an address of a word.
    unsafe { launch!(function<<<1, 1, 0, stream>>>(address)) }.expect("a launch");
    stream.synchronize().expect("the end");
    assert_eq!(answer.as_host_value(), Ok(42));
    let mut linker = Linker::new().expect("a linker");
    assert_eq!(linker.add_ptx("no PTX"), Err(CudaError::InvalidPtx));
    assert!(linker.add_cubin(b"no image").is_err());
    assert!(linker.add_fatbin(b"no image").is_err());
}
