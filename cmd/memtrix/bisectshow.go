package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"memtrix/bisect"
	"memtrix/bisect/account"
	"memtrix/lab"
	"memtrix/reports"
)

// bisectionJSON is the document of `memtrix bisect SPEC --json`. First_bad, confidence
// and interval are those of the last stage with an answer.
type bisectionJSON struct {
	FirstBad   *string     `json:"first_bad,omitempty"`
	Confidence *float64    `json:"confidence,omitempty"`
	Runs       int         `json:"runs"`
	Interval   []string    `json:"interval,omitempty"`
	Axis       string      `json:"axis"`
	Seconds    float64     `json:"seconds"`
	Simulated  bool        `json:"simulated"`
	Session    string      `json:"session"`
	Stages     []stageJSON `json:"stages"`
	Words      []string    `json:"words"`
	Back       []string    `json:"back,omitempty"`
	GitLog     string      `json:"git_bisect_log,omitempty"`
	Command    string      `json:"command"`
	Picture    string      `json:"picture,omitempty"`
	// Floor is what the ends need and at which size candidates were tried, nil where
	// something else is compared.
	Floor        *lab.FloorEnds `json:"floor,omitempty"`
	FloorPicture string         `json:"floor_picture,omitempty"`
}

type stageJSON struct {
	Axis       string          `json:"axis"`
	Why        string          `json:"why"`
	Candidates int             `json:"candidates"`
	Verdict    bisect.Verdict  `json:"verdict"`
	Reason     string          `json:"reason,omitempty"`
	Measure    lab.Measure     `json:"measure,omitempty"`
	At         string          `json:"at,omitempty"`
	FirstBad   *string         `json:"first_bad,omitempty"`
	Subject    string          `json:"subject,omitempty"`
	Date       string          `json:"date,omitempty"`
	Confidence *float64        `json:"confidence,omitempty"`
	Interval   []string        `json:"interval,omitempty"`
	Good       *lab.Side       `json:"good,omitempty"`
	Bad        *lab.Side       `json:"bad,omitempty"`
	Changes    []bisectChange  `json:"changes,omitempty"`
	Runs       []lab.BisectRun `json:"runs"`
}

