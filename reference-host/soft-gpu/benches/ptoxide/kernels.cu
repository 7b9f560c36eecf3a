// Kernels in the part of PTX that ptoxide executes: 64-bit sizes, no tiles, no unrolling.

extern "C" __global__ void vector_sum(const float *a, const float *b, float *c, unsigned long long n) {
  unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

extern "C" __global__ void matrix_product(const float *a, const float *b, float *c, unsigned long long n) {
  unsigned long long row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n)
    return;
  float sum = 0;
#pragma unroll 1
  for (unsigned long long k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
