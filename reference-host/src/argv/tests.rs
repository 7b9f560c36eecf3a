use proptest::prelude::*;

use super::*;
use crate::abi::AbiError::{InvalidArgs, InvalidPointer, KernelArgsUnsupported};

const PAGE: u64 = 65536;

fn decode(bytes: &[u8], memory_bytes: u64) -> Result<Vec<Arg>, ArgvError> {
    let records = parse(bytes, memory_bytes)?;
    let len = records.len();
    let args: Vec<_> = records.collect();
    assert_eq!(args.len(), len);
    Ok(args)
}

fn ptr(offset: u32, len: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(Arg::Ptr(Window { offset, len }), &mut bytes);
    bytes
}

#[test]
fn each_type_has_its_tag_and_length() {
    let table: &[(&[u8], Arg)] = &[
        (&[1, 0xfe, 0xff, 0xff, 0xff], Arg::I32(-2)),
        (&[2, 0, 0, 0, 0, 0, 0, 0, 0x80], Arg::I64(i64::MIN)),
        (&[3, 0x01, 0x00, 0xa0, 0x7f], Arg::F32(0x7fa0_0001)),
        (
            &[4, 1, 0, 0, 0, 0, 0, 0xf4, 0xff],
            Arg::F64(0xfff4_0000_0000_0001),
        ),
        (&[5, 0xff, 0xff, 0xff, 0xff], Arg::U32(u32::MAX)),
        (
            &[6, 8, 7, 6, 5, 4, 3, 2, 1],
            Arg::U64(0x0102_0304_0506_0708),
        ),
        (
            &[7, 16, 0, 0, 0, 4, 0, 0, 0],
            Arg::Ptr(Window { offset: 16, len: 4 }),
        ),
    ];
    for (bytes, arg) in table {
        assert_eq!(decode(bytes, PAGE).unwrap().as_slice(), [*arg]);
        let mut encoded = Vec::new();
        encode(*arg, &mut encoded);
        assert_eq!(encoded, *bytes);
        for cut in 1..bytes.len() {
            let error = decode(&bytes[..cut], PAGE).unwrap_err();
            assert_eq!(
                error.code(),
                InvalidArgs,
                "{arg:?} cut to {cut} bytes: {error}"
            );
        }
    }
    assert!(decode(&[], PAGE).unwrap().is_empty());
}

#[test]
fn every_other_tag_is_unknown() {
    for tag in (0..=u8::MAX).filter(|tag| !(1..=7).contains(tag)) {
        let error = decode(&[tag, 0, 0, 0, 0, 0, 0, 0, 0], PAGE).unwrap_err();
        assert_eq!(error, ArgvError::UnknownTag { index: 0, tag });
    }
}

#[test]
fn windows_at_the_edges_of_memory() {
    let table: &[(u32, u32, u64, bool)] = &[
        (0, 65536, PAGE, true),
        (65536, 0, PAGE, true),
        (65537, 0, PAGE, false),
        (65535, 2, PAGE, false),
        (0xffff_fffc, 8, PAGE, false),
        (1, u32::MAX, PAGE, false),
        (0, 0, 0, true),
        (0, 1, 0, false),
        (0xffff_ffff, 1, 1 << 32, true),
        (0xffff_ffff, 2, 1 << 33, false),
    ];
    for (offset, len, memory_bytes, fits) in table {
        let result = decode(&ptr(*offset, *len), *memory_bytes).map_err(|error| error.code());
        assert_eq!(
            result.is_ok(),
            *fits,
            "window ({offset}, {len}) of {memory_bytes}"
        );
        assert!(result.is_ok() || result == Err(InvalidPointer));
    }
}

#[test]
fn the_caps_are_exact_and_rank_as_documented() {
    let full = [5, 0, 0, 0, 0].repeat(MAX_KERNEL_ARGS);
    assert_eq!(decode(&full, PAGE).unwrap().len(), MAX_KERNEL_ARGS);

    // A record too many is refused whatever its bytes, even one that is malformed.
    for extra in [5, 0, 0xff] {
        let error = decode(&[full.as_slice(), &[extra]].concat(), PAGE).unwrap_err();
        assert_eq!(error, ArgvError::TooMany);
        assert_eq!(error.code(), KernelArgsUnsupported);
    }
    // A bad record among those allowed comes first.
    let mut bad = [full.as_slice(), &[5, 0, 0, 0, 0]].concat();
    bad[0] = 0;
    assert_eq!(decode(&bad, PAGE).unwrap_err().code(), InvalidArgs);

    // Over the cap on bytes nothing is read.
    let longest = vec![0; MAX_KERNEL_ARGS_BYTES as usize];
    assert_eq!(
        decode(&longest, PAGE).unwrap_err(),
        ArgvError::UnknownTag { index: 0, tag: 0 }
    );
    let too_long = vec![0; MAX_KERNEL_ARGS_BYTES as usize + 1];
    assert_eq!(
        decode(&too_long, PAGE).unwrap_err(),
        ArgvError::TooLong { len: 4097 }
    );
}

#[test]
fn the_first_bad_record_decides() {
    let bytes = [ptr(0, 70000), vec![0xff]].concat();
    assert_eq!(decode(&bytes, PAGE).unwrap_err().code(), InvalidPointer);
    let bytes = [vec![0xff, 0, 0, 0, 0], ptr(0, 70000)].concat();
    assert_eq!(decode(&bytes, PAGE).unwrap_err().code(), InvalidArgs);
}

fn any_arg() -> impl Strategy<Value = Arg> {
    prop_oneof![
        any::<i32>().prop_map(Arg::I32),
        any::<i64>().prop_map(Arg::I64),
        any::<u32>().prop_map(Arg::F32),
        any::<u64>().prop_map(Arg::F64),
        any::<u32>().prop_map(Arg::U32),
        any::<u64>().prop_map(Arg::U64),
        any::<(u32, u32)>().prop_map(|(offset, len)| Arg::Ptr(Window {
            offset,
            len: len.min(!offset)
        })),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_itself(args in prop::collection::vec(any_arg(), 0..=MAX_KERNEL_ARGS)) {
        let mut bytes = Vec::new();
        for arg in &args {
            encode(*arg, &mut bytes);
        }
        prop_assert_eq!(decode(&bytes, 1 << 32).unwrap(), args);
    }

    #[test]
    fn what_decodes_encodes_to_the_same_bytes(
        bytes in prop::collection::vec(prop_oneof![1u8..8, any::<u8>()], 0..64),
        memory_bytes in 0u64..1 << 33,
    ) {
        if let Ok(args) = decode(&bytes, memory_bytes) {
            let mut again = Vec::new();
            for arg in args {
                encode(arg, &mut again);
            }
            prop_assert_eq!(again, bytes);
        }
    }
}
