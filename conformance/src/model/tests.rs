//! Rules of the ABI page's sections 3 to 7, and what they do to the state.

use super::operation::layout;
use super::*;

const GRID: [i32; 3] = [1, 1, 1];

/// A model with one instance of one page, in which the known texts lie where operations expect them.
fn model(profile: Profile) -> Model {
    let mut model = Model::new(profile, Options::default());
    start(&mut model);
    model
}

fn start(model: &mut Model) -> usize {
    let instance = model.instantiate(MemoryKind::Ordinary, 1);
    for (at, bytes) in &layout().segments {
        model.poke(instance, u64::from(*at), bytes);
    }
    instance
}

fn load(name: &str) -> Call {
    let index = known().iter().position(|module| module.entry == name);
    let [(ptx_ptr, ptx_len), (entry_ptr, entry_len)] =
        layout().known[index.expect(name)].map(|(at, len)| (at.cast_signed(), len.cast_signed()));
    Call::LoadPtx {
        ptx_ptr,
        ptx_len,
        entry_ptr,
        entry_len,
    }
}

fn launch(kernel_id: i64, args_len: usize) -> Call {
    Call::Launch {
        kernel_id,
        grid: GRID,
        block: GRID,
        shared_mem: 0,
        args_ptr: 1024,
        args_len: i32::try_from(args_len).expect("a short buffer"),
    }
}

fn window(at: u32, len: u32) -> Vec<u8> {
    [&[7][..], &at.to_le_bytes(), &len.to_le_bytes()].concat()
}

#[track_caller]
fn says(model: &Model, call: Call, expected: &str) {
    assert_eq!(
        model.allowed(0, &call).words().join(" "),
        expected,
        "{call}"
    );
}

#[track_caller]
fn done(model: &mut Model, call: Call, result: i64) {
    model
        .apply(0, &call, result)
        .unwrap_or_else(|deviation| panic!("{deviation}"));
}

#[track_caller]
fn deviates(model: &mut Model, call: Call, result: i64, rule: &str) {
    let deviation = model
        .apply(0, &call, result)
        .expect_err("this answer is wrong");
    assert!(
        deviation.rules.iter().any(|cited| cited.id == rule),
        "{deviation}"
    );
}

#[test]
fn alloc_counts_sizes_and_caps() {
    let mut model = model(Profile::Device);
    says(&model, Call::alloc(0), "invalid-args");
    says(&model, Call::alloc(1), "id");
    says(&model, Call::alloc(256 << 20), "id");
    says(&model, Call::alloc((256 << 20) + 1), "quota-exceeded");
    says(&model, Call::alloc(1 << 32), "quota-exceeded");
    deviates(
        &mut model,
        Call::alloc((256 << 20) + 1),
        5,
        "alloc.size-cap",
    );
    deviates(&mut model, Call::alloc(1 << 32), -9, "alloc.size-is-64-bit");
    for handle in 1..=4096 {
        done(&mut model, Call::alloc(1), handle);
    }
    says(&model, Call::alloc(1), "quota-exceeded");
    says(&model, Call::alloc(0), "quota-exceeded invalid-args");
    done(&mut model, Call::alloc(1), -6);
    done(&mut model, Call::free(7), 0);
    says(&model, Call::alloc(1), "id");
    deviates(&mut model, Call::alloc(1), 8, "alloc.handle-unique");
    deviates(&mut model, Call::alloc(1), 7, "alloc.handle-not-reused");
    done(&mut model, Call::alloc(1), 4097);
    says(&model, Call::alloc(1), "quota-exceeded");
}

