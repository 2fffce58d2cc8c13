//go:build cgo

package nvidia

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>

// nvmlMemory_v2_t of nvml.h, and what is made of it: a value that needs no
// memory of Go's.
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef struct { int ret; unsigned long long total, reserved, free, used; } answer;

// The library is loaded with RTLD_GLOBAL by then.
static void *quick_find(void) { return dlsym(RTLD_DEFAULT, "nvmlDeviceGetMemoryInfo_v2"); }

static answer quick_memory(void *call, void *device) {
	memory_v2 m = {sizeof m | 2u << 24};
	answer a;
	a.ret = ((int (*)(void *, memory_v2 *))call)(device, &m);
	a.total = m.total; a.reserved = m.reserved; a.free = m.free; a.used = m.used;
	return a;
}
*/
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// quick asks for a card's memory a thousand times a second: go-nvml takes memory
// for each answer, which this does not.
type quick struct {
	call, device unsafe.Pointer
}

// newQuick gives nil where it cannot be done so; then go-nvml is asked.
func newQuick(d nvml.Device) *quick {
	v := reflect.ValueOf(d)
	if v.Kind() != reflect.Struct {
		return nil
	}
	handle := v.FieldByName("Handle")
	if !handle.IsValid() || handle.Kind() != reflect.Pointer || handle.IsNil() {
		return nil
	}
	call := C.quick_find()
	if call == nil {
		return nil
	}
	return &quick{call, handle.UnsafePointer()}
}

func (q *quick) memory(name string) (Memory, error) {
	a := C.quick_memory(q.call, q.device)
	if ret := nvml.Return(a.ret); ret != nvml.SUCCESS {
		return Memory{}, fmt.Errorf("NVML memory of %s: %s", name, nvml.ErrorString(ret))
	}
	return Memory{Total: int64(a.total), Used: int64(a.used), Free: int64(a.free), Reserved: int64(a.reserved), Apart: true}, nil
}
