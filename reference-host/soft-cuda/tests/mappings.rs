//! How much of what a process has can be asked for; in a process of its own, since it leaves nothing for others meanwhile.

#![allow(clippy::indexing_slicing, reason = "a test that panics has failed")]

mod own;

use std::ptr::null_mut;

use own::*;
use soft_cuda::api::host_memory;

#[test]
fn many_pieces_are_refused_before_the_system_has_no_room_for_a_thread() {
    fresh();
    let mut made = Vec::new();
    let code = loop {
        let mut address = null_mut();
        let code = call!(host_memory::cuMemAllocHost_v2(&mut address, 1));
        if code != 0 {
            break code;
        }
        made.push(address);
    };
    assert_eq!(code, OUT_OF_MEMORY);
    assert!(made.len() > 30_000);
    assert!(std::thread::spawn(|| ()).join().is_ok());
    answers!(host_memory::cuMemFreeHost(made[0]));
    answers!(host_memory::cuMemAllocHost_v2(&mut made[0], 1));
    for address in made {
        answers!(host_memory::cuMemFreeHost(address));
    }
}