#[test]
fn alloc_counts_bytes_and_the_end_gives_them_back() {
    let mut model = model(Profile::Device);
    for handle in 0..16 {
        done(&mut model, Call::alloc(256 << 20), handle);
    }
    says(&model, Call::alloc(1), "quota-exceeded");
    let other = start(&mut model);
    assert!(model.allowed(other, &Call::alloc(256 << 20)).accepts(1));
    for instance in 1..4 {
        model.instantiate_as(instance, MemoryKind::Ordinary, 1);
        for handle in 0..16 {
            let result = model.apply(instance, &Call::alloc(256 << 20), handle);
            result.expect("within four times the cap");
        }
    }
    let fifth = start(&mut model);
    let allowed = model.allowed(fifth, &Call::alloc(1));
    assert_eq!(allowed.to_string(), "quota-exceeded (-6)");
    assert_eq!(
        allowed.rules.to_string(),
        "instance.process-budget (should)"
    );
    model.end(0);
    assert!(model.allowed(fifth, &Call::alloc(256 << 20)).accepts(1));
}

#[test]
fn handles_are_the_instance_s_own() {
    let mut model = model(Profile::Device);
    done(&mut model, Call::alloc(64), 5);
    let other = start(&mut model);
    for call in [
        Call::free(5),
        Call::memcpy_h2d(5, 0, 4),
        Call::memcpy_d2h(0, 5, 4),
    ] {
        let allowed = model.allowed(other, &call);
        assert_eq!(allowed.to_string(), "invalid-handle (-11)");
        assert!(
            allowed.rules.to_string().ends_with("foreign"),
            "{}",
            allowed.rules
        );
    }
    says(&model, Call::free(5 | 1 << 32), "invalid-handle");
    done(&mut model, Call::free(5), 0);
    says(&model, Call::free(5), "invalid-handle");
    says(&model, Call::memcpy_h2d(5, 0, 4), "invalid-handle");
    says(&model, Call::memcpy_h2d(5, 0, 0), "invalid-handle ok");
}

#[test]
fn copies_move_known_bytes() {
    let mut model = model(Profile::Device);
    done(&mut model, Call::alloc(16), 5);
    model.poke(0, 40_000, b"0123456789abcdef");
    done(&mut model, Call::memcpy_h2d(5, 40_000, 4), 0);
    done(&mut model, Call::memcpy_d2h(40_002, 5, 6), 0);
    // Four bytes that were copied, two that were zero from the start, and what was there.
    let bytes: Vec<u8> = (40_000..40_010)
        .filter_map(|at| model.byte(0, at))
        .collect();
    assert_eq!(bytes, b"010123\0\089");
    says(&model, Call::memcpy_h2d(5, 0, 17), "invalid-args");
    says(&model, Call::memcpy_h2d(5, 65_530, 16), "invalid-pointer");
    says(
        &model,
        Call::memcpy_h2d(5, 65_530, 17),
        "invalid-pointer invalid-args",
    );
    says(
        &model,
        Call::memcpy_d2h(0, 5, -1),
        "invalid-pointer invalid-args",
    );
    says(&model, Call::memcpy_d2h(65_536, 5, 0), "ok");
    says(&model, Call::memcpy_d2h(65_537, 5, 0), "invalid-pointer ok");
}

