package axes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix/versions/pyenv"
)

// Commit is one of a history.
type Commit struct {
	Hash, Subject string
	Date          time.Time
	Merge         bool
	Files         []string // that differ from its first parent
	Requirements  string   // text of its requirements.txt
}

// OfCommits lists the commits from good (the first one) to bad (the last one) with the
// rest of the bad state. keep: all run in one environment.
func OfCommits(bad State, commits []Commit, keep bool) List {
	l := List{Axis: Commits}
	for i, c := range commits {
		s := bad.clone()
		s.Version.Commit = c.Hash
		s.Entry.Path, s.Entry.Version, s.Entry.Name = "", c.Hash, ""
		candidate := Candidate{State: s, Name: short(c.Hash), Subject: c.Subject, Commit: c.Hash, Date: c.Date, Merge: c.Merge, Prior: 1, Thing: "commit"}
		if i > 0 {
			candidate.Prior = Hint(c.Files)
			candidate.Asks = c.asks(commits[i-1])
		}
		if !keep {
			candidate.Group = environmentGroup(c.Requirements)
		}
		l.Candidates = append(l.Candidates, candidate)
	}
	return l
}

func short(hash string) string {
	if len(hash) > 10 {
		return hash[:10]
	}
	return hash
}

// environmentGroup tells requirements apart by what decides about the environment: not
// by the packages of the browser's side, nor by comments.
func environmentGroup(requirements string) string {
	var lines []string
	for _, line := range strings.Split(requirements, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line != "" && !slices.Contains(pyenv.FrontEnd, pyenv.RequirementName(line)) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:6])
}

// Weights of hints. The likeliest is 16 times as likely as the least: a single run
// outweighs that.
const (
	memoryHint = 4.0
	requires   = 3.0
	codeHint   = 1.0
	elsewhere  = 0.25
)

// memoryPaths are parts of ComfyUI in which memory is managed, models are loaded, or
// what nodes made is kept.
var memoryPaths = []string{
	"comfy/model_management", "comfy/model_patcher", "comfy/pinned_memory", "comfy/memory_management", "comfy/windows.py",
	"comfy/ops.py", "comfy/float.py", "comfy/quant_ops", "comfy/model_base", "comfy/sd.py", "comfy/utils.py",
	"comfy/cli_args", "comfy/options", "comfy/system_memory", "comfy/sampler_helpers", "comfy/samplers.py",
	"comfy/ldm/modules/attention", "comfy/weight_adapter", "comfy/lora",
	"comfy_execution/caching", "comfy_execution/graph", "execution.py", "main.py", "cuda_malloc.py", "server.py",
}

// Hint is how likely a commit that touches these files is to change memory, beside
// others: weak, and made from names alone.
func Hint(files []string) float64 {
	best := elsewhere
	for _, f := range files {
		switch {
		case slices.ContainsFunc(memoryPaths, func(p string) bool { return strings.HasPrefix(f, p) }):
			return memoryHint
		case f == "requirements.txt":
			best = max(best, requires)
		case strings.HasSuffix(f, ".py") && !strings.HasPrefix(f, "tests") && !strings.HasPrefix(f, "comfy_api_nodes/") && !strings.HasPrefix(f, ".") && f != "comfyui_version.py":
			best = max(best, codeHint)
		}
	}
	return best
}

// asks are the packages that a commit requires otherwise than the one before it in a
// list, which of a merge is another than its parents.
func (c Commit) asks(before Commit) []string {
	if c.Merge {
		return nil
	}
	return rearranged(before.Requirements, c.Requirements)
}

// rearranged names the packages that two texts of requirements ask for differently.
func rearranged(before, after string) []string {
	read := func(text string) map[string]string {
		m := map[string]string{}
		for _, line := range strings.Split(text, "\n") {
			line, _, _ = strings.Cut(line, "#")
			if name := pyenv.RequirementName(line); name != "" && !slices.Contains(pyenv.FrontEnd, name) {
				m[name] = strings.TrimSpace(line)
			}
		}
		return m
	}
	a, b := read(before), read(after)
	var out []string
	for name, line := range b {
		if was, ok := a[name]; !ok {
			out = append(out, fmt.Sprintf("%s (new)", line))
		} else if was != line {
			out = append(out, fmt.Sprintf("%s (was %s)", line, was))
		}
	}
	for name, line := range a {
		if _, ok := b[name]; !ok {
			out = append(out, fmt.Sprintf("%s (gone)", line))
		}
	}
	slices.Sort(out)
	return out
}
