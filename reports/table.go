package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// TableOptions say what kind of terminal a table is for.
type TableOptions struct {
	// Width is the terminal's, in columns; 0 for no limit (a file or a pipe).
	Width int
	// Color may only be set when the output is a terminal.
	Color bool
}

// columnGap is the space between two columns.
const columnGap = 2

// Table writes a session as a table for terminals: one row for each trial and
// for each planned cell that did not run, then the source of every number and
// the reasons. On narrow terminals the columns are spread over several tables
// with the same rows. Its errors are those of w.
func Table(w io.Writer, s Session, o TableOptions) error {
	sh := newSheet(s)
	var b strings.Builder
	writeParagraph(&b, sh.title, "  ", o.Width)
	b.WriteByte('\n')
	if len(sh.rows) == 0 {
		b.WriteString("no trials and no cells\n")
	} else {
		for _, panel := range panels(sh, o.Width) {
			text, err := drawPanel(sh, panel, o.Color)
			if err != nil {
				return fmt.Errorf("table of session %q: %w", s.Name, err)
			}
			b.WriteString(text + "\n")
		}
	}
	for _, line := range sh.sources {
		writeParagraph(&b, line, "  ", o.Width)
	}
	if len(sh.sources) > 0 && len(sh.notes) > 0 {
		b.WriteByte('\n')
	}
	for _, line := range sh.notes {
		writeParagraph(&b, line, "  ", o.Width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeParagraph wraps a line to a terminal's width, with an indent from the
// second line on.
func writeParagraph(b *strings.Builder, line, indent string, width int) {
	for i, part := range wrap(line, width-len(indent)) {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(part + "\n")
	}
}

// panels spreads columns over tables that fit the width. Each starts with the
// key columns, so that a row is known in each; glued columns stay together.
func panels(sh sheet, width int) [][]int {
	var keys []int
	var units [][]int
	for i, c := range sh.columns {
		switch {
		case c.key:
			keys = append(keys, i)
		case c.glued && len(units) > 0:
			units[len(units)-1] = append(units[len(units)-1], i)
		default:
			units = append(units, []int{i})
		}
	}
	base := widthOf(sh, keys)
	var all [][]int
	panel, used := slices.Clone(keys), base
	for _, unit := range units {
		need := widthOf(sh, unit)
		if width > 0 && used+need-columnGap > width && len(panel) > len(keys) {
			all = append(all, panel)
			panel, used = slices.Clone(keys), base
		}
		panel, used = append(panel, unit...), used+need
	}
	return append(all, panel)
}

// widthOf is the width of some columns with the gap after each.
func widthOf(sh sheet, columns []int) int {
	width := 0
	for _, i := range columns {
		width += columnWidth(sh, i) + columnGap
	}
	return width
}

func columnWidth(sh sheet, i int) int {
	widest := 0
	for _, line := range headerLines(sh.columns[i]) {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	for _, r := range sh.rows {
		for _, line := range cellLines(sh.columns[i], r[i]) {
			widest = max(widest, utf8.RuneCountInString(line))
		}
	}
	return widest
}

func headerLines(c column) []string {
	lines := []string{c.title}
	for _, more := range []string{c.unit, c.how} {
		if more != "" {
			lines = append(lines, more)
		}
	}
	return lines
}

// cellLines puts marks before numbers, so that their last digits stay aligned,
// and after text.
func cellLines(col column, c cell) []string {
	switch {
	case c.mark == "":
		return wrap(c.text, col.wide)
	case col.right:
		return []string{c.mark + " " + c.text}
	}
	return append(wrap(c.text, col.wide), wrap("("+c.mark+")", col.wide)...)
}

func drawPanel(sh sheet, panel []int, color bool) (string, error) {
	var b strings.Builder
	table := tablewriter.NewTable(&b, tablewriter.WithRenderer(renderer.NewBlueprint(ruled)), tablewriter.WithConfig(unformatted(sh, panel)))
	head := make([]string, 0, len(panel))
	for _, i := range panel {
		head = append(head, strings.Join(headerLines(sh.columns[i]), "\n"))
	}
	table.Header(head)
	for _, r := range sh.rows {
		line := make([]string, 0, len(panel))
		for _, i := range panel {
			line = append(line, paint(cellLines(sh.columns[i], r[i]), r[i].tone, color))
		}
		if err := table.Append(line); err != nil {
			return "", err
		}
	}
	if err := table.Render(); err != nil {
		return "", err
	}
	return trimLines(b.String()), nil
}

// ruled has one rule below the header and space between columns.
var ruled = tw.Rendition{
	Borders: tw.BorderNone,
	Symbols: tw.NewSymbolCustom("ruled").WithRow("-").WithColumn(" ").WithCenter("-").WithHeaderMid("-").WithMidLeft("-").WithMidRight("-"),
	Settings: tw.Settings{
		Separators: tw.Separators{ShowHeader: tw.On, BetweenColumns: tw.Off, BetweenRows: tw.Off},
		Lines:      tw.Lines{ShowHeaderLine: tw.On},
	},
}

// unformatted keeps the library from wrapping, trimming or capitalising.
func unformatted(sh sheet, panel []int) tablewriter.Config {
	align := make(tw.Alignment, len(panel))
	padding := make([]tw.Padding, len(panel))
	for n, i := range panel {
		align[n] = tw.AlignLeft
		if sh.columns[i].right {
			align[n] = tw.AlignRight
		}
		padding[n] = tw.Padding{Overwrite: true}
		if n < len(panel)-1 {
			padding[n].Right = strings.Repeat(" ", columnGap)
		}
	}
	part := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align},
		Padding:    tw.CellPadding{PerColumn: padding},
	}
	return tablewriter.Config{
		Header:   part,
		Row:      part,
		Behavior: tw.Behavior{TrimSpace: tw.Off, TrimTab: tw.Off, TrimLine: tw.Off},
	}
}

// paint colours each line by itself, so that no colour runs into the next cell.
func paint(lines []string, t tone, color bool) string {
	codes := map[tone]string{bad: "31", differs: "33", dim: "2"}
	if code := codes[t]; color && code != "" {
		for i := range lines {
			lines[i] = "\x1b[" + code + "m" + lines[i] + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}

func trimLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
