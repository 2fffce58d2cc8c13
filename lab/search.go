package lab

import (
	"math"
	"slices"
)

// Search looks for the border between sizes that pass and sizes that do not, with as
// few tries as it can. It does nothing by itself: Next says what to try, from what was
// tried.
type Search struct {
	// Down says which side is hard: true where small sizes fail (a floor), false
	// where large ones do (a ceiling).
	Down bool
	// Likely is a size that probably passes, and Unlikely one that may not, the
	// bracket that is looked into first. Both are guesses.
	Likely, Unlikely int64
	// Hardest is the last size that is worth trying.
	Hardest int64
	// Grain: sizes are multiples of it, but for that of the first try.
	Grain int64
	// Resolution is how near the border must be known at a size.
	Resolution func(size int64) int64
	// Most is how many tries there may be.
	Most int
}

// Tried is one try. The first of a search is the cell as it is: it is expected to
// pass, and is the easiest size of all.
type Tried struct {
	Size int64 `json:"size"`
	Pass bool  `json:"pass"`
}

// Border is what a search found.
type Border struct {
	// Size is the hardest size that passes with all easier ones that were tried.
	Size int64 `json:"size"`
	// Fails is the next size that does not pass; 0 where each size that was tried did.
	Fails int64 `json:"fails,omitempty"`
	// Near says that both are as near as the resolution asks.
	Near bool `json:"near"`
	// Sure says that both were tried twice, with the same end.
	Sure bool `json:"sure"`
	// Mixed are sizes that passed at one time and not at another.
	Mixed []int64 `json:"mixed,omitempty"`
	// Beyond are sizes that passed although an easier one did not: it is not
	// monotonic.
	Beyond []int64 `json:"beyond,omitempty"`
}

// votes are the tries of one size.
type votes struct{ pass, fail int }

func (v votes) passes() bool { return v.pass > v.fail }
func (v votes) fails() bool  { return v.fail > v.pass }

func count(tried []Tried) map[int64]votes {
	all := map[int64]votes{}
	for _, t := range tried {
		v := all[t.Size]
		if t.Pass {
			v.pass++
		} else {
			v.fail++
		}
		all[t.Size] = v
	}
	return all
}

// harder reports whether a is harder to pass than b.
func (s Search) harder(a, b int64) bool {
	if s.Down {
		return a < b
	}
	return a > b
}

// by moves a size by a factor: towards the hard side for factors above 1.
func (s Search) by(size int64, factor float64) int64 {
	if s.Down {
		factor = 1 / factor
	}
	v := int64(math.Round(float64(size)*factor/float64(s.Grain))) * s.Grain
	if s.Hardest > 0 && s.harder(v, s.Hardest) {
		v = s.Hardest
	}
	return v
}

// ends are the easiest size that fails and the hardest that passes before it; 0 for
// one that there is not.
func (s Search) ends(all map[int64]votes) (pass, fail int64) {
	for size, v := range all {
		if v.fails() && (fail == 0 || s.harder(fail, size)) {
			fail = size
		}
	}
	for size, v := range all {
		if v.passes() && (fail == 0 || s.harder(fail, size)) && (pass == 0 || s.harder(size, pass)) {
			pass = size
		}
	}
	return pass, fail
}

// Next is the size to try next, or false when nothing is left to be learned: the
// border is known as nearly as is wanted and its two sides were tried twice, or the
// tries are used up, or there is no border.
func (s Search) Next(tried []Tried) (size int64, more bool) {
	if len(tried) >= s.Most || len(tried) == 0 {
		return 0, false
	}
	all := count(tried)
	for _, t := range tried {
		if v := all[t.Size]; !v.passes() && !v.fails() {
			return t.Size, true // once so and once so: the third counts
		}
	}
	pass, fail := s.ends(all)
	switch {
	case pass == 0:
		return 0, false // not even as it is
	case fail == 0:
		return s.onward(pass, len(all))
	}
	// A guess is a side of the bracket until it is tried or has become idle.
	easy, guessed := pass, false
	if s.Likely > 0 && s.harder(fail, s.Likely) && s.harder(s.Likely, pass) {
		easy, guessed = s.Likely, true
	}
	switch {
	case guessed && (s.near(easy, fail) || fail != s.Unlikely):
		return easy, true // half of the bracket has failed: see whether the rest holds
	case !guessed && s.near(easy, fail):
		return s.confirm(all, pass, fail, tried)
	case !guessed && s.Likely > 0 && ratio(easy, fail) > 2:
		return s.backward(all, pass, fail), true
	}
	return s.middle(easy, fail), true
}

