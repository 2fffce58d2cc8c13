package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memtrix"
	"memtrix/diagnosis"
)

const transcripts = "../testdata/transcripts"

type expected struct {
	Outcome   memtrix.OutcomeKind `json:"outcome"`
	Memory    memtrix.Memory      `json:"memory"`
	How       memtrix.How         `json:"how"`
	Phase     memtrix.Phase       `json:"phase"`
	Node      *memtrix.Node       `json:"node"`
	Requested *int64              `json:"requested_bytes"`
	Retries   int                 `json:"hidden_retries"`
}

func there(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	} else if err != nil {
		t.Fatal(err)
	}
	return path
}

// Ensure that the files of each recording, and nothing else, give the verdict that
// is known to be right: all of them, and the log alone as far as it can tell.
func TestTranscripts(t *testing.T) {
	dirs, err := os.ReadDir(transcripts)
	if err != nil || len(dirs) != 24 {
		t.Fatalf("want 24 recordings, got %d, %v", len(dirs), err)
	}
	for _, d := range dirs {
		dir := filepath.Join(transcripts, d.Name())
		var want expected
		data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		paths := Paths{
			Log: there(t, filepath.Join(dir, "log.jsonl.gz")), Events: there(t, filepath.Join(dir, "events.jsonl.gz")),
			Memory: there(t, filepath.Join(dir, "memory.csv.gz")), Host: there(t, filepath.Join(dir, "slow.jsonl.gz")),
		}
		t.Run(d.Name(), func(t *testing.T) { compare(t, want, judged(t, paths), true) })
		t.Run(d.Name()+"/log", func(t *testing.T) {
			switch d.Name() {
			case "029-cpu-killed-in-sample", "029-ram-capped-5gib-thrash":
				want = expected{Outcome: memtrix.Pass} // it just ends
			}
			compare(t, want, judged(t, Paths{Log: paths.Log}), false)
		})
		if paths.Memory == "" {
			continue
		}
		t.Run(d.Name()+"/readings", func(t *testing.T) {
			want := expected{Outcome: memtrix.Pass}
			if strings.Contains(d.Name(), "thrash") {
				want = expected{Outcome: memtrix.OOM, Memory: memtrix.MemoryRAM, How: memtrix.HowThrash}
			}
			compare(t, want, judged(t, Paths{Memory: paths.Memory, Host: paths.Host}), false)
		})
	}
}

func judged(t *testing.T, paths Paths) memtrix.Outcome {
	t.Helper()
	e, notes, err := Read(paths, nil)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v, %q", err, notes)
	}
	return diagnosis.Judge(e)
}

// compare checks an outcome; a log names no node, but for refusals.
func compare(t *testing.T, want expected, got memtrix.Outcome, events bool) {
	t.Helper()
	if got.Kind != want.Outcome || got.Memory != want.Memory || got.How != want.How || got.Phase != want.Phase || got.HiddenRetries != want.Retries || got.Slow != nil {
		t.Errorf("want %+v, got %+v", want, got)
	}
	if (got.Requested == nil) != (want.Requested == nil) || got.Requested != nil && *got.Requested != *want.Requested {
		t.Errorf("requested: want %v, got %v", want.Requested, got.Requested)
	}
	if !events && want.Outcome != memtrix.InvalidWorkflow {
		want.Node = nil
	}
	if (got.Node == nil) != (want.Node == nil) {
		t.Fatalf("node: want %+v, got %+v", want.Node, got.Node)
	}
	// The events of a prompt that did not end name no class.
	if got.Node != nil && (got.Node.ID != want.Node.ID || got.Node.ClassType != "" && got.Node.ClassType != want.Node.ClassType) {
		t.Errorf("node: want %+v, got %+v", want.Node, got.Node)
	}
	if got.Kind == memtrix.OOM && len(got.Advice) == 0 {
		t.Errorf("no advice: %+v", got)
	}
}
