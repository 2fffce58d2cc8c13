package lab

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"memtrix"
)

// classOf is what an outcome counts as, so that another failure than the one that is
// looked for is not taken for it: "pass", "oom of vram", "startup-failure".
func classOf(o memtrix.Outcome) string {
	if m := o.Memory; m != "" && m != memtrix.MemoryNone && m != memtrix.MemoryUnknown {
		return string(o.Kind) + " of " + string(m)
	}
	return string(o.Kind)
}

// classes are the outcomes that the two ends have most.
type classes struct {
	good, bad string
	at        FloorMeter // as in Bisection.At
}

// class is what an outcome counts as. Of trials with so much memory all that say that it
// did not do are one.
func (c classes) class(o memtrix.Outcome) string {
	if c.at != "" && c.at.short(o) {
		return "too little " + c.at.Memory()
	}
	return classOf(o)
}

// classesOf finds the outcome that bad has more often than good, and the most frequent
// one of good. Equal ones mean that no outcome tells the ends apart.
func classesOf(at FloorMeter, good, bad []*memtrix.Trial) classes {
	c := classes{at: at}
	g, b := c.shares(good), c.shares(bad)
	c.good = most(g)
	c.bad = c.good
	best := 0.0
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if d := b[name] - g[name]; name != c.good && d > best {
			c.bad, best = name, d
		}
	}
	return c
}

func (c classes) differ() bool { return c.good != c.bad }

func (c classes) shares(trials []*memtrix.Trial) map[string]float64 {
	out := map[string]float64{}
	for _, t := range trials {
		out[c.class(t.Outcome)] += 1 / float64(len(trials))
	}
	return out
}

func most(shares map[string]float64) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		if best == "" || shares[name] > shares[best] {
			best = name
		}
	}
	return best
}

// of says on which side a trial's outcome is; ok is false where it is on neither: it
// failed in another way, which says nothing of the one that is looked for. failure, if
// not empty, is in the message of the failure that is looked for.
func (c classes) of(t *memtrix.Trial, failure string) (bad, ok bool) {
	switch c.class(t.Outcome) {
	case c.bad:
		return true, c.bad == string(memtrix.Pass) || failure == "" || strings.Contains(strings.ToLower(t.Outcome.Message+"\n"+failureOf(t)), strings.ToLower(failure))
	case c.good:
		return false, true
	}
	return false, false
}

// exception is a line that ends a Python traceback.
var exception = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_.]*(?:Error|Exception|Interrupt)(?:: .*)?$`)

// folder is the way to a file, in which a version's tree has its commit.
var folder = regexp.MustCompile(`(?:[A-Za-z]:)?(?:[/\\][^/\\\s'":]+)+[/\\]`)

// failureOf is how a trial failed in words that do not name its version, so that the
// same failure of two versions is the same: the exception, where one is in the evidence,
// and of files their names alone.
func failureOf(t *memtrix.Trial) string {
	if t.Outcome.Kind == memtrix.Pass {
		return ""
	}
	for _, line := range slices.Backward(t.Outcome.Evidence) {
		if exception.MatchString(line) {
			return folder.ReplaceAllString(strings.TrimSpace(line), "")
		}
	}
	return folder.ReplaceAllString(strings.TrimSpace(strings.TrimPrefix(t.Outcome.Message, t.Cell.Version.Name)), "")
}
