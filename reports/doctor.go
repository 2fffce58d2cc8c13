package reports

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// Health is what a machine can tell about memory, and what asking takes.
type Health struct {
	// Facts are those of an environment.
	Facts  memtrix.Environment
	Meters []HealthMeter
	Wakes  []HealthWake
	// Recorder is the processor time of all recording threads as a share of one
	// core, without what Wakes tell it is above.
	Recorder float64
	Notes    []string
}

// HealthMeter is one meter: available where Reason is "".
type HealthMeter struct {
	memtrix.Meter
	Reason string
	Value  int64
	Group  string // what it is read together with; the cost is that of one reading
	Thread string
	Every  time.Duration
	// CPU is processor time, Each and Longest are wall time.
	CPU, Each, Longest time.Duration
}

// HealthWake is what waking a thread at an interval takes, and nothing else.
type HealthWake struct {
	Interval time.Duration
	How      string
	Share    float64 // of one core
}

type healthJSON struct {
	Machine  memtrix.Environment `json:"machine"`
	Meters   []healthMeterJSON   `json:"meters"`
	Wakes    []healthWakeJSON    `json:"empty_loops"`
	Recorder float64             `json:"recorder_cpu_fraction"`
	Notes    []string            `json:"notes,omitempty"`
}

type healthMeterJSON struct {
	Name      string       `json:"name"`
	Unit      memtrix.Unit `json:"unit,omitempty"`
	Source    string       `json:"source,omitempty"`
	Available bool         `json:"available"`
	Reason    string       `json:"reason,omitempty"`
	Value     *int64       `json:"value,omitempty"`
	Group     string       `json:"read_with,omitempty"`
	Thread    string       `json:"thread,omitempty"`
	Interval  float64      `json:"interval_seconds,omitempty"`
	CPU       float64      `json:"cpu_seconds_per_reading,omitempty"`
	Each      float64      `json:"seconds_per_reading,omitempty"`
	Longest   float64      `json:"longest_seconds,omitempty"`
}

type healthWakeJSON struct {
	Interval float64 `json:"interval_seconds"`
	How      string  `json:"in"`
	Share    float64 `json:"cpu_fraction"`
}

// DoctorJSON writes the state of a machine as one document. Its errors are those
// of w.
func DoctorJSON(w io.Writer, h Health) error {
	doc := healthJSON{Machine: h.Facts, Recorder: h.Recorder, Notes: h.Notes}
	for _, m := range h.Meters {
		line := healthMeterJSON{
			Name: m.Name, Unit: m.Unit, Source: m.Source, Available: m.Reason == "", Reason: m.Reason,
			Group: m.Group, Thread: m.Thread,
		}
		if line.Available {
			line.Value = &m.Value
			line.Interval, line.CPU = m.Every.Seconds(), m.CPU.Seconds()
			line.Each, line.Longest = m.Each.Seconds(), m.Longest.Seconds()
		}
		doc.Meters = append(doc.Meters, line)
	}
	for _, l := range h.Wakes {
		doc.Wakes = append(doc.Wakes, healthWakeJSON{l.Interval.Seconds(), l.How, l.Share})
	}
	return writeJSON(w, doc)
}

// DoctorTable writes the state of a machine for people. Its errors are those of
// w.
func DoctorTable(w io.Writer, h Health, o TableOptions) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.Facts)) {
		writeParagraph(&b, name+": "+fact(name, h.Facts[name]), "  ", o.Width)
	}
	b.WriteByte('\n')
	sh := sheet{columns: []column{
		{title: "meter"}, {title: "now", right: true}, {title: "every", right: true},
		{title: "a reading", how: "takes", right: true}, {title: "longest", right: true}, {title: "thread"},
		{title: "source, or why not", wide: sourceWidth(o)},
	}}
	missing := sheet{columns: []column{{title: "not available"}, {title: "why", wide: sourceWidth(o)}}}
	for _, m := range h.Meters {
		if m.Reason != "" {
			missing.rows = append(missing.rows, texts(m.Name, m.Reason))
			continue
		}
		sh.rows = append(sh.rows, texts(m.Name, quantity(m.Value, m.Unit), interval(m.Every), micro(m.Each), micro(m.Longest), m.Thread, m.Source))
	}
	for _, part := range []sheet{sh, missing} {
		if len(part.rows) == 0 {
			continue
		}
		text, err := drawPanel(part, every(part.columns), o.Color)
		if err != nil {
			return fmt.Errorf("table of meters: %w", err)
		}
		b.WriteString(text + "\n")
	}
	for _, l := range h.Wakes {
		fmt.Fprintf(&b, "waking a thread every %s (in %s) and nothing else takes %.2f %% of one core here\n", interval(l.Interval), l.How, 100*l.Share)
	}
	fmt.Fprintf(&b, "all recording threads together took %.2f %%, their wake-ups included\n", 100*h.Recorder)
	for _, n := range h.Notes {
		writeParagraph(&b, n, "  ", o.Width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fact writes sizes for people.
func fact(name, value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < mib {
		return value
	}
	for _, size := range []string{"ram.", "swap.", "vram.", "cgroup.", "limit."} {
		if strings.Contains(name, size) {
			return Bytes(n)
		}
	}
	return value
}

// micro writes a short time.
func micro(d time.Duration) string {
	if d >= time.Millisecond {
		return strconv.FormatFloat(d.Seconds()*1e3, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(d.Seconds()*1e6, 'f', 1, 64) + " µs"
}

// texts makes a row of plain cells.
func texts(words ...string) []cell {
	row := make([]cell, len(words))
	for i, w := range words {
		row[i].text = OneLine(w)
	}
	return row
}

func every(columns []column) []int {
	all := make([]int, len(columns))
	for i := range all {
		all[i] = i
	}
	return all
}