#[test]
fn loads_read_texts_and_names() {
    let mut model = model(Profile::Device);
    let good = load("store");
    says(&model, good, "id");
    let Call::LoadPtx {
        ptx_ptr,
        ptx_len,
        entry_ptr,
        entry_len,
    } = good
    else {
        unreachable!("a load")
    };
    let call = |ptx_ptr, ptx_len, entry_ptr, entry_len| Call::LoadPtx {
        ptx_ptr,
        ptx_len,
        entry_ptr,
        entry_len,
    };
    let empty = call(65_536, 0, entry_ptr, entry_len);
    says(&model, empty, "malformed-ptx");
    says(
        &model,
        call(65_537, 0, entry_ptr, entry_len),
        "invalid-pointer",
    );
    says(
        &model,
        call(0, (8 << 20) + 1, entry_ptr, entry_len),
        "invalid-pointer quota-exceeded",
    );
    says(
        &model,
        call(0, 8 << 20, entry_ptr, entry_len),
        "invalid-pointer",
    );
    says(
        &model,
        call(ptx_ptr, ptx_len, entry_ptr, 257),
        "quota-exceeded",
    );
    says(&model, call(ptx_ptr, ptx_len, 65_536, 1), "invalid-pointer");
    let (at, len) = layout().not_text;
    says(
        &model,
        call(ptx_ptr, ptx_len, at.cast_signed(), len.cast_signed()),
        "invalid-args",
    );
    // A missing entry may be noticed now or at the launch.
    let missing = call(ptx_ptr, ptx_len, entry_ptr, 0);
    assert!(model.allowed(0, &missing).accepts(1) && model.allowed(0, &missing).accepts(-9));
    done(&mut model, missing, 3);
    assert!(!model.allowed(0, &launch(3, 0)).accepts(0));
    for (at, len) in &layout().rejected {
        says(
            &model,
            call(at.cast_signed(), len.cast_signed(), entry_ptr, entry_len),
            "malformed-ptx",
        );
    }
    // Zero bytes; and a text nobody knows may be anything but an id that is negative.
    says(
        &model,
        call(40_000, 100, entry_ptr, entry_len),
        "malformed-ptx",
    );
    model.poke(0, 40_000, b"hello");
    says(
        &model,
        call(40_000, 5, entry_ptr, entry_len),
        "malformed-ptx",
    );
    model.poke(0, 40_000, b".version .target");
    let unknown = model.allowed(0, &call(40_000, 16, entry_ptr, entry_len));
    assert!(unknown.accepts(-4) && unknown.accepts(9) && !unknown.accepts(-6));
    // Blanks behind the end change nothing.
    model.poke(0, 40_000, format!("{}  \n", known()[0].text).as_bytes());
    let padded = i32::try_from(known()[0].text.len() + 3).expect("short");
    let (at, len) = layout().known[0][1];
    says(
        &model,
        call(40_000, padded, at.cast_signed(), len.cast_signed()),
        "id",
    );
    done(&mut model, good, 1);
    deviates(&mut model, good, 1, "load.id-unique");
    deviates(&mut model, good, -4, "load.well-formed");
}

#[test]
fn loads_are_capped() {
    let mut model = model(Profile::Device);
    for id in 0..256 {
        done(&mut model, load("nothing"), id);
    }
    says(&model, load("nothing"), "quota-exceeded");
    deviates(&mut model, load("nothing"), 256, "load.kernel-cap");
}

#[test]
fn dimensions_have_their_bounds() {
    let mut model = model(Profile::Device);
    done(&mut model, load("nothing"), 1);
    let shaped = |grid, block, shared_mem| Call::Launch {
        kernel_id: 1,
        grid,
        block,
        shared_mem,
        args_ptr: 0,
        args_len: 0,
    };
    says(&model, shaped(GRID, GRID, 0), "ok");
    for axis in 0..3 {
        for value in [0, -1, i32::MIN] {
            let mut bad = GRID;
            bad[axis] = value;
            says(&model, shaped(bad, GRID, 0), "invalid-dimensions");
            says(&model, shaped(GRID, bad, 0), "invalid-dimensions");
        }
        let mut long = GRID;
        long[axis] = 1025;
        assert!(!model.allowed(0, &shaped(GRID, long, 0)).accepts(0));
    }
    says(&model, shaped(GRID, [1024, 1, 1], 0), "ok");
    says(&model, shaped(GRID, [32, 32, 1], 0), "ok");
    says(&model, shaped(GRID, [32, 33, 1], 0), "invalid-dimensions");
    for (grid, block) in [
        ([1, 65536, 1], GRID),
        ([1, 1, 65536], GRID),
        (GRID, [1, 1, 65]),
    ] {
        says(
            &model,
            shaped(grid, block, 0),
            "launch-failed invalid-dimensions",
        );
    }
    says(
        &model,
        shaped([i32::MAX, 1, 1], GRID, 0),
        "launch-failed ok",
    );
    says(&model, shaped(GRID, GRID, 233_472), "launch-failed ok");
    says(&model, shaped(GRID, GRID, 233_473), "invalid-dimensions");
    says(&model, shaped(GRID, GRID, -1), "invalid-dimensions");
}

