package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// sources say where each number of a sheet comes from and how it was got.
func sources(s Session, columns []column, rows []row) []string {
	has := func(title string) bool {
		return slices.ContainsFunc(columns, func(c column) bool { return c.title == title })
	}
	var lines []string
	for _, p := range []struct{ title, meter string }{
		{"VRAM peak", vramMeter(s.Trials)},
		{"RAM peak", memtrix.RAMTreeRSS},
		{"RAM anon", memtrix.RAMTreeAnon},
	} {
		if has(p.title) {
			lines = append(lines, p.title+": "+sourceText(s, p.meter))
		}
	}
	if has(string(memtrix.Rested)) {
		lines = append(lines, "rested: the same meters, idle after the last prompt")
	}
	if has(string(memtrix.Freed)) {
		lines = append(lines, "freed: the same meters, after POST /free has acted")
	}
	if has("prompt 1") || has("prompt 2") {
		lines = append(lines, "prompt: seconds from POST until the prompt ended; the second is the steady one")
	}
	if has("total") {
		lines = append(lines, "total: seconds of the whole trial, start and rest included")
	}
	if text := attachedText(s.Trials); text != "" {
		lines = append(lines, text)
	}
	return append(lines, differenceText(s, rows)...)
}

func sourceText(s Session, meter string) string {
	text := meter
	if source := meterSource(s.Trials, meter); source != "" {
		text += ", " + source
	}
	hows := allHows(s.Trials, meter)
	words := make([]string, 0, len(hows))
	for _, how := range hows {
		word := howText(how, meter, s)
		if len(hows) > 1 && how != "" {
			word = string(how)[:1] + " = " + word
		}
		words = append(words, word)
	}
	if all := strings.Join(words, ", "); all != "" {
		text += "; " + all
	}
	return text
}

func howText(how memtrix.PeakHow, meter string, s Session) string {
	switch {
	case how == memtrix.PeakSampled && s.Interval > 0 && strings.HasPrefix(meter, "vram."):
		return "sampled every " + interval(s.Interval)
	case how == memtrix.PeakSampled && s.Slower > 0:
		return "sampled every " + interval(s.Slower)
	case how == memtrix.PeakKernel:
		return "kernel counter (VmHWM), nothing missed"
	case how == memtrix.PeakProbe:
		return "probe (the allocator's own counter)"
	}
	return string(how)
}

// interval is a sampling interval: "10 ms", "0.5 ms".
func interval(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + " ms"
}

