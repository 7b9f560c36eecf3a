use std::sync::Arc as StdArc;

use super::*;
use crate::abi::{self, AbiError};
use crate::argv::{self, Arg, Window};
use crate::device::{Device, DeviceError, Kernel, Shape};
use crate::error::Error;
use crate::host::Host;
use crate::registry::Usage;
use crate::sync::Arc;

/// A device without rules: takes any PTX, runs nothing, and fails on demand.
#[derive(Debug, Default)]
struct Fake {
    params: Vec<u32>,
    refuses: bool,
}

#[derive(Debug)]
struct FakeKernel(Vec<u32>);

impl Device for Fake {
    fn load(&self, _: &[u8], entry: &str) -> Result<Arc<dyn Kernel>, DeviceError> {
        if self.refuses || entry == "missing" {
            return Err(DeviceError::NoSuchEntry(entry.into()));
        }
        Ok(StdArc::new(FakeKernel(self.params.clone())))
    }

    fn alloc(&self, len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError> {
        if self.refuses {
            return Err(DeviceError::OutOfMemory(len_bytes));
        }
        Ok(StdArc::new(FakeBuffer(len_bytes)))
    }

    fn sync(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

impl Kernel for FakeKernel {
    fn param_sizes(&self) -> &[u32] {
        &self.0
    }

    fn launch(&self, _: &Shape, _: &[Arg], _: &mut [u8]) -> Result<(), DeviceError> {
        Ok(())
    }
}

#[derive(Debug)]
struct FakeBuffer(u64);

impl Buffer for FakeBuffer {
    fn len_bytes(&self) -> u64 {
        self.0
    }

    fn write(&self, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn read(&self, to: &mut [u8]) -> Result<(), DeviceError> {
        to.fill(0xaa);
        Ok(())
    }
}

const PAGE: usize = 65536;

/// One guest with one page of memory on a fake device.
struct Guest {
    instance: Instance,
    memory: Vec<u8>,
}

impl Guest {
    fn new(device: Fake) -> Self {
        Self::of(&Host::new(device))
    }

    fn of(host: &StdArc<Host>) -> Self {
        Self {
            instance: host.instance(),
            memory: vec![0; PAGE],
        }
    }

    fn load(&mut self, ptx_ptr: i32, ptx_len: i32, entry_ptr: i32, entry_len: i32) -> i64 {
        load_ptx(
            &mut self.instance,
            Some(&mut self.memory),
            ptx_ptr,
            ptx_len,
            entry_ptr,
            entry_len,
        )
    }

    fn launch(&mut self, args: LaunchArgs) -> i32 {
        launch(&mut self.instance, Some(&mut self.memory), args)
    }

    fn alloc(&mut self, size_bytes: u64) -> i64 {
        let size = size_bytes.cast_signed();
        alloc(&mut self.instance, size as i32, (size >> 32) as i32)
    }

    fn free(&mut self, handle: i64) -> i32 {
        free(&mut self.instance, handle as i32, (handle >> 32) as i32)
    }

    fn h2d(&mut self, handle: i64, src_ptr: i32, len: i32) -> i32 {
        memcpy_h2d(
            &mut self.instance,
            Some(&mut self.memory),
            handle as i32,
            (handle >> 32) as i32,
            src_ptr,
            len,
        )
    }

    fn d2h(&mut self, dst_ptr: i32, handle: i64, len: i32) -> i32 {
        memcpy_d2h(
            &mut self.instance,
            Some(&mut self.memory),
            dst_ptr,
            handle as i32,
            (handle >> 32) as i32,
            len,
        )
    }
}

const OVER: i64 = AbiError::QuotaExceeded.code() as i64;

#[test]
fn a_load_is_refused_by_the_first_rule_it_breaks() {
    let mut guest = Guest::new(Fake::default());
    guest.memory[100..104].copy_from_slice(b"\xff\xfe\xfd\xfc");
    let mut table = vec![
        ("a good load", (0, 4, 0, 1), 0),
        (
            "PTX over the cap, outside memory",
            (0, 0x7fff_ffff, 0, 1),
            -6,
        ),
        ("PTX one over the cap", (0, 8_388_609, 0, 1), -6),
        ("PTX at the cap, outside memory", (0, 8_388_608, 0, 1), -2),
        ("PTX with a negative length", (0, -1, 0, 1), -2),
        ("PTX past the end", (65_535, 2, 0, 1), -2),
        ("PTX at a high offset", (-1, 2, 0, 1), -2),
        ("entry outside memory", (0, 4, 0, 0x7fff_ffff), -2),
        ("entry with a negative length", (0, 4, 0, -1), -2),
        ("entry at the cap", (0, 4, 1000, 256), 0),
        ("entry one over the cap", (0, 4, 1000, 257), -6),
        ("entry not UTF-8", (0, 4, 100, 4), -9),
        ("entry not in the PTX", (0, 4, 200, 7), -9),
    ];
    guest.memory[200..207].copy_from_slice(b"missing");
    table.push(("a good load again", (65_532, 4, 65_536, 0), 0));
    for (what, (ptx_ptr, ptx_len, entry_ptr, entry_len), expected) in table {
        let result = guest.load(ptx_ptr, ptx_len, entry_ptr, entry_len);
        assert_eq!(result.min(0), expected, "{what}");
    }
    assert_eq!(
        guest.instance.kernel_usage(),
        Usage {
            count: 3,
            bytes: 12
        },
        "refused loads use no quota"
    );
}

#[test]
fn the_cap_on_kernels_is_exact_and_failed_loads_do_not_count() {
    let mut guest = Guest::new(Fake::default());
    guest.memory[..7].copy_from_slice(b"missing");
    let first = guest.load(0, 1, 100, 1);
    for count in 1..abi::MAX_KERNELS_PER_INSTANCE as i64 {
        assert_eq!(guest.load(0, 1, 0, 7), -9);
        assert_eq!(guest.load(0, 1, 100, 1), first + count);
    }
    assert_eq!(guest.load(0, 1, 100, 1), OVER);
    assert!(
        Guest::of(&guest.instance.host().clone()).load(0, 1, 100, 1) > 0,
        "the cap is each instance's own"
    );
}

#[test]
fn a_launch_is_refused_by_the_first_rule_it_breaks() {
    let mut guest = Guest::new(Fake {
        params: vec![4, 8],
        ..Fake::default()
    });
    let kernel_id = guest.load(0, 4, 0, 1);
    let mut good = Vec::new();
    argv::encode(Arg::U32(1), &mut good);
    argv::encode(
        Arg::Ptr(Window {
            offset: 65_536,
            len: 0,
        }),
        &mut good,
    );
    let args_len = good.len() as i32;
    guest.memory[..good.len()].copy_from_slice(&good);
    guest.memory[1000] = 0xff;
    let ok = LaunchArgs {
        kernel_id,
        grid: [1; 3],
        block: [1; 3],
        shared_mem: 0,
        args_ptr: 0,
        args_len,
    };
    let table = [
        ("good", ok, 0),
        (
            "largest grid",
            LaunchArgs {
                grid: [i32::MAX; 3],
                ..ok
            },
            0,
        ),
        (
            "largest block",
            LaunchArgs {
                block: [1024, 1, 1],
                ..ok
            },
            0,
        ),
        (
            "deep block",
            LaunchArgs {
                block: [1, 1, 1024],
                ..ok
            },
            0,
        ),
        (
            "most shared memory",
            LaunchArgs {
                shared_mem: 228 << 10,
                ..ok
            },
            0,
        ),
        (
            "grid of none",
            LaunchArgs {
                grid: [1, 0, 1],
                ..ok
            },
            -8,
        ),
        (
            "negative grid",
            LaunchArgs {
                grid: [1, 1, -1],
                ..ok
            },
            -8,
        ),
        (
            "block of none",
            LaunchArgs {
                block: [0, 1, 1],
                ..ok
            },
            -8,
        ),
        (
            "block axis over the cap",
            LaunchArgs {
                block: [1, 1025, 1],
                ..ok
            },
            -8,
        ),
        (
            "too many threads",
            LaunchArgs {
                block: [32, 33, 1],
                ..ok
            },
            -8,
        ),
        (
            "product that would wrap",
            LaunchArgs {
                block: [1024, 1024, 1024],
                ..ok
            },
            -8,
        ),
        (
            "too much shared memory",
            LaunchArgs {
                shared_mem: (228 << 10) + 1,
                ..ok
            },
            -8,
        ),
        (
            "negative shared memory",
            LaunchArgs {
                shared_mem: -1,
                ..ok
            },
            -8,
        ),
        (
            "arguments outside, before dimensions",
            LaunchArgs {
                args_ptr: -8,
                args_len: 16,
                grid: [0; 3],
                ..ok
            },
            -2,
        ),
        (
            "arguments of negative length",
            LaunchArgs { args_len: -1, ..ok },
            -2,
        ),
        (
            "arguments far too long",
            LaunchArgs {
                args_len: i32::MAX,
                ..ok
            },
            -2,
        ),
        (
            "arguments over the cap on bytes",
            LaunchArgs {
                args_len: 4097,
                ..ok
            },
            -10,
        ),
        (
            "unknown kernel",
            LaunchArgs {
                kernel_id: kernel_id + 1,
                ..ok
            },
            -3,
        ),
        (
            "negative kernel",
            LaunchArgs {
                kernel_id: -1,
                ..ok
            },
            -3,
        ),
        (
            "bad record",
            LaunchArgs {
                args_ptr: 1000,
                ..ok
            },
            -9,
        ),
        (
            "a record cut off",
            LaunchArgs {
                args_len: args_len - 1,
                ..ok
            },
            -9,
        ),
        ("a record too few", LaunchArgs { args_len: 5, ..ok }, -9),
        ("no records", LaunchArgs { args_len: 0, ..ok }, -9),
        (
            "a narrow record first",
            LaunchArgs {
                args_ptr: 5,
                args_len: 9,
                ..ok
            },
            -9,
        ),
    ];
    for (what, args, expected) in table {
        assert_eq!(guest.launch(args), expected, "{what}");
    }
    let mut swapped = Vec::new();
    argv::encode(Arg::U64(1), &mut swapped);
    argv::encode(Arg::U64(1), &mut swapped);
    guest.memory[..swapped.len()].copy_from_slice(&swapped);
    assert_eq!(
        guest.launch(LaunchArgs {
            args_len: swapped.len() as i32,
            ..ok
        }),
        -9
    );
    assert!(matches!(
        guest.instance.last_error(),
        Some(Error::Refused(Refusal::ParamSize { index: 0, .. }))
    ));
}

#[test]
fn an_empty_argument_buffer_may_lie_anywhere() {
    let mut guest = Guest::new(Fake::default());
    let kernel_id = guest.load(0, 4, 0, 1);
    let ok = LaunchArgs {
        kernel_id,
        grid: [1; 3],
        block: [1; 3],
        shared_mem: 0,
        args_ptr: 0,
        args_len: 0,
    };
    for args_ptr in [0, 65_536, 65_537, -1, i32::MIN, i32::MAX] {
        assert_eq!(
            guest.launch(LaunchArgs { args_ptr, ..ok }),
            0,
            "args_ptr {args_ptr}"
        );
    }
    assert_eq!(
        launch(&mut guest.instance, None, ok),
        0,
        "a guest without memory"
    );
    assert_eq!(
        launch(&mut guest.instance, None, LaunchArgs { args_len: 1, ..ok }),
        -2
    );
}

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
    let mut guest = Guest::new(Fake::default());
    let handles: Vec<_> = (0..abi::MAX_DEVICE_ALLOCS_PER_INSTANCE)
        .map(|_| guest.alloc(1))
        .collect();
    assert!(handles.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_eq!(guest.alloc(1), OVER);
    assert_eq!(guest.free(handles[7]), 0);
    assert_eq!(guest.free(handles[7]), -11);
    assert!(guest.alloc(1) > handles[4095]);
    assert_eq!(guest.alloc(1), OVER);

    let mut guest = Guest::new(Fake::default());
    let handles: Vec<_> = (0..16).map(|_| guest.alloc(256 << 20)).collect();
    assert!(handles.iter().all(|handle| *handle > 0));
    assert_eq!(guest.alloc(1), OVER);
    assert_eq!(guest.free(handles[0]), 0);
    assert!(guest.alloc((256 << 20) - 1) > 0);
    assert!(guest.alloc(1) > 0);
    assert_eq!(guest.alloc(1), OVER);
}

#[test]
fn copies_are_refused_by_the_first_rule_they_break_and_write_nothing() {
    let mut guest = Guest::new(Fake::default());
    let handle = guest.alloc(16);
    let table = [
        (handle, 0, 16, 0),
        (handle, 65_520, 16, 0),
        (handle, 65_536, 0, 0),
        (handle, 0, 17, -9),
        (handle, 0, -1, -9),
        (handle, i32::MAX, i32::MAX, -9),
        (handle, 65_521, 16, -2),
        (handle, -4, 4, -2),
        (handle, 65_537, 0, -2),
        (handle + 1, 0, 0, -11),
        (handle & 0xffff_ffff, 0, 4, -11),
        (0, 0, 4, -11),
        (-1, 0, 4, -11),
    ];
    for (handle, offset, len, expected) in table {
        assert_eq!(
            guest.h2d(handle, offset, len),
            expected,
            "h2d ({handle}, {offset}, {len})"
        );
        guest.memory.fill(0);
        assert_eq!(
            guest.d2h(offset, handle, len),
            expected,
            "d2h ({offset}, {handle}, {len})"
        );
        let written = guest.memory.iter().filter(|byte| **byte != 0).count();
        assert_eq!(written, if expected == 0 { len as usize } else { 0 });
    }
    assert_eq!(
        memcpy_h2d(
            &mut guest.instance,
            None,
            handle as i32,
            (handle >> 32) as i32,
            0,
            4
        ),
        -2
    );
}

#[test]
fn another_instance_s_kernels_and_buffers_are_unknown() {
    let host = Host::new(Fake::default());
    let (mut a, mut b) = (Guest::of(&host), Guest::of(&host));
    let (kernel_id, handle) = (a.load(0, 4, 0, 1), a.alloc(4));
    let args = LaunchArgs {
        kernel_id,
        grid: [1; 3],
        block: [1; 3],
        shared_mem: 0,
        args_ptr: 0,
        args_len: 0,
    };
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
fn a_device_that_refuses_leaves_no_quota_taken() {
    let mut guest = Guest::new(Fake {
        refuses: true,
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
    let args = LaunchArgs {
        kernel_id: 1,
        grid: [1; 3],
        block: [1; 3],
        shared_mem: 0,
        args_ptr: 0,
        args_len: 0,
    };
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
fn the_last_error_stays_until_the_next_and_is_copied_as_far_as_it_fits() {
    let mut guest = Guest::new(Fake::default());
    let copy = |guest: &mut Guest, dst_ptr, dst_len| {
        last_error_copy(
            &mut guest.instance,
            Some(&mut guest.memory),
            dst_ptr,
            dst_len,
        )
    };
    assert_eq!(
        (
            last_error_len(&mut guest.instance),
            copy(&mut guest, 0, 100)
        ),
        (0, 0)
    );
    assert_eq!(guest.alloc(0), -9);
    let text = guest.instance.last_error_text().to_owned();
    let len = text.len() as i32;
    assert!(guest.alloc(1) > 0);
    assert_eq!(last_error_len(&mut guest.instance), len);
    assert_eq!(copy(&mut guest, 100, 1000), len);
    assert_eq!(&guest.memory[100..100 + text.len()], text.as_bytes());
    assert_eq!(guest.memory[100 + text.len()], 0);
    assert_eq!(copy(&mut guest, 4000, 5), 5);
    assert_eq!(
        guest.memory[4000..4006],
        [text.as_bytes()[..5].to_vec(), vec![0]].concat()
    );
    for (dst_ptr, dst_len, expected) in [
        (65_536, 0, 0),
        (0, 0, 0),
        (65_535, 2, -2),
        (-4, 8, -2),
        (0, 0x7fff_ffff, -2),
        (0, -1, -2),
        (65_537, 0, -2),
    ] {
        assert_eq!(
            copy(&mut guest, dst_ptr, dst_len),
            expected,
            "copy to ({dst_ptr}, {dst_len})"
        );
    }
    assert_eq!(
        guest.instance.last_error_text(),
        text,
        "a refused copy does not replace the message"
    );
    assert_eq!(guest.free(1), -11);
    assert_ne!(guest.instance.last_error_text(), text);
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
