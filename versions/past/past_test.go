package past

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"memtrix/versions/installs"
)

const (
	older1 = "1111111111111111111111111111111111111111"
	older2 = "2222222222222222222222222222222222222222"
	atHead = "3333333333333333333333333333333333333333"
	none   = "0000000000000000000000000000000000000000"
)

func day(month, d, hour int) time.Time {
	return time.Date(2026, time.Month(month), d, hour, 0, 0, 0, time.Local)
}

// tree is a folder of files with times; a value "" is a folder.
type tree map[string]string

// machine makes a machine of it; times are by prefix, the longest wins.
func machine(os string, t tree, times map[string]time.Time) installs.Machine {
	files := fstest.MapFS{}
	for name, text := range t {
		f := &fstest.MapFile{Data: []byte(text)}
		best := ""
		for prefix, when := range times {
			if strings.HasPrefix(name, prefix) && len(prefix) >= len(best) {
				best, f.ModTime = prefix, when
			}
		}
		files[name] = f
	}
	home := "/home/me"
	if os == "windows" {
		home = `C:\Users\me`
	}
	return installs.Machine{OS: os, FS: files, Home: home, Env: func(string) string { return "" }}
}

func at(t *testing.T, m installs.Machine, dir string) installs.Install {
	t.Helper()
	in, ok := m.At(dir)
	if !ok {
		t.Fatalf("%s is no installation", dir)
	}
	return in
}

// code are the files that make a folder a ComfyUI.
func code(dir string, more tree) tree {
	t := tree{dir + "/main.py": "", dir + "/nodes.py": "", dir + "/comfy/sd.py": "", dir + "/comfyui_version.py": "__version__ = \"0.29.0\"\n"}
	for name, text := range more {
		t[dir+"/"+name] = text
	}
	return t
}

func moved(old, new string, when time.Time, message string) string {
	return fmt.Sprintf("%s %s Some One <some@one> %d +0000\t%s\n", old, new, when.Unix(), message)
}

// TestReflog checks that each update is one state, with the commit before it.
func TestReflog(t *testing.T) {
	log := moved(none, older1, day(10, 20, 9).Add(-time.Minute), "clone: from https://example.com/ComfyUI") +
		moved(older1, older2, day(10, 20, 9), "pull: Fast-forward") +
		moved(older2, older1, day(11, 2, 9), "checkout: moving from v0.28.0 to master") +
		moved(older1, atHead, day(11, 2, 9).Add(time.Minute), "") +
		moved(atHead, atHead, day(11, 3, 9), "checkout: moving from master to v0.29.0")
	m := machine("linux", code("home/me/ComfyUI", tree{
		".git/HEAD":         "ref: refs/heads/master\n",
		".git/packed-refs":  "# pack-refs with: peeled fully-peeled sorted\n" + atHead + " refs/heads/master\n" + older1 + " refs/tags/v0.27.0\n4444444444444444444444444444444444444444 refs/tags/v0.28.0\n^" + older2 + "\n",
		".git/logs/HEAD":    log,
		"venv/bin/python":   "",
		"venv/pyvenv.cfg":   "",
		"requirements.txt":  "torch\n",
		"custom_nodes/x.py": "",
	}), nil)
	states, warnings, err := Find(at(t, m, "/home/me/ComfyUI"))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("error %v, warnings %q", err, warnings)
	}
	want := []struct{ commit, source, back string }{
		{older2, "reflog: before checkout of master, update on 2026-11-02", "git -C /home/me/ComfyUI checkout " + older2},
		{older1, "reflog: before pull on 2026-10-20", "git -C /home/me/ComfyUI checkout " + older1},
	}
	if len(states) != len(want) {
		t.Fatalf("got %d states, want %d: %+v", len(states), len(want), states)
	}
	for i, w := range want {
		s := states[i]
		if release := map[string]string{older1: "0.27.0", older2: "0.28.0"}[w.commit]; s.Release != release {
			t.Errorf("state %d: release %q, want %q", i, s.Release, release)
		}
		if s.Commit != w.commit || s.Source != w.source {
			t.Errorf("state %d: got %s %q, want %s %q", i, s.Commit, s.Source, w.commit, w.source)
		}
		if len(s.Back) != 2 || s.Back[0] != w.back || s.Back[1] != "/home/me/ComfyUI/venv/bin/python -m pip install -r /home/me/ComfyUI/requirements.txt" {
			t.Errorf("state %d: way back %q", i, s.Back)
		}
	}
}

