//! The functions that are called, with what each takes. A test compares the list with what the library exports.

use soft_cuda::api::graph_node::others as other_nodes;
use soft_cuda::api::*;

use crate::body::arguments::*;
use crate::body::draw::Draw;

/// A function of the driver's that can be called with drawn arguments.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) make: fn(&mut Draw) -> u32,
}

macro_rules! calls {
    ($($module:ident { $($name:ident($($argument:ident),*))* })*) => {
        /// All of them.
        pub(crate) const CALLS: &[Call] = &[$($(Call {
            name: stringify!($name),
            make: |_draw| {
                // SAFETY: drawn pointers are null or lead to memory that is large enough for what the function does there.
                unsafe { $module::$name($(Passed::into_c(<$argument as Argument>::draw(_draw))),*) }
            },
        }),*),*];
    };
}

calls! {
    device {
        cuInit(NoFlags)
        cuDriverGetVersion(Answer)
        cuDeviceGetCount(Answer)
        cuDeviceGet(Answer, Device)
        cuDeviceGetName(Answer, Length, Device)
        cuDeviceGetUuid(Answer, Device)
        cuDeviceGetUuid_v2(Answer, Device)
        cuDeviceGetLuid(Answer, Answer, Device)
        cuDeviceTotalMem_v2(Answer, Device)
        cuDeviceGetAttribute(Answer, Attribute, Device)
        cuDeviceComputeCapability(Answer, Answer, Device)
        cuDeviceGetProperties(Answer, Device)
        cuDeviceGetPCIBusId(Answer, Length, Device)
        cuDeviceGetByPCIBusId(Answer, Bus)
        cuDeviceCanAccessPeer(Answer, Device, Device)
        cuDeviceGetP2PAttribute(Answer, EnumInt, Device, Device)
        cuDeviceGetExecAffinitySupport(Answer, EnumInt, Device)
        cuDeviceGetTexture1DLinearMaxWidth(Answer, Enum, Enum, Device)
        cuGetExportTable(Places, Uuid)
    }
    error {
        cuGetErrorName(Code, Answer)
        cuGetErrorString(Code, Answer)
    }
    context {
        cuCtxCreate_v2(NewContext, Flags, Device)
        cuCtxCreate_v3(NewContext, Zeros, Zero, Flags, Device)
        cuCtxCreate_v4(NewContext, Zeros, Flags, Device)
        cuCtxDestroy_v2(EndContext)
        cuCtxDestroy(EndContext)
        cuCtxPushCurrent_v2(Context)
        cuCtxPushCurrent(Context)
        cuCtxPopCurrent_v2(Wanted)
        cuCtxPopCurrent(Wanted)
        cuCtxSetCurrent(SomeContext)
        cuCtxGetCurrent(Answer)
        cuCtxGetDevice(Answer)
        cuCtxGetDevice_v2(Answer, SomeContext)
        cuCtxGetFlags(Answer)
        cuCtxSetFlags(Flags)
        cuCtxGetId(SomeContext, Answer)
        cuCtxGetApiVersion(SomeContext, Answer)
        cuCtxGetLimit(Answer, Enum)
        cuCtxSetLimit(Enum, Size)
        cuCtxGetCacheConfig(Answer)
        cuCtxSetCacheConfig(Enum)
        cuCtxGetSharedMemConfig(Answer)
        cuCtxSetSharedMemConfig(Enum)
        cuCtxGetStreamPriorityRange(Wanted, Wanted)
        cuCtxResetPersistingL2Cache()
        cuCtxSynchronize()
        cuCtxSynchronize_v2(SomeContext)
        cuCtxEnablePeerAccess(Context, NoFlags)
        cuCtxDisablePeerAccess(Context)
    }
    primary {
        cuDevicePrimaryCtxRetain(Answer, Device)
        cuDevicePrimaryCtxRelease_v2(Device)
        cuDevicePrimaryCtxRelease(Device)
        cuDevicePrimaryCtxReset_v2(Device)
        cuDevicePrimaryCtxReset(Device)
        cuDevicePrimaryCtxSetFlags_v2(Device, Flags)
        cuDevicePrimaryCtxSetFlags(Device, Flags)
        cuDevicePrimaryCtxGetState(Device, Answer, Answer)
    }
    module {
        cuModuleLoad(NewModule, Path)
        cuModuleLoadData(NewModule, Image)
        cuModuleLoadDataEx(NewModule, Image, Two, LogOptions, LogValues)
        cuModuleLoadFatBinary(NewModule, Image)
        cuModuleUnload(EndModule)
        cuModuleGetLoadingMode(Answer)
        cuModuleGetFunction(NewFunction, Module, Name)
        cuModuleGetFunctionCount(Answer, Module)
        cuModuleEnumerateFunctions(Functions, Few, Module)
        cuModuleGetGlobal_v2(Wanted, Wanted, Module, Variable)
    }
    function {
        cuFuncGetAttribute(Answer, EnumInt, Function)
        cuFuncSetAttribute(Function, EnumInt, Number)
        cuFuncSetCacheConfig(Function, Enum)
        cuFuncSetSharedMemConfig(Function, Enum)
        cuFuncGetModule(Answer, Function)
        cuFuncGetName(Answer, Function)
        cuFuncGetParamInfo(Function, Index, Answer, Wanted)
        cuFuncGetParamCount(Function, Answer)
        cuFuncIsLoaded(Answer, Function)
        cuFuncLoad(Function)
    }
    launch {
        cuLaunchKernel(Function, Grid, Grid, Grid, Block, Block, Block, Shared, Stream, Params, NoExtra)
        cuLaunchCooperativeKernel(Function, Grid, Grid, Grid, Block, Block, Block, Shared, Stream, Params)
        cuLaunchKernelEx(Config, Function, Params, NoExtra)
    }
    memory {
        cuMemGetInfo_v2(Wanted, Wanted)
        cuMemAlloc_v2(NewMemory, Size)
        cuMemAllocPitch_v2(NewMemory, Answer, Size, Height, Element)
        cuMemFree_v2(FreeNow)
        cuMemGetAddressRange_v2(Wanted, Wanted, Address)
        cuMemAllocAsync(NewMemory, Size, Stream)
        cuMemFreeAsync(FreeLater, Stream)
    }
    copy {
        cuMemcpy(Address, Address, Size)
        cuMemcpyAsync(Address, Address, Size, Stream)
        cuMemcpyHtoD_v2(Address, HostSource, Size)
        cuMemcpyHtoDAsync_v2(Address, HostSource, Size, Stream)
        cuMemcpyDtoH_v2(HostTarget, Address, Size)
        cuMemcpyDtoHAsync_v2(HostTarget, Address, Size, Stream)
        cuMemcpyDtoD_v2(Address, Address, Size)
        cuMemcpyDtoDAsync_v2(Address, Address, Size, Stream)
        cuMemcpyPeer(Address, Context, Address, Context, Size)
        cuMemcpyPeerAsync(Address, Context, Address, Context, Size, Stream)
    }
    rows {
        cuMemcpy2D_v2(Copy2)
        cuMemcpy2DUnaligned_v2(Copy2)
        cuMemcpy2DAsync_v2(Copy2, Stream)
        cuMemcpy3D_v2(Copy3)
        cuMemcpy3DAsync_v2(Copy3, Stream)
        cuMemcpy3DPeer(CopyPeer)
        cuMemcpy3DPeerAsync(CopyPeer, Stream)
    }
    fill {
        cuMemsetD8_v2(Address, Byte, Size)
        cuMemsetD16_v2(Address, Half, Size)
        cuMemsetD32_v2(Address, Word, Size)
        cuMemsetD8Async(Address, Byte, Size, Stream)
        cuMemsetD16Async(Address, Half, Size, Stream)
        cuMemsetD32Async(Address, Word, Size, Stream)
        cuMemsetD2D8_v2(Address, Pitch, Byte, Size, Height)
        cuMemsetD2D16_v2(Address, Pitch, Half, Size, Height)
        cuMemsetD2D32_v2(Address, Pitch, Word, Size, Height)
        cuMemsetD2D8Async(Address, Pitch, Byte, Size, Height, Stream)
        cuMemsetD2D16Async(Address, Pitch, Half, Size, Height, Stream)
        cuMemsetD2D32Async(Address, Pitch, Word, Size, Height, Stream)
    }
    host_memory {
        cuMemAllocHost_v2(NewHost, Size)
        cuMemHostAlloc(NewHost, Size, Flags)
        cuMemFreeHost(FreeHost)
        cuMemHostRegister_v2(Register, RegisterSize, Flags)
        cuMemHostUnregister(Unregister)
        cuMemHostGetDevicePointer_v2(Answer, SomeHost, NoFlags)
        cuMemHostGetFlags(Answer, SomeHost)
    }
    managed {
        cuMemAllocManaged(NewMemory, Size, OneOrTwo)
        cuMemPrefetchAsync(AnyAddress, Size, Number, Stream)
        cuMemPrefetchAsync_v2(AnyAddress, Size, Location, NoFlags, Stream)
        cuMemAdvise(AnyAddress, Size, Enum, Number)
        cuMemAdvise_v2(AnyAddress, Size, Enum, Location)
        cuMemRangeGetAttribute(Answer, Eight, Enum, AnyAddress, Size)
        cuMemRangeGetAttributes(Places, FewSizes, Attributes, Index, AnyAddress, Size)
        cuStreamAttachMemAsync(Stream, AnyAddress, Size, OneOrTwo)
    }
    pointer {
        cuPointerGetAttribute(Answer, Enum, AnyAddress)
        cuPointerGetAttributes(Few, Attributes, Places, AnyAddress)
        cuPointerSetAttribute(Zeros, Enum, AnyAddress)
    }
    pool {
        cuMemPoolCreate(NewPool, PoolProps)
        cuMemPoolDestroy(EndPool)
        cuMemPoolTrimTo(Pool, Size)
        cuMemPoolSetAttribute(Pool, Enum, Zeros)
        cuMemPoolGetAttribute(Pool, Enum, Answer)
        cuMemPoolSetAccess(Pool, Access, One)
        cuMemPoolGetAccess(Answer, Pool, Locations)
        cuMemAllocFromPoolAsync(NewMemory, Size, Pool, Stream)
        cuDeviceGetDefaultMemPool(Answer, Device)
        cuDeviceGetMemPool(Answer, Device)
        cuDeviceSetMemPool(Device, Pool)
        cuMemGetDefaultMemPool(Answer, Locations, PoolKind)
        cuMemGetMemPool(Answer, Locations, PoolKind)
        cuMemSetMemPool(Locations, PoolKind, Pool)
    }
    stream {
        cuStreamCreate(NewStream, Flags)
        cuStreamCreateWithPriority(NewStream, Flags, Priority)
        cuStreamDestroy_v2(EndStream)
        cuStreamDestroy(EndStream)
        cuStreamQuery(Stream)
        cuStreamSynchronize(Stream)
        cuStreamWaitEvent(Stream, Event, NoFlags)
        cuStreamGetPriority(Stream, Answer)
        cuStreamGetFlags(Stream, Answer)
        cuStreamGetId(Stream, Answer)
        cuStreamGetDevice(Stream, Answer)
        cuStreamGetCtx(Stream, Answer)
        cuStreamGetCtx_v2(Stream, Answer, Wanted)
        cuStreamAddCallback(Stream, Callback, UserData, NoFlags)
        cuLaunchHostFunc(Stream, Plain, UserData)
        cuLaunchHostFunc_v2(Stream, Plain, UserData, Flags)
    }
    event {
        cuEventCreate(NewEvent, Flags)
        cuEventRecord(Event, Stream)
        cuEventRecordWithFlags(Event, Stream, NoFlags)
        cuEventQuery(Event)
        cuEventSynchronize(Event)
        cuEventDestroy_v2(EndEvent)
        cuEventDestroy(EndEvent)
        cuEventElapsedTime(Answer, Event, Event)
        cuEventElapsedTime_v2(Answer, Event, Event)
    }
    graph {
        cuGraphCreate(NewGraph, NoFlags)
        cuGraphDestroy(EndGraph)
        cuGraphClone(NewGraph, Graph)
        cuGraphNodeFindInClone(NewNode, Node, Graph)
        cuGraphDestroyNode(EndNode)
        cuGraphNodeGetType(Node, Answer)
        cuGraphNodeGetContainingGraph(Node, Answer)
        cuGraphNodeGetLocalId(Node, Answer)
        cuGraphNodeGetToolsId(Node, Answer)
        cuGraphGetId(Graph, Answer)
        cuGraphExecGetId(Exec, Answer)
        cuGraphGetNodes(Graph, Wanted, Room)
        cuGraphGetRootNodes(Graph, Wanted, Room)
        cuGraphGetEdges(Graph, Wanted, Wanted, Room)
        cuGraphGetEdges_v2(Graph, Wanted, Wanted, Wanted, Room)
        cuGraphNodeGetDependencies(Node, Wanted, Room)
        cuGraphNodeGetDependencies_v2(Node, Wanted, Wanted, Room)
        cuGraphNodeGetDependentNodes(Node, Wanted, Room)
        cuGraphNodeGetDependentNodes_v2(Node, Wanted, Wanted, Room)
        cuGraphAddDependencies(Graph, Nodes, Nodes, NodeCount)
        cuGraphAddDependencies_v2(Graph, Nodes, Nodes, Zeros, NodeCount)
        cuGraphRemoveDependencies(Graph, Nodes, Nodes, NodeCount)
        cuGraphRemoveDependencies_v2(Graph, Nodes, Nodes, Zeros, NodeCount)
        cuGraphDebugDotPrint(Graph, Path, Flags)
    }
    graph_node {
        cuGraphAddKernelNode_v2(NewNode, Graph, Nodes, NodeCount, KernelNode)
        cuGraphKernelNodeGetParams_v2(Node, Answer)
        cuGraphKernelNodeSetParams_v2(Node, KernelNode)
        cuGraphAddKernelNode(NewNode, Graph, Nodes, NodeCount, KernelNode1)
        cuGraphKernelNodeGetParams(Node, Answer)
        cuGraphKernelNodeSetParams(Node, KernelNode1)
        cuGraphAddMemcpyNode(NewNode, Graph, Nodes, NodeCount, Copy3, SomeContext)
        cuGraphMemcpyNodeGetParams(Node, Answer)
        cuGraphMemcpyNodeSetParams(Node, Copy3)
        cuGraphAddMemsetNode(NewNode, Graph, Nodes, NodeCount, FillNode, SomeContext)
        cuGraphMemsetNodeGetParams(Node, Answer)
        cuGraphMemsetNodeSetParams(Node, FillNode)
        cuGraphAddHostNode(NewNode, Graph, Nodes, NodeCount, HostNode)
        cuGraphHostNodeGetParams(Node, Answer)
        cuGraphHostNodeSetParams(Node, HostNode)
    }
    other_nodes {
        cuGraphAddEmptyNode(NewNode, Graph, Nodes, NodeCount)
        cuGraphAddChildGraphNode(NewNode, Graph, Nodes, NodeCount, Graph)
        cuGraphChildGraphNodeGetGraph(Node, Answer)
        cuGraphAddEventRecordNode(NewNode, Graph, Nodes, NodeCount, Event)
        cuGraphEventRecordNodeGetEvent(Node, Answer)
        cuGraphEventRecordNodeSetEvent(Node, Event)
        cuGraphAddEventWaitNode(NewNode, Graph, Nodes, NodeCount, Event)
        cuGraphEventWaitNodeGetEvent(Node, Answer)
        cuGraphEventWaitNodeSetEvent(Node, Event)
        cuGraphAddNode(NewNode, Graph, Nodes, NodeCount, AnyNode)
        cuGraphAddNode_v2(NewNode, Graph, Nodes, Zeros, NodeCount, AnyNode)
        cuGraphNodeSetParams(Node, AnyNode)
    }
    graph_exec {
        cuGraphInstantiateWithFlags(NewExec, Graph, LongFlags)
        cuGraphInstantiateWithParams(NewExec, Graph, Instantiation)
        cuGraphInstantiate(NewExec, Graph, Wanted, LogPlace, LogSize)
        cuGraphInstantiate_v2(NewExec, Graph, Wanted, LogPlace, LogSize)
        cuGraphExecGetFlags(Exec, Answer)
        cuGraphExecDestroy(EndExec)
        cuGraphLaunch(Exec, Stream)
        cuGraphUpload(Exec, Stream)
        cuGraphExecUpdate_v2(Exec, Graph, Answer)
        cuGraphExecUpdate(Exec, Graph, Wanted, Wanted)
        cuGraphExecKernelNodeSetParams_v2(Exec, Node, KernelNode)
        cuGraphExecKernelNodeSetParams(Exec, Node, KernelNode1)
        cuGraphExecMemcpyNodeSetParams(Exec, Node, Copy3, SomeContext)
        cuGraphExecMemsetNodeSetParams(Exec, Node, FillNode, SomeContext)
        cuGraphExecHostNodeSetParams(Exec, Node, HostNode)
        cuGraphExecEventRecordNodeSetEvent(Exec, Node, Event)
        cuGraphExecEventWaitNodeSetEvent(Exec, Node, Event)
        cuGraphExecChildGraphNodeSetParams(Exec, Node, Graph)
        cuGraphExecNodeSetParams(Exec, Node, AnyNode)
        cuGraphNodeSetEnabled(Exec, Node, Few)
        cuGraphNodeGetEnabled(Exec, Node, Answer)
    }
    library {
        cuLibraryLoadData(NewLibrary, Image, NoOptions, NoValues, None0, NoOptions, NoValues, None0)
        cuLibraryLoadFromFile(NewLibrary, Path, NoOptions, NoValues, None0, NoOptions, NoValues, None0)
        cuLibraryUnload(EndLibrary)
        cuLibraryGetKernel(NewKernel, Library, Name)
        cuLibraryGetKernelCount(Answer, Library)
        cuLibraryEnumerateKernels(Kernels, Few, Library)
        cuLibraryGetModule(Answer, Library)
        cuLibraryGetGlobal(Wanted, Wanted, Library, Variable)
        cuLibraryGetManaged(Wanted, Wanted, Library, Variable)
        cuLibraryGetUnifiedFunction(Answer, Library, Name)
        cuKernelGetFunction(NewFunction, Kernel)
        cuKernelGetLibrary(Answer, Kernel)
        cuKernelGetName(Answer, Kernel)
        cuKernelGetAttribute(Answer, EnumInt, Kernel, Device)
        cuKernelSetAttribute(EnumInt, Number, Kernel, Device)
        cuKernelSetCacheConfig(Kernel, Enum, Device)
        cuKernelGetParamInfo(Kernel, Index, Answer, Wanted)
        cuKernelGetParamCount(Kernel, Answer)
    }
    link {
        cuLinkCreate_v2(Two, LogOptions, LogValues, NewLink)
        cuLinkCreate(Two, LogOptions, LogValues, NewLink)
        cuLinkAddData_v2(Link, DataKind, Data, DataSize, Name, None0, NoOptions, NoValues)
        cuLinkAddData(Link, DataKind, Data, DataSize, Name, None0, NoOptions, NoValues)
        cuLinkAddFile_v2(Link, DataKind, Path, None0, NoOptions, NoValues)
        cuLinkAddFile(Link, DataKind, Path, None0, NoOptions, NoValues)
        cuLinkComplete(Link, Answer, Wanted)
        cuLinkDestroy(EndLink)
    }
    discovery {
        cuGetProcAddress_v2(Symbol, Answer, Version, LongFlags, Wanted)
        cuGetProcAddress(Symbol, Answer, Version, LongFlags)
    }
    occupancy {
        cuOccupancyMaxActiveBlocksPerMultiprocessor(Answer, Function, Number, Size)
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(Answer, Function, Number, Size, Flags)
        cuOccupancyMaxPotentialBlockSize(Answer, Answer, Function, SharedOf, Size, Number)
        cuOccupancyMaxPotentialBlockSizeWithFlags(Answer, Answer, Function, SharedOf, Size, Number, Flags)
        cuOccupancyAvailableDynamicSMemPerBlock(Answer, Function, Number, Number)
        cuOccupancyMaxPotentialClusterSize(Answer, Function, Config)
        cuOccupancyMaxActiveClusters(Answer, Function, Config)
    }
    stream_attribute {
        cuStreamGetAttribute(Stream, Enum, Answer)
        cuStreamSetAttribute(Stream, Enum, Zeros)
        cuStreamCopyAttributes(Stream, Stream)
        cuStreamIsCapturing(Stream, Answer)
        cuStreamGetCaptureInfo_v2(Stream, Answer, Wanted, Wanted, Wanted, Wanted)
        cuStreamGetCaptureInfo_v3(Stream, Answer, Wanted, Wanted, Wanted, Wanted, Wanted)
        cuThreadExchangeStreamCaptureMode(Answer)
    }
    profiler {
        cuProfilerInitialize(Path, Path, Enum)
        cuProfilerStart()
        cuProfilerStop()
    }
}
