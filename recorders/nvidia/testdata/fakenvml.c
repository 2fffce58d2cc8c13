// A library with the few functions of NVML that memtrix calls, to test how it
// deals with drivers. Structures and numbers are those of NVIDIA's nvml.h
// (version 13). What it answers is set by environment variables; -DOLD leaves
// out what came with driver 510.
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>

typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process;

#define GIB (1ULL << 30)
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static int number(const char *name, int otherwise) {
	const char *s = getenv(name);
	return s ? atoi(s) : otherwise;
}

int nvmlInit_v2(void) { return number("FAKE_INIT", SUCCESS); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int r) { return r == 15 ? "GPU is lost" : "some error"; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { snprintf(s, n, "580.159.04"); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = 13020; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = number("FAKE_CARDS", 2); return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(unsigned long)(i + 1); return SUCCESS; }
int nvmlDeviceGetHandleByUUID(const char *u, void **d) {
	if (strcmp(u, "MIG-aaaa")) return NOT_FOUND;
	*d = (void *)9UL;
	return SUCCESS;
}
int nvmlDeviceGetName(void *d, char *s, unsigned n) { snprintf(s, n, "Fake %lu", (unsigned long)d); return SUCCESS; }
int nvmlDeviceGetUUID(void *d, char *s, unsigned n) { snprintf(s, n, "GPU-%lu%lu", (unsigned long)d, (unsigned long)d); return SUCCESS; }

int nvmlDeviceGetMemoryInfo(void *d, memory_v1 *m) {
	int r = number("FAKE_MEMORY", SUCCESS);
	m->total = 10 * GIB * (unsigned long)d;
	m->used = 3 * GIB; // 2 GiB and what is reserved
	m->free = m->total - m->used;
	return r;
}

#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(void *d, memory_v2 *m) {
	if (m->version != (sizeof *m | 2u << 24)) return INVALID_ARGUMENT;
	m->total = 10 * GIB * (unsigned long)d;
	m->used = 2 * GIB;
	m->reserved = GIB;
	static unsigned long asked;
	if (getenv("FAKE_SPIKE") && d == (void *)1UL && ++asked % 25 == 12) m->used += GIB; // for one reading
	m->free = m->total - m->used - m->reserved;
	struct timespec slow = {0, number("FAKE_SLOW", 0) * 1000L}; // microseconds
	if (slow.tv_nsec) nanosleep(&slow, NULL);
	return number("FAKE_MEMORY", SUCCESS);
}
#endif

static int list(process *from, unsigned have, unsigned *n, process *out) {
	unsigned room = *n;
	*n = have;
	if (have > room) return INSUFFICIENT_SIZE;
	memcpy(out, from, have * sizeof *from);
	return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, process *out) {
	process all[] = {{581, GIB, -1, -1}, {582, -1ULL, -1, -1}, {583, 5, -1, -1}};
	if (getenv("FAKE_WSL")) return NOT_SUPPORTED;
	return list(all, 3, n, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *n, process *out) {
	process all[] = {{581, GIB, -1, -1}, {582, 7, -1, -1}, {600, 9, -1, -1}}; // 581 draws, too
	return list(all, 3, n, out);
}

typedef struct { unsigned gpu, memory; } utilization;

int nvmlDeviceGetUtilizationRates(void *d, utilization *u) {
	u->gpu = 40 + (unsigned)(unsigned long)d;
	u->memory = 7;
	return SUCCESS;
}

#ifndef OLD
int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *kb) {
	*kb = counter == 1 ? 3000 : 500; // 1 is what the card receives
	return SUCCESS;
}
#endif
