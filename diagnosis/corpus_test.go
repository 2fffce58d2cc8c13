package diagnosis

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

// corpusReport is a public report whose quoted lines show what ran out.
type corpusReport struct {
	ID    string   `json:"id"`
	URL   string   `json:"url"`
	Log   []string `json:"log"`
	Label struct {
		Memory memtrix.Memory `json:"memory"`
		Phase  memtrix.Phase  `json:"phase"`
	} `json:"label"`
}

func corpus(t testing.TB) []corpusReport {
	t.Helper()
	f, err := os.Open("testdata/reports.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []corpusReport
	for s := bufio.NewScanner(f); s.Scan(); {
		var r corpusReport
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// developed are the ids of the half that the rules were written on.
func developed(t testing.TB) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("testdata/developed.txt")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, id := range strings.Fields(string(data)) {
		ids[id] = true
	}
	return ids
}

// Ensure that at least 95 % of the public reports are laid to the right memory.
// `make confusion` prints the table.
func TestCorpus(t *testing.T) {
	mine := developed(t)
	only := os.Getenv("MEMTRIX_CORPUS") // "developed" or "checked"
	type cell struct{ want, got memtrix.Memory }
	table := map[cell]int{}
	right, graded, phases, withPhase := map[string]int{}, map[string]int{}, 0, 0
	for _, r := range corpus(t) {
		half := "checked"
		if mine[r.ID] {
			half = "developed"
		}
		if only != "" && only != half {
			continue
		}
		got := Judge(Evidence{Log: logOf(strings.Join(r.Log, "\n"))})
		said := cmp.Or(got.Memory, "(nothing)")
		table[cell{r.Label.Memory, said}]++
		if r.Label.Phase != "" {
			withPhase++
			if got.Phase == r.Label.Phase {
				phases++
			}
		}
		if r.Label.Memory == memtrix.MemoryUnknown {
			continue
		}
		graded[half]++
		if said == r.Label.Memory {
			right[half]++
			continue
		}
		t.Logf("%s: want %s, got %s %s (rule %q): %q", r.ID, r.Label.Memory, got.Kind, said, got.Rule, r.Log)
	}
	var names []memtrix.Memory
	for c := range table {
		names = append(names, c.want, c.got)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s", "label \\ said")
	for _, n := range names {
		fmt.Fprintf(&b, "%18s", n)
	}
	for _, want := range names {
		fmt.Fprintf(&b, "\n%-18s", want)
		for _, got := range names {
			fmt.Fprintf(&b, "%18d", table[cell{want, got}])
		}
	}
	t.Logf("\n%s", b.String())
	all, sum := 0, 0
	for _, half := range []string{"developed", "checked"} {
		t.Logf("%s half: %d of %d right", half, right[half], graded[half])
		all, sum = all+graded[half], sum+right[half]
	}
	t.Logf("phase as labelled: %d of %d (not every text can show it)", phases, withPhase)
	if 100*sum < 95*all {
		t.Errorf("%d of %d are right, which is less than 95 %%", sum, all)
	}
}
