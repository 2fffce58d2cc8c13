package matrix

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// world is a small one: versions are what their entries say, "0.3.64" cannot
// turn dynamic VRAM on, and last holds what ran before by cell id.
func world(last map[string]LastTrial) World {
	return World{
		Version: func(e VersionEntry) (memtrix.Version, error) {
			if strings.Contains(e.Path, "missing") {
				return memtrix.Version{}, errors.New("there is no main.py in it")
			}
			if e.Sim != "" {
				return memtrix.Version{Target: memtrix.TargetSim, Release: e.Sim, Commit: "sim:" + e.Sim}, nil
			}
			return memtrix.Version{Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: "c0ffee"}, nil
		},
		Workflow: func(e WorkflowEntry) (memtrix.Workflow, error) {
			w := memtrix.Workflow{Hash: e.BuiltIn + e.File, Vary: []memtrix.Input{{Node: "5", Name: "seed"}}}
			if e.BuiltIn == "fixed" {
				w.Vary = nil
			}
			var errs []error
			for _, a := range e.Set {
				if strings.HasPrefix(a.Path, "9.") {
					errs = append(errs, inputError(a.Path))
				}
			}
			for _, v := range e.Vary {
				if strings.HasPrefix(v, "9.") {
					errs = append(errs, inputError(v))
				}
			}
			return w, errors.Join(errs...)
		},
		Argv: func(c memtrix.Cell) ([]string, string) {
			if c.Version.Release == "0.3.64" && c.Settings["dynamic-vram"] == "on" {
				return nil, "0.3.64 has no dynamic VRAM"
			}
			return strings.Fields(c.Settings.String()), ""
		},
		Last: func(id string) (LastTrial, bool) { t, ok := last[id]; return t, ok },
	}
}

type inputError string

func (e inputError) Error() string     { return "there is no node 9" }
func (e inputError) InputPath() string { return string(e) }

