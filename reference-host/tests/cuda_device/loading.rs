//! What is loaded, and what never gets as far as the driver.

use wasi_cuda_host::device::DeviceError;

use crate::child;
use crate::guest::{Guest, HEAD, answer, host, module};

/// The starts of images that a driver's loader takes beside PTX.
const BINARIES: [(&str, &[u8]); 4] = [
    (
        "a cubin",
        b"\x7FELF\x02\x01\x01\x33\x07\0\0\0\0\0\0\0\x02\0\xBE\0\x01\0\0\0",
    ),
    (
        "a fat binary",
        b"\x50\xED\x55\xBA\x01\0\x10\0\x08\0\0\0\0\0\0\0",
    ),
    (
        "a wrapper of one",
        b"\xB1\x43\x62\x46\x01\0\0\0\0\0\0\0\0\0\0\0",
    ),
    ("an archive", b"!<arch>\n"),
];

#[test]
fn binary_images_never_reach_the_driver() {
    let done = child::run("loading::binary_images_never_reach_the_driver", &[], || {
        let mut guest = Guest::new(&host());
        for (what, image) in BINARIES {
            assert_eq!(guest.load(image, b"k"), -4, "{what}");
            // Nor behind, or before, something that begins well.
            let mut late = answer().into_bytes();
            late.extend_from_slice(image);
            assert_eq!(guest.load(&late, b"k"), -4, "{what} after PTX");
            let mut early = image.to_vec();
            early.extend_from_slice(answer().as_bytes());
            assert_eq!(guest.load(&early, b"k"), -4, "{what} before PTX");
        }
        guest.kernel(&answer(), "k");
    });
    let loads = [
        "cuModuleLoad",
        "cuModuleLoadData",
        "cuModuleLoadDataEx",
        "cuModuleLoadFatBinary",
        "cuLibraryLoadData",
        "cuLinkAddData_v2",
    ];
    let counts = loads.map(|function| done.calls(function));
    assert_eq!(counts.iter().sum::<usize>(), 1, "{loads:?} {counts:?}");
}

/// The driver would take a zero for the text's end, and assemble another program than the host has looked at.
#[test]
fn a_zero_within_a_text_does_not_end_it() {
    let mut guest = Guest::new(&host());
    let text = answer();
    for at in [0, 5, HEAD.len(), text.len() - 1, text.len()] {
        let mut image = text.clone().into_bytes();
        image.insert(at, 0);
        image.extend_from_slice(b"\n.visible .entry behind() { ret; }\n");
        for entry in ["k", "behind"] {
            let code = guest.load(&image, entry.as_bytes());
            assert_eq!(code, -4, "{entry} with a zero at {at}");
        }
    }
    let without = format!("{text}\n.visible .entry behind() {{ ret; }}\n");
    guest.kernel(&without, "k");
    guest.kernel(&without, "behind");
}

#[test]
fn an_entry_is_found_by_its_whole_name() {
    let mut guest = Guest::new(&host());
    let text = answer();
    for entry in [&b"k\0"[..], b"k\0other", b"\0k", b"", b"K", b"kk", b"k "] {
        assert_eq!(guest.load(text.as_bytes(), entry), -9, "{entry:?}");
        assert!(
            matches!(guest.error(), Some(DeviceError::NoSuchEntry(_))),
            "{entry:?}: {}",
            guest.words()
        );
    }
    guest.kernel(&text, "k");
}

/// Text that reads well and does not assemble: the guest is told where.
#[test]
fn what_does_not_assemble_is_told_with_its_place() {
    let mut guest = Guest::new(&host());
    let cases = [
        ("an unknown register", "add.u32 %r1, %absent, 1;"),
        ("a type that does not fit", "add.u32 %r1, %d1, 1;"),
        ("a label that is nowhere", "bra nowhere;"),
        ("an operand too many", "neg.s32 %r1, %r2, %r3, %r4;"),
    ];
    for (what, line) in cases {
        let text = module(".param .u64 to", &format!("mov.u32 %r1, 1;\n{line}"));
        let number = 1 + text[..text.find(line).expect("it is in there")]
            .matches('\n')
            .count();
        assert_eq!(guest.load(text.as_bytes(), b"k"), -4, "{what}");
        let words = guest.words();
        let numbers: Vec<usize> = words
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|digits| digits.parse().ok())
            .collect();
        assert!(
            numbers.contains(&number),
            "{what}: line {number} in {words}"
        );
        assert!(numbers.len() > 1, "{what}: a column in {words}");
    }
    guest.kernel(&answer(), "k");
}

/// Good PTX that this device lacks is no fault of the guest's.
#[test]
fn good_ptx_that_the_device_lacks_is_internal() {
    let mut guest = Guest::new(&host());
    let texture = format!(
        "{HEAD}.global .texref t;
.visible .entry k(.param .u64 to)
{{
.reg .f32 %f<5>;
.reg .b32 %r1;
mov.u32 %r1, 0;
tex.1d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [t, {{%r1}}];
ret;
}}
"
    );
    let code = guest.load(texture.as_bytes(), b"k");
    assert_eq!(code, -7, "{}", guest.words());
    // A twin that nobody takes.
    let broken = texture.replace("mov.u32 %r1, 0;", "mov.u32 %r1, ;");
    assert_ne!(broken, texture);
    assert_eq!(guest.load(broken.as_bytes(), b"k"), -4, "{}", guest.words());
    guest.kernel(&answer(), "k");
}

/// A refused load leaves neither a module nor a share of the quota behind.
#[test]
fn refused_loads_use_nothing() {
    let host = host();
    let mut guest = Guest::new(&host);
    let text = answer();
    for _ in 0..300 {
        assert_eq!(guest.load(text.as_bytes(), b"absent"), -9);
        assert_eq!(guest.load(b"no PTX", b"k"), -4);
    }
    assert_eq!(guest.instance.kernel_usage().count, 0);
    for _ in 0..256 {
        guest.kernel(&text, "k");
    }
    assert_eq!(guest.load(text.as_bytes(), b"k"), -6);
    drop(guest);
    assert_eq!(host.kernel_usage().count, 0);
}
