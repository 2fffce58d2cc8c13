package evidence

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
	"memtrix/internal/shell"
	"memtrix/reports"
)

// report is report.md, with the headings of ComfyUI's bug form in their order
// (Comfy-Org/ComfyUI, .github/ISSUE_TEMPLATE/bug-report.yml): each part can be copied
// into its field.
func (c *Case) report(files []File) []byte {
	p := &page{}
	if c.Simulated() {
		p.line("**%s**", simulatedLine)
		p.line("")
	}
	p.line("# %s", escape(c.Headline))
	p.line("")
	if text := c.standing(); text != "" {
		p.line("%s\n", text)
	}
	c.customNodes(p)
	c.expected(p)
	c.actual(p)
	c.steps(p)
	c.debugLogs(p)
	c.other(p, files)
	return []byte(strings.TrimRight(p.String(), "\n") + "\n")
}

// standing says of a trial that shows no failure of ComfyUI that it shows none.
func (c *Case) standing() string {
	switch c.Trial.Outcome.Kind {
	case memtrix.Pass:
		return "Nothing failed in this trial. The figures below are what it took; they are evidence only beside those of another trial."
	case memtrix.HarnessFailure:
		return "memtrix itself could not measure this trial: nothing here says anything about ComfyUI."
	case memtrix.Interrupted:
		return "This trial was stopped by hand: what it would have shown is not known."
	case memtrix.NotApplicable, memtrix.NotInForce:
		return "The setting of this trial was not in force, and the workflow was not run to its end with it."
	}
	return ""
}

// page is Markdown that grows.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) head(text string) { p.line("### %s\n", text) }

func (p *page) fence(kind, text string) {
	p.line("```%s\n%s\n```\n", kind, strings.ReplaceAll(text, "```", "'''"))
}

// list writes what a server or a person wrote: as code, so that <user> stays a word.
func (p *page) list(items []string) {
	for _, item := range items {
		p.line("- %s", escape(item))
	}
	p.line("")
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "#", `\#`, "@", "&#64;", "~", `\~`, "[", `\[`, "]", `\]`)

// escape keeps text from being taken for Markdown or HTML, or from calling people.
func escape(s string) string { return escaper.Replace(oneLine(s)) }

func (c *Case) customNodes(p *page) {
	p.head("Custom Node Testing")
	packs := c.Trial.Cell.Version.Packs
	switch {
	case len(packs) == 0 && c.Launch.PacksOff && c.Failed():
		p.line("- [x] I have tried disabling custom nodes and the issue persists: all were off in this trial (`--disable-all-custom-nodes`)\n")
		return
	case len(packs) == 0 && c.Launch.PacksOff:
		p.line("All custom nodes were off in this trial (`--disable-all-custom-nodes`).\n")
		return
	}
	p.line("- [ ] I have tried disabling custom nodes and the issue persists: %s\n", escape(c.packs()))
	var costs []string
	for _, i := range c.Trial.Imports {
		if i.Failed {
			costs = append(costs, i.Pack+" could not be imported: "+i.Reason)
		}
	}
	if len(costs) > 0 {
		p.list(costs)
	}
}

func (c *Case) expected(p *page) {
	p.head("Expected Behavior")
	switch best := c.Best(); {
	case c.Failed() && c.Trial.Outcome.Kind == memtrix.StartupFailure:
		p.line("The server starts and answers.%s\n", c.asThere(best))
	case c.Failed():
		p.line("The workflow runs to its end.%s\n", c.asThere(best))
	default:
		p.line("The workflow runs to its end. It did.\n")
	}
}

func (c *Case) asThere(best *Row) string {
	if best == nil || best.Passed < best.N {
		return ""
	}
	return " So it does " + map[bool]string{true: "on ", false: ""}[best.What == "version"] + escape(c.otherwise(*best)) + ": " + escape(described(*best)) + "."
}

