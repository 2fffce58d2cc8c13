//go:build linux

package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// The test binary is the program that is recorded, too.
func TestMain(m *testing.M) {
	if order := os.Getenv("RECORDING_CHILD"); order != "" {
		child(strings.Fields(order))
	}
	os.Exit(m.Run())
}

func child(words []string) {
	switch words[0] {
	case "touch": // MiB, milliseconds
		mib, _ := strconv.Atoi(words[1])
		ms, _ := strconv.Atoi(words[2])
		touch(mib)
		time.Sleep(time.Duration(ms) * time.Millisecond)
	case "parent": // of a child that does the rest, and is gone afterwards
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), "RECORDING_CHILD="+strings.Join(words[1:], " "))
		c.Run()
		time.Sleep(100 * time.Millisecond)
	case "exit":
		n, _ := strconv.Atoi(words[1])
		os.Exit(n)
	case "sleep":
		time.Sleep(20 * time.Second)
	}
	os.Exit(0)
}

func touch(mib int) {
	block, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
}

// record runs the test binary with an order and records it.
func record(t *testing.T, cfg Config, order string) *Result {
	t.Helper()
	t.Setenv("RECORDING_CHILD", order)
	cfg.Command = []string{"/proc/self/exe"}
	r, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func peak(r *Result, meter string) memtrix.Peak {
	for _, p := range r.Peaks {
		if p.Meter == meter {
			return p
		}
	}
	return memtrix.Peak{}
}

// idle is what the program takes that holds nothing: a Go program, with the race
// detector more than without.
func idle(t *testing.T) int64 {
	t.Helper()
	r := record(t, Config{}, "touch 1 50")
	if r.Exit.Status != 0 {
		t.Fatalf("exit: %+v", r.Exit)
	}
	return peak(r, memtrix.RAMTreeRSS).Value
}

func TestRecordCommand(t *testing.T) {
	little := idle(t)
	r := record(t, Config{Interval: time.Millisecond}, "touch 200 200")
	if p := peak(r, memtrix.RAMTreeRSS); p.Value < 200<<20 || p.Value > little+220<<20 {
		t.Errorf("peak: want 200 MiB beside %d, got %+v", little, p)
	}
	if r.Exit == nil || r.Exit.Status != 0 || r.Exit.Signal != "" {
		t.Errorf("exit: %+v", r.Exit)
	}
	if r.Samples < 10 || r.Elapsed < 200*time.Millisecond || r.Overhead <= 0 {
		t.Errorf("%d samples in %v, overhead %v", r.Samples, r.Elapsed, r.Overhead)
	}
	i := slices.IndexFunc(r.Series, func(s memtrix.Series) bool { return s.Meter.Name == memtrix.RAMTreeRSS })
	times := r.Series[i].T
	long := times[len(times)-1] - times[0] // a busy machine may begin late
	if n := r.Samples + r.Missed; n < int64(long/time.Millisecond)*9/10 || n > int64(r.Elapsed/time.Millisecond)+3 {
		t.Errorf("want a tick a millisecond for %v of %v, got %d", long, r.Elapsed, n)
	}
}

// A spike in a child that is gone a moment later is in the peak: the kernel tells
// it when the command is reaped.
func TestRecordShortLivedChild(t *testing.T) {
	little := idle(t)
	r := record(t, Config{}, "parent touch 300 0")
	if p := peak(r, memtrix.RAMTreeRSS); p.Value < 300<<20 || p.Value > 2*little+320<<20 {
		t.Errorf("peak: want 300 MiB beside twice %d, got %+v", little, p)
	}
}

func TestRecordExit(t *testing.T) {
	check := func(order string, send os.Signal, want memtrix.Exit, wantStatus int) {
		t.Helper()
		signals := make(chan os.Signal, 1)
		if send != nil {
			time.AfterFunc(300*time.Millisecond, func() { signals <- send })
		}
		r := record(t, Config{Signals: signals}, order)
		if r.Exit.Signal != want.Signal || want.Signal == "" && r.Exit.Status != want.Status {
			t.Errorf("%s: want %+v, got %+v", order, want, *r.Exit)
		}
		if got := Status(*r.Exit); got != wantStatus {
			t.Errorf("%s: want status %d, got %d", order, wantStatus, got)
		}
	}
	check("exit 7", nil, memtrix.Exit{Status: 7}, 7)
	check("sleep", unix.SIGTERM, memtrix.Exit{Signal: "TERM"}, 143)
	if !signal.Ignored(unix.SIGHUP) { // under nohup a program keeps ignoring it
		check("sleep", unix.SIGHUP, memtrix.Exit{Signal: "HUP"}, 129)
	}
}

func TestRecordNothing(t *testing.T) {
	if _, err := Run(context.Background(), Config{Command: []string{"/no/such/program"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want not-exist, got %v", err)
	}
	if _, err := Run(context.Background(), Config{PID: 1 << 22}); !errors.Is(err, unix.ESRCH) {
		t.Errorf("want no such process, got %v", err)
	}
	if _, err := Run(context.Background(), Config{PID: -5}); err == nil {
		t.Error("a negative number is no process")
	}
}

// A process that runs already is left alone, and the recording ends with it, with
// ctx, or after a time.
func TestRecordPID(t *testing.T) {
	start := func() *exec.Cmd {
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), "RECORDING_CHILD=touch 100 20000")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		return c
	}
	c := start()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
		if i := strings.Index(string(text), "VmRSS:"); i >= 0 {
			if kb, _ := strconv.Atoi(strings.Fields(string(text[i:]))[1]); kb > 100<<10 {
				break
			}
		}
	}
	for name, run := range map[string]func() (*Result, error){
		"for a time": func() (*Result, error) {
			return Run(context.Background(), Config{PID: c.Process.Pid, For: 300 * time.Millisecond})
		},
		"until stopped": func() (*Result, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			return Run(ctx, Config{PID: c.Process.Pid})
		},
	} {
		r, err := run()
		if err != nil {
			t.Fatal(err)
		}
		if p := peak(r, memtrix.RAMTreeRSS); p.Value < 100<<20 {
			t.Errorf("%s: want 100 MiB at least, got %+v", name, p)
		}
		if r.Exit != nil || exists(c.Process.Pid) != nil {
			t.Errorf("%s: it ended: %+v", name, r.Exit)
		}
	}
	time.AfterFunc(300*time.Millisecond, func() { c.Process.Kill() })
	r, err := Run(context.Background(), Config{PID: c.Process.Pid})
	if err != nil || r.Elapsed > 10*time.Second {
		t.Errorf("want an end with the process, got %v after %v", err, r.Elapsed)
	}
}
