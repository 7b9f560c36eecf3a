use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use cust::{CudaApiVersion, CudaFlags};

use crate::device;

#[test]
fn one_device_with_its_name_and_memory() {
    let device = device();
    cust::init(CudaFlags::empty()).expect("to start again changes nothing");
    assert_eq!(Device::num_devices(), Ok(1));
    let devices: Vec<Device> = Device::devices()
        .expect("devices")
        .collect::<Result<_, _>>()
        .expect("each of them");
    assert_eq!(devices.len(), 1);
    assert_eq!(devices[0].as_raw(), device.as_raw());
    assert_eq!(device.name().as_deref(), Ok("soft-cuda sm_90"));
    assert_eq!(device.total_memory(), Ok(80 << 30));
    assert_eq!(Device::get_device(1).err(), Some(CudaError::InvalidDevice));
    assert_eq!(
        Device::get_device(u32::MAX).err(),
        Some(CudaError::InvalidDevice)
    );
    let version = CudaApiVersion::get().expect("a version");
    assert_eq!((version.major(), version.minor()), (13, 5));
}

#[test]
fn every_attribute() {
    use DeviceAttribute::*;
    let device = device();
    let known = [
        (MaxThreadsPerBlock, 1024),
        (MaxBlockDimX, 1024),
        (MaxBlockDimY, 1024),
        (MaxBlockDimZ, 64),
        (MaxGridDimX, i32::MAX),
        (MaxGridDimY, 65_535),
        (MaxGridDimZ, 65_535),
        (MaxSharedMemoryPerBlock, 48 << 10),
        (TotalConstantMemory, 64 << 10),
        (WarpSize, 32),
        (MaxRegistersPerBlock, 65_536),
        (MultiprocessorCount, 132),
        (KernelExecTimeout, 0),
        (Integrated, 0),
        (CanMapHostMemory, 1),
        (ComputeMode, 0),
        (ConcurrentKernels, 1),
        (EccEnabled, 0),
        (MaxThreadsPerMultiprocessor, 2048),
        (UnifiedAddressing, 1),
        (ComputeCapabilityMajor, 9),
        (ComputeCapabilityMinor, 0),
        (StreamPrioritiesSupported, 1),
        (MaxSharedMemoryPerMultiprocessor, 228 << 10),
        (MaxRegistersPerMultiprocessor, 65_536),
        (ManagedMemory, 1),
        (MultiGpuBoard, 0),
        (ConcurrentManagedAccess, 1),
        (ComputePreemptionSupported, 1),
        (CanUseHostPointerForRegisteredMem, 1),
    ];
    for (attribute, value) in known {
        assert_eq!(device.get_attribute(attribute), Ok(value), "{attribute:?}");
    }
    // What there is none of has no size.
    let none = [
        MaximumTexture1DWidth,
        MaximumTexture2DWidth,
        MaximumTexture2DHeight,
        MaximumTexture3DWidth,
        MaximumTexture3DHeight,
        MaximumTexture3DDepth,
        MaximumTexture2DLayeredWidth,
        MaximumTexture2DLayeredHeight,
        MaximumTexture2DLayeredLayers,
        MaximumTexture1DLayeredWidth,
        MaximumTexture1DLayeredLayers,
        MaximumTexture2DGatherWidth,
        MaximumTexture2DGatherHeight,
        MaximumTexture3DWidthAlternate,
        MaximumTexture3DHeightAlternate,
        MaximumTexture3DDepthAlternate,
        MaximumTextureCubemapWidth,
        MaximumTextureCubemapLayeredWidth,
        MaximumTextureCubemapLayeredLayers,
        MaximumSurface1DWidth,
        MaximumSurface2DWidth,
        MaximumSurface2DHeight,
        MaximumSurface3DWidth,
        MaximumSurface3DHeight,
        MaximumSurface3DDepth,
        MaximumSurface1DLayeredWidth,
        MaximumSurface1DLayeredLayers,
        MaximumSurface2DLayeredWidth,
        MaximumSurface2DLayeredHeight,
        MaximumSurface2DLayeredLayers,
        MaximumSurfacecubemapWidth,
        MaximumSurfacecubemapLayeredWidth,
        MaximumSurfacecubemapLayeredLayers,
        MaximumTexture1DLinearWidth,
        MaximumTexture2DLinearWidth,
        MaximumTexture2DLinearHeight,
        MaximumTexture2DLinearPitch,
        MaximumTexture2DMipmappedWidth,
        MaximumTexture2DMipmappedHeight,
        MaximumTexture1DMipmappedWidth,
    ];
    for attribute in none {
        assert_eq!(device.get_attribute(attribute), Ok(0), "{attribute:?}");
    }
}
