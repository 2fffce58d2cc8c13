package diagnosis

import (
	"fmt"
	"math"
	"sort"
	"time"

	"memtrix"
)

// pressure is what was measured about RAM in a stretch of a trial.
type pressure struct {
	// measured: something is known at all.
	measured bool
	// short: the host or the cgroup had next to nothing left.
	short bool
	// stalled: work stood still for memory.
	stalled bool
	// lines say it with numbers.
	lines []string
}

const (
	// stallShare is the part of the time in which every task stood still for
	// memory that nothing but thrashing reaches. The recorded case has 0.30, all
	// other recordings 0.000.
	stallShare = 0.10
	// faultRate is in major faults a second. Reading a cold model has many as
	// well, so it counts only where RAM is short or PSI agrees.
	faultRate = 10.0
	// hitRate is how often a second a cgroup at its limit had to take pages back; the
	// recorded case has 20000.
	hitRate = 100.0
	// shortLeft bytes, or shortPart of the most that was available, is "next to
	// nothing": the kernel's own reserves are of that size.
	shortLeft = 256 << 20
	shortPart = 0.02
	// limitPart of a cgroup's limit counts as having reached it.
	limitPart = 0.97
)

// pressureIn looks at the time from start to end.
func (c *cased) pressureIn(start, end time.Duration) pressure {
	var p pressure
	c.hostShort(&p, start, end)
	c.cgroupShort(&p, start, end)
	c.stalled(&p, start, end)
	return p
}

func (c *cased) hostShort(p *pressure, start, end time.Duration) {
	s := c.series(memtrix.RAMHostAvailable)
	low, ok := lowest(s, start, end)
	if !ok {
		return
	}
	p.measured = true
	high, _ := highest(s, 0, end)
	if float64(low) < max(shortLeft, shortPart*float64(high)) {
		p.short = true
		p.lines = append(p.lines, fmt.Sprintf("RAM available on the host: %s left (%s before)", bytesText(low), bytesText(high)))
	}
}

func (c *cased) cgroupShort(p *pressure, start, end time.Duration) {
	g := c.e.Cgroup
	if g == nil {
		return
	}
	if g.OOMKills > 0 {
		p.measured, p.short = true, true
		p.lines = append(p.lines, fmt.Sprintf("cgroup: the kernel killed %d of its processes for memory", g.OOMKills))
	}
	if g.Max <= 0 {
		return
	}
	// Anonymous memory is charged to this group for certain; pages of files may be
	// charged to who read them first.
	if anon, ok := highest(c.series(memtrix.RAMTreeAnon), start, end); ok {
		p.measured = true
		if float64(anon) >= limitPart*float64(g.Max) {
			p.short = true
			p.lines = append(p.lines, fmt.Sprintf("anonymous memory of the server: %s, limit of its cgroup: %s", bytesText(anon), bytesText(g.Max)))
		}
	}
	if g.MaxEvents > 0 {
		p.lines = append(p.lines, fmt.Sprintf("cgroup: the limit of %s was hit %s", bytesText(g.Max), Often(int(g.MaxEvents))))
	}
}

func (c *cased) stalled(p *pressure, start, end time.Duration) {
	seconds := (end - start).Seconds()
	if seconds <= 0 {
		return
	}
	faults, haveFaults := growth(c.series(memtrix.FaultsTreeMajor), start, end)
	rate := float64(faults) / seconds
	full, havePSI := growth(c.series(memtrix.PSIMemoryFull), start, end)
	share := float64(full) / float64(end-start)
	if havePSI {
		p.measured = true
	}
	hits, haveHits := growth(c.series(memtrix.CgroupEventsMax), start, end)
	switch {
	case !havePSI && haveHits && float64(hits)/seconds >= hitRate && rate >= faultRate:
		p.measured, p.short, p.stalled = true, true, true
	case havePSI && share >= stallShare && (!haveFaults || rate >= faultRate):
		p.stalled = true
	case !havePSI && haveFaults && rate >= faultRate && p.short:
		p.stalled = true
	}
	if p.stalled && havePSI {
		p.lines = append(p.lines, fmt.Sprintf("PSI memory full: everything stood still for memory %.0f %% of %.0f s", 100*share, seconds))
	}
	if p.stalled && haveFaults {
		p.lines = append(p.lines, fmt.Sprintf("major page faults of the server: %d in %.0f s", faults, seconds))
	}
}

// series finds a meter that has values, nil where there is none.
func (c *cased) series(meter string) *memtrix.Series {
	for i := range c.e.Series {
		if s := &c.e.Series[i]; s.Meter.Name == meter && len(s.T) > 0 && len(s.T) == len(s.V) {
			return s
		}
	}
	return nil
}

// endOfWork is when the process was alive last, as far as it was measured.
func (c *cased) endOfWork() time.Duration {
	var end time.Duration
	for _, s := range c.e.Series {
		if len(s.T) > 0 {
			end = max(end, s.T[len(s.T)-1])
		}
	}
	// The tree's RSS falls to 0 with the process, and the host recovers.
	if s := c.series(memtrix.RAMTreeRSS); s != nil && s.V[len(s.V)-1] == 0 {
		for i := len(s.V) - 1; i >= 0 && s.V[i] == 0; i-- {
			end = s.T[i]
		}
		return end
	}
	return max(end, c.lastSign())
}

// lastSign is the last event or line.
func (c *cased) lastSign() time.Duration {
	last := c.at.last
	for _, l := range c.lines {
		last = max(last, l.at)
	}
	return last
}

// window gives the changes in [start, end], the value that held at start first.
func window(s *memtrix.Series, start, end time.Duration) []int64 {
	if s == nil {
		return nil
	}
	from := sort.Search(len(s.T), func(i int) bool { return s.T[i] > start })
	to := sort.Search(len(s.T), func(i int) bool { return s.T[i] > end })
	return s.V[max(from-1, 0):to]
}

func lowest(s *memtrix.Series, start, end time.Duration) (int64, bool) {
	low, ok := int64(math.MaxInt64), false
	for _, v := range window(s, start, end) {
		low, ok = min(low, v), true
	}
	return low, ok
}

func highest(s *memtrix.Series, start, end time.Duration) (int64, bool) {
	high, ok := int64(math.MinInt64), false
	for _, v := range window(s, start, end) {
		high, ok = max(high, v), true
	}
	return high, ok
}

// growth is how much a counter grew.
func growth(s *memtrix.Series, start, end time.Duration) (int64, bool) {
	v := window(s, start, end)
	if len(v) == 0 {
		return 0, false
	}
	return v[len(v)-1] - v[0], true
}

// bytesText is an amount for people: MiB up to 1 GiB, GiB above.
func bytesText(n int64) string {
	if n < 1<<30 && n > -1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// Often says how many times something was, as one says it.
func Often(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
