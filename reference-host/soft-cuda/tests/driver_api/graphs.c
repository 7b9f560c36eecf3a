/* A graph of a copy to the device, a kernel, and a copy back; launched, changed, and launched again. */
#include "checks.h"

enum { COUNT = 64 };

static CUDA_MEMCPY3D copy_of(void *to_host, CUdeviceptr to, const void *from_host, CUdeviceptr from, size_t bytes) {
  CUDA_MEMCPY3D copy = {0};
  copy.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = from_host;
  copy.srcDevice = from;
  copy.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = to_host;
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = 1;
  copy.Depth = 1;
  return copy;
}

void graphs(void) {
  CUcontext context;
  CUgraph graph;
  CUgraphNode up, add, down;
  CUgraphExec exec;
  CUdeviceptr a, b, sums;
  float ones[COUNT], results[COUNT];
  unsigned int count = COUNT;

  MUST(cuCtxCreate_v2(&context, 0, 0));
  CUmodule module = load_kernels();
  for (int i = 0; i < COUNT; i++) ones[i] = 1;
  MUST(cuMemAlloc_v2(&a, sizeof ones));
  b = upload(ones, sizeof ones);
  MUST(cuMemAlloc_v2(&sums, sizeof ones));
  MUST(cuMemsetD32_v2(sums, 0, COUNT));

  ANSWERS("a graph", CUDA_SUCCESS, cuGraphCreate(&graph, 0));
  CUDA_MEMCPY3D copy = copy_of(NULL, a, ones, 0, sizeof ones);
  ANSWERS("a node that copies to the device", CUDA_SUCCESS, cuGraphAddMemcpyNode(&up, graph, NULL, 0, &copy, context));
  void *params[] = {&a, &b, &sums, &count};
  CUDA_KERNEL_NODE_PARAMS node = {0};
  node.func = kernel(module, "add");
  node.gridDimX = 2, node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = 32, node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = params;
  ANSWERS("a node that launches", CUDA_SUCCESS, cuGraphAddKernelNode_v2(&add, graph, &up, 1, &node));
  copy = copy_of(results, 0, NULL, sums, sizeof results);
  ANSWERS("a node that copies back", CUDA_SUCCESS, cuGraphAddMemcpyNode(&down, graph, &add, 1, &copy, context));
  node.blockDimX = 2048;
  CUgraphNode refused;
  ANSWERS("a node with a block too large", CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2(&refused, graph, NULL, 0, &node));
  node.blockDimX = 32;

  ANSWERS("made ready", CUDA_SUCCESS, cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int turn = 1; turn <= 2; turn++) {
    results[0] = results[COUNT - 1] = 0;
    for (int i = 0; i < COUNT; i++) ones[i] = (float)turn;
    ANSWERS("launched", CUDA_SUCCESS, cuGraphLaunch(exec, NULL));
    ANSWERS("carried out", CUDA_SUCCESS, cuCtxSynchronize());
    IS("the first sum", turn + 1, results[0]);
    IS("the last sum", turn + 1, results[COUNT - 1]);
  }

  params[0] = &b;
  ANSWERS("another argument", CUDA_SUCCESS, cuGraphExecKernelNodeSetParams_v2(exec, add, &node));
  MUST(cuGraphLaunch(exec, NULL));
  MUST(cuCtxSynchronize());
  IS("the sum with that", 2, results[COUNT - 1]);
  ANSWERS("parameters of a node that does not launch", CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams_v2(exec, up, &node));

  ANSWERS("a circle", CUDA_SUCCESS, cuGraphAddDependencies(graph, &down, &up, 1));
  CUgraphExec circle;
  ANSWERS("which cannot be made ready", CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&circle, graph, 0));
  ANSWERS("destroying what was made ready", CUDA_SUCCESS, cuGraphExecDestroy(exec));
  ANSWERS("launching it", CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, NULL));
  ANSWERS("destroying the graph", CUDA_SUCCESS, cuGraphDestroy(graph));
  ANSWERS("destroying it again", CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
  MUST(cuCtxDestroy_v2(context));
}
