package history

import (
	"cmp"
	"slices"
	"strings"

	"memtrix"
	"memtrix/environment"
)

// rank orders kinds of causes: what moved memory in ComfyUI's own history most often
// comes first.
var rank = []CauseKind{
	CauseComfyUI, CauseNode, CausePackage, CauseFlag, CauseVariable, CauseServer, CauseDriver, CauseCard,
	CauseKernel, CauseMachine, CauseInterpreter, CauseMemtrix, CauseOther,
}

// ofVersion reports whether a kind of cause is part of a version; all others are the
// machine's or the spec's.
func (k CauseKind) ofVersion() bool {
	return k == CauseComfyUI || k == CauseNode || k == CausePackage
}

// decisive are packages that decide what memory is taken (those whose files a trial
// hashes): they come before others.
var decisive = []string{"comfy-aimdo", "comfy-kitchen", "torch", "nvidia-", "triton", "xformers", "sageattention", "flash-attn", "torchvision", "torchaudio", "transformers", "safetensors"}

// Causes are what differs between two trials beside their numbers, the likeliest first.
func Causes(before, after *memtrix.Trial) []Cause {
	var all []Cause
	a, b := before.Cell.Version, after.Cell.Version
	if a.Commit != b.Commit {
		all = append(all, Cause{CauseComfyUI, "commit", versionText(a), versionText(b)})
	}
	if x, y := ChangedFiles(a), ChangedFiles(b); !slices.Equal(x, y) {
		all = append(all, Cause{CauseComfyUI, "changed files", strings.Join(x, ", "), strings.Join(y, ", ")})
	}
	told := hasBanner(before) && hasBanner(after) // a server that did not start says nothing
	for _, d := range environment.Diff(before.Environment, after.Environment) {
		if d.Name == "args" { // the spec's own flags
			all = append(all, flags(strings.Fields(d.Before), strings.Fields(d.After))...)
			continue
		}
		if strings.HasPrefix(d.Name, banner) && !told {
			continue
		}
		if kind, name, ok := kindOf(d.Name); ok {
			all = append(all, Cause{kind, name, d.Before, d.After})
		}
	}
	all = append(all, flags(before.Argv, after.Argv)...)
	all = withoutEchoes(all)
	slices.SortStableFunc(all, func(x, y Cause) int {
		if c := cmp.Compare(slices.Index(rank, x.Kind), slices.Index(rank, y.Kind)); c != 0 {
			return c
		}
		return cmp.Compare(weight(x), weight(y))
	})
	return all
}

// ChangedFiles are the files of a version that differ from its commit, without those that
// its source lacked.
func ChangedFiles(v memtrix.Version) []string {
	var all []string
	for _, f := range v.Dirty {
		if !strings.HasPrefix(f, "missing: ") {
			all = append(all, f)
		}
	}
	return all
}

// banner begins the names of what a server said of itself.
const banner = "banner."

func hasBanner(t *memtrix.Trial) bool {
	for name := range t.Environment {
		if strings.HasPrefix(name, banner) {
			return true
		}
	}
	return false
}

func versionText(v memtrix.Version) string {
	if v.Release == "" || strings.HasPrefix(v.Commit, "tree:") {
		return v.Commit
	}
	return v.Release + " " + v.Commit[:min(len(v.Commit), 10)]
}

// weight puts packages that decide before others, and what came or went after what
// changed.
func weight(c Cause) int {
	if c.Kind != CausePackage {
		return 0
	}
	for i, name := range decisive {
		if strings.HasPrefix(c.Name, name) {
			return i
		}
	}
	if c.Before == "" || c.After == "" {
		return len(decisive) + 1
	}
	return len(decisive)
}

// kindOf sorts a fact of an environment; false for those that say nothing, since
// another says the same.
func kindOf(fact string) (CauseKind, string, bool) {
	family, rest, _ := strings.Cut(fact, ".")
	switch family {
	case "package":
		return CausePackage, rest, true
	case "package-hash":
		return CausePackage, rest + " (files)", true
	case "pack":
		return CauseNode, rest, true
	case "env":
		return CauseVariable, rest, true
	case "banner":
		switch rest {
		case "comfyui", "python", "torch", "total-ram", "total-vram":
			return "", "", false
		}
		return CauseServer, rest, true
	case "driver", "cuda":
		return CauseDriver, fact, true
	case "gpu":
		return CauseCard, fact, !strings.HasSuffix(fact, ".uuid")
	case "kernel", "distro", "os", "arch":
		return CauseKernel, fact, true
	case "ram", "swap", "cgroup", "vm", "thp", "zswap", "limit", "cpu", "container", "virtual-machine", "models":
		return CauseMachine, fact, true
	case "python":
		return CauseInterpreter, fact, rest != "path"
	case "memtrix", "go":
		return CauseMemtrix, fact, true
	}
	return CauseOther, fact, true
}

// flags are launch flags that only one of the two has.
func flags(before, after []string) []Cause {
	var all []Cause
	x, y := flagWords(before), flagWords(after)
	for _, f := range x {
		if !slices.Contains(y, f) {
			all = append(all, Cause{CauseFlag, f, f, ""})
		}
	}
	for _, f := range y {
		if !slices.Contains(x, f) {
			all = append(all, Cause{CauseFlag, f, "", f})
		}
	}
	return all
}

// flagWords joins flags with what follows them.
func flagWords(argv []string) []string {
	var all []string
	for _, word := range argv {
		if strings.HasPrefix(word, "-") || len(all) == 0 {
			all = append(all, word)
		} else {
			all[len(all)-1] += " " + word
		}
	}
	return all
}

// withoutEchoes drops hashes of files of a package whose version differs, too.
func withoutEchoes(all []Cause) []Cause {
	named := map[string]bool{}
	for _, c := range all {
		named[c.Name] = true
	}
	return slices.DeleteFunc(all, func(c Cause) bool {
		name, files := strings.CutSuffix(c.Name, " (files)")
		return files && named[name]
	})
}

// Text is a cause in words: "torch 2.10.0 -> 2.11.0", "driver 580 -> 590".
func (c Cause) Text() string {
	switch {
	case c.Kind == CauseFlag && c.Before == "":
		return "flag " + c.After + " is new"
	case c.Kind == CauseFlag:
		return "flag " + c.Before + " is gone"
	case c.Before == "":
		return c.Name + " " + c.After + " is new"
	case c.After == "":
		return c.Name + " " + c.Before + " is gone"
	}
	return c.Name + " " + c.Before + " -> " + c.After
}
