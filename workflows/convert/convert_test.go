package convert

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memtrix"
)

func unzipped(t testing.TB, path string) []byte {
	t.Helper()
	data, err := unzip(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unzip(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// objectInfo is read once: it takes longer than most tests.
var objectInfo = sync.OnceValues(func() (*Defs, error) {
	data, err := unzip("testdata/object_info.json.gz")
	if err != nil {
		return nil, err
	}
	return ParseDefs(data)
})

func testDefs(t testing.TB) *Defs {
	t.Helper()
	defs, err := objectInfo()
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

// canonicalNode is a node in the form in which the goldens were hashed: without
// its title.
func canonicalNode(t testing.TB, n memtrix.GraphNode) []byte {
	t.Helper()
	inputs := map[string]any{}
	for name, raw := range n.Inputs {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		inputs[name] = v
	}
	return Canonical(map[string]any{"class_type": n.ClassType, "inputs": inputs})
}

func canonicalPrompt(t testing.TB, prompt map[string]memtrix.GraphNode) []byte {
	var b bytes.Buffer
	for _, id := range slices.Sorted(maps.Keys(prompt)) {
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		b.Write(Canonical(id))
		b.WriteByte(':')
		b.Write(canonicalNode(t, prompt[id]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func TestCanonical(t *testing.T) {
	v, err := decode([]byte(`{"b":[1.0,1e-7,1e21,0.5],"a":"<\u2028\t>"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sum(Canonical(v)), "1ef017b0e1feae82727f5f3926b8856d4fad4d911e9041109b2df2e0932bbbeb"; got != want {
		t.Errorf("got %s, want %s: %s", got, want, Canonical(v))
	}
	for in, want := range map[string]string{"18446744073709551615": "18446744073709552000", "1e-7": "1e-7", "1e21": "1e+21", "-0": "0", "0.000001": "0.000001", "1.50": "1.5"} {
		v, err := decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Canonical(v)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// trapTime is when the traps' goldens were made, for %date%.
var trapOptions = Options{Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}

// Every trap is what the real front end makes of it, title and all.
func TestTraps(t *testing.T) {
	defs := testDefs(t)
	files, err := filepath.Glob("testdata/traps/*.ui.json")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d traps, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ui.json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Convert(data, defs, trapOptions)
			want, readErr := os.ReadFile(filepath.Join("testdata/traps", name+".api.json"))
			if readErr != nil || name == "missing_types" {
				if err == nil {
					t.Fatal("no error")
				}
				t.Log(err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			compareWith(t, got.Prompt, want)
		})
	}
}

func compareWith(t *testing.T, got map[string]memtrix.GraphNode, want []byte) {
	t.Helper()
	var graph map[string]memtrix.GraphNode
	if err := json.Unmarshal(want, &graph); err != nil {
		t.Fatal(err)
	}
	for id, w := range graph {
		g, ok := got[id]
		if !ok {
			t.Errorf("node %s (%s) is missing", id, w.ClassType)
			continue
		}
		if a, b := canonicalNode(t, g), canonicalNode(t, w); !bytes.Equal(a, b) {
			t.Errorf("node %s:\ngot  %s\nwant %s", id, a, b)
		}
		if a, b := g.Meta.Title, w.Meta.Title; a != b {
			t.Errorf("node %s: got title %q, want %q", id, a, b)
		}
	}
	for id, g := range got {
		if _, ok := graph[id]; !ok {
			t.Errorf("node %s (%s) is too much", id, g.ClassType)
		}
	}
}

type golden struct {
	Template string            `json:"template"`
	SHA256   string            `json:"sha256"`
	Nodes    map[string]string `json:"node_sha256"`
	Classes  map[string]string `json:"class_types"`
}

func goldens(t testing.TB) []golden {
	var all []golden
	in := bufio.NewScanner(bytes.NewReader(unzipped(t, "testdata/goldens.jsonl.gz")))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var g golden
		if err := json.Unmarshal(in.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}