func (c *Case) actual(p *page) {
	p.head("Actual Behavior")
	o := c.Trial.Outcome
	p.line("%s\n", escape(strings.TrimSuffix(c.Headline, ".")+"."))
	p.line("%s\n", escape(strings.ToUpper(c.where()[:1])+c.where()[1:]+"."))
	var more []string
	if o.Requested != nil {
		more = append(more, "asked for: "+reports.Bytes(*o.Requested)+" (the allocator's message)")
	}
	if o.Free != nil {
		more = append(more, "free at that moment: "+reports.Bytes(*o.Free)+" (the allocator's message)")
	}
	if o.Unallocated != nil {
		more = append(more, "held by the allocator and given to nobody: "+reports.Bytes(*o.Unallocated))
	}
	for _, h := range o.Holders {
		more = append(more, "another process held "+reports.Bytes(h.Bytes)+" of it: "+h.Name+c.holderNote())
	}
	if o.HiddenRetries > 0 {
		more = append(more, fmt.Sprintf("allocations that failed and were got over: %d", o.HiddenRetries))
	}
	for _, f := range o.FallBacks {
		more = append(more, "a slower way was taken: "+f)
	}
	if o.Slow != nil {
		more = append(more, fmt.Sprintf("steps became slower: %s s before, %s s after; memory %s", reports.Seconds(o.Slow.Before), reports.Seconds(o.Slow.After), o.Slow.Memory))
		more = append(more, o.Slow.Moved...)
	}
	if len(more) > 0 {
		p.list(more)
	}
	if len(o.Evidence) > 0 {
		p.line("The lines that show it:\n")
		p.fence("text", strings.Join(o.Evidence, "\n"))
	}
	c.comparison(p)
}

// holderNote keeps memtrix's own holder of VRAM from being taken for a finding.
func (c *Case) holderNote() string {
	if c.Trial.Cell.Hardware.VRAM > 0 {
		return " (memtrix held the rest of the card on purpose, so that it is one of a smaller size)"
	}
	return ""
}

// comparison is the table of the same cell otherwise.
func (c *Case) comparison(p *page) {
	if len(c.Compared) < 2 {
		p.line("Nothing to compare with is stored: the same workflow with another version, with one setting otherwise, or on a machine of another size.\n")
		return
	}
	p.line("The same workflow in the same results folder, otherwise in one thing only:\n")
	p.line("| what | version | settings | ended | VRAM peak MiB | RAM peak MiB | prompt s | trials |")
	p.line("| --- | --- | --- | --- | ---: | ---: | ---: | --- |")
	for _, r := range c.shownRows() {
		what := r.What
		if r.own {
			what = "**this**"
		} else {
			what = escape(what)
		}
		p.line("| %s | %s | %s | %s | %s | %s | %s | %s |", what, escape(r.Version), escape(r.Settings), escape(r.Outcome()),
			atLeast(r.AtLeast)+figure(r.VRAM), figure(r.RAM), secondsOf(r.Seconds), strings.TrimPrefix(strings.TrimPrefix(trialNumbers(r.Trials), "trials "), "trial "))
	}
	p.line("")
	if left := len(c.Compared) - len(c.shownRows()); left > 0 {
		p.line("%d more are in comparison.csv.\n", left)
	}
	p.line("%s\n", escape(c.figureSources()))
	if best := c.Best(); best != nil {
		own := c.Compared[slices.IndexFunc(c.Compared, func(r Row) bool { return r.own })]
		if d := against(own, *best); d != "" {
			p.line("This against %s: %s (not tested for noise; memtrix compare does).\n", escape(c.otherwise(*best)), escape(d))
		}
	}
	if best := c.Best(); best != nil && len(best.Differs) > 0 {
		p.line("What else differs between this trial and %s, and may explain it:\n", escape(c.otherwise(*best)))
		p.list(best.Differs)
	}
}

// mostRows bounds the table of the report.
const mostRows = 12

func (c *Case) shownRows() []Row {
	if len(c.Compared) <= mostRows {
		return c.Compared
	}
	rows := c.Compared[:mostRows:mostRows]
	if c.best >= mostRows {
		rows = append(rows[:mostRows-1:mostRows-1], c.Compared[c.best])
	}
	return rows
}

func (c *Case) figureSources() string {
	text := "Peaks are medians over the trials that passed, or over all where none did: then they show where it stopped, not what it needs."
	m := metersOf([]*memtrix.Trial{c.Trial})
	for _, name := range []string{m.vram, m.ram} {
		for _, s := range c.Trial.Series {
			if s.Meter.Name == name {
				how := ""
				if peak, ok := c.Trial.Peak(name); ok {
					how = ", " + string(peak.How)
				}
				text += " " + name + ": " + s.Meter.Source + how + "."
			}
		}
	}
	if slices.ContainsFunc(c.Compared, func(r Row) bool { return r.AtLeast }) {
		text += " At least: the allocator's message about the failure told of more than was sampled; the peak fell between two samples."
	}
	return text + " Prompt: the second one of a trial where there are two, from POST to its end."
}

