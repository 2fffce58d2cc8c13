package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"memtrix"
	"memtrix/reports"
)

var update = flag.Bool("update", false, "rewrite the goldens")

const mib = 1 << 20

// nasty has what formats must quote.
const nasty = "=SUM(A1), \"q\" <b>&amp; tab\tline\nnext/part 100% \x1b[31mred \u2028 ]]> -8"

func trial(id int64, version string, repeat int, vram int64) *memtrix.Trial {
	t := &memtrix.Trial{
		ID: id, Repeat: repeat, Started: time.Date(2026, 11, 1, 2, int(id), 0, 0, time.FixedZone("", 3600)), Seconds: 10.0625,
		Cell: memtrix.Cell{
			Version:  memtrix.Version{Name: version, Release: version, Commit: strings.Repeat("a1", 20)},
			Settings: memtrix.Settings{"cache": "none", "dynamic-vram": "off"},
			Hardware: memtrix.Hardware{Name: "as-is"}, Workflow: memtrix.Workflow{Name: "flux-2", Hash: "w"},
		},
		Outcome:     memtrix.Outcome{Kind: memtrix.Pass},
		Prompts:     []memtrix.PromptResult{{Index: 1, Seconds: 5.25, Outcome: memtrix.Pass}, {Index: 2, Seconds: 1.5, Outcome: memtrix.Pass}},
		Readings:    []memtrix.Reading{{Kind: memtrix.Rested, At: 8 * time.Second, Values: map[string]int64{memtrix.RAMTreeRSS: 100 * mib}}},
		Environment: memtrix.Environment{"driver": "580.1", "gpu.0.name": "Card 9000"},
	}
	t.Spans = []memtrix.Span{
		{Kind: memtrix.SpanStart, End: 2 * time.Second},
		{Kind: memtrix.SpanPrompt, Prompt: 1, Start: 2 * time.Second, End: 7250 * time.Millisecond, Peaks: []memtrix.Peak{
			{Meter: memtrix.VRAMTrialUsed, Value: vram, How: memtrix.PeakSampled, At: 3 * time.Second},
			{Meter: memtrix.RAMTreeRSS, Value: 200 * mib, How: memtrix.PeakKernel},
		}},
		{Kind: memtrix.SpanNode, Prompt: 1, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}, Start: 3 * time.Second, End: 7 * time.Second},
	}
	t.Series = []memtrix.Series{{
		Meter: memtrix.Meter{Name: memtrix.VRAMTrialUsed, Unit: memtrix.UnitBytes, Source: "NVML"},
		T:     []time.Duration{0, 1500 * time.Microsecond, 3 * time.Second}, V: []int64{0, mib, vram},
	}}
	return t
}

func session() reports.Session {
	oom := trial(4, "0.2.0", 1, 900*mib)
	oom.Outcome = memtrix.Outcome{
		Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}, Message: "out of memory: " + nasty,
		Evidence: []string{"torch.OutOfMemoryError: " + nasty}, Advice: []string{"use less"},
	}
	oom.Prompts = []memtrix.PromptResult{{Index: 1, Seconds: 3, Outcome: memtrix.OOM}}
	oom.Readings = nil
	named := trial(5, "0.2.0", 0, 700*mib)
	named.Cell.Workflow.Name, named.Cell.Hardware.Name = nasty, "card-8"
	harness := trial(6, "0.2.0", 2, 0)
	harness.Outcome, harness.Spans, harness.Readings, harness.Prompts = memtrix.Outcome{Kind: memtrix.HarnessFailure, Message: "no port"}, nil, nil, nil
	expected := trial(7, "0.2.0", 0, 700*mib)
	expected.Cell.Settings, expected.Outcome, expected.Expect = nil, oom.Outcome, memtrix.OOM
	return reports.Session{
		Name: "night " + nasty, Spec: "nightly",
		Trials: []*memtrix.Trial{trial(1, "0.1.0", 0, 500*mib), trial(2, "0.1.0", 1, 502*mib), trial(3, "0.2.0", 0, 600*mib), oom, named, harness, expected},
		Plan: memtrix.Plan{Cells: []memtrix.PlannedCell{{
			Cell:   memtrix.Cell{Version: memtrix.Version{Name: "0.1.0"}, Settings: memtrix.Settings{"vram-headroom": "1"}, Workflow: memtrix.Workflow{Name: "flux-2"}},
			Status: memtrix.StatusNotApplicable, Reason: "this version has no --vram-headroom",
		}}},
	}
}

var formats = []struct {
	name  string
	write func(io.Writer, reports.Session) error
}{
	{"gobench.txt", GoBench}, {"junit.xml", JUnit}, {"trials.csv", CSV}, {"action.json", BenchmarkAction}, {"trace.json", trace},
}

func trace(w io.Writer, s reports.Session) error {
	t := NewTrace(w)
	for _, trial := range s.Trials {
		t.Trial(trial)
	}
	return t.Close()
}

func written(t *testing.T, write func(io.Writer, reports.Session) error, s reports.Session) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGoldens(t *testing.T) {
	for _, f := range formats {
		got := written(t, f.write, session())
		path := filepath.Join("testdata", f.name+".golden")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			if err := os.WriteFile(strings.TrimSuffix(path, "golden")+"got", got, 0o644); err != nil {
				t.Log(err)
			}
			t.Errorf("%s differs from what is beside it as .got", path)
		}
	}
}

