package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/history"
	"memtrix/regress"
)

// LineHistory is a line with the meters that are shown and what changed along it.
type LineHistory struct {
	history.Line
	Meters  []string
	Changes []history.Change
	// Untold are steps of its outcomes, and TooFew why values tell nothing: too few trials.
	Untold []history.Step
	TooFew string
}

// NewLineHistory adds to a line and its changes what could not be told.
func NewLineHistory(l history.Line, meters []string, changes []history.Change) LineHistory {
	return LineHistory{l, meters, changes, history.Untold(l, changes), history.TooFew(l)}
}

// shownPlaces is how many of the newest places a table shows.
const shownPlaces = 30

// HistoryText writes lines for a terminal: a sparkline for each meter over all places,
// the newest places as a table, and what changed with what else changed there.
func HistoryText(w io.Writer, lines []LineHistory, o TableOptions) error {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeParagraph(&b, lineTitle(l.Line), "  ", o.Width)
		writeSparklines(&b, l, o)
		sh := placesSheet(l)
		for _, panel := range panels(sh, o.Width) {
			text, err := drawPanel(sh, panel, o.Color)
			if err != nil {
				return fmt.Errorf("table of %s: %w", l.Workflow, err)
			}
			b.WriteString(text)
		}
		if n := len(l.Places) - shownPlaces; n > 0 {
			fmt.Fprintf(&b, "(%s before them)\n", plural(n, "place", "places"))
		}
		writeLineChanges(&b, l, o.Width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func lineTitle(l history.Line) string {
	title := OneLine(l.Where())
	if l.Card != "" {
		title += " on " + l.Card
	}
	if l.Axis == history.ByDate {
		title += ": " + OneLine(l.Version) + " from night to night"
	} else {
		title += ": from version to version"
	}
	var words []string
	for _, w := range []struct {
		word string
		is   bool
	}{{"SIMULATED: no measurement", l.Simulated}, {"control", l.Control}, {"probe on", l.Probe}, {"attached", l.Attached}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	if len(words) > 0 {
		title += " (" + strings.Join(words, ", ") + ")"
	}
	return title + "  [" + l.Series + "]"
}

// Marks of a sparkline besides its levels.
const (
	sparkGap    = '·'
	sparkFailed = '×'
)

var sparks = []rune("▁▂▃▄▅▆▇█")

// writeSparklines draws the newest places of each meter: a gap is a dot, a place in which
// every trial failed is a cross.
func writeSparklines(b *strings.Builder, l LineHistory, o TableOptions) {
	widest := 0
	for _, m := range l.Meters {
		widest = max(widest, len(history.Label(m)))
	}
	room := 60
	if o.Width > 0 {
		room = max(o.Width-widest-30, 10)
	}
	for _, m := range l.Meters {
		places := l.Places[max(0, len(l.Places)-room):]
		values, unit := medians(places, m)
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		if high < low || high == 0 && low == 0 {
			continue
		}
		span := levelText(low, unit)
		if high > low {
			span = levelText(low, unit) + " to " + levelText(high, unit)
		}
		fmt.Fprintf(b, "%-*s  %s  %s\n", widest, history.Label(m), sparkline(places, values, low, high), span)
	}
	b.WriteByte('\n')
}

func sparkline(places []history.Place, values []float64, low, high float64) string {
	var line []rune
	for i, v := range values {
		failed, _ := places[i].Failed()
		switch {
		case !math.IsNaN(v) && high > low:
			line = append(line, sparks[int(math.Round((v-low)/(high-low)*float64(len(sparks)-1)))])
		case !math.IsNaN(v):
			line = append(line, sparks[len(sparks)/2])
		case failed > 0:
			line = append(line, sparkFailed)
		default:
			line = append(line, sparkGap)
		}
	}
	return string(line)
}

// medians are those of each place, NaN where there is none, in the unit that is given.
func medians(places []history.Place, meter string) ([]float64, memtrix.Unit) {
	all := make([]float64, len(places))
	var unit memtrix.Unit
	for i, p := range places {
		all[i], unit = math.NaN(), orUnit(unit, p, meter)
		if v := p.Values(meter); len(v) > 0 {
			slices.Sort(v)
			all[i] = (v[(len(v)-1)/2] + v[len(v)/2]) / 2
			if unit == history.UnitSeconds {
				all[i] /= 1e9
			}
		}
	}
	return all, unit
}

func orUnit(unit memtrix.Unit, p history.Place, meter string) memtrix.Unit {
	for _, t := range p.Trials {
		if n, ok := t.Numbers[meter]; ok && unit == "" {
			unit = n.Unit
			if unit == memtrix.UnitNanoseconds {
				unit = history.UnitSeconds
			}
		}
	}
	return unit
}

func placesSheet(l LineHistory) sheet {
	sh := sheet{columns: []column{{title: "session", key: true}, {title: "version"}, {title: "commit"}, {title: "outcomes"}}}
	if l.Axis == history.ByVersion {
		sh.columns[0], sh.columns[1] = column{title: "version", key: true}, column{title: "measured"}
	}
	for _, m := range l.Meters {
		sh.columns = append(sh.columns, column{title: history.Label(m), right: true, wide: 14})
	}
	from := max(0, len(l.Places)-shownPlaces)
	for i, p := range l.Places[from:] {
		second := p.Version
		if l.Axis == history.ByVersion {
			second = day(p.Started)
		}
		failed, first := p.Failed()
		outcome := cell{text: placeOutcome(p)}
		if failed > 0 && first != "" {
			outcome.tone = bad
		}
		r := []cell{{text: OneLine(p.Name)}, {text: OneLine(second)}, {text: short(p.Commit)}, outcome}
		for _, m := range l.Meters {
			values, unit := medians([]history.Place{p}, m)
			c := cell{text: "-"}
			if !math.IsNaN(values[0]) {
				c.text = levelText(values[0], unit)
			}
			if slices.ContainsFunc(l.Changes, func(x history.Change) bool { return x.Place == from+i && x.Meter == m }) {
				c.mark, c.tone = "*", differs
			}
			r = append(r, c)
		}
		sh.rows = append(sh.rows, r)
	}
	return sh
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02")
}

func short(commit string) string {
	if rest, ok := strings.CutPrefix(commit, "tree:"); ok {
		return "tree:" + rest[:min(len(rest), 7)]
	}
	return commit[:min(len(commit), 10)]
}

// placeOutcome counts outcomes: "4 pass", "1 pass, 3 oom", "gap".
func placeOutcome(p history.Place) string {
	if len(p.Trials) == 0 {
		return "gap"
	}
	counts := map[memtrix.OutcomeKind]int{}
	var order []memtrix.OutcomeKind
	for _, t := range p.Trials {
		k := t.Trial.Outcome.Kind
		if counts[k]++; counts[k] == 1 {
			order = append(order, k)
		}
	}
	var words []string
	for _, k := range order {
		words = append(words, fmt.Sprintf("%d %s", counts[k], k))
	}
	return strings.Join(words, ", ")
}

func writeLineChanges(b *strings.Builder, l LineHistory, width int) {
	for _, s := range l.Untold {
		writeParagraph(b, untoldText(l.Line, s), "  ", width)
	}
	if len(l.Changes) == 0 {
		switch {
		case l.TooFew != "":
			writeParagraph(b, "too few repeats to tell changes of the numbers: "+l.TooFew, "  ", width)
		case len(l.Untold) == 0:
			b.WriteString("no change\n")
		default:
			b.WriteString("no change of the numbers\n")
		}
		return
	}
	changes := slices.Clone(l.Changes)
	slices.SortStableFunc(changes, func(a, b history.Change) int { return a.Place - b.Place })
	compared := 0
	for i, c := range changes {
		if c.How == history.HowCompared {
			compared++
		}
		if i == 0 || changes[i-1].Place != c.Place || changes[i-1].TrialAfter != c.TrialAfter {
			head := "at " + changePlace(c)
			if causes := causesText(c.Causes, 4); causes != "" {
				head += " (what else changed there: " + causes + ")"
			}
			writeParagraph(b, head+":", "    ", width)
		}
		writeParagraph(b, "  "+changeLine(c), "      ", width)
	}
	if compared > 0 {
		tests := (len(l.Places) - 1) * (len(l.Meters) + 1) // and of how they ended
		writeParagraph(b, fmt.Sprintf("(compared: neighbours, one test at 5 %% each; of %s so many are wrong by chance: up to %.0f. Versions that did not run in turn, order: abba, differ by what drifted meanwhile, too: times most of all)",
			plural(tests, "comparison", "comparisons"), math.Ceil(0.05*float64(tests))), "  ", width)
	}
}

// untoldText says that trials ended in another way at a place, and that they are too few.
func untoldText(l history.Line, s history.Step) string {
	p := l.Places[s.Place]
	text := fmt.Sprintf("at %s: %s before, %s now", OneLine(p.Name), s.A, s.B)
	if l.Axis == history.ByDate {
		text += fmt.Sprintf(": too few trials to tell (from night to night it takes %d of one kind before it", regress.Steady)
	} else {
		text += ": too few repeats to tell (p=" + pText(s.P)
		if s.More > 0 {
			text += fmt.Sprintf("; about %d more a side are needed", s.More)
		}
	}
	text += ")"
	if s.Expected {
		text += ", as expected by the spec"
	}
	return text
}

// changePlace is "0.12.0", or the day with the version.
func changePlace(c history.Change) string {
	if c.Axis == history.ByDate {
		return day(c.At) + " (" + OneLine(versionText(c.To, c.ToCommit)) + ")"
	}
	return OneLine(c.To)
}

func versionText(name, commit string) string {
	if commit == "" || strings.HasPrefix(commit, name) {
		return name
	}
	return name + " " + short(commit)
}

// changeLine is "* shift: peak ram.tree.rss ... (worse)".
func changeLine(c history.Change) string {
	text := fmt.Sprintf("* %s (%s", OneLine(c.What()), changeWord(c))
	if c.How == history.HowCompared {
		text += ", compared"
	}
	return text + ")"
}

// changeWord says whom a change concerns: worse, better, fixed, expected.
func changeWord(c history.Change) string {
	switch {
	case c.Kind == regress.FixedOOM:
		return "fixed"
	case c.Worse:
		return "worse"
	case c.Expected:
		return "expected"
	case c.FilesOnly():
		return "no news"
	}
	return "better"
}

func causesText(causes []history.Cause, most int) string {
	var words []string
	for i, c := range causes {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(causes)-most))
			break
		}
		words = append(words, OneLine(c.Text()))
	}
	return strings.Join(words, "; ")
}

