package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memtrix/bisect"
)

// A candidate comes out of a shell as it went in, and never as a part of a script.
func TestScript(t *testing.T) {
	for _, candidate := range []string{"77", "v1.2-rc", "a b", "  ", `"`, `'`, `\`, "$(touch pwned)", "`touch pwned`", "; touch pwned", "a\tb", "*", "~", "{}", "é", "-n x"} {
		for _, command := range []string{`printf '%s|' {}`, `printf "%s|" "{}"`, `printf '%s|' \x{} | cut -c 2-`, `printf '%s|' "$MEMTRIX_CANDIDATE"`} {
			script, err := Script(command, candidate)
			if err != nil {
				t.Errorf("%s of %q: %v", command, candidate, err)
				continue
			}
			cmd := exec.Command("sh", "-c", script)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), Variable+"="+candidate)
			got, err := cmd.CombinedOutput()
			if want := candidate + "|"; err != nil || strings.TrimSuffix(string(got), "\n") != want {
				t.Errorf("%s of %q (%s): %q, %v", command, candidate, script, got, err)
			}
			if _, err := os.Stat(filepath.Join(cmd.Dir, "pwned")); err == nil {
				t.Errorf("%s of %q was read by the shell", command, candidate)
			}
		}
	}
	for _, command := range []string{`sh -c 'echo {}'`, `sh -c "echo {}"`, `eval "x;{}"`} {
		if script, err := Script(command, "a b"); err == nil {
			t.Errorf("%s is taken: %s", command, script)
		}
		if _, err := Script(command, "77"); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// What a power cut leaves of a line is dropped; the rest is gone on with.
func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	h := head{Bisect: "x", Candidates: 5}
	s, err := OpenState(path, h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenState(path, h); err == nil {
		t.Error("two at once")
	}
	for i := range 3 {
		if err := s.Save(Execution{Index: i, Result: Passed}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	text, _ := os.ReadFile(path)
	for cut := range len(text) {
		os.WriteFile(path, text[:len(text)-cut], 0o644)
		s, err := OpenState(path, h)
		if err != nil {
			t.Fatalf("cut by %d: %v", cut, err)
		}
		lines := max(strings.Count(string(text[:len(text)-cut]), "\n")-1, 0)
		if len(s.Old) != lines {
			t.Errorf("cut by %d: %d runs, want %d", cut, len(s.Old), lines)
		}
		s.Close()
	}
	os.WriteFile(path, text, 0o644)
	if _, err := OpenState(path, head{Bisect: "y", Candidates: 5}); err == nil {
		t.Error("the state of another search is taken")
	}
	s, _ = OpenState(path, h)
	s.End(bisect.Found)
	s.Close()
	if s, _ = OpenState(path, h); len(s.Old) != 0 {
		t.Errorf("a finished search goes on: %v", s.Old)
	}
}
