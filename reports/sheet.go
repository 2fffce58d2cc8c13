package reports

import (
	"strconv"
	"strings"

	"memtrix"
)

// sheet is what the table and the Markdown summary both show: rows of text that
// know nothing of widths, colours or markup.
type sheet struct {
	title   string // says SIMULATED where it must
	columns []column
	rows    [][]cell
	entries []row    // what each row is of, where it is of a session
	sources []string // where each number comes from
	notes   []string // reasons, warnings
}

type column struct {
	title string
	unit  string
	how   string // how all peaks of the column were got, "" when it differs
	right bool
	// key columns say which row it is; a narrow table repeats them.
	key bool
	// glued columns stand in the same table as the one before.
	glued bool
	// wide is where text may be wrapped; 0 for numbers.
	wide int
}

type tone int

const (
	plain tone = iota
	bad        // ended as nobody expects
	differs
	dim // did not run
)

type cell struct {
	text string
	mark string // "+12 %", "new oom"
	tone tone
}

// field is a column with what fills it. A field that no row has is left out.
type field struct {
	column
	value func(r row) cell
}

// row is an entry with what it is compared to.
type row struct {
	entry
	diff difference
}

// newSheet lays out a session: one row for each trial and for each planned cell
// that did not run, the worst first.
func newSheet(s Session) sheet {
	entries := s.entries()
	meters := peakMeters(s.Trials)
	earlier := s.before()
	rows := make([]row, len(entries))
	for i, e := range entries {
		rows[i] = row{entry: e}
		if e.trial != nil {
			rows[i].diff = earlier.difference(e.trial, meters)
		}
	}
	worstFirst(rows)
	sh := sheet{title: sessionTitle(s), entries: rows}
	cells := make([][]cell, len(rows))
	for _, f := range fields(s, rows) {
		column := make([]cell, len(rows))
		empty := true
		for i, r := range rows {
			column[i] = f.value(r)
			column[i].text = OneLine(column[i].text)
			empty = empty && column[i].text == ""
		}
		if empty && !f.key {
			continue
		}
		sh.columns = append(sh.columns, f.column)
		for i, c := range column {
			cells[i] = append(cells[i], c)
		}
	}
	sh.rows = cells
	sh.sources = oneLines(sources(s, sh.columns, rows))
	sh.notes = notes(s, rows)
	for i := range sh.notes {
		sh.notes[i] = OneLine(sh.notes[i])
	}
	return sh
}

func sessionTitle(s Session) string {
	title := plainTitle(s)
	if simulated := simulatedText(s.Trials); simulated != "" {
		title = OneLine(title + ", " + simulated)
	}
	return title
}

func plainTitle(s Session) string {
	title := "session"
	if s.Name != "" {
		title += " " + s.Name
	}
	if s.Spec != "" && s.Spec != s.Name {
		title += " of " + s.Spec
	}
	title += ": " + plural(len(s.Trials), "trial", "trials")
	return OneLine(title)
}

// fields are all columns in their fixed order.
func fields(s Session, rows []row) []field {
	scale := scaleOf(s.Trials)
	vram := vramMeter(s.Trials)
	list := []field{{column{title: "trial", right: true, key: true}, trialCell}}
	list = append(list, identityFields(rows)...)
	list = append(list, field{column{title: "outcome", wide: 27}, outcomeCell})
	for _, p := range []struct{ title, meter string }{
		{"VRAM peak", vram},
		{"RAM peak", memtrix.RAMTreeRSS},
		{"RAM anon", memtrix.RAMTreeAnon},
	} {
		how := commonHow(s.Trials, p.meter)
		list = append(list, field{
			column{title: p.title, unit: scale.unit, how: string(how), right: true},
			func(r row) cell { return peakCell(r, p.meter, scale, how == "") },
		})
	}
	for _, kind := range []memtrix.ReadingKind{memtrix.Rested, memtrix.Freed} {
		for _, p := range []struct{ title, meter string }{{"VRAM", vram}, {"RAM", memtrix.RAMTreeRSS}} {
			list = append(list, field{
				column{title: string(kind), unit: p.title + " " + scale.unit, right: true, glued: p.title == "RAM"},
				func(r row) cell { return readingCell(r, kind, p.meter, scale) },
			})
		}
	}
	return append(list,
		field{column{title: "prompt 1", unit: "s", right: true}, func(r row) cell { return promptCell(r, 1) }},
		field{column{title: "prompt 2", unit: "s", right: true, glued: true}, func(r row) cell { return promptCell(r, 2) }},
		field{column{title: "total", unit: "s", right: true}, totalCell},
	)
}

