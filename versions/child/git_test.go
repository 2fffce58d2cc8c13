package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Asking a repository runs no program that it names.
func TestGitRunsNothing(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	hook := filepath.Join(dir, "hook")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "repo")
	for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "config", "core.fsmonitor", hook}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(repo, "a"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", repo, "add", "a").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	os.Remove(ran)
	if _, err := Git(t.Context(), repo, "status", "--porcelain"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the repository's program ran")
	}
	if !IsGitTop(t.Context(), repo) || IsGitTop(t.Context(), filepath.Join(repo, ".git")) {
		t.Error("the top of a repository is not told from what lies in it")
	}
}
