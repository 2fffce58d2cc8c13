package runner

import (
	"time"

	"memtrix"
	"memtrix/recorders"
)

// envelopeBucket is how finely the series of a trial that went well are kept.
const envelopeBucket = 100 * time.Millisecond

// thin thins the series of a trial that passed as expected to an envelope: of
// those there are many, and the peaks in their spans were taken before. The
// series of any other trial, and of one that is to be kept, stay whole.
func thin(t *memtrix.Trial, keep bool) {
	if keep || t.Outcome.Kind != memtrix.Pass || !t.AsExpected() {
		return
	}
	for i, s := range t.Series {
		t.Series[i] = recorders.Envelope(s, envelopeBucket)
	}
}
