package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"memtrix/history"
)

// Review is what a session brought, for whoever ran it.
type Review struct {
	Opened, Fixed []history.Alarm
	// Joined are changes that belong to alarms that were there, Better those for the
	// better.
	Joined, Better []history.Change
	// Changes are all that the session changed, those without an alarm among them.
	Changes []history.Change
	// StillOpen counts alarms from before.
	StillOpen int
	// Nights is the longest history before this session; Enough is set when values can
	// open alarms.
	Nights int
	Enough bool
}

// ReviewText writes what came of a run's history, nothing where there is none.
func ReviewText(w io.Writer, r Review, o TableOptions) error {
	var b strings.Builder
	for _, a := range r.Opened {
		b.WriteByte('\n')
		writeAlarm(&b, a, "ALARM", o.Width)
	}
	for _, a := range r.Fixed {
		writeParagraph(&b, fmt.Sprintf("fixed: alarm %d: %s", a.ID, OneLine(a.Title)), "  ", o.Width)
	}
	for _, c := range r.Joined {
		writeParagraph(&b, "belongs to an alarm that is there: "+OneLine(c.Where())+": "+OneLine(c.What()), "  ", o.Width)
	}
	for _, c := range r.Better {
		writeParagraph(&b, changeWord(c)+": "+OneLine(c.Where())+": "+OneLine(c.What()), "  ", o.Width)
	}
	if r.StillOpen > 0 {
		fmt.Fprintf(&b, "%s from before: memtrix alarms\n", plural(r.StillOpen, "open alarm", "open alarms"))
	}
	if !r.Enough && r.Nights > 0 {
		fmt.Fprintf(&b, "history: %s before this one; new out-of-memory is told after 5 passes, changes of memory and time after 20 sessions\n", plural(r.Nights, "session", "sessions"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// AlarmsText writes alarms for a terminal, each with its changes and what else changed.
func AlarmsText(w io.Writer, alarms []history.Alarm, o TableOptions) error {
	var b strings.Builder
	for i, a := range alarms {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeAlarm(&b, a, string(a.State), o.Width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shownChanges is how many changes of one alarm are written out.
const shownChanges = 10

func writeAlarm(b *strings.Builder, a history.Alarm, word string, width int) {
	mark := ""
	if a.Simulated {
		mark = " (SIMULATED)"
	}
	writeParagraph(b, fmt.Sprintf("%s %d%s: %s", word, a.ID, mark, OneLine(a.Title)), "  ", width)
	line := "  found in session " + OneLine(a.Name)
	if a.Confirming > 0 {
		line += fmt.Sprintf("; confirmed by %d of %s", a.Confirmed, plural(a.Confirming, "repeat", "repeats"))
	}
	if a.From != "" {
		line += "; expected from " + OneLine(a.From) + " on"
	}
	writeParagraph(b, line, "    ", width)
	if text := floorText(a); text != "" {
		writeParagraph(b, "  "+text, "    ", width)
	}
	if a.Note != "" {
		writeParagraph(b, "  note: "+OneLine(a.Note), "    ", width)
	}
	for i, c := range a.Changes {
		if i == shownChanges {
			fmt.Fprintf(b, "  - and %d more\n", len(a.Changes)-shownChanges)
			break
		}
		writeParagraph(b, fmt.Sprintf("  - %s: %s (trial %d, before it %d)", OneLine(c.Where()), OneLine(c.What()), c.TrialAfter, c.TrialBefore), "    ", width)
	}
	if len(a.Changes) == 0 {
		return
	}
	if causes := causesText(a.Changes[0].Causes, 8); causes != "" {
		writeParagraph(b, "  what else changed there, likeliest first: "+causes, "    ", width)
	} else {
		b.WriteString("  nothing else that is recorded changed there\n")
	}
}

// floorText is what trials beside an earlier floor told, "" where there were none.
func floorText(a history.Alarm) string {
	if a.Floor == nil {
		return ""
	}
	var ids []string
	for _, id := range a.Floor.Trials {
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	word := "trial "
	if len(ids) > 1 {
		word = "trials "
	}
	return OneLine(a.Floor.Where) + ": " + OneLine(a.Floor.Words) + " (" + word + strings.Join(ids, ", ") + ")"
}

// AlarmsJSON is the document of memtrix alarms --json.
func AlarmsJSON(w io.Writer, alarms []history.Alarm) error {
	if alarms == nil {
		alarms = []history.Alarm{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"alarms": alarms})
}

// ReviewMarkdown writes the alarms of a session for a step summary; nothing where there
// is nothing to say.
func ReviewMarkdown(w io.Writer, r Review) error {
	var b strings.Builder
	for _, a := range r.Opened {
		fmt.Fprintf(&b, "### Alarm %d: %s\n\n", a.ID, escapeMarkdown(a.Title))
		for i, c := range a.Changes {
			if i == shownChanges {
				fmt.Fprintf(&b, "- and %d more\n", len(a.Changes)-shownChanges)
				break
			}
			fmt.Fprintf(&b, "- %s: %s\n", escapeMarkdown(c.Where()), escapeMarkdown(c.What()))
		}
		if text := floorText(a); text != "" {
			b.WriteString("- " + escapeMarkdown(text) + "\n")
		}
		if len(a.Changes) > 0 {
			if causes := causesText(a.Changes[0].Causes, 8); causes != "" {
				b.WriteString("\nWhat else changed there, likeliest first: " + escapeMarkdown(causes) + "\n")
			}
		}
		b.WriteByte('\n')
	}
	for _, a := range r.Fixed {
		fmt.Fprintf(&b, "- fixed: alarm %d: %s\n", a.ID, escapeMarkdown(a.Title))
	}
	for _, c := range r.Better {
		fmt.Fprintf(&b, "- %s: %s: %s\n", changeWord(c), escapeMarkdown(c.Where()), escapeMarkdown(c.What()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
