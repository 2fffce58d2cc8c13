package history

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"memtrix/regress"
)

// FailOn are the kinds of changes on which a command fails, with the least size in
// percent of those that have one.
type FailOn []FailRule

// FailRule is one of them.
type FailRule struct {
	Kind  regress.Kind
	Share float64 // of the level before; 0 for any size that is told
}

var failKinds = []regress.Kind{regress.NewOOM, regress.NewFailure, regress.Shift, regress.Slope, regress.FixedOOM}

// ParseFailOn reads "new-oom,shift:5%".
func ParseFailOn(text string) (FailOn, error) {
	var all FailOn
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		name, size, sized := strings.Cut(word, ":")
		rule := FailRule{Kind: regress.Kind(name)}
		if rule.Kind == regress.Drift {
			rule.Kind = regress.Slope // one word for what the whole line and what a night tells
		}
		if !slices.Contains(failKinds, rule.Kind) {
			return nil, fmt.Errorf("%q is not a kind of change: there are %s", name, kindsText())
		}
		if sized {
			n, err := strconv.ParseFloat(strings.TrimSuffix(size, "%"), 64)
			if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) || !strings.HasSuffix(size, "%") {
				return nil, fmt.Errorf("%q: the size of a change is a percent, as in shift:5%%", word)
			}
			if rule.Kind != regress.Shift && rule.Kind != regress.Slope {
				return nil, fmt.Errorf("%q: only shift and slope have a size", word)
			}
			rule.Share = n / 100
		}
		all = append(all, rule)
	}
	return all, nil
}

func kindsText() string {
	var words []string
	for _, k := range failKinds {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

// Fails reports whether a change is one to fail on. Changes for the better never are,
// but fixed-oom when it was asked for by name.
func (f FailOn) Fails(c Change) bool {
	for _, r := range f {
		if r.Kind != c.Kind && !(r.Kind == regress.Slope && c.Kind == regress.Drift) {
			continue
		}
		if !c.Worse && c.Kind != regress.FixedOOM {
			continue
		}
		if r.Share == 0 || c.Before == 0 || math.Abs(c.After-c.Before)/math.Abs(c.Before) >= r.Share {
			return true
		}
	}
	return false
}
