use super::*;
use crate::abi;
use crate::registry::Usage;

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
