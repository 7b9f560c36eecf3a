use super::*;

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
