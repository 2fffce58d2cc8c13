package lab

import (
	"fmt"
	"strings"

	"memtrix"
)

// paragraph says what came out to a person who has not seen the table.
func (d *diagnosing) paragraph() string {
	r := &d.report
	base := d.step(asGiven.ID)
	passed, failed := base.ended()
	name := fmt.Sprintf("%s on ComfyUI %s", r.Workflow, r.Version)
	var s []string
	say := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	switch r.Verdict {
	case VerdictPasses:
		say("%s does not fail here: it passed in %s, with %s each.", name, counted(passed, "trial"), counted(d.prompts(), "prompt"))
	case VerdictWrong:
		say("%s cannot be run, so memory is no question yet: %s.", name, ended(r.outcome.Message))
	default:
		say("%s fails: %s (%d of %s as given).", name, failureWords(base), failed, counted(passed+failed, "trial"))
		if passed > 0 {
			say("It does not fail each time.")
		}
	}
	switch r.Verdict {
	case VerdictCause, VerdictWayOut:
		d.sayCause(say)
	case VerdictNone:
		say("Nothing that was changed makes it pass.")
	case VerdictGaveUp:
		say("There was no answer after %s (--trials allows more).", counted(d.trials(), "trial"))
	}
	for _, f := range r.Findings {
		if r.Verdict == VerdictCause && f.Kind == "later-prompt" {
			continue // it is said by what helps
		}
		say("%s.", ended(upper(f.Text)))
	}
	if text := d.others(); text != "" {
		say("%s", text)
	}
	return strings.Join(s, " ")
}

// sayCause says what made it pass, and what to do about it.
func (d *diagnosing) sayCause(say func(string, ...any)) {
	c := d.report.Cause
	tried := d.step(c.ID)
	passed, _ := tried.ended()
	often := fmt.Sprintf("%d of %s", passed, counted(len(tried.Trials), "trial"))
	if !d.report.Sure {
		often += ", which may be luck, since it does not fail each time as given"
	}
	say("%s it passes (%s).", upper(c.Words), often)
	flags := strings.Join(added(tried.Argv, d.step(asGiven.ID).Argv), " ")
	gone := strings.Join(added(d.step(asGiven.ID).Argv, tried.Argv), " ")
	switch c.Kind {
	case CheckNodes:
		say("So a custom node is the cause, or what its import changes: start without them (--disable-all-custom-nodes), then by halves; memtrix bisect finds which.")
	case CheckOwn:
		say("So that setting of yours is the cause: leave it out%s.", inBrackets(gone))
	case CheckOwnAll:
		say("No single one of your settings is the cause, but together they are: leave them out%s.", inBrackets(gone))
	case CheckPackages:
		say("So a package that came with this version is the cause and not ComfyUI's own code; memtrix bisect finds which.")
	case CheckSetting:
		say("So what the version does otherwise is the cause: start it with %s until that is repaired.", orWords(flags, c.ID))
	case CheckLess:
		say("So nothing is broken that could be switched off: it needs more memory than there is. A way out is %s.", orWords(flags, c.ID))
	}
	d.sayCost(say, tried)
}

// sayCost says what the change costs in time and memory, where both are known.
func (d *diagnosing) sayCost(say func(string, ...any), tried DiagnoseStep) {
	for _, t := range tried.Trials {
		if t.Outcome != memtrix.Pass {
			continue
		}
		words := []string{}
		if v, ok := t.Peaks[memtrix.RAMTreeRSS]; ok {
			words = append(words, "up to "+size(v)+" of RAM")
		}
		for _, meter := range []string{memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed} {
			if v, ok := t.Peaks[meter]; ok {
				words = append(words, size(v)+" of VRAM")
				break
			}
		}
		if t.Last > 0 {
			words = append(words, fmt.Sprintf("%.1f s for the last prompt", t.Last))
		}
		if len(words) > 0 {
			say("It then takes %s.", strings.Join(words, ", "))
		}
		return
	}
}

// others lists what was tried in vain and what could not be tried.
func (d *diagnosing) others() string {
	var vain, skipped []string
	for _, s := range d.report.Steps {
		if s.Kind == CheckAsGiven || s.Kind == CheckInside || d.report.Cause != nil && s.ID == d.report.Cause.ID {
			continue
		}
		switch passed, failed := s.ended(); {
		case s.Skipped != "":
			skipped = append(skipped, s.Words)
		case failed > 0 && passed > 0:
			vain = append(vain, s.Words+" (now and then)")
		case failed > 0:
			text := s.Words
			if k := stepClass(s); k != classOf(d.report.outcome) {
				text += " (" + k + ")"
			}
			vain = append(vain, text)
		}
	}
	var text []string
	if len(vain) > 0 {
		text = append(text, "It fails also "+strings.Join(vain, ", ")+".")
	}
	if len(skipped) > 0 {
		text = append(text, "Not tried: "+strings.Join(skipped, ", ")+" (why is in the table).")
	}
	return strings.Join(text, " ")
}

func stepClass(s DiagnoseStep) string {
	for _, t := range s.Trials {
		if t.Outcome != memtrix.Pass {
			return classOf(memtrix.Outcome{Kind: t.Outcome, Memory: t.Memory})
		}
	}
	return ""
}

func (d *diagnosing) step(id string) DiagnoseStep {
	for _, s := range d.report.Steps {
		if s.ID == id {
			return s
		}
	}
	return DiagnoseStep{}
}

// ended counts a step's trials.
func (s DiagnoseStep) ended() (passed, failed int) {
	for _, t := range s.Trials {
		if t.Outcome == memtrix.Pass {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

func (d *diagnosing) trials() int {
	n := 0
	for _, s := range d.report.Steps {
		n += len(s.Trials)
	}
	return n
}

// prompts is how many prompts a trial has, from the options of those who made it.
func (d *diagnosing) prompts() int { return d.options.Prompts }

// failureWords says how what was given failed: "out of ram in load, at prompt 1, in
// CheckpointLoaderSimple (1)".
func failureWords(base DiagnoseStep) string {
	for _, t := range base.Trials {
		if t.Outcome == memtrix.Pass {
			continue
		}
		text := string(t.Outcome)
		if t.Outcome == memtrix.OOM {
			text = "out of memory"
			if t.Memory != "" {
				text += " (" + string(t.Memory) + ")"
			}
		}
		if t.Phase != "" {
			text += " in " + string(t.Phase)
		}
		if t.Node != nil {
			text += ", node " + memtrix.Span{Node: t.Node}.Name()
		}
		if t.Prompt > 0 {
			text += fmt.Sprintf(", at prompt %d", t.Prompt)
		}
		if t.Outcome != memtrix.OOM && t.Message != "" {
			text += ": " + t.Message
		}
		return text
	}
	return "not each time"
}

// added are the flags that a has and b has not.
func added(a, b []string) []string {
	left := map[string]int{}
	for _, w := range b {
		left[w]++
	}
	var more []string
	for _, w := range a {
		if left[w]--; left[w] < 0 {
			more = append(more, w)
		}
	}
	return more
}

func inBrackets(flags string) string {
	if flags == "" {
		return ""
	}
	return " (" + flags + ")"
}

func orWords(flags, id string) string {
	if flags == "" {
		return id
	}
	return flags
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func ended(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".") }
