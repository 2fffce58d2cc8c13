package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"memtrix/hardware"
)

// TestKilled kills memtrix at random moments of a trial in a small machine: no
// server, no keeper and no memory group may be left. MEMTRIX_KILLS=20 is the long
// form (make kills).
func TestKilled(t *testing.T) {
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("MEMTRIX_KILLS")); err == nil {
		kills = n
	}
	spec := "ram: 512MiB"
	if g, err := hardware.MakeGroup(fmt.Sprintf("memtrix-probe-%d", os.Getpid()), 64<<20, nil); err != nil {
		t.Logf("without a memory group: %v", err)
		spec = "vram: 8GiB"
	} else if err := g.End(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	self := filepath.Join(dir, "memtrix")
	if err := os.Link(os.Args[0], self); err != nil {
		data, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(self, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "spec.yaml")
	text := "versions: [{sim: 0.29.0}]\nworkflows: [image]\nsettings: {list: [{}, {cache: none}]}\n" +
		"hardware: [{name: small, " + spec + "}]\nrest: 3s\nfree: off\nargs: [--sim-scale, '0.02', --sim-speed, '50']\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := 0 // what a kill could have left
	for n := range kills {
		cmd := exec.Command(self, "run", file, "--results", filepath.Join(dir, "r"), "-q", "--session", "new")
		cmd.Env = append(os.Environ(), "HOME="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Every third one is killed while it starts, the others once there is
		// something to leave behind.
		for deadline := time.Now().Add(30 * time.Second); n%3 != 2 && len(leftovers(self, cmd.Process.Pid)) == 0 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Duration(rand.IntN(2500)) * time.Millisecond)
		seen += len(leftovers(self, cmd.Process.Pid))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		left := leftovers(self, cmd.Process.Pid)
		for deadline := time.Now().Add(30 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = leftovers(self, cmd.Process.Pid) {
			time.Sleep(50 * time.Millisecond)
		}
		if len(left) > 0 {
			t.Errorf("kill %d left behind: %s", n+1, strings.Join(left, "; "))
		}
	}
	if seen == 0 {
		t.Error("nothing was there to be left behind: the test proves nothing")
	}
	t.Logf("%d kills, %d servers, keepers and groups that could have been left", kills, seen)
}

// leftovers are the processes other than pid that run a program, and the memory
// groups that pid had made.
func leftovers(program string, pid int) []string {
	var left []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		data, err := os.ReadFile(path)
		if err == nil && path != fmt.Sprintf("/proc/%d/cmdline", pid) && strings.HasPrefix(string(data), program+"\x00") {
			left = append(left, strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	for _, pattern := range []string{"/sys/fs/cgroup/memtrix-%d-*", "/sys/fs/cgroup/memory/memtrix-%d-*"} {
		groups, _ := filepath.Glob(fmt.Sprintf(pattern, pid))
		left = append(left, groups...)
	}
	return left
}
