// Package table reads series of trials from CSV: the columns series, index, value and
// outcome, in any order, one trial a row, the rows of a series in order. It refuses
// what it cannot read, with the line, rather than leave a row out.
package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/regress"
)

// Series is one series of a file.
type Series struct {
	Name string
	// Index is the index column as it was written: a number, a date or a version.
	Index  []string
	Points []regress.Point
	// Dropped counts values of trials that did not pass. They are no measurement of
	// the whole work, and take no part.
	Dropped int
}

// Bytes reports whether the values can only be bytes: memory of at least 4 MiB, in
// numbers that would be 4 TiB if they were MiB.
func (s Series) Bytes() bool {
	most := 0.0
	for _, p := range s.Points {
		if p.Known {
			most = max(most, math.Abs(p.Value))
		}
	}
	return most >= 4<<20
}

var columns = []string{"series", "index", "value", "outcome"}

// Read gives the series in the order in which they begin. Errors name the line.
func Read(r io.Reader) ([]Series, error) {
	c := csv.NewReader(r)
	c.TrimLeadingSpace = true
	c.ReuseRecord = true
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; its first line must name the columns series,index,value,outcome")
	} else if err != nil {
		return nil, err
	}
	at, err := places(header)
	if err != nil {
		return nil, err
	}
	var all []Series
	known := map[string]int{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err // encoding/csv names line and column
		}
		line, _ := c.FieldPos(0)
		name := strings.Clone(row[at[0]])
		i, ok := known[name]
		if !ok {
			i = len(all)
			known[name] = i
			all = append(all, Series{Name: name})
		}
		point, dropped, err := pointOf(strings.TrimSpace(row[at[2]]), strings.TrimSpace(row[at[3]]))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if dropped {
			all[i].Dropped++
		}
		all[i].Points = append(all[i].Points, point)
		all[i].Index = append(all[i].Index, strings.Clone(strings.TrimSpace(row[at[1]])))
	}
}

func places(header []string) ([]int, error) {
	var at []int
	for _, name := range columns {
		i := slices.IndexFunc(header, func(h string) bool {
			return strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")), name)
		})
		if i < 0 {
			return nil, fmt.Errorf("line 1: no column %q; the first line must name the columns %s", name, strings.Join(columns, ","))
		}
		at = append(at, i)
	}
	return at, nil
}

// kinds that a file may hold.
var kinds = []memtrix.OutcomeKind{
	memtrix.Pass, memtrix.OOM, memtrix.Killed, memtrix.Hang, memtrix.Error,
	memtrix.StartupFailure, memtrix.InvalidWorkflow, memtrix.NotApplicable, memtrix.NotInForce,
	memtrix.Interrupted, memtrix.HarnessFailure,
}

func pointOf(value, outcome string) (p regress.Point, dropped bool, err error) {
	p.Outcome = memtrix.OutcomeKind(strings.ToLower(outcome))
	if !slices.Contains(kinds, p.Outcome) {
		return p, false, fmt.Errorf("outcome %q is none of pass, oom, killed, hang, error", outcome)
	}
	if value == "" {
		return p, false, nil
	}
	p.Value, err = strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
		return p, false, fmt.Errorf("value %q is no number; leave it empty where there is none", value)
	}
	p.Known = p.Outcome == memtrix.Pass
	return p, !p.Known, nil
}