// differenceText explains the marks, and names what they were compared with.
func differenceText(s Session, rows []row) []string {
	var pairs []string
	for _, r := range rows {
		if r.diff.outcome == "" && len(r.diff.peaks) == 0 {
			continue
		}
		if pair := r.cell.Version.Name + " with " + r.diff.from; !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return []string{"+N %, new, was: differences of peaks above " + strconv.Itoa(shownDifference*100) +
		" % and of outcomes at equal settings (" + strings.Join(pairs, "; ") + "); not tested for noise"}
}

// notes are the reasons of what did not run, what failed and what was odd, each
// once with the trials that it is about: a machine without a card, or a Python
// without a package, says so in every trial.
func notes(s Session, rows []row) []string {
	var lines []string
	g := grouped{ids: map[string][]int64{}, shown: map[string]string{}, several: map[string]bool{}}
	for _, r := range rows {
		name := r.cell.Version.Name + ", " + asAsked(r.cell)
		switch {
		case r.planned != nil && r.planned.Reason != "":
			lines = append(lines, name+": "+string(r.planned.Status)+", "+r.planned.Reason)
		case r.trial != nil:
			g.failed(r.trial)
		}
	}
	for _, r := range rows {
		if r.trial == nil {
			continue
		}
		for _, reading := range r.trial.Readings {
			if reading.Note != "" {
				g.add(r.trial, string(reading.Kind)+": "+reading.Note)
			}
		}
		for _, w := range r.trial.Warnings {
			g.add(r.trial, w)
		}
	}
	lines = append(lines, g.lines()...)
	lines = append(lines, packNotes(s.Trials)...)
	lines = append(lines, lowerBounds(rows)...)
	lines = append(lines, withoutEffect(rows)...)
	lines = append(lines, standInNotes(rows)...)
	return append(lines, s.Plan.Warnings...)
}

// grouped are notes in the order of their first trial, with all their trials.
type grouped struct {
	order []string
	ids   map[string][]int64
	// shown is what stands for a note, where that is not the note itself; several is
	// set where its lines are not those of all its trials.
	shown   map[string]string
	several map[string]bool
}

// failed adds a trial's failure. Those with one message and one advice are one, though
// the lines that prove them differ in an amount: the first one's are shown.
func (g *grouped) failed(t *memtrix.Trial) {
	note := failureNote(t)
	if note == "" {
		return
	}
	key := strings.Join(append([]string{t.Outcome.Message, ""}, t.Outcome.Advice...), "\n")
	if was, ok := g.shown[key]; !ok {
		g.shown[key] = note
	} else if was != note {
		g.several[key] = true
	}
	g.add(t, key)
}

func (g *grouped) add(t *memtrix.Trial, note string) {
	if note == "" {
		return
	}
	if g.ids[note] == nil {
		g.order = append(g.order, note)
	}
	g.ids[note] = append(g.ids[note], t.ID)
}

func (g *grouped) lines() []string {
	var lines []string
	for _, note := range g.order {
		name := "trial "
		if len(g.ids[note]) > 1 {
			name = "trials "
		}
		text := note
		if shown, ok := g.shown[note]; ok {
			text = shown
		}
		if g.several[note] {
			first, rest, _ := strings.Cut(text, "\n")
			text = fmt.Sprintf("%s (the lines are those of trial %d)", first, g.ids[note][0])
			if rest != "" {
				text += "\n" + rest
			}
		}
		lines = append(lines, strings.Split(name+rangesText(g.ids[note])+": "+text, "\n")...)
	}
	return lines
}

// failureNote is a trial's failure with its proof, one line each; "" for none.
func failureNote(t *memtrix.Trial) string {
	if t.Outcome.Kind == memtrix.Pass || t.Outcome.Message == "" {
		return ""
	}
	return strings.Join(append([]string{OneLine(t.Outcome.Message)}, proof(t.Outcome)...), "\n")
}

// standInNotes says which models were not real ones, and what was in their place.
func standInNotes(rows []row) []string {
	byFill := map[string][]string{}
	for _, r := range rows {
		for _, s := range r.cell.Workflow.StandIns {
			fill, name := cmp.Or(s.Fill, "zero"), s.Name
			if s.Family != "" {
				name += " (" + s.Family + " " + s.DType + ")"
			}
			if !slices.Contains(byFill[fill], name) {
				byFill[fill] = append(byFill[fill], name)
			}
		}
	}
	var notes []string
	for _, fill := range slices.Sorted(maps.Keys(byFill)) {
		what := "zeros for weights; nothing is read from disk"
		if fill != "zero" {
			what = "random numbers for weights: " + fill
		}
		notes = append(notes, "stand-in models (real shapes, "+what+"): "+strings.Join(byFill[fill], ", "))
	}
	return notes
}

// shownEvidence bounds the lines of evidence of one trial in a table; all of them
// are in the database.
const shownEvidence = 5

// shownProblems bounds what is shown against a workflow: a person wants to mend it
// in one go.
const shownProblems = 100

// proof is what a person can check an outcome by, and what to do about it. Of a
// start that failed the end is shown, since the reason comes last; of all else
// the beginning.
func proof(o memtrix.Outcome) []string {
	var lines []string
	evidence := o.Evidence
	limit := shownEvidence
	if o.Kind == memtrix.InvalidWorkflow {
		limit = shownProblems
	}
	if more := len(evidence) - limit; more > 0 {
		if o.Kind == memtrix.StartupFailure {
			evidence = evidence[more:]
		} else {
			evidence = evidence[:limit]
		}
	}
	for _, e := range evidence {
		lines = append(lines, "    | "+OneLine(e))
	}
	for _, a := range o.Advice {
		lines = append(lines, "    > "+OneLine(a))
	}
	return lines
}
