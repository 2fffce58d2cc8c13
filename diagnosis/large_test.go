package diagnosis

import (
	"fmt"
	"strings"
	"testing"

	"memtrix"
)

// Ensure that logs which repeat one kind of line without end are judged, with little
// of them as evidence. Each kind once led, or might lead, to work that grows with
// the square of their number.
func TestLargeLogs(t *testing.T) {
	const lines = 500
	for _, line := range []string{
		"!!! Exception during processing !!! x %d",
		"Traceback (most recent call last):",
		"  File \"/opt/nodes.py\", line %d, in sample",
		"  torch.OutOfMemoryError is handled %d",
		"Failed to validate prompt for output %d:",
		"RuntimeError: CUDA error: out of memory %d",
		"- **Exception Message:** CUDA error: out of memory %d",
		"Error occurred when executing KSampler: %d",
		"Killed",
		"got prompt",
		"loaded completely; 1.00 MB usable, %d.00 MB loaded, full load: True",
		" 50%%|##   | %d/100000 [00:03<00:03,  2.00s/it]",
		"|    0   N/A  N/A   %d   C   python   7MiB |",
		"hostbuf_grow: requested %d bytes beyond reserved host buffer 1",
	} {
		var log []memtrix.LogLine
		for i := range lines {
			text := line
			if strings.Contains(line, "%") {
				text = fmt.Sprintf(line, i)
			}
			log = append(log, memtrix.LogLine{Text: text})
		}
		if got := Judge(Evidence{Log: log}); got.Kind == "" || len(got.Evidence) > 100 || len(got.Holders) > 100 || len(strings.Join(got.Evidence, "")) > 1<<20 {
			t.Errorf("%q: got %s with %d lines of evidence", line, got.Kind, len(got.Evidence))
		}
	}
}
