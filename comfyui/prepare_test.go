//go:build linux

package comfyui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"memtrix"
)

func TestPrepare(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeServer, "029-cpu-sd15")
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeHome, home)
	t.Setenv(goRace, "atexit_sleep_ms=0")
	old := map[string]bool{}
	for flag := range knownFlags(memtrix.Version{}) {
		old[flag] = flag != "--quick-test-for-ci"
	}
	for _, c := range []struct {
		name, mode string
		flags      map[string]bool
		said       int
		want       []string
	}{
		{"works", "", nil, 1, nil},
		{"no quick test", "", old, 1, nil},
		{"no GPU", "no-gpu", nil, 2, nil},
		{"no GPU, known", "no-gpu", nil, 1, nil},
		{"requirement", "no-module", nil, 1, []string{"does not start: exit status 1", "No module named 'torchsde'", self + " -m pip install -r", "requirements.txt", "command: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(fakeMode, c.mode)
			tree := smallTree(t)
			before := treeState(t, tree)
			v := memtrix.Version{Name: "v", Target: memtrix.TargetComfyUI, Dir: tree, Python: self, Commit: c.name, Flags: c.flags}
			target := &Target{CacheDir: t.TempDir(), NoCard: func() bool { return c.name == "no GPU, known" }}
			var said []string
			say := func(s string) { said = append(said, s) }
			err := target.Prepare(context.Background(), v, say)
			if (err == nil) != (c.want == nil) {
				t.Fatalf("err = %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
			if len(said) != c.said {
				t.Errorf("said %q, want %d things", said, c.said)
			}
			said = nil
			if err := target.Prepare(context.Background(), v, say); err == nil && len(said) > 0 {
				t.Errorf("warmed twice: %q", said)
			}
			if v.Commit = "another"; err == nil {
				if err := target.Prepare(context.Background(), v, say); err != nil || len(said) == 0 {
					t.Errorf("another commit was not warmed: %v", err)
				}
			}
			if after := treeState(t, tree); after != before {
				t.Error("the tree changed")
			}
		})
	}
}

// A first start has the variables of its trials, and two that want one at once make one.
func TestPrepareAtOnce(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeServer, "029-cpu-sd15")
	t.Setenv(fakeHome, home)
	t.Setenv(goRace, "atexit_sleep_ms=0")
	t.Setenv(fakeMode, "no-module")
	v := memtrix.Version{Name: "v", Target: memtrix.TargetComfyUI, Dir: smallTree(t), Python: self}
	target := &Target{CacheDir: t.TempDir(), Env: map[string]string{fakeMode: ""}, NoCard: func() bool { return true }}
	var starts atomic.Int32
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := target.Prepare(context.Background(), v, func(string) { starts.Add(1) }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := starts.Load(); n != 1 {
		t.Errorf("%d first starts, want 1", n)
	}
}

func TestPrepareErrors(t *testing.T) {
	tree := smallTree(t)
	for _, c := range []struct {
		v    memtrix.Version
		want string
	}{
		{memtrix.Version{Name: "v", Dir: tree}, "no Python interpreter"},
		{memtrix.Version{Name: "v", Dir: tree, Python: "/nonexistent/python"}, "/nonexistent/python"},
		{memtrix.Version{Name: "v", Dir: filepath.Join(tree, "models"), Python: "/bin/sh"}, "main.py"},
	} {
		err := (&Target{CacheDir: t.TempDir()}).Prepare(context.Background(), c.v, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q in it", err, c.want)
		}
	}
	sim := memtrix.Version{Name: "A", Target: memtrix.TargetSim}
	if err := (&Target{}).Prepare(context.Background(), sim, nil); err != nil {
		t.Errorf("simulated: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&Target{}).Prepare(ctx, memtrix.Version{Name: "v", Dir: tree, Python: "/bin/sh"}, nil); err == nil {
		t.Error("a cancelled warm-up succeeded")
	}
}
