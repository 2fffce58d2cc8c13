package export

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"memtrix"
	"memtrix/reports"
)

// GoBench writes trials in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format), one line a trial: benchstat
// compares versions with
//
//	benchstat -col version FILE
//
// A trial that failed has one number only, failures/trial, which is 0 for all others.
func GoBench(w io.Writer, s reports.Session) error {
	out := benchfmt.NewWriter(w)
	all := measured(s)
	for _, m := range goUnits(all, s) {
		if err := out.Write(m); err != nil {
			return wrap("gobench", err)
		}
	}
	for _, t := range all {
		if err := out.Write(goResult(t, meters(s))); err != nil {
			return wrap("gobench", err)
		}
	}
	return nil
}

// goUnits say that less is better; that is for whoever reads the file alone.
func goUnits(trials []*memtrix.Trial, s reports.Session) []*benchfmt.UnitMetadata {
	var list []*benchfmt.UnitMetadata
	seen := map[string]bool{}
	for _, t := range trials {
		for _, v := range goResult(t, meters(s)).Values {
			if !seen[v.Unit] {
				seen[v.Unit] = true
				list = append(list, &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: v.Unit, Key: "better"}, OrigUnit: v.Unit, Value: "lower"})
			}
		}
	}
	return list
}

func goResult(t *memtrix.Trial, meters []string) *benchfmt.Result {
	r := &benchfmt.Result{Name: benchfmt.Name(goName(t.Cell)), Iters: 1}
	for _, c := range [][2]string{
		{"version", goVersion(t.Cell.Version)},
		{"gpu", t.Environment["gpu.0.name"]}, {"driver", t.Environment["driver"]}, {"kernel", t.Environment["kernel"]},
		{"simulated", map[bool]string{true: "not a measurement"}[t.Simulated]},
	} {
		if value := reports.OneLine(c[1]); value != "" {
			r.Config = append(r.Config, benchfmt.Config{Key: c[0], Value: []byte(value), File: true})
		}
	}
	failed := 0.0
	if t.Outcome.Kind != memtrix.Pass {
		failed = 1
	}
	for _, n := range numbers(t, meters) {
		unit := "sec/" + strings.ReplaceAll(n.meter, " ", "")
		if n.bytes {
			unit = n.kind + "-" + n.meter + "-B"
		}
		r.Values = append(r.Values, benchfmt.Value{Value: n.value, Unit: unit})
	}
	r.Values = append(r.Values, benchfmt.Value{Value: failed, Unit: "failures/trial"})
	return r
}

// goVersion is one word, since what else differs between two trials makes benchstat put
// them into two tables: "0.29.0", and "master@1a2b3c4d5e" of a name that moves.
func goVersion(v memtrix.Version) string {
	if v.Commit == "" || v.Name == v.Release || v.Name == v.Commit {
		return v.Name
	}
	return v.Name + "@" + v.Commit[:min(len(v.Commit), 10)]
}

// goName is the name of a cell: "Trial/workflow=sdxl/settings=cache=none". Its parts
// are keys for benchstat's -row and -filter.
func goName(c memtrix.Cell) string {
	name := "Trial/workflow=" + goWord(c.Workflow.Name) + "/settings=" + goWord(settings(c)) + "/hardware=" + goWord(c.Hardware.Name)
	// A number after a dash at the end would be read as GOMAXPROCS.
	if i := strings.LastIndexByte(name, '-'); i >= 0 && i+1 < len(name) && strings.Trim(name[i+1:], "0123456789") == "" {
		name += "-1"
	}
	return name
}

// goWord escapes what would end a name or a part of it, as %XX of its UTF-8; a space,
// which is between settings, is a comma.
func goWord(text string) string {
	var b strings.Builder
	for _, r := range reports.OneLine(text) {
		switch {
		case r == ' ':
			b.WriteByte(',')
		case r == '/' || r == '%' || r == ',' || r == '"' || unicode.IsSpace(r) || unicode.IsControl(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "-"
	}
	return b.String()
}
