package reports

import (
	"strconv"

	"memtrix"
)

// outcomeText says how a trial ended, with the memory and the node of an
// out-of-memory, and whether that was expected.
func outcomeText(t *memtrix.Trial) string {
	o := t.Outcome
	text := string(o.Kind)
	if text == "" {
		text = "unknown"
	}
	detail := outcomeDetail(o)
	switch {
	case t.Expect != "" && t.Expect != memtrix.Pass && t.AsExpected():
		text += " as expected"
		if detail != "" {
			text += ": " + detail
		}
		return text
	case detail != "":
		text += " " + detail
	}
	if o.HiddenRetries > 0 {
		text += ", " + plural(o.HiddenRetries, "hidden oom retry", "hidden oom retries")
	}
	if !t.AsExpected() && t.Expect != "" {
		text += ", expected " + string(t.Expect)
	}
	return text
}

// outcomeDetail is "vram, KSampler (5)" or "ram by thrash in load"; empty for a
// pass.
func outcomeDetail(o memtrix.Outcome) string {
	text := ""
	if o.Memory != "" && o.Memory != memtrix.MemoryNone {
		text = string(o.Memory)
		if o.How != "" && o.How != memtrix.HowException {
			text += " by " + string(o.How)
		}
	}
	switch {
	case o.Node != nil:
		if text != "" {
			text += ", "
		}
		text += nodeText(*o.Node)
	case o.Phase != "" && o.Kind != memtrix.StartupFailure:
		if text != "" {
			text += " "
		}
		text += "in " + string(o.Phase)
	}
	return text
}

// nodeText is "KSampler (5)"; the id alone where the class is not known.
func nodeText(n memtrix.Node) string {
	return memtrix.Span{Node: &n}.Name()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Failed counts the trials that did not end as expected, for exit status and
// headlines.
func Failed(trials []*memtrix.Trial) int {
	n := 0
	for _, t := range trials {
		if !t.AsExpected() {
			n++
		}
	}
	return n
}

// Verdict says an outcome on one line, without what was expected: "oom vram,
// KSampler (5)".
func Verdict(o memtrix.Outcome) string {
	return outcomeText(&memtrix.Trial{Outcome: o})
}
