package lab

// Sizes of a floor search.
const (
	floorGrain      = 16 << 20
	floorHardest    = 128 << 20 // no server starts with less
	floorResolution = 128 << 20
)

// floorSearch looks for the smallest size that passes. peak is what the cell took as
// it is, and guess what it is thought to need: the non-evictable peak, 0 where that is
// not known.
func floorSearch(peak, guess int64, most int) Search {
	s := Search{
		Down: true, Hardest: floorHardest, Grain: floorGrain, Most: most,
		Resolution: func(size int64) int64 { return max(floorResolution, size/100) },
	}
	switch {
	case guess > 0:
		s.Likely, s.Unlikely = s.by(guess, 1/1.06), s.by(guess, 1.06)
	case peak > 0:
		s.Likely, s.Unlikely = s.by(peak, 1/1.05), s.by(peak, 2)
	}
	return s
}

// ceilingSearch looks for the largest rung that passes.
func ceilingSearch(first, last int64, most int) Search {
	return Search{
		Hardest: last, Grain: 1, Most: most,
		Resolution: func(rung int64) int64 { return max(1, rung/50) },
	}
}