// TestPortable checks the updater's branch and its requirements, and that the way
// back needs no git.
func TestPortable(t *testing.T) {
	dir := "D/AI/ComfyUI_windows_portable"
	files := code(dir+"/ComfyUI", tree{
		".git/HEAD": atHead,
		".git/refs/heads/backup_branch_2026-11-02_10_11_12": older1 + "\n",
		".git/refs/heads/master":                            atHead + "\n",
		".git/logs/HEAD":                                    moved(older1, atHead, time.Date(2026, 11, 2, 10, 11, 40, 0, time.Local), ""),
		"requirements.txt":                                  "comfy-aimdo==0.4.13\ntorch\n",
	})
	files[dir+"/python_embeded/python.exe"] = ""
	files[dir+"/python_embeded/Lib/site-packages/comfy_aimdo-0.4.13.dist-info/RECORD"] = ""
	files[dir+"/python_embeded/Lib/site-packages/torch-2.11.0+cu130.dist-info/RECORD"] = ""
	files[dir+"/update/current_requirements.txt"] = "comfy-aimdo==0.4.10\r\ntorch\r\n"
	m := machine("windows", files, map[string]time.Time{
		dir + "/python_embeded": day(9, 1, 12),
		dir + "/python_embeded/Lib/site-packages/comfy_aimdo-0.4.13": day(11, 2, 10),
		dir + "/update": day(10, 5, 8),
	})
	states, warnings, err := Find(at(t, m, `D:\AI\ComfyUI_windows_portable`))
	if err != nil {
		t.Fatal(err)
	}
	if len(states) != 2 {
		t.Fatalf("got %d states, want the branch and the requirements: %+v", len(states), states)
	}
	s := states[0]
	if s.Commit != older1 || !strings.Contains(s.Source, "backup_branch_2026-11-02_10_11_12") || !strings.Contains(s.Source, "reflog") {
		t.Errorf("first state: %s %q", s.Commit, s.Source)
	}
	all := strings.Join(s.Back, "\n")
	if !strings.Contains(all, `cd /d D:\AI\ComfyUI_windows_portable`) || !strings.Contains(all, "pygit2") || strings.Contains(all, "git -C") {
		t.Errorf("way back: %s", all)
	}
	if got := states[1].Packages["comfy-aimdo"]; got != "0.4.10" {
		t.Errorf("updater's comfy-aimdo: got %q, want 0.4.10", got)
	}
	if !slices.Contains(states[1].Back, `.\python_embeded\python.exe -s -m pip install comfy-aimdo==0.4.10`) {
		t.Errorf("way back to packages: %q", states[1].Back)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "2026-10-05") {
		t.Errorf("no word about packages that do not fit the code: %q", warnings)
	}
	days := Days(at(t, m, `D:\AI\ComfyUI_windows_portable`))
	if len(days) != 2 || !days[0].Date.Equal(day(11, 2, 0)) || !slices.Equal(days[0].Memory(), []string{"comfy-aimdo 0.4.13"}) {
		t.Errorf("days of packages: %+v", days)
	}
}

// TestSnapshots checks Manager's and the desktop program's.
func TestSnapshots(t *testing.T) {
	files := code("home/me/ComfyUI", tree{
		".git/HEAD":        atHead,
		".git/logs/HEAD":   moved(none, atHead, day(9, 1, 1), "clone: from x"),
		".venv/bin/python": "",
		".venv/lib/python3.12/site-packages/torch-2.11.0+cu130.dist-info/METADATA": "",
		".venv/lib/python3.12/site-packages/pip/__init__.py":                       "",
		"custom_nodes/ComfyUI-GGUF/.git/HEAD":                                      older2,
		"custom_nodes/rgthree/pyproject.toml":                                      "[project]\nname = \"rgthree-comfy\"\nversion = \"1.0.2\"\n",
		"user/default/ComfyUI-Manager/snapshots/2026-11-01_20-00-00_autosave.json": `{"comfyui": "` + atHead + `",
			"git_custom_nodes": {"https://github.com/city96/ComfyUI-GGUF": {"hash": "` + older1 + `", "disabled": false}},
			"cnr_custom_nodes": {"rgthree-comfy": "1.0.1"}, "file_custom_nodes": [], "pips": {"torch==2.10.0+cu130": "", "numpy @ file:///x": ""}}`,
		"user/default/ComfyUI-Manager/snapshots/broken.json": "{",
	})
	m := machine("linux", files, nil)
	states, warnings, err := Find(at(t, m, "/home/me/ComfyUI"))
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "broken.json") {
		t.Errorf("warnings %q", warnings)
	}
	if len(states) != 1 || !states[0].When.Equal(day(11, 1, 20)) {
		t.Fatalf("got %+v", states)
	}
	now, _ := Now(at(t, m, "/home/me/ComfyUI"))
	var got []string
	for _, c := range Diff(states[0], now) {
		got = append(got, c.String())
	}
	want := []string{"torch 2.10.0+cu130 -> 2.11.0+cu130", "custom node comfyui-gguf 11111111 -> 22222222", "custom node rgthree-comfy 1.0.1 -> 1.0.2"}
	if !slices.Equal(got, want) {
		t.Errorf("changes: got %q, want %q", got, want)
	}
}

