/* What a driver must refuse, with which code, and what goes on afterwards. */
#include <string.h>

#include "checks.h"

/* A load with both logs in buffers of these sizes: nothing is written behind them, and what is written ends. */
static void load_with_logs(const char *what, const char *source, CUresult expected, size_t length) {
  CUmodule module = NULL;
  char info[4097], error[4097];
  memset(info, 0xAA, sizeof info);
  memset(error, 0xAA, sizeof error);
  int options[] = {CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,  CU_JIT_ERROR_LOG_BUFFER,
                   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME};
  void *values[] = {info, (void *)length, error, (void *)length, NULL};
  ANSWERS(what, expected, cuModuleLoadDataEx(&module, source, 5, options, values));
  size_t written = (size_t)values[3];
  IS("its log's size", 1, written <= length && (size_t)values[1] <= length);
  if (length > 0) {
    IS("its log ends", 1, memchr(error, 0, length) != NULL);
    IS("its log has words", expected != CUDA_SUCCESS && length > 1, error[0] != 0);
  }
  IS("the byte behind its log", 0xAA, (unsigned char)error[length]);
  IS("the byte behind the other", 0xAA, (unsigned char)info[length]);
  if (expected == CUDA_SUCCESS) MUST(cuModuleUnload(module));
}

static void sources(void) {
  static const char unknown[] = ".version 8.0\n.target sm_80\n.address_size 64\n.entry e()\n{\n frobnicate.u32;\n}\n";
  CUmodule module = NULL;
  CUfunction function = NULL;
  const size_t lengths[] = {4096, 16, 1, 0};
  for (int i = 0; i < 4; i++) {
    load_with_logs("a good source with logs", kernels, CUDA_SUCCESS, lengths[i]);
    load_with_logs("an unknown instruction with logs", unknown, CUDA_ERROR_INVALID_PTX, lengths[i]);
  }
  int option = 1000;
  void *value = NULL;
  ANSWERS("an unknown option", CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&module, kernels, 1, &option, &value));
  ANSWERS("no source", CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&module, NULL));
  ANSWERS("no place for the module", CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, kernels));
  ANSWERS("no such file", CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nonexistent/kernels.ptx"));
  module = load_kernels();
  ANSWERS("a kernel that is not there", CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "subtract"));
  ANSWERS("a module that is none", CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&function, (CUmodule)0x1234, "add"));
  MUST(cuModuleUnload(module));
}

static void memory(void) {
  CUdeviceptr p = 0, none = 0;
  char bytes[16] = {0};
  ANSWERS("freeing nothing", CUDA_SUCCESS, cuMemFree_v2(0));
  ANSWERS("freeing no host memory", CUDA_SUCCESS, cuMemFreeHost(NULL));
  ANSWERS("unregistering nothing", CUDA_ERROR_INVALID_VALUE, cuMemHostUnregister(NULL));
  ANSWERS("no bytes", CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&none, 0));
  ANSWERS("too many bytes", CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&none, (size_t)1 << 60));
  MUST(cuMemAlloc_v2(&p, 16));
  ANSWERS("copying nothing from nowhere", CUDA_SUCCESS, cuMemcpyHtoD_v2(p, NULL, 0));
  ANSWERS("copying something from nowhere", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, NULL, 16));
  ANSWERS("copying one byte too many", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p + 1, bytes, 16));
  ANSWERS("copying as many as there are", CUDA_SUCCESS, cuMemcpyHtoD_v2(p, bytes, 16));
  ANSWERS("freeing from the middle", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(p + 1));
  ANSWERS("freeing", CUDA_SUCCESS, cuMemFree_v2(p));
  ANSWERS("freeing twice", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(p));
  ANSWERS("copying to what was freed", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, bytes, 16));
}

static void shapes(void) {
  static const struct {
    const char *what;
    unsigned int grid[3], block[3];
  } bad[] = {
      {"a grid of none", {0, 1, 1}, {1, 1, 1}},         {"a block of 2048", {1, 1, 1}, {2048, 1, 1}},
      {"a block 65 deep", {1, 1, 1}, {1, 1, 65}},       {"a block of 32 by 32 by 2", {1, 1, 1}, {32, 32, 2}},
      {"a block of none", {1, 1, 1}, {1, 0, 1}},        {"a grid 65536 high", {1, 65536, 1}, {1, 1, 1}},
  };
  static const unsigned int one[3] = {1, 1, 1};
  CUmodule module = load_kernels();
  CUfunction count = kernel(module, "count"), store = kernel(module, "store");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ANSWERS(bad[i].what, CUDA_ERROR_INVALID_VALUE, launch_shape(count, bad[i].grid, bad[i].block));
    ANSWERS("nothing to wait for", CUDA_SUCCESS, cuCtxSynchronize());
    ANSWERS("a good launch after it", CUDA_SUCCESS, launch_shape(count, one, one));
  }
  unsigned int word = 1;
  void *params[] = {NULL, &word};
  ANSWERS("an argument that is missing", CUDA_ERROR_INVALID_VALUE, launch(store, 1, 1, params));
  ANSWERS("all arguments missing", CUDA_ERROR_INVALID_VALUE, launch(store, 1, 1, NULL));
  ANSWERS("a function that is none", CUDA_ERROR_INVALID_HANDLE, launch((CUfunction)0x1234, 1, 1, NULL));
  MUST(cuModuleUnload(module));
}

/* A kernel that fails takes its context with it, and no other. */
static void sticky(const char *what, CUresult expected, const char *name) {
  CUcontext lost, next;
  CUdeviceptr address = 0, nowhere = 16;
  CUmodule module = NULL;
  unsigned int word = 5;
  void *params[] = {&nowhere, &word};

  MUST(cuCtxCreate_v2(&lost, 0, 0));
  MUST(launch(kernel(load_kernels(), name), 1, 1, params));
  ANSWERS(what, expected, cuCtxSynchronize());
  ANSWERS("is told again", expected, cuCtxSynchronize());
  ANSWERS("to an allocation", expected, cuMemAlloc_v2(&address, 4));
  ANSWERS("to a load", expected, cuModuleLoadData(&module, kernels));
  cuCtxDestroy_v2(lost);
  MUST(cuCtxCreate_v2(&next, 0, 0));
  address = upload(&word, sizeof word);
  params[0] = &address;
  word = 6;
  MUST(launch(kernel(load_kernels(), "store"), 1, 1, params));
  word = 0;
  MUST(cuMemcpyDtoH_v2(&word, address, 4));
  IS("a new context works", 6, word);
  MUST(cuCtxDestroy_v2(next));
}

void refusals(void) {
  CUcontext context;
  CUdeviceptr address;
  ANSWERS("memory without a context", CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&address, 4));
  MUST(cuCtxCreate_v2(&context, 0, 0));
  sources();
  memory();
  shapes();
  sticky("an address where nothing is", CUDA_ERROR_ILLEGAL_ADDRESS, "store");
  sticky("a kernel that does not end", CUDA_ERROR_LAUNCH_TIMEOUT, "endless");
  ANSWERS("the context of before works on", CUDA_SUCCESS, cuCtxSynchronize());
  MUST(cuCtxDestroy_v2(context));
  ANSWERS("destroying it twice", CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(context));
}