// HistoryJSON is the document of memtrix history --json.
func HistoryJSON(w io.Writer, lines []LineHistory) error {
	type value struct {
		Median float64      `json:"median"`
		Unit   memtrix.Unit `json:"unit"`
		N      int          `json:"n"`
	}
	type place struct {
		Session  int64                       `json:"session"`
		Name     string                      `json:"name"`
		Started  *time.Time                  `json:"started,omitempty"`
		Version  string                      `json:"version"`
		Commit   string                      `json:"commit,omitempty"`
		Trials   []int64                     `json:"trials"`
		Outcomes map[memtrix.OutcomeKind]int `json:"outcomes"`
		Values   map[string]value            `json:"values"`
	}
	type change struct {
		Place int `json:"place"`
		history.Change
	}
	// untold are trials that ended in another way and are too few to tell.
	type untold struct {
		Place  int          `json:"place"`
		Kind   regress.Kind `json:"kind,omitempty"`
		Before string       `json:"before"`
		After  string       `json:"after"`
		P      float64      `json:"p"`
		More   int          `json:"more_repeats,omitempty"`
	}
	type line struct {
		Key       string           `json:"key"`
		Series    string           `json:"series"`
		Axis      history.Axis     `json:"axis"`
		Version   string           `json:"version,omitempty"`
		Workflow  string           `json:"workflow"`
		Settings  memtrix.Settings `json:"settings,omitempty"`
		Hardware  string           `json:"hardware"`
		Card      string           `json:"card,omitempty"`
		Probe     bool             `json:"probe,omitempty"`
		Control   bool             `json:"control,omitempty"`
		Simulated bool             `json:"simulated,omitempty"`
		Meters    []string         `json:"meters"`
		Places    []place          `json:"places"`
		Changes   []change         `json:"changes"`
		Untold    []untold         `json:"untold,omitempty"`
		TooFew    string           `json:"too_few,omitempty"`
	}
	all := []line{}
	for _, l := range lines {
		row := line{l.Key, l.Series, l.Axis, l.Version, l.Workflow, l.Settings, l.Hardware, l.Card, l.Probe, l.Control, l.Simulated, l.Meters, []place{}, []change{}, nil, l.TooFew}
		for _, p := range l.Places {
			r := place{p.Session, p.Name, nil, p.Version, p.Commit, ids(p.Trials), map[memtrix.OutcomeKind]int{}, map[string]value{}}
			if !p.Started.IsZero() {
				r.Started = &p.Started
			}
			for _, t := range p.Trials {
				r.Outcomes[t.Trial.Outcome.Kind]++
			}
			for _, m := range l.Meters {
				if v, unit := medians([]history.Place{p}, m); !math.IsNaN(v[0]) {
					r.Values[m] = value{v[0], unit, len(p.Values(m))}
				}
			}
			row.Places = append(row.Places, r)
		}
		for _, c := range l.Changes {
			row.Changes = append(row.Changes, change{c.Place, c})
		}
		for _, s := range l.Untold {
			row.Untold = append(row.Untold, untold{s.Place, s.Kind, s.A, s.B, s.P, s.More})
		}
		all = append(all, row)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"lines": all})
}
