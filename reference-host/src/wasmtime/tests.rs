use ::wasmtime::{Config, Engine, ExternType, Instance as WasmInstance, Module, Store, ValType};

use super::*;
use crate::abi::{RESERVED_IMPORT, ValueType};
use crate::host::Host;

const NO_DEVICE: i32 = -1;

fn linker(engine: &Engine) -> Linker<GuestState> {
    let mut linker = Linker::new(engine);
    add_to_linker(&mut linker, |state| state).unwrap();
    linker
}

fn guest_of(text: &str) -> (Store<GuestState>, WasmInstance) {
    // Every kind of memory, so that it is the host and not the engine that answers.
    let mut config = Config::new();
    config
        .wasm_memory64(true)
        .wasm_threads(true)
        .shared_memory(true);
    let engine = Engine::new(&config).unwrap();
    let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
    let mut store = Store::new(&engine, GuestState::new(Host::none().instance()));
    let instance = linker(&engine).instantiate(&mut store, &module).unwrap();
    (store, instance)
}

#[test]
fn both_bindings_define_the_table_and_nothing_else() {
    let engine = Engine::default();
    let mut traced = Linker::new(&engine);
    add_to_linker_traced(&mut traced, |state| state, |_| {}).unwrap();
    for linker in [linker(&engine), traced] {
        let mut store = Store::new(&engine, GuestState::new(Host::none().instance()));
        let mut defined = 0;
        for import in Import::ALL {
            let ty = linker
                .get(&mut store, MODULE, import.name())
                .unwrap()
                .ty(&store);
            let ExternType::Func(ty) = ty else {
                panic!("{} is no function", import.name())
            };
            let same = |wasm: ValType, abi: ValueType| match abi {
                ValueType::I32 => wasm.is_i32(),
                ValueType::I64 => wasm.is_i64(),
            };
            assert_eq!(ty.params().len(), import.params().len());
            assert!(
                ty.params()
                    .zip(import.params())
                    .all(|(wasm, (_, abi))| same(wasm, *abi)),
                "{}",
                import.name()
            );
            assert!(
                ty.results().len() == 1 && same(ty.result(0).unwrap(), import.result()),
                "{}",
                import.name()
            );
            defined += 1;
        }
        assert_eq!(linker.iter(&mut store).count(), defined);
        assert!(linker.get(&mut store, MODULE, RESERVED_IMPORT).is_err());
    }
}

#[test]
fn a_memory_that_grows_between_calls_is_seen_at_its_new_size() {
    let (mut store, guest) = guest_of(
        r#"(module
            (import "wasi:cuda/host@0.2.0" "wasi_cuda_memcpy_h2d" (func $copy (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "copy") (param i32 i32) (result i32)
                (call $copy (i32.const 0) (i32.const 0) (local.get 0) (local.get 1)))
            (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))"#,
    );
    let copy = guest
        .get_typed_func::<(i32, i32), i32>(&mut store, "copy")
        .unwrap();
    let grow = guest
        .get_typed_func::<i32, i32>(&mut store, "grow")
        .unwrap();
    assert_eq!(copy.call(&mut store, (65536, 4)).unwrap(), -2);
    assert_eq!(grow.call(&mut store, 1).unwrap(), 1);
    assert_eq!(copy.call(&mut store, (65536, 4)).unwrap(), NO_DEVICE);
    assert_eq!(grow.call(&mut store, 100).unwrap(), 2);
    assert_eq!(
        copy.call(&mut store, (102 * 65536 - 4, 4)).unwrap(),
        NO_DEVICE
    );
    assert_eq!(copy.call(&mut store, (102 * 65536 - 4, 5)).unwrap(), -2);
}

