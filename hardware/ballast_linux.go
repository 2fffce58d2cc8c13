//go:build cgo

package hardware

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

// The few functions of the CUDA driver that are needed, with the names and types
// of cuda.h (CUDA 13). They are looked up at run time: no toolkit is needed, and
// the program starts where there is no driver.
typedef struct {
	void *lib;
	int (*init)(unsigned);
	int (*device)(int *, int);
	int (*retain)(void **, int);
	int (*release)(int);
	int (*current)(void *);
	int (*info)(size_t *, size_t *);
	int (*alloc)(unsigned long long *, size_t);
	int (*dealloc)(unsigned long long);
	int (*text)(int, const char **);
} cuda;

// cuda_open gives the name of what is missing, or NULL.
static const char *cuda_open(cuda *c, const char *path) {
	c->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!c->lib) return path;
	#define FIND(field, name) if (!(*(void **)&c->field = dlsym(c->lib, name))) return name
	FIND(init, "cuInit");
	FIND(device, "cuDeviceGet");
	FIND(retain, "cuDevicePrimaryCtxRetain");
	FIND(release, "cuDevicePrimaryCtxRelease_v2");
	FIND(current, "cuCtxSetCurrent");
	FIND(info, "cuMemGetInfo_v2");
	FIND(alloc, "cuMemAlloc_v2");
	FIND(dealloc, "cuMemFree_v2");
	FIND(text, "cuGetErrorString");
	return NULL;
}

static int cuda_init(cuda *c) { return c->init(0); }
static int cuda_device(cuda *c, int *d) { return c->device(d, 0); }
static int cuda_retain(cuda *c, int d, void **ctx) { return c->retain(ctx, d); }
static int cuda_release(cuda *c, int d) { return c->release(d); }
static int cuda_current(cuda *c, void *ctx) { return c->current(ctx); }
static int cuda_info(cuda *c, size_t *free, size_t *total) { return c->info(free, total); }
static int cuda_alloc(cuda *c, unsigned long long *p, size_t n) { return c->alloc(p, n); }
static int cuda_free(cuda *c, unsigned long long p) { return c->dealloc(p); }
static const char *cuda_text(cuda *c, int r) {
	const char *s = NULL;
	return c->text(r, &s) == 0 && s ? s : "unknown error";
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"memtrix/recorders/nvidia"
)

const cudaLibrary = "libcuda.so.1"

// HoldVRAM takes all but leave bytes of what is free on the first card that
// CUDA_VISIBLE_DEVICES shows, so that a big card acts as a small one for every
// other process, until release is called or the process ends. It gives the bytes
// that it holds. What others see as free afterwards is leave; the card's total
// stays what it is, so settings that count the whole card do not see a small one.
// A machine without the driver gives an error with nvidia.ErrNoCard in it.
func HoldVRAM(leave int64) (held int64, release func(), err error) {
	return holdVRAM(cudaLibrary, leave)
}

func holdVRAM(library string, leave int64) (held int64, release func(), err error) {
	// A CUDA context is current on a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h, err := openCUDA(library)
	if err != nil {
		return 0, nil, err
	}
	if err := h.hold(leave); err != nil {
		h.close()
		return 0, nil, err
	}
	return h.held, h.close, nil
}

// cudaHold is what one call of HoldVRAM holds.
type cudaHold struct {
	cuda    *C.cuda
	device  C.int
	context unsafe.Pointer
	blocks  []C.ulonglong
	held    int64
}

func openCUDA(library string) (*cudaHold, error) {
	h := &cudaHold{cuda: (*C.cuda)(C.calloc(1, C.sizeof_cuda))}
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	if missing := C.cuda_open(h.cuda, path); missing != nil {
		name := C.GoString(missing)
		h.unload()
		if name == library {
			return nil, fmt.Errorf("hold VRAM: %w: %s is not installed", nvidia.ErrNoCard, library)
		}
		return nil, fmt.Errorf("hold VRAM: %s has no %s: the driver is too old", library, name)
	}
	if r := C.cuda_init(h.cuda); r != 0 {
		err := fmt.Errorf("hold VRAM: %w: cuInit: %s", nvidia.ErrNoCard, h.text(r))
		h.unload()
		return nil, err
	}
	if err := h.enter(); err != nil {
		h.unload()
		return nil, err
	}
	return h, nil
}

// enter makes the context of the first device and makes it current.
func (h *cudaHold) enter() error {
	if err := h.check("cuDeviceGet", C.cuda_device(h.cuda, &h.device)); err != nil {
		return err
	}
	if err := h.check("cuDevicePrimaryCtxRetain", C.cuda_retain(h.cuda, h.device, &h.context)); err != nil {
		return err
	}
	if err := h.check("cuCtxSetCurrent", C.cuda_current(h.cuda, h.context)); err != nil {
		C.cuda_release(h.cuda, h.device)
		return err
	}
	return nil
}

const cudaOutOfMemory = 2 // CUDA_ERROR_OUT_OF_MEMORY

// tolerance is how much more than asked may stay free, bytes.
const tolerance = 16 << 20

// hold allocates, with the context already there: that takes some hundred MiB
// itself. Where no block of the wanted size is to be had, smaller ones are taken.
func (h *cudaHold) hold(leave int64) error {
	var free, total C.size_t
	if err := h.check("cuMemGetInfo", C.cuda_info(h.cuda, &free, &total)); err != nil {
		return err
	}
	if int64(free) < leave {
		return fmt.Errorf("hold VRAM: only %s are free, %s are to be left", size(int64(free)), size(leave))
	}
	const page = 2 << 20 // the driver's own page of device memory
	want := int64(free) - max(leave, 0)
	for block := want; ; {
		block = min(block, want) / page * page
		if block == 0 {
			break
		}
		var p C.ulonglong
		r := C.cuda_alloc(h.cuda, &p, C.size_t(block))
		if r == cudaOutOfMemory {
			block /= 2
			continue
		}
		if err := h.check("cuMemAlloc", r); err != nil {
			return err
		}
		h.blocks = append(h.blocks, p)
		h.held += block
		want -= block
	}
	if want > tolerance {
		return fmt.Errorf("hold VRAM: %s of the memory that is free could not be taken", size(want))
	}
	return nil
}

// take and give are one block each way.
func (h *cudaHold) take(size int64) (block uint64, err error) {
	var p C.ulonglong
	err = h.check("cuMemAlloc", C.cuda_alloc(h.cuda, &p, C.size_t(size)))
	return uint64(p), err
}

func (h *cudaHold) give(block uint64) error {
	return h.check("cuMemFree", C.cuda_free(h.cuda, C.ulonglong(block)))
}

// close gives everything back. It may be called once more.
func (h *cudaHold) close() {
	if h.cuda == nil {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.cuda_current(h.cuda, h.context)
	for _, p := range h.blocks {
		C.cuda_free(h.cuda, p)
	}
	C.cuda_current(h.cuda, nil)
	C.cuda_release(h.cuda, h.device)
	h.unload()
}

// unload forgets the library. It stays loaded: libcuda keeps threads of its own.
func (h *cudaHold) unload() {
	C.free(unsafe.Pointer(h.cuda))
	h.cuda = nil
}

func (h *cudaHold) check(call string, r C.int) error {
	if r == 0 {
		return nil
	}
	return fmt.Errorf("hold VRAM: %s: %s", call, h.text(r))
}

func (h *cudaHold) text(r C.int) string { return C.GoString(C.cuda_text(h.cuda, r)) }
