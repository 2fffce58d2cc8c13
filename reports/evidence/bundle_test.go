package evidence

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memtrix"
	"memtrix/matrix"
	"memtrix/workflows/standin"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// TestBundle holds the pages about a failure against goldens: read them as a
// maintainer would.
func TestBundle(t *testing.T) {
	_, files := bundled(t, failing(t))
	for _, name := range []string{"paste.txt", "report.md", "repeat.yaml", "verdict.json", "system.json", "comparison.csv", "log.txt", "packages.txt", "prompt-1.json"} {
		path := filepath.Join("testdata", name)
		if *update {
			must(t, os.WriteFile(path, []byte(files[name]), 0o644))
			continue
		}
		want, err := os.ReadFile(path)
		must(t, err)
		if got := files[name]; got != string(want) {
			t.Errorf("%s differs; got\n%s", path, got)
		}
	}
}

// TestKinds checks what holds for trials of every kind.
func TestKinds(t *testing.T) {
	for name, in := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			c, files := bundled(t, in)
			if got := len(lines(files["paste.txt"])); got > pasteLines {
				t.Errorf("paste.txt has %d lines, want at most %d:\n%s", got, pasteLines, files["paste.txt"])
			}
			for _, part := range []string{"### Custom Node Testing", "### Expected Behavior", "### Actual Behavior", "### Steps to Reproduce", "### Debug Logs", "### Other"} {
				if strings.Count(files["report.md"], "\n"+part+"\n") != 1 {
					t.Errorf("report.md has not one %q", part)
				}
			}
			if len(files["report.md"]) > 65536 {
				t.Errorf("report.md has %d bytes: more than an issue takes", len(files["report.md"]))
			}
			for _, file := range []string{"verdict.json", "system.json"} {
				if !json.Valid([]byte(files[file])) {
					t.Errorf("%s is no JSON", file)
				}
			}
			for file, text := range files {
				if strings.Contains(text, "alice") {
					t.Errorf("%s names the user", file)
				}
				if in.Trial.Simulated && slices.Contains([]string{"paste.txt", "report.md", "log.txt", "repeat.yaml", "packages.txt", "comparison.csv"}, file) && !strings.Contains(lines(text)[0], "SIMULATED") {
					t.Errorf("%s does not say in its first line that it is simulated", file)
				}
			}
			if in.Trial.Cell.Workflow.Hash != "" {
				if _, err := matrix.Parse("repeat.yaml", []byte(files["repeat.yaml"])); err != nil {
					t.Errorf("repeat.yaml: %v\n%s", err, files["repeat.yaml"])
				}
			}
			if !c.Failed() && !strings.Contains(files["report.md"], "Nothing failed") {
				t.Error("report.md does not say that nothing failed")
			}
		})
	}
}

// TestSame checks that one trial gives one bundle, whatever the order in which the
// others are told.
func TestSame(t *testing.T) {
	zipped := func(in Input) []byte {
		c, err := Gather(in)
		must(t, err)
		files, err := Bundle(c)
		must(t, err)
		var b bytes.Buffer
		must(t, Zip(&b, Folder(in.Trial), files))
		return b.Bytes()
	}
	first := zipped(failing(t))
	again := failing(t)
	slices.Reverse(again.Others)
	if !bytes.Equal(zipped(again), first) {
		t.Fatal("the same trial gave another bundle")
	}
	z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	must(t, err)
	if !slices.IsSortedFunc(z.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the files are not in order")
	}
}

