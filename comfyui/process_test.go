//go:build linux

package comfyui

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"memtrix"
)

// started starts the fake server and waits until it is ready.
func started(t *testing.T, mode string, change func(*Target, *memtrix.Job)) *Instance {
	t.Helper()
	target := &Target{SimCommand: simFake, InterruptWait: 5 * time.Second}
	job := simJob(t.TempDir(), "029-cpu-sd15", mode)
	if change != nil {
		change(target, &job)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	i, err := target.Start(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Stop(context.Background()) })
	if err := i.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return i.(*Instance)
}

func TestInstance(t *testing.T) {
	var mu sync.Mutex
	var lines []memtrix.LogLine
	var events []memtrix.Event
	i := started(t, "", func(_ *Target, job *memtrix.Job) {
		job.Argv, job.Extra = []string{"--cpu"}, []string{"--fast", "fp16_accumulation"}
		job.Log = func(l memtrix.LogLine) { mu.Lock(); defer mu.Unlock(); lines = append(lines, l) }
		job.Event = func(e memtrix.Event) { mu.Lock(); defer mu.Unlock(); events = append(events, e) }
		job.Cell.Workflow.Graph = sd15Graph(t)
	})
	ctx := context.Background()
	r, err := i.Do(ctx, 1)
	if err != nil || r.Outcome != memtrix.Pass {
		t.Errorf("got %+v, %v, want a pass", r, err)
	}
	if err := i.Free(ctx); err != nil {
		t.Errorf("free: %v", err)
	}
	exit := i.Stop(ctx)
	if want := (memtrix.Exit{Asked: true, BySignal: "INT"}); exit != want {
		t.Errorf("exit = %+v, want %+v", exit, want)
	}
	if again := i.Stop(ctx); again != exit {
		t.Errorf("second stop = %+v, want %+v", again, exit)
	}
	if err := i.FilesError(); err != nil {
		t.Errorf("files: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	checkRaw(t, i.layout.dir, lines)
	if got := []memtrix.EventKind{events[0].Kind, events[len(events)-1].Kind}; !slices.Equal(got, []memtrix.EventKind{memtrix.EventReady, memtrix.EventPromptEnd}) {
		t.Errorf("first and last event %q", got)
	}
	entries, err := os.ReadDir(i.layout.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{CommandFile, EventsFile, LogTimes, LogFile, "output", "user"}; !slices.Equal(names, want) {
		t.Errorf("the trial's folder holds %q, want %q", names, want)
	}
}

// checkRaw compares the raw files with what was reported.
func checkRaw(t *testing.T, dir string, lines []memtrix.LogLine) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, LogFile))
	if err != nil {
		t.Fatal(err)
	}
	var stderr []string
	for _, l := range lines {
		if l.Stream == "stderr" {
			stderr = append(stderr, l.Text)
		} else if !strings.HasPrefix(l.Text, "in "+filepath.Join(dir, WorkFolder)+": ") {
			// What a server leaves where it works is looked for there (--oom-detail).
			t.Errorf("stdout %q, want it to work in its own folder", l.Text)
		} else if want := "--disable-all-custom-nodes --base-directory " + dir; !strings.Contains(l.Text, want) || !strings.HasSuffix(l.Text, "--cpu --fast fp16_accumulation") {
			t.Errorf("stdout %q, want the flags of the layout, then the trial's", l.Text)
		}
	}
	want := []string{"\x1b[32m[INFO]\x1b[0m Starting server", "", "\r  0%|          | 0/2\r 50%|#####     | 1/2", "", "Stopped server"}
	if !slices.Equal(stderr, want) {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
	for _, part := range []string{want[0] + "\n\n", want[2] + "\n", "\nStopped server"} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("log.txt lacks %q", part)
		}
	}
	times, err := os.ReadFile(filepath.Join(dir, LogTimes))
	if err != nil || strings.Count(string(times), "\n") != len(lines) {
		t.Errorf("log.jsonl has %d lines, want %d (%v)", strings.Count(string(times), "\n"), len(lines), err)
	}
	events, err := os.ReadFile(filepath.Join(dir, EventsFile))
	if err != nil || !strings.Contains(string(events), `"post_prompt": {`) || !strings.Contains(string(events), `"history": {`) {
		t.Errorf("events.jsonl lacks something (%v): %.200s", err, events)
	}
}

