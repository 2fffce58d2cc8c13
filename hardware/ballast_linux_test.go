//go:build cgo

package hardware

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memtrix/recorders/nvidia"
)

func buildCUDA(t *testing.T, flags ...string) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	lib := filepath.Join(t.TempDir(), "libfakecuda.so")
	args := append([]string{"-shared", "-fPIC", "-o", lib, "testdata/fakecuda.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Skipf("no C compiler to build a library with: %v\n%s", err, out)
	}
	return lib
}

const mib = 1 << 20

// All but what is to be left is taken, from both pieces, and given back.
func TestHoldVRAM(t *testing.T) {
	lib := buildCUDA(t)
	for round := range 2 { // the second finds what the first gave back
		held, release, err := holdVRAM(lib, 3000*mib)
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(9216-3000) * mib; held > want || held < want-tolerance {
			t.Errorf("round %d: want %d held, got %d", round, want, held)
		}
		release()
		release() // harmless
	}
	held, release, err := holdVRAM(lib, 0)
	if err != nil {
		t.Fatal(err)
	}
	if held < 9216*mib-tolerance {
		t.Errorf("want all held, got %d", held)
	}
	if _, _, err := holdVRAM(lib, 3000*mib); err == nil || !strings.Contains(err.Error(), "to be left") {
		t.Errorf("a full card: got %v", err)
	}
	release()
}

func TestHoldVRAMTrouble(t *testing.T) {
	check := func(lib, want string, noCard bool) {
		t.Helper()
		_, release, err := holdVRAM(lib, 0)
		if err == nil {
			release()
			t.Fatalf("want %q, got no error", want)
		}
		if !strings.Contains(err.Error(), want) || errors.Is(err, nvidia.ErrNoCard) != noCard {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	check("libmemtrix-has-no-such.so", "is not installed", true)
	check(buildCUDA(t, "-DSHORT"), "has no cuMemFree_v2", false)
	t.Setenv("FAKE_CUINIT", "100")
	check(buildCUDA(t), "no CUDA-capable device", true)
	t.Setenv("FAKE_CUINIT", "999")
	check(buildCUDA(t), "unknown error", true)
}
