package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/diagnosis"
	"memtrix/diagnosis/files"
	"memtrix/reports"
	"memtrix/workflows"
)

type classifyCmd struct {
	Log        string `help:"The server's output, or one line of it; - is standard input." placeholder:"FILE"`
	Events     string `help:"What a client saw (events.jsonl of a trial)." placeholder:"FILE"`
	Memory     string `help:"A table of memory: t_s and columns of MiB." placeholder:"CSV[.gz]"`
	Host       string `help:"Readings of the machine and the memory group." placeholder:"JSONL[.gz]"`
	ExitStatus string `name:"exit-status" help:"How the server ended: a number, or signal:KILL." placeholder:"N|signal:NAME"`
	Platform   string `help:"linux, windows or macos; without it what the log shows." placeholder:"OS"`
	Workflow   string `help:"The workflow that ran: it names the classes and the sizes that events of an unfinished prompt do not." placeholder:"FILE"`
	JSON       bool   `name:"json" help:"One JSON document on standard output and nothing else there."`
}

// Help is shown under --help.
func (classifyCmd) Help() string {
	return `Says which memory ran out (vram, pinned, ram, commit: RAM and page file together, gpu-address-space, unified, shared-gpu), or none; where, who held it, and what to do.

Exit status: 0 with an answer, 1 when it cannot be told which memory it was, or there is nothing to look at, 2 for wrong usage or a file that cannot be read.`
}

func (c *classifyCmd) Run(a *app) error {
	if c.Log == "" && c.Events == "" && c.Memory == "" && c.Host == "" {
		return usage{errors.New("nothing to look at: give --log FILE, or --events, --memory, --host")}
	}
	platform, err := platformOf(c.Platform)
	if err != nil {
		return usage{err}
	}
	evidence, notes, err := files.Read(files.Paths{Log: c.Log, Events: c.Events, Memory: c.Memory, Host: c.Host}, a.stdin)
	if err != nil {
		return usage{err}
	}
	if evidence.Exit, evidence.Died, err = exitOf(c.ExitStatus); err != nil {
		return usage{err}
	}
	evidence.Platform = platform
	if platform == "" {
		evidence.Platform = diagnosis.PlatformOf(evidence.Log)
	}
	if c.Workflow != "" {
		w, err := workflows.Load(c.Workflow)
		if err != nil {
			return usage{err}
		}
		evidence.Graph, evidence.Nodes = w.Graph, map[string]string{}
		for id, n := range w.Graph {
			evidence.Nodes[id] = n.ClassType
		}
	}
	banner := comfyui.ParseBanner(evidence.Log)
	evidence.Settings = banner.Settings()
	evidence.Flags = comfyui.FlagsOf(memtrix.Version{Release: banner.ComfyUI}, evidence.Settings)
	for _, n := range notes {
		fmt.Fprintln(a.stderr, "memtrix:", reports.Lines(n))
	}
	if files.Empty(evidence) {
		// Without evidence the verdict is "pass", which says only that nothing was seen to fail.
		fmt.Fprintln(a.stderr, "memtrix: there is nothing in it to look at: the verdict below rests on no evidence")
	}
	outcome := diagnosis.Judge(evidence)
	write := reports.Classification
	if c.JSON {
		write = reports.ClassificationJSON
	}
	if err := write(a.stdout, outcome); err != nil {
		return cannot{fmt.Errorf("write the verdict: %w", err)}
	}
	if files.Empty(evidence) || outcome.Memory == memtrix.MemoryUnknown {
		return status(exitFound)
	}
	return nil
}

func platformOf(name string) (string, error) {
	switch name {
	case "", "linux", "windows":
		return name, nil
	case "macos", "darwin":
		return "darwin", nil
	}
	return "", fmt.Errorf("--platform %q is none of linux, windows, macos", name)
}

// exitOf reads "137", "-9", "0xC0000005", "signal:KILL". 0 is a server that was
// asked to end.
func exitOf(text string) (exit memtrix.Exit, died bool, err error) {
	if text == "" {
		return memtrix.Exit{}, false, nil
	}
	if name, ok := strings.CutPrefix(text, "signal:"); ok {
		name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
		if n, err := strconv.Atoi(name); err == nil && n > 0 && n < 65 {
			return memtrix.Exit{Status: 128 + n}, true, nil
		}
		if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			return memtrix.Exit{}, false, fmt.Errorf("--exit-status %q names no signal; signal:KILL is one", text)
		}
		return memtrix.Exit{Signal: name}, true, nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil || n != int64(int32(n)) && n != int64(uint32(n)) {
		return memtrix.Exit{}, false, fmt.Errorf("--exit-status %q is no exit status: a number, or signal:NAME", text)
	}
	if n == 0 {
		return memtrix.Exit{Asked: true}, false, nil
	}
	return memtrix.Exit{Status: int(n)}, true, nil
}

// joined writes "--exit-status -9" as one word, since what begins with a hyphen
// looks like a flag.
func joined(args []string) []string {
	const flag = "--exit-status"
	var all []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(all, args[i:]...) // a command's own
		}
		if args[i] == flag && i+1 < len(args) && strings.HasPrefix(args[i+1], "-") {
			if _, err := strconv.ParseInt(args[i+1], 0, 64); err == nil {
				all = append(all, flag+"="+args[i+1])
				i++
				continue
			}
		}
		all = append(all, args[i])
	}
	return all
}
