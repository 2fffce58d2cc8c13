// A card of 10 GiB, of which 1 GiB is free in one piece and 8 GiB in another.
// -DSHORT leaves a function out.
#include <stddef.h>
#include <stdlib.h>
#define MIB (1ULL << 20)
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201 };

static unsigned long long pieces[] = {8192 * MIB, 1024 * MIB}, sizes[64];
static void *current;
static int retained, blocks, here;

int cuInit(unsigned flags) { return getenv("FAKE_CUINIT") ? atoi(getenv("FAKE_CUINIT")) : SUCCESS; }
int cuDeviceGet(int *d, int n) { *d = 5 + n; return SUCCESS; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &here; retained++; return d == 5 ? SUCCESS : INVALID_VALUE; }
int cuDevicePrimaryCtxRelease_v2(int d) { retained--; return SUCCESS; }
int cuCtxSetCurrent(void *c) { current = c; return SUCCESS; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
	if (current != &here) return INVALID_CONTEXT;
	*free = pieces[0] + pieces[1];
	*total = 10240 * MIB;
	return SUCCESS;
}
int cuMemAlloc_v2(unsigned long long *p, size_t n) {
	if (current != &here) return INVALID_CONTEXT;
	for (int i = 0; i < 2; i++) {
		if (pieces[i] < n) continue;
		pieces[i] -= n;
		sizes[blocks] = n;
		*p = 1000 + blocks++;
		return SUCCESS;
	}
	return OUT_OF_MEMORY;
}
#ifndef SHORT
int cuMemFree_v2(unsigned long long p) {
	if (current != &here) return INVALID_CONTEXT;
	pieces[0] += sizes[p - 1000];
	return SUCCESS;
}
#endif
int cuGetErrorString(int r, const char **s) {
	if (r == 999) return INVALID_VALUE;
	*s = r == 100 ? "no CUDA-capable device is detected" : "some error";
	return SUCCESS;
}

// For the tests: what is free, and how many contexts are held.
unsigned long long fake_free(void) { return pieces[0] + pieces[1]; }
int fake_retained(void) { return retained; }
