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

// Recording is what was recorded of one program.
type Recording struct {
	Command []string
	PID     int
	Seconds float64
	// Exit is nil where it cannot be known.
	Exit        *memtrix.Exit
	Meters      map[string]memtrix.Meter
	Peaks, Lows []memtrix.Peak
	// Growth is by how much each counter grew.
	Growth          map[string]int64
	Samples, Missed int64
	// Overhead is the recorder's own processor time as a share of one core.
	Overhead float64
	Threads  []RecordingThread
	// Absent is why, by meter.
	Absent   map[string]string
	Warnings []string
}

// RecordingThread is one thread of the recorder.
type RecordingThread struct {
	Name            string  `json:"name"`
	Interval        float64 `json:"interval_seconds"`
	Samples         int64   `json:"samples"`
	Missed          int64   `json:"missed"`
	ProcessorSecond float64 `json:"cpu_seconds"`
}

// recordingJSON is the document of `memtrix record --json`.
type recordingJSON struct {
	Peaks    map[string]int64           `json:"peaks"`
	Samples  int64                      `json:"samples"`
	Missed   int64                      `json:"missed"`
	Overhead float64                    `json:"overhead_cpu_fraction"`
	Exit     *recordingExit             `json:"exit,omitempty"`
	Seconds  float64                    `json:"seconds"`
	Command  []string                   `json:"command,omitempty"`
	PID      int                        `json:"pid"`
	PeaksHow map[string]memtrix.PeakHow `json:"peaks_how"`
	PeaksAt  map[string]float64         `json:"peaks_at_seconds"`
	Lows     map[string]int64           `json:"lows"`
	Growth   map[string]int64           `json:"growth"`
	Sources  map[string]string          `json:"sources"`
	Units    map[string]memtrix.Unit    `json:"units"`
	// Other peaks are of meters that are not bytes.
	Other    map[string]int64  `json:"other_peaks,omitempty"`
	Absent   map[string]string `json:"absent,omitempty"`
	Threads  []RecordingThread `json:"threads"`
	Warnings []string          `json:"warnings,omitempty"`
}

type recordingExit struct {
	Status *int   `json:"status,omitempty"`
	Signal string `json:"signal,omitempty"`
}

// RecordingJSON writes a recording as one document. Its errors are those of w.
func RecordingJSON(w io.Writer, r Recording) error {
	doc := recordingJSON{
		Samples: r.Samples, Missed: r.Missed, Overhead: r.Overhead, Seconds: r.Seconds,
		Command: r.Command, PID: r.PID, Absent: r.Absent, Threads: r.Threads, Warnings: r.Warnings,
		Peaks: map[string]int64{}, PeaksHow: map[string]memtrix.PeakHow{}, PeaksAt: map[string]float64{},
		Lows: map[string]int64{}, Growth: r.Growth, Sources: map[string]string{}, Units: map[string]memtrix.Unit{},
		Other: map[string]int64{},
	}
	if r.Exit != nil {
		doc.Exit = &recordingExit{Signal: r.Exit.Signal}
		if r.Exit.Signal == "" {
			doc.Exit.Status = &r.Exit.Status
		}
	}
	for _, p := range r.Peaks {
		if r.Meters[p.Meter].Unit == memtrix.UnitBytes {
			doc.Peaks[p.Meter] = p.Value
		} else {
			doc.Other[p.Meter] = p.Value
		}
		doc.PeaksHow[p.Meter], doc.PeaksAt[p.Meter] = p.How, p.At.Seconds()
	}
	for _, p := range r.Lows {
		doc.Lows[p.Meter] = p.Value
	}
	for name, m := range r.Meters {
		doc.Sources[name], doc.Units[name] = m.Source, m.Unit
	}
	return writeJSON(w, doc)
}

