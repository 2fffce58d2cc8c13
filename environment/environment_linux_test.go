package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"memtrix"
	"memtrix/recorders/nvidia"
)

// unpack writes a machine's files and gives the facts that it should have.
func unpack(t *testing.T, file string) (c *Capturer, want memtrix.Environment) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	want = memtrix.Environment{}
	c = &Capturer{Root: root, Cards: func() (nvidia.Inventory, error) {
		return nvidia.Inventory{Driver: "580.1", CUDA: "13.0", Cards: []nvidia.Info{
			{Index: 0, Name: "NVIDIA GeForce RTX 4070", UUID: "GPU-1", Total: 12878610432},
		}}, nil
	}}
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
			for line := range strings.Lines(string(f.Data)) {
				k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
				want[k] = v
			}
		case "nogpu":
			c.Cards = func() (nvidia.Inventory, error) {
				return nvidia.Inventory{}, fmt.Errorf("%w: none here", nvidia.ErrNoCard)
			}
		case "links":
			for line := range strings.Lines(string(f.Data)) {
				from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
				from = filepath.Join(root, from)
				os.MkdirAll(filepath.Dir(from), 0o755)
				if err := os.Symlink(to, from); err != nil {
					t.Fatal(err)
				}
			}
		default:
			path := filepath.Join(root, f.Name)
			os.MkdirAll(filepath.Dir(path), 0o755)
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c, want
}

// own are the facts of the machine that runs the test.
var own = []string{"os", "arch", "cpu.count", "go", "memtrix", "limit.memlock", "limit.address-space"}

func TestCaptureMachines(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no machines")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, want := unpack(t, file)
			got := c.Capture(context.Background(), Input{Models: "/srv/my models/checkpoints"})
			for _, name := range own {
				if got[name] == "" {
					t.Errorf("no %s", name)
				}
				delete(got, name)
				delete(want, name)
			}
			for _, d := range Diff(want, got) {
				t.Errorf("%s: want %q (absent %v), got %q (absent %v)", d.Name, d.Before, d.New, d.After, d.Gone)
			}
		})
	}
}

