package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"memtrix/regress"
	"memtrix/regress/table"
	"memtrix/reports"
)

type changesCmd struct {
	CSV     string  `name:"csv" required:"" help:"Columns series,index,value,outcome; - is standard input." placeholder:"FILE"`
	Unit    string  `help:"What the values are: bytes, mib or none. By default bytes where no smaller unit makes sense, and otherwise numbers as they are, with the floor of MiB." enum:",bytes,mib,none" default:""`
	Size    float64 `name:"floor-mib" help:"The least change in MiB that matters; 0 for none." default:"32"`
	Percent float64 `name:"floor-percent" help:"The least change in percent of the level before that matters; 0 for none." default:"1"`
	JSON    bool    `name:"json" help:"One JSON document on standard output and nothing else there."`
}

// Help is shown under --help.
func (changesCmd) Help() string {
	return `Finds what changed along each series: a shift of level, a slope, trials that newly run out of memory (new-oom) or no longer do (fixed-oom), and other new failures (new-failure). The value is empty where there is none; outcomes are pass, oom, killed, hang, error. The index of a change is that of the first point after it.

A change of level counts when it reaches --floor-mib or --floor-percent, whichever is less, and when at most one series in a hundred would show one by chance. One new point alone is never a shift: two are needed, more for small changes and unsteady series. Before and after are levels, or of failures the share of trials that failed.

Exit status: 0 no change, 1 changes were found, 2 wrong usage or a file that cannot be read.`
}

func (c *changesCmd) Run(a *app) error {
	if c.Size < 0 || c.Percent < 0 {
		return usage{errors.New("--floor-mib and --floor-percent cannot be negative")}
	}
	all, err := c.read(a.stdin)
	if err != nil {
		return usage{err}
	}
	var found []reports.SeriesChange
	for _, s := range all {
		if s.Dropped > 0 {
			fmt.Fprintf(a.stderr, "memtrix: %s: %d values of trials that did not pass take no part\n", reports.Lines(s.Name), s.Dropped)
		}
		for _, change := range regress.Changes(s.Points, c.options(s)) {
			found = append(found, reports.SeriesChange{Series: s.Name, Index: s.Index[change.At], Change: change})
		}
	}
	write := reports.ChangesText
	if c.JSON {
		write = reports.ChangesJSON
	}
	if err := write(a.stdout, found); err != nil {
		return cannot{fmt.Errorf("write the changes: %w", err)}
	}
	if len(found) > 0 {
		return status(exitFound)
	}
	if !c.JSON {
		fmt.Fprintf(a.stdout, "no change in %d series\n", len(all))
	}
	return nil
}

func (c *changesCmd) read(stdin io.Reader) ([]table.Series, error) {
	in, name := stdin, "standard input"
	if c.CSV != "-" {
		f, err := os.Open(c.CSV)
		if err != nil {
			return nil, fmt.Errorf("read series: %w", err)
		}
		defer f.Close()
		in, name = f, c.CSV
	}
	all, err := table.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

func (c *changesCmd) options(s table.Series) regress.Options {
	o := regress.Options{Floor: regress.Floor{Size: c.Size, Share: c.Percent / 100}}
	switch {
	case c.Unit == "bytes", c.Unit == "" && s.Bytes():
		o.Unit = regress.Bytes
		o.Floor.Size *= 1 << 20
	case c.Unit == "mib":
		o.Unit = regress.MiB
	case c.Unit == "none":
		o.Floor.Size = 0
	}
	return o
}
