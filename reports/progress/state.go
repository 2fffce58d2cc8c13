package progress

import (
	"fmt"
	"strings"
	"time"

	"memtrix"
	"memtrix/reports"
)

// state is what is known about the run at a moment. It only changes by its
// methods, which tell nothing about how it is shown.
type state struct {
	total   int
	cell    int // 1 for the first; 0 before it
	title   string
	done    int
	began   time.Time // of the run
	running bool

	phase   string        // "starting", "ready", "prompt", "ended"
	since   time.Duration // of the trial's clock, when the prompt began
	took    time.Duration // what it took to be ready, or a prompt to end
	prompt  int
	prompts int // 0 when not known
	node    string
	step    int
	steps   int
	memory  map[string]int64

	left    time.Duration // -1 when not known
	leftSet time.Time
}

func (s *state) start(i int, title string) {
	if s.total > 0 && s.done >= s.total {
		i = s.done + 1 // a repeat to be sure, beyond the plan
	}
	s.cell, s.title, s.running = i, reports.OneLine(title), true
	s.phase, s.prompt, s.node, s.step, s.steps = "starting", 0, "", 0, 0
	s.memory = nil
}

func (s *state) end() {
	s.done = max(s.done+1, s.cell) // cells may be skipped
	s.running = false
}

// event applies what a target did, and reports whether that is a change worth a
// line of its own.
func (s *state) event(e memtrix.Event) bool {
	switch e.Kind {
	case memtrix.EventReady:
		s.phase, s.took = "ready", e.At
	case memtrix.EventPromptStart:
		s.phase, s.prompt, s.node, s.step, s.steps = "prompt", e.Prompt, "", 0, 0
		s.since = e.At
	case memtrix.EventPromptEnd:
		s.phase, s.node, s.step, s.steps = "ended", "", 0, 0
		s.took = max(e.At-s.since, 0)
	case memtrix.EventNodeStart:
		node := nodeName(e.Node)
		if node == s.node {
			return false
		}
		s.node, s.step, s.steps = node, 0, 0
	case memtrix.EventProgress:
		if e.Node != nil && nodeName(e.Node) != s.node {
			s.node = nodeName(e.Node)
		}
		s.step, s.steps = e.Value, e.Max
		return false
	case memtrix.EventCached:
		return false
	}
	return true
}

func nodeName(n *memtrix.Node) string {
	if n == nil {
		return ""
	}
	return reports.OneLine(memtrix.Span{Node: n}.Name())
}

// cellText is "trial 2/8": each repeat of a cell counts.
func (s *state) cellText() string {
	if s.cell <= s.total {
		return fmt.Sprintf("trial %d/%d", s.cell, s.total)
	}
	return fmt.Sprintf("trial %d", s.cell)
}

// workText is "prompt 1/3  KSampler (5)  step 2/4".
func (s *state) workText() string {
	switch s.phase {
	case "starting":
		return "starting"
	case "ready":
		return "ready after " + reports.Duration(s.took)
	case "ended":
		text := s.promptText() + "  ended after " + reports.Duration(s.took)
		if s.prompt == s.prompts {
			text += ", at rest"
		}
		return text
	}
	words := []string{s.promptText()}
	if s.node != "" {
		words = append(words, s.node)
	}
	if s.steps > 1 {
		words = append(words, fmt.Sprintf("step %d/%d", s.step, s.steps))
	}
	return strings.Join(words, "  ")
}

func (s *state) promptText() string {
	if s.prompts > 0 {
		return fmt.Sprintf("prompt %d/%d", s.prompt, s.prompts)
	}
	return fmt.Sprintf("prompt %d", s.prompt)
}

// memoryText is "VRAM 7.78 GiB  RAM 2.33 GiB"; what is not read is left out.
func (s *state) memoryText() string {
	var words []string
	add := func(label string, meters ...string) {
		for _, m := range meters {
			if v, ok := s.memory[m]; ok {
				words = append(words, label+" "+reports.Bytes(v))
				return
			}
		}
	}
	add("VRAM", memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed)
	add("RAM", memtrix.RAMTreeRSS)
	if s.memory[memtrix.SwapTreeUsed] > 0 {
		add("swap", memtrix.SwapTreeUsed)
	}
	return strings.Join(words, "  ")
}

// timeText is "3 min, about 12 min left"; an estimate that has run out is
// not shown as negative.
func (s *state) timeText(now time.Time) string {
	text := roughly(now.Sub(s.began))
	if s.left < 0 {
		return text
	}
	left := s.left - now.Sub(s.leftSet)
	switch {
	case s.total > 0 && s.done >= s.total:
		return text
	case left < time.Second:
		return text + ", nearly done"
	}
	return text + ", about " + roughly(left) + " left"
}

// roughly writes a time without the digits that nobody can know or read.
func roughly(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	}
	return reports.Duration(d)
}