#[test]
fn arguments_must_fit_the_kernel() {
    let mut model = model(Profile::Device);
    done(&mut model, load("store"), 1);
    let good = [&window(40_000, 4)[..], &[5, 0xEF, 0xBE, 0xAD, 0xDE]].concat();
    model.poke(0, 1024, &good);
    says(&model, launch(1, 14), "ok");
    says(&model, launch(2, 14), "invalid-kernel");
    says(&model, launch(1, 9), "invalid-args");
    says(&model, launch(1, 13), "invalid-args");
    says(&model, launch(1, 0), "invalid-args");
    deviates(&mut model, launch(1, 9), 0, "launch.params.missing");
    model.poke(0, 1024 + 9, &[6]);
    deviates(&mut model, launch(1, 18), 0, "launch.params.wider");
    model.poke(0, 1024, &window(65_533, 4));
    says(&model, launch(1, 9), "invalid-pointer invalid-args");
    says(&model, launch(1, 4097), "kernel-args-unsupported");
    says(&model, launch(1, 65_536), "invalid-pointer");
    model.poke(0, 1024, &[1, 0, 0, 0, 0].repeat(129));
    says(&model, launch(1, 640), "invalid-args");
    says(&model, launch(1, 641), "kernel-args-unsupported");
}

#[test]
fn kernels_do_what_they_do() {
    let mut model = model(Profile::Device);
    done(&mut model, load("copy"), 1);
    model.poke(0, 40_000, b"abcdefgh");
    // The windows overlap: each byte is copied before the next is read.
    let args = [&window(40_000, 8)[..], &window(40_002, 8), &[5, 6, 0, 0, 0]].concat();
    model.poke(0, 1024, &args);
    done(&mut model, launch(1, args.len()), 0);
    assert_eq!(model.byte(0, 40_002), None, "in flight");
    done(&mut model, Call::Sync, 0);
    let bytes: Vec<u8> = (40_000..40_009)
        .filter_map(|at| model.byte(0, at))
        .collect();
    assert_eq!(bytes, b"abababab\0");

    done(&mut model, load("tick"), 2);
    model.poke(0, 1024, &window(40_000, 4));
    for count in 1..=3 {
        done(&mut model, launch(2, 9), 0);
        done(&mut model, Call::Sync, 0);
        assert_eq!(model.byte(0, 40_000), Some(count));
    }
    // Something writes into a window before the sync: what the kernel stored is anyone's guess.
    done(&mut model, launch(2, 9), 0);
    model.poke(0, 40_003, &[9]);
    done(&mut model, Call::Sync, 0);
    assert_eq!(model.byte(0, 40_000), None);
    assert_eq!(model.unknown(0), Some((40_000, 4)));
}

#[test]
fn faults_are_told_once() {
    let mut model = model(Profile::Device);
    done(&mut model, load("trap"), 1);
    done(&mut model, launch(1, 0), -5);
    says(&model, Call::Sync, "ok");
    done(&mut model, Call::Sync, 0);
    done(&mut model, launch(1, 0), 0);
    says(&model, Call::Sync, "launch-failed");
    deviates(&mut model, Call::Sync, 0, "launch.fault.reported");
    done(&mut model, Call::Sync, -5);
    says(&model, Call::Sync, "ok");
}

#[test]
fn an_earlier_fault_is_told_at_a_launch_or_the_next_sync_only() {
    let mut model = model(Profile::Device);
    done(&mut model, load("trap"), 1);
    done(&mut model, load("nothing"), 2);
    done(&mut model, Call::alloc(64), 7);
    done(&mut model, launch(1, 0), 0);
    says(&model, Call::alloc(64), "id");
    says(&model, Call::free(7), "ok");
    says(&model, Call::memcpy_h2d(7, 0, 4), "ok");
    says(&model, Call::memcpy_d2h(40_000, 7, 0), "ok");
    says(&model, load("nothing"), "id");
    says(&model, launch(2, 0), "launch-failed ok");
    // It runs all the same: the fault is still to be told.
    done(&mut model, launch(2, 0), 0);
    says(&model, Call::Sync, "launch-failed");
    // It fails with it: told once.
    done(&mut model, launch(2, 0), -5);
    says(&model, Call::Sync, "ok");
    says(&model, launch(2, 0), "ok");
    // One that faults itself behind one that did: whose fault was told is open.
    done(&mut model, launch(1, 0), 0);
    done(&mut model, launch(1, 0), -5);
    says(&model, Call::Sync, "launch-failed ok");
}