// TestDesktop2 checks a snapshot of the newer desktop program.
func TestDesktop2(t *testing.T) {
	dir := "Users/me/ComfyUI-Installs/ComfyUI"
	files := code(dir+"/ComfyUI", tree{".git/HEAD": atHead})
	files[dir+"/standalone-env/bin/python3"] = ""
	files[dir+"/standalone-env/lib/python3.13/site-packages/torch-2.11.0.dist-info/RECORD"] = ""
	files[dir+"/.launcher/snapshots/20261101_200000_000-pre-update-abcdef.json"] = `{"version": 2, "createdAt": "2026-11-01T20:00:00.000Z",
		"trigger": "pre-update", "label": null, "comfyui": {"ref": "v0.28.0", "commit": "` + older1 + `", "releaseTag": "", "variant": "", "baseTag": "v0.28.0"},
		"customNodes": [], "pipPackages": {"torch": "2.11.0"}}`
	in := at(t, machine("darwin", files, nil), "/Users/me/ComfyUI-Installs/ComfyUI")
	if in.Kind != installs.Desktop2 {
		t.Errorf("kind %q", in.Kind)
	}
	states, _, err := Find(in)
	if err != nil || len(states) != 1 {
		t.Fatalf("error %v, states %+v", err, states)
	}
	s := states[0]
	if s.Commit != older1 || s.Release != "0.28.0" || !strings.Contains(s.Source, "pre-update") || !strings.Contains(s.Back[0], "Restore") {
		t.Errorf("got %+v", s)
	}
}

// TestKnownRelease checks that a release is named, and what its requirements asked
// for, where the clone has neither tags nor objects.
func TestKnownRelease(t *testing.T) {
	const v028, v029 = "700821e1364eaab0e8f21c538a2131719fec57bf", "a8c44f9b2a0678ac4082e3529a3f43db7472acfe"
	m := machine("linux", code("c", tree{
		".git/HEAD":        v029,
		".git/logs/HEAD":   moved(v028, v029, day(11, 2, 9), "pull: Fast-forward"),
		".venv/bin/python": "",
		".venv/lib/python3.12/site-packages/comfy_kitchen-0.2.22.dist-info/RECORD": "",
		".venv/lib/python3.12/site-packages/comfy_aimdo-0.4.10.dist-info/RECORD":   "",
	}), nil)
	in := at(t, m, "/c")
	states, _, err := Find(in)
	if err != nil || len(states) != 1 {
		t.Fatalf("error %v, states %+v", err, states)
	}
	now, _ := Now(in)
	var got []string
	for _, c := range Diff(states[0], now) {
		got = append(got, c.String())
	}
	if want := []string{"ComfyUI 0.28.0 -> 0.29.0", "comfy-kitchen 0.2.20 -> 0.2.22"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(states[0].Back) != 2 { // requirements.txt of that commit has the pins
		t.Errorf("back %q", states[0].Back)
	}
}

// TestOdd checks what is no history: broken reflogs, a worktree, no git at all.
func TestOdd(t *testing.T) {
	if _, ok := parseMove("garbage"); ok {
		t.Error("garbage is taken for a move")
	}
	m := machine("linux", code("w", tree{
		".git": "gitdir: ../main/.git/worktrees/w\n",
	}), nil)
	for name, text := range map[string]string{
		"main/.git/worktrees/w/HEAD":      "ref: refs/heads/x\n",
		"main/.git/worktrees/w/commondir": "../..\n",
		"main/.git/refs/heads/x":          older1 + "\n",
	} {
		m.FS.(fstest.MapFS)[name] = &fstest.MapFile{Data: []byte(text)}
	}
	now, warnings := Now(at(t, m, "/w"))
	if now.Commit != older1 || len(warnings) > 0 {
		t.Errorf("worktree: commit %q, warnings %q", now.Commit, warnings)
	}
	bare := at(t, machine("linux", code("x", nil), nil), "/x")
	states, warnings, err := Find(bare)
	if err != nil || len(states) > 0 || len(warnings) > 0 {
		t.Errorf("no git: %v %q %v", states, warnings, err)
	}
}
