use super::*;
use crate::abi;
use crate::registry::Usage;

#[test]
fn another_instance_s_kernels_and_buffers_are_unknown() {
    let host = Host::new(Fake::default());
    let (mut a, mut b) = (Guest::of(&host), Guest::of(&host));
    let (kernel_id, handle) = (a.load(0, 4, 0, 1), a.alloc(4));
    let args = one_thread(kernel_id);
    assert_eq!(
        (
            b.launch(args),
            b.h2d(handle, 0, 4),
            b.d2h(0, handle, 4),
            b.free(handle)
        ),
        (-3, -11, -11, -11)
    );
    assert_eq!(
        (
            a.launch(args),
            a.h2d(handle, 0, 4),
            a.d2h(0, handle, 4),
            a.free(handle)
        ),
        (0, 0, 0, 0)
    );
}

#[test]
fn an_instance_that_ends_gives_everything_back() {
    let host = Host::new(Fake::default());
    for _ in 0..3 {
        let mut guests: Vec<_> = (0..4).map(|_| Guest::of(&host)).collect();
        for guest in &mut guests {
            for _ in 0..abi::MAX_DEVICE_ALLOCS_PER_INSTANCE {
                assert!(guest.alloc(1 << 20) > 0);
            }
            for _ in 0..abi::MAX_KERNELS_PER_INSTANCE {
                assert!(guest.load(0, 65_536, 0, 1) > 0);
            }
        }
        let count = abi::MAX_DEVICE_ALLOCS_PER_HOST;
        assert_eq!(
            host.buffer_usage(),
            Usage {
                count,
                bytes: count << 20
            }
        );
        assert_eq!(
            Guest::of(&host).alloc(1),
            OVER,
            "four full instances are the host's budget"
        );
        drop(guests);
        assert_eq!(
            (host.buffer_usage(), host.kernel_usage()),
            (Usage::default(), Usage::default())
        );
    }
}

#[test]
fn without_the_capability_every_call_is_refused_and_nothing_recorded() {
    let mut instance = Host::new(Fake::default()).instance_without_capability();
    for import in Import::ALL {
        for number in [-1, 0, 1] {
            let args: Vec<_> = import
                .params()
                .iter()
                .map(|(_, ty)| match ty {
                    abi::ValueType::I32 => Value::I32(number),
                    abi::ValueType::I64 => Value::I64(i64::from(number)),
                })
                .collect();
            let result = call(*import, &mut instance, Some(&mut [0; 16]), &args).unwrap();
            assert_eq!(
                (result.as_i64(), result.value_type()),
                (-1, import.result()),
                "{}",
                import.name()
            );
        }
    }
    assert!(instance.last_error().is_none());
}

#[test]
fn without_a_device_calls_are_validated_and_then_refused() {
    let mut guest = Guest::of(&Host::none());
    assert_eq!(guest.alloc(0), -9);
    assert_eq!(guest.alloc((256 << 20) + 1), -6);
    assert_eq!(guest.alloc(16), -1);
    assert_eq!(guest.h2d(1, 65_536, 1), -2);
    assert_eq!(
        (guest.h2d(1, 0, 1), guest.d2h(0, 1, 1), guest.free(1)),
        (-1, -1, -1)
    );
    assert_eq!(sync(&mut guest.instance), 0);
    let args = one_thread(1);
    assert_eq!(guest.launch(args), -3);
    assert_eq!(
        guest.launch(LaunchArgs {
            grid: [0; 3],
            ..args
        }),
        -8
    );
    assert_eq!(guest.instance.host().buffer_usage(), Usage::default());
}

#[test]
fn a_call_by_table_takes_only_the_table_s_types() {
    let mut instance = Host::none().instance();
    assert_eq!(
        call(Import::Sync, &mut instance, None, &[]),
        Some(Value::I32(0))
    );
    assert_eq!(
        call(Import::Sync, &mut instance, None, &[Value::I32(0)]),
        None
    );
    assert_eq!(
        call(
            Import::Alloc,
            &mut instance,
            None,
            &[Value::I32(0), Value::I64(0)]
        ),
        None
    );
}
