package comfysim

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestConformance starts the simulation with the flags and the card of each
// recording, drives it as the recording was driven, and compares all that comes
// back. See allowedDifferences for what may differ.
func TestConformance(t *testing.T) {
	for _, tr := range transcripts(t) {
		if len(tr.events) == 0 {
			continue // a start-up failure
		}
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			dir := newBase(t, strings.Contains(tr.log, "User settings have been changed"), tr.models()...)
			c := start(t, dir, append(tr.simFlags(), tr.flags(t, dir)...)...)
			c.ready()
			cl := connect(t, c)
			cl.drive(&tr)
			for _, end := range []string{"Prompt executed in", "invalid prompt"} {
				c.waitLogTimes(end, strings.Count(tr.log, end))
			}
			compareEvents(t, tr.events, cl.events)
			compareLines(t, "log", neutral(normalLog(tr.log), "/srv/comfy", "/srv/frontend"),
				neutral(normalLog(c.logText()), dir, filepath.Join(dir, "frontend")))
		})
	}
}

func (tr *transcript) models() []string {
	if tr.meta.Card != nil {
		return []string{"sdxl"}
	}
	return []string{"sd15"}
}

var totals = regexp.MustCompile(`Total VRAM (\d+) MB, total RAM (\d+) MB`)

// simFlags give the simulation the recording's machine.
func (tr *transcript) simFlags() []string {
	m := totals.FindStringSubmatch(tr.log)
	ram := int64(0)
	for _, c := range m[2] {
		ram = ram*10 + int64(c-'0')
	}
	speed := "1000"
	if strings.Contains(tr.name, "killed") || strings.Contains(tr.name, "interrupted") {
		speed = "20" // the driver must come in between two steps, also on a busy machine
	}
	flags := []string{"--sim-version", tr.meta.ComfyUI, "--sim-scale", "0.002", "--sim-speed", speed, "--sim-ram", mibArg(ram)}
	if tr.meta.Card != nil {
		// NVML shows 615 MiB more than CUDA: the driver's own.
		flags = append(flags, "--sim-card", mibArg(143771), "--sim-card-free", mibArg(tr.meta.FreeMiB))
	}
	if strings.Contains(tr.name, "thrash") {
		flags = append(flags, "--sim-fault", faultHangInLoad)
	}
	return flags
}

// flags are the recording's own, with paths of this test.
func (tr *transcript) flags(t *testing.T, dir string) []string {
	t.Helper()
	args := slices.Clone(tr.meta.Argv)
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--listen", "--port":
			args = slices.Delete(args, i, i+2)
			i--
		case "--base-directory":
			args[i+1] = dir
		case "--front-end-root":
			args[i+1] = filepath.Join(dir, "frontend")
			if err := os.Mkdir(args[i+1], 0o755); err != nil {
				t.Fatal(err)
			}
		case "--database-url":
			args[i+1] = "sqlite:///" + filepath.Join(dir, "trial.sqlite")
		}
	}
	return args
}

func neutral(lines []string, base, frontend string) []string {
	base, frontend = normalText(base), normalText(frontend)
	for i := range lines {
		lines[i] = strings.ReplaceAll(strings.ReplaceAll(lines[i], frontend, "FRONTEND"), base, "BASE")
	}
	return lines
}

func compareEvents(t *testing.T, want, got []event) {
	t.Helper()
	wantSteps, gotSteps := steps(want), steps(got)
	side := func(events []event) []string {
		prompt := 0
		var out []string
		for _, e := range events {
			if e.kind == "post_prompt" {
				prompt++
			}
			out = append(out, normalEvents([]event{e}, func(node, value string) bool {
				key := itoa(prompt) + " " + node + " " + value
				return wantSteps[key] && gotSteps[key]
			})...)
		}
		return out
	}
	compareLines(t, "events", side(want), side(got))
}

// compareLines shows the first difference with some lines before it.
func compareLines(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := 0; i < max(len(want), len(got)); i++ {
		w, g := "(nothing)", "(nothing)"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			before := strings.Join(want[max(0, min(i, len(want))-4):min(i, len(want))], "\n  ")
			t.Errorf("%s %d of %d (got %d), after\n  %s\nwant %s\n got %s", what, i, len(want), len(got), before, w, g)
			return
		}
	}
}

// TestStartUpFailures compares what the recordings of failed starts show.
func TestStartUpFailures(t *testing.T) {
	t.Run("029-startup-unknown-flag", func(t *testing.T) {
		tr := readTranscript(t, "029-startup-unknown-flag")
		c := startArgs(t, t.TempDir(), tr.meta.Argv...)
		if got, want := c.status(), 2; got != want {
			t.Errorf("status %d, want %d", got, want)
		}
		if got := c.logText(); got != tr.log {
			t.Errorf("want\n%s\ngot\n%s", tr.log, got)
		}
	})
	t.Run("029-startup-port-in-use", func(t *testing.T) {
		tr := readTranscript(t, "029-startup-port-in-use")
		dir := newBase(t, false, "sd15")
		first := start(t, dir, "--sim-speed", "1000", "--sim-scale", "0.001", "--cpu")
		first.ready()
		second := startArgs(t, dir, "--listen", "127.0.0.1", "--port", first.addr[len("127.0.0.1:"):], "--cpu", "--base-directory", dir,
			"--disable-all-custom-nodes", "--sim-speed", "1000", "--sim-scale", "0.001")
		if got, want := second.status(), 1; got != want {
			t.Errorf("status %d, want %d", got, want)
		}
		// Two servers of one base directory share a database: the first has
		// upgraded it. The recording had one of its own.
		want := slices.DeleteFunc(normalLog(tr.log), isDatabaseLine)
		got := slices.DeleteFunc(normalLog(second.logText()), isDatabaseLine)
		compareLines(t, "log", want, got)
	})
}

func isDatabaseLine(line string) bool {
	return regexp.MustCompile(`SQLiteImpl|non-transactional|Running upgrade|Revis|Create Date|preview_id FK|Database upgraded`).MatchString(line)
}

func TestAllowedDifferencesHaveReasons(t *testing.T) {
	for _, d := range allowedDifferences {
		if d.what == "" || d.reason == "" {
			t.Errorf("%q: no reason", d.what)
		}
	}
}
