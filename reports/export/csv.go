package export

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
	"memtrix/reports"
)

// csvColumns are the columns of a CSV: one row for each number of each trial, and a
// row without a number for a trial that has none, so that no outcome is lost.
var csvColumns = []string{
	"session", "trial", "repeat", "started", "version", "commit", "settings", "workflow", "hardware",
	"outcome", "as_expected", "memory", "phase", "node", "simulated", "kind", "meter", "unit", "value", "how",
}

// CSV writes all peaks, readings at rest and times of prompts of all trials (RFC 4180).
// Bytes are integers, times seconds. Of trials that failed, too, the peaks are given:
// how far they came; what to compare says the column outcome.
//
// A text that a spreadsheet would take for a formula begins with an apostrophe.
func CSV(w io.Writer, s reports.Session) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvColumns); err != nil {
		return wrap("csv", err)
	}
	for _, t := range s.Trials {
		for _, row := range csvRows(s, t) {
			if err := out.Write(row); err != nil {
				return wrap("csv", err)
			}
		}
	}
	out.Flush()
	return wrap("csv", out.Error())
}

func csvRows(s reports.Session, t *memtrix.Trial) [][]string {
	o, c := t.Outcome, t.Cell
	node := ""
	if o.Node != nil {
		node = memtrix.Span{Node: o.Node}.Name()
	}
	started := ""
	if !t.Started.IsZero() {
		started = t.Started.UTC().Format(time.RFC3339)
	}
	head := []string{
		csvText(s.Name), strconv.FormatInt(t.ID, 10), strconv.Itoa(t.Repeat), started, csvText(c.Version.Name), csvText(c.Version.Commit),
		csvText(settings(c)), csvText(c.Workflow.Name), csvText(c.Hardware.Name), string(o.Kind), strconv.FormatBool(t.AsExpected()),
		string(o.Memory), csvText(string(o.Phase)), csvText(node), strconv.FormatBool(t.Simulated),
	}
	row := func(kind, meter, unit, value, how string) []string {
		return append(slices.Clone(head), kind, csvText(meter), unit, value, how)
	}
	var rows [][]string
	unit := unitsOf(t)
	for _, meter := range peakMeters(t) {
		if p, ok := t.Peak(meter); ok {
			rows = append(rows, row("peak", meter, unit(meter), strconv.FormatInt(p.Value, 10), string(p.How)))
		}
	}
	for _, r := range t.Readings {
		for _, meter := range slices.Sorted(maps.Keys(r.Values)) {
			rows = append(rows, row(string(r.Kind), meter, unit(meter), strconv.FormatInt(r.Values[meter], 10), ""))
		}
	}
	for _, p := range t.Prompts {
		rows = append(rows, row("prompt", "prompt "+strconv.Itoa(p.Index)+" "+string(p.Outcome), "s", decimal(p.Seconds), ""))
	}
	if len(rows) == 0 {
		rows = append(rows, row("", "", "", "", ""))
	}
	return rows
}

// unitsOf tells units of meters. One that was read at rest only has no series; then the
// family of its name tells.
func unitsOf(t *memtrix.Trial) func(meter string) string {
	units := map[string]memtrix.Unit{}
	for _, s := range t.Series {
		units[s.Meter.Name] = s.Meter.Unit
	}
	return func(meter string) string {
		family, _, _ := strings.Cut(meter, ".")
		if unit := units[meter]; unit != "" || family != "ram" && family != "vram" && family != "swap" {
			return string(unit)
		}
		return string(memtrix.UnitBytes)
	}
}

func peakMeters(t *memtrix.Trial) []string {
	names := map[string]bool{}
	for _, s := range t.Spans {
		for _, p := range s.Peaks {
			names[p.Meter] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// csvText keeps a spreadsheet from running a name
// (https://owasp.org/www-community/attacks/CSV_Injection).
func csvText(text string) string {
	text = reports.OneLine(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}
