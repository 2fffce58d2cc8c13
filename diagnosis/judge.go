package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// mostLines of one kind are shown as evidence.
const mostLines = 8

// cased is the evidence, read once.
type cased struct {
	e     Evidence
	lines []line
	at    trace
	ready bool
	// exitInLog: how the process ended is known from the log alone. shellKilled is
	// the line with which a shell said so.
	exitInLog   bool
	shellKilled string
}

// Judge gives the verdict on a trial. Of several failures the first counts: what
// came later may be its consequence.
func Judge(e Evidence) memtrix.Outcome {
	c := &cased{e: e, lines: clean(e.Log)}
	if len(e.Events) == 0 && e.Exit == (memtrix.Exit{}) && !e.Died {
		if exit, shell, ok := exitInLog(c.lines); ok {
			c.e.Exit, c.e.Died, c.exitInLog, c.shellKilled = exit, true, true, shell
		}
	}
	c.at = c.follow()
	if c.wentAway() {
		c.e.Exit, c.e.Died = memtrix.Exit{Unknown: true}, true
	}
	c.ready = e.Ready || readyInLog(c.lines) || slices.ContainsFunc(e.Events, func(ev memtrix.Event) bool {
		return ev.Kind == memtrix.EventReady || ev.Kind == memtrix.EventPromptStart
	})
	o := c.verdict()
	o.FallBacks = hidden(c.lines, MeansFallBack)
	if o.Slow = c.slower(o); o.Slow != nil {
		o.Evidence = append(o.Evidence, o.Slow.Moved...)
		if o.Message == "" {
			o.Message = fmt.Sprintf("no error, but steps became %.0f times slower: %.2f s -> %.2f s a step", o.Slow.After/o.Slow.Before, o.Slow.Before, o.Slow.After)
		}
	}
	if found := hidden(c.lines, MeansRetry); len(found) > 0 {
		o.HiddenRetries = len(found)
		o.Evidence = append(o.Evidence, found[:min(len(found), mostLines)]...)
		if o.Kind == memtrix.Pass {
			o.Message = fmt.Sprintf("passed, but memory ran out %s and was got round", Often(len(found)))
		}
	}
	for _, a := range c.advise(o) {
		o.Advice = append(o.Advice, a.String())
	}
	return o
}

// wentAway says that the server's processes were gone in the midst of a prompt,
// where nobody told how they ended.
func (c *cased) wentAway() bool {
	if !c.at.open || c.e.died() || c.e.Exit != (memtrix.Exit{}) || c.e.TimedOut != "" || c.e.UserInterrupted {
		return false
	}
	s := c.series(memtrix.RAMTreeRSS)
	return s != nil && s.V[len(s.V)-1] == 0 && slices.Max(s.V) > 0
}

// verdict asks the rules in order; the first that applies decides.
func (c *cased) verdict() memtrix.Outcome {
	for _, rule := range []func() (memtrix.Outcome, bool){
		c.stoppedByUser,
		c.killedInPrompt,
		c.failed,
		c.notStarted,
		c.interrupted,
		c.ended,
		c.stoodStill,
		c.harness,
		c.didNothing,
		c.told,
	} {
		if o, ok := rule(); ok {
			return o
		}
	}
	o := c.passed()
	if c.at.open || len(c.e.Events) == 0 && openInLog(c.lines) {
		o.Message = "no failure is told, but the evidence ends in the middle of a prompt"
	}
	return o
}

// passed is evidence without a failure. Of an excerpt, which does not show that
// the work went well, what it says is told all the same: memory that ran out and
// was got round, or a slower way that has nothing to do with memory.
func (c *cased) passed() memtrix.Outcome {
	o := memtrix.Outcome{Kind: memtrix.Pass}
	if len(c.e.Events) > 0 || len(c.e.Prompts) > 0 || c.e.Ready || whole(c.lines) {
		return o
	}
	for _, l := range c.lines {
		if r := l.rule(MeansRetry); r != nil {
			o.Memory, o.Phase, o.Rule = r.Memory, r.Phase, r.ID
			return o
		}
		if r := l.rule(MeansFallBack); r != nil && o.Rule == "" {
			o.Memory, o.Phase, o.Rule = r.Memory, r.Phase, r.ID
		}
	}
	return o
}

