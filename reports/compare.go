package reports

import (
	"math"
	"slices"

	"memtrix"
	"memtrix/regress"
)

// shownDifference is the relative change of a peak above which it is marked.
const shownDifference = 0.10

// difference is what differs between a trial and the same settings, workflow and
// hardware in the version before. It is arithmetic on few trials and no verdict.
type difference struct {
	// from is the version compared with; "" when there is none.
	from string
	// outcome is "new oom" or "was oom"; "" when both ended alike.
	outcome string
	// peaks holds the relative change by meter, of those above shownDifference.
	peaks map[string]float64
}

// before finds, for each trial, the trials of the same series in the nearest
// earlier version that has some.
type before struct {
	versions []string
	trials   map[string]map[string][]*memtrix.Trial // by series, by version
}

func (s Session) before() before {
	b := before{s.versionOrder(), map[string]map[string][]*memtrix.Trial{}}
	for _, t := range s.Trials {
		switch t.Outcome.Kind {
		case memtrix.Interrupted, memtrix.HarnessFailure, memtrix.NotApplicable:
			continue // says nothing about the version
		}
		series := t.Cell.Series()
		if b.trials[series] == nil {
			b.trials[series] = map[string][]*memtrix.Trial{}
		}
		b.trials[series][t.Cell.Version.Name] = append(b.trials[series][t.Cell.Version.Name], t)
	}
	return b
}

func (b before) of(t *memtrix.Trial) (version string, trials []*memtrix.Trial) {
	byVersion := b.trials[t.Cell.Series()]
	for i := slices.Index(b.versions, t.Cell.Version.Name) - 1; i >= 0; i-- {
		if trials := byVersion[b.versions[i]]; len(trials) > 0 {
			return b.versions[i], trials
		}
	}
	return "", nil
}

// difference compares a trial with what ran before it. A simulated trial is
// never compared with a real one.
func (b before) difference(t *memtrix.Trial, meters []string) difference {
	from, earlier := b.of(t)
	d := difference{from: from, peaks: map[string]float64{}}
	kind := t.Outcome.Kind
	// What others did on a server is in its trials' numbers, too.
	shared := func(e *memtrix.Trial) bool { return e.Shared }
	if t.Shared || slices.ContainsFunc(earlier, shared) {
		return difference{}
	}
	if from == "" || kind == memtrix.Interrupted || kind == memtrix.HarnessFailure || kind == memtrix.NotApplicable ||
		slices.ContainsFunc(earlier, func(e *memtrix.Trial) bool { return e.Simulated != t.Simulated }) {
		return difference{}
	}
	if was, same := outcomesOf(earlier, kind); !same {
		if kind == memtrix.Pass {
			d.outcome = "was " + was
		} else {
			d.outcome = "new " + string(kind)
		}
		return d
	}
	if kind != memtrix.Pass {
		return d // a failure's peak is where it stopped, not what it needs
	}
	for _, m := range meters {
		// 10 % itself, up to rounding, is not above 10 %.
		if change, ok := peakChange(earlier, t, m); ok && math.Abs(change) > shownDifference+1e-9 {
			d.peaks[m] = change
		}
	}
	return d
}

// outcomesOf reports whether any of the trials ended as kind, and else how the
// first of them ended.
func outcomesOf(trials []*memtrix.Trial, kind memtrix.OutcomeKind) (was string, same bool) {
	for _, t := range trials {
		if t.Outcome.Kind == kind {
			return "", true
		}
	}
	return string(trials[0].Outcome.Kind), false
}

// peakChange is the relative change of a meter's peak against the median of the
// earlier trials that passed; false when there is nothing to compare. Peaks got
// in different ways (sampled, kernel) are not compared.
func peakChange(earlier []*memtrix.Trial, t *memtrix.Trial, meter string) (float64, bool) {
	now, ok := t.Peak(meter)
	if !ok {
		return 0, false
	}
	var values []int64
	for _, e := range earlier {
		if p, ok := e.Peak(meter); ok && p.How == now.How && e.Outcome.Kind == memtrix.Pass {
			values = append(values, p.Value)
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	was := regress.Median(values)
	if was <= 0 {
		return 0, false
	}
	return float64(now.Value)/was - 1, true
}
