/* Checks: each prints a line; the first that fails ends the program with status 1. */
#ifndef CHECKS_H
#define CHECKS_H

#include "driver.h"

/* A call that must answer exactly this code. */
#define ANSWERS(what, code, call) check(what, #call, (long long)(code), (long long)(call))
/* A value that must be exactly this. */
#define IS(what, expected, value) check(what, #value, (long long)(expected), (long long)(value))
/* A call that must succeed so that the rest means something; counted and told only where it fails. */
#define MUST(call) must(__FILE__, __LINE__, #call, call)

void check(const char *what, const char *expression, long long expected, long long got);
void must(const char *file, int line, const char *expression, CUresult got);

/* Device memory that holds these bytes. */
CUdeviceptr upload(const void *bytes, size_t length);

/* The module of kernels.ptx in the current context, and its kernels. */
CUmodule load_kernels(void);
CUfunction kernel(CUmodule module, const char *name);
/* The text of kernels.ptx. */
extern const char *kernels;

/* A launch of as many threads as a test needs, in the default stream. */
CUresult launch(CUfunction function, unsigned int grid, unsigned int block, void **params);
CUresult launch_shape(CUfunction function, const unsigned int grid[3], const unsigned int block[3]);

void devices(void);
void launches(void);
void streams(void);
void graphs(void);
void linking(void);
void discovery(void);
void refusals(void);

#endif
