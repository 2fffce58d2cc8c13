package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"memtrix"
)

// Diagnosis is what was changed to find out why a cell fails, and what came of it.
type Diagnosis struct {
	Title     string
	Simulated bool
	Rows      []DiagnosisRow
	Words     string // the paragraph at the end
}

// DiagnosisRow is one change with its trials.
type DiagnosisRow struct {
	What    string
	Argv    []string
	Trials  []DiagnosisTrial
	Skipped string // why there are none
	Cause   bool   // it makes the cell pass
}

// DiagnosisTrial is one trial. Peaks are bytes by meter.
type DiagnosisTrial struct {
	ID      int64
	Outcome memtrix.Outcome
	Prompt  int // that failed, 0 for none
	Peaks   map[string]int64
	Last    float64 // seconds of the last prompt that passed
}

// DiagnosisTable writes the changes in the order in which they were tried, then the
// paragraph.
func DiagnosisTable(w io.Writer, d Diagnosis) error {
	var b strings.Builder
	b.WriteString(OneLine(d.Title))
	if d.Simulated {
		b.WriteString("  SIMULATED: no measurement")
	}
	b.WriteString("\n\n")
	head := []string{"", "what", "outcome", "VRAM peak", "RAM peak", "last prompt", "trials"}
	rows := [][]string{head}
	for _, r := range d.Rows {
		rows = append(rows, r.cells())
	}
	wide := make([]int, len(head))
	for _, r := range rows {
		for i, c := range r {
			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}
	for i, r := range rows {
		var line strings.Builder
		for j, c := range r {
			pad := strings.Repeat(" ", wide[j]-utf8.RuneCountInString(c))
			if j >= 3 && j < len(r)-1 { // numbers end alike
				line.WriteString(pad + c + "  ")
			} else {
				line.WriteString(c + pad + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if i > 0 {
			b.WriteString(d.Rows[i-1].below())
		}
	}
	b.WriteByte('\n')
	for _, line := range wrap(OneLine(d.Words), 100) {
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cells are a row's texts.
func (r DiagnosisRow) cells() []string {
	mark := " "
	if r.Cause {
		mark = ">"
	}
	if len(r.Trials) == 0 {
		return []string{mark, OneLine(r.What), "not tried", "", "", "", ""}
	}
	var order []string
	count := map[string]int{}
	var ids []int64
	var last float64
	for _, t := range r.Trials {
		text := Verdict(t.Outcome)
		if t.Prompt > 1 {
			text += fmt.Sprintf(", prompt %d", t.Prompt)
		}
		if count[text]++; count[text] == 1 {
			order = append(order, text)
		}
		ids = append(ids, t.ID)
		last = max(last, t.Last)
	}
	for i, text := range order {
		if n := count[text]; n > 1 {
			order[i] = fmt.Sprintf("%dx %s", n, text)
		}
	}
	time := ""
	if last > 0 {
		time = Seconds(last) + " s"
	}
	return []string{
		mark, OneLine(r.What), OneLine(strings.Join(order, ", ")), r.peak(memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed), r.peak(memtrix.RAMTreeRSS), time, rangesText(ids),
	}
}

// peak is the largest of the first meter that the trials have, "" where they have none.
func (r DiagnosisRow) peak(meters ...string) string {
	for _, m := range meters {
		var most int64
		found := false
		for _, t := range r.Trials {
			if v, ok := t.Peaks[m]; ok {
				most, found = max(most, v), true
			}
		}
		if found {
			return Bytes(most)
		}
	}
	return ""
}

// below are the flags of a row, or why it was not tried.
func (r DiagnosisRow) below() string {
	switch {
	case r.Skipped != "" && len(r.Trials) == 0:
		return "     " + OneLine(r.Skipped) + "\n"
	case len(r.Argv) > 0:
		return "     " + OneLine(strings.Join(r.Argv, " ")) + "\n"
	}
	return ""
}
