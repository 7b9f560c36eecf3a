use super::*;
use crate::abi;
use crate::registry::Usage;

#[test]
fn allocation_sizes_are_64_bits_wide_and_capped() {
    let mut guest = Guest::new(Fake::default());
    for (size_bytes, expected) in [
        (0, -9),
        (1, 0),
        (256 << 20, 0),
        ((256 << 20) + 1, -6),
        (1 << 32, -6),
        (u64::MAX, -6),
        (u64::MAX << 32, -6),
    ] {
        assert_eq!(
            guest.alloc(size_bytes).min(0),
            expected,
            "{size_bytes} bytes"
        );
    }
}

#[test]
fn the_caps_on_buffers_are_exact_and_what_is_freed_can_be_used_again() {
    // Both ways to a buffer: quota and entry in one step, and quota first.
    for allocates_on_write in [true, false] {
        let new_guest = || {
            Guest::new(Fake {
                allocates_on_write,
                ..Fake::default()
            })
        };
        let mut guest = new_guest();
        let handles: Vec<_> = (0..abi::MAX_DEVICE_ALLOCS_PER_INSTANCE)
            .map(|_| guest.alloc(1))
            .collect();
        assert!(handles.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert_eq!(guest.alloc(1), OVER);
        assert_eq!(guest.free(handles[7]), 0);
        assert_eq!(guest.free(handles[7]), -11);
        assert!(guest.alloc(1) > handles[4095]);
        assert_eq!(guest.alloc(1), OVER);

        let mut guest = new_guest();
        let handles: Vec<_> = (0..16).map(|_| guest.alloc(256 << 20)).collect();
        assert!(handles.iter().all(|handle| *handle > 0));
        assert_eq!(guest.alloc(1), OVER);
        assert_eq!(guest.free(handles[0]), 0);
        assert!(guest.alloc((256 << 20) - 1) > 0);
        assert!(guest.alloc(1) > 0);
        assert_eq!(guest.alloc(1), OVER);
    }
}

#[test]
fn a_device_that_refuses_leaves_no_quota_taken() {
    for allocates_on_write in [true, false] {
        let mut guest = Guest::new(Fake {
            refuses: true,
            allocates_on_write,
            ..Fake::default()
        });
        for _ in 0..5000 {
            assert_eq!(guest.alloc(256 << 20), -5);
            assert_eq!(guest.load(0, 4, 0, 1), -9);
        }
        let host = guest.instance.host();
        assert_eq!(
            (host.buffer_usage(), host.kernel_usage()),
            (Usage::default(), Usage::default())
        );
    }
}
