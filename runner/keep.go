package runner

import (
	"time"

	"memtrix"
	"memtrix/recorders"
)

// envelopeBucket is how finely the series of a trial that went well are kept.
const envelopeBucket = 100 * time.Millisecond

// Envelope is what stays of a series of which not all is kept: peaks in spans were
// taken before.
func Envelope(s memtrix.Series) memtrix.Series { return recorders.Envelope(s, envelopeBucket) }

// mostWhole is from how many points on the series of a trial that went well are
// thinned at once, and not by the session after: a night of 60 such trials stays
// below 100 MB at 2 bytes a point, whatever was recorded.
const mostWhole = 800_000

// thin thins the series of a trial where its rule says so, see memtrix.Keep. What an
// automatic rule thins later waits for a person's mark until then.
func thin(t *memtrix.Trial, keep memtrix.Keep) {
	t.Keep = keep
	if t.Keep == "" {
		t.Keep = memtrix.KeepAuto
	}
	switch t.Keep {
	case memtrix.KeepFull:
		return
	case memtrix.KeepAuto:
		if t.Outcome.Kind != memtrix.Pass || !t.AsExpected() || points(t.Series) <= mostWhole {
			return
		}
		t.Keep = memtrix.KeepEnvelope
	}
	for i, s := range t.Series {
		t.Series[i] = Envelope(s)
	}
}

func points(series []memtrix.Series) (n int) {
	for _, s := range series {
		n += len(s.T)
	}
	return n
}
