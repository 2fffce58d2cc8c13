package export

import (
	"encoding/xml"
	"io"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/reports"
)

// JUnit XML as both Ant's schema (https://github.com/windyroad/JUnit-Schema) and
// Jenkins' (xunit-plugin, junit-10.xsd) have it: those allow less than most readers.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Package    string          `xml:"package,attr"`
		ID         int             `xml:"id,attr"`
		Name       string          `xml:"name,attr"`
		Timestamp  string          `xml:"timestamp,attr"` // without a time zone: UTC
		Host       string          `xml:"hostname,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties junitProperties `xml:"properties"` // there also where it is empty
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
		Err        string          `xml:"system-err"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Time    string       `xml:"time,attr"`
		Skipped *junitReason `xml:"skipped"`
		Error   *junitReason `xml:"error"`
		Failure *junitReason `xml:"failure"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes trials as test cases, a suite for each version: a trial that did not end
// as expected is a failure with its evidence, one that memtrix could not measure an
// error, a cell that cannot run on its version is skipped. The host is never named.
func JUnit(w io.Writer, s reports.Session) error {
	var doc junitSuites
	for i, version := range s.VersionOrder() {
		doc.Suites = append(doc.Suites, junitSuiteOf(s, version, i))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return wrap("junit", err)
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(doc); err != nil {
		return wrap("junit", err)
	}
	_, err := io.WriteString(w, "\n")
	return wrap("junit", err)
}

func junitSuiteOf(s reports.Session, version string, id int) junitSuite {
	suite := junitSuite{Package: "memtrix", ID: id, Name: reports.OneLine(version), Timestamp: "1970-01-01T00:00:00", Host: "localhost"}
	if suite.Name == "" {
		suite.Name = "-"
	}
	var trials []*memtrix.Trial
	for _, t := range s.Trials {
		if t.Cell.Version.Name == version {
			trials = append(trials, t)
		}
	}
	slices.SortStableFunc(trials, func(a, b *memtrix.Trial) int { return int(a.ID - b.ID) })
	total, out := 0.0, []string{}
	for i, t := range trials {
		if i == 0 {
			suite.Properties.List = propertiesOf(s, t)
			if !t.Started.IsZero() {
				suite.Timestamp = t.Started.UTC().Format("2006-01-02T15:04:05")
			}
		}
		c := junitCaseOf(t)
		suite.Cases = append(suite.Cases, c)
		suite.count(c)
		total += t.Seconds
		out = append(out, junitNumbers(t, meters(s)))
	}
	for _, c := range s.Plan.Cells {
		if c.Status != memtrix.StatusRun && c.Cell.Version.Name == version {
			skipped := junitCase{Name: cellName(c.Cell), Class: "memtrix", Time: "0", Skipped: &junitReason{Message: reports.OneLine(string(c.Status) + ": " + c.Reason)}}
			suite.Cases = append(suite.Cases, skipped)
			suite.count(skipped)
		}
	}
	suite.Time, suite.Out = junitSeconds(total), strings.Join(out, "\n")
	return suite
}

func (s *junitSuite) count(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func propertiesOf(s reports.Session, t *memtrix.Trial) []junitProperty {
	var list []junitProperty
	for _, p := range [][2]string{
		{"session", s.Name}, {"spec", s.Spec}, {"commit", t.Cell.Version.Commit}, {"driver", t.Environment["driver"]},
		{"gpu", t.Environment["gpu.0.name"]}, {"kernel", t.Environment["kernel"]},
	} {
		if value := reports.OneLine(p[1]); value != "" {
			list = append(list, junitProperty{p[0], value})
		}
	}
	if t.Simulated {
		list = append(list, junitProperty{"simulated", "not a measurement"})
	}
	return list
}

func junitCaseOf(t *memtrix.Trial) junitCase {
	c := junitCase{Name: cellName(t.Cell) + " #" + strconv.Itoa(t.Repeat+1), Class: "memtrix", Time: junitSeconds(t.Seconds)}
	kind := t.Outcome.Kind
	reason := &junitReason{Message: reports.OneLine(outcome(t.Outcome)), Type: string(kind), Text: junitText(t.Outcome)}
	if t.Outcome.Message != "" {
		reason.Message += ": " + reports.OneLine(t.Outcome.Message)
	}
	switch {
	case kind == memtrix.NotApplicable:
		reason.Type = "" // Ant's schema has none here
		c.Skipped = reason
	case kind == memtrix.HarnessFailure || kind == memtrix.Interrupted:
		c.Error = reason
	case !t.AsExpected():
		if kind == memtrix.Pass {
			reason.Message = "passed, expected " + string(t.Expect)
		}
		c.Failure = reason
	}
	return c
}

func junitText(o memtrix.Outcome) string {
	var lines []string
	for _, e := range o.Evidence {
		lines = append(lines, reports.OneLine(e))
	}
	for _, a := range o.Advice {
		lines = append(lines, "> "+reports.OneLine(a))
	}
	return strings.Join(lines, "\n")
}

// junitNumbers is a line for the log of a suite.
func junitNumbers(t *memtrix.Trial, meters []string) string {
	words := []string{cellName(t.Cell) + " #" + strconv.Itoa(t.Repeat+1) + ": " + outcome(t.Outcome)}
	for _, n := range numbers(t, meters) {
		if n.bytes {
			words = append(words, n.title()+" "+reports.Bytes(int64(n.value)))
		} else {
			words = append(words, n.title()+" "+reports.Seconds(n.value)+" s")
		}
	}
	return strings.Join(words, ", ")
}

// junitSeconds has three decimals: Jenkins' schema takes no more.
func junitSeconds(s float64) string { return strconv.FormatFloat(max(0, s), 'f', 3, 64) }
