//! Special registers.

use crate::harness::Kernel;

/// What a thread of a kernel reads from 32-bit registers.
#[track_caller]
fn read(registers: &[&str], block: [u32; 3], grid: [u32; 3], thread: usize) -> Vec<u32> {
    let stores: String = registers
        .iter()
        .enumerate()
        .map(|(at, register)| {
            format!(
                "mov.u32 %r2, {register}; st.global.u32 [%u1+{}], %r2;\n",
                4 * at
            )
        })
        .collect();
    let mut kernel = Kernel::new(
        "",
        &format!(
            "mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
             mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
             mov.u32 %r2, %ntid.z; mov.u32 %r3, %tid.z; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
             mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
             mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
             mad.wide.u32 %u1, %r1, {}, %data;\n{stores}",
            4 * registers.len()
        ),
    );
    kernel.config.block = block;
    kernel.config.grid = grid;
    kernel.config.dynamic_shared_bytes = 48;
    let threads = block.iter().chain(&grid).product::<u32>() as usize;
    let found = kernel.run(threads * registers.len());
    found[thread * registers.len()..][..registers.len()].to_vec()
}

#[test]
fn threads_know_their_place() {
    let registers = [
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%tid.w",
        "%ntid.x",
        "%ntid.y",
        "%ntid.z",
        "%ntid.w",
        "%ctaid.x",
        "%ctaid.y",
        "%ctaid.z",
        "%ctaid.w",
        "%nctaid.x",
        "%nctaid.y",
        "%nctaid.z",
        "%nctaid.w",
        "%laneid",
        "%warpid",
        "%nwarpid",
    ];
    let (block, grid) = ([5, 4, 3], [2, 3, 2]);
    // Block (1, 2, 1), thread (3, 1, 2): the 48th of 60, so lane 16 of warp 1.
    let block_number = 2 * (3 + 2) + 1;
    let in_block = 5 * (4 * 2 + 1) + 3;
    let found = read(&registers, block, grid, 60 * block_number + in_block);
    assert_eq!(
        found,
        [
            3,
            1,
            2,
            0,
            5,
            4,
            3,
            0,
            1,
            2,
            1,
            0,
            2,
            3,
            2,
            0,
            in_block as u32 % 32,
            in_block as u32 / 32,
            2
        ]
    );
}

#[test]
fn masks_compare_lanes() {
    let registers = [
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
    ];
    for lane in [0, 1, 17, 31] {
        let of = |keep: fn(u32, u32) -> bool| {
            (0..32u32)
                .filter(|other| keep(*other, lane))
                .fold(0, |mask, other| mask | 1 << other)
        };
        let expected = [
            of(|other, lane| other == lane),
            of(|other, lane| other < lane),
            of(|other, lane| other <= lane),
            of(|other, lane| other > lane),
            of(|other, lane| other >= lane),
        ];
        assert_eq!(
            read(&registers, [32, 1, 1], [1, 1, 1], lane as usize),
            expected,
            "lane {lane}"
        );
    }
}

#[test]
fn a_block_is_a_cluster_and_the_device_one_processor() {
    let registers = [
        "%clusterid.x",
        "%clusterid.y",
        "%nclusterid.x",
        "%nclusterid.y",
        "%cluster_ctaid.x",
        "%cluster_ctaid.w",
        "%cluster_nctaid.x",
        "%cluster_nctaid.z",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%smid",
        "%nsmid",
        "%gridid",
        "%dynamic_smem_size",
        "%total_smem_size",
        "%aggr_smem_size",
        "%envreg0",
        "%envreg31",
        "%pm0",
        "%pm7",
        "%reserved_smem_offset_begin",
        "%reserved_smem_offset_cap",
        "%reserved_smem_offset_1",
    ];
    let found = read(&registers, [1, 1, 1], [3, 2, 1], 4);
    assert_eq!(
        found,
        [
            1, 1, 3, 2, 0, 0, 1, 1, 0, 1, 0, 1, 0, 48, 48, 48, 0, 0, 0, 0, 0, 0, 0
        ]
    );
}

#[test]
fn vectors_and_other_widths() {
    let mut kernel = Kernel::new(
        "",
        "cvt.u32.u16 %r8, %tid.y; cvt.u64.u32 %u5, %ntid.y; cvt.s16.s8 %h5, %laneid; cvt.u32.u16 %r9, %h5; mad.lo.u32 %r8, %r8, 100, %r9;\n\
         cvt.u32.u64 %r9, %u5; mad.lo.u32 %r8, %r9, 10000, %r8; st.global.u32 [%data+44], %r8;\n\
         mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; mad.wide.u32 %u1, %r1, 24, %data; st.global.v4.u32 [%data], {%r1, %r2, %r3, %r4};\n\
         mov.v4.u16 {%h1, %h2, _, %h4}, %ntid; mov.u16 %h3, %ntid.y; mov.b32 %r5, {%h1, %h3}; st.global.u32 [%data+16], %r5;\n\
         mov.u64 %u2, %gridid; st.global.u64 [%data+24], %u2; mov.pred %p1, %is_explicit_cluster; selp.u32 %r6, 1, 2, %p1;\n\
         st.global.u32 [%data+20], %r6; mov.u64 %u3, %current_graph_exec; mov.u64 %u4, %pm3_64; or.b64 %u3, %u3, %u4;\n\
         st.global.u64 [%data+32], %u3; mov.u32 %r7, WARP_SZ; st.global.u32 [%data+40], %r7;",
    );
    kernel.config.block = [1, 7, 1];
    let mut data = vec![9; 12];
    data[10] = 0;
    assert_eq!(
        kernel.run_on(&data),
        [0, 6, 0, 0, 0x7_0001, 2, 0, 0, 0, 0, 32, 70_606]
    );
}

#[test]
fn clocks_go_forward() {
    let mut kernel = Kernel::new(
        "",
        "mov.u64 %u1, %clock64; mov.u32 %r1, %clock; mov.u64 %u2, %globaltimer; mov.u32 %r3, %globaltimer_lo; mov.u32 %r8, %clock_hi;\n\
         mov.u32 %r9, 0; LOOP: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 100; @%p1 bra LOOP;\n\
         mov.u64 %u3, %clock64; mov.u32 %r2, %clock; mov.u64 %u4, %globaltimer; mov.u32 %r4, %globaltimer_lo; mov.u32 %r7, %globaltimer_hi;\n\
         setp.lt.u64 %p1, %u1, %u3; setp.lt.u64 %p2, %u2, %u4; setp.lt.u32 %p3, %r1, %r2; setp.lt.u32 %p4, %r3, %r4; or.b32 %r8, %r8, %r7;\n\
         selp.u32 %r1, 1, 0, %p1; @%p2 or.b32 %r1, %r1, 2; @%p3 or.b32 %r1, %r1, 4; @%p4 or.b32 %r1, %r1, 8; st.global.v2.u32 [%data], {%r1, %r8};",
    );
    assert_eq!(kernel.run(2), [15, 0]);
}
