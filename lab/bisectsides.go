package lab

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// Side is what was measured on one side of the first bad candidate.
type Side struct {
	Runs   int      `json:"runs"`
	Failed int      `json:"failed,omitempty"` // with the outcome that is looked for
	Mean   *float64 `json:"mean,omitempty"`
	// Low and High are the 95 % confidence interval of the mean (Student's t), where
	// there are two runs at least.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// Sides are the runs before and after the border that was found. Those of candidates
// within the interval, and those beyond another change, are in neither.
func (r *BisectReport) Sides() (good, bad Side) {
	var values [2][]float64
	lo, hi := r.searched()
	for _, run := range r.Runs {
		side, s := 0, &good
		switch {
		case run.Index < lo || run.Index > hi:
			continue
		case run.Index < r.From:
		case run.Index >= r.To:
			side, s = 1, &bad
		default:
			continue
		}
		switch run.Result {
		case RunValue:
			values[side] = append(values[side], *run.Value)
		case RunBad:
			s.Failed++
		case RunGood:
		default:
			continue
		}
		s.Runs++
	}
	good.interval(values[0])
	bad.interval(values[1])
	return good, bad
}

// searched is the part between other changes.
func (r *BisectReport) searched() (lo, hi int) {
	hi = len(r.Posterior) - 1
	for _, c := range r.Several {
		if c.To <= r.From {
			lo = max(lo, c.To)
		}
		if c.From >= r.To {
			hi = min(hi, c.From)
		}
	}
	return lo, hi
}

func (s *Side) interval(v []float64) {
	if len(v) == 0 {
		return
	}
	mean, squares := meanAndSquares(v)
	s.Mean = &mean
	if n := float64(len(v)); n > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		half := t * math.Sqrt(squares/(n-1)/n)
		low, high := mean-half, mean+half
		s.Low, s.High = &low, &high
	}
}

// Format writes a value for people.
func (m Measure) Format(v float64) string {
	if !m.Bytes() {
		return strconv.FormatFloat(v, 'f', 2, 64) + " s"
	}
	if math.Abs(v) < 10<<20 {
		return fmt.Sprintf("%.3f MiB", v/(1<<20))
	}
	return fmt.Sprintf("%.1f MiB", v/(1<<20))
}

// Words say what a side showed.
func (s Side) Words(m Measure) string {
	if s.Mean == nil {
		return fmt.Sprintf("%d of %d runs", s.Failed, s.Runs)
	}
	text := m.Format(*s.Mean)
	if s.Low != nil {
		text += fmt.Sprintf(" (95 %% interval %s to %s, %d runs)", m.Format(*s.Low), m.Format(*s.High), s.Runs)
	}
	return text
}