// TestPrompts checks that the prompts are as they were sent: the first from the
// server's history, the second varied as memtrix did, seeds of 64 bits whole.
func TestPrompts(t *testing.T) {
	in := failing(t)
	in.Trial.Spans = nil
	c, files := bundled(t, in)
	if len(c.Prompts) != 2 || c.Prompts[0].Source != fromHistory || c.Prompts[1].Source != fromWorkflow {
		t.Errorf("prompts %+v", c.Prompts)
	}
	var one, two struct {
		Prompt map[string]memtrix.GraphNode `json:"prompt"`
	}
	must(t, json.Unmarshal([]byte(files["prompt-1.json"]), &one))
	must(t, json.Unmarshal([]byte(files["prompt-2.json"]), &two))
	if got := string(one.Prompt["5"].Inputs["seed"]); got != "18446744073709551615" {
		t.Errorf("seed %s", got)
	}
	if a, b := string(one.Prompt["5"].Inputs["seed"]), string(two.Prompt["5"].Inputs["seed"]); a == b {
		t.Errorf("both prompts have seed %s", a)
	}
}

// TestHidePrompts checks that no page has a prompt, and that sizes stay.
func TestHidePrompts(t *testing.T) {
	for name, in := range kinds(t) {
		if len(in.Trial.Cell.Workflow.Graph) == 0 {
			continue // no prompt is known
		}
		in = light(in)
		in.HidePrompts = true
		in.Log += "current inputs: {'text': 'a lighthouse on a cliff at dawn'}\n"
		_, files := bundled(t, in)
		for file, text := range files {
			if strings.Contains(text, "lighthouse") {
				t.Errorf("%s: %s has the prompt", name, file)
			}
		}
		if !strings.Contains(files["workflow.json"], "31 characters") {
			t.Errorf("%s: workflow.json does not tell the prompt's length:\n%s", name, files["workflow.json"])
		}
	}
}

