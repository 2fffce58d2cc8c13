package axes

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"memtrix"
	"memtrix/matrix"
)

func state(commit string, packages map[string]string, settings memtrix.Settings) State {
	return State{Entry: matrix.VersionEntry{Version: commit}, Settings: settings, Version: memtrix.Version{Commit: commit, Packages: packages}}
}

func TestDecide(t *testing.T) {
	a, b := map[string]string{"torch": "2.9.0", "pip": "24"}, map[string]string{"torch": "2.10.0", "pip": "25"}
	tools := map[string]string{"torch": "2.9.0", "pip": "25", "setuptools": "80"}
	pinned := state("x", b, nil)
	pinned.Entry.Overrides = map[string]string{"torch": "2.10.0"}
	other := state("y", b, nil)
	other.Entry.Python = "/env/bin/python"
	packed := state("x", a, nil)
	packed.Entry.Packs.List = []matrix.PackEntry{{Git: "https://x/Pack.git", Commit: "1"}}
	for _, c := range []struct {
		name      string
		good, bad State
		want      Kind
		why       string
	}{
		{"same packages", state("x", a, nil), state("y", a, nil), Commits, "the packages are the same"},
		{"tools do not count", state("x", a, nil), state("y", tools, nil), Commits, "the packages are the same"},
		{"each brings its own", state("x", a, nil), state("y", b, nil), Commits, "each brings the packages that it requires (torch differ)"},
		{"same commit", state("x", a, nil), pinned, Packages, "the commit is the same, 1 packages differ (torch)"},
		{"another Python and commit", state("x", a, nil), other, Which, "several things differ (commits, packages)"},
		{"settings", state("x", a, nil), state("x", a, memtrix.Settings{"cache": "none"}), Settings, "only settings differ (cache)"},
		{"settings and commit", state("x", a, nil), state("y", a, memtrix.Settings{"cache": "none"}), Which, "(commits, settings)"},
		{"packs", state("x", a, nil), packed, Nodes, "custom nodes differ (Pack)"},
	} {
		kind, why, err := Decide(Compare(c.good, c.bad))
		if err != nil || kind != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: got %q, %q (%v), want %q, %q", c.name, kind, why, err, c.want, c.why)
		}
	}
	if _, _, err := Decide(Compare(state("x", a, nil), state("x", a, nil))); !errors.Is(err, ErrNothing) {
		t.Errorf("the same: got %v", err)
	}
}

