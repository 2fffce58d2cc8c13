package comfyui

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

func against(id, kind string) memtrix.Failure {
	return memtrix.Failure{Type: kind, Message: kind + " of " + id, Refused: true, Node: &memtrix.Node{ID: id, ClassType: "A"}}
}

func asItIs(w memtrix.Workflow) map[string]memtrix.GraphNode { return w.Graph }

// What the server cannot run is not sent, and all that is against it is told.
func TestFitWrong(t *testing.T) {
	f := newFake(nil)
	f.info = map[string]string{"A": `{"A": {"input": {}}}`, "B": `{}`}
	tk, events, _ := speak(t, f)
	w := memtrix.Workflow{Graph: map[string]memtrix.GraphNode{"1": {ClassType: "A"}, "2": {ClassType: "B"}, "3": {ClassType: "A"}}}
	var asked map[string]json.RawMessage
	fitting := fitting{fit: func(w memtrix.Workflow, info []byte) memtrix.Fitted {
		if err := json.Unmarshal(info, &asked); err != nil {
			t.Error(err)
		}
		return memtrix.Fitted{Workflow: w, Wrong: []memtrix.Failure{against("2", "missing-node")}, Doubts: []memtrix.Failure{against("1", "missing-model")}}
	}}
	result, err := fitting.do(context.Background(), tk, w, 1, asItIs)
	if err != nil || result.Outcome != memtrix.InvalidWorkflow || result.Index != 1 {
		t.Errorf("got %+v, %v", result, err)
	}
	if got, want := strings.Join(short(events()), ", "), "error 2 A missing-node, error 1 A missing-model"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if slices.Contains(f.requests(), "POST /prompt") {
		t.Errorf("it was sent: %v", f.requests())
	}
	if len(asked) != 1 || asked["A"] == nil {
		t.Errorf("the server told %v", asked)
	}
}

// Doubts are told where the server refuses, and only of nodes that it does not
// name itself.
func TestFitDoubts(t *testing.T) {
	doubts := []memtrix.Failure{against("9", "not-in-list"), against("77", "missing-model")}
	check := func(recording string, want memtrix.OutcomeKind, told string) {
		t.Helper()
		rec := loadRecording(t, recording)
		f := newFake(rec)
		f.info = map[string]string{}
		for _, n := range rec.graph(t) {
			f.info[n.ClassType] = "{}"
		}
		tk, events, _ := speak(t, f)
		fitting := fitting{fit: func(w memtrix.Workflow, _ []byte) memtrix.Fitted {
			return memtrix.Fitted{Workflow: w, Doubts: doubts}
		}}
		result, err := fitting.do(context.Background(), tk, memtrix.Workflow{Graph: rec.graph(t)}, 1, asItIs)
		if err != nil || result.Outcome != want {
			t.Errorf("%s: got %+v, %v", recording, result, err)
		}
		var errs []string
		for _, line := range short(events()) {
			if strings.HasPrefix(line, "error") {
				errs = append(errs, line)
			}
		}
		if got := strings.Join(errs, ", "); got != told {
			t.Errorf("%s: got %s, want %s", recording, got, told)
		}
	}
	check("029-cpu-one-output-invalid", memtrix.InvalidWorkflow, "error 9 ImageScale value_not_in_list, error 77 A missing-model")
	check("029-cpu-sd15", memtrix.Pass, "")
}

// The prompt that a workflow in UI format becomes is made once and kept.
func TestFitKeepsPrompt(t *testing.T) {
	rec := loadRecording(t, "029-cpu-sd15")
	f := newFake(rec)
	tk, _, _ := speak(t, f)
	made := 0
	fitting := fitting{dir: t.TempDir(), fit: func(w memtrix.Workflow, _ []byte) memtrix.Fitted {
		made++
		return memtrix.Fitted{Workflow: memtrix.Workflow{Graph: rec.graph(t)}, Notes: []string{"a note"}}
	}}
	w := memtrix.Workflow{UI: json.RawMessage(`{"nodes": []}`), Graph: map[string]memtrix.GraphNode{"1": {ClassType: "A"}}}
	if result, err := fitting.do(context.Background(), tk, w, 1, asItIs); err != nil || result.Outcome != memtrix.Pass {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := fitting.prepare(context.Background(), tk, w); err != nil || made != 1 {
		t.Errorf("made %d times, %v", made, err)
	}
	data, err := os.ReadFile(filepath.Join(fitting.dir, PromptFile))
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]memtrix.GraphNode
	if err := json.Unmarshal(data, &kept); err != nil || len(kept) != len(rec.graph(t)) {
		t.Errorf("kept %d nodes, %v", len(kept), err)
	}
	if !slices.Contains(f.requests(), "GET /object_info") {
		t.Errorf("asked %v", f.requests())
	}
}