func mustPlan(t *testing.T, s *Spec, last map[string]LastTrial) *memtrix.Plan {
	t.Helper()
	p, err := s.Plan(world(last))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lines writes a plan's cells for comparing.
func lines(p *memtrix.Plan) []string {
	var out []string
	for _, c := range p.Cells {
		line := fmt.Sprintf("%s %s %s %s", c.Cell.Version.Name, c.Cell.Hardware.Name, c.Cell.Workflow.Name, c.Cell.Settings)
		if c.Status != memtrix.StatusRun {
			line += " " + string(c.Status)
		}
		if c.Control {
			line += " control"
		}
		if c.Expect != "" {
			line += " expect " + string(c.Expect)
		}
		out = append(out, line)
	}
	return out
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestCells(t *testing.T) {
	check := func(settings string, want ...string) {
		t.Helper()
		s := mustParse(t, smallest+"settings: "+settings+"\n")
		var got []string
		for _, c := range s.Settings.Cells() {
			got = append(got, c.String())
		}
		wantLines(t, got, want...)
	}
	check("{base: {cache: none}}", "cache=none")
	check("{axes: {dynamic-vram: [on, off], vram-mode: [normal, low]}}",
		"default", "dynamic-vram=off", "vram-mode=low")
	check("{axes: {dynamic-vram: [off, on]}}", "default", "dynamic-vram=off", "dynamic-vram=on")
	check("{axes: {dynamic-vram: [off]}}", "default", "dynamic-vram=off")
	check("{axes: {reserve-vram: [2, 4]}}", "default", "reserve-vram=2", "reserve-vram=4")
	check("{base: {reserve-vram: 2.0, cache: none}, axes: {reserve-vram: [2, 4], cache: [classic, none]}}",
		"cache=none reserve-vram=2", "cache=none reserve-vram=4", "cache=classic reserve-vram=2")
	check("{mode: full, base: {cache: none}, axes: {dynamic-vram: [on, off], vram-mode: [normal, low]}}",
		"cache=none dynamic-vram=on vram-mode=normal", "cache=none dynamic-vram=on vram-mode=low",
		"cache=none dynamic-vram=off vram-mode=normal", "cache=none dynamic-vram=off vram-mode=low")
	check("{mode: full, axes: {dynamic-vram: [on, off], vram-mode: [normal, low]}, exclude: [{dynamic-vram: on, vram-mode: low}], include: [{vram-mode: high}]}",
		"dynamic-vram=on vram-mode=normal", "dynamic-vram=off vram-mode=normal", "dynamic-vram=off vram-mode=low", "vram-mode=high")
	// A setting that is not named counts as its default.
	check("{axes: {dynamic-vram: [on, off], cache: [none]}, exclude: [{dynamic-vram: on, cache: none}]}",
		"default", "dynamic-vram=off")
	check("{base: {mmap: off}, list: [{}, {cache: none}, {mmap: on}]}", "mmap=off", "cache=none mmap=off", "mmap=on")
	// An excluded cell can be included again.
	check("{axes: {cache: [none]}, exclude: [{cache: none}], include: [{cache: none}]}", "default", "cache=none")
}

func TestFirstLookFlipsOneSettingEach(t *testing.T) {
	for _, device := range []string{"gpu", "cpu"} {
		entry := FirstLookSettings(device)
		for _, a := range entry.Axes {
			def, ok := memtrix.Setting(a.Setting)
			if !ok {
				t.Errorf("%s: no setting %s", device, a.Setting)
			}
			for _, v := range a.Values {
				if err := def.Check(v); err != nil {
					t.Errorf("%s: %v", device, err)
				}
			}
		}
		cells := entry.Cells()
		for _, c := range cells[1:] {
			if got, want := len(c), len(cells[0])+1; got != want {
				t.Errorf("%s: %s changes %d settings", device, c, got-want+1)
			}
		}
	}
	var got []string
	for _, c := range FirstLookSettings("gpu").Cells() {
		got = append(got, c.String())
	}
	wantLines(t, got, "default", "dynamic-vram=off", "vram-mode=low", "vram-mode=no", "vram-mode=high",
		"pinned-memory=off", "async-offload=off", "smart-memory=off", "cache=none", "reserve-vram=2")
}

const two = `
versions: [{sim: 0.29.0}, {sim: 0.3.64}]
workflows: [sd15, image]
settings: {axes: {dynamic-vram: [on, off]}}
`

func TestPlanOrder(t *testing.T) {
	p := mustPlan(t, mustParse(t, two), nil)
	wantLines(t, lines(p),
		"0.29.0 as-is sd15 default", "0.29.0 as-is sd15 dynamic-vram=off",
		"0.29.0 as-is image default", "0.29.0 as-is image dynamic-vram=off",
		"0.3.64 as-is sd15 default", "0.3.64 as-is sd15 dynamic-vram=off",
		"0.3.64 as-is image default", "0.3.64 as-is image dynamic-vram=off")
	if p.Spec != "nightly" || len(p.Warnings) > 0 {
		t.Errorf("got %q, %q", p.Spec, p.Warnings)
	}
	if got, want := p.Cells[1].Argv, []string{"dynamic-vram=off"}; !reflect.DeepEqual(got, want) {
		t.Errorf("argv: got %q, want %q", got, want)
	}
}

func TestPlanNotApplicable(t *testing.T) {
	p := mustPlan(t, mustParse(t, `
versions: [{path: a}, {sim: 0.3.64}]
workflows: [sd15]
hardware: [as-is, {name: small, vram: 8GiB}]
settings: {list: [{dynamic-vram: on}]}
`), nil)
	wantLines(t, lines(p),
		"0.29.0 as-is sd15 dynamic-vram=on", "0.29.0 small sd15 dynamic-vram=on",
		"0.3.64 as-is sd15 dynamic-vram=on not-applicable", "0.3.64 small sd15 dynamic-vram=on not-applicable")
	if got, want := p.Cells[2].Reason, "0.3.64 has no dynamic VRAM"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlanControl(t *testing.T) {
	// A cell of its own, and one that is in the matrix anyway.
	p := mustPlan(t, mustParse(t, two+"control: {cache: none}\n"), nil)
	if got, want := lines(p)[0], "0.29.0 as-is sd15 cache=none control"; got != want || len(p.Cells) != 9 {
		t.Errorf("got %q of %d, want %q of 9", got, len(p.Cells), want)
	}
	p = mustPlan(t, mustParse(t, two+"control: {dynamic-vram: off}\n"), nil)
	wantLines(t, lines(p)[:3], "0.29.0 as-is sd15 dynamic-vram=off control", "0.29.0 as-is sd15 default", "0.29.0 as-is image default")
	if len(p.Cells) != 8 {
		t.Errorf("got %d cells, want 8", len(p.Cells))
	}
	p = mustPlan(t, mustParse(t, two+"control: {}\n"), nil)
	if got, want := lines(p)[0], "0.29.0 as-is sd15 default control"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlanMergesTheSameUnderTwoNames(t *testing.T) {
	p := mustPlan(t, mustParse(t, `
versions: [{path: a}, {path: b, name: again}]
workflows: [sd15, {builtin: sd15, name: other}]
settings: {base: {cache: none}}
`), nil)
	wantLines(t, lines(p), "0.29.0 as-is sd15 cache=none")
	wantLines(t, p.Warnings,
		"dir/nightly.yaml:2:23: version again is the same as 0.29.0; their cells run once",
		"dir/nightly.yaml:3:19: workflow other is the same as sd15; their cells run once")
}

func TestPlanExpect(t *testing.T) {
	p := mustPlan(t, mustParse(t, two+`expect:
  - {when: {dynamic-vram: off}, outcome: oom}
  - {when: {version: 0.3.64, workflow: image}, outcome: error}
  - {when: {dynamic-vram: off, version: 0.29.0, workflow: image}, outcome: pass}
  - {when: {cache: none}, outcome: hang}
`), nil)
	wantLines(t, lines(p),
		"0.29.0 as-is sd15 default", "0.29.0 as-is sd15 dynamic-vram=off expect oom",
		"0.29.0 as-is image default", "0.29.0 as-is image dynamic-vram=off",
		"0.3.64 as-is sd15 default", "0.3.64 as-is sd15 dynamic-vram=off expect oom",
		"0.3.64 as-is image default expect error", "0.3.64 as-is image dynamic-vram=off expect error")
	wantLines(t, p.Warnings, "dir/nightly.yaml:9:5: expect: no cell has {cache=none}")
}

// What is known to fail on a small machine is no news there, and is on another one.
func TestPlanExpectOnHardware(t *testing.T) {
	p := mustPlan(t, mustParse(t, `
versions: [{sim: 0.29.0}]
workflows: [sd15]
settings: {list: [{}]}
hardware: [as-is, {name: small, vram: 2GiB}, {name: large, vram: 20GiB}]
expect:
  - {when: {hardware: small}, outcome: oom}
  - {when: {hardware: as-is, cache: none}, outcome: oom}
`), nil)
	wantLines(t, lines(p), "0.29.0 as-is sd15 default", "0.29.0 small sd15 default expect oom", "0.29.0 large sd15 default")
	wantLines(t, p.Warnings, "dir/nightly.yaml:8:5: expect: no cell has {cache=none} on hardware as-is")
}

// A version that cannot be had leaves the others as they are; where none can be
// had there is nothing to run.
func TestPlanVersionInTrouble(t *testing.T) {
	lost := fmt.Errorf("no network: %w", memtrix.ErrUnavailable)
	w := world(nil)
	version := w.Version
	w.Version = func(e VersionEntry) (memtrix.Version, error) {
		if e.Path != "" {
			return memtrix.Version{Target: memtrix.TargetComfyUI}, lost
		}
		return version(e)
	}
	s := mustParse(t, `
versions: [{path: a, name: one}, {path: b, name: two}, {sim: 0.29.0}]
workflows: [sd15]
settings: {list: [{}]}
args: [--x]
`)
	w.Args = func(v memtrix.Version, _ []string) []string {
		if v.Trouble != "" {
			t.Errorf("%s is asked about flags", v.Name)
		}
		return nil
	}
	p, err := s.Plan(w)
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines(p), "one as-is sd15 default", "two as-is sd15 default", "0.29.0 as-is sd15 default")
	for i, want := range []string{lost.Error(), lost.Error(), ""} {
		if got := p.Cells[i].Cell.Version.Trouble; got != want {
			t.Errorf("cell %d: got trouble %q, want %q", i, got, want)
		}
		if seconds := p.Cells[i].Seconds; (seconds == 0) != (want != "") {
			t.Errorf("cell %d: %v s are expected, with trouble %q", i, seconds, want)
		}
	}
	wantLines(t, p.Warnings,
		"dir/nightly.yaml:2:12: version one: "+lost.Error(), "dir/nightly.yaml:2:34: version two: "+lost.Error())
	s.Versions = s.Versions[:2]
	if _, err := s.Plan(w); !errors.Is(err, memtrix.ErrUnavailable) {
		t.Errorf("no version can be had: got %v", err)
	}
}

func TestPlanErrorsHavePlaces(t *testing.T) {
	check := func(spec string, want ...string) {
		t.Helper()
		_, err := mustParse(t, spec).Plan(world(nil))
		if err == nil {
			t.Errorf("no error for %s", spec)
			return
		}
		wantLines(t, strings.Split(err.Error(), "\n"), want...)
	}
	check("versions: [{path: /missing}]\nworkflows: [{builtin: a, set: {5.x: 1, 9.x: 2}, vary: [5.seed, 9.seed]}]\n",
		"dir/nightly.yaml:1:12: version /missing: there is no main.py in it",
		"dir/nightly.yaml:2:40: workflow a: there is no node 9",
		"dir/nightly.yaml:2:64: workflow a: there is no node 9")
	check("versions: [{path: a}, {path: b}]\nworkflows: [sd15]\n",
		`dir/nightly.yaml:1:23: two versions are called "0.29.0"; the first is in line 1; give one a name:`)
	check(two+"expect: [{when: {version: 0.29.1, workflow: imge}, outcome: oom}]\n",
		`dir/nightly.yaml:5:27: expect: no version is called "0.29.1"; did you mean "0.29.0"?`,
		`dir/nightly.yaml:5:45: expect: no workflow is called "imge"; did you mean "image"?`)
	check(two+"hardware: [{name: small, vram: 2GiB}]\nexpect: [{when: {hardware: smal}, outcome: oom}]\n",
		`dir/nightly.yaml:6:28: expect: no hardware is called "smal"; did you mean "small"?`)
	check("versions: [{sim: 0.29.0}]\nworkflows: [fixed]\n",
		"dir/nightly.yaml:2:13: workflow fixed: nothing in it can be varied, so each prompt after the first would be served from the cache; name an input with vary:, or set prompts: 1")
	mustPlan(t, mustParse(t, "versions: [{sim: 0.29.0}]\nworkflows: [fixed]\nprompts: 1\n"), nil)

	_, err := mustParse(t, "versions: [{sim: 1}]\nworkflows: [{builtin: a, set: {9.x: 2}}]\n").Plan(world(nil))
	var cause inputError
	if !errors.As(err, &cause) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestPlanOfFirstLook(t *testing.T) {
	s := FirstLook("/opt/ComfyUI/", "python3", "flows/portrait.api.json", "gpu")
	if got, want := s.Versions[0].Path, "/opt/ComfyUI"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p := mustPlan(t, s, nil)
	if got, want := lines(p)[0], "0.29.0 as-is portrait default"; got != want || len(p.Cells) != 10 {
		t.Errorf("got %q of %d, want %q of 10", got, len(p.Cells), want)
	}
	if w := FirstLook("x", "", "image", "cpu").Workflows[0]; w.BuiltIn != "image" || w.File != "" {
		t.Errorf("got %+v", w)
	}
	_, err := FirstLook("/missing", "", "image", "gpu").Plan(world(nil))
	if got, want := fmt.Sprint(err), "version /missing: there is no main.py in it"; got != want {
		t.Errorf("got %q, want %q: a spec without a file has no places", got, want)
	}
}

// budgetSpec has four cells on two versions; each takes 100 s.
const budgetSpec = `
versions: [{sim: 0.29.0}, {sim: 0.30.0}]
workflows: [sd15]
settings: {list: [{cache: none}, {cache: classic}, {mmap: off}, {vram-mode: low}]}
control: {mmap: off}
expect: [{when: {vram-mode: low}, outcome: oom}]
`

func TestPlanBudget(t *testing.T) {
	all := mustPlan(t, mustParse(t, budgetSpec), nil)
	last := map[string]LastTrial{}
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range all.Cells {
		if c.Cell.Version.Name == "0.29.0" {
			last[c.Cell.ID()] = LastTrial{Outcome: memtrix.Pass, Seconds: 100, When: day}
		}
	}
	// The plan without a budget has the control (mmap) first, then none,
	// classic and low. Low passed, but should run out of memory; none was seen
	// later than classic.
	last[all.Cells[1].Cell.ID()] = LastTrial{Outcome: memtrix.Pass, Seconds: 100, When: day.Add(time.Hour)}

	check := func(budget string, want ...string) *memtrix.Plan {
		t.Helper()
		p := mustPlan(t, mustParse(t, budgetSpec+"budget: "+budget+"\n"), last)
		wantLines(t, lines(p), want...)
		return p
	}
	p := check("650s",
		"0.30.0 as-is sd15 cache=none", "0.30.0 as-is sd15 cache=classic",
		"0.30.0 as-is sd15 mmap=off", "0.30.0 as-is sd15 vram-mode=low expect oom",
		"0.29.0 as-is sd15 vram-mode=low expect oom", "0.29.0 as-is sd15 mmap=off control",
		"0.29.0 as-is sd15 cache=classic left-out", "0.29.0 as-is sd15 cache=none left-out")
	wantLines(t, p.Warnings, "dir/nightly.yaml: 2 of 8 cells are left out: they do not fit into the budget of 10m50s")
	if got, want := p.Cells[7].Reason, "expected to take 1m40s, and the budget of 10m50s has 50s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Expected(p, nil), 600*time.Second; got != want {
		t.Errorf("expected time: got %v, want %v", got, want)
	}
	if p := mustPlan(t, mustParse(t, budgetSpec+"budget: 8h\n"), last); len(p.Warnings) > 0 {
		t.Errorf("all fits, but: %q", p.Warnings)
	}
	if p := mustPlan(t, mustParse(t, budgetSpec+"budget: 1s\n"), last); !strings.Contains(p.Warnings[0], "8 of 8 cells are left out") {
		t.Errorf("got %q", p.Warnings)
	}
}

func TestExpectedTime(t *testing.T) {
	s := mustParse(t, two+"prompts: 2\nrepeats: 3\n")
	p := mustPlan(t, s, nil)
	// A simulated trial that never ran: start, two prompts, rest, free, stop.
	want := guessSimStart + 2*guessSimPrompt + 11*time.Second + guessFree + guessStop
	if got := time.Duration(p.Cells[0].Seconds * 1e9); got != want {
		t.Errorf("guess: got %v, want %v", got, want)
	}
	if got := Expected(p, nil); got != 24*want {
		t.Errorf("plan: got %v, want %v", got, 24*want)
	}
	first := p.Cells[0].Cell.ID()
	done := func(id string) int {
		if id == first {
			return 2
		}
		return 5
	}
	if got := Expected(p, done); got != want {
		t.Errorf("left: got %v, want %v", got, want)
	}
	// The mean of cells with the same workflow; others stay guessed.
	last := map[string]LastTrial{first: {Seconds: 10}, p.Cells[1].Cell.ID(): {Seconds: 20}}
	p = mustPlan(t, s, last)
	if got := p.Cells[4].Seconds; got != 15 {
		t.Errorf("mean: got %v, want 15", got)
	}
	if got := p.Cells[2].Seconds; got != want.Seconds() {
		t.Errorf("other workflow: got %v, want %v", got, want.Seconds())
	}
	w := world(nil)
	w.Seconds = func(memtrix.Cell) float64 { return 7 }
	if p, err := s.Plan(w); err != nil || p.Cells[0].Seconds != 7 {
		t.Errorf("own guess: got %v, %v, want 7", p.Cells[0].Seconds, err)
	}
}

func TestBrief(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0s", 59: "59s", 60: "1m", 100: "1m40s", 3600: "1h", 5400: "1h30m", 28800: "8h", 3601: "1h0m1s"} {
		if got := brief(seconds); got != want {
			t.Errorf("%v: got %s, want %s", seconds, got, want)
		}
	}
}

func TestTemplateParses(t *testing.T) {
	odd := `/home/ann/My "AI": #1 \ {x} é/ComfyUI`
	founds := []Found{
		{},
		{Device: "cpu"},
		{Versions: []FoundVersion{{Path: "/opt/ComfyUI", Python: "/opt/venv/bin/python", Release: "0.29.0"}}, Workflow: "/x/portrait.json"},
		{Versions: []FoundVersion{{Path: odd, Python: odd + "/python", Release: "0.3\n64"}, {Path: "/b", Release: "0.3\n64"}, {Path: "/c"}, {Path: "/d"}}, Models: []string{odd, "/data/models"}},
		{Workflow: "sd15", Set: []Assignment{{Path: "EmptyLatentImage.width", Value: []byte("64")}, {Path: "2.text", Value: []byte(`"a: #\"b\""`)}}},
	}
	for _, f := range founds {
		text := string(Template(f))
		s := mustParse(t, text)
		if len(s.Warnings) > 0 {
			t.Errorf("warnings: %v", s.Warnings)
		}
		device := f.Device
		if !reflect.DeepEqual(s.Settings, FirstLookSettings(device)) {
			t.Errorf("settings are not those of the first look on %q:\n%s", device, text)
		}
		for i, v := range f.Versions {
			if s.Versions[i].Path != v.Path {
				t.Errorf("got %q, want %q", s.Versions[i].Path, v.Path)
			}
		}
		if len(f.Models) > 0 && !reflect.DeepEqual(s.Models, f.Models) {
			t.Errorf("models: got %q, want %q", s.Models, f.Models)
		}
		for i, a := range f.Set {
			if got := s.Workflows[0].Set[i]; got.Path != a.Path || string(got.Value) != string(a.Value) {
				t.Errorf("set: got %s %s, want %s %s", got.Path, got.Value, a.Path, a.Value)
			}
		}
		uncommented(t, text)
	}
}

// uncommented checks the keys that the template only shows: each of its
// commented lines of the last part is good YAML of its own.
func uncommented(t *testing.T, text string) {
	t.Helper()
	_, rest, _ := strings.Cut(text, "prompts: 3")
	var b strings.Builder
	for _, line := range strings.Split("prompts: 3"+rest, "\n") {
		b.WriteString(strings.TrimPrefix(line, "# ") + "\n")
	}
	mustParse(t, smallest+b.String())
}

func BenchmarkParse(b *testing.B) {
	data := Template(Found{})
	for b.Loop() {
		if _, err := Parse("x.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}

// What keeps every trial from starting is a mistake of the spec, said once.
func TestRefused(t *testing.T) {
	spec, err := Parse("n.yaml", []byte("versions: [{sim: a}, {sim: b}]\nworkflows: [image]\nargs: [--port]\nmodels: [x]\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := world(nil)
	w.Refuses = func(v memtrix.Version, s *Spec) map[string]error {
		return map[string]error{"models": errors.New("no " + v.Name), "args": errors.New("not --port")}
	}
	_, err = spec.Plan(w)
	const want = "n.yaml:3:1: args: not --port\nn.yaml:4:1: models: no a\nn.yaml:4:1: models: no b"
	if err == nil || err.Error() != want {
		t.Errorf("want\n%s\ngot\n%v", want, err)
	}
}