func (s *specSearch) show(dir string) error {
	name := filepath.Join(dir, "bisect-"+fileName(s.ready.session.Name))
	picture, floors, err := "", "", error(nil)
	if s.floor != nil {
		if floors, err = s.drawFloors(name); err != nil {
			return err
		}
	}
	for i, st := range s.acc.Stages {
		if len(st.Report.Runs) == 0 {
			continue // the floors are all that there is to see
		}
		base := fmt.Sprintf("%s-%d", name, i+1)
		drawing := drawingOf(st)
		if f := s.acc.Floors; f != nil {
			drawing.Note += fmt.Sprintf("; floors: good %s, bad %s", f.Good.Border(), f.Bad.Border())
		}
		for _, format := range formats {
			if err := toFile(base+"."+string(format), func(f *os.File) error { return reports.DrawBisection(f, drawing, format) }); err != nil {
				return err
			}
		}
		picture = base + ".png"
	}
	if s.cmd.JSON {
		doc := s.document(picture)
		doc.FloorPicture = floors
		return writeJSON(s.app, doc)
	}
	var b strings.Builder
	for _, st := range s.acc.Stages {
		fmt.Fprintf(&b, "%s: %s\n", st.List.Axis.Plural(), st.List.Why)
		if err := reports.BisectionTable(&b, pathOfStage(st)); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	for _, p := range s.acc.Paragraphs() {
		b.WriteString(reports.OneLine(p) + "\n")
	}
	if back := s.acc.Back(); len(back) > 0 {
		b.WriteString("\nback to the last good state:\n")
		for _, line := range back {
			b.WriteString("  " + reports.OneLine(line) + "\n")
		}
	}
	fmt.Fprintf(&b, "\nthe same again: %s\n", reports.OneLine(s.acc.Command))
	for _, st := range s.acc.Stages {
		if log := st.GitLog(); log != "" {
			b.WriteString("\n" + reports.Lines(log))
		}
	}
	for _, file := range []string{floors, picture} {
		if file != "" {
			fmt.Fprintf(&b, "picture: %s\n", reports.OneLine(file))
		}
	}
	_, err = fmt.Fprint(s.app.stdout, b.String())
	return unlessUnread(err)
}

func (s *specSearch) document(picture string) bisectionJSON {
	answer := s.acc.Answer()
	doc := bisectionJSON{Floor: s.acc.Floors, Axis: string(answer.List.Axis), Session: s.ready.session.Name, Words: s.acc.Paragraphs(), Back: s.acc.Back(), Command: s.acc.Command, Picture: picture}
	doc.Runs, doc.Seconds = s.acc.Effort()
	for _, st := range s.acc.Stages {
		j := stageOf(st)
		doc.Stages = append(doc.Stages, j)
		doc.Simulated = doc.Simulated || st.Report.Simulated
		doc.GitLog += st.GitLog()
	}
	last := stageOf(answer)
	doc.FirstBad, doc.Confidence, doc.Interval = last.FirstBad, last.Confidence, last.Interval
	return doc
}

// candidateID names a candidate in JSON: the whole hash of a commit.
func candidateID(st account.Stage, i int) string {
	c := st.List.Candidates[i]
	if c.Commit != "" {
		return c.Commit
	}
	return c.Name
}

func stageOf(st account.Stage) stageJSON {
	r := st.Report
	j := stageJSON{Axis: string(st.List.Axis), Why: st.List.Why, Candidates: len(st.List.Candidates), Verdict: r.Verdict, Reason: r.Result.Why, Measure: r.Measure, At: r.At, Runs: r.Runs}
	if r.Posterior == nil {
		return j
	}
	first := st.List.Candidates[r.FirstBad]
	id := candidateID(st, r.FirstBad)
	j.FirstBad, j.Subject, j.Confidence = &id, first.Subject, &r.Sure
	if !first.Date.IsZero() {
		j.Date = first.Date.Format("2006-01-02")
	}
	j.Interval = []string{candidateID(st, r.From), candidateID(st, r.To)}
	good, bad := r.Sides()
	j.Good, j.Bad = &good, &bad
	for _, c := range r.Several {
		j.Changes = append(j.Changes, bisectChange{candidateID(st, c.From), candidateID(st, c.To)})
	}
	return j
}

// pathOfStage is what the terminal shows.
func pathOfStage(st account.Stage) reports.Bisection {
	list, r := st.List.Candidates, st.Report
	b := reports.Bisection{All: len(list)}
	runs := make([][]string, len(list))
	for _, run := range r.Runs {
		text := run.Result
		if run.Value != nil {
			text = valueWords(*run.Value)
		} else if text == "" {
			text = string(run.Outcome)
		}
		runs[run.Index] = append(runs[run.Index], text)
	}
	for i, c := range list {
		p := reports.BisectionCandidate{Index: i, Name: c.Name, Runs: runsOf(runs[i])}
		if c.Subject != "" {
			p.Name += " " + c.Subject
		}
		if r.Posterior != nil {
			p.Posterior, p.Found = r.Posterior[i], i >= r.From && i <= r.To
		}
		if len(runs[i]) > 0 || p.Found && r.To-r.From < 40 {
			b.Candidates = append(b.Candidates, p)
		}
	}
	return b
}

// drawingOf is the same as a picture.
func drawingOf(st account.Stage) reports.BisectionDrawing {
	list, r := st.List.Candidates, st.Report
	d := reports.BisectionDrawing{
		Title:     fmt.Sprintf("bisection along %s: %s", st.List.Axis.Plural(), r.Measure.Words()),
		Simulated: r.Simulated, Candidates: len(list), Posterior: r.Posterior, Axis: st.List.Axis.Plural() + ", good to bad",
	}
	if r.At != "" {
		d.Title += " " + r.At
	}
	if r.Measure != "" && r.Measure != lab.MeasureOutcome {
		d.Values = "seconds"
		if r.Measure.Bytes() {
			d.Values = "MiB"
		}
	}
	for _, run := range r.Runs {
		p := reports.BisectionPoint{Index: run.Index, Bad: run.Result == lab.RunBad, Untestable: run.Result == lab.RunUntestable}
		if run.Value != nil {
			p.Value = *run.Value
			if r.Measure.Bytes() {
				p.Value /= 1 << 20
			}
		}
		d.Points = append(d.Points, p)
	}
	if r.Posterior != nil {
		d.From, d.To = r.From, r.To
		d.Note = st.List.Candidates[r.FirstBad].Name
		if s := list[r.FirstBad].Subject; s != "" {
			d.Note += " " + s
		}
		d.Note = fmt.Sprintf("%s (%s)", d.Note, account.Sure(r.Sure))
	}
	return d
}
