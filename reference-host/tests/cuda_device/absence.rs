//! No device, for one reason or another.

use std::fs;
use std::path::Path;
use std::process::Command;

use wasi_cuda_host::Host;
use wasi_cuda_host::device::{Absence, CudaDevice};

use crate::child;
use crate::guest::{Guest, answer, host};

/// A library that is none. That this program starts with it at all shows that it does not need one.
#[test]
fn without_a_driver() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("libcuda.so.1"), "no library").expect("a file");
    let environment = [("LD_LIBRARY_PATH", path(folder.path()))];
    child::run("absence::without_a_driver", &environment, || {
        absent(Absence::NoDriver);
    });
}

#[test]
fn with_a_driver_that_is_too_old() {
    let folder = driver(
        "int cuDriverGetVersion(int *v) { *v = 10020; return 0; } int cuInit(unsigned f) { return 3; }",
    );
    let environment = [("LD_LIBRARY_PATH", path(folder.path()))];
    child::run(
        "absence::with_a_driver_that_is_too_old",
        &environment,
        || {
            absent(Absence::DriverTooOld {
                offered: 10_020,
                needed: 11_000,
            });
        },
    );
}

#[test]
fn with_a_driver_that_lacks_functions() {
    let folder = driver("int unrelated(void) { return 0; }");
    let environment = [("LD_LIBRARY_PATH", path(folder.path()))];
    child::run(
        "absence::with_a_driver_that_lacks_functions",
        &environment,
        || {
            absent(Absence::DriverFailed(36));
        },
    );
}

#[test]
fn with_a_driver_that_has_no_devices() {
    for count in ["0", "-1"] {
        let folder = driver(&format!(
            "int cuDriverGetVersion(int *v) {{ *v = 12000; return 0; }} int cuInit(unsigned f) {{ return 0; }}
            int cuDeviceGetCount(int *n) {{ *n = {count}; return 0; }}"
        ));
        let environment = [("LD_LIBRARY_PATH", path(folder.path()))];
        child::run(
            "absence::with_a_driver_that_has_no_devices",
            &environment,
            || {
                absent(Absence::NoDevice);
            },
        );
    }
}

#[test]
fn with_a_driver_that_does_not_start() {
    let cases = [
        ("cuInit:*=100", 100),
        ("cuInit:*=803", 803),
        ("cuInit:*=999", 999),
        ("cuDriverGetVersion:*=1", 1),
        ("cuDeviceGetCount:*=3", 3),
        ("cuDeviceGet:*=101", 101),
    ];
    for (fault, code) in cases {
        let environment = [
            ("SOFT_CUDA_FAIL", fault),
            ("EXPECTED_CODE", &*code.to_string()),
        ];
        child::run(
            "absence::with_a_driver_that_does_not_start",
            &environment,
            || {
                let code = std::env::var("EXPECTED_CODE").expect("the parent's");
                match code.parse().expect("a number") {
                    100 => absent(Absence::NoDevice),
                    code => absent(Absence::DriverFailed(code)),
                }
            },
        );
    }
}

#[test]
fn with_fewer_devices_than_that() {
    for ordinal in [1, 7, 1 << 31, u32::MAX] {
        let absence = CudaDevice::open(ordinal).expect_err("there is one device");
        assert_eq!(absence, Absence::NoSuchOrdinal { ordinal, count: 1 });
        assert!(absence.to_string().contains(&ordinal.to_string()));
        refused(&Host::cuda(ordinal), absence);
    }
    let (name, bytes) = CudaDevice::open(0)
        .expect("a device")
        .describe()
        .expect("a name");
    assert_eq!((&*name, bytes), ("soft-cuda sm_90", 80 << 30));
    // And with the device, the calls that were refused work.
    let mut guest = Guest::new(&host());
    guest.kernel(&answer(), "k");
    let buffer = guest.buffer(b"1");
    assert_eq!((guest.free(buffer), guest.sync()), (0, 0));
}

fn absent(right: Absence) {
    for _ in 0..2 {
        let absence = CudaDevice::open(0).expect_err("no device");
        assert_eq!(absence, right);
        assert!(!absence.to_string().is_empty());
        refused(&Host::cuda(0), absence);
    }
}

/// Calls that need a device say that there is none, and why.
fn refused(host: &std::sync::Arc<Host>, absence: Absence) {
    let mut guest = Guest::new(host);
    assert_eq!(guest.alloc(4), -1);
    assert_eq!(guest.words(), absence.to_string());
    assert_eq!(guest.write(1, b"1"), -1);
    assert_eq!(guest.words(), absence.to_string());
    assert_eq!(guest.read(1, 1), Err(-1));
    assert_eq!(guest.free(1), -1);
    let kernel = guest.load(answer().as_bytes(), b"k");
    assert!(kernel > 0 || kernel == -1, "{kernel}");
    if kernel > 0 {
        assert_eq!(guest.launch(kernel, 1, &[crate::guest::window(0, 4)]), -1);
        assert_eq!(guest.words(), absence.to_string());
    }
}

/// A folder with a driver made of a few lines of C.
fn driver(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("driver.c");
    fs::write(&text, source).expect("a file");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.path().join("libcuda.so.1"))
        .arg(&text)
        .status()
        .expect("a C compiler, which linking this program has taken too");
    assert!(made.success());
    folder
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a readable path")
}
