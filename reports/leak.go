package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// LeakTable shows what memory at rest did from prompt to prompt.
type LeakTable struct {
	Prompts int
	Rows    []LeakRow
}

// LeakRow is one meter: its growth in bytes a prompt with its bounds, and the readings
// themselves.
type LeakRow struct {
	Meter, Verdict   string
	Slope, Low, High float64
	From             int
	Readings         []int64
}

// Write writes a row for each meter, with its readings as a line of small bars from
// the lowest to the highest.
func (t LeakTable) Write(w io.Writer) error {
	var b strings.Builder
	wide, verdict := len("meter"), len("verdict")
	for _, r := range t.Rows {
		wide, verdict = max(wide, len(r.Meter)), max(verdict, len(r.Verdict))
	}
	fmt.Fprintf(&b, "  %-*s  %14s  %18s  %5s  %-*s  %s\n", wide, "at rest", "MiB a prompt", "95 % interval", "from", verdict, "", "first to last, MiB")
	for _, r := range t.Rows {
		first, last := r.Readings[0], r.Readings[len(r.Readings)-1]
		fmt.Fprintf(&b, "  %-*s  %14s  %18s  %5d  %-*s  %s %s %s\n", wide, r.Meter, small(r.Slope), "["+small(r.Low)+", "+small(r.High)+"]", r.From,
			verdict, r.Verdict, MiB(first), spark(r.Readings), MiB(last))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// small writes bytes in MiB with two decimals.
func small(bytes float64) string {
	s := fmt.Sprintf("%.2f", bytes/mib)
	if s == "-0.00" {
		return "0.00"
	}
	return s
}

// spark draws values as bars of one character; all alike is a low line.
func spark(values []int64) string {
	const bars = "▁▂▃▄▅▆▇█"
	low, high := slices.Min(values), slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		n := 0
		// What moves by less than a MiB is flat for the eye, too.
		if span := max(high-low, mib); v > low {
			n = int(float64(v-low) / float64(span) * 7.999)
		}
		b.WriteString(string([]rune(bars)[n]))
	}
	return b.String()
}
