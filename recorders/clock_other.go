//go:build !linux

package recorders

import (
	"fmt"
	"runtime"
	"time"
)

func sleep(d time.Duration) { time.Sleep(d) }

func threadCPU() (time.Duration, error) { return 0, errUnsupported(runtime.GOOS) }

// errUnsupported is why a meter is missing on a system it is not read on.
func errUnsupported(system string) error {
	return fmt.Errorf("not read on %s yet", system)
}

func monotonic() int64 { return time.Now().UnixNano() } // nothing is watched here

func processCPU() time.Duration { return 0 }

func urgent() {}
