package comfyui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// What servers say of their imports is read from their logs, one second a line.
func TestImportLog(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "imports", "*.log"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d logs, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var l importLog
		for i, line := range strings.Split(string(data), "\n") {
			l.read(time.Duration(i+1)*time.Second, line)
		}
		packs := []memtrix.Pack{{Name: "good"}, {Name: "bad"}, {Name: "single.py"}}
		got, err := json.MarshalIndent(map[string]any{
			"imports": l.imports(packs), "facts": l.facts(packs), "denied": notImported(packs, l, Banner{}),
		}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(file, ".log")+".json", string(got)+"\n")
	}
}

// Before the server has said anything, nothing is known; afterwards silence is told.
func TestNotImported(t *testing.T) {
	packs := []memtrix.Pack{{Name: "p"}}
	if got := notImported(packs, importLog{}, Banner{}); got != nil {
		t.Errorf("a server that has said nothing: %q", got)
	}
	got := notImported(packs, importLog{}, Banner{VRAMState: "DISABLED"})
	if len(got) != 1 || !strings.Contains(got[0], "says nothing of its import") {
		t.Errorf("a server without imports: %q", got)
	}
	got = notImported(packs, importLog{ended: true}, Banner{})
	if len(got) != 1 || !strings.Contains(got[0], "did not import it") {
		t.Errorf("a server with other imports: %q", got)
	}
}

// A line that came late gives way to the time that the server itself took.
func TestBegunBy(t *testing.T) {
	check := func(line, end time.Duration, seconds float64, imports int, want time.Duration) {
		t.Helper()
		if got := begunBy(line, end, seconds, imports); got != want {
			t.Errorf("line %v, end %v, %v s: got %v, want %v", line, end, seconds, got, want)
		}
	}
	check(8*time.Second, 10*time.Second, 1.9, 1, 8*time.Second)
	check(9*time.Second, 10*time.Second, 1.2, 1, 8750*time.Millisecond)
	check(9*time.Second, 10*time.Second, 1.2, 2, 8700*time.Millisecond)
	check(time.Second, time.Second, 2, 1, 0)
}
