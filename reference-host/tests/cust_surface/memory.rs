use cust::error::CudaError;
use cust::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBox, DeviceBuffer, DeviceMemory, DevicePointer,
    DeviceVariable, GpuBox, GpuBuffer, LockedBox, LockedBuffer, MemoryAdvise, UnifiedBox,
    UnifiedBuffer, UnifiedPointer, cuda_free, cuda_free_async, cuda_free_locked, cuda_free_unified,
    cuda_malloc, cuda_malloc_async, cuda_malloc_locked, cuda_malloc_unified, mem_get_info,
};
use cust::stream::{Stream, StreamFlags};
use cust::util::{DeviceCopyExt, SliceExt};

use crate::{device, enter};

fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream")
}

#[test]
fn boxes() {
    let _context = enter();
    let stream = stream();
    let mut one = DeviceBox::new(&7u64).expect("a box");
    assert_eq!(one.as_host_value(), Ok(7));
    one.copy_from(&8).expect("a copy");
    let mut two = 3u64.as_dbox().expect("a box");
    two.copy_from(&one).expect("a copy on the device");
    assert_eq!(two.as_host_value(), Ok(8));
    one.copy_from(&9).expect("a copy");
    one.copy_to(&mut two).expect("a copy on the device");
    assert_eq!(two.as_host_value(), Ok(9));
    assert_eq!(
        DeviceBox::<u32>::zeroed().expect("a box").as_host_value(),
        Ok(0)
    );
    let raw = DeviceBox::into_device(one);
    assert!(!raw.is_null());
    // SAFETY: the address of the box that was taken apart.
    let one = unsafe { DeviceBox::<u64>::from_device(raw) };
    assert_eq!(GpuBox::as_device_ptr(&one), raw);
    assert!(DeviceBox::drop(one).is_ok());
    // SAFETY: what is copied from and to outlives the stream's work, which is waited for.
    unsafe {
        let mut slow = DeviceBox::new_async(&5u32, &stream).expect("a box");
        let zero = DeviceBox::<u32>::zeroed_async(&stream).expect("a box");
        let mut seen = [1u32, 1];
        slow.async_copy_to(&mut seen[0], &stream).expect("a copy");
        zero.async_copy_to(&mut seen[1], &stream).expect("a copy");
        stream.synchronize().expect("the end");
        assert_eq!(seen, [5, 0]);
        slow.async_copy_from(&zero, &stream).expect("a copy");
        slow.async_copy_to(&mut seen[0], &stream).expect("a copy");
        stream.synchronize().expect("the end");
        assert_eq!(seen[0], 0);
        slow.drop_async(&stream).expect("a free");
        zero.drop_async(&stream).expect("a free");
    }
    stream.synchronize().expect("the end");
    let mut variable = DeviceVariable::new(4u32).expect("a variable");
    *variable = 6;
    variable.copy_htod().expect("a copy");
    *variable = 0;
    variable.copy_dtoh().expect("a copy");
    assert_eq!(*variable, 6);
    assert!(!variable.as_device_ptr().is_null());
    let place = (variable.as_raw_ptr(), variable.size_in_bytes());
    assert_eq!(place, (variable.as_device_ptr().as_raw(), 4));
}