#[test]
fn a_message_stays_and_is_text() {
    let mut model = model(Profile::Device);
    let copy = |dst_ptr, dst_len| Call::LastErrorCopy { dst_ptr, dst_len };
    says(&model, Call::LastErrorLen, "0");
    says(&model, copy(0, 8), "0");
    says(&model, copy(-1, 8), "invalid-pointer 0");
    // Whether a refused copy is recorded is open, however many there are.
    for _ in 0..2 {
        done(&mut model, copy(-1, 8), -2);
        assert!(model.allowed(0, &Call::LastErrorLen).accepts(0));
        assert!(model.allowed(0, &Call::LastErrorLen).accepts(9));
    }
    done(&mut model, Call::alloc(0), -9);
    deviates(&mut model, Call::LastErrorLen, 0, "last-error.recorded");
    deviates(&mut model, Call::LastErrorLen, 516, "last-error.length-cap");
    let deviation = model.apply(0, &copy(0, 8), 0).unwrap_err();
    let rules: Vec<_> = deviation.rules.iter().map(|rule| rule.id).collect();
    assert_eq!(rules, ["last-error.recorded"]);
    done(&mut model, Call::LastErrorLen, 10);
    says(&model, Call::LastErrorLen, "10");
    deviates(&mut model, Call::LastErrorLen, 11, "last-error.stays");
    says(&model, copy(40_000, 4), "4");
    says(&model, copy(40_000, 11), "10");
    says(&model, copy(40_000, -1), "invalid-pointer 10");
    says(&model, copy(65_530, 10), "invalid-pointer");
    deviates(&mut model, copy(40_000, 4), 5, "last-error.truncate");
    done(&mut model, copy(40_000, 4), 4);
    assert_eq!(model.unread_message(0), Some((40_000, 4)));
    model.learn(0, 40_000, b"bad ").expect("text");
    done(&mut model, copy(40_100, 20), 10);
    let deviation = model.learn(0, 40_100, b"bed things").expect_err("changed");
    assert!(deviation.to_string().contains("last-error.stays"));
    // A cut may split a character; a whole message may not.
    done(&mut model, Call::alloc(0), -9);
    done(&mut model, copy(40_000, 4), 4);
    model
        .learn(0, 40_000, "abc…".as_bytes().get(..4).expect("four bytes"))
        .expect("cut");
    done(&mut model, Call::alloc(0), -9);
    done(&mut model, copy(40_000, 9), 4);
    let deviation = model.learn(0, 40_000, b"abc\xE2").expect_err("not text");
    assert!(deviation.to_string().contains("last-error.utf8"));
}

#[test]
fn without_a_device_good_calls_are_not_available() {
    let mut model = model(Profile::NoDevice);
    says(&model, Call::alloc(64), "not-available");
    says(&model, Call::alloc(0), "invalid-args");
    says(&model, Call::Sync, "ok");
    says(&model, load("store"), "not-available id");
    says(&model, Call::free(1), "not-available invalid-handle");
    says(
        &model,
        Call::memcpy_h2d(1, 0, 4),
        "not-available invalid-handle",
    );
    says(
        &model,
        Call::memcpy_h2d(1, 0, 0),
        "not-available invalid-handle ok",
    );
    says(&model, launch(1, 0), "not-available invalid-kernel");
    done(&mut model, load("nothing"), 4);
    says(&model, launch(4, 0), "not-available");
    says(&model, launch(1, 0), "invalid-kernel");
    // Hole 10: a host that cannot assemble does not know how many parameters there are.
    model.poke(0, 1024, &[1, 0, 0, 0, 0]);
    says(&model, launch(4, 5), "not-available invalid-args");
    model.poke(0, 1024, &[0]);
    says(&model, launch(4, 5), "invalid-args");
    model.poke(0, 1024, &[1]);
    // Of a text that nobody knows, the parameters are not known either.
    model.poke(0, 40_000, b".version .target");
    let unknown = Call::LoadPtx {
        ptx_ptr: 40_000,
        ptx_len: 16,
        entry_ptr: 40_000,
        entry_len: 1,
    };
    done(&mut model, unknown, 6);
    let allowed = model.allowed(0, &launch(6, 0));
    assert!(allowed.accepts(-1) && allowed.accepts(-9) && !allowed.accepts(0));
    for _ in 0..4096 {
        done(&mut model, Call::alloc(1), -1);
    }
    says(&model, Call::alloc(1), "not-available quota-exceeded");
}