// RecordingTable writes a recording for people. Its errors are those of w.
func RecordingTable(w io.Writer, r Recording, o TableOptions) error {
	sh := sheet{columns: []column{{title: "meter"}, {title: "peak", right: true}, {title: "how"}, {title: "at, s", right: true}, {title: "source", wide: sourceWidth(o)}}}
	for _, p := range r.Peaks {
		how := "sampled"
		if p.How == memtrix.PeakKernel {
			how = "kernel"
		}
		sh.rows = append(sh.rows, texts(p.Meter, quantity(p.Value, r.Meters[p.Meter].Unit), how, Seconds(p.At.Seconds()), r.Meters[p.Meter].Source))
	}
	for _, p := range r.Lows {
		sh.rows = append(sh.rows, texts(p.Meter, quantity(p.Value, r.Meters[p.Meter].Unit), "lowest", Seconds(p.At.Seconds()), r.Meters[p.Meter].Source))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Growth)) {
		if n := r.Growth[name]; n != 0 && !ownMeter(name) {
			sh.rows = append(sh.rows, texts(name, quantity(n, r.Meters[name].Unit), "grew by", "", r.Meters[name].Source))
		}
	}
	var b strings.Builder
	if len(sh.rows) > 0 {
		text, err := drawPanel(sh, []int{0, 1, 2, 3, 4}, o.Color)
		if err != nil {
			return fmt.Errorf("table of a recording: %w", err)
		}
		b.WriteString(text + "\n")
	}
	for _, line := range recordingNotes(r) {
		writeParagraph(&b, line, "  ", o.Width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ownMeter is for meters of the recorder itself, which have a line of their own.
func ownMeter(name string) bool {
	return strings.HasPrefix(name, memtrix.CostPrefix) || strings.HasPrefix(name, "recorder.")
}

func sourceWidth(o TableOptions) int {
	if o.Width == 0 {
		return 0
	}
	return max(o.Width-60, 24)
}

// slower says how seldom a thread read that made way, since its readings are dear: what
// they show between two of them is not seen.
func (t RecordingThread) slower(seconds float64) string {
	if n := float64(t.Samples + t.Missed); n > 0 && n*t.Interval < seconds/2 {
		return fmt.Sprintf(" at most (a reading is dear: every %s s)", Seconds(seconds/n))
	}
	return ""
}

func recordingNotes(r Recording) []string {
	lines := []string{recordingEnd(r)}
	for _, t := range r.Threads {
		lines = append(lines, fmt.Sprintf("thread %s: every %s%s, %d readings, %d missed, %s of processor time",
			t.Name, interval(time.Duration(t.Interval*1e9)), t.slower(r.Seconds), t.Samples, t.Missed, Seconds(t.ProcessorSecond)+" s"))
	}
	lines = append(lines, fmt.Sprintf("recording took %.2f %% of one core", 100*r.Overhead))
	reasons := map[string][]string{}
	for meter, why := range r.Absent {
		reasons[why] = append(reasons[why], meter)
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		slices.Sort(reasons[why])
		lines = append(lines, "not recorded: "+strings.Join(reasons[why], ", ")+" ("+why+")")
	}
	return append(lines, r.Warnings...)
}

func recordingEnd(r Recording) string {
	ran := "recorded for " + Seconds(r.Seconds) + " s"
	switch {
	case r.Exit == nil:
		return ran
	case r.Exit.Signal != "":
		return ran + "; ended by SIG" + r.Exit.Signal
	}
	return ran + "; exit status " + strconv.Itoa(r.Exit.Status)
}

// quantity writes a value with its unit.
func quantity(v int64, unit memtrix.Unit) string {
	switch unit {
	case memtrix.UnitBytes:
		return Bytes(v)
	case memtrix.UnitBytesPerSecond:
		return Bytes(v) + "/s"
	case memtrix.UnitNanoseconds:
		return Seconds(time.Duration(v).Seconds()) + " s"
	case memtrix.UnitPercent:
		return strconv.FormatInt(v, 10) + " %"
	}
	return strconv.FormatInt(v, 10)
}
