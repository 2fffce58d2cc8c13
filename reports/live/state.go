package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/reports"
)

// lineCount is how many lines move.
const lineCount = 5

// state is what is known at a moment. It tells nothing about how it is shown.
type state struct {
	title   string
	began   time.Time
	memory  map[string]int64
	holders []memtrix.Holder

	prompt  int
	running bool
	since   time.Time // the running prompt's begin, or the last one's end
	node    string
	step    int
	steps   int
	last    string // how the last prompt ended
}

// event applies what the server did, and reports whether that is worth a line of its
// own.
func (s *state) event(e memtrix.Event, now time.Time) bool {
	switch e.Kind {
	case memtrix.EventPromptStart:
		s.prompt, s.running, s.since, s.node, s.step, s.steps = e.Prompt, true, now, "", 0, 0
	case memtrix.EventPromptEnd:
		s.running, s.since, s.node, s.step, s.steps = false, now, "", 0, 0
		return false // its verdict follows
	case memtrix.EventNodeStart:
		if e.Node == nil {
			return false
		}
		s.node, s.step, s.steps = reports.OneLine(memtrix.Span{Node: e.Node}.Name()), 0, 0
	case memtrix.EventProgress:
		s.step, s.steps = e.Value, e.Max
		return false
	default:
		return false
	}
	return true
}

// lines are those that move, lineCount of them.
func (s *state) lines(now time.Time) []string {
	memory := s.memoryLines()
	last := "last  no prompt has ended yet"
	if s.last != "" {
		last = "last  " + s.last
	}
	head := fmt.Sprintf("watching %s for %s; Ctrl-C ends it and leaves the server alone", s.title, reports.Duration(now.Sub(s.began).Round(time.Second)))
	return []string{head, memory[0], memory[1], "now   " + s.nowText(now), last}
}

// nowText is "prompt 3  KSampler (5)  step 2/20  12 s".
func (s *state) nowText(now time.Time) string {
	if !s.running {
		if s.prompt == 0 {
			return "idle"
		}
		return "idle for " + reports.Duration(now.Sub(s.since).Round(time.Second))
	}
	words := []string{fmt.Sprintf("prompt %d", s.prompt)}
	if s.node != "" {
		words = append(words, s.node)
	}
	if s.steps > 1 {
		words = append(words, fmt.Sprintf("step %d/%d", s.step, s.steps))
	}
	return strings.Join(append(words, reports.Duration(now.Sub(s.since).Round(time.Second))), "  ")
}

// memoryLines are one of the card and one of RAM. What is not read is left out, and
// never shown as 0.
func (s *state) memoryLines() []string {
	card := s.words(
		labelled{"this server", []string{memtrix.VRAMTreeUsed}},
		labelled{"others", []string{memtrix.VRAMOthersUsed}},
		labelled{"used", []string{memtrix.VRAMDeviceUsed}},
		labelled{"free", []string{memtrix.VRAMDeviceFree}},
	)
	if names := s.holderText(); names != "" {
		card = append(card, names)
	}
	if len(card) == 0 {
		card = []string{"no card is read here"}
	}
	ram := s.words(
		labelled{"this server", []string{memtrix.RAMTreeRSS}},
		labelled{"own", []string{memtrix.RAMTreeAnon}},
		labelled{"files", []string{memtrix.RAMTreeFile}},
		labelled{"shared and pinned", []string{memtrix.RAMTreeShmem}},
		labelled{"swap", []string{memtrix.SwapTreeUsed}},
		labelled{"available", []string{memtrix.RAMHostAvailable}},
		labelled{"limit", []string{memtrix.CgroupMemoryLimit}},
	)
	if len(ram) == 0 {
		ram = []string{"not read"}
	}
	return []string{"VRAM  " + strings.Join(card, ", "), "RAM   " + strings.Join(ram, ", ")}
}

type labelled struct {
	label  string
	meters []string
}

func (s *state) words(list ...labelled) []string {
	var words []string
	for _, l := range list {
		for _, m := range l.meters {
			if v, ok := s.memory[m]; ok {
				words = append(words, l.label+" "+reports.Bytes(v))
				break
			}
		}
	}
	return words
}

// shownHolders is how many processes are named.
const shownHolders = 3

// holderText names who else holds memory of the card, the largest first.
func (s *state) holderText() string {
	all := slices.Clone(s.holders)
	slices.SortFunc(all, func(a, b memtrix.Holder) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var words []string
	for _, h := range all[:min(len(all), shownHolders)] {
		word := fmt.Sprintf("%s (%d)", reports.OneLine(h.Name), h.PID)
		if h.Bytes > 0 {
			word += " " + reports.Bytes(h.Bytes)
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return ""
	}
	return "by " + strings.Join(words, ", ")
}