// A driver and an interpreter are asked once; what can change is looked at again.
func TestCaptureSlowThingsOnce(t *testing.T) {
	c, _ := unpack(t, "testdata/desktop.txtar")
	cards, runs := 0, 0
	list := c.Cards
	c.Cards = func() (nvidia.Inventory, error) { cards++; return list() }
	c.Run = func(_ context.Context, argv ...string) ([]byte, error) {
		runs++
		if argv[0] == "/opt/none" {
			return nil, errors.New("no such file")
		}
		return []byte("CPython 3.12.3\n"), nil
	}
	in := Input{Version: memtrix.Version{Python: "/opt/venv/bin/python", Packages: map[string]string{"torch": "2.11.0+cu130"}}}
	first := c.Capture(context.Background(), in)
	if got := first["python.version"]; got != "CPython 3.12.3" {
		t.Errorf("python: got %q", got)
	}
	if err := os.WriteFile(filepath.Join(c.Root, "proc/sys/vm/swappiness"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	second := c.Capture(context.Background(), in)
	in.Version.Python = "/opt/none"
	for range 2 {
		if _, ok := c.Capture(context.Background(), in)["python.version"]; ok {
			t.Error("an interpreter that does not run has a version")
		}
	}
	if cards != 1 || runs != 2 {
		t.Errorf("want 1 look at the cards and 2 runs, got %d and %d", cards, runs)
	}
	want := []Difference{{Name: "vm.swappiness", Before: "180", After: "1"}}
	if got := Diff(first, second); !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	if first["package.torch"] != "2.11.0+cu130" {
		t.Errorf("packages: %v", first)
	}
}

// An interpreter that leaves a child behind holds up nothing.
func TestCaptureBesideAChild(t *testing.T) {
	out, err := runProgram(t.Context(), "/bin/sh", "-c", "sleep 20 & echo CPython 3.12.3")
	if err != nil || string(out) != "CPython 3.12.3\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// A capture that was stopped does not make the interpreter's version unknown for
// good.
func TestCaptureStopped(t *testing.T) {
	c, _ := unpack(t, "testdata/desktop.txtar")
	c.Run = func(ctx context.Context, _ ...string) ([]byte, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return []byte("CPython 3.12.3"), nil
	}
	in := Input{Version: memtrix.Version{Python: "/opt/python"}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.Capture(ctx, in)
	if got := c.Capture(context.Background(), in)["python.version"]; got != "CPython 3.12.3" {
		t.Errorf("got %q", got)
	}
}

// Only variables that matter for memory are kept: others may hold secrets.
func TestCaptureVariables(t *testing.T) {
	c, _ := unpack(t, "testdata/desktop.txtar")
	e := c.Capture(context.Background(), Input{Env: []string{
		"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,expandable_segments:True", "CUDA_VISIBLE_DEVICES=1",
		"MALLOC_ARENA_MAX=2", "LD_PRELOAD=", "HOME=/home/someone", "HF_TOKEN=secret", "PATH=/bin", "broken", "USER=someone",
		"PYTHONMALLOC=malloc", "PYTHONPATH=/home/someone/x",
	}})
	got := memtrix.Environment{}
	for k, v := range e {
		if strings.HasPrefix(k, "env.") {
			got[k] = v
		}
	}
	want := memtrix.Environment{
		"env.PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128,expandable_segments:True",
		"env.CUDA_VISIBLE_DEVICES":    "1", "env.MALLOC_ARENA_MAX": "2", "env.LD_PRELOAD": "", "env.PYTHONMALLOC": "malloc",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}

// Nothing captured here names this machine or its user.
func TestCaptureHasNoNames(t *testing.T) {
	host, err := os.Hostname()
	if err != nil || len(host) < 6 {
		t.Skip("no host name that could be told from other words")
	}
	for k, v := range Capture(context.Background(), Input{Env: os.Environ()}) {
		if strings.Contains(v, host) {
			t.Errorf("%s holds the host name: %q", k, v)
		}
	}
}

func TestMountOf(t *testing.T) {
	const info = `22 1 0:30 / / rw - btrfs /dev/nvme0n1p2 rw
23 22 8:17 / /srv rw shared:2 - ext4 /dev/sdb1 rw
24 22 8:1 / /srv/a\040b rw - ntfs3 /dev/sda1 rw
`
	check := func(path, want string) {
		t.Helper()
		if m, _ := mountOf(info, path); m.Kind != want {
			t.Errorf("%s: want %s, got %+v", path, want, m)
		}
	}
	check("/", "btrfs")
	check("/srv", "ext4")
	check("/srvx", "btrfs")
	check("/srv/a b/c", "ntfs3")
	check("/srv/a bc", "ext4")
	if _, ok := mountOf("", "/"); ok {
		t.Error("no mounts, yet one was found")
	}
}

func TestOwnVersion(t *testing.T) {
	check := func(want string, ok bool, version string, revision ...string) {
		t.Helper()
		info := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for _, r := range revision {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: r})
		}
		if got := ownVersion(info, ok); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	check("v1.2.0", true, "v1.2.0", "abc")
	check("abc", true, "(devel)", "abc")
	check("(devel)", true, "(devel)")
	check("unknown", true, "")
	check("unknown", false, "v1")
}

func TestDiff(t *testing.T) {
	a := memtrix.Environment{"same": "1", "moved": "580.1", "gone": "x", "emptied": "y"}
	b := memtrix.Environment{"same": "1", "moved": "581.0", "new": "", "emptied": ""}
	want := []Difference{
		{Name: "emptied", Before: "y"},
		{Name: "gone", Before: "x", Gone: true},
		{Name: "moved", Before: "580.1", After: "581.0"},
		{Name: "new", New: true},
	}
	if got := Diff(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("want %+v, got %+v", want, got)
	}
	if got := Diff(nil, nil); got != nil {
		t.Errorf("nothing differs, got %v", got)
	}
	if got := Diff(nil, a); len(got) != 4 || !got[0].New {
		t.Errorf("all are new, got %v", got)
	}
}
