package reports

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/history"
	"memtrix/regress"
)

// ComparisonComfy writes what ComfyUI's maintainers put in pull requests about memory: the
// machine and the flags, then a row for each workflow and card size with the cold and the
// warm time, free VRAM, resident weights and RAM, before and after. Medians over trials
// that passed; what was not measured is a dash.
func ComparisonComfy(w io.Writer, c history.Comparison) error {
	var b strings.Builder
	if len(c.Cells) > 0 && c.Cells[0].B[0].Trial.Simulated {
		b.WriteString("**SIMULATED: no measurement**\n\n")
	}
	fmt.Fprintf(&b, "Before: %s. After: %s.\n\n", versionsOf(c.A, c, false), versionsOf(c.B, c, true))
	for _, line := range machineLines(c) {
		b.WriteString("- " + escapeMarkdown(line) + "\n")
	}
	for _, warning := range c.Warnings {
		b.WriteString("- warning: " + escapeMarkdown(warning) + "\n")
	}
	b.WriteString("\n| workflow | card | outcome | cold, s | warm, s | free VRAM, MiB | resident weights, MiB | RAM, MiB |\n")
	b.WriteString("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range inPlanOrder(c.Cells) {
		cells := []string{
			escapeMarkdown(history.Change{Workflow: p.Workflow, Settings: p.Settings}.Where()), escapeMarkdown(cardSize(p)), outcomeArrow(p),
			arrow(p, promptTime(1), 2), arrow(p, promptTime(2), 2), arrow(p, freeVRAM, 0), arrow(p, peakMiB(memtrix.WeightsResident), 0), arrow(p, peakMiB(memtrix.RAMTreeRSS), 0),
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	b.WriteString("\nMedians of " + repeatsText(c) + ", before → after. Cold: the first prompt after the server's start; warm: the second. Free VRAM: the card's total less the device's peak. RAM: peak resident memory of the server's processes.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// inPlanOrder puts cells by workflow, settings and the size of the card, small ones first
// and the machine as it is last: a table is read beside another one.
func inPlanOrder(cells []history.CellPair) []history.CellPair {
	cells = slices.Clone(cells)
	size := func(p history.CellPair) int64 {
		if n := p.B[0].Trial.Cell.Hardware.VRAM; n > 0 {
			return n
		}
		return math.MaxInt64
	}
	slices.SortStableFunc(cells, func(a, b history.CellPair) int {
		return cmp.Or(strings.Compare(a.Workflow, b.Workflow), strings.Compare(a.Settings, b.Settings),
			cmp.Compare(size(a), size(b)), strings.Compare(a.Hardware, b.Hardware))
	})
	return cells
}

// versionsOf names a side with the versions and commits that its trials ran.
func versionsOf(name string, c history.Comparison, after bool) string {
	var words []string
	for _, p := range c.Cells {
		v := p.A[0].Trial.Cell.Version
		if after {
			v = p.B[0].Trial.Cell.Version
		}
		text := v.Name
		if v.Commit != "" && !strings.HasPrefix(v.Commit, v.Name) {
			text += " (" + v.Commit[:min(len(v.Commit), 10)] + ")"
		}
		if n := len(history.ChangedFiles(v)); n > 0 {
			text += " with changes in " + plural(n, "file", "files")
		}
		if !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	text := strings.Join(words, ", ")
	if !strings.HasPrefix(text, name) {
		text = name + ": " + text
	}
	return escapeMarkdown(text)
}

// machineLines are what a reader needs to know of the machine, where it is known.
func machineLines(c history.Comparison) []string {
	if len(c.Cells) == 0 {
		return nil
	}
	first, t := known(c, false), known(c, true)
	e := t.Environment
	var parts []string
	add := func(format, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add("%s", history.Card(e))
	if n, err := strconv.ParseInt(e["ram.total"], 10, 64); err == nil {
		add("%s GiB RAM", strconv.FormatFloat(float64(n)/gib, 'f', 0, 64))
	}
	add("%s", e["distro"])
	add("driver %s", e["driver"])
	add("models on %s", e["models.disk"])
	all := []string{strings.Join(parts, ", ")}
	if parts == nil {
		all = nil
	}
	var packages []string
	for _, name := range []string{"torch", "comfy-aimdo", "comfy-kitchen"} {
		if text := packageText(name, first.Environment, e); text != "" {
			packages = append(packages, text)
		}
	}
	if packages != nil {
		all = append(all, strings.Join(packages, "; "))
	}
	before, after := flagsOf(first), flagsOf(t)
	if before != after {
		after = before + " before, " + after + " after"
	}
	return append(all, "flags: "+after)
}

// known is a trial of a side of which it is known what ran: one that could not be started has
// no packages.
func known(c history.Comparison, after bool) *memtrix.Trial {
	side := func(p history.CellPair) []*memtrix.Brief {
		if after {
			return p.B
		}
		return p.A
	}
	for _, p := range c.Cells {
		for _, t := range side(p) {
			if t.Trial.Environment["package.torch"] != "" {
				return t.Trial
			}
		}
	}
	return side(c.Cells[0])[0].Trial
}

// packageText is a package with its version, "" where neither side has it. A wheel that
// somebody built may have the version of a released one, and other files.
func packageText(name string, before, after memtrix.Environment) string {
	a, b := before["package."+name], after["package."+name]
	hashA, hashB := before["package-hash."+name], after["package-hash."+name]
	switch {
	case a == "" && b == "":
		return ""
	case before["package.torch"] == "" || after["package.torch"] == "":
		return fmt.Sprintf("%s %s on one side, not known of the other", name, a+b)
	case a != b:
		return fmt.Sprintf("%s %s before, %s after", name, orDefault(a), orDefault(b))
	case hashA != hashB && hashA != "" && hashB != "":
		return fmt.Sprintf("%s %s, of other files after than before", name, b)
	}
	return name + " " + b
}

// flagsOf are the launch flags of a trial: of its settings, and those that its spec gives
// every server.
func flagsOf(t *memtrix.Trial) string {
	return orDefault(strings.TrimSpace(strings.Join(t.Argv, " ") + " " + t.Environment["args"]))
}

func orDefault(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// cardSize is the size of machine that a cell saw, else the card.
func cardSize(p history.CellPair) string {
	t := p.B[0].Trial
	switch h := t.Cell.Hardware; {
	case p.Hardware != "" && h.VRAM > 0:
		return p.Hardware + " (" + Bytes(h.VRAM) + " free)"
	case p.Hardware != "":
		return p.Hardware
	}
	if n, ok := cardTotal(t.Environment); ok {
		return Bytes(int64(n))
	}
	if p.Card == "" {
		return "no card"
	}
	return p.Card
}

func cardTotal(e memtrix.Environment) (float64, bool) {
	var total float64
	cards := 0
	for name, value := range e {
		if strings.HasPrefix(name, "gpu.") && strings.HasSuffix(name, ".vram.total") {
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				total = n
				cards++
			}
		}
	}
	return total, cards == 1 // of several it is not known which was used
}

func outcomeArrow(p history.CellPair) string {
	if p.Outcome.A == p.Outcome.B {
		return escapeMarkdown(p.Outcome.B)
	}
	text := escapeMarkdown(p.Outcome.A) + " → " + escapeMarkdown(p.Outcome.B)
	if p.Outcome.Expected {
		return text + ", as expected by the spec"
	}
	if p.Outcome.Worse {
		return "**" + text + "**"
	}
	return text
}

// taken gives one number of a trial that passed.
type taken func(b *memtrix.Brief) (float64, bool)

func promptTime(prompt int) taken {
	return func(b *memtrix.Brief) (float64, bool) {
		n, ok := b.Numbers[memtrix.PromptSeconds(prompt)]
		return float64(n.Value) / 1e9, ok
	}
}

func peakMiB(meter string) taken {
	return func(b *memtrix.Brief) (float64, bool) {
		n, ok := b.Numbers[meter]
		return float64(n.Value) / mib, ok
	}
}

func freeVRAM(b *memtrix.Brief) (float64, bool) {
	total, ok := cardTotal(b.Trial.Environment)
	used, have := b.Numbers[memtrix.VRAMDeviceUsed]
	if b.Trial.Simulated && b.Trial.Cell.Hardware.VRAM > 0 {
		total, ok = float64(b.Trial.Cell.Hardware.VRAM), true
	}
	return (total - float64(used.Value)) / mib, ok && have
}

// arrow is "8.19 → 7.90", the median of both sides.
func arrow(p history.CellPair, take taken, decimals int) string {
	side := func(trials []*memtrix.Brief) string {
		var all []float64
		for _, t := range trials {
			if v, ok := take(t); ok && t.Trial.Outcome.Kind == memtrix.Pass {
				all = append(all, v)
			}
		}
		if len(all) == 0 {
			return "–"
		}
		return strconv.FormatFloat(regress.Median(all), 'f', decimals, 64)
	}
	a, b := side(p.A), side(p.B)
	if a == "–" && b == "–" {
		return "–"
	}
	return a + " → " + b
}

func repeatsText(c history.Comparison) string {
	least, most := 0, 0
	for i, p := range c.Cells {
		for _, n := range []int{len(p.A), len(p.B)} {
			if i == 0 && least == 0 {
				least = n
			}
			least, most = min(least, n), max(most, n)
		}
	}
	if least == most {
		return plural(most, "trial", "trials")
	}
	return fmt.Sprintf("%d to %d trials", least, most)
}