// backward is the next size where the guess has failed: not all the way back at once,
// and by longer steps each time.
func (s Search) backward(all map[int64]votes, pass, fail int64) int64 {
	step := 1.25
	for size, v := range all {
		if v.fails() && size != s.Likely && s.harder(s.Likely, size) {
			step *= step
		}
	}
	if size := s.by(fail, 1/step); s.harder(size, pass) {
		return size
	}
	return s.middle(pass, fail)
}

// onward is the next size where all have passed so far.
func (s Search) onward(pass int64, sizes int) (int64, bool) {
	next := s.by(pass, 2)
	if sizes == 2 && pass == s.Unlikely && ratio(s.Likely, s.Unlikely) < 1.5 {
		next = s.by(pass, 1.25) // a good guess is not far off
	}
	if sizes == 1 && s.Unlikely > 0 && s.harder(s.Unlikely, pass) {
		next = s.by(s.Unlikely, 1)
	}
	return next, s.harder(next, pass)
}

// near reports whether the sides of a border are as near as is wanted, or as the
// grain allows.
func (s Search) near(pass, fail int64) bool {
	width := max(pass-fail, fail-pass)
	if width <= s.Resolution(max(min(pass, fail), 1)) {
		return true
	}
	m := s.middle(pass, fail)
	return m == pass || m == fail
}

// middle halves a bracket: by ratio where it is wide.
func (s Search) middle(a, b int64) int64 {
	m := float64(a+b) / 2
	if ratio(a, b) > 2 {
		m = math.Sqrt(float64(a) * float64(b))
	}
	return int64(math.Round(m/float64(s.Grain))) * s.Grain
}

func ratio(a, b int64) float64 {
	return float64(max(a, b)) / float64(max(min(a, b), 1))
}

// confirm looks into stretches where nothing was tried, repeats both sides of the
// border, and looks once beyond it for sizes that pass again.
func (s Search) confirm(all map[int64]votes, pass, fail int64, tried []Tried) (int64, bool) {
	size, wide := s.gap(all, pass)
	switch {
	case wide && s.Most-len(tried) > 2: // room for both repeats
		return size, true
	case pass != tried[0].Size && all[pass] == votes{1, 0}:
		return pass, true
	case all[fail] == votes{0, 1}:
		return fail, true
	}
	for size := range all {
		if s.harder(size, fail) && ratio(size, fail) > 1.2 {
			return 0, false // looked already
		}
	}
	beyond := s.by(fail, 1.25)
	return beyond, s.harder(beyond, fail)
}

// gap is a size between the border and the easiest size that is of interest, where
// none was tried over a wide stretch: what passes on both sides of it might not
// within.
func (s Search) gap(all map[int64]votes, pass int64) (int64, bool) {
	if s.Likely == 0 {
		return 0, false // it came from the easiest size, in steps
	}
	easy := []int64{pass}
	for size := range all {
		if s.harder(pass, size) && !s.harder(s.Likely, size) {
			easy = append(easy, size)
		}
	}
	if s.harder(pass, s.Likely) {
		easy = append(easy, s.Likely)
	}
	slices.Sort(easy)
	for i := 1; i < len(easy); i++ {
		if ratio(easy[i], easy[i-1]) > 1.9 {
			return s.middle(easy[i], easy[i-1]), true
		}
	}
	return 0, false
}

// Border is what the tries tell by now; false where not even the first passed.
func (s Search) Border(tried []Tried) (Border, bool) {
	all := count(tried)
	pass, fail := s.ends(all)
	if pass == 0 {
		return Border{}, false
	}
	b := Border{Size: pass, Fails: fail}
	for size, v := range all {
		if v.pass > 0 && v.fail > 0 {
			b.Mixed = append(b.Mixed, size)
		}
		if fail != 0 && v.passes() && s.harder(size, fail) {
			b.Beyond = append(b.Beyond, size)
		}
	}
	slices.Sort(b.Mixed)
	slices.Sort(b.Beyond)
	if fail != 0 {
		b.Near = s.near(pass, fail)
		b.Sure = all[pass].fail == 0 && all[fail].pass == 0 && all[fail].fail > 1 && (all[pass].pass > 1 || pass == tried[0].Size)
	}
	return b, true
}
