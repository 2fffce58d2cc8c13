package reports

import (
	"strings"
	"testing"
	"time"

	"memtrix"
)

// Ensure that a sampled peak of a trial that ran out of VRAM is a lower bound where the
// allocator told of more, in the table and in the timeline's legend, and nowhere else.
func TestAtLeast(t *testing.T) {
	const table = "Currently allocated     : 7.19 GiB\nRequested               : 960.00 MiB\nDevice limit            : 7.97 GiB"
	trial := func(change func(*memtrix.Trial, *memtrix.Peak)) *memtrix.Trial {
		p := memtrix.Peak{Meter: memtrix.VRAMTrialUsed, Value: 6437 << 20, How: memtrix.PeakSampled}
		tr := &memtrix.Trial{ID: 1, Outcome: memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Evidence: strings.Split(table, "\n")}}
		change(tr, &p)
		tr.Spans = []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, End: time.Second, Peaks: []memtrix.Peak{p}}}
		return tr
	}
	for name, c := range map[string]struct {
		want   bool
		change func(*memtrix.Trial, *memtrix.Peak)
	}{
		"oom":           {true, func(*memtrix.Trial, *memtrix.Peak) {}},
		"no more":       {false, func(_ *memtrix.Trial, p *memtrix.Peak) { p.Value = 7360 << 20 }},
		"nothing told":  {false, func(tr *memtrix.Trial, _ *memtrix.Peak) { tr.Outcome.Evidence = nil }},
		"RAM":           {false, func(tr *memtrix.Trial, _ *memtrix.Peak) { tr.Outcome.Memory = memtrix.MemoryRAM }},
		"another meter": {false, func(_ *memtrix.Trial, p *memtrix.Peak) { p.Meter = memtrix.RAMTreeRSS }},
		"pass":          {false, func(tr *memtrix.Trial, _ *memtrix.Peak) { tr.Outcome.Kind = memtrix.Pass }},
		"by a probe":    {false, func(_ *memtrix.Trial, p *memtrix.Peak) { p.How = memtrix.PeakProbe }},
	} {
		tr := trial(c.change)
		p := tr.Spans[0].Peaks[0]
		if got := AtLeast(tr, p); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		rows := []row{{entry: entry{trial: tr}}}
		text := peakCell(rows[0], p.Meter, scaleOf([]*memtrix.Trial{tr}), false).text
		if got := strings.HasPrefix(text, ">= "); got != c.want {
			t.Errorf("%s: the table says %q", name, text)
		}
		if got := len(lowerBounds(rows)) > 0; got != c.want {
			t.Errorf("%s: a note about it: %v, want %v", name, got, c.want)
		}
		if legend := curveText(tr, "VRAM", memtrix.Meter{Name: p.Meter}); strings.Contains(legend, "at least") != c.want {
			t.Errorf("%s: the legend says %q", name, legend)
		}
	}
}