// identityFields say which cell a row is; workflow and hardware only where they
// differ.
func identityFields(rows []row) []field {
	workflows, machines := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		workflows[r.cell.Workflow.Hash+r.cell.Workflow.Name] = true
		machines[r.cell.Hardware.Name] = true
	}
	list := []field{
		{column{title: "version", key: true, wide: 16}, func(r row) cell { return versionCell(r) }},
		{column{title: "settings", key: true, wide: 18}, func(r row) cell { return cell{text: settingsText(r.cell)} }},
	}
	if len(workflows) > 1 {
		list = append(list, field{column{title: "workflow", key: true, wide: 16},
			func(r row) cell { return cell{text: r.cell.Workflow.Name} }})
	}
	if len(machines) > 1 {
		list = append(list, field{column{title: "hardware", key: true, wide: 12},
			func(r row) cell { return cell{text: r.cell.Hardware.Name} }})
	}
	return list
}

func trialCell(r row) cell {
	if r.trial == nil {
		return cell{}
	}
	return cell{text: strconv.FormatInt(r.trial.ID, 10)}
}

func versionCell(r row) cell {
	text := r.cell.Version.Name
	if marks := r.marks(); len(marks) > 0 {
		text += " (" + strings.Join(marks, ", ") + ")"
	}
	return cell{text: text}
}

func outcomeCell(r row) cell {
	if r.trial == nil {
		return cell{text: notRunText(r.planned), tone: dim}
	}
	c := cell{text: outcomeText(r.trial), mark: r.diff.outcome}
	switch {
	case !r.trial.AsExpected():
		c.tone = bad
	case c.mark != "":
		c.tone = differs
	}
	return c
}

// notRunText names why a planned cell has no trial; the reason is a note.
func notRunText(p *memtrix.PlannedCell) string {
	if p.Status == memtrix.StatusRun {
		return "not run yet"
	}
	return string(p.Status)
}

func peakCell(r row, meter string, scale scale, showHow bool) cell {
	if r.trial == nil {
		return cell{}
	}
	p, ok := r.trial.Peak(meter)
	if !ok {
		return cell{}
	}
	c := cell{text: scale.format(p.Value)}
	if AtLeast(r.trial, p) {
		c.text = ">= " + c.text
	}
	if showHow && p.How != "" {
		c.text = string(p.How)[:1] + " " + c.text
	}
	if change, ok := r.diff.peaks[meter]; ok {
		c.mark, c.tone = Percent(change), differs
	}
	return c
}

func readingCell(r row, kind memtrix.ReadingKind, meter string, scale scale) cell {
	if reading, ok := readingOf(r.trial, kind); ok {
		if v, ok := reading.Values[meter]; ok {
			return cell{text: scale.format(v)}
		}
	}
	return cell{}
}

func readingOf(t *memtrix.Trial, kind memtrix.ReadingKind) (memtrix.Reading, bool) {
	if t != nil {
		for _, r := range t.Readings {
			if r.Kind == kind {
				return r, true
			}
		}
	}
	return memtrix.Reading{}, false
}

// promptCell is the time of a prompt that passed: the time until a failure says
// nothing about speed.
func promptCell(r row, index int) cell {
	if r.trial != nil {
		for _, p := range r.trial.Prompts {
			if p.Index == index && p.Outcome == memtrix.Pass {
				return cell{text: Seconds(p.Seconds)}
			}
		}
	}
	return cell{}
}

func totalCell(r row) cell {
	if r.trial == nil || r.trial.Seconds == 0 {
		return cell{}
	}
	return cell{text: Seconds(r.trial.Seconds)}
}
