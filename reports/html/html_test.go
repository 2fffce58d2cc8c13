package html

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"memtrix/reports"
)

// TestFailuresOfRepeats: repeats of a cell that failed alike are one block, so that many
// repeats do not push all else down; other cells, and others of its failures, are not.
func TestFailuresOfRepeats(t *testing.T) {
	view := func(id int64, cell, outcome string, expected bool) *reports.TrialView {
		return &reports.TrialView{ID: id, Cell: cell, Title: cell, Outcome: outcome, Failed: true, Expected: expected}
	}
	r := reports.Report{Trials: []*reports.TrialView{view(1, "a", "oom", true), view(2, "b", "oom", false), view(3, "b", "oom", false), view(4, "b", "hang", false), view(5, "a", "oom", true)}}
	for i := range 60 {
		r.Trials = append(r.Trials, view(int64(100+i), strconv.Itoa(i/2), "oom", true))
	}
	list, more := failures(r)
	var got [][]int64
	for _, f := range list[:4] {
		got = append(got, f.Repeats)
	}
	if want := [][]int64{{2, 3}, {4}, {1, 5}, {100, 101}}; !reflect.DeepEqual(got, want) || len(list) != 33 || more != 0 {
		t.Errorf("want %v first of 33, got %v of %d and %d more", want, got, len(list), more)
	}
}

// TestSelfContained: the page names nothing to be fetched, and the policy's hashes are
// those of the style and the script that are in it.
func TestSelfContained(t *testing.T) {
	text := written(t, page(night()))
	for _, bad := range []string{"src=", "<link", "@import", "url(", "<base", "<iframe", "<form"} {
		// What was planted is in the page, as text.
		if rest := strings.ReplaceAll(text, "&lt;img src=x", ""); strings.Contains(strings.ReplaceAll(rest, `\u003cimg src=x`, ""), bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	for _, tag := range []string{"style", "script"} {
		body := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(text, -1)
		if len(body) != 1 {
			t.Fatalf("want one %s element of the page's own, got %d", tag, len(body))
		}
		sum := sha256.Sum256([]byte(body[0][1]))
		if want := "sha256-" + base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(strings.ReplaceAll(text, "&#43;", "+"), want) {
			t.Errorf("the policy has no hash of the %s element: %s", tag, want)
		}
	}
	if got, want := strings.Count(text, "</script>"), 2+len(night()); got != want {
		t.Errorf("want %d script elements (report, charts, code), got %d", want, got)
	}
	for _, want := range []string{"default-src &#39;none&#39;", "MIT License", "Leon Sorokin"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
}

// TestPlantedText: outside of JSON, where < is an escape, no text of others is markup.
func TestPlantedText(t *testing.T) {
	text := written(t, page(night()))
	for _, bad := range []string{"<img", "<svg", "</script><script>window", "\u2028", "onerror=\""} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("%q came through: %q", bad, text[max(0, i-200):i+60])
		}
	}
	if !strings.Contains(text, "&lt;img src=x") || !strings.Contains(text, `\u003cimg src=x`) {
		t.Error("the planted text should be there to be read")
	}
}

// TestData: what scripts read is JSON of the report as it was given.
func TestData(t *testing.T) {
	p := page(night())
	text := written(t, p)
	body := regexp.MustCompile(`(?s)<script type="application/json" id="report">(.*?)</script>`).FindStringSubmatch(text)
	var got reports.Report
	if err := json.Unmarshal([]byte(body[1]), &got); err != nil {
		t.Fatal(err)
	}
	if want := len(p.Report.Trials); len(got.Trials) != want {
		t.Errorf("want %d trials, got %d", want, len(got.Trials))
	}
	if n := len(got.Trends); n < 3 {
		t.Errorf("want trends of both cells and of the planted one, got %d", n)
	}
	changed := 0
	for _, trend := range got.Trends {
		for _, m := range trend.Meters {
			changed += len(m.Changes)
		}
	}
	if changed == 0 {
		t.Error("a step of 700 MiB is in no trend")
	}
	chart := regexp.MustCompile(`(?s)<script type="application/json" id="chart-1">(.*?)</script>`).FindStringSubmatch(text)
	var c reports.Chart
	if err := json.Unmarshal([]byte(chart[1]), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Stacks) != 2 || len(c.Stacks[0].Layers) < 2 {
		t.Errorf("want the stacks of VRAM and RAM with their holders, got %+v", c.Stacks)
	}
}

func TestEmpty(t *testing.T) {
	if text := written(t, Page{Report: reports.NewReport(reports.Session{Name: "empty"})}); !strings.Contains(text, "No cells.") {
		t.Error("an empty session should be said to be one")
	}
}

// TestSize bounds the file of 500 trials.
func TestSize(t *testing.T) {
	text := written(t, page(many(500)))
	// To be looked at.
	if dir := os.Getenv("REPORTS_PICTURES"); dir != "" {
		for name, text := range map[string]string{"500.html": text, "night.html": written(t, page(night()))} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, most := len(text), 10<<20; got > most {
		t.Errorf("want at most %d bytes, got %d", most, got)
	}
}

// TestLibrary: the chart library is the one that its README names.
func TestLibrary(t *testing.T) {
	for name, want := range map[string]string{
		"assets/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"assets/uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"assets/uPlot.LICENSE":     "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		data, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: want sha256 %s, got %s", name, want, got)
		}
	}
}

func BenchmarkWrite500(b *testing.B) {
	p := page(many(500))
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = len(written(b, p))
	}
	b.ReportMetric(float64(size), "file-B")
}