// One more package of the bad environment in each candidate, those that only fit
// together as one, and all of them pinned.
func TestOfPackages(t *testing.T) {
	good := map[string]string{"torch": "2.9.0", "torchvision": "0.24", "nvidia-cublas": "1", "numpy": "2.0", "Comfy_Aimdo": "0.4.8", "same": "1", "old": "3", "pip": "1"}
	bad := map[string]string{"torch": "2.10.0", "torchvision": "0.25", "nvidia-cublas": "2", "numpy": "2.1", "comfy-aimdo": "0.4.10", "same": "1", "new": "7", "pip": "2"}
	l := OfPackages(state("x", bad, nil), good, bad)
	var names []string
	for _, c := range l.Candidates {
		names = append(names, c.Name)
	}
	want := []string{"the good packages", "comfy-aimdo 0.4.8 -> 0.4.10", "new (not there) -> 7", "numpy 2.0 -> 2.1", "old 3 -> (gone)", "torch 2.9.0 -> 2.10.0 with 2 that go with it"}
	if !reflect.DeepEqual(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	if got, want := l.Candidates[0].Entry.Overrides, (map[string]string{"torch": "2.9.0", "torchvision": "0.24", "nvidia-cublas": "1", "numpy": "2.0", "comfy-aimdo": "0.4.8", "same": "1", "old": "3", "new": "none"}); !reflect.DeepEqual(got, want) {
		t.Errorf("first: got %v, want %v", got, want)
	}
	last := l.Candidates[len(names)-1].Entry.Overrides
	if got, want := last, (map[string]string{"torch": "2.10.0", "torchvision": "0.25", "nvidia-cublas": "2", "numpy": "2.1", "comfy-aimdo": "0.4.10", "same": "1", "old": "none", "new": "7"}); !reflect.DeepEqual(got, want) {
		t.Errorf("last: got %v, want %v", got, want)
	}
	p := l.Prior()
	if p[1] <= p[2] || p[5] <= p[3] {
		t.Errorf("prior %v: aimdo and torch are likelier than others", p)
	}

	// Then the versions of the one that did it, all else as at its step.
	r := OfReleases(l.Candidates[0], l.Candidates[1], []string{"0.4.9"})
	if r == nil || len(r.Candidates) != 3 || r.Candidates[1].Entry.Overrides["comfy-aimdo"] != "0.4.9" || r.Candidates[1].Entry.Overrides["numpy"] != "2.0" || r.Candidates[1].Name != "comfy-aimdo 0.4.9" {
		t.Errorf("releases: got %+v", r)
	}
	if name := SinglePackage(l.Candidates[1], l.Candidates[2]); name != "" {
		t.Errorf("a package that came is no range of versions: got %q", name)
	}
	if name := SinglePackage(l.Candidates[4], l.Candidates[5]); name != "" {
		t.Errorf("a family is no single package: got %q", name)
	}
}

func TestOfSettings(t *testing.T) {
	good := memtrix.Settings{"cache": "classic", "device": "cpu", "mmap": "off"}
	bad := memtrix.Settings{"cache": "none", "device": "cpu", "smart-memory": "off"}
	l := OfSettings(state("x", nil, good), state("x", nil, bad))
	var got []string
	for _, c := range l.Candidates {
		got = append(got, c.Name+": "+c.Settings.String())
	}
	want := []string{
		"the good settings: cache=classic device=cpu mmap=off",
		"cache classic -> none: cache=none device=cpu mmap=off",
		"mmap off -> (default): cache=none device=cpu",
		"smart-memory (default) -> off: cache=none device=cpu smart-memory=off",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOfNodes(t *testing.T) {
	good, bad := state("x", nil, nil), state("x", nil, nil)
	good.Entry.Packs.List = []matrix.PackEntry{{Git: "https://x/A.git", Commit: "a1"}, {Name: "B"}}
	bad.Entry.Packs.List = []matrix.PackEntry{{Git: "https://x/A.git", Commit: "a2"}, {Git: "https://x/C"}}
	l := OfNodes(good, bad)
	var got []string
	for _, c := range l.Candidates {
		got = append(got, c.Name)
	}
	if want := []string{"the good packs", "A a1 -> a2", "B as it is here -> (not loaded)", "C (not loaded) -> (newest)"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if n := len(l.Candidates[3].Entry.Packs.List); n != 2 {
		t.Errorf("the last one has %d packs, want 2", n)
	}
	pack, from, to, ok := SinglePack(l.Candidates[0], l.Candidates[1])
	if !ok || pack.Git != "https://x/A.git" || from != "a1" || to != "a2" {
		t.Errorf("got %+v %s %s %v", pack, from, to, ok)
	}
	if _, _, _, ok := SinglePack(l.Candidates[1], l.Candidates[2]); ok {
		t.Error("a pack that went has no commits between")
	}
	between := OfPack(l.Candidates[0], l.Candidates[1], []Commit{{Hash: "a1"}, {Hash: "mid"}, {Hash: "a2"}})
	if between == nil || between.Candidates[1].Entry.Packs.List[1].Commit != "mid" {
		t.Errorf("got %+v", between)
	}
}

// Commits with the same requirements share an environment, whatever the browser's side
// and comments say.
func TestOfCommits(t *testing.T) {
	bad := state("bad", nil, memtrix.Settings{"device": "cpu"})
	bad.Entry.Name = "mine"
	l := OfCommits(bad, []Commit{
		{Hash: "aaaaaaaaaaaaaaaa", Requirements: "torch\ncomfyui-frontend-package==1\n"},
		{Hash: "bbbbbbbbbbbbbbbb", Subject: "s", Requirements: "# c\ntorch\ncomfyui-frontend-package==2\n", Files: []string{"README.md"}},
		{Hash: "cccccccccccccccc", Requirements: "torch\ncomfy-aimdo==1\n", Files: []string{"requirements.txt"}},
		{Hash: "dddddddddddddddd", Requirements: "torch\ncomfy-aimdo==1\n", Files: []string{"README.md", "comfy/model_management.py"}},
	}, false)
	g := func(i int) string { return l.Candidates[i].Group }
	if g(0) != g(1) || g(1) == g(2) || g(2) != g(3) {
		t.Errorf("groups %q %q %q %q", g(0), g(1), g(2), g(3))
	}
	if c := l.Candidates[1]; c.Entry.Version != "bbbbbbbbbbbbbbbb" || c.Entry.Name != "" || c.Settings["device"] != "cpu" || c.Name != "bbbbbbbbbb" {
		t.Errorf("got %+v", c)
	}
	if p := l.Prior(); !(p[3] > p[2] && p[2] > p[1]) {
		t.Errorf("prior %v", p)
	}
	made := map[string]bool{g(0): true}
	if cost := l.Cost(made); cost(1) != 1 || cost(2) <= 1 {
		t.Errorf("costs %v %v", cost(1), cost(2))
	}
	if keep := OfCommits(bad, []Commit{{Hash: "aaaaaaaaaaaaaaaa", Requirements: "torch"}}, true); keep.Candidates[0].Group != "" {
		t.Error("one environment for all costs nothing to make")
	}
}

func TestOfAll(t *testing.T) {
	good := state("x", map[string]string{"torch": "1", "gone": "1"}, memtrix.Settings{"cache": "classic"})
	bad := state("y", map[string]string{"torch": "2"}, memtrix.Settings{"cache": "none"})
	bad.Entry.Python = "/env/bin/python"
	l := OfAll(good, bad, Compare(good, bad))
	var got []string
	for _, c := range l.Candidates {
		got = append(got, c.Name)
	}
	if want := []string{"all as good", "settings as bad", "packages as bad", "all as bad"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	mid := l.Candidates[2]
	if mid.Entry.Version != "x" || mid.Settings["cache"] != "none" || !reflect.DeepEqual(mid.Entry.Overrides, map[string]string{"torch": "2", "gone": "none"}) {
		t.Errorf("got %+v", mid)
	}
}

func TestRearranged(t *testing.T) {
	got := rearranged("a==1\nb\n# c\nold\ncomfyui_frontend_package==1\n", "a==2\nb\nnew>=3 # why\ncomfyui_frontend_package==2\n")
	if want := []string{"a==2 (was a==1)", "new>=3 (new)", "old (gone)"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
