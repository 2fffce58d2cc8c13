package runner

import (
	"time"

	"memtrix"
)

// marks are the moments of a trial that memtrix itself knows.
type marks struct {
	started, ready  time.Duration
	settle, settled time.Duration
	stop, stopped   time.Duration
	// attached: the server ran before and runs on; nobody started or stopped it.
	attached bool
}

// spansOf turns a trial's events and marks into its spans, in order of start.
// A prompt or node that never ended, ends where the next thing began.
func spansOf(events []memtrix.Event, m marks) []memtrix.Span {
	var spans []memtrix.Span
	add := func(s memtrix.Span) {
		if s.End >= s.Start {
			spans = append(spans, s)
		}
	}
	workEnd := m.settle
	if workEnd == 0 {
		workEnd = m.stop
	}
	switch {
	case m.attached:
		add(memtrix.Span{Kind: memtrix.SpanIdle, Start: m.ready, End: firstPrompt(events, workEnd)})
	case m.ready == 0: // never became ready
		add(memtrix.Span{Kind: memtrix.SpanStart, Start: m.started, End: m.stop})
	default:
		add(memtrix.Span{Kind: memtrix.SpanStart, Start: m.started, End: m.ready})
		add(memtrix.Span{Kind: memtrix.SpanIdle, Start: m.ready, End: firstPrompt(events, workEnd)})
	}
	spans = append(spans, workSpans(events, workEnd)...)
	if m.settled > 0 {
		add(memtrix.Span{Kind: memtrix.SpanSettle, Start: m.settle, End: m.settled})
	}
	if m.stopped > 0 && !m.attached {
		add(memtrix.Span{Kind: memtrix.SpanStop, Start: m.stop, End: m.stopped})
	}
	return spans
}

func firstPrompt(events []memtrix.Event, otherwise time.Duration) time.Duration {
	for _, e := range events {
		if e.Kind == memtrix.EventPromptStart {
			return e.At
		}
	}
	return otherwise
}

// workSpans gives the prompts, each followed by its nodes. A node lasts until
// the next one starts or the prompt ends: that is how ComfyUI reports them.
func workSpans(events []memtrix.Event, end time.Duration) []memtrix.Span {
	var spans []memtrix.Span
	prompt, node := -1, -1 // open spans, as indices
	closeNode := func(at time.Duration) {
		if node >= 0 {
			spans[node].End = at
			node = -1
		}
	}
	closePrompt := func(at time.Duration) {
		closeNode(at)
		if prompt >= 0 {
			spans[prompt].End = at
			prompt = -1
		}
	}
	for _, e := range events {
		switch e.Kind {
		case memtrix.EventPromptStart:
			closePrompt(e.At)
			prompt = len(spans)
			spans = append(spans, memtrix.Span{Kind: memtrix.SpanPrompt, Prompt: e.Prompt, Start: e.At})
		case memtrix.EventNodeStart:
			closeNode(e.At)
			if prompt < 0 || e.Node == nil {
				continue
			}
			node = len(spans)
			n := *e.Node
			spans = append(spans, memtrix.Span{Kind: memtrix.SpanNode, Prompt: e.Prompt, Node: &n, Start: e.At})
		case memtrix.EventPromptEnd:
			closePrompt(e.At)
		}
	}
	closePrompt(end)
	return spans
}
