package reports

import (
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

// ComparisonText writes two sides as tables for a terminal, a cell each: outcomes that
// changed first, then each meter with its median on both sides, the difference, p and
// what that says. Its errors are those of w.
func ComparisonText(w io.Writer, c history.Comparison, o TableOptions) error {
	var b strings.Builder
	writeParagraph(&b, comparisonTitle(c), "  ", o.Width)
	for _, line := range comparisonHead(c) {
		writeParagraph(&b, line, "  ", o.Width)
	}
	for _, p := range c.Cells {
		b.WriteByte('\n')
		writeParagraph(&b, OneLine(pairTitle(p)), "  ", o.Width)
		for _, line := range pairLines(p) {
			writeParagraph(&b, line, "  ", o.Width)
		}
		sh := pairSheet(c, p)
		if len(sh.rows) == 0 {
			continue
		}
		for _, panel := range panels(sh, o.Width) {
			text, err := drawPanel(sh, panel, o.Color)
			if err != nil {
				return fmt.Errorf("table of %s: %w", p.Workflow, err)
			}
			b.WriteString(text)
		}
	}
	b.WriteByte('\n')
	for _, line := range comparisonNotes(c) {
		writeParagraph(&b, line, "  ", o.Width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ComparisonMarkdown writes the same for a comment on a pull request.
func ComparisonMarkdown(w io.Writer, c history.Comparison) error {
	var b strings.Builder
	b.WriteString("## " + escapeMarkdown(comparisonTitle(c)) + "\n\n")
	for _, line := range comparisonHead(c) {
		b.WriteString("- " + escapeMarkdown(line) + "\n")
	}
	if len(comparisonHead(c)) > 0 {
		b.WriteByte('\n')
	}
	for _, p := range c.Cells {
		b.WriteString("### " + escapeMarkdown(pairTitle(p)) + "\n\n")
		for _, line := range pairLines(p) {
			b.WriteString(escapeMarkdown(line) + "\n\n")
		}
		if sh := pairSheet(c, p); len(sh.rows) > 0 {
			writeMarkdownTable(&b, sh)
		}
	}
	writeDetails(&b, "How to read this", comparisonNotes(c))
	_, err := io.WriteString(w, b.String())
	return err
}

func comparisonTitle(c history.Comparison) string {
	title := "memtrix compare " + OneLine(c.A) + " " + OneLine(c.B)
	if len(c.Cells) > 0 && c.Cells[0].B[0].Trial.Simulated {
		title += " (SIMULATED: no measurement)"
	}
	return title
}

// comparisonHead is what a person must see first: outcomes that changed, then what is
// not alike.
func comparisonHead(c history.Comparison) []string {
	var all []string
	for _, p := range c.Cells {
		if o := p.Outcome; o.Kind != "" || o.Fixed {
			word := string(o.Kind)
			if word == "" {
				word = "fixed"
			}
			text := fmt.Sprintf("%s: %s: %s -> %s%s", word, OneLine(pairTitle(p)), o.A, o.B, sureText(o))
			if o.Expected {
				text += ", as expected by the spec: not counted as worse"
			}
			all = append(all, text)
		}
	}
	for _, w := range c.Warnings {
		all = append(all, "warning: "+OneLine(w))
	}
	return all
}

func sureText(o history.OutcomePair) string {
	switch {
	case o.More > 0:
		return fmt.Sprintf(" (p=%s; %s a side are needed to be sure)", pText(o.P), plural(o.More, "more repeat", "more repeats"))
	case o.P > 0:
		return " (p=" + pText(o.P) + ")"
	}
	return ""
}

func pairTitle(p history.CellPair) string {
	title := history.Change{Workflow: p.Workflow, Settings: p.Settings, Hardware: p.Hardware}.Where()
	if p.Card != "" {
		title += " on " + p.Card
	}
	if name := commonVersion(p); name != "" {
		title += ": " + name
	}
	return title
}

// commonVersion is the version that both sides have, of which sessions may have several;
// "" where the two sides are two versions.
func commonVersion(p history.CellPair) string {
	name := ""
	for _, t := range slices.Concat(p.A, p.B) {
		switch {
		case name == "":
			name = t.Trial.Cell.Version.Name
		case name != t.Trial.Cell.Version.Name:
			return ""
		}
	}
	return name
}

func pairLines(p history.CellPair) []string {
	var all []string
	if p.Outcome.Kind == "" && !p.Outcome.Fixed && p.Outcome.P > 0 { // some failed
		all = append(all, "outcomes: "+p.Outcome.A+" -> "+p.Outcome.B+sureText(p.Outcome))
	}
	for _, u := range p.Unlike {
		all = append(all, "warning: not alike: "+OneLine(u))
	}
	const shown = 5
	var words []string
	for i, c := range p.Causes {
		if i == shown {
			words = append(words, fmt.Sprintf("and %d more", len(p.Causes)-shown))
			break
		}
		words = append(words, OneLine(c.Text()))
	}
	if len(words) > 0 {
		all = append(all, "what else differs: "+strings.Join(words, "; "))
	}
	return all
}

func pairSheet(c history.Comparison, p history.CellPair) sheet {
	sh := sheet{columns: []column{
		{title: "meter", key: true}, {title: OneLine(c.A), right: true}, {title: OneLine(c.B), right: true},
		{title: "delta", right: true}, {title: "p", right: true}, {title: "verdict"},
	}}
	for _, m := range p.Meters {
		if nothing(m.ValuesA) && nothing(m.ValuesB) {
			continue // swap that nobody used
		}
		sh.rows = append(sh.rows, []cell{
			{text: history.Label(m.Meter)}, {text: sideText(m.A, m.ValuesA, m.Unit)}, {text: sideText(m.B, m.ValuesB, m.Unit)},
			{text: deltaText(m), tone: deltaTone(m)}, {text: pOf(m)}, {text: verdictText(m)},
		})
	}
	return sh
}

func nothing(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != 0 })
}

// sideText is a median with its interval, or, of fewer than six, with the range of all.
func sideText(i regress.Interval, values []float64, unit memtrix.Unit) string {
	n := len(values)
	switch {
	case n == 0:
		return "-"
	case n == 1 || slices.Min(values) == slices.Max(values):
		return levelText(i.Median, unit)
	case math.IsInf(i.Low, 0) || math.IsInf(i.High, 0) || i.Confidence < 0.95:
		low, high := ends(i.Median, slices.Min(values), slices.Max(values), unit)
		return levelText(i.Median, unit) + " (" + low + ".." + high + ")"
	}
	low, high := ends(i.Median, i.Low, i.High, unit)
	return levelText(i.Median, unit) + " [" + low + ", " + high + "]"
}

// levelText writes a number in its unit for people.
func levelText(v float64, unit memtrix.Unit) string {
	switch unit {
	case memtrix.UnitBytes:
		return Bytes(int64(math.Round(v)))
	case memtrix.UnitBytesPerSecond:
		return Bytes(int64(math.Round(v))) + "/s"
	case history.UnitSeconds:
		if math.Abs(v) < 0.9995 {
			return strconv.FormatFloat(v, 'f', 3, 64) + " s"
		}
		if math.Abs(v) < 9.995 {
			return strconv.FormatFloat(v, 'f', 2, 64) + " s" // 2 % must be seen
		}
		return Seconds(v) + " s"
	case memtrix.UnitPercent:
		return strconv.FormatFloat(v, 'g', 4, 64) + " %"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// ends writes the ends of a range behind its middle: without their unit where all three
// have the same one, else each with its own (MiB beside GiB).
func ends(middle, low, high float64, unit memtrix.Unit) (string, string) {
	_, of, _ := strings.Cut(levelText(middle, unit), " ")
	lowNumber, lowUnit, _ := strings.Cut(levelText(low, unit), " ")
	highNumber, highUnit, _ := strings.Cut(levelText(high, unit), " ")
	if lowUnit == of && highUnit == of {
		return lowNumber, highNumber
	}
	return levelText(low, unit), levelText(high, unit)
}

func deltaText(m history.MeterPair) string {
	if len(m.ValuesA) == 0 || len(m.ValuesB) == 0 {
		return ""
	}
	d := m.B.Median - m.A.Median
	if d == 0 {
		return "0"
	}
	text := levelText(d, m.Unit)
	if d > 0 {
		text = "+" + text
	}
	if share, ok := m.Delta(); ok {
		text += fmt.Sprintf(" (%+.1f %%)", 100*share)
	}
	return text
}

func deltaTone(m history.MeterPair) tone {
	switch {
	case m.Worse:
		return bad
	case m.Verdict == regress.Differs:
		return differs
	}
	return plain
}

func pOf(m history.MeterPair) string {
	if len(m.ValuesA) == 0 || len(m.ValuesB) == 0 || m.Borders {
		return ""
	}
	return pText(m.P)
}

func pText(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

func verdictText(m history.MeterPair) string {
	if len(m.ValuesA) == 0 || len(m.ValuesB) == 0 {
		return m.Reason
	}
	switch m.Verdict {
	case regress.Differs:
		if m.Files {
			return "file pages only"
		}
		if m.Worse {
			return "WORSE"
		}
		return "better"
	case regress.Same:
		return "same"
	case regress.TooSmall:
		return "too small to matter"
	}
	switch {
	case m.More > 0:
		return fmt.Sprintf("? need %d more a side to tell", m.More)
	case m.More < 0:
		return "? no number of repeats would tell"
	}
	return "?"
}

func comparisonNotes(c history.Comparison) []string {
	few := false
	for _, p := range c.Cells {
		for _, m := range p.Meters {
			few = few || len(m.ValuesA) < 6 || len(m.ValuesB) < 6
		}
	}
	notes := []string{"Medians over the trials that passed; [low, high] is their interval of 95 %. p: U test of Mann and Whitney, each meter by itself. A difference matters from 32 MiB or 1 % on, whichever is less, of times from 2 %."}
	files := slices.ContainsFunc(c.Cells, func(p history.CellPair) bool {
		return slices.ContainsFunc(p.Meters, func(m history.MeterPair) bool { return m.Files })
	})
	if files {
		notes = append(notes, "File pages only: the server's own memory (anon) is the same; resident pages of mapped files (libraries, models) come and go with the page cache, which differs from one copy of an environment to the next.")
	}
	borders := slices.ContainsFunc(c.Cells, func(p history.CellPair) bool {
		return slices.ContainsFunc(p.Meters, func(m history.MeterPair) bool { return m.Borders })
	})
	if borders {
		notes = append(notes, "Floors are compared by the sizes that pass and those that fail next to them, which a search has tried several times: they differ where one side passes with what the other fails with.")
	}
	if few {
		notes = append(notes, "(low..high) is the range of all where fewer than 6 repeats give no interval; fewer than 4 a side cannot give p < 0.05.")
	}
	return notes
}
