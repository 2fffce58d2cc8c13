//go:build cgo

package nvidia

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The test binary runs itself with a library of our own in place of NVIDIA's:
// a library can be loaded only once in a process.
func TestMain(m *testing.M) {
	if os.Getenv("NVIDIA_PROBE") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("NVIDIA_PROBE") == "page" {
		pageChild()
		return
	}
	var p probe
	p.Inventory, p.ListError = listed()
	card, err := Open(os.LookupEnv)
	if err != nil {
		p.OpenError = err.Error()
		p.NoCard = errors.Is(err, ErrNoCard)
	} else {
		p.Card = card.Info
		p.Note = card.Note
		p.Memory, err = card.Memory()
		p.MemoryError = fmt.Sprint(err)
		p.Processes, err = card.Processes(nil)
		p.ProcessesError = fmt.Sprint(err)
		p.Utilization, err = card.Utilization()
		p.UtilizationError = fmt.Sprint(err)
		p.Received, p.Sent, err = card.Traffic()
		p.TrafficError = fmt.Sprint(err)
		p.Allocs = testing.AllocsPerRun(100, func() { card.Memory() })
		if all, err := OpenAll(os.LookupEnv); err == nil {
			for _, c := range all {
				m, err := c.Memory()
				p.All = append(p.All, fmt.Sprint(c.Index, m.Total/gib, err))
				c.Close()
			}
		}
		if err := card.Close(); err != nil {
			p.OpenError = err.Error()
		}
	}
	json.NewEncoder(os.Stdout).Encode(p)
}

// probe is what such a run saw.
type probe struct {
	Inventory      Inventory
	ListError      string
	Card           Info
	Note           string
	OpenError      string
	NoCard         bool
	Memory         Memory
	MemoryError    string
	Processes      []Process
	ProcessesError string

	Utilization, Received, Sent    int64
	UtilizationError, TrafficError string
	Allocs                         float64 // of one reading of the memory
	All                            []string
}

func listed() (Inventory, string) {
	inv, err := List()
	return inv, fmt.Sprint(err)
}

// build compiles the library and gives its folder.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	args := append([]string{"-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "testdata/fakenvml.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Skipf("no C compiler to build a library with: %v\n%s", err, out)
	}
	return dir
}

func run(t *testing.T, dir string, env ...string) probe {
	t.Helper()
	out := runChild(t, dir, append([]string{"NVIDIA_PROBE=1"}, env...)...)
	var p probe
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatalf("with %v: %v\n%s", env, err, out)
	}
	return p
}

func runChild(t *testing.T, dir string, env ...string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(env, "LD_LIBRARY_PATH="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("with %v: %v\n%s", env, err, out)
	}
	return string(out)
}

const gib = 1 << 30

func TestNewDriver(t *testing.T) {
	p := run(t, build(t))
	want := probe{
		Inventory: Inventory{Driver: "580.159.04", CUDA: "13.2", Cards: []Info{
			{0, "Fake 1", "GPU-11", 10 * gib}, {1, "Fake 2", "GPU-22", 20 * gib},
		}},
		ListError: "<nil>",
		Card:      Info{0, "Fake 1", "GPU-11", 10 * gib},
		Note:      p.Note, // below
		Memory:    Memory{Total: 10 * gib, Used: 2 * gib, Free: 7 * gib, Reserved: gib, Apart: true},
		Processes: []Process{
			{581, gib, true}, {582, 7, true}, {583, 5, true}, {600, 9, true},
		},
		MemoryError:    "<nil>",
		ProcessesError: "<nil>",
		Utilization:    41, UtilizationError: "<nil>",
		Received: 3000_000, Sent: 500_000, TrafficError: "<nil>",
		All: []string{"0 10 <nil>", "1 20 <nil>"},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("want %+v\ngot  %+v", want, p)
	}
	if !strings.Contains(p.Note, "CUDA_DEVICE_ORDER") {
		t.Errorf("two different cards, and no note: %q", p.Note)
	}
}

// A driver without the calls of version 2 must not bring the program down.
func TestOldDriver(t *testing.T) {
	p := run(t, build(t, "-DOLD"), "CUDA_VISIBLE_DEVICES=1")
	want := Memory{Total: 20 * gib, Used: 3 * gib, Free: 17 * gib}
	if p.Memory != want {
		t.Errorf("want %+v, got %+v", want, p.Memory)
	}
	if p.TrafficError != errNotTold.Error() || p.Utilization != 42 {
		t.Errorf("load: got %q and %d", p.TrafficError, p.Utilization)
	}
}

func TestDriverTrouble(t *testing.T) {
	dir := build(t)
	check := func(want string, env ...string) {
		t.Helper()
		p := run(t, dir, env...)
		if !strings.Contains(p.OpenError, want) || !p.NoCard {
			t.Errorf("%v: want %q, got %q (no card: %v)", env, want, p.OpenError, p.NoCard)
		}
	}
	check("driver is not loaded", "FAKE_INIT=9")
	check("restart the machine", "FAKE_INIT=18")
	check("some error", "FAKE_INIT=4")
	check("the driver lists none", "FAKE_CARDS=0")
	check(`CUDA_VISIBLE_DEVICES="7"`, "CUDA_VISIBLE_DEVICES=7")
	check(`CUDA_VISIBLE_DEVICES="MIG-bbbb"`, "CUDA_VISIBLE_DEVICES=MIG-bbbb")
	if p := run(t, dir, "CUDA_VISIBLE_DEVICES=MIG-aaaa,MIG-bbbb"); p.Card.Name != "Fake 9" {
		t.Errorf("MIG: got %+v %s", p.Card, p.OpenError)
	}
	if p := run(t, dir, "FAKE_MEMORY=15"); !strings.Contains(p.MemoryError, "Fake 1: GPU is lost") {
		t.Errorf("lost card: %s", p.MemoryError)
	}
	if p := run(t, dir, "FAKE_WSL=1"); !strings.Contains(p.ProcessesError, "NVML processes") {
		t.Errorf("no process list: %s", p.ProcessesError)
	}
}

func TestNoLibrary(t *testing.T) {
	dir := t.TempDir()
	p := run(t, dir)
	if p.OpenError == "" {
		t.Skip("this machine has the library")
	}
	if !strings.Contains(p.OpenError, "libnvidia-ml.so.1 is not installed") || !p.NoCard {
		t.Errorf("got %q", p.OpenError)
	}
	// Something of that name which is not a library.
	if err := os.WriteFile(filepath.Join(dir, "libnvidia-ml.so.1"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := run(t, dir); !p.NoCard {
		t.Errorf("got %q", p.OpenError)
	}
}
