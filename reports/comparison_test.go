package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"memtrix"
	"memtrix/history"
)

// briefs are so many trials of one version that peak at sizes in MiB, 0 for an
// out-of-memory.
func briefs(first int64, version string, sizes ...int64) []*memtrix.Brief {
	var all []*memtrix.Brief
	for i, size := range sizes {
		t := point(first+int64(i), version, nil, max(size, 1), 1, 1)
		b := &memtrix.Brief{
			Trial: t, Session: memtrix.Session{ID: 1, Name: "n", Spec: "s"}, Cell: t.Cell.ID(), Series: t.Cell.Series(), VersionID: version,
			Numbers: map[string]memtrix.Number{memtrix.VRAMDeviceUsed: {Value: size * mib, Unit: memtrix.UnitBytes, How: memtrix.PeakSampled}},
		}
		if size == 0 {
			fails(t, memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM})
			b.Numbers = nil
		}
		all = append(all, b)
	}
	return all
}

// What one side has is written as it is, and what the other lacks as absent, never as zero.
func TestComparisonOneSide(t *testing.T) {
	for _, x := range []struct {
		sizes []int64
		want  string
	}{
		{[]int64{7029}, "6.86 GiB"},
		{[]int64{1000, 1400}, "1.17 GiB (1000 MiB..1.37 GiB)"},
		{[]int64{1400, 1500}, "1.42 GiB (1.37..1.46)"},
		{[]int64{400, 500}, "450 MiB (400..500)"},
	} {
		for _, turned := range []bool{false, true} {
			a, b := history.Side{Name: "old", Trials: briefs(1, "1", x.sizes...)}, history.Side{Name: "new", Trials: briefs(100, "2", 0)}
			if turned {
				a, b = b, a
			}
			c, err := history.CompareSides(a, b, nil)
			if err != nil {
				t.Fatal(err)
			}
			var text, markdown, doc bytes.Buffer
			if err := ComparisonText(&text, c, TableOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := ComparisonMarkdown(&markdown, c); err != nil {
				t.Fatal(err)
			}
			if err := ComparisonJSON(&doc, c); err != nil {
				t.Fatal(err)
			}
			for _, got := range []string{text.String(), markdown.String()} {
				if !strings.Contains(got, x.want) || strings.Contains(got, " 0 MiB") {
					t.Errorf("want %q and no zero in\n%s", x.want, got)
				}
			}
			var got struct {
				Cells []struct {
					Meters []struct{ A, B *struct{ Median float64 } }
				}
			}
			if err := json.Unmarshal(doc.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			m := got.Cells[0].Meters[0]
			have, lacks := m.A, m.B
			if turned {
				have, lacks = m.B, m.A
			}
			if lacks != nil || have == nil || have.Median < float64(x.sizes[0]*mib) {
				t.Errorf("%v: JSON has %+v and %+v", x.sizes, m.A, m.B)
			}
		}
	}
}

// A failure that the spec expects is said to be one, in every format.
func TestComparisonExpected(t *testing.T) {
	b := briefs(100, "2", 0)
	b[0].Trial.Expect = memtrix.OOM
	c, err := history.CompareSides(history.Side{Name: "old", Trials: briefs(1, "1", 500)}, history.Side{Name: "new", Trials: b}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text, markdown, comfy, doc bytes.Buffer
	for _, err := range []error{
		ComparisonText(&text, c, TableOptions{}), ComparisonMarkdown(&markdown, c), ComparisonComfy(&comfy, c), ComparisonJSON(&doc, c),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, got := range []string{text.String(), markdown.String(), comfy.String()} {
		if !strings.Contains(got, "as expected by the spec") {
			t.Errorf("not said to be expected:\n%s", got)
		}
	}
	if !strings.Contains(doc.String(), `"expected": true`) {
		t.Errorf("not said to be expected:\n%s", doc.String())
	}
}

// A history says how outcomes differ where the trials are too few to tell, and never that
// nothing changed; and whom a change concerns.
func TestHistoryWords(t *testing.T) {
	line := func(repeats int, expect memtrix.OutcomeKind) string {
		var trials []*memtrix.Brief
		for i := range int64(repeats) {
			trials = append(trials, briefs(1+2*i, "1", 500)...)
			last := briefs(2+2*i, "2", 0)
			last[0].Trial.Expect = expect
			trials = append(trials, last...)
		}
		l := history.Lines(trials, history.ByVersion)[0]
		meters := []string{memtrix.VRAMDeviceUsed}
		all := []LineHistory{NewLineHistory(l, meters, history.Changes(l, meters))}
		var text, doc bytes.Buffer
		if err := HistoryText(&text, all, TableOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := HistoryJSON(&doc, all); err != nil {
			t.Fatal(err)
		}
		return text.String() + doc.String()
	}
	for _, x := range []struct {
		repeats int
		expect  memtrix.OutcomeKind
		want    []string
	}{
		{1, "", []string{"at 2: 1 pass before, 1 oom (vram) now: too few repeats to tell (p=1.000; about 3 more", `"untold": [`, "too few repeats to tell changes of the numbers", `"too_few": "`}},
		{4, "", []string{"* new-oom: 4 pass before, 4 oom (vram) now (p = 0.029) (worse, compared)", `"how": "compared"`}},
		{4, memtrix.OOM, []string{"(p = 0.029), as expected by the spec (expected, compared)", `"expected": true`}},
	} {
		got := line(x.repeats, x.expect)
		for _, want := range x.want {
			if !strings.Contains(got, want) {
				t.Errorf("%d repeats: want %q in\n%s", x.repeats, want, got)
			}
		}
		if strings.Contains(got, "no change") || strings.Contains(got, "(better") {
			t.Errorf("%d repeats: that is no word for it\n%s", x.repeats, got)
		}
	}
}
