package diagnosis

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// A log that never ends takes bounded memory, and the verdict is that of the whole
// log: wherever in it the failure is told.
func TestLogKeeper(t *testing.T) {
	failure := strings.Split(strings.TrimSpace(`
got prompt
!!! Exception during processing !!! CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free.
Traceback (most recent call last):
  File "/app/execution.py", line 510, in execute
    output_data = get_output_data()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free.

Got an OOM, unloading all loaded models.
Prompt executed in 3.00 seconds`), "\n")
	const lines = 30_000
	for _, where := range []int{10, lines / 2, lines - 10} {
		var all []memtrix.LogLine
		for i := range lines {
			if i == where {
				for _, text := range failure {
					all = append(all, memtrix.LogLine{At: time.Duration(len(all)), Text: text})
				}
			}
			text := fmt.Sprintf("step %d of a node that never stops talking about its work, %d", i, i*7) + strings.Repeat(" and on", 60)
			if i%50 == 0 {
				text = strings.Repeat("x", 300) + text
			}
			all = append(all, memtrix.LogLine{At: time.Duration(len(all)), Text: text})
		}
		var k LogKeeper
		for _, l := range all {
			k.Add(l)
		}
		kept, size := k.Lines(), 0
		for i, l := range kept {
			size += len(l.Text)
			if i > 0 && l.At <= kept[i-1].At {
				t.Fatalf("line %d is out of order", i)
			}
		}
		if limit := wholeBytes + middleBytes + tailBytes + 2*longestText; size > limit || k.Note() == "" || len(kept) == len(all) {
			t.Errorf("at %d: %d bytes of at most %d in %d lines, %q", where, size, limit, len(kept), k.Note())
		}
		want := Judge(Evidence{Log: all, Ready: true})
		got := Judge(Evidence{Log: kept, Ready: true})
		if want.Kind != memtrix.OOM || !reflect.DeepEqual(got, want) {
			t.Errorf("at %d:\nwant %+v\ngot  %+v", where, want, got)
		}
	}
}

// An ordinary log is kept as it is; one endless line is cut.
func TestLogKeeperShortLog(t *testing.T) {
	var k LogKeeper
	var want []memtrix.LogLine
	for i := range 1000 {
		l := memtrix.LogLine{At: time.Duration(i), Text: "the same"}
		want = append(want, l)
		k.Add(l)
	}
	if got := k.Lines(); !reflect.DeepEqual(got, want) || k.Note() != "" {
		t.Errorf("%d of %d lines, %q", len(got), len(want), k.Note())
	}
	k.Add(memtrix.LogLine{Text: strings.Repeat("a", 5<<20)})
	if got := k.Lines(); len(got[1000].Text) > longestText+1 {
		t.Errorf("a line of %d bytes", len(got[1000].Text))
	}
}
