package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix"
)

// notStarted is a server that ended, or took too long, before it answered.
func (c *cased) notStarted() (memtrix.Outcome, bool) {
	why, known := startCause(c.lines)
	nothingTold := !c.e.died() && c.e.TimedOut == "" && len(c.e.Events) == 0 && c.e.Exit == (memtrix.Exit{})
	switch {
	case c.ready:
		return memtrix.Outcome{}, false
	case c.exitInLog && !known && !c.starting(): // an excerpt of some other moment
		return memtrix.Outcome{}, false
	case c.e.died():
	case known && nothingTold: // a log alone
	default:
		return memtrix.Outcome{}, false
	}
	if signalOf(c.e.Exit) == "KILL" {
		if o, ok := c.killedForMemory(); ok {
			return o, true
		}
	}
	o := memtrix.Outcome{Kind: memtrix.StartupFailure, Memory: memtrix.MemoryNone, Phase: memtrix.PhaseStartup}
	if signalOf(c.e.Exit) == "KILL" && !c.pressureIn(c.lastSeconds()).measured {
		o.Memory = memtrix.MemoryUnknown
	}
	o.Message = "the server did not start"
	if c.e.died() {
		o.Message = "the server ended before it was ready, " + ended(c.e.Exit)
	}
	if c.e.Exit.Unknown {
		o.Message = "the server went away before it was ready"
	}
	if known {
		o.Message, o.Rule, o.Advice = why.message, why.rule, why.advice
	}
	o.Evidence = lastTexts(c.lines, 8)
	if known && !slices.ContainsFunc(o.Evidence, func(l string) bool { return strings.TrimSpace(l) == why.line }) {
		o.Evidence = append([]string{why.line}, o.Evidence...)
	}
	return o, true
}

// starting says that the log shows a start-up.
func (c *cased) starting() bool {
	return len(c.matching("Total VRAM ", "pytorch version: ", "** ComfyUI startup time", "Python version: ", "Checkpoint files will always", "usage: main.py")) > 0
}

// ended is a process that ended in the middle.
func (c *cased) ended() (memtrix.Outcome, bool) {
	_, kernel := kernelLine(c.lines)
	if !c.e.died() && !kernel {
		return memtrix.Outcome{}, false
	}
	if signalOf(c.e.Exit) == "KILL" || kernel || c.e.Exit.Unknown {
		if o, ok := c.killedForMemory(); ok {
			return o, true
		}
	}
	o := memtrix.Outcome{
		Kind: memtrix.Killed, Memory: memtrix.MemoryNone, Phase: c.phaseNow(), Node: c.at.node,
		Message: "the server ended by itself: " + ended(c.e.Exit), Evidence: lastTexts(c.lines, 4),
	}
	if c.e.Exit.Unknown {
		o.Memory = memtrix.MemoryUnknown
		o.Message = "the server went away, and how it ended is not known"
		if p := c.pressureIn(c.lastSeconds()); p.measured {
			o.Memory = memtrix.MemoryNone
			o.Message += ", but RAM was plentiful"
		}
		return o, true
	}
	switch uint32(c.e.Exit.Status) {
	case 0xC000012D, 0xC0000017:
		o.Kind, o.Memory, o.How = memtrix.OOM, memtrix.MemoryCommit, memtrix.HowSignal
		return o, true
	case 0xC0000005, 0xC0000409, 0xC00000FD:
		o.Memory = memtrix.MemoryUnknown // a failed allocation may end like this, too
	}
	switch signalOf(c.e.Exit) {
	case "KILL":
		o.Message = "the server was killed (signal KILL) while RAM was plentiful"
		if p := c.pressureIn(c.lastSeconds()); !p.measured {
			o.Memory = memtrix.MemoryUnknown
			o.Message = "the server was killed (signal KILL); RAM was not measured"
			if c.shellKilled != "" {
				// Nobody but the kernel does that to a program which somebody started in a
				// shell and waits for, as a rule.
				o.Kind, o.Memory, o.How = memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal
				o.Message = "killed, most likely by the kernel because RAM ran out; RAM was not measured (dmesg tells)"
				o.Evidence = []string{c.shellKilled}
			}
		}
	case "":
	default:
		o.Message = "the server was ended by signal " + signalOf(c.e.Exit)
	}
	return o, true
}

// lastSeconds are the last ten of the process's life.
func (c *cased) lastSeconds() (start, end time.Duration) {
	end = c.endOfWork()
	return max(0, end-10*time.Second), end
}

// killedForMemory says whether RAM explains a SIGKILL.
func (c *cased) killedForMemory() (memtrix.Outcome, bool) {
	p := c.pressureIn(c.lastSeconds())
	line, kernel := kernelLine(c.lines)
	if kernel {
		p.lines = append([]string{line}, p.lines...)
	}
	if !p.short && !p.stalled && !kernel {
		return memtrix.Outcome{}, false
	}
	o := memtrix.Outcome{
		Kind: memtrix.OOM, Memory: memtrix.MemoryRAM, How: memtrix.HowSignal, Phase: c.phaseNow(), Node: c.at.node, Evidence: p.lines,
	}
	o.Message = oomMessage(o) + ", killed"
	if c.e.Exit.Unknown && !kernel {
		o.Message = oomMessage(o) + ": the server went away when it was short, how is not known"
	}
	return o, true
}

// stoodStill is work that did not go on: thrashing where the readings show it,
// else a hang. Without a time-out only thrashing is told, since the evidence may
// simply end there.
func (c *cased) stoodStill() (memtrix.Outcome, bool) {
	const least = 5 * time.Second
	open := c.at.open || c.e.TimedOut != "" || len(c.e.Events) == 0 && openInLog(c.lines)
	silent, end := c.lastSign(), c.endOfWork()
	alone := len(c.e.Events) == 0 && len(c.lines) == 0 && c.e.TimedOut == ""
	if alone { // nothing but readings: their end tells how it stands
		const lately = 20 * time.Second
		open, silent = true, max(0, end-lately)
	}
	p := c.pressureIn(silent, end)
	if open && end-silent >= least && p.stalled {
		o := memtrix.Outcome{
			Kind: memtrix.OOM, Memory: memtrix.MemoryRAM, How: memtrix.HowThrash, Phase: c.phaseNow(), Node: c.at.node, Evidence: p.lines,
		}
		if !alone {
			o.Evidence = append(o.Evidence, fmt.Sprintf("no event and no line for %.0f s", (end-silent).Seconds()))
		}
		o.Message = oomMessage(o) + ": pages are thrown out and read again, nothing goes on"
		return o, true
	}
	if c.e.TimedOut == "" {
		return memtrix.Outcome{}, false
	}
	o := memtrix.Outcome{
		Kind: memtrix.Hang, Memory: memtrix.MemoryNone, Phase: c.phaseNow(), Node: c.at.node, Evidence: lastTexts(beforeStop(c.lines), 4),
	}
	if !p.measured {
		o.Memory = memtrix.MemoryUnknown
	}
	switch c.e.TimedOut {
	case TimeOutStart:
		o.Message = "the server was not ready in time"
	case TimeOutPrompt:
		o.Message = fmt.Sprintf("prompt %d did not end in time", c.at.prompt)
	default:
		o.Message = "no event and no line for too long"
	}
	return o, true
}

// beforeStop leaves out what a server says when it is told to interrupt its prompt
// and to end, as a server that hangs has been.
func beforeStop(lines []line) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool {
		return slices.ContainsFunc([]string{"Global interrupt", "Interrupting prompt", "Processing interrupted", "Stopped server"},
			func(words string) bool { return strings.HasPrefix(l.text, words) })
	})
}
