package comfyui

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestWatchedZombie tells how a process ended whose parent has not asked yet.
func TestWatchedZombie(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, err := startOf(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	w := watchProcess(cmd.Process.Pid, start)
	defer w.close()
	_ = cmd.Process.Kill()
	<-w.exited
	if exit, ok := w.exit(); !ok || exit.Signal != "KILL" {
		t.Errorf("got %+v, %v, want signal KILL", exit, ok)
	}
	_ = cmd.Wait()
}
