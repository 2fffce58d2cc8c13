package comfyui

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// TestAimdoLog reads a recording: nine looks at a card that was ready, ten at what
// aimdo counts, and the VBARs after each of those and at each step.
func TestAimdoLog(t *testing.T) {
	f, err := os.Open("testdata/logs/029-8gib-verbose-debug.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var a aimdoLog
	for i, line := range strings.Split(string(data), "\n") {
		a.read(time.Duration(i), line)
	}
	type summary struct {
		n           int
		first, last int64 // MiB
	}
	want := map[string]summary{
		memtrix.VRAMDriverFree: {9, 7661, 2589},
		memtrix.AimdoWeights:   {16, 1568, 4768},
		memtrix.AimdoUsed:      {10, 0, 4866},
	}
	told := a.told()
	if len(told) != len(want) {
		t.Errorf("%d meters, want %d", len(told), len(want))
	}
	for _, s := range told {
		got := summary{len(s.V), s.V[0] >> 20, s.V[len(s.V)-1] >> 20}
		if got != want[s.Meter.Name] {
			t.Errorf("%s: %+v, want %+v", s.Meter.Name, got, want[s.Meter.Name])
		}
	}
}

func TestAimdoLogBad(t *testing.T) {
	var a aimdoLog
	for _, line := range []string{
		"Total VRAM for VBARs: 12 MB", // somebody else's
		"aimdo: x.c:1:DEBUG:Total VRAM for VBARs: 99999999999999999999 MB",
		"aimdo: x.c:1:DEBUG:Total VRAM for VBARs: 9999999999999 MB",
		"aimdo: x.c:1:DEBUG:  Cuda:        0 MB /       0 MB Free",
		"aimdo: x.c:1:INFO:Aimdo Recorded Usage: 5 MB",
	} {
		a.read(0, line)
	}
	if told := a.told(); len(told) > 0 {
		t.Errorf("told %+v, want nothing", told)
	}
}
