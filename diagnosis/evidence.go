package diagnosis

import (
	"fmt"
	"strings"
	"time"

	"memtrix"
)

// Evidence is all that is known about a trial. Everything may be missing; what
// is missing proves nothing.
type Evidence struct {
	Log     []memtrix.LogLine
	Events  []memtrix.Event
	Prompts []memtrix.PromptResult
	Exit    memtrix.Exit
	// Ready: the server answered at some time. A log or an event of a prompt
	// shows it as well.
	Ready bool
	// Died: the process ended without being asked to.
	Died bool
	// TimedOut says which limit the trial ran into, "" for none.
	TimedOut TimeOut
	// UserInterrupted: a person stopped memtrix.
	UserInterrupted bool
	// StoppedBy says by what, in words, "" where that is not known.
	StoppedBy string
	// DoError is why the server could not be asked, where it could not.
	DoError string
	// Series are readings over the trial. Used are those of RAM, PSI and faults.
	Series []memtrix.Series
	// Platform is "linux", "windows" or "darwin", "" where it is not known.
	Platform string
	// Nodes are the classes of the workflow's nodes by id.
	Nodes map[string]string
	// Kept is what memtrix itself holds of the card to make a smaller one of it,
	// bytes: nobody's memory to be freed.
	Kept int64
	// Cgroup is the memory group the server ran in, nil where it had none.
	Cgroup *Cgroup

	// What advice is fitted to; all of it may be missing.

	// Settings are those that were asked for, NotInForce what the server denies of
	// them, a reason each.
	Settings   memtrix.Settings
	NotInForce []string
	// Flags gives the launch flags that a setting is on this version; nil where the
	// version is not known.
	Flags Flags
	// Graph is the workflow.
	Graph map[string]memtrix.GraphNode
}

// Flags turns a setting into launch flags of one version. No flags and true: the
// version does so by itself, when the flag for something else is left out. False:
// the version cannot do it.
type Flags func(setting, value string) (argv []string, ok bool)

// TimeOut names a limit.
type TimeOut string

const (
	TimeOutStart   TimeOut = "start"   // not ready in time
	TimeOutPrompt  TimeOut = "prompt"  // a prompt took too long
	TimeOutSilence TimeOut = "silence" // no event and no line for too long
)

// Cgroup is what the kernel counted for a memory group, v2
// (https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files).
type Cgroup struct {
	Max       int64 // memory.max in bytes, 0 for none
	MaxEvents int64 // memory.events: how often the limit was hit
	OOMKills  int64 // memory.events: oom_kill
}

// trace is where the work stood when the events end.
type trace struct {
	prompt int // the prompt that was accepted last, 0 for none
	open   bool
	node   *memtrix.Node // in the open prompt
	// stepped: the node reported progress.
	stepped bool
	last    time.Duration // of the last event
}

// follow walks through the events until the first failure.
func (c *cased) follow() trace {
	var t trace
	for i := range c.e.Events {
		ev := &c.e.Events[i]
		t.last = max(t.last, ev.At)
		switch ev.Kind {
		case memtrix.EventPromptStart:
			t.prompt, t.open, t.node, t.stepped = ev.Prompt, true, nil, false
		case memtrix.EventNodeStart:
			t.node, t.stepped = c.node(ev.Node), false
		case memtrix.EventProgress:
			t.stepped = true
		case memtrix.EventPromptEnd:
			t.open, t.node, t.stepped = false, nil, false
		case memtrix.EventError, memtrix.EventInterrupted:
			if !refused(ev) {
				return t
			}
		}
	}
	return t
}

func refused(ev *memtrix.Event) bool { return ev.Failure != nil && ev.Failure.Refused }

// node fills in the class of a node from the workflow. A node made by expansion
// ("5.0.1") has none there; the node that a person sees has.
func (c *cased) node(n *memtrix.Node) *memtrix.Node {
	if n == nil || n.ID == "" {
		return nil
	}
	filled := *n
	if filled.ClassType == "" {
		filled.ClassType = c.e.Nodes[n.ID]
	}
	if filled.ClassType == "" && n.DisplayID != "" {
		filled.ClassType = c.e.Nodes[n.DisplayID]
	}
	return &filled
}

// signals are the numbers that a shell or a container adds to 128 and Python
// writes as a negative status, as on Linux and macOS (BUS: Linux).
var signals = map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 11: "SEGV", 13: "PIPE", 15: "TERM"}

// signalOf is the signal that ended the process, "" for none.
func signalOf(e memtrix.Exit) string {
	if e.Signal != "" {
		return strings.TrimPrefix(strings.ToUpper(e.Signal), "SIG")
	}
	if e.Status < 0 {
		return signals[-e.Status]
	}
	return signals[e.Status-128]
}

// ended says in words how the process ended.
func ended(e memtrix.Exit) string {
	if s := signalOf(e); s != "" {
		return "signal " + s
	}
	if name, ok := ntStatus[uint32(e.Status)]; ok {
		return fmt.Sprintf("exit status 0x%X (%s)", uint32(e.Status), name)
	}
	return fmt.Sprintf("exit status %d", e.Status)
}

// ntStatus are statuses of Windows
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55).
var ntStatus = map[uint32]string{
	0xC0000005: "access violation",
	0xC0000017: "not enough memory",
	0xC000012D: "commitment limit",
	0xC0000374: "heap corruption",
	0xC0000409: "stack buffer overrun, or abort",
	0xC000013A: "Ctrl-C",
}

// died reports whether the process ended although nobody asked it to.
func (e *Evidence) died() bool {
	return e.Died || !e.Exit.Asked && (e.Exit.Signal != "" || e.Exit.Status != 0)
}
