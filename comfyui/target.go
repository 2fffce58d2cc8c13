// Package comfyui runs ComfyUI as a target of memtrix: it turns settings into a
// version's launch flags, starts a fresh server in a folder of its own, sends
// prompts, reports what happens, and ends the server with all that it started.
//
// A trial's server sees the person's models, input files and the custom nodes
// of its version, and writes into the trial's folder and the cache folder only.
// (A custom node that writes into its own folder does so here as it does at home.)
//
// The package gives no verdicts: why something failed is told from what it
// reports, elsewhere. A server that it did not start belongs to its user: AttachTarget
// queues prompts there and listens, and leaves everything else alone.
package comfyui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/comfyui/probe"
)

// Target implements memtrix.Target for real and for simulated versions.
type Target struct {
	// CacheDir is shared by all trials: compiled Python files, copies of input
	// files, links to custom nodes. It must not lie in a ComfyUI tree. "" keeps
	// nothing, and makes every start a cold one.
	CacheDir string
	// Vary gives the graph of the n-th prompt, so that nothing is served from
	// the node cache. Nil sends the workflow's graph as it is.
	Vary func(w memtrix.Workflow, n int) map[string]memtrix.GraphNode
	// Fit makes a workflow ready for a trial's server, before its first prompt.
	// Nil sends it as it is.
	Fit Fit
	// SimCommand gives the program and first arguments that run a simulated
	// version; the flags of a ComfyUI follow.
	SimCommand func(v memtrix.Version, job memtrix.Job) []string
	// Env are variables of a version's first start (see Prepare), beside the person's:
	// those of its trials, which may name the card, or what a server does not start
	// without.
	Env map[string]string
	// NoCard reports that this machine has no card as far as can be told, so that
	// Prepare need not look for one first; nil: it is not known.
	NoCard func() bool
	// InterruptWait, TerminateWait and KillWait are how long a server may take
	// to end after each signal; 0 means 10 s, 5 s and 5 s.
	InterruptWait, TerminateWait, KillWait time.Duration
}

var _ memtrix.Target = (*Target)(nil)

// ErrPortTaken is wrapped by Ready's error when another program took the port
// between its choice and the server's start. Starting again chooses another.
var ErrPortTaken = fmt.Errorf("the server's port is taken (%w)", memtrix.ErrAgain)

func (t *Target) patience() patience {
	p := patience{interrupt: 10 * time.Second, terminate: 5 * time.Second, kill: 5 * time.Second}
	for _, f := range []struct {
		have time.Duration
		want *time.Duration
	}{{t.InterruptWait, &p.interrupt}, {t.TerminateWait, &p.terminate}, {t.KillWait, &p.kill}} {
		if f.have > 0 {
			*f.want = f.have
		}
	}
	return p
}

// absolute gives a copy whose cache folder does not depend on the current folder:
// servers run in another one.
func (t *Target) absolute() (*Target, error) {
	c := *t
	if c.CacheDir == "" {
		return &c, nil
	}
	dir, err := filepath.Abs(c.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("cache folder %s: %w", c.CacheDir, err)
	}
	c.CacheDir = dir
	return &c, nil
}

// Start starts a fresh server for a trial. ctx bounds only the start itself.
func (t *Target) Start(ctx context.Context, job memtrix.Job) (memtrix.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := t.absolute()
	if err != nil {
		return nil, err
	}
	if job.Epoch.IsZero() {
		job.Epoch = time.Now()
	}
	if err := checkExtra(job.Extra, knownFlags(job.Cell.Version)); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	l, err := t.lay(job, port)
	if err != nil {
		return nil, err
	}
	argv, err := t.command(job, l)
	if err != nil {
		return nil, err
	}
	i := &Instance{target: t, job: job, layout: l, argv: argv, prompts: map[string]int{}}
	if err := i.start(environ(os.Environ(), t.CacheDir, job.Env)); err != nil {
		return nil, err
	}
	return i, nil
}

// command is the whole command line of a trial's server.
func (t *Target) command(job memtrix.Job, l layout) ([]string, error) {
	v := job.Cell.Version
	var argv []string
	switch v.Target {
	case memtrix.TargetSim:
		if t.SimCommand == nil {
			return nil, fmt.Errorf("simulated version %s: no program to run it", v.Name)
		}
		if argv = slices.Clone(t.SimCommand(v, job)); len(argv) == 0 {
			return nil, fmt.Errorf("simulated version %s: no program to run it", v.Name)
		}
	default:
		argv = []string{v.Python}
		if job.Cell.Probe {
			start, err := probe.Write(l.dir)
			if err != nil {
				return nil, err
			}
			argv = append(argv, start)
		}
		argv = append(argv, filepath.Join(v.Dir, "main.py"))
	}
	argv = append(slices.Clone(job.Prefix), argv...)
	argv = append(argv, l.argv()...)
	argv = append(argv, job.Argv...)
	return append(argv, job.Extra...), nil
}

// ours are flags that memtrix sets itself, or that would make a server behave
// as no trial may.
var ours = []string{
	"--port", "--listen", "--base-directory", "--user-directory", "--output-directory", "--temp-directory",
	"--input-directory", "--database-url", "--front-end-root", "--disable-all-custom-nodes",
	"--whitelist-custom-nodes", "--quick-test-for-ci", "--auto-launch", "--windows-standalone-build",
	"--tls-keyfile", "--tls-certfile", "--list-feature-flags", "--help",
}

// checkExtra refuses raw flags that would undo the layout of a trial. The launcher
// takes any unique beginning of a flag for the flag, so those are refused, too.
func checkExtra(extra []string, known map[string]bool) error {
	for i, word := range extra {
		flag, _, _ := strings.Cut(word, "=")
		if !strings.HasPrefix(flag, "-") {
			if i == 0 {
				return fmt.Errorf("flags of the spec: %q is no flag", word)
			}
			continue
		}
		for _, own := range ours {
			if flag == own || flag == "-h" || len(flag) > 2 && !known[flag] && strings.HasPrefix(own, flag) {
				return fmt.Errorf("flags of the spec: memtrix sets %s itself", own)
			}
		}
	}
	return nil
}

// tail is the end of a server's log for a message, indented.
func tail(lines []string) string {
	if len(lines) == 0 {
		return "it printed nothing"
	}
	return "its last lines:\n  " + strings.Join(lines, "\n  ")
}