// TestCounterpart checks which row is held against the trial's.
func TestCounterpart(t *testing.T) {
	check := func(what, want string, change func(in *Input)) {
		t.Helper()
		in := light(failing(t))
		change(&in)
		c, err := Gather(in)
		must(t, err)
		got := "none"
		if best := c.Best(); best != nil {
			got = best.What + " " + best.Version + " " + best.Outcome()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	check("the last version before", "version ComfyUI 0.28.0 2 of 2 pass", func(*Input) {})
	check("a later one, where none before passes", "version ComfyUI 0.30.0 1 of 1 pass", func(in *Input) {
		in.Others = []*memtrix.Trial{other(in.Trial, 20, "0.31.0", nil), other(in.Trial, 21, "0.30.0", nil)}
	})
	check("a flip, where no version passes", "dynamic-vram default -> off ComfyUI 0.29.0 1 of 1 pass", func(in *Input) {
		for _, o := range in.Others {
			if o.Cell.Version.Name != "0.29.0" {
				o.Outcome = in.Trial.Outcome
			}
		}
	})
	check("a larger machine", "hardware card-8g ComfyUI 0.29.0 1 of 1 pass", func(in *Input) {
		o := other(in.Trial, 30, "0.29.0", nil)
		o.Cell.Hardware = memtrix.Hardware{Name: "card-8g", VRAM: 8 * gib}
		in.Others = []*memtrix.Trial{o}
	})
	check("the whole machine", "hardware as-is (the whole machine) ComfyUI 0.29.0 1 of 1 pass", func(in *Input) {
		o := other(in.Trial, 30, "0.29.0", nil)
		o.Cell.Hardware = memtrix.Hardware{Name: "as-is"}
		in.Others = []*memtrix.Trial{o}
	})
	check("nothing alike", "none", func(in *Input) {
		sim, shared, probed := other(in.Trial, 40, "0.28.0", nil), other(in.Trial, 41, "0.28.0", nil), other(in.Trial, 42, "0.28.0", nil)
		sim.Simulated, shared.Shared, probed.Cell.Probe = true, true, true
		in.Others = []*memtrix.Trial{sim, shared, probed, other(in.Trial, 43, "0.28.0", memtrix.Settings{"cache": "none"})}
	})
}

// TestStandInsTold checks yes, no and not tried.
func TestStandInsTold(t *testing.T) {
	check := func(want string, change func(in *Input, real *memtrix.Trial)) {
		t.Helper()
		in := light(failing(t))
		stood := *in.Trial
		stood.ID = 99
		real := *in.Trial
		real.Cell.Workflow.StandIns = nil
		in.Trial, in.Others = &real, []*memtrix.Trial{&stood}
		change(&in, &stood)
		c, err := Gather(in)
		must(t, err)
		if !strings.HasPrefix(c.StandIns, want) {
			t.Errorf("got %q, want %q", c.StandIns, want)
		}
	}
	check("yes: trial 99", func(*Input, *memtrix.Trial) {})
	check("no: trial 99", func(_ *Input, stood *memtrix.Trial) { stood.Outcome = memtrix.Outcome{Kind: memtrix.Pass} })
	check("not tried", func(in *Input, _ *memtrix.Trial) { in.Others = nil })
	check("yes: this trial", func(in *Input, stood *memtrix.Trial) { in.Trial = stood })
}

// TestExcerpt checks that the report's log keeps its start and its end, and that
// nothing in it ends the fence around it.
func TestExcerpt(t *testing.T) {
	var long []string
	for range 3000 {
		long = append(long, "loading something of no matter")
	}
	long = slices.Concat([]string{"first ``` line"}, long, []string{"the failure"})
	text, left := excerpt(long)
	if !strings.HasPrefix(text, "first ''' line") || !strings.HasSuffix(text, "the failure") || left == 0 || len(text) > mostLog+1000 {
		t.Errorf("%d bytes, %d lines left out", len(text), left)
	}
	if text, left = excerpt([]string{"one", strings.Repeat("x", 5000)}); left != 0 || len(text) > 600 {
		t.Errorf("%d bytes, %d lines left out", len(text), left)
	}
}

// TestReadable checks colours, levels, progress bars.
func TestReadable(t *testing.T) {
	got := readable("\x1b[32m[INFO]\x1b[0m a\n\r 0%|\r50%|#\n    indented\n\nend\n\n")
	if want := []string{"[INFO] a", "50%|#", "    indented", "", "end"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMakeModels runs the script as a maintainer would, and holds what it writes
// against the stand-in that memtrix writes.
func TestMakeModels(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	c, err := Gather(failing(t))
	must(t, err)
	files, err := c.standInFiles()
	must(t, err)
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, f.Data, 0o644))
	}
	models := filepath.Join(t.TempDir(), "models")
	out, err := exec.Command(python, filepath.Join(dir, makeScript), models).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made, ok := standin.Inspect(filepath.Join(models, "checkpoints", "sdxl.safetensors"))
	if want := (standin.Made{Family: "sdxl", DType: "fp16", Fill: "zero", Bytes: 6938040464}); !ok || made != want {
		t.Errorf("wrote %+v, want %+v", made, want)
	}
	out, err = exec.Command(python, filepath.Join(dir, makeScript), models).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "left alone") {
		t.Errorf("a second time: %v: %s", err, out)
	}
}

// TestInUse checks that what others hold on a card is told, and that memtrix's own
// holder is not.
func TestInUse(t *testing.T) {
	in := light(failing(t))
	in.Trial.Series = append(slices.Clone(in.Trial.Series), memtrix.Series{Meter: memtrix.Meter{Name: memtrix.VRAMDeviceUsed, Source: "NVML"}, T: in.Trial.Series[0].T[:1], V: []int64{6 * gib}})
	if got := inUse(in.Trial); got != nil {
		t.Errorf("memtrix's own holder is told: %v", got)
	}
	in.Trial.Cell.Hardware = memtrix.Hardware{Name: "as-is"}
	_, files := bundled(t, in)
	if !strings.Contains(files["paste.txt"], "6.00 GiB in use before the start by others") {
		t.Errorf("not told:\n%s", files["paste.txt"])
	}
}