#[test]
fn memories_of_every_kind_are_answered_without_a_trap() {
    let table = [
        (r#"(memory (export "memory") 1)"#, NO_DEVICE),
        (r#"(memory (export "memory") i64 1)"#, NO_DEVICE),
        (r#"(memory (export "memory") 1 1 shared)"#, -2),
        (r#"(memory (export "other") 1)"#, -2),
        (r#"(memory (export "memory") 0)"#, -2),
        (r#"(func (export "memory"))"#, -2),
        ("", -2),
    ];
    for (export, expected) in table {
        let (mut store, guest) = guest_of(&format!(
            r#"(module
                (import "wasi:cuda/host@0.2.0" "wasi_cuda_memcpy_d2h" (func $copy (param i32 i32 i32 i32) (result i32)))
                {export}
                (func (export "copy") (result i32)
                    (call $copy (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 4))))"#
        ));
        let copy = guest.get_typed_func::<(), i32>(&mut store, "copy").unwrap();
        // Twice: the second call takes the remembered handle.
        assert_eq!(copy.call(&mut store, ()).unwrap(), expected, "{export}");
        assert_eq!(copy.call(&mut store, ()).unwrap(), expected, "{export}");
    }
}

#[test]
fn instances_that_share_a_state_keep_their_own_memories_once_they_load() {
    let engine = Engine::default();
    let guest = |byte: u8, pages: u32| {
        let text = format!(
            r#"(module
                (import "wasi:cuda/host@0.2.0" "wasi_cuda_load_ptx" (func $load (param i32 i32 i32 i32) (result i64)))
                (import "wasi:cuda/host@0.2.0" "wasi_cuda_last_error_copy" (func $copy (param i32 i32) (result i32)))
                (memory (export "memory") {pages})
                (data (i32.const 0) "\{byte:02x}")
                (func (export "load") (result i64)
                    (call $load (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1)))
                (func (export "copy") (result i32) (call $copy (i32.const 100) (i32.const 65436))))"#
        );
        Module::new(&engine, wat::parse_str(text).unwrap()).unwrap()
    };
    let mut store = Store::new(&engine, GuestState::new(Host::soft().instance()));
    let linker = linker(&engine);
    // An entry name that is not UTF-8 is refused by its own code, so the code tells whose memory was read.
    let first = linker.instantiate(&mut store, &guest(b'a', 1)).unwrap();
    let second = linker.instantiate(&mut store, &guest(0xff, 2)).unwrap();
    let load = |store: &mut Store<GuestState>, guest: &WasmInstance| {
        guest
            .get_typed_func::<(), i64>(&mut *store, "load")
            .unwrap()
            .call(store, ())
            .unwrap()
    };
    for _ in 0..2 {
        assert_eq!(load(&mut store, &first), -4);
        assert_eq!(load(&mut store, &second), -9);
        for (writer, other) in [(&first, &second), (&second, &first)] {
            let memories =
                [writer, other].map(|guest| guest.get_memory(&mut store, "memory").unwrap());
            for memory in memories {
                memory.data_mut(&mut store)[100..200].fill(0);
            }
            let copy = writer
                .get_typed_func::<(), i32>(&mut store, "copy")
                .unwrap();
            assert!(copy.call(&mut store, ()).unwrap() > 0);
            let written = memories.map(|memory| memory.data(&store)[100] != 0);
            assert_eq!(written, [true, false]);
        }
    }
}

#[test]
fn a_call_from_the_start_function_works() {
    let (store, _) = guest_of(
        r#"(module
            (import "wasi:cuda/host@0.2.0" "wasi_cuda_memcpy_d2h" (func $copy (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func $start
                (drop (call $copy (i32.const 65536) (i32.const 0) (i32.const 0) (i32.const 1))))
            (start $start))"#,
    );
    let text = store.data().instance.last_error_text();
    assert!(!text.is_empty());
}

#[test]
fn a_witness_sees_arguments_and_result() {
    use std::sync::{Arc, Mutex};
    let lines = Arc::new(Mutex::new(Vec::new()));
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    let sink = Arc::clone(&lines);
    let witness = move |call: &TracedCall<'_>| {
        let call = TracedCall {
            elapsed: std::time::Duration::from_nanos(1500),
            ..*call
        };
        sink.lock().unwrap().push(call.to_string());
    };
    add_to_linker_traced(&mut linker, |state| state, witness).unwrap();
    let text = r#"(module
        (import "wasi:cuda/host@0.2.0" "wasi_cuda_alloc" (func $alloc (param i32 i32) (result i64)))
        (import "wasi:cuda/host@0.2.0" "wasi_cuda_last_error_copy" (func $copy (param i32 i32) (result i32)))
        (func $start
            (drop (call $alloc (i32.const 0) (i32.const 0)))
            (drop (call $copy (i32.const -4) (i32.const 8))))
        (start $start))"#;
    let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
    let mut store = Store::new(&engine, GuestState::new(Host::none().instance()));
    linker.instantiate(&mut store, &module).unwrap();
    assert_eq!(
        *lines.lock().unwrap(),
        [
            "wasi_cuda_alloc(size_lo=0, size_hi=0) = -9 (invalid-args) 1.5 µs",
            "wasi_cuda_last_error_copy(dst_ptr=4294967292, dst_len=8) = -2 (invalid-pointer) 1.5 µs",
        ]
    );
}