#[test]
fn without_the_capability_nothing_is_available() {
    let mut model = model(Profile::Disabled);
    let calls = [
        Call::Sync,
        Call::LastErrorLen,
        Call::alloc(0),
        Call::free(1),
        launch(1, 1),
    ];
    for call in calls {
        says(&model, call, "not-available");
        deviates(&mut model, call, 0, "profile.disabled");
    }
}

#[test]
fn memories_of_other_kinds() {
    let mut model = Model::new(Profile::Device, Options::default());
    let absent = model.instantiate(MemoryKind::Absent, 1);
    let shared = model.instantiate(MemoryKind::Shared, 1);
    model.apply(absent, &Call::alloc(4), 1).expect("a buffer");
    model.apply(shared, &Call::alloc(4), 2).expect("a buffer");
    let words = |instance, call| model.allowed(instance, &call).words().join(" ");
    assert_eq!(words(absent, Call::memcpy_h2d(1, 0, 4)), "invalid-pointer");
    assert_eq!(words(absent, Call::LastErrorLen), "0");
    assert_eq!(words(absent, launch(9, 0)), "invalid-kernel");
    assert_eq!(
        words(shared, Call::memcpy_h2d(2, 0, 4)),
        "invalid-pointer ok"
    );
    assert_eq!(
        words(shared, Call::memcpy_h2d(2, 65_533, 4)),
        "invalid-pointer"
    );
}

#[test]
fn recommendations_are_optional() {
    let options = Options {
        strict: false,
        ..Options::default()
    };
    let mut model = Model::new(Profile::Device, options);
    start(&mut model);
    says(&model, Call::alloc(0), "invalid-args");
    done(&mut model, load("nothing"), 1);
    let call = Call::Launch {
        kernel_id: 1,
        grid: GRID,
        block: GRID,
        shared_mem: 1 << 20,
        args_ptr: 0,
        args_len: 0,
    };
    assert!(model.allowed(0, &call).accepts(0));
    assert!(model.allowed(0, &call).accepts(-8));
    done(&mut model, Call::alloc(0), -9);
    assert!(model.allowed(0, &Call::LastErrorLen).accepts(0));
    // Whether variables keep their values is not judged: what a kernel counted is unknown.
    done(&mut model, load("tick"), 2);
    let args = window(40_000, 4);
    model.poke(0, 1024, &args);
    done(&mut model, launch(2, args.len()), 0);
    done(&mut model, Call::Sync, 0);
    assert_eq!(model.byte(0, 40_000), None);
}

#[test]
fn what_a_kernel_counted_is_a_recommendation() {
    let mut model = model(Profile::Device);
    done(&mut model, load("tick"), 2);
    let args = window(40_000, 4);
    model.poke(0, 1024, &args);
    done(&mut model, launch(2, args.len()), 0);
    done(&mut model, Call::Sync, 0);
    assert_eq!(model.byte(0, 40_000), Some(1));
    let rules = |at| {
        let rules = model.memory_rules(0, at, Some(&Call::Sync));
        rules.iter().map(|rule| rule.id).collect::<Vec<_>>()
    };
    assert_eq!(rules(40_000), ["launch.module-variables"]);
    assert_eq!(rules(40_004), ["sync.effects"]);
    // Another kernel's fault may have cost it its variables.
    done(&mut model, load("trap"), 3);
    done(&mut model, launch(3, 0), -5);
    done(&mut model, launch(2, args.len()), 0);
    done(&mut model, Call::Sync, 0);
    assert_eq!(model.byte(0, 40_000), None);
}
