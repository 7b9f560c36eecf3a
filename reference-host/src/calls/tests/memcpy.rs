use super::*;

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
