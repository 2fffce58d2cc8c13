package calibrate

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"

	"memtrix/regress"
)

// What a drift is looked for in: so many nights before it, and after it began.
const (
	DriftBefore = 60
	DriftNights = 150
)

// DriftRow is what a look every night makes of drifts on one kind of noise, in shares of
// series.
type DriftRow struct {
	Kind string
	// False are series of a year without a change in which a drift was told.
	False float64
	// Two and Four are drifts of 2 and 4 deviations (of the whole noise) in 60 nights
	// that go on so.
	Two, Four Drifts
	// Steps are the steps of 1, 2, 3 and 5 deviations of which somebody was told that
	// they were drifts, within 150 nights.
	Steps [4]float64
}

// Drifts are shares of drifts that were told within so many nights of their beginning.
type Drifts struct {
	In60, In90, In150 float64
	Median            int // nights, 0 where less than half were told
	// Shifts are drifts of which a shift was told, before or after; Again those of which
	// a second alarm told as a drift.
	Shifts, Again float64
}

// MeasureDrifts runs so many series of each size.
func MeasureDrifts(g Generator, series int, seed uint64) DriftRow {
	row := DriftRow{Kind: g.Name}
	sd := deviation(g)
	source := func(i int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i))) }
	still := func(int) float64 { return 0 }
	for i := range series {
		if told, _ := driftsTold(newNights(g, source(i), DriftBefore, sd, still), 365); len(told) > 0 {
			row.False += 1 / float64(series)
		}
	}
	row.Two, row.Four = measureDrift(g, series, sd, 2, source), measureDrift(g, series, sd, 4, source)
	for k, size := range []float64{1, 2, 3, 5} {
		for i := range series {
			n := newNights(g, source(i), DriftBefore, sd, func(night int) float64 {
				if night >= DriftBefore {
					return size
				}
				return 0
			})
			if told, _ := driftsTold(n, DriftNights); len(told) > 0 {
				row.Steps[k] += 1 / float64(series)
			}
		}
	}
	return row
}

func measureDrift(g Generator, series int, sd, size float64, source func(int) *rand.Rand) Drifts {
	var d Drifts
	var when []int
	part := 1 / float64(series)
	for i := range series {
		n := newNights(g, source(i), DriftBefore, sd, func(night int) float64 { return size / 60 * float64(max(night-DriftBefore+1, 0)) })
		told, shifts := driftsTold(n, DriftNights)
		if shifts > 0 {
			d.Shifts += part
		}
		if len(told) > 1 {
			d.Again += part
		}
		if len(told) > 0 {
			when = append(when, told[0])
		}
	}
	for _, night := range when {
		if night <= 60 {
			d.In60 += part
		}
		if night <= 90 {
			d.In90 += part
		}
		d.In150 += part
	}
	slices.SortFunc(when, cmp.Compare[int])
	if 2*len(when) > series {
		d.Median = when[series/2]
	}
	return d
}

// driftsTold are the nights, 1 for the first that was looked at, in which a drift was told,
// and how many shifts were.
func driftsTold(n *nights, looks int) (told []int, shifts int) {
	for night := 1; night <= looks; night++ {
		state, drift := n.next()
		switch {
		case state != regress.Alarm:
		case drift:
			told = append(told, night)
		default:
			shifts++
		}
	}
	return told, shifts
}

// DriftTable writes rows for people, in percent.
func DriftTable(w io.Writer, rows []DriftRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "noise\tfalse a year\t2 sd: in 60\tin 90\tin 150\tmedian\tshift\tagain\t4 sd: in 60\tin 90\tin 150\tmedian\tshift\tagain\tstep 1 sd\t2\t3\t5\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%.2f\t", r.Kind, 100*r.False)
		for _, d := range []Drifts{r.Two, r.Four} {
			fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t%d\t%.1f\t%.1f\t", 100*d.In60, 100*d.In90, 100*d.In150, d.Median, 100*d.Shifts, 100*d.Again)
		}
		for _, v := range r.Steps {
			fmt.Fprintf(t, "%.1f\t", 100*v)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
