package account

import (
	"strings"
	"testing"
	"time"

	"memtrix"
	"memtrix/bisect"
	"memtrix/bisect/axes"
	"memtrix/lab"
	"memtrix/matrix"
)

func commits(names ...string) axes.List {
	var list []axes.Commit
	for i, n := range names {
		list = append(list, axes.Commit{Hash: strings.Repeat(n, 40), Subject: "what " + n + " does", Date: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Merge: n == "d"})
	}
	return axes.OfCommits(axes.State{}, list, true)
}

func run(i int, result string, value float64) lab.BisectRun {
	r := lab.BisectRun{Index: i, Result: result, Trial: int64(i + 1), Seconds: 60}
	if result == lab.RunValue {
		r.Value = &value
	}
	return r
}

func found(n, at int, measure lab.Measure, runs ...lab.BisectRun) *lab.BisectReport {
	p := make([]float64, n)
	p[at] = 0.97
	r := &lab.BisectReport{Measure: measure, Runs: runs}
	r.Result = bisect.Result{Verdict: bisect.Found, FirstBad: at, From: at, To: at, Sure: 0.97, Posterior: p}
	return r
}

func TestParagraphs(t *testing.T) {
	const mib = 1 << 20
	values := Account{Cell: "sd15, device=cpu", Stages: []Stage{{commits("a", "b", "c", "d"), found(4, 2, memtrix.RAMTreeRSS,
		run(0, lab.RunValue, 100*mib), run(0, lab.RunValue, 100*mib), run(3, lab.RunValue, 120*mib), run(3, lab.RunValue, 120*mib), run(2, lab.RunValue, 120*mib), run(1, lab.RunUntestable, 0))}}}
	text := strings.Join(values.Paragraphs(), "\n")
	for _, want := range []string{
		`First bad commit: ` + strings.Repeat("c", 40) + ` "what c does" of 2026-01-03 (3 of 4, 97.0 % sure)`,
		"peak of ram.tree.rss: 100.0 MiB (95 % interval 100.0 MiB to 100.0 MiB, 2 runs) before it, 120.0 MiB (95 % interval 120.0 MiB to 120.0 MiB, 3 runs) from it on (+20.0 %)",
		"1 candidates could not be tested",
		"sd15, device=cpu. 4 runs, 4m0s", // trials are told apart by their number
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for i := range values.Stages[0].List.Candidates {
		values.Stages[0].List.Candidates[i].Group = "one"
	}
	if text := strings.Join(values.Paragraphs(), "\n"); strings.Contains(text, "different environments") {
		t.Errorf("one environment: %s", text)
	}
	values.Stages[0].List.Candidates[2].Group = "two"
	if text := strings.Join(values.Paragraphs(), "\n"); !strings.Contains(text, "told by ram.tree.anon (--meter)") {
		t.Errorf("resident memory in two environments: %s", text)
	}
	failed := run(3, lab.RunBad, 0)
	failed.Message = "No module named 'x'"
	outcome := Account{Stages: []Stage{{commits("a", "b", "c", "d"), found(4, 3, lab.MeasureOutcome, run(0, lab.RunGood, 0), run(2, lab.RunGood, 0), failed)}}}
	outcome.Stages[0].Report.BadClass = "startup-failure"
	text = strings.Join(outcome.Paragraphs(), "\n")
	for _, want := range []string{"Before it 0 of 2 runs ended with startup-failure, from it on 1 of 1: No module named 'x'", "It is a merge", "--good " + strings.Repeat("c", 40)} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	// What the commit asks for is told, and is the way forward where nothing was installed.
	asking := Account{Stages: []Stage{{axes.OfCommits(axes.State{}, []axes.Commit{{Hash: "a", Requirements: "x==1"}, {Hash: "b", Requirements: "x==1\ny"}, {Hash: "c", Merge: true}}, true), found(3, 1, lab.MeasureOutcome)}}}
	if text := strings.Join(asking.Paragraphs(), "\n"); !strings.Contains(text, "It requires other packages than the commit before it: y (new). All runs were in one environment") {
		t.Errorf("packages that were asked for: %s", text)
	}
	asking.Stages[0].Report = found(3, 2, lab.MeasureOutcome)
	if text := strings.Join(asking.Paragraphs(), "\n"); strings.Contains(text, "requires other packages") {
		t.Errorf("a merge: %s", text)
	}
	// A merge that was looked into is not told to be.
	branch := commits("b", "x", "d")
	branch.Merge = strings.Repeat("d", 40)
	within := found(3, 1, lab.MeasureOutcome, run(0, lab.RunGood, 0), run(1, lab.RunBad, 0))
	outcome.Stages = append(outcome.Stages, Stage{branch, within})
	text = strings.Join(outcome.Paragraphs(), "\n")
	if strings.Contains(text, "It is a merge") || !strings.Contains(text, "Then: First bad commit: "+strings.Repeat("x", 40)) {
		t.Errorf("looked into: %s", text)
	}
	if got, want := outcome.Back()[0], "git -C <folder of your ComfyUI> checkout "+strings.Repeat("b", 40); got != want {
		t.Errorf("back from within a branch: %s, want %s", got, want)
	}
	outcome.Stages[1].Report = found(3, 2, lab.MeasureOutcome, run(1, lab.RunGood, 0), run(2, lab.RunBad, 0))
	if text = strings.Join(outcome.Paragraphs(), "\n"); !strings.Contains(text, "No commit of its branch does it alone") || strings.Contains(text, "To look inside") {
		t.Errorf("the merge itself: %s", text)
	}
	same := Account{Stages: []Stage{{commits("a", "b"), &lab.BisectReport{Result: bisect.Result{Verdict: bisect.Same, Why: "good and bad do not differ: both pass"}}}}}
	if text := strings.Join(same.Paragraphs(), "\n"); !strings.Contains(text, "No first bad one among 2 commits: good and bad do not differ") || same.Back() != nil {
		t.Errorf("got %s, %q", text, same.Back())
	}
}

// git takes the log back: git bisect replay.
func TestGitLog(t *testing.T) {
	s := Stage{commits("a", "b", "c", "d"), found(4, 2, lab.MeasureOutcome, run(0, lab.RunGood, 0), run(3, lab.RunBad, 0), run(1, lab.RunUntestable, 0), run(2, lab.RunBad, 0))}
	h := func(n string) string { return strings.Repeat(n, 40) }
	want := "git bisect start\n# bad: [" + h("d") + "] what d does\ngit bisect bad " + h("d") + "\n# good: [" + h("a") + "] what a does\ngit bisect good " + h("a") +
		"\n# skip: [" + h("b") + "] what b does\ngit bisect skip " + h("b") + "\n# bad: [" + h("c") + "] what c does\ngit bisect bad " + h("c") + "\n# first bad commit: [" + h("c") + "] what c does\n"
	if got := s.GitLog(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBack(t *testing.T) {
	s := Stage{commits("a", "b", "c", "d"), found(4, 2, lab.MeasureOutcome)}
	a := Account{Stages: []Stage{s}, Dir: "/my comfy", Python: "/env/bin/python"}
	if got, want := strings.Join(a.Back(), "\n"), "git -C '/my comfy' checkout "+strings.Repeat("b", 40)+"\n/env/bin/python -m pip install -r '/my comfy'/requirements.txt"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	list := axes.OfPackages(axes.State{Entry: matrix.VersionEntry{Version: "x"}}, map[string]string{"torch": "1", "torchvision": "2", "x": "3"}, map[string]string{"torch": "2", "torchvision": "3", "x": "3", "new": "1"})
	a.Stages = []Stage{{list, found(3, 2, lab.MeasureOutcome)}}
	if got, want := strings.Join(a.Back(), "\n"), "/env/bin/python -m pip install torch==1 torchvision==2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A command that is told must be one that can work.
func TestBackThatWorks(t *testing.T) {
	entries := func(v ...matrix.VersionEntry) axes.List {
		l := axes.List{Axis: axes.Versions}
		for _, e := range v {
			l.Candidates = append(l.Candidates, axes.Candidate{State: axes.State{Entry: e}, Name: e.Name})
		}
		return l
	}
	bad := matrix.VersionEntry{Name: "bad"}
	for name, c := range map[string]struct {
		good matrix.VersionEntry
		want string
	}{
		"simulated": {matrix.VersionEntry{Name: "good", Sim: "0.18.1"}, ""},
		"a label":   {matrix.VersionEntry{Name: "good", Version: "latest~2"}, ""},
		"a release": {matrix.VersionEntry{Name: "good", Version: "0.18.1"}, "git -C '/my comfy' checkout v0.18.1"},
		"a branch":  {matrix.VersionEntry{Name: "good", Version: "old-one"}, "git -C '/my comfy' checkout old-one"},
		"a folder":  {matrix.VersionEntry{Name: "good", Path: "/other"}, "start the ComfyUI in /other"},
	} {
		a := Account{Stages: []Stage{{entries(c.good, bad), found(2, 1, lab.MeasureOutcome)}}, Dir: "/my comfy", Python: "p"}
		back := a.Back()
		got := ""
		if len(back) > 0 {
			got = back[0]
		}
		if got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, back)
		}
	}
	// A package that was not there before.
	list := axes.OfPackages(axes.State{}, map[string]string{"x": "3"}, map[string]string{"x": "3", "new": "1"})
	a := Account{Stages: []Stage{{list, found(2, 1, lab.MeasureOutcome)}}, Python: "p"}
	if got, want := strings.Join(a.Back(), "\n"), "p -m pip uninstall -y new"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