// TestAgainst checks that figures are held against each other where both passed only.
func TestAgainst(t *testing.T) {
	a := Row{Passed: 1, N: 1, VRAM: ptr(int64(110)), RAM: ptr(int64(90)), Seconds: ptr(2.0)}
	b := Row{Passed: 2, N: 2, VRAM: ptr(int64(100)), RAM: ptr(int64(100)), Seconds: ptr(2.0)}
	if got, want := against(a, b), "VRAM peak +10 %, RAM peak -10 %, prompt 0 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	a.Passed = 0
	if got := against(a, b); got != "" {
		t.Errorf("a failure: got %q", got)
	}
}

// TestVariables checks that the same cell has the same variables, in the spec and in the
// steps, and that neither has what is secret or of one machine.
func TestVariables(t *testing.T) {
	in := light(failing(t))
	trial := *in.Trial
	trial.Environment = maps.Clone(trial.Environment)
	maps.Copy(trial.Environment, memtrix.Environment{"env.LD_PRELOAD": "/usr/lib/libtcmalloc.so.4", "env.COMFY_API_KEY": "zq81hhd7s2k", "env.COMFY_HOME": "/home/alice/x", "env.TORCH_X": "a: 'b'", "env.NVIDIA_REQUIRE_CUDA": strings.Repeat("cuda>=9 ", 30)})
	in.Trial = &trial
	_, files := bundled(t, in)
	spec, err := matrix.Parse("repeat.yaml", []byte(files["repeat.yaml"]))
	must(t, err)
	want := map[string]string{"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512", "LD_PRELOAD": "/usr/lib/libtcmalloc.so.4", "TORCH_X": "a: 'b'"}
	if !maps.Equal(spec.Env, want) {
		t.Errorf("the spec has %v, want %v", spec.Env, want)
	}
	const start = `LD_PRELOAD=/usr/lib/libtcmalloc.so.4 PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512 TORCH_X='a: '\''b'\''' python main.py`
	for _, name := range []string{"paste.txt", "report.md"} {
		if !strings.Contains(files[name], start) {
			t.Errorf("%s does not start it with its variables:\n%s", name, files[name])
		}
	}
	if says := "# it also ran with COMFY_API_KEY=<secret-1>, COMFY_HOME=/home/<user>/x, CUDA_VISIBLE_DEVICES=0, NVIDIA_REQUIRE_CUDA (see system.json): of that machine"; !strings.Contains(files["report.md"], says) {
		t.Error("report.md does not say which variables cannot be repeated")
	}
}

// TestWithoutPackages checks that a file that is not there is not named, and is said to
// be missing.
func TestWithoutPackages(t *testing.T) {
	in := light(failing(t))
	trial := *in.Trial
	trial.Cell.Version.Packages = nil
	in.Trial = &trial
	_, files := bundled(t, in)
	if _, there := files["packages.txt"]; there || strings.Contains(files["report.md"], "packages.txt") || strings.Contains(files["paste.txt"], "exact versions") {
		t.Error("packages.txt is named, and is not there")
	}
	if !strings.Contains(files["report.md"], "- the Python packages") {
		t.Error("not told under Not known")
	}
}

// TestLowerBound checks that a peak is a lower bound where the log told of more than
// was sampled: in the tables, of the node that failed only, and in the paste.
func TestLowerBound(t *testing.T) {
	in := light(failing(t))
	trial := *in.Trial
	trial.Spans = failing(t).Trial.Spans
	trial.Outcome.Evidence = append(slices.Clone(trial.Outcome.Evidence), "Currently allocated     : 3.50 GiB")
	in.Trial = &trial
	c, err := Gather(in)
	must(t, err)
	table, err := c.comparisonCSV()
	must(t, err)
	files := map[string]string{"report.md": string(c.report(nil)), "paste.txt": string(c.paste()), "comparison.csv": string(table)}
	for name, wants := range map[string][]string{
		"report.md":      {"1 of 1 oom of vram | at least 3034 |", "| prompt 1 | 8.0 | 9.0 | 2800 |", "| prompt 2 | 9.0 | 12.0 | at least 3034 |", "KSampler (5) | 9.0 | 12.0 | at least 3034 |", "At least: the allocator"},
		"paste.txt":      {"VRAM peak at least 3034 MiB"},
		"comparison.csv": {",12,yes\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s has no %q:\n%s", name, want, files[name])
			}
		}
	}
}

