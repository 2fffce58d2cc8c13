package comfysim

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func faulty(t *testing.T, fault string, args ...string) *child {
	t.Helper()
	dir := newBase(t, false, "sd15")
	return start(t, dir, append([]string{"--base-directory", dir, "--cpu", "--sim-scale", "0.001", "--sim-speed", "300",
		"--sim-fault", fault}, args...)...)
}

func TestFaultsAtStart(t *testing.T) {
	t.Parallel()
	c := faulty(t, faultMissingModule)
	if got := c.status(); got != 1 || !strings.Contains(c.logText(), "ModuleNotFoundError: No module named") {
		t.Errorf("%s: status %d\n%s", faultMissingModule, got, c.logText())
	}
	c = faulty(t, faultDieAtStart)
	if got := c.status(); got != -1 || c.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("%s: status %d", faultDieAtStart, got)
	}
	c = faulty(t, faultHangAtStart)
	c.waitLog("Setting base directory")
	select {
	case <-c.exited:
		t.Errorf("%s: ended", faultHangAtStart)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestFaultsInSample(t *testing.T) {
	t.Parallel()
	graph := textToImage("sd15.safetensors", 64, 4)
	t.Run(faultKillInSample, func(t *testing.T) {
		c := faulty(t, faultKillInSample)
		c.ready()
		cl := connect(t, c)
		cl.post(graph)
		cl.follow(nil)
		if got := c.status(); got != -1 || cl.events[len(cl.events)-1].kind != "closed" {
			t.Errorf("status %d, last event %v", got, cl.events[len(cl.events)-1])
		}
	})
	t.Run(faultErrorInSample, func(t *testing.T) {
		c := faulty(t, faultErrorInSample)
		c.ready()
		cl := connect(t, c)
		cl.post(graph)
		cl.follow(nil)
		if text := eventsText(cl); !strings.Contains(text, `"exception_type":"RuntimeError"`) || strings.Contains(text, "TIPS") {
			t.Errorf("events:\n%s", text)
		}
	})
	t.Run(faultHangInSample, func(t *testing.T) {
		c := faulty(t, faultHangInSample)
		c.ready()
		cl := connect(t, c)
		cl.post(graph)
		cl.follow(func(typ string, _ object) bool { return typ == "progress" })
		cl.request("POST", "/interrupt", []byte(`{"prompt_id": "`+cl.promptID()+`"}`))
		cl.follow(nil)
		if text := eventsText(cl); !strings.Contains(text, "execution_interrupted") || !strings.Contains(c.logText(), "Interrupting prompt") {
			t.Errorf("events:\n%s", text)
		}
	})
	t.Run(faultDropSocket, func(t *testing.T) {
		c := faulty(t, faultDropSocket)
		c.ready()
		cl := connect(t, c)
		cl.post(graph)
		cl.follow(nil)
		if last := cl.events[len(cl.events)-1].kind; last != "closed" {
			t.Errorf("last event %s, want closed", last)
		}
		c.waitLog("Prompt executed in")
		if h := cl.get("/history/" + cl.promptID()).(object); len(h) != 1 {
			t.Errorf("history %v", h)
		}
	})
}

// Ctrl-C ends with status 0 and a word, also in the middle of work; SIGTERM ends
// at once.
func TestSignals(t *testing.T) {
	t.Parallel()
	c := faulty(t, faultHangInSample)
	c.ready()
	cl := connect(t, c)
	cl.post(textToImage("sd15.safetensors", 64, 4))
	cl.follow(func(typ string, _ object) bool { return typ == "progress" })
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := c.status(); got != 0 || !strings.Contains(c.logText(), "Stopped server") {
		t.Errorf("SIGINT: status %d\n%s", got, c.logText())
	}
	c = faulty(t, faultHangInLoad)
	c.ready()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := c.status(); got != -1 || strings.Contains(c.logText(), "Stopped server") {
		t.Errorf("SIGTERM: status %d\n%s", got, c.logText())
	}
}

func TestQuickTestForCI(t *testing.T) {
	t.Parallel()
	dir := newBase(t, false)
	c := start(t, dir, "--base-directory", dir, "--cpu", "--quick-test-for-ci", "--sim-speed", "1000", "--sim-scale", "0.001")
	if got := c.status(); got != 0 || strings.Contains(c.logText(), "Starting server") ||
		!strings.Contains(c.logText(), "ComfyUI version: 0.29.0") {
		t.Errorf("status %d\n%s", got, c.logText())
	}
}
