package oomdetail

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The module loads with the interpreter, waits for torch and for CUDA, and writes what
// torch says. torch is testdata/fake.
func TestModule(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	fake, err := filepath.Abs("testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// One of the user's own is still run.
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "sitecustomize.py"), []byte("import sys\nsys.own = True\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env, err := Env(filepath.Join(dir, "module"), map[string]string{"PYTHONPATH": fake + string(os.PathListSeparator) + own, "X": "1"})
	if err != nil || env["X"] != "1" {
		t.Fatal(env, err)
	}
	run := func(script string) {
		t.Helper()
		cmd := exec.Command(python, "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PYTHONPATH="+env["PYTHONPATH"], "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "nothing was recorded") {
		t.Errorf("before: %v", err)
	}
	run(`
import importlib.util, sys
assert sys.own
importlib.util.find_spec("torch")  # as ComfyUI looks for its version
import torch
assert torch.memory.recorded is None, "before CUDA is ready"
for f in torch.queued: f()
assert torch.memory.recorded["stacks"] == "python"
`)
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "refused nothing") {
		t.Errorf("without a failure: %v", err)
	}
	run(`
import torch
for f in torch.queued: f()
def sampler(): torch.fail()
sampler()
torch.fail()
`)
	got, err := Read(dir)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v %v", got, err)
	}
	d := got[0]
	if d.Number != 1 || d.Asked != 960<<20 || d.DeviceFree != 100<<20 || d.Held != 38<<20 || d.Blocks != 3 || d.Reserved != 64<<20 {
		t.Errorf("%+v", d)
	}
	if len(d.Top) != 2 || d.Top[0].Bytes != 30<<20 || d.Top[0].Count != 2 {
		t.Errorf("%+v", d.Top)
	}
	lines := strings.Join(d.Lines(1), "\n")
	want := "asked for 960.0 MiB with 100.0 MiB free on the card; torch held 38.0 MiB in 3 blocks (64.0 MiB of the driver), asked by "
	if !strings.HasPrefix(lines, want) || !strings.Contains(lines, "sampler (<string>:4)") || !strings.HasSuffix(lines, "30.0 MiB in 2 blocks: attention (ldm/modules/attention.py:10)") {
		t.Errorf("%s", lines)
	}
	if _, err := os.Stat(filepath.Join(dir, Snapshot)); err != nil {
		t.Error(err)
	}
}

// A torch that cannot record is told, and ends nothing.
func TestModuleCannot(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "oom-detail.txt"), []byte("Traceback\n  x\nRuntimeError: cudaMallocAsync does not yet support\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "cudaMallocAsync does not yet support") {
		t.Errorf("%v", err)
	}
}

// What a server would have inherited is not lost: its packages may lie there.
func TestEnvInherits(t *testing.T) {
	t.Setenv("PYTHONPATH", "/packages")
	dir := t.TempDir()
	for _, c := range []struct{ have, want string }{{"unset", dir + ":/packages"}, {"/a", dir + ":/a"}, {"", dir}} {
		given := map[string]string{"PYTHONPATH": c.have}
		if c.have == "unset" {
			given = nil
		}
		env, err := Env(dir, given)
		if want := strings.ReplaceAll(c.want, ":", string(os.PathListSeparator)); err != nil || env["PYTHONPATH"] != want {
			t.Errorf("%q: got %q, %v, want %q", c.have, env["PYTHONPATH"], err, want)
		}
	}
}
