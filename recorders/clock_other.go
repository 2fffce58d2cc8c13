//go:build !linux

package recorders

import (
	"runtime"
	"time"
)

func sleep(d time.Duration) { time.Sleep(d) }

func threadCPU() (time.Duration, error) { return 0, errUnsupported(runtime.GOOS) }
