//! `ldmatrix`, `stmatrix` and `movmatrix`.

use soft_gpu::FaultKind;

use crate::harness::Kernel;

/// Element (row, column) of matrix `at` in shared memory, where rows of 16 bytes lie in a scrambled order.
fn element(at: u32, row: u32, column: u32) -> u32 {
    at << 12 | row << 8 | column << 4 | 7
}

#[test]
fn small_matrices_are_loaded_stored_and_transposed() {
    for count in [1u32, 2, 4] {
        for transposed in [false, true] {
            let trans = if transposed { ".trans" } else { "" };
            let names: Vec<String> = (1..=count).map(|at| format!("%r{at}")).collect();
            let list = names.join(", ");
            let stores: String = (0..count)
                .map(|at| format!("st.global.u32 [%u1+{}], %r{};\n", 4 * at, at + 1))
                .collect();
            // Lane l writes row (7 l + 3) mod 32 of the box, and later names the row that holds row l % 8 of matrix l / 8.
            let mut kernel = Kernel::new(
                ".shared .align 16 .b8 box[512]; .shared .align 16 .b8 back[512];",
                &format!(
                    "mad.wide.u32 %u1, %t, 16, %data; ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%u1];\n\
                     mad.lo.u32 %r9, %t, 7, 3; and.b32 %r9, %r9, 31; mov.u32 %r10, box; mad.lo.u32 %r10, %r9, 16, %r10;\n\
                     st.shared.v4.u32 [%r10], {{%r5, %r6, %r7, %r8}}; bar.warp.sync -1;\n\
                     ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{list}}}, [%r10];\n{stores}\
                     mov.u32 %r11, back; mad.lo.u32 %r11, %r9, 16, %r11; stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r11], {{{list}}};\n\
                     bar.warp.sync -1; ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r11]; st.global.v4.u32 [%u1+512], {{%r5, %r6, %r7, %r8}};\n\
                     movmatrix.sync.aligned.m8n8.trans.b16 %r12, %r1; mad.wide.u32 %u2, %t, 4, %data; st.global.u32 [%u2+1024], %r12;"
                ),
            )
            .block(32);
            let mut data: Vec<u32> = (0..32)
                .flat_map(|lane| {
                    (0..4).map(move |word| {
                        element(lane / 8, lane % 8, 2 * word)
                            | element(lane / 8, lane % 8, 2 * word + 1) << 16
                    })
                })
                .collect();
            let input = data.clone();
            data.resize(288, 0);
            let found = kernel.run_on(&data);
            let held = |at: u32, lane: u32, transposed: bool| {
                let (group, first) = (lane / 4, lane % 4 * 2);
                if transposed {
                    element(at, first, group) | element(at, first + 1, group) << 16
                } else {
                    element(at, group, first) | element(at, group, first + 1) << 16
                }
            };
            for lane in 0..32u32 {
                for at in 0..count {
                    assert_eq!(
                        found[(4 * lane + at) as usize],
                        held(at, lane, transposed),
                        "x{count}{trans}, lane {lane}"
                    );
                }
                // What was loaded and stored the same way is as before; rows that no matrix has are left alone.
                let row = &found[128 + 4 * lane as usize..][..4];
                let expected = if lane / 8 < count {
                    &input[4 * lane as usize..][..4]
                } else {
                    &[0; 4][..]
                };
                assert_eq!(row, expected, "x{count}{trans}, row {lane}");
                assert_eq!(
                    found[256 + lane as usize],
                    held(0, lane, !transposed),
                    "movmatrix of x{count}{trans}"
                );
            }
        }
    }
}

/// Only the lanes that give an address of a row are checked, and each fault names its lane.
#[test]
fn rows_of_matrices_are_checked() {
    let fault = |address: &str, x: u32| {
        let list = ["{%r1}", "{%r1, %r2}", "", "{%r1, %r2, %r3, %r4}"][x as usize - 1];
        Kernel::new(
            ".shared .align 16 .b8 box[512];",
            &format!("{address}\nldmatrix.sync.aligned.m8n8.x{x}.shared.b16 {list}, [%r9];"),
        )
        .block(32)
        .fault(64)
    };
    let found = fault("mov.u32 %r9, box; mad.lo.u32 %r9, %t, 32, %r9;", 4);
    assert!(
        matches!(
            found.kind,
            FaultKind::OutOfBounds {
                address: 512,
                bytes: 16,
                write: false,
                ..
            }
        ),
        "{found}"
    );
    assert_eq!(found.thread, [16, 0, 0]);
    let found = fault("mov.u32 %r9, box; mad.lo.u32 %r9, %t, 8, %r9;", 1);
    assert!(
        matches!(
            found.kind,
            FaultKind::Misaligned {
                address: 8,
                bytes: 16,
                ..
            }
        ),
        "{found}"
    );
    assert_eq!(found.thread, [1, 0, 0]);
    // Lanes from 8 on do not matter to one matrix.
    let mut kernel = Kernel::new(
        ".shared .align 16 .b8 box[512];",
        "mov.u32 %r9, box; mad.lo.u32 %r9, %t, 16, %r9; setp.gt.u32 %p1, %t, 7; @%p1 mov.u32 %r9, 3;\n\
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9]; st.global.u32 [%mine], 1;",
    )
    .block(32);
    assert_eq!(kernel.run(32), [1; 32]);
}
