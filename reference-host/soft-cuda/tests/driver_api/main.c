/* Drives a CUDA driver as a program that knows nothing of who made it: by linking with -lcuda.
 * Usage: program kernels.ptx */
#include <stdio.h>
#include <stdlib.h>

#include "checks.h"

const char *kernels;
static int checks;

static char *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  long length = -1;
  if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
    char *text = calloc((size_t)length + 1, 1);
    if (text && fread(text, 1, (size_t)length, file) == (size_t)length) {
      fclose(file);
      return text;
    }
  }
  fprintf(stderr, "%s cannot be read\n", path);
  exit(2);
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: %s kernels.ptx\n", arguments[0]);
    return 2;
  }
  /* A crash must not take the lines with it. */
  setvbuf(stdout, NULL, _IOLBF, 0);
  kernels = contents(arguments[1]);
  devices();
  launches();
  streams();
  graphs();
  linking();
  discovery();
  refusals();
  printf("%d checks passed\n", checks);
  return 0;
}

void check(const char *what, const char *expression, long long expected, long long got) {
  if (got != expected) {
    printf("FAILED %s: %s: expected %lld, got %lld\n", what, expression, expected, got);
    exit(1);
  }
  checks++;
  printf("ok %s\n", what);
}

void must(const char *file, int line, const char *expression, CUresult got) {
  if (got != CUDA_SUCCESS) {
    const char *name = "?";
    cuGetErrorName(got, &name);
    printf("FAILED %s:%d: %s: expected 0, got %u (%s)\n", file, line, expression, got, name);
    exit(1);
  }
}

CUdeviceptr upload(const void *bytes, size_t length) {
  CUdeviceptr address = 0;
  MUST(cuMemAlloc_v2(&address, length));
  MUST(cuMemcpyHtoD_v2(address, bytes, length));
  return address;
}

CUmodule load_kernels(void) {
  CUmodule module = NULL;
  MUST(cuModuleLoadData(&module, kernels));
  return module;
}

CUfunction kernel(CUmodule module, const char *name) {
  CUfunction function = NULL;
  MUST(cuModuleGetFunction(&function, module, name));
  return function;
}

CUresult launch(CUfunction function, unsigned int grid, unsigned int block, void **params) {
  return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL);
}

CUresult launch_shape(CUfunction function, const unsigned int grid[3], const unsigned int block[3]) {
  return cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0, NULL, NULL, NULL);
}
