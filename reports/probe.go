package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// ProbeTable writes one trial: why it failed, if it did, with the lines that show it,
// and what its probe told: each node that ran with torch's own peak and what was there
// after it, each model that was loaded, and what else happened to memory. A figure that
// was not to be had is "-". Its errors are those of w.
func ProbeTable(w io.Writer, t *memtrix.Trial, o TableOptions) error {
	var b strings.Builder
	writeParagraph(&b, probeTitle(t), "  ", o.Width)
	b.WriteByte('\n')
	// Why it failed comes first: of a server that did not start there is nothing else.
	if note := failureNote(t); note != "" {
		for line := range strings.SplitSeq(note, "\n") {
			writeParagraph(&b, line, "  ", o.Width)
		}
		b.WriteByte('\n')
	}
	if t.Probe == nil {
		b.WriteString("this trial ran without a probe inside its server; 'memtrix run --probe' takes one along\n")
		_, err := io.WriteString(w, b.String())
		return err
	}
	for _, sh := range []sheet{nodeSheet(t), accountSheet(t), loadSheet(t)} {
		if len(sh.rows) == 0 {
			continue
		}
		b.WriteString(sh.title + "\n")
		for _, panel := range panels(sh, o.Width) {
			text, err := drawPanel(sh, panel, o.Color)
			if err != nil {
				return fmt.Errorf("probe of trial %d: %w", t.ID, err)
			}
			b.WriteString(text + "\n")
		}
		for _, line := range sh.sources {
			writeParagraph(&b, line, "  ", o.Width)
			b.WriteByte('\n')
		}
	}
	for _, line := range probeNotes(t.Probe) {
		writeParagraph(&b, line, "  ", o.Width)
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func probeTitle(t *memtrix.Trial) string {
	title := fmt.Sprintf("trial %d: %s, %s, %s: %s", t.ID, t.Cell.Version.Name, t.Cell.Workflow.Name, asAsked(t.Cell),
		strings.TrimSpace(string(t.Outcome.Kind)+" "+outcomeDetail(t.Outcome)))
	if t.Simulated {
		title += "; SIMULATED: not a measurement"
	}
	return title
}

// figure is a column of a node table.
type figure struct {
	title, unit string
	value       func(n memtrix.NodeRun) (string, bool)
}

func mibOf(v memtrix.Values, meter string) (string, bool) {
	n, ok := v[meter]
	if !ok {
		return "", false
	}
	return MiB(n), true
}

func peakFigure(title, meter string) figure {
	return figure{title, "MiB", func(n memtrix.NodeRun) (string, bool) { return mibOf(n.Peaks, meter) }}
}

func afterFigure(title, meter string) figure {
	return figure{title, "MiB", func(n memtrix.NodeRun) (string, bool) { return mibOf(n.After, meter) }}
}

var nodeFigures = []figure{
	{"time", "s", func(n memtrix.NodeRun) (string, bool) { return Seconds((n.End - n.Start).Seconds()), n.End > 0 }},
	peakFigure("torch peak", memtrix.TorchAllocated),
	peakFigure("of it work", memtrix.TorchWork),
	peakFigure("reserved peak", memtrix.TorchReserved),
	afterFigure("torch after", memtrix.TorchAllocated),
	afterFigure("weights", memtrix.WeightsResident),
	afterFigure("in aimdo", memtrix.AimdoWeights),
	afterFigure("free", memtrix.VRAMDriverFree),
	afterFigure("free, says ComfyUI", memtrix.VRAMComfyUIFree),
	afterFigure("pinned", memtrix.RAMPinned),
	afterFigure("RSS", memtrix.RAMProcessRSS),
	afterFigure("anonymous", memtrix.RAMProcessAnon),
	{"loads", "", func(n memtrix.NodeRun) (string, bool) { return strconv.Itoa(n.Loads), n.Loads > 0 }},
	{"OOMs", "", func(n memtrix.NodeRun) (string, bool) { return strconv.FormatInt(n.OOMs, 10), n.OOMs > 0 }},
}

func nodeSheet(t *memtrix.Trial) sheet {
	sh := sheet{title: "Nodes", columns: []column{
		{title: "prompt", right: true, key: true}, {title: "node", key: true}, {title: "class", key: true},
	}}
	nodes := t.Probe.Nodes
	for _, n := range nodes {
		class, tone := n.Node.ClassType, plain
		switch {
		case n.State == "" || n.State == "failure":
			tone = bad
			class += " (" + firstOf(n.State, "never ended") + ")"
		case n.State != "success":
			class += " (" + n.State + ")"
		}
		sh.rows = append(sh.rows, []cell{{text: strconv.Itoa(n.Prompt)}, {text: n.Node.ID}, {text: class, tone: tone}})
	}
	for _, f := range nodeFigures {
		texts, any := make([]cell, len(nodes)), false
		for i, n := range nodes {
			text, ok := f.value(n)
			any = any || ok
			if !ok {
				text = "-"
			}
			texts[i] = cell{text: text}
		}
		if !any {
			continue
		}
		sh.columns = append(sh.columns, column{title: f.title, unit: f.unit, right: true})
		for i := range nodes {
			sh.rows[i] = append(sh.rows[i], texts[i])
		}
	}
	if !slices.ContainsFunc(nodes, func(n memtrix.NodeRun) bool { return len(n.Peaks) > 0 }) {
		return sh
	}
	sh.sources = []string{
		"torch peak: the largest that torch's allocator had given out, its own counter, reset at the node's start; of it work: without the weights of models in torch's memory at the time. All else is as it stood right after the node. What a device does not have is left out.",
	}
	return sh
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// accountSheet says where a trial's device memory was after each node.
func accountSheet(t *memtrix.Trial) sheet {
	p := t.Probe
	sh := sheet{title: "Device memory after each node: who has it", columns: []column{
		{title: "prompt", right: true, key: true}, {title: "node", key: true}, {title: "used", unit: "MiB", right: true},
		{title: "context", unit: "MiB", right: true}, {title: "code", unit: "MiB", right: true}, {title: "torch reserved", unit: "MiB", right: true},
		{title: "weights in aimdo", unit: "MiB", right: true}, {title: "aimdo's buffers", unit: "MiB", right: true},
		{title: "rest", unit: "MiB", right: true}, {title: "rest", unit: "%", right: true},
	}}
	if p.Context == nil || p.Idle == nil {
		return sh
	}
	for _, n := range p.Nodes {
		a, ok := p.Account(n.After)
		if !ok {
			continue
		}
		share := "-"
		if a.Used > 0 {
			share = strconv.FormatFloat(positiveZero(float64(a.Rest)/float64(a.Used)*100), 'f', 1, 64)
		}
		row := []cell{{text: strconv.Itoa(n.Prompt)}, {text: n.Node.ClassType + " (" + n.Node.ID + ")"}}
		for _, v := range []int64{a.Used, a.Context, a.Code, a.Torch, a.Aimdo, a.Buffers, a.Rest} {
			row = append(row, cell{text: MiB(v)})
		}
		sh.rows = append(sh.rows, append(row, cell{text: share}))
	}
	sh.sources = []string{"context: what the server had on the card before any model, beside torch; measured from outside. code: what the driver loads as it is called, and workspaces of libraries, " + codeWords(p.Code) + ". rest: used minus all others."}
	return sh
}

func codeWords(code *int64) string {
	if code == nil {
		return "not measured here (free: on does), and so in the rest"
	}
	return "at most the " + MiB(*code) + " MiB that were left when models had been given back"
}

func loadSheet(t *memtrix.Trial) sheet {
	sh := sheet{title: "Models that came and went", columns: []column{
		{title: "at", unit: "s", right: true, key: true}, {title: "model", key: true}, {title: ""},
		{title: "time", unit: "s", right: true}, {title: "size", unit: "MiB", right: true},
		{title: "asked", unit: "MiB", right: true}, {title: "was resident", unit: "MiB", right: true},
		{title: "is resident", unit: "MiB", right: true}, {title: "device"}, {title: "node"},
	}}
	for _, l := range t.Probe.Loads {
		model, size, now, device, asked := "?", "-", "-", "", "all"
		if l.Model != nil {
			model = l.Model.Class
			size, now, device = MiB(l.Model.Size), MiB(l.Model.Resident), l.Model.Device
			if l.Model.Dynamic {
				device += " (dynamic)"
			}
		}
		if l.Asked != nil {
			asked = MiB(*l.Asked)
		}
		tone := plain
		if l.Error != "" {
			tone = bad
		}
		sh.rows = append(sh.rows, []cell{
			{text: Seconds(l.Start.Seconds())}, {text: model, tone: tone}, {text: l.How}, {text: Seconds((l.End - l.Start).Seconds())},
			{text: size}, {text: asked}, {text: MiB(l.Before)}, {text: now}, {text: device}, {text: l.Node},
		})
	}
	return sh
}

// probeNotes sums up the prompts and events.
func probeNotes(p *memtrix.Probe) []string {
	var notes []string
	for _, prompt := range p.Prompts {
		if prompt.NonEvictable != nil {
			notes = append(notes, fmt.Sprintf("prompt %d: non-evictable peak %s (context and torch's peak without weights; what aimdo must page in to use a weight is not in it)",
				prompt.Prompt, Bytes(*prompt.NonEvictable)))
		}
	}
	counts, took := map[string]int{}, map[string]time.Duration{}
	var kinds []string
	for _, e := range p.Events {
		if counts[e.Kind] == 0 {
			kinds = append(kinds, e.Kind)
		}
		counts[e.Kind]++
		took[e.Kind] += e.End - e.Start
		if e.Kind == "oom" {
			notes = append(notes, fmt.Sprintf("caught at %s s in node %s: %s", Seconds(e.Start.Seconds()), firstOf(e.Node, "none"), OneLine(e.Text)))
		}
	}
	var parts []string
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%d x %s (%s)", counts[k], k, Duration(took[k])))
	}
	if len(parts) > 0 {
		notes = append(notes, "events: "+strings.Join(parts, ", "))
	}
	if len(p.Missing) > 0 {
		notes = append(notes, "not seen on this version: "+strings.Join(p.Missing, "; "))
	}
	for _, f := range p.Faults {
		notes = append(notes, "a fault of the probe: "+OneLine(f))
	}
	if p.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("%d reports were dropped: what they told is missing above", p.Dropped))
	}
	return notes
}
