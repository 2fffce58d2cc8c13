//go:build cgo

package hardware

import (
	"context"
	"errors"
	"fmt"
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

// The holder says what it holds and stays until its input ends.
func TestHold(t *testing.T) {
	released := 0
	take := func(leave int64) (int64, func(), error) { return 100 - leave, func() { released++ }, nil }
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- hold(context.Background(), 30, in, out, take) }()
	var held, left int64
	if _, err := fmt.Fscanf(said, "held %d left %d\n", &held, &left); err != nil || held != 70 || left != 30 {
		t.Errorf("want 70 and 30, got %d and %d, %v", held, left, err)
	}
	select {
	case err := <-done:
		t.Fatalf("ended before its input: %v", err)
	default:
	}
	feed.Close()
	if err := <-done; err != nil || released != 1 {
		t.Errorf("got %v, released %d times", err, released)
	}

	// It also ends with its context, while the input stays open.
	ctx, cancel := context.WithCancel(context.Background())
	in, feed, _ = os.Pipe()
	defer feed.Close()
	go func() { done <- hold(ctx, 30, in, out, take) }()
	cancel()
	if err := <-done; err != nil || released != 2 {
		t.Errorf("got %v, released %d times", err, released)
	}
	lost := errors.New("lost")
	if err := hold(ctx, 0, in, out, func(int64) (int64, func(), error) { return 0, nil, lost }); !errors.Is(err, lost) {
		t.Errorf("want %v, got %v", lost, err)
	}
}