func figure(v *int64) string {
	if v == nil {
		return ""
	}
	return reports.MiB(*v)
}

func secondsOf(v *float64) string {
	if v == nil {
		return ""
	}
	return reports.Seconds(*v)
}

func (c *Case) steps(p *page) {
	p.head("Steps to Reproduce")
	p.line("Happens with stand-ins (files with a model's real names, shapes and types of tensors, and no weights)? %s.\n", escape(c.StandIns))
	if c.Simulated() {
		p.line("The server of this trial was simulated: there is no ComfyUI in which these figures could be repeated. memtrix simulates it again: `memtrix run %s` in this folder.\n", specFile)
		c.modelTable(p)
		return
	}
	p.line("In plain ComfyUI, without memtrix (BUNDLE is this bundle's folder):\n")
	p.fence("sh", strings.Join(c.plainSteps(), "\n"))
	if n := len(c.Prompts); n > len(c.shownPrompts()) {
		p.line("Between the two, prompts %d to %d of the bundle are sent: they differ in seeds only.\n", c.Prompts[0].Number+1, c.Prompts[n-1].Number-1)
	}
	if len(c.Prompts) > 0 {
		p.line("The prompts are those that the server got (%s). `workflow.json` can be loaded in the browser%s.\n", escape(c.Prompts[0].Source), map[bool]string{true: "", false: " (it is in API format)"}[c.Trial.Cell.Workflow.UI != nil])
	}
	if c.Hidden {
		p.line("The texts of prompts were taken out; their lengths are in their places. To repeat it, put any text of that length there.\n")
	}
	p.line("With memtrix, in this folder: `memtrix run %s`%s\n", specFile, c.standInCommands())
	c.modelTable(p)
}

func (c *Case) standInCommands() string {
	var words []string
	for _, m := range c.Models {
		if m.Family != "" {
			words = append(words, "`"+shell.Words("memtrix", "standin", "write", m.Family, "--dtype", m.DType, "-o", "models/"+m.Folder+"/"+m.Name)+"`")
		}
	}
	if len(words) == 0 {
		return "."
	}
	return ", which writes stand-ins by itself; one alone: " + strings.Join(words, ", ") + "."
}

func (c *Case) modelTable(p *page) {
	if len(c.Models) == 0 {
		return
	}
	p.line("| model | in this trial | stand-in | its size |")
	p.line("| --- | --- | --- | ---: |")
	for _, m := range c.Models {
		was := "real"
		switch {
		case m.Stand != nil && m.Stand.Fill != "":
			was = "stand-in, " + m.Stand.Fill
		case m.Stand != nil:
			was = "stand-in"
		}
		stand, bytes := "none is known to fit", ""
		if m.Family != "" {
			stand = m.Family + " " + m.DType + " (" + m.Why + ")"
		}
		if m.Bytes > 0 {
			bytes = reports.Bytes(m.Bytes)
		}
		p.line("| %s | %s | %s | %s |", escape(m.Folder+"/"+m.Name), escape(was), escape(stand), bytes)
	}
	p.line("")
}

// simulatedSeconds explains why the log of a simulated trial has other times than the
// tables.
func (c *Case) simulatedSeconds() string {
	text := "Seconds in this log are simulated ones, those in tables and timeline are real ones"
	speed := ""
	for i, word := range c.Launch.Plain {
		if value, ok := strings.CutPrefix(word, "--sim-speed="); ok {
			speed = value
		} else if word == "--sim-speed" && i+1 < len(c.Launch.Plain) {
			speed = c.Launch.Plain[i+1]
		}
	}
	if speed != "" {
		text += ": the simulation ran with --sim-speed " + speed + ", by which all waiting was divided"
	}
	return text + "."
}

func (c *Case) debugLogs(p *page) {
	p.head("Debug Logs")
	log := c.Log
	if len(log) == 0 {
		if log = c.Trial.Outcome.Evidence; len(log) == 0 {
			p.line("The server's log is not there.\n")
			return
		}
		p.line("The server's log is not there; its last lines, as they were kept:\n")
	}
	if c.Simulated() {
		p.line("%s\n", escape(c.simulatedSeconds()))
	}
	text, left := excerpt(log)
	p.fence("powershell", text)
	if left > 0 {
		p.line("%d lines in the middle are left out here; log.txt has all %d.\n", left, len(c.Log))
	}
}
