//go:build unix

package probe

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// treeRun runs the imitated tree, with the real module in it.
type treeRun struct {
	link   *Link
	output *bytes.Buffer
	stdin  io.Closer
	wait   func() error
}

func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here: the module itself is not tested")
	}
	return path
}

func startTree(t *testing.T, env []string, args ...string) treeRun {
	t.Helper()
	dir := t.TempDir()
	start, err := Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	link, err := Open(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := filepath.Abs("testdata/tree/main.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t), append([]string{start, tree}, args...)...)
	cmd.Env = append(append(os.Environ(), FDVariable+"=3", "PYTHONDONTWRITEBYTECODE=1"), env...)
	cmd.ExtraFiles = []*os.File{link.Theirs()}
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	link.Started()
	t.Cleanup(func() { cmd.Process.Kill() })
	return treeRun{link, out, stdin, cmd.Wait}
}

// end waits for the end and gives what the module told.
func (r treeRun) end(t *testing.T) (*memtrix.Probe, []memtrix.Series) {
	t.Helper()
	r.stdin.Close()
	if err := r.wait(); err != nil {
		t.Fatalf("%v: %s", err, r.output)
	}
	if err := r.link.Close(); err != nil {
		t.Error(err)
	}
	return r.link.Told(nil)
}

const treeOutput = `["__main__", "main.py", ["--x"], "tree", true, false]
['success', 'success']
['cached', 'success']
`

// TestModule runs the module itself: what a tree prints is the same, and all of its
// nodes and models are told with torch's own peaks.
func TestModule(t *testing.T) {
	t.Parallel()
	p, series := startTree(t, nil, "--x").checked(t, treeOutput)
	type run struct {
		prompt     int
		id, class  string
		peak, work int64
		loads      int
	}
	var got []run
	for _, n := range p.Nodes {
		if n.State != "success" || n.End < n.Start || n.Before[memtrix.RAMProcessRSS] == 0 {
			t.Errorf("node %+v", n)
		}
		got = append(got, run{n.Prompt, n.Node.ID, n.Node.ClassType, n.Peaks[memtrix.TorchAllocated], n.Peaks[memtrix.TorchWork], n.Loads})
	}
	want := []run{
		{1, "1", "Load", 3000, 0, 1},      // the weights are no work
		{1, "2", "Sample", 8000, 5000, 0}, // gone when the node ended
		{2, "2", "Sample", 8000, 5000, 0}, // the loader was cached
	}
	if !slices.Equal(got, want) {
		t.Errorf("nodes %v, want %v", got, want)
	}
	if len(p.Loads) != 1 || p.Loads[0].How != "load" || p.Loads[0].Model.Class != "Real" || p.Loads[0].Model.Resident != 3000 || p.Loads[0].Node != "1" {
		t.Errorf("loads %+v", p.Loads)
	}
	if len(p.Faults) > 0 || p.Dropped > 0 || len(p.Prompts) != 2 || p.Prompts[1].End == 0 {
		t.Errorf("faults %q, dropped %d, prompts %+v", p.Faults, p.Dropped, p.Prompts)
	}
	for meter, last := range map[string]int64{
		memtrix.TorchAllocated: 3000, memtrix.TorchReserved: 8000, memtrix.WeightsResident: 3000,
		memtrix.WeightsPrefix + "Real": 3000, memtrix.RAMPinned: 77, memtrix.VRAMComfyUIFree: 100000 - 500 - 8000 + 1,
	} {
		i := slices.IndexFunc(series, func(s memtrix.Series) bool { return s.Meter.Name == meter })
		if i < 0 || series[i].V[len(series[i].V)-1] != last {
			t.Errorf("no series of %s that ends with %d", meter, last)
		}
	}
}

func (r treeRun) checked(t *testing.T, want string) (*memtrix.Probe, []memtrix.Series) {
	t.Helper()
	p, series := r.end(t)
	if got := r.output.String(); got != want {
		t.Errorf("the tree printed\n%swant\n%s", got, want)
	}
	return p, series
}

// TestModuleEager makes a model on the card before ComfyUI counts it as loaded, as a
// checkpoint's loader does where there is room: the weights are no work either.
func TestModuleEager(t *testing.T) {
	t.Parallel()
	p, _ := startTree(t, []string{"TREE_EAGER=1"}, "--x").checked(t, treeOutput)
	if len(p.Nodes) != 3 || p.Nodes[0].Peaks[memtrix.TorchAllocated] != 3000 {
		t.Fatalf("nodes %+v", p.Nodes)
	}
	for i, want := range []int64{0, 5000, 5000} {
		if got := p.Nodes[i].Peaks[memtrix.TorchWork]; got != want {
			t.Errorf("work of %s: want %d, got %d", p.Nodes[i].Node.ClassType, want, got)
		}
	}
}

// TestModuleMissing takes names away: their meters are missing, all else is there.
func TestModuleMissing(t *testing.T) {
	t.Parallel()
	r := startTree(t, []string{"TREE_LACKS=get_free_memory is_oom TOTAL_PINNED_MEMORY"}, "--x", "--wait")
	r.rest(t, 2)
	if _, err := r.link.Look(t.Context()); err != nil {
		t.Error(err)
	}
	p, _ := r.end(t)
	missing := strings.Join(p.Missing, "\n")
	for _, name := range []string{"get_free_memory", "is_oom", "TOTAL_PINNED_MEMORY"} {
		if !strings.Contains(missing, "comfy.model_management."+name+": this version has none of that name") {
			t.Errorf("%s is not told as missing in\n%s", name, missing)
		}
	}
	if len(p.Nodes) != 3 || p.Nodes[1].Peaks[memtrix.TorchWork] != 5000 {
		t.Errorf("nodes %+v", p.Nodes)
	}
	if _, there := p.Nodes[1].After[memtrix.RAMPinned]; there {
		t.Error("a meter that is missing has a value")
	}
}

// TestModuleFault breaks what the module reads: it is told once and the tree does not
// notice.
func TestModuleFault(t *testing.T) {
	t.Parallel()
	p, _ := startTree(t, []string{"TREE_BREAKS=1"}, "--x").checked(t, treeOutput)
	if len(p.Faults) != 1 || !strings.Contains(p.Faults[0], "torch.memory_stats: KeyError") {
		t.Errorf("faults %q, want one of torch.memory_stats", p.Faults)
	}
	if len(p.Nodes) != 3 || len(p.Nodes[0].Peaks) != 0 {
		t.Errorf("nodes %+v, want three without peaks", p.Nodes)
	}
}

// TestModuleOOM checks that an error which ComfyUI caught is told, once.
func TestModuleOOM(t *testing.T) {
	t.Parallel()
	r := startTree(t, nil, "--oom", "--wait")
	r.rest(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	inv, err := r.link.Inventory(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := (memtrix.TensorOwner{Name: "global torch.kept", BytesCount: memtrix.BytesCount{Bytes: 4096, Count: 1}}); len(inv.CPU.Owners) == 0 || inv.CPU.Owners[0] != want {
		t.Errorf("owners %+v, want %+v first", inv.CPU.Owners, want)
	}
	if inv.Cache == nil || inv.Cache.CPU != 64 || inv.Malloc != nil && inv.Malloc.Trimmed == nil || inv.Process["VmRSS"] == 0 {
		t.Errorf("inventory %+v", inv)
	}
	p, _ := r.end(t)
	last := p.Nodes[len(p.Nodes)-1]
	if last.State != "failure" || !strings.Contains(last.Error, "Tried to allocate 9.00 GiB") {
		t.Errorf("last node %+v", last)
	}
	var told []string
	for _, e := range p.Events {
		if e.Kind == "oom" || e.Kind == "unload-all" {
			told = append(told, e.Kind+" "+e.Text)
		}
	}
	if want := []string{"oom OutOfMemoryError: Tried to allocate 9.00 GiB", "unload-all "}; !slices.Equal(told, want) {
		t.Errorf("events %q, want %q", told, want)
	}
}

// rest waits until so many prompts are done.
func (r treeRun) rest(t *testing.T, prompts int) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if p, _ := r.link.Told(nil); len(p.Prompts) == prompts && p.Prompts[prompts-1].End > 0 {
			return
		}
	}
	t.Fatalf("the tree did not do %d prompts: %s", prompts, r.output)
}

// TestModuleOffline: without its socket the probe does not run, and ComfyUI does.
func TestModuleOffline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start, err := Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t), start, "testdata/tree/main.py", "--x")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil || string(out) != treeOutput {
		t.Errorf("%v: %s", err, out)
	}
	Remove(dir)
	if _, err := os.Stat(start); !os.IsNotExist(err) {
		t.Errorf("the module is still there: %v", err)
	}
}

// TestModuleUnread: nobody reads, and the server does not wait. Two thousand prompts
// are some MB of records, more than the socket and the queue take.
func TestModuleUnread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start, err := Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	cmd := exec.Command(python(t), start, "testdata/tree/main.py", "--many")
	cmd.Env = append(os.Environ(), FDVariable+"=3", "PYTHONDONTWRITEBYTECODE=1")
	cmd.ExtraFiles = []*os.File{theirs}
	out, err := cmd.Output()
	theirs.Close()
	if err != nil || !strings.HasSuffix(string(out), "'dropped': True\n") {
		t.Errorf("%v: %.300s", err, out)
	}
}