// A server that ignores signals is killed, with its group.
func TestStopDeaf(t *testing.T) {
	i := started(t, "deaf", func(target *Target, _ *memtrix.Job) {
		target.InterruptWait, target.TerminateWait = 50*time.Millisecond, 50*time.Millisecond
	})
	exit := i.Stop(context.Background())
	if want := (memtrix.Exit{Asked: true, Status: -1, Signal: "KILL", BySignal: "KILL"}); exit != want {
		t.Errorf("exit = %+v, want %+v", exit, want)
	}
}

func TestStopCancelled(t *testing.T) {
	i := started(t, "deaf", nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if exit := i.Stop(ctx); exit.BySignal != "KILL" {
		t.Errorf("exit = %+v, want a kill at once", exit)
	}
}

// Nothing that a server started is left: neither a child nor what left its group,
// its session and its parent.
func TestStopLeavesNothing(t *testing.T) {
	i := started(t, "children", nil)
	var pids []int
	for _, line := range i.log.last(10) {
		for _, word := range strings.Fields(line) {
			if pid, err := strconv.Atoi(word); err == nil && strings.HasPrefix(line, "children") {
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) != 2 || !alive(pids[0]) || !alive(pids[1]) {
		t.Fatalf("children %v, want two that live", pids)
	}
	if exit := i.Stop(context.Background()); exit.BySignal != "INT" {
		t.Errorf("exit = %+v, want an end by SIGINT", exit)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

func TestServerKilled(t *testing.T) {
	i := started(t, "", func(_ *Target, job *memtrix.Job) {
		job.Env[fakeServer] = "029-cpu-killed-in-sample"
		job.Cell.Workflow.Graph = sd15Graph(t)
	})
	_, err := i.Do(context.Background(), 1)
	if err == nil || !strings.Contains(err.Error(), "killed by signal KILL") {
		t.Errorf("err = %v, want the signal", err)
	}
	if got, want := i.Stop(context.Background()), (memtrix.Exit{Status: -1, Signal: "KILL"}); got != want {
		t.Errorf("exit = %+v, want %+v", got, want)
	}
}

// When memtrix is killed, so is the server.
func TestServerDiesWithParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), fakeParent+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(scanLine(out))
	if err != nil {
		parent.Process.Kill()
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Error("the server does not live")
	}
	parent.Process.Kill()
	parent.Wait()
	for deadline := time.Now().Add(5 * time.Second); alive(pid) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if alive(pid) {
		t.Error("the server outlived its parent")
	}
}

func TestStartFailures(t *testing.T) {
	for _, c := range []struct {
		mode string
		is   error
		want []string
	}{
		{"no-module", nil, []string{"ended while starting (exit status 1)", "No module named 'torchsde'", "-m pip install -r"}},
		{"no-gpu", nil, []string{"device: cpu"}},
		{"port-taken", ErrPortTaken, []string{"Port 8470 is already in use"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			target := &Target{SimCommand: simFake}
			i, err := target.Start(context.Background(), simJob(t.TempDir(), "029-cpu-sd15", c.mode))
			if err != nil {
				t.Fatal(err)
			}
			err = i.Ready(context.Background())
			if err == nil || c.is != nil && !errors.Is(err, c.is) || c.is == nil && errors.Is(err, ErrPortTaken) {
				t.Fatalf("err = %v, want %v", err, c.is)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
			if _, err := i.Do(context.Background(), 1); err == nil {
				t.Error("a server that is not ready did something")
			}
			if exit := i.Stop(context.Background()); exit.Asked || exit.Status != 1 {
				t.Errorf("exit = %+v, want status 1 by itself", exit)
			}
		})
	}
}

func TestReadyTimeout(t *testing.T) {
	target := &Target{SimCommand: func(memtrix.Version, memtrix.Job) []string {
		return []string{"sh", "-c", "echo thinking; sleep 60", "sh"}
	}}
	i, err := target.Start(context.Background(), simJob(t.TempDir(), "x", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	await(t, "its line", func() bool { return slices.Contains(i.(*Instance).log.last(1), "thinking") })
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := i.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "thinking") {
		t.Errorf("err = %v, want the deadline and the last lines", err)
	}
}

func TestStartErrors(t *testing.T) {
	tree := smallTree(t)
	used := t.TempDir()
	put(t, filepath.Join(used, "input", "holiday.jpg"), "")
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "")
	real := memtrix.Version{Name: "v", Target: memtrix.TargetComfyUI, Dir: tree, Python: "/nonexistent/python"}
	noPack := real
	noPack.Packs = packsOf(tree, "nope")
	for _, c := range []struct {
		name string
		job  memtrix.Job
		want string
	}{
		{"no python", memtrix.Job{Cell: memtrix.Cell{Version: real}}, "start /nonexistent/python"},
		{"no program", memtrix.Job{Cell: memtrix.Cell{Version: memtrix.Version{Name: "s", Target: memtrix.TargetSim}}}, "no program to run it"},
		{"own flag", memtrix.Job{Extra: []string{"--port", "1"}}, "memtrix sets --port itself"},
		{"own flag, abbreviated", memtrix.Job{Extra: []string{"--base-dir=/x"}}, "memtrix sets --base-directory itself"},
		{"no flag", memtrix.Job{Extra: []string{"lowvram"}}, `"lowvram" is no flag`},
		{"folder in use", memtrix.Job{Dir: used, Cell: memtrix.Cell{Version: real}}, "files of somebody else"},
		{"folder is a file", memtrix.Job{Dir: file, Cell: memtrix.Cell{Version: real}}, "not a directory"},
		{"no models", memtrix.Job{Models: []string{"/nonexistent/models"}, Cell: memtrix.Cell{Version: real}}, "/nonexistent/models does not exist"},
		{"no pack", memtrix.Job{Cell: memtrix.Cell{Version: noPack}}, "custom node nope: stat "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.job.Dir == "" {
				c.job.Dir = t.TempDir()
			}
			_, err := (&Target{}).Start(context.Background(), c.job)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(used, "input", "holiday.jpg")); errors.Is(err, fs.ErrNotExist) {
		t.Error("a refused folder was emptied")
	}
}

// The version's tree is untouched by a whole trial, and a server may not even
// find its folders writable.
func TestTreeUntouched(t *testing.T) {
	tree := smallTree(t)
	before := treeState(t, tree)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	i := started(t, "", func(target *Target, job *memtrix.Job) {
		target.CacheDir = t.TempDir()
		job.Cell.Version = memtrix.Version{Name: "v", Target: memtrix.TargetComfyUI, Dir: tree, Python: self}
		job.Cell.Workflow.Graph = sd15Graph(t)
		job.Cell.Version.Packs = packsOf(tree, "pack")
	})
	if _, err := i.Do(context.Background(), 1); err != nil {
		t.Error(err)
	}
	i.Stop(context.Background())
	if after := treeState(t, tree); after != before {
		t.Errorf("the tree changed:\n%s\n%s", before, after)
	}
}

func TestParseStat(t *testing.T) {
	s, ok := parseStat("12 (a) b) c) S 3 4 5 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 98765 1 2")
	if want := (stat{state: 'S', ppid: 3, session: 5, start: "98765"}); !ok || s != want {
		t.Errorf("got %+v, %v, want %+v", s, ok, want)
	}
	if _, ok := parseStat("12 (gone"); ok {
		t.Error("half a line was taken")
	}
}