#[test]
fn buffers_and_slices() {
    let _context = enter();
    let stream = stream();
    let words: Vec<u32> = (0..100).collect();
    let mut buffer = DeviceBuffer::from_slice(&words).expect("a buffer");
    assert_eq!((buffer.len(), buffer.is_empty()), (100, false));
    assert_eq!(buffer.as_host_vec().as_ref(), Ok(&words));
    assert_eq!(
        GpuBuffer::as_device_ptr(&buffer),
        buffer.as_slice().as_device_ptr()
    );
    assert_eq!(buffer.size_in_bytes(), 400);
    assert_eq!(buffer.as_raw_ptr(), buffer.as_slice().as_raw_ptr());
    assert_eq!(buffer.index(10..12).as_host_vec(), Ok(vec![10, 11]));
    assert_eq!(buffer.index(98..).as_host_vec(), Ok(vec![98, 99]));
    assert_eq!(buffer.index(..=1).as_host_vec(), Ok(vec![0, 1]));
    assert_eq!(buffer.index(5).as_host_vec(), Ok(vec![5]));
    let mut copy = DeviceBuffer::from_slice(&[0u32; 50]).expect("a buffer");
    copy.copy_from(&buffer.index(50..))
        .expect("a copy on the device");
    assert_eq!(copy.as_host_vec().as_deref(), Ok(&words[50..]));
    buffer
        .index(..50)
        .copy_to(&mut copy)
        .expect("a copy on the device");
    assert_eq!(copy.as_host_vec().as_deref(), Ok(&words[..50]));
    buffer.copy_from(&vec![7; 100]).expect("a copy");
    assert_eq!(buffer.as_host_vec(), Ok(vec![7; 100]));
    let mut bytes = DeviceBuffer::<u32>::zeroed(4).expect("a buffer");
    assert_eq!(bytes.as_host_vec(), Ok(vec![0; 4]));
    bytes.set_8(0xAB).expect("a fill");
    assert_eq!(bytes.as_host_vec(), Ok(vec![0xABAB_ABAB; 4]));
    bytes.set_16(0x1234).expect("a fill");
    assert_eq!(bytes.as_host_vec(), Ok(vec![0x1234_1234; 4]));
    bytes.set_32(0xDEAD_BEEF).expect("a fill");
    assert_eq!(bytes.as_host_vec(), Ok(vec![0xDEAD_BEEF; 4]));
    bytes.set_zero().expect("a fill");
    assert_eq!(bytes.as_host_vec(), Ok(vec![0; 4]));
    // SAFETY: the stream is waited for before anything is looked at.
    unsafe {
        bytes.set_8_async(1, &stream).expect("a fill");
        stream.synchronize().expect("the end");
        assert_eq!(bytes.as_host_vec(), Ok(vec![0x0101_0101; 4]));
        bytes.set_16_async(2, &stream).expect("a fill");
        stream.synchronize().expect("the end");
        assert_eq!(bytes.as_host_vec(), Ok(vec![0x0002_0002; 4]));
        bytes.set_32_async(3, &stream).expect("a fill");
        stream.synchronize().expect("the end");
        assert_eq!(bytes.as_host_vec(), Ok(vec![3; 4]));
        bytes.set_zero_async(&stream).expect("a fill");
        stream.synchronize().expect("the end");
        assert_eq!(bytes.as_host_vec(), Ok(vec![0; 4]));
        let slow = DeviceBuffer::from_slice_async(&words, &stream).expect("a buffer");
        let mut seen = vec![0u32; 100];
        slow.async_copy_to(&mut seen[..], &stream).expect("a copy");
        stream.synchronize().expect("the end");
        assert_eq!(seen, words);
        let zeros = DeviceBuffer::<u32>::zeroed_async(100, &stream).expect("a buffer");
        zeros.async_copy_to(&mut seen[..], &stream).expect("a copy");
        stream.synchronize().expect("the end");
        assert_eq!(seen, [0; 100]);
        slow.drop_async(&stream).expect("a free");
        zeros.drop_async(&stream).expect("a free");
        stream.synchronize().expect("the end");
    }
    let halves: DeviceBuffer<u16> = bytes.cast();
    assert_eq!(halves.len(), 8);
    let Err(_) = halves.try_cast::<[u8; 3]>() else {
        panic!("16 bytes are no multiple of 3");
    };
    assert!(DeviceBuffer::drop(buffer).is_ok());
    assert_eq!(words.as_slice().as_dbuf().expect("a buffer").len(), 100);
    assert!(
        DeviceBuffer::<u32>::from_slice(&[])
            .expect("nothing")
            .is_empty()
    );
}

#[test]
fn unified_memory() {
    let _context = enter();
    let stream = stream();
    let mut one = UnifiedBox::new(5u64).expect("a box");
    *one += 1;
    assert_eq!((*one, one > UnifiedBox::new(2).expect("a box")), (6, true));
    let raw = UnifiedBox::into_unified(one);
    assert!(!raw.is_null());
    // SAFETY: the address of the box that was taken apart.
    let one = unsafe { UnifiedBox::from_unified(raw) };
    assert_eq!(one.as_unified_ptr(), raw);
    assert!(UnifiedBox::drop(one).is_ok());
    let mut words = UnifiedBuffer::new(&3u32, 10).expect("a buffer");
    words[4] = 4;
    assert_eq!(words.as_slice(), [3, 3, 3, 3, 4, 3, 3, 3, 3, 3]);
    words.as_mut_slice().fill(1);
    words
        .prefetch_to_device(&stream, &device())
        .expect("a wish");
    words.advise_read_mostly(true).expect("a wish");
    words.advise_read_mostly(false).expect("a wish");
    words.preferred_location(Some(device())).expect("a wish");
    words.preferred_location(None).expect("a wish");
    words.unset_preferred_location().expect("a wish");
    words.prefetch_to_host(&stream).expect("a wish");
    stream.synchronize().expect("the end");
    assert_eq!(words.as_slice(), [1; 10]);
    // The device reads and writes the same bytes.
    let address = words.as_unified_ptr().as_raw() as u64;
    let copy = DeviceBuffer::from_slice(words.as_slice()).expect("a buffer");
    assert_eq!(copy.as_host_vec(), Ok(vec![1; 10]));
    // SAFETY: ten words lie there, which `words` owns: the slice that is taken for them is forgotten again.
    let mut seen =
        unsafe { DeviceBuffer::<u32>::from_raw_parts(DevicePointer::from_raw(address), 10) };
    seen.set_32(9).expect("a fill");
    std::mem::forget(seen);
    assert_eq!(words.as_slice(), [9; 10]);
    assert!(UnifiedBuffer::drop(words).is_ok());
    let two = [1u8, 2].as_slice().as_unified_buf().expect("a buffer");
    assert_eq!(two.as_slice(), [1, 2]);
    let leaked = UnifiedBox::leak(UnifiedBox::new(8u32).expect("a box"));
    assert_eq!(*leaked, 8);
    // SAFETY: the box was leaked, and nobody uses it any more.
    drop(unsafe { UnifiedBox::from_raw(leaked) });
}

