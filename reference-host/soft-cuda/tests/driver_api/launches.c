/* The device, the primary context, and kernels launched in both ways. */
#include <string.h>

#include "checks.h"

enum { COUNT = 1000 };

void devices(void) {
  int number = 0, value = 0, active = 7;
  unsigned int flags = 7;
  CUdevice device = -1;
  CUcontext context = NULL;
  char name[64];

  ANSWERS("a call before cuInit", CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&number));
  ANSWERS("cuInit with a flag", CUDA_ERROR_INVALID_VALUE, cuInit(1));
  ANSWERS("cuInit", CUDA_SUCCESS, cuInit(0));
  ANSWERS("the driver's version", CUDA_SUCCESS, cuDriverGetVersion(&value));
  IS("the version is one of CUDA 12 or later", 1, value >= 12000);
  MUST(cuDeviceGetCount(&number));
  IS("there is a device", 1, number >= 1);
  ANSWERS("the first device", CUDA_SUCCESS, cuDeviceGet(&device, 0));
  ANSWERS("a device that is not there", CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, number));
  MUST(cuDeviceGetName(name, sizeof name, 0));
  IS("it has a name", 1, strlen(name) > 0);
  MUST(cuDeviceGetAttribute(&value, 10, 0));
  IS("a warp has 32 threads", 32, value);
  ANSWERS("an attribute that is none", CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, -1, 0));

  /* Released without having been retained, then retained twice. */
  ANSWERS("releasing what nobody retained", CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxGetCurrent(&context));
  IS("retaining does not make current", 1, context == NULL);
  MUST(cuDevicePrimaryCtxRelease_v2(0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  IS("active while one user is left", 1, active);
  MUST(cuDevicePrimaryCtxRelease_v2(0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  IS("not active after the last release", 0, active);
  ANSWERS("releasing once too often", CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuDevicePrimaryCtxReset_v2(0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  IS("not active after a reset", 0, active);
  cuDevicePrimaryCtxRelease_v2(0);
}

static int wrong_sums(CUdeviceptr sums, const float *a, const float *b) {
  float results[COUNT];
  int wrong = 0;
  MUST(cuMemcpyDtoH_v2(results, sums, sizeof results));
  for (int i = 0; i < COUNT; i++) wrong += results[i] != a[i] + b[i];
  return wrong;
}

void launches(void) {
  CUcontext context;
  float a[COUNT], b[COUNT];
  for (int i = 0; i < COUNT; i++) a[i] = (float)i, b[i] = 0.5f * (float)i;

  MUST(cuCtxCreate_v2(&context, 0, 0));
  CUmodule module = load_kernels();
  CUfunction add = kernel(module, "add");
  CUdeviceptr from = upload(a, sizeof a), with = upload(b, sizeof b), sums;
  unsigned int count = COUNT;
  MUST(cuMemAlloc_v2(&sums, sizeof a));

  MUST(cuMemsetD32_v2(sums, 0, COUNT));
  void *params[] = {&from, &with, &sums, &count};
  ANSWERS("a launch with kernelParams", CUDA_SUCCESS, launch(add, 4, 256, params));
  ANSWERS("it ends well", CUDA_SUCCESS, cuCtxSynchronize());
  IS("vectors are added", 0, wrong_sums(sums, a, b));

  struct {
    CUdeviceptr a, b, c;
    unsigned int n;
  } packed = {with, with, sums, COUNT};
  size_t bytes = offsetof(__typeof__(packed), n) + sizeof packed.n;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  ANSWERS("a launch with extra", CUDA_SUCCESS, cuLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
  MUST(cuCtxSynchronize());
  IS("arguments came from the buffer", 0, wrong_sums(sums, b, b));
  ANSWERS("both kinds of arguments at once", CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, NULL, params, extra));

  CUdeviceptr variable = 0;
  unsigned int launches = 0;
  MUST(cuModuleGetGlobal_v2(&variable, &bytes, module, "launches"));
  IS("a variable of four bytes", 4, bytes);
  MUST(launch(kernel(module, "count"), 2, 10, NULL));
  MUST(cuMemcpyDtoH_v2(&launches, variable, 4));
  IS("a module's variable counts threads", 23, launches);

  ANSWERS("unloading", CUDA_SUCCESS, cuModuleUnload(module));
  ANSWERS("unloading again", CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
  ANSWERS("launching what was unloaded", CUDA_ERROR_INVALID_HANDLE, launch(add, 1, 1, params));
  MUST(cuMemFree_v2(from));
  MUST(cuMemFree_v2(with));
  MUST(cuMemFree_v2(sums));
  ANSWERS("destroying the context", CUDA_SUCCESS, cuCtxDestroy_v2(context));
}
