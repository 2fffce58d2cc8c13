package why

import (
	"fmt"
	"strings"
	"time"

	"memtrix"
	"memtrix/diagnosis"
	"memtrix/versions/installs"
	"memtrix/versions/past"
)

// Answer is what a person is told. Found is false when nothing failed in any log
// that was read.
type Answer struct {
	Found bool `json:"found"`
	// Log is the file that was read, Ended when the run in it ended.
	Log   string `json:"log,omitempty"`
	Ended string `json:"ended,omitempty"`
	// Install is the installation, "" where it is not known which it was.
	Install string `json:"install,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Version string `json:"version,omitempty"`
	// What says in one line what ran out and where, Cause why.
	What  string `json:"what,omitempty"`
	Cause string `json:"cause,omitempty"`
	// Outcome is the whole verdict.
	Outcome *memtrix.Outcome `json:"outcome,omitempty"`
	Steps   []Step           `json:"steps,omitempty"`
	Since   *Since           `json:"since,omitempty"`
	// Back are commands that go back to how it was.
	Back []string `json:"back,omitempty"`
	// Repeats counts starts right before that ended in the same way.
	Repeats int `json:"repeats,omitempty"`
	// Well counts prompts that went well in the same start, after the failure.
	WellAfter int `json:"well_after,omitempty"`
	// Read are logs without a failure that are newer, or all where none failed.
	Read     []string `json:"read,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Decide puts an answer together.
func Decide(c Choice, h History, scripts []installs.Script) Answer {
	r := c.Run
	a := Answer{
		Found: true, Log: c.Read.Log.Path, Ended: c.Ended().Format(time.RFC3339), Version: r.Banner.ComfyUI, Outcome: &r.Outcome,
		What: what(r), Cause: cause(r), Steps: steps(r, c.Read.In, scripts), Repeats: c.Repeats, WellAfter: r.After, Read: c.Newer,
	}
	if in := c.Read.In; in != nil {
		a.Install, a.Kind = in.String(), string(in.Kind)
		if a.Version == "" {
			a.Version = h.Now.Release
		}
	}
	if r.Outcome.Memory == memtrix.MemoryUnknown || r.Outcome.Kind == memtrix.Killed {
		a.Warnings = append(a.Warnings, "the log alone does not tell for certain what ended the server")
	}
	if c.Read.Note != "" {
		a.Warnings = append(a.Warnings, strings.TrimSuffix(c.Read.Note, "; log.txt has all"))
	}
	s := since(c, h)
	a.Since = &s
	switch {
	case s.State != nil:
		a.Back = s.State.Back
	case c.Read.In != nil:
		a.Back = backTo(*c.Read.In, s.Changes)
	}
	return a
}

// backTo goes back to the versions that an earlier start told.
func backTo(in installs.Install, changes []past.Change) []string {
	release, packages := "", map[string]string{}
	for _, ch := range changes {
		switch {
		case ch.Kind == "comfyui":
			release = ch.Old
		case ch.What != "python":
			packages[ch.What] = ch.Old
		}
	}
	return past.BackTo(in, release, packages)
}

// None is the answer when nothing failed.
func None(c Choice) Answer { return Answer{Read: c.Newer} }

// memories name what ran out for people.
var memories = map[memtrix.Memory]string{
	memtrix.MemoryVRAM:            "VRAM (the card's memory) ran out",
	memtrix.MemoryPinned:          "pinned RAM ran out (RAM that the card reads directly; VRAM was not the matter)",
	memtrix.MemoryRAM:             "RAM ran out",
	memtrix.MemoryCommit:          "the system's promise of memory ran out: RAM and page file together (not VRAM)",
	memtrix.MemoryGPUAddressSpace: "addresses of the card ran out (not its memory)",
	memtrix.MemoryUnified:         "the memory that CPU and card share ran out",
	memtrix.MemorySharedGPU:       "VRAM ran over into RAM, which is slow",
}

var phases = map[memtrix.Phase]string{
	memtrix.PhaseStartup: "while it started", memtrix.PhaseValidation: "before it ran", memtrix.PhaseLoad: "while a model was loaded",
	memtrix.PhaseTextEncode: "while the text was encoded", memtrix.PhaseSample: "while sampling", memtrix.PhaseVAE: "in the VAE (pixels to latents or back)",
	memtrix.PhaseSave: "while saving", memtrix.PhaseBetweenPrompts: "between two prompts",
}

// what is the first line of an answer.
func what(r *Run) string {
	o := r.Outcome
	var b strings.Builder
	switch memory, ok := memories[o.Memory]; {
	case ok && (o.Kind == memtrix.OOM || o.Slow != nil):
		b.WriteString(memory)
	case o.Kind == memtrix.OOM:
		b.WriteString("memory ran out, which is not told")
	case o.Slow != nil:
		b.WriteString("it became slow")
	case o.Kind == memtrix.StartupFailure:
		b.WriteString("ComfyUI did not start, not for want of memory")
		if o.Memory == memtrix.MemoryUnknown {
			b.Reset()
			b.WriteString("ComfyUI did not start")
		}
	case o.Kind == memtrix.InvalidWorkflow:
		b.WriteString("ComfyUI refused the workflow, which has nothing to do with memory")
	case o.Kind == memtrix.Error:
		b.WriteString("a node failed, not for want of memory")
	case o.Kind == memtrix.Killed:
		b.WriteString("ComfyUI ended without a word of its own")
	default:
		b.WriteString(string(o.Kind))
	}
	if p := phases[o.Phase]; p != "" && o.Kind != memtrix.StartupFailure && o.Kind != memtrix.InvalidWorkflow {
		b.WriteString(" " + p)
	}
	if o.Node != nil && o.Node.ClassType != "" {
		b.WriteString(", node " + o.Node.ClassType)
		if o.Node.ID != "" {
			b.WriteString(" (" + o.Node.ID + ")")
		}
	}
	if o.Requested != nil {
		fmt.Fprintf(&b, ": %s were asked for", size(*o.Requested))
		if o.Free != nil {
			fmt.Fprintf(&b, ", %s were free", size(*o.Free))
		}
	}
	return b.String()
}

// cause is what is known about the reason: who held the memory, what was set, what
// the machine has, and the line that tells.
func cause(r *Run) string {
	o := r.Outcome
	var parts []string
	if o.Message != "" && o.Requested == nil { // else the first line says it
		parts = append(parts, sentence(o.Message))
	}
	for _, h := range o.Holders {
		parts = append(parts, fmt.Sprintf("%s held %s", holder(h), size(h.Bytes)))
	}
	if o.Unallocated != nil && o.Requested != nil && *o.Unallocated >= *o.Requested {
		parts = append(parts, fmt.Sprintf("%s were there in pieces that are too small", size(*o.Unallocated)))
	}
	if o.HiddenRetries > 0 {
		parts = append(parts, fmt.Sprintf("memory had run out %s before and was got round", diagnosis.Often(o.HiddenRetries)))
	}
	if o.Kind == memtrix.OOM {
		parts = append(parts, settings(r)...)
	}
	if o.Kind == memtrix.OOM || o.Kind == memtrix.Killed || o.Slow != nil {
		if v, ram := r.Banner.TotalVRAM, r.Banner.TotalRAM; v > 0 && r.Banner.Device != "cpu" {
			parts = append(parts, fmt.Sprintf("the card has %s, the machine %s of RAM", size(v), size(ram)))
		} else if ram > 0 {
			parts = append(parts, "the machine has "+size(ram)+" of RAM")
		}
	}
	if len(o.Evidence) > 0 && o.Kind == memtrix.OOM {
		parts = append(parts, "the log says: "+short(line(o.Evidence[0])))
	}
	return strings.Join(parts, "; ")
}

// short cuts a line of a log to what a person reads.
func short(line string) string {
	const most = 160
	r := []rune(line)
	if len(r) <= most {
		return line
	}
	return string(r[:most]) + " ..."
}

// line is the first line of a text that says something.
func line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(first)
}

