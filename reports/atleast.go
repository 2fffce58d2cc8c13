package reports

import (
	"slices"
	"strings"

	"memtrix"
	"memtrix/diagnosis"
)

// AtLeast reports whether a trial's peak is a lower bound only: the memory ran out
// between two samples, and the allocator's own message told of more than any of them
// showed.
func AtLeast(t *memtrix.Trial, p memtrix.Peak) bool {
	// Messages round to 0.01 GiB.
	const rounding = 16 << 20
	o := t.Outcome
	if o.Kind != memtrix.OOM || o.Memory != memtrix.MemoryVRAM || p.How != memtrix.PeakSampled ||
		!slices.Contains([]string{memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed}, p.Meter) {
		return false
	}
	return diagnosis.Held(strings.Join(o.Evidence, "\n")) > p.Value+rounding
}

// lowerBounds explains ">=" where one of the rows has it.
func lowerBounds(rows []row) []string {
	for _, r := range rows {
		if r.trial == nil {
			continue
		}
		for _, meter := range []string{memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed} {
			if p, ok := r.trial.Peak(meter); ok && AtLeast(r.trial, p) {
				return []string{">=: the allocator's message about the failure told of more than was sampled; the peak fell between two samples"}
			}
		}
	}
	return nil
}