func TestWriterFails(t *testing.T) {
	for _, f := range formats {
		if err := f.write(full{}, session()); !errors.Is(err, errFull) {
			t.Errorf("%s: want the writer's error, got %v", f.name, err)
		}
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestGoBenchReads: golang.org/x/perf's own reader takes every line, and the values
// are those of the trials.
func TestGoBenchReads(t *testing.T) {
	r := benchfmt.NewReader(bytes.NewReader(written(t, GoBench, session())), "export")
	values, failed := map[string][]float64{}, 0.0
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			_, parts := rec.Name.Parts()
			if n := len(parts); n == 4 && string(parts[3]) == "-1" {
				parts = parts[:3]
			}
			if len(parts) != 3 {
				t.Errorf("%s: want workflow, settings and hardware, got %q", rec.Name, parts)
			}
			if v, ok := rec.Value("peak-vram.trial.used-B"); ok {
				values[rec.GetConfig("version")] = append(values[rec.GetConfig("version")], v)
			}
			if v, ok := rec.Value("failures/trial"); ok {
				failed += v
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := values["0.1.0"], []float64{500 * mib, 502 * mib}; !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	// The summary that benchstat prints of them is the number of the heat map.
	summary := benchmath.AssumeNothing.Summary(benchmath.NewSample(values["0.1.0"], &benchmath.DefaultThresholds), 0.95)
	var texts []string
	for _, line := range reports.NewReport(session()).Maps[0].Rows {
		texts = append(texts, line.Cells[0].Text)
	}
	if got := reports.MiB(int64(summary.Center)); got != "501" || !slices.Contains(texts, got) {
		t.Errorf("benchstat says %s MiB, the heat map %q", got, texts)
	}
	if got, want := failed, 2.0; got != want {
		t.Errorf("want %v failures, got %v", want, got)
	}
}

// TestGoNames: one word each, different for different cells, and no number at the end
// that would be taken for GOMAXPROCS.
func TestGoNames(t *testing.T) {
	check := func(workflow, hardware, want string) {
		t.Helper()
		got := goName(memtrix.Cell{Workflow: memtrix.Workflow{Name: workflow}, Hardware: memtrix.Hardware{Name: hardware}})
		if got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	check("sdxl", "as-is", "Trial/workflow=sdxl/settings=default/hardware=as-is")
	check("sdxl", "card-8", "Trial/workflow=sdxl/settings=default/hardware=card-8-1")
	check("a b", "x", "Trial/workflow=a,b/settings=default/hardware=x")
	check("a/b,c%", "x", "Trial/workflow=a%2Fb%2Cc%25/settings=default/hardware=x")
	check("", "ü\n", "Trial/workflow=-/settings=default/hardware=ü")
}

func TestCSVReads(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(written(t, CSV, session()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	trials := map[string]bool{}
	for _, row := range rows[1:] {
		trials[row[1]] = true
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("a spreadsheet would run %q", cell)
			}
		}
	}
	if got, want := len(trials), len(session().Trials); got != want {
		t.Errorf("want rows of %d trials, got %d", want, got)
	}
}

// TestJUnitCounts: what the attributes count is there, and each failure has evidence.
func TestJUnitCounts(t *testing.T) {
	var doc junitSuites
	if err := xml.Unmarshal(written(t, JUnit, session()), &doc); err != nil {
		t.Fatal(err)
	}
	var got, want [4]int
	for _, s := range doc.Suites {
		want[0], want[1], want[2], want[3] = want[0]+s.Tests, want[1]+s.Failures, want[2]+s.Errors, want[3]+s.Skipped
		for _, c := range s.Cases {
			got[0]++
			if c.Failure != nil {
				got[1]++
				if !strings.Contains(c.Failure.Text, "torch.OutOfMemoryError") {
					t.Errorf("%s has no evidence: %q", c.Name, c.Failure.Text)
				}
			}
			if c.Error != nil {
				got[2]++
			}
			if c.Skipped != nil {
				got[3]++
			}
		}
	}
	if want := [4]int{8, 1, 1, 1}; got != want {
		t.Errorf("tests, failures, errors, skipped: want %v, got %v", want, got)
	}
	if got != want {
		t.Errorf("attributes say %v, and there are %v", want, got)
	}
}

// TestTraceReads: the document is JSON, and a trial's slices lie within it.
func TestTraceReads(t *testing.T) {
	var doc struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(written(t, trace, session()), &doc); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	last := map[string]float64{}
	for _, e := range doc.TraceEvents {
		counts[e.Phase]++
		if e.Phase == "X" && (e.Duration == nil || *e.Duration < 0) {
			t.Errorf("%+v has no duration", e)
		}
		if e.Phase == "C" {
			key := e.Name + string(rune(e.PID))
			if e.TS < last[key] {
				t.Errorf("%s goes back in time", key)
			}
			last[key] = e.TS
		}
	}
	if want := map[string]int{"M": 21, "X": 18, "C": 21, "i": 8}; !mapsEqual(counts, want) {
		t.Errorf("want %v, got %v", want, counts)
	}
}

func mapsEqual(a, b map[string]int) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestActionEntries(t *testing.T) {
	names := map[string]bool{}
	failed := 0.0
	for _, e := range actionEntries(session()) {
		if names[e.Name] {
			t.Errorf("two entries are called %q", e.Name)
		}
		names[e.Name] = true
		if strings.HasSuffix(e.Name, ": failed") {
			failed += e.Value
		}
	}
	if failed != 2 {
		t.Errorf("want 2 failed trials, got %v", failed)
	}
}
