/* The linker, and how functions of the driver are found by name. */
#include <string.h>

#include "checks.h"

static const char more[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry seven(.param .u64 at)\n{\n .reg .b64 %rd1;\n .reg .b32 %r1;\n"
    " ld.param.u64 %rd1, [at];\n mov.u32 %r1, 7;\n st.global.u32 [%rd1], %r1;\n ret;\n}\n";

void linking(void) {
  CUcontext context;
  CUlinkState link;
  CUmodule module;
  void *image = NULL;
  size_t bytes = 0;
  char log[256];
  unsigned int word = 0;

  MUST(cuCtxCreate_v2(&context, 0, 0));
  CUdeviceptr at = upload(&word, sizeof word);

  ANSWERS("a linker", CUDA_SUCCESS, cuLinkCreate_v2(0, NULL, NULL, &link));
  ANSWERS("one source", CUDA_SUCCESS, cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)kernels, strlen(kernels) + 1, "kernels.ptx", 0, NULL, NULL));
  ANSWERS("another", CUDA_SUCCESS, cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)more, sizeof more, "more.ptx", 0, NULL, NULL));
  ANSWERS("linked", CUDA_SUCCESS, cuLinkComplete(link, &image, &bytes));
  IS("the image has bytes", 1, image != NULL && bytes > 0);
  ANSWERS("the image loads", CUDA_SUCCESS, cuModuleLoadData(&module, image));
  ANSWERS("destroying the linker", CUDA_SUCCESS, cuLinkDestroy(link));
  void *params[] = {&at};
  MUST(launch(kernel(module, "seven"), 1, 1, params));
  MUST(cuMemcpyDtoH_v2(&word, at, 4));
  IS("a kernel of the second source ran", 7, word);
  MUST(launch(kernel(module, "count"), 1, 1, NULL));
  ANSWERS("and one of the first", CUDA_SUCCESS, cuCtxSynchronize());

  memset(log, 'x', sizeof log);
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(size_t)200};
  MUST(cuLinkCreate_v2(2, options, values, &link));
  CUresult refused = cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)".version 8.0\nnonsense\n", 23, "bad.ptx", 0, NULL, NULL);
  if (refused == CUDA_SUCCESS) refused = cuLinkComplete(link, &image, &bytes);
  IS("a source that is wrong is refused", CUDA_ERROR_INVALID_PTX, refused);
  MUST(cuLinkDestroy(link));
  IS("with a message that ends within its buffer", 1, memchr(log, 0, 200) != NULL && log[0] != 0 && log[0] != 'x');
  IS("and writes nothing behind that", 'x', log[200]);
  MUST(cuCtxDestroy_v2(context));
}

void discovery(void) {
  CUcontext context;
  void *found = NULL;
  const void *table = NULL;
  const char *name = NULL;
  unsigned int status = 9;
  CUdeviceptr address = 0;

  ANSWERS("cuMemAlloc by name", CUDA_SUCCESS, cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status));
  IS("found", 0, status);
  MUST(cuCtxCreate_v2(&context, 0, 0));
  CUresult (*allocate)(CUdeviceptr *, size_t);
  memcpy(&allocate, &found, sizeof allocate);
  ANSWERS("and called", CUDA_SUCCESS, allocate(&address, 64));
  ANSWERS("what it gave is memory", CUDA_SUCCESS, cuMemFree_v2(address));
  cuGetProcAddress_v2("cuMemAllocate", &found, 12000, 0, &status);
  IS("a name that is none", 1, status);
  IS("leads to no address", 1, found == NULL);
  cuGetProcAddress_v2("cuGraphCreate", &found, 9000, 0, &status);
  IS("a version before the function was there", 2, status);
  IS("leads to none either", 1, found == NULL);
  ANSWERS("without a name", CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(NULL, &found, 12000, 0, &status));
  ANSWERS("tables that are nobody's business", CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, "0123456789abcdef"));
  MUST(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
  IS("an error's name", 0, strcmp(name, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  ANSWERS("the name of what is no error", CUDA_ERROR_INVALID_VALUE, cuGetErrorName(12345, &name));
  MUST(cuCtxDestroy_v2(context));
}
