package calibrate

import (
	"fmt"
	"io"
	"math/rand/v2"
	"text/tabwriter"
)

// Before is how many points a series has before its step: the fewest for which the
// bars hold.
const Before = 40

// Row is what one detector came to on one kind of noise, in shares of series.
type Row struct {
	Detector, Kind string
	// False are series without a change in which one was seen, of 90 and 200 points.
	False90, False200 float64
	// Steps of 5, 3 and 2 standard deviations that were found with 2, 5 and 10 points
	// after them.
	Five, Three, Two float64
	// Exact are steps of 5 deviations that were placed at the very index, with two
	// points after them and with 40.
	ExactNew, ExactLater float64
}

// Measure runs a detector over so many series of each length.
func Measure(d Detector, g Generator, series int, seed uint64) Row {
	row := Row{Detector: d.Name, Kind: g.Name}
	r := rand.New(rand.NewPCG(seed, 1))
	wrong := func(n int) float64 {
		seen := 0
		for range series {
			if len(d.Find(g.Series(r, n, n, 0))) > 0 {
				seen++
			}
		}
		return float64(seen) / float64(series)
	}
	step := func(size float64, after int) (found, exact float64) {
		for range series {
			for _, at := range d.Find(g.Series(r, Before+after, Before, size)) {
				// What was seen long before is no finding.
				if at < Before-5 {
					continue
				}
				found++
				if at == Before {
					exact++
				}
				break
			}
		}
		return found / float64(series), exact / float64(series)
	}
	row.False90, row.False200 = wrong(90), wrong(200)
	row.Five, row.ExactNew = step(5, 2)
	row.Three, _ = step(3, 5)
	row.Two, _ = step(2, 10)
	_, row.ExactLater = step(5, 40)
	return row
}

// Table writes rows for people, in percent.
func Table(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "noise\tdetector\tfalse, 90\tfalse, 200\t5 sd in 2\t3 sd in 5\t2 sd in 10\texact, new\texact, 40 later\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t", r.Kind, r.Detector)
		for _, v := range []float64{r.False90, r.False200, r.Five, r.Three, r.Two, r.ExactNew, r.ExactLater} {
			fmt.Fprintf(t, "%.1f\t", 100*v)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