func (c *cased) stoppedByUser() (memtrix.Outcome, bool) {
	if !c.e.UserInterrupted {
		return memtrix.Outcome{}, false
	}
	return memtrix.Outcome{
		Kind: memtrix.Interrupted, Memory: memtrix.MemoryNone, Phase: c.phaseNow(), Node: c.at.node,
		Message: cmp.Or(c.e.StoppedBy, "stopped by whoever started it"),
	}, true
}

// phaseNow is where the work stood when the evidence ends.
func (c *cased) phaseNow() memtrix.Phase {
	switch {
	case !c.ready && (c.e.died() || c.e.TimedOut == TimeOutStart):
		return memtrix.PhaseStartup
	case c.at.node == nil && !c.at.open && c.at.prompt > 0:
		return memtrix.PhaseBetweenPrompts
	}
	return phaseOf(c.at.node, "", c.lines, c.at.stepped)
}

// interrupted is a prompt that somebody else stopped on the server.
func (c *cased) interrupted() (memtrix.Outcome, bool) {
	o := memtrix.Outcome{
		Kind: memtrix.Interrupted, Memory: memtrix.MemoryNone, Phase: c.phaseNow(), Node: c.at.node,
		Message: "the prompt was interrupted on the server",
	}
	for _, ev := range c.e.Events {
		if ev.Kind == memtrix.EventInterrupted {
			if n := c.node(ev.Node); n != nil {
				o.Node = n
			}
			o.Phase = phaseOf(o.Node, "", c.upTo("Processing interrupted"), c.at.stepped)
			o.Evidence = c.matching("Processing interrupted", "Global interrupt", "Interrupting prompt")
			return o, true
		}
	}
	if found := c.matching("Processing interrupted"); len(found) > 0 && len(c.e.Events) == 0 {
		o.Evidence = found
		o.Phase = phaseOf(nil, "", c.upTo("Processing interrupted"), false)
		return o, true
	}
	return memtrix.Outcome{}, false
}

// upTo are the lines in front of the first with that text.
func (c *cased) upTo(text string) []line {
	for i, l := range c.lines {
		if l.text == text {
			return c.lines[:i]
		}
	}
	return c.lines
}

// matching are the lines that begin with any of the texts.
func (c *cased) matching(prefixes ...string) []string {
	var found []string
	for _, l := range c.lines {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(l.text, p) }) {
			found = append(found, l.text)
		}
	}
	return found
}

// harness is a server that lived and could not be asked.
func (c *cased) harness() (memtrix.Outcome, bool) {
	if c.e.DoError == "" {
		return memtrix.Outcome{}, false
	}
	return memtrix.Outcome{Kind: memtrix.HarnessFailure, Phase: c.phaseNow(), Node: c.at.node, Message: c.e.DoError}, true
}

// didNothing is a prompt that was served from cache: it measured nothing, so it
// is no pass. Prompts are memtrix's own; a log of somebody else promises no such
// thing.
func (c *cased) didNothing() (memtrix.Outcome, bool) {
	for _, p := range c.e.Prompts {
		if p.Outcome != memtrix.Pass || len(p.Cached) == 0 {
			continue
		}
		worked := slices.ContainsFunc(p.Executed, func(id string) bool { return classPhase(c.e.Nodes[id]) != memtrix.PhaseSave })
		if worked {
			continue
		}
		o := memtrix.Outcome{Kind: memtrix.Error, Memory: memtrix.MemoryNone}
		o.Message = fmt.Sprintf("prompt %d did nothing: every node was served from cache", p.Index)
		if len(p.Executed) > 0 {
			o.Message = fmt.Sprintf("prompt %d did nothing but save: all other nodes were served from cache", p.Index)
		}
		o.Evidence = []string{fmt.Sprintf("execution_cached: %s", strings.Join(p.Cached, ", "))}
		o.Advice = []string{"name an input that changes with each prompt (vary), or set cache: none"}
		return o, true
	}
	return memtrix.Outcome{}, false
}

// told is a prompt that ended otherwise than well, where neither the events nor
// the log say more.
func (c *cased) told() (memtrix.Outcome, bool) {
	for _, p := range c.e.Prompts {
		switch p.Outcome {
		case memtrix.Pass, "":
			continue
		}
		o := memtrix.Outcome{Kind: p.Outcome, Memory: memtrix.MemoryNone, Message: fmt.Sprintf("prompt %d ended as %s", p.Index, p.Outcome)}
		if p.Outcome == memtrix.OOM {
			o.Memory = memtrix.MemoryUnknown
		}
		return o, true
	}
	return memtrix.Outcome{}, false
}