// sentence is the first sentence of a message: ComfyUI goes on with advice that is not
// about this failure, and the whole stands in the log. A full stop inside a name or a
// version ends none.
func sentence(text string) string {
	text = line(text)
	for i := 0; i+2 < len(text); i++ {
		if strings.IndexByte(".!?", text[i]) >= 0 && text[i+1] == ' ' && text[i+2] >= 'A' && text[i+2] <= 'Z' && i >= 20 {
			return text[:i+1]
		}
	}
	return text
}

func holder(h memtrix.Holder) string {
	switch {
	case h.Name != "" && h.Name != "unknown" && h.PID != 0:
		return fmt.Sprintf("%s (process %d)", h.Name, h.PID)
	case h.Name != "" && h.Name != "unknown":
		return h.Name
	case h.PID != 0:
		return fmt.Sprintf("another program (process %d)", h.PID)
	}
	return "another program"
}

// settings are those in force that decide what lies in which memory.
func settings(r *Run) []string {
	var all []string
	switch b := r.Banner; {
	case b.VRAMState == "HIGH_VRAM":
		all = append(all, "whole models are kept in VRAM (--highvram or --gpu-only)")
	case b.DynamicVRAM:
		all = append(all, "dynamic VRAM is on: weights make room, what is computed does not")
	case b.Denied != "":
		all = append(all, "dynamic VRAM is off: "+sentence(b.Denied))
	}
	return all
}

func size(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
