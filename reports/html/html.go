// Package html writes a report as one HTML file that needs nothing else: styles,
// scripts, the chart library (uPlot) and all data are in it. It works offline and
// sends nothing anywhere.
//
// Text of servers, logs and workflows is data in it and never markup: html/template
// escapes by context, scripts read JSON and set text, and a content security policy
// lets only the file's own scripts run, by their hashes. It refuses to judge: it shows
// a reports.Report.
package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"memtrix/reports"
)

//go:embed page.html page.css assets/uPlot.iife.min.js assets/uPlot.min.css assets/uPlot.LICENSE script/*.js
var files embed.FS

// scripts in the order in which they need each other.
var scripts = []string{
	"assets/uPlot.iife.min.js", "script/base.js", "script/axis.js", "script/stack.js", "script/trial.js",
	"script/trend.js", "script/environment.js", "script/table.js", "script/main.js",
}

// Page is what goes into the file.
type Page struct {
	Report reports.Report
	// Charts of the trials that were read with their series; others have none.
	Charts []reports.Chart
	Made   time.Time
	// Program made it: "memtrix v1.2".
	Program string
}

// shownFailures bounds the failures that are written out; the table has them all.
const shownFailures = 40

// Write writes the page. Its errors are those of w, unless the embedded files are
// broken.
func Write(w io.Writer, p Page) error {
	tmpl, err := template.ParseFS(files, "page.html")
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	style, err := join("assets/uPlot.min.css", "page.css")
	if err != nil {
		return err
	}
	script, err := join(scripts...)
	if err != nil {
		return err
	}
	licence, err := join("assets/uPlot.LICENSE")
	if err != nil {
		return err
	}
	failures, more := failures(p.Report)
	err = tmpl.Execute(w, map[string]any{
		"Report": p.Report, "Charts": p.Charts, "Failures": failures, "More": more,
		"Made": p.Made.UTC().Format("2006-01-02 15:04 UTC"), "Program": p.Program,
		"Style": template.CSS(style), "Script": template.JS(script), "Licence": licence,
		"Policy": policy(style, script),
	})
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// policy lets the page's one style and one script run and nothing else: no other
// script, no request to anywhere (https://www.w3.org/TR/CSP3/).
func policy(style, script string) string {
	return "default-src 'none'; script-src " + hashOf(script) + "; style-src " + hashOf(style) +
		"; base-uri 'none'; form-action 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// join puts files of the page's own one after another.
func join(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("page: %w", err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// failure is a trial that failed, with the repeats of its cell that failed alike.
type failure struct {
	*reports.TrialView
	Repeats []int64 // all of them, its own first
}

// failures are the failures to be written out, the unexpected ones first, and how many
// more trials there are.
func failures(r reports.Report) (list []failure, more int) {
	at := map[string]int{}
	for _, expected := range []bool{false, true} {
		for _, t := range r.Trials {
			if !t.Failed || t.Expected != expected {
				continue
			}
			alike := strings.Join(append([]string{t.Cell, t.Title, t.Outcome, t.Message}, t.Advice...), "\x00")
			if i, ok := at[alike]; ok {
				list[i].Repeats = append(list[i].Repeats, t.ID)
				continue
			}
			at[alike] = len(list)
			list = append(list, failure{t, []int64{t.ID}})
		}
	}
	most := min(len(list), shownFailures)
	for _, f := range list[most:] {
		more += len(f.Repeats)
	}
	return list[:most], more
}