// TestMemoryGroup: a server in a memory group on a machine without a card. The program
// that puts it there is memtrix, which lies where it lies; how to do the same is told.
func TestMemoryGroup(t *testing.T) {
	in := light(failing(t))
	trial := *in.Trial
	trial.Cell.Hardware = memtrix.Hardware{Name: "ram-3g", RAM: 3 * gib, Swap: ptr(int64(0))}
	trial.Environment = memtrix.Environment{"gpu": "no NVIDIA card: libnvidia-ml.so.1 is not installed", "ram.total": "25276112896"}
	trial.Spans = []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, End: 1, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: 3*gib + 94<<20}}}}
	in.Trial = &trial
	in.Command = append([]string{"/home/ann/bin/memtrix", "enter-group", "/sys/fs/cgroup/memory/memtrix-16048-1796080198"}, in.Command...)
	_, files := bundled(t, in)
	for name, wants := range map[string][]string{
		"paste.txt": {"Machine: no NVIDIA card; 3.00 GiB of RAM and no swap for the server, by a memory group (cgroup); 23.54 GiB RAM",
			"systemd-run --user --scope -p MemoryMax=3221225472 -p MemorySwapMax=0 ", "   # leave it running\n"},
		"report.md": {"leave it running; once it names the GUI's address, in another terminal:", "| GPU | no NVIDIA card: libnvidia-ml.so.1 is not installed |",
			"The RAM peak is above the limit of 3.00 GiB, since"},
	} {
		for _, want := range wants {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s has no %q:\n%s", name, want, files[name])
			}
		}
	}
	for name, text := range files {
		if strings.Contains(text, "enter-group") || strings.Contains(text, "memtrix-16048") {
			t.Errorf("%s has the program that enters the group", name)
		}
	}
	trial.Cell.Hardware = memtrix.Hardware{Name: "no-swap", Swap: ptr(int64(0))}
	c, err := Gather(in)
	must(t, err)
	if got, want := c.startCommand(), "systemd-run --user --scope -p MemorySwapMax=0 "; !strings.HasPrefix(got, want) {
		t.Errorf("want %q..., got %q", want, got)
	}
}

// TestSimulated checks that nobody is told to repeat in ComfyUI what was simulated, that
// its card is no contradiction, and that the times of its log are explained.
func TestSimulated(t *testing.T) {
	in := kinds(t)["simulated"]
	trial := *in.Trial
	trial.Environment = memtrix.Environment{"gpu": "no NVIDIA card: libnvidia-ml.so.1 is not installed"}
	trial.Cell.Version.Release = "0.29.1-demo"
	in.Trial = &trial
	_, files := bundled(t, in)
	for name, text := range files {
		for _, wrong := range []string{"/usr/bin/memtrix", "git checkout", "git clone", "curl ", "pip install -r req"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s has %q", name, wrong)
			}
		}
	}
	if text := files["paste.txt"]; !strings.Contains(text, "Machine: a simulated card of 3.00 GiB") || strings.Contains(text, "no NVIDIA card") || !strings.Contains(text, "memtrix run repeat.yaml simulates it again") {
		t.Errorf("paste.txt:\n%s", text)
	}
	for _, name := range []string{"report.md", "log.txt"} {
		if strings.Count(strings.ReplaceAll(files[name], `\`, ""), "Seconds in this log are simulated ones") != 1 || !strings.Contains(files[name], "--sim-speed 200") {
			t.Errorf("%s does not explain the times:\n%s", name, files[name])
		}
	}
}
