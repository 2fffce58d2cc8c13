package comfyui

import "fmt"

// fastRange is a feature that --fast takes by name, with the releases that know
// it: comfy/cli_args.py, class PerformanceFeature, of each release.
type fastRange struct {
	name         string
	since, until [3]int // until is the first release without it; zero: none yet
}

// Until 0.3.18 --fast is a switch for whatever there was.
var fastFeatures = []fastRange{
	{"fp16_accumulation", [3]int{0, 3, 19}, [3]int{}},
	{"fp8_matrix_mult", [3]int{0, 3, 19}, [3]int{}},
	{"cublas_ops", [3]int{0, 3, 28}, [3]int{}},
	{"autotune", [3]int{0, 3, 57}, [3]int{}},
	{"pinned_memory", [3]int{0, 3, 68}, [3]int{0, 3, 69}},
	{"dynamic_vram", [3]int{0, 12, 0}, [3]int{0, 16, 0}},
}

func (f fastRange) in(r release) bool {
	gone := f.until != [3]int{} && r.atLeast(f.until[0], f.until[1], f.until[2])
	return r.atLeast(f.since[0], f.since[1], f.since[2]) && !gone
}

// hasFeature asks the version's own list where there is one, else its release. A
// version of which neither is known is taken to be today's.
func (t *translator) hasFeature(name string) bool {
	listed := false
	for flag := range t.known {
		if flag == "--fast="+name {
			return true
		}
		listed = listed || len(flag) > len("--fast=") && flag[:len("--fast=")] == "--fast="
	}
	if listed || !t.known["--fast"] {
		return false
	}
	for _, f := range fastFeatures {
		if f.name == name {
			return f.in(t.release) || !t.release.known && f.until == [3]int{}
		}
	}
	return false
}

// feature asks for a feature of --fast.
func (t *translator) feature(name string) ([]string, string) {
	if !t.hasFeature(name) {
		return nil, fmt.Sprintf("%s does not know --fast %s", t.name(), name)
	}
	t.fast = append(t.fast, name)
	return nil, ""
}

// fastFlag is the one flag of all features that were asked for. It comes last:
// with several it would swallow a word that follows.
func (t *translator) fastFlag() []string {
	switch len(t.fast) {
	case 0:
		return nil
	case 1:
		return []string{"--fast=" + t.fast[0]}
	}
	return append([]string{"--fast"}, t.fast...)
}

func fastFeature(setting, name string) intent {
	return func(t *translator, value string) ([]string, string) {
		switch {
		case value == "off":
			return nil, ""
		case t.cpu():
			return nil, needsGPU(setting, value)
		case t.release.known && !t.release.atLeast(0, 3, 19) && t.known["--fast"]:
			return nil, fmt.Sprintf("%s has --fast for everything at once only (features can be chosen since 0.3.19)", t.name())
		}
		return t.feature(name)
	}
}
