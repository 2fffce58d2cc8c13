package evidence

import (
	"encoding/json"
	"fmt"
	"strings"

	"memtrix"
	"memtrix/internal/shell"
	"memtrix/reports"
	"memtrix/reports/redact"
)

// other is the last part of the form: all that maintainers ask for besides.
func (c *Case) other(p *page, files []File) {
	p.head("Other")
	p.line("| fact | value | from |")
	p.line("| --- | --- | --- |")
	for _, f := range c.Facts {
		p.line("| %s | %s | %s |", escape(f.Label), escape(f.Value), escape(f.Source))
	}
	p.line("| launch arguments | %s | %s |", escape(strings.Join(c.Launch.Plain, " ")), map[bool]string{true: "the command line, without folders and ports", false: "the settings of the trial"}[c.Launch.Whole != nil])
	p.line("| custom nodes | %s | |", escape(c.packs()))
	p.line("")
	if h := c.hashes(); len(h) > 0 {
		p.line("Hashes of the installed files, by which two builds of one version can be told apart: %s.\n", escape(strings.Join(h, ", ")))
	}
	if c.Launch.Whole != nil {
		p.line("The whole command line:\n")
		p.fence("sh", shell.Words(c.Launch.Whole...))
	}
	if v := c.variables(); len(v) > 0 {
		p.line("Environment variables that can change what memory is taken:\n")
		p.fence("text", strings.Join(v, "\n"))
	}
	c.timelineText(p)
	if len(c.Trial.Outcome.Advice) > 0 {
		p.line("What memtrix would try first:\n")
		p.list(c.Trial.Outcome.Advice)
	}
	if len(c.Notes) > 0 {
		p.line("Remarks:\n")
		p.list(c.Notes)
	}
	if len(c.Unknown) > 0 {
		p.line("Not known:\n")
		p.list(c.Unknown)
	}
	p.line("Taken out of this bundle: %s. The same word stands for the same thing in all files.\n", escape(redacted(c.Redacted)))
	p.line("Files:\n")
	for _, f := range files {
		if about := abouts[f.Name]; about != "" {
			p.line("- `%s`: %s", f.Name, about)
		}
	}
	p.line("\nTrial %d of memtrix %s, started %s.", c.Trial.ID, c.Environment["memtrix"], c.Trial.Started.UTC().Format("2006-01-02 15:04 UTC"))
}

// abouts say what the files of a bundle are.
var abouts = map[string]string{
	"paste.txt":      "a few lines to paste into an issue",
	"log.txt":        "the server's log, whole, without colours",
	"workflow.json":  "the workflow's file",
	"prompt-1.json":  "the first prompt as it was sent; further ones beside it",
	"system.json":    "all facts about machine and software",
	"packages.txt":   "the Python packages, for pip install -r",
	"verdict.json":   "what failed and where, for programs",
	"comparison.csv": "the table above, in bytes and seconds",
	"timeline.png":   "memory over time, with prompts and nodes",
	"timeline.svg":   "the same, to zoom into",
	specFile:         "the same cell for memtrix run",
	makeScript:       "writes stand-in models; needs nothing but Python",
}

func (c *Case) timelineText(p *page) {
	if len(c.Trial.Spans) == 0 {
		return
	}
	p.line("![Memory over time](timeline.png)\n")
	p.line("| span | from s | to s | VRAM peak MiB | RAM peak MiB |")
	p.line("| --- | ---: | ---: | ---: | ---: |")
	m := metersOf([]*memtrix.Trial{c.Trial})
	shown := 0
	for _, s := range c.Trial.Spans {
		if !s.Kind.Work() && s.Kind != memtrix.SpanSettle {
			continue
		}
		if shown++; shown > 60 {
			p.line("| ... | | | | |")
			break
		}
		name := s.Name()
		if s.Kind == memtrix.SpanNode {
			name = "&nbsp;&nbsp;" + escape(name)
		} else {
			name = escape(name)
		}
		p.line("| %s | %s | %s | %s | %s |", name, reports.Seconds(s.Start.Seconds()), reports.Seconds(s.End.Seconds()), c.peakIn(s, m.vram), c.peakIn(s, m.ram))
	}
	p.line("")
	if h := c.Trial.Cell.Hardware; h.RAM > 0 && m.ram == memtrix.RAMTreeRSS {
		if v, ok := c.Trial.Peak(m.ram); ok && v.Value > h.RAM {
			p.line("The RAM peak is above the limit of %s, since pages of files that others had read before count as resident and not for this group.\n", reports.Bytes(h.RAM))
		}
	}
}

// peakIn is the peak of a span; of the prompt and the node that failed it may be a
// lower bound.
func (c *Case) peakIn(s memtrix.Span, meter string) string {
	var best *memtrix.Peak
	for _, p := range s.Peaks {
		if p.Meter == meter && (best == nil || p.Value > best.Value) {
			best = &p
		}
	}
	if best == nil {
		return ""
	}
	t := c.Trial
	failed := s.Prompt == len(t.Prompts) && (s.Kind == memtrix.SpanPrompt || s.Node != nil && t.Outcome.Node != nil && s.Node.ID == t.Outcome.Node.ID)
	return atLeast(failed && reports.AtLeast(t, *best)) + figure(&best.Value)
}

