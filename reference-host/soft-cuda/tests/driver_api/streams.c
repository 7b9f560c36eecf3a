/* Streams, pinned memory, events and functions of the program's. */
#include "checks.h"

static void note(void *place) { *(int *)place += 1; }

void streams(void) {
  enum { WORDS = 256 };
  CUcontext context;
  CUstream one, other;
  CUevent start, end, untimed, never;
  CUdeviceptr words;
  unsigned int *pinned = NULL;
  volatile int calls = 0;
  float forth = -1, back = 1;

  MUST(cuCtxCreate_v2(&context, 0, 0));
  MUST(cuStreamCreate(&one, 0));
  MUST(cuStreamCreate(&other, 1));
  MUST(cuEventCreate(&start, 0));
  MUST(cuEventCreate(&end, 0));
  MUST(cuEventCreate(&untimed, 2));
  MUST(cuEventCreate(&never, 0));
  MUST(cuMemAlloc_v2(&words, WORDS * 4));
  MUST(cuMemAllocHost_v2((void **)&pinned, WORDS * 4));

  for (int i = 0; i < WORDS; i++) pinned[i] = (unsigned int)i;
  MUST(cuEventRecord(start, one));
  MUST(cuMemcpyHtoDAsync_v2(words, pinned, WORDS * 4, one));
  MUST(cuLaunchHostFunc(one, note, (void *)&calls));
  MUST(cuEventRecord(end, one));
  ANSWERS("one stream waits for another", CUDA_SUCCESS, cuStreamWaitEvent(other, end, 0));
  MUST(cuLaunchHostFunc(other, note, (void *)&calls));
  ANSWERS("waiting for the second stream", CUDA_SUCCESS, cuStreamSynchronize(other));
  IS("both functions were called once", 2, calls);
  ANSWERS("the first stream has ended too", CUDA_SUCCESS, cuStreamSynchronize(one));
  ANSWERS("and says so", CUDA_SUCCESS, cuStreamQuery(one));

  for (int i = 0; i < WORDS; i++) pinned[i] = 0;
  MUST(cuMemcpyDtoHAsync_v2(pinned, words, WORDS * 4, one));
  MUST(cuStreamSynchronize(one));
  int wrong = 0;
  for (int i = 0; i < WORDS; i++) wrong += pinned[i] != (unsigned int)i;
  IS("pinned memory came back", 0, wrong);

  ANSWERS("the event's end", CUDA_SUCCESS, cuEventSynchronize(end));
  ANSWERS("the event asked", CUDA_SUCCESS, cuEventQuery(end));
  MUST(cuEventElapsedTime(&forth, start, end));
  MUST(cuEventElapsedTime(&back, end, start));
  IS("time went forward", 1, forth >= 0);
  IS("and the other way round it is negative", 1, back == -forth);
  MUST(cuEventRecord(untimed, one));
  MUST(cuEventSynchronize(untimed));
  ANSWERS("the time of an event without", CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&forth, start, untimed));
  ANSWERS("the time of an event that was not recorded", CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&forth, start, never));

  ANSWERS("destroying a stream", CUDA_SUCCESS, cuStreamDestroy_v2(one));
  ANSWERS("destroying it again", CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(one));
  ANSWERS("waiting for it", CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(one));
  ANSWERS("destroying an event", CUDA_SUCCESS, cuEventDestroy_v2(start));
  ANSWERS("recording it", CUDA_ERROR_INVALID_HANDLE, cuEventRecord(start, other));
  MUST(cuStreamDestroy_v2(other));
  MUST(cuEventDestroy_v2(end));
  MUST(cuEventDestroy_v2(untimed));
  MUST(cuEventDestroy_v2(never));
  MUST(cuMemFreeHost(pinned));
  MUST(cuMemFree_v2(words));
  MUST(cuCtxDestroy_v2(context));
}