#[test]
fn locked_memory() {
    let _context = enter();
    let stream = stream();
    let one = LockedBox::new(&4u32).expect("a box");
    assert_eq!((*one, one.as_raw().is_null()), (4, false));
    let raw = one.into_raw();
    // SAFETY: the address of the box that was taken apart.
    drop(unsafe { LockedBox::from_raw(raw) });
    let mut words = LockedBuffer::from_slice(&[1u32, 2, 3]).expect("a buffer");
    words[1] = 5;
    let mut on_device = DeviceBuffer::<u32>::zeroed(3).expect("a buffer");
    let mut back = LockedBuffer::new(&0u32, 3).expect("a buffer");
    // SAFETY: both outlive the stream's work.
    unsafe {
        on_device.async_copy_from(&words, &stream).expect("a copy");
        on_device.async_copy_to(&mut back, &stream).expect("a copy");
    }
    stream.synchronize().expect("the end");
    assert_eq!(back.as_slice(), [1, 5, 3]);
    back.as_mut_slice()[0] = 7;
    assert_eq!(back[0], 7);
    assert!(LockedBuffer::drop(words).is_ok());
}

#[test]
fn plain_allocations() {
    let _context = enter();
    let stream = stream();
    let (free, total) = mem_get_info().expect("numbers");
    assert_eq!(total, 80 << 30);
    assert!(free <= total);
    let word = DeviceBox::new(&0u32).expect("a box");
    // SAFETY: four bytes are read, and the box has as many.
    unsafe { cust::memory::memcpy_htod(word.as_raw_ptr(), (&raw const total).cast(), 4) }
        .expect("a copy");
    assert_eq!(word.as_host_value(), Ok(total as u32));
    // SAFETY: each allocation is given back once, and then given back wrongly, which the driver refuses.
    unsafe {
        let plain: DevicePointer<u64> = cuda_malloc(10).expect("memory");
        assert_eq!(plain.as_raw() % 256, 0);
        assert_eq!(plain.wrapping_add(1).as_raw() - plain.as_raw(), 8);
        assert_eq!(
            cuda_free(plain.wrapping_add(1)),
            Err(CudaError::InvalidValue)
        );
        assert_eq!(cuda_free(plain), Ok(()));
        assert_eq!(cuda_free(plain), Err(CudaError::InvalidValue));
        let ordered: DevicePointer<u64> = cuda_malloc_async(&stream, 10).expect("memory");
        assert_eq!(cuda_free_async(&stream, ordered), Ok(()));
        stream.synchronize().expect("the end");
        assert_eq!(
            cuda_free_async(&stream, ordered),
            Err(CudaError::InvalidValue)
        );
        let mut unified: UnifiedPointer<u64> = cuda_malloc_unified(10).expect("memory");
        *unified.as_raw_mut() = 1;
        assert_eq!(cuda_free_unified(unified), Ok(()));
        assert_eq!(cuda_free_unified(unified), Err(CudaError::InvalidValue));
        let locked: *mut u64 = cuda_malloc_locked(10).expect("memory");
        *locked = 1;
        assert_eq!(cuda_free_locked(locked), Ok(()));
        assert_eq!(cuda_free_locked(locked), Err(CudaError::InvalidValue));
        assert_eq!(
            cuda_malloc::<u64>(1 << 40).err(),
            Some(CudaError::OutOfMemory)
        );
    }
}