func redacted(counts []redact.Count) string {
	names := map[redact.Kind][2]string{
		redact.User: {"user name", "user names"}, redact.Host: {"host name", "host names"}, redact.IP: {"address", "addresses"}, redact.MAC: {"MAC address", "MAC addresses"},
		redact.Email: {"e-mail", "e-mails"}, redact.Secret: {"token, key or password", "tokens, keys and passwords"}, redact.GPU: {"identifier of a card", "identifiers of cards"}, redact.Prompt: {"prompt", "prompts"}, redact.Place: {"folder", "folders"},
	}
	var words []string
	for _, n := range counts {
		name := names[n.Kind][0]
		if n.N > 1 {
			name = names[n.Kind][1]
		}
		words = append(words, fmt.Sprintf("%d %s", n.N, name))
	}
	if len(words) == 0 {
		return "nothing, since nothing was found that must not be shown"
	}
	return strings.Join(words, ", ")
}

// notes are what a reader should know of how the trial was made.
func notes(r *redact.Redactor, t *memtrix.Trial) []string {
	list := texts(r, t.Warnings)
	if t.Shared {
		list = append(list, "prompts of others ran on this server meanwhile: its memory is not that of this workflow alone")
	}
	if a := t.Cell.Version.Attached; a != nil {
		list = append(list, "the server ran before memtrix came: it was warm, and what it did before is not known")
	}
	if t.Cell.Probe {
		list = append(list, "a probe of memtrix was inside the server; it has a cost of its own")
	}
	if t.Expect != "" && t.Expect != memtrix.Pass {
		list = append(list, "the spec expected this cell to end as "+string(t.Expect))
	}
	for _, s := range t.Cell.Workflow.StandIns {
		if s.Fill != "" && s.Fill != "zero" {
			list = append(list, "the stand-ins of this trial held random numbers; those of make_models.py hold zeros")
			break
		}
	}
	return list
}

// unknown is what could not be had. A reader should not have to find out what is not
// there.
func unknown(r *redact.Redactor, c *Case, in Input) []string {
	list := texts(r, in.Missing)
	t := in.Trial
	v := t.Cell.Version
	add := func(missing bool, text string) {
		if missing {
			list = append(list, text)
		}
	}
	add(!t.Simulated && c.fact("front end") == "", "the front end's version: its package is not among the installed ones")
	add(!t.Simulated && strings.HasPrefix(v.Commit, "tree:"), "the git commit: the tree is none of git's")
	add(!t.Simulated && v.Commit == "", "the commit")
	add(len(c.Packages) == 0, "the Python packages with their versions")
	add(v.Attached == nil && c.Launch.Whole == nil, "the whole command line, and so raw flags beside those of the settings")
	add(v.Attached != nil, "the custom nodes that the server had loaded")
	add(len(c.Models) > 0 && !c.standable(), "a stand-in that fits each of the models")
	add(len(c.Prompts) == 0 && t.Outcome.Kind != memtrix.StartupFailure, "the prompt as it was sent")
	add(len(c.Compared) < 2, "whether it passes on another version or with another setting")
	return list
}

// system is system.json: all facts.
func (c *Case) system() ([]byte, error) {
	doc := struct {
		Simulated   string              `json:"simulated,omitempty"`
		Facts       []Fact              `json:"facts"`
		Environment memtrix.Environment `json:"environment"`
		Launch      []string            `json:"launch_arguments"`
		Command     []string            `json:"command,omitempty"`
		Packs       []packDoc           `json:"custom_nodes,omitempty"`
	}{Facts: c.Facts, Environment: c.Environment, Launch: append([]string{}, c.Launch.Plain...), Command: c.Launch.Whole}
	if c.Simulated() {
		doc.Simulated = simulatedLine
	}
	for _, p := range c.Trial.Cell.Version.Packs {
		doc.Packs = append(doc.Packs, packDoc{p.Name, p.Source, p.Commit, p.Dirty, p.Hash, p.Requirements})
	}
	return indented(doc)
}

type packDoc struct {
	Name         string   `json:"name"`
	Source       string   `json:"source,omitempty"`
	Commit       string   `json:"commit,omitempty"`
	Dirty        bool     `json:"dirty,omitempty"`
	Hash         string   `json:"hash,omitempty"`
	Requirements []string `json:"requirements,omitempty"`
}

// MarshalJSON names a fact's parts as all documents do.
func (f Fact) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name   string `json:"name"`
		Value  string `json:"value"`
		Source string `json:"source"`
	}{f.Label, f.Value, f.Source})
}

// verdict is verdict.json: the document of memtrix classify --json, and whether it
// was simulated.
func (c *Case) verdict() ([]byte, error) {
	return indented(struct {
		Simulated bool `json:"simulated"`
		memtrix.Outcome
	}{c.Simulated(), c.Trial.Outcome})
}

func indented(doc any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}
