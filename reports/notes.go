package reports

import (
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
	every := s.Interval
	if strings.HasPrefix(meter, "vram.") && s.CardInterval > 0 {
		every = s.CardInterval
	}
	switch {
	case how == memtrix.PeakSampled && every > 0:
		return "sampled every " + interval(every)
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

// notes are the reasons of what did not run, what was odd about trials, and what
// failed.
func notes(s Session, rows []row) []string {
	var lines []string
	for _, r := range rows {
		name := r.cell.Version.Name + ", " + settingsText(r.cell)
		switch {
		case r.planned != nil && r.planned.Reason != "":
			lines = append(lines, name+": "+string(r.planned.Status)+", "+r.planned.Reason)
		case r.trial != nil:
			lines = append(lines, trialNotes(r.trial)...)
		}
	}
	lines = append(lines, commonWarnings(rows)...)
	return append(lines, s.Plan.Warnings...)
}

// commonWarnings are what was odd, each once with the trials that it is about: a
// machine without a card says so in every trial.
func commonWarnings(rows []row) []string {
	var words []string
	ids := map[string][]string{}
	for _, r := range rows {
		if r.trial == nil {
			continue
		}
		for _, w := range r.trial.Warnings {
			if ids[w] == nil {
				words = append(words, w)
			}
			ids[w] = append(ids[w], strconv.FormatInt(r.trial.ID, 10))
		}
	}
	var lines []string
	for _, w := range words {
		name := "trial "
		if len(ids[w]) > 1 {
			name = "trials "
		}
		lines = append(lines, name+strings.Join(ids[w], ", ")+": "+w)
	}
	return lines
}

func trialNotes(t *memtrix.Trial) []string {
	var lines []string
	prefix := "trial " + strconv.FormatInt(t.ID, 10) + ": "
	if t.Outcome.Kind != memtrix.Pass && t.Outcome.Message != "" {
		lines = append(lines, prefix+t.Outcome.Message)
		lines = append(lines, proof(t.Outcome)...)
	}
	for _, r := range t.Readings {
		if r.Note != "" {
			lines = append(lines, prefix+string(r.Kind)+": "+r.Note)
		}
	}
	return lines
}

// shownEvidence bounds the lines of evidence of one trial in a table; all of them
// are in the database.
const shownEvidence = 5

// proof is what a person can check an outcome by, and what to do about it. Of a
// start that failed the end is shown, since the reason comes last; of all else
// the beginning.
func proof(o memtrix.Outcome) []string {
	var lines []string
	evidence := o.Evidence
	if more := len(evidence) - shownEvidence; more > 0 {
		if o.Kind == memtrix.StartupFailure {
			evidence = evidence[more:]
		} else {
			evidence = evidence[:shownEvidence]
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
