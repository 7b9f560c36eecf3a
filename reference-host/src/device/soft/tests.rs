use super::*;

fn ptr(offset: u32, len: u32) -> Arg {
    Arg::Ptr(Window { offset, len })
}

#[test]
fn windows_merge_only_where_they_overlap() {
    let args = [
        ptr(100, 10),
        Arg::U32(7),
        ptr(20, 0),
        ptr(105, 20),
        ptr(0, 4),
        ptr(4, 4),
        ptr(106, 2),
        ptr(125, 1),
    ];
    assert_eq!(merged(&args).to_vec(), [0..4, 4..8, 100..125, 125..126]);
    assert!(merged(&[ptr(0, 0), Arg::I64(1)]).is_empty());
}

#[test]
fn the_whole_of_a_4_gib_memory_is_a_window() {
    assert_eq!(
        merged(&[ptr(0, u32::MAX), ptr(u32::MAX, 1)]).to_vec(),
        [0..u64::from(u32::MAX), (1 << 32) - 1..1 << 32]
    );
}

#[test]
fn every_window_is_mapped_at_its_offset() {
    let mut memory = vec![0; 64];
    let mut device = Memory::new();
    map_windows(
        &[ptr(60, 4), ptr(0, 8), ptr(4, 8), ptr(64, 0)],
        &mut memory,
        &mut device,
    )
    .unwrap();
    // What is mapped cannot be mapped again, what is not can.
    let (mut taken, mut free) = ([0; 1], [0; 1]);
    assert!(device.map(GUEST_BASE + 11, &mut taken).is_err());
    assert!(device.map(GUEST_BASE + 12, &mut free).is_ok());
}

#[test]
fn a_buffer_reads_as_zeros_until_it_is_written_and_keeps_what_a_short_write_leaves() {
    let buffer = SoftDevice::new().alloc(8).unwrap();
    let mut bytes = [0xaa; 8];
    buffer.write(&[]).unwrap();
    buffer.read(&mut bytes).unwrap();
    assert_eq!(bytes, [0; 8]);
    buffer.write(&[1, 2, 3]).unwrap();
    buffer.read(&mut bytes[..4]).unwrap();
    assert_eq!(bytes, [1, 2, 3, 0, 0, 0, 0, 0]);
    buffer.write(&[9]).unwrap();
    buffer.read(&mut bytes).unwrap();
    assert_eq!(bytes, [9, 2, 3, 0, 0, 0, 0, 0]);
}
