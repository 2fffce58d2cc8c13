package reports

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

func TestReport(t *testing.T) {
	r := NewReport(nightly())
	var got []int64
	for _, row := range r.Rows {
		got = append(got, row.Trial)
	}
	// Unexpected ends, new outcomes, larger peaks, the rest, what did not run.
	if want := []int64{6, 8, 5, 7, 1, 2, 3, 4, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("rows: want trials %v, got %v", want, got)
	}
	if r.Rows[0].Cells[3].Tone != "bad" || r.Rows[0].Cells[3].Mark != "new oom" {
		t.Errorf("the worst row: %+v", r.Rows[0].Cells[3])
	}
	if len(r.Trials) != 8 || r.Trials[0].ID != 6 || !r.Trials[0].Failed || r.Trials[0].Expected {
		t.Errorf("trials are not in the order of the rows: %+v", r.Trials[0])
	}
	if len(r.Maps) != 2 || r.Maps[0].Meter != memtrix.VRAMTrialUsed {
		t.Fatalf("want maps of VRAM and RAM, got %+v", r.Maps)
	}
	kinds := map[string]string{}
	for _, line := range r.Maps[0].Rows {
		for i, c := range line.Cells {
			kinds[line.Name+" "+r.Maps[0].Versions[i]] = c.Kind + " " + c.Text
		}
	}
	for name, want := range map[string]string{
		"default 0.28.0": "value 7.90", "dynamic-vram=off 0.29.0": "failed oom vram", "vram-mode=high 0.28.0": "expected oom vram",
		"vram-headroom=1 0.28.0": "not-applicable n/a", "cache=none 0.29.0": "not-run not run yet",
	} {
		if got := kinds[name]; got != want {
			t.Errorf("map, %s: want %q, got %q", name, want, got)
		}
	}
	for _, n := range r.Notes {
		if strings.HasPrefix(n, "|") || strings.HasPrefix(n, ">") {
			t.Errorf("evidence among the remarks: %q", n)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// TestMapRepeats: who looks at a failure gets the trial that failed, and a value says
// how far its repeats are apart.
func TestMapRepeats(t *testing.T) {
	oom := fails(point(2, "a", nil, 10, 10, 10), memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM})
	s := Session{Trials: []*memtrix.Trial{
		point(1, "a", nil, 300, 1, 1), oom, point(3, "a", nil, 302, 1, 1),
		point(4, "b", nil, 300, 1, 1), point(5, "b", nil, 340, 1, 1), point(6, "b", nil, 302, 1, 1),
	}}
	cells := NewReport(s).Maps[0].Rows[0].Cells
	if want := []int64{2, 1, 3}; !slices.Equal(cells[0].Trials, want) {
		t.Errorf("want trials %v, got %v", want, cells[0].Trials)
	}
	if got, want := cells[1].Spread, "median of 3 trials, 300 to 340"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

// TestEnvironments: the same facts are one environment, what is likeliest to matter
// comes first, and the pair to be compared is that of the worst trial.
func TestEnvironments(t *testing.T) {
	a, b, c := point(1, "0.1.0", nil, 10, 10, 10), point(2, "0.1.0", on("cache", "none"), 10, 10, 10), point(3, "0.2.0", nil, 20, 10, 10)
	for _, tr := range []*memtrix.Trial{a, b, c} {
		tr.Environment = memtrix.Environment{"kernel": "6.1", "driver": "580", "python.path": "/home/me/python"}
	}
	c.Cell.Version.Packages = map[string]string{"torch": "2.9", "blake3": "1"}
	r := NewReport(Session{Trials: []*memtrix.Trial{a, b, c}})
	if len(r.Environments) != 2 || r.Environments[0].Trials != "1-2" || r.Environments[1].Label != "0.2.0" {
		t.Fatalf("environments: %+v", r.Environments)
	}
	var names []string
	for _, f := range r.Environments[1].Facts {
		names = append(names, f[0])
	}
	if want := []string{"comfyui.commit", "package.torch", "driver", "package.blake3", "kernel"}; !slices.Equal(names, want) {
		t.Errorf("want %v, got %v", want, names)
	}
	if r.Compare != [2]int{0, 1} {
		t.Errorf("want the first and the second compared, got %v", r.Compare)
	}
	// What differs beside the facts is named: the size of the machine.
	c.Cell.Version, c.Cell.Hardware, c.Environment = a.Cell.Version, memtrix.Hardware{Name: "ram-3g", RAM: 3 << 30}, memtrix.Environment{"kernel": "6.2"}
	r = NewReport(Session{Trials: []*memtrix.Trial{a, c}})
	if got, want := []string{r.Environments[0].Label, r.Environments[1].Label}, []string{"0.1.0, default", "0.1.0, default, ram-3g"}; !slices.Equal(got, want) {
		t.Errorf("labels: want %q, got %q", want, got)
	}
}
