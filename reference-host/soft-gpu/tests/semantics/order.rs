//! What speaks of the order of memory, of caches and of clusters: it is taken, and changes no value.

use crate::harness::Kernel;

#[test]
fn hints_and_fences_change_nothing() {
    let mut kernel = Kernel::new(
        "",
        "st.global.u32 [%data], 7; prefetch.global.L1 [%data]; prefetch.L2 [%data+64]; prefetch.global.L2::evict_last [%data];\n\
         prefetch.global.L2::evict_normal [%data]; prefetchu.L1 [%data]; prefetch.L1 [%u9]; prefetch.local.L2 [%u9];\n\
         applypriority.global.L2::evict_normal [%data], 128; discard.L2 [%data+128], 128;\n\
         createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %u2, 0.25; createpolicy.range.global.L2::evict_last.b64 %u3, [%data], 64, 128;\n\
         createpolicy.cvt.L2.b64 %u4, %u2;\n\
         membar.cta; membar.gl; membar.sys; membar.proxy.alias; fence.sc.cta; fence.acq_rel.gpu; fence.sys; fence.sc.cluster; fence.acquire.gpu;\n\
         fence.release.cta; fence.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster;\n\
         fence.mbarrier_init.release.cluster; fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta;\n\
         fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [%data], 128;\n\
         griddepcontrol.wait; griddepcontrol.launch_dependents; nanosleep.u32 1000000000; pmevent 3; pmevent.mask 5;\n\
         ld.global.u32 %r1, [%data]; add.u32 %r1, %r1, 1; st.global.u32 [%data], %r1;",
    );
    assert_eq!(kernel.run(2), [8, 0]);
}

#[test]
fn loads_and_stores_with_all_their_qualifiers() {
    let mut loads: Vec<String> = [
        "ld.global.ca.u32 %r1, [%data];",
        "ld.global.cg.u32 %r1, [%data];",
        "ld.global.cs.u32 %r1, [%data];",
        "ld.global.lu.u32 %r1, [%data];",
        "ld.global.cv.u32 %r1, [%data];",
        "ld.global.nc.u32 %r1, [%data];",
        "ld.global.nc.cs.u32 %r1, [%data];",
        "ld.global.nc.L1::no_allocate.L2::128B.u32 %r1, [%data];",
        "ld.global.L1::evict_last.L2::256B.u32 %r1, [%data];",
        "ld.L2::64B.u32 %r1, [%data];",
        "ld.global.L2::cache_hint.u32 %r1, [%data], %u5;",
        "ld.global.nc.L2::cache_hint.u32 %r1, [%data], %u5;",
        "ld.volatile.global.u32 %r1, [%data];",
        "ld.volatile.u32 %r1, [%data];",
        "ld.weak.global.u32 %r1, [%data];",
        "ld.mmio.relaxed.sys.global.u32 %r1, [%data];",
        "ld.u32.gpu.acquire %r1, [%data];",
        "ldu.global.u32 %r1, [%data];",
        "ldu.u32 %r1, [%data];",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut stores: Vec<String> = [
        "st.global.wb.u32 [%data+4], %r2;",
        "st.global.cg.u32 [%data+4], %r2;",
        "st.global.cs.u32 [%data+4], %r2;",
        "st.global.wt.u32 [%data+4], %r2;",
        "st.global.L1::no_allocate.u32 [%data+4], %r2;",
        "st.global.L2::cache_hint.u32 [%data+4], %r2, %u5;",
        "st.volatile.global.u32 [%data+4], %r2;",
        "st.weak.u32 [%data+4], %r2;",
        "st.mmio.relaxed.sys.global.u32 [%data+4], %r2;",
    ]
    .map(str::to_owned)
    .to_vec();
    for scope in ["cta", "cluster", "gpu", "sys"] {
        for order in ["relaxed", "acquire"] {
            loads.push(format!("ld.{order}.{scope}.global.u32 %r1, [%data];"));
        }
        for order in ["relaxed", "release"] {
            stores.push(format!("st.{order}.{scope}.u32 [%data+4], %r2;"));
        }
    }
    // Each load adds what it reads to a sum, each store is read back and adds its number.
    let mut code = "mov.u32 %r3, 0;\n".to_owned();
    for load in &loads {
        code.push_str(&format!("mov.u32 %r1, 0; {load} add.u32 %r3, %r3, %r1;\n"));
    }
    for (at, store) in stores.iter().enumerate() {
        code.push_str(&format!(
            "mov.u32 %r2, {}; {store} ld.global.u32 %r1, [%data+4]; add.u32 %r3, %r3, %r1;\n",
            at + 1
        ));
    }
    code.push_str("st.global.u32 [%data+8], %r3;");
    let (loads, stores) = (loads.len() as u32, stores.len() as u32);
    let expected = 1000 * loads + stores * (stores + 1) / 2;
    assert_eq!(
        Kernel::new("", &code).run_on(&[1000, 0, 0]),
        [1000, stores, expected]
    );
}

#[test]
fn a_cluster_is_one_block() {
    let mut kernel = Kernel::new(
        ".shared .align 8 .b32 cells[4];",
        "st.shared::cluster.u32 [cells+4], 5; mov.u32 %r1, cells; mapa.shared::cluster.u32 %r2, %r1, 0; ld.shared::cluster.u32 %r3, [%r2+4];\n\
         cvta.shared::cluster.u64 %u1, cells; mapa.u64 %u2, %u1, 0; ld.u32 %r4, [%u2+4]; cvta.to.shared::cluster.u64 %u3, %u2;\n\
         mapa.shared::cluster.u64 %u4, cells+4, 0; ld.shared.u32 %r5, [%u4]; isspacep.shared::cluster %p1, %u2; isspacep.shared::cta %p2, %u2;\n\
         selp.u32 %r6, 1, 0, %p1; @%p2 or.b32 %r6, %r6, 2; getctarank.u64 %r7, %u2; getctarank.shared::cluster.u32 %r8, cells; or.b32 %r7, %r7, %r8;\n\
         atom.shared::cluster.add.u32 %r9, [cells+4], 2; ld.shared.u32 %r10, [%u3+4];\n\
         st.global.v4.u32 [%data], {%r3, %r4, %r5, %r6}; st.global.v4.u32 [%data+16], {%r7, %r9, %r10, 0};",
    );
    let mut data = vec![0; 8];
    data[4] = 9;
    assert_eq!(kernel.run_on(&data), [5, 5, 5, 3, 0, 5, 7, 0]);
}

/// Without a debugger a breakpoint is a trap.
#[test]
fn a_breakpoint_stops_the_kernel() {
    let mut kernel = Kernel::new("", "setp.ne.u32 %p1, %t, 5; @%p1 exit; brkpt;").block(32);
    let fault = kernel.fault(16);
    assert_eq!(fault.kind, soft_gpu::FaultKind::Trap);
    assert_eq!(fault.thread, [5, 0, 0]);
}
