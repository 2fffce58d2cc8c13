package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"memtrix"
)

// step is how long one step of a sampler took.
type step struct {
	at      time.Duration // when it ended; 0 where the log tells no times
	seconds float64
	of      string // how many steps the work has: only equal work is compared
}

const (
	// slowTimes slower is no noise and no larger picture: something else moves.
	slowTimes = 10.0
	// slowLeast seconds a step are worth a word.
	slowLeast = 1.0
	// slowSteps are looked at on each side, at least three.
	slowSteps = 9
	fewest    = 3
)

// rateText is how tqdm tells the time of a step.
var rateText = regexp.MustCompile(`, +([\d.]+)(s/it|it/s)\b`)

// slower finds the point from which steps took ten times as long, in work that
// went on without an error; nil where there is none.
func (c *cased) slower(o memtrix.Outcome) *memtrix.Slow {
	switch o.Kind {
	case memtrix.Pass, memtrix.Interrupted, memtrix.Hang:
	default:
		return nil
	}
	steps := c.stepsOfEvents()
	if len(steps) < 2*fewest {
		steps = c.stepsOfLog()
	}
	byWork := map[string][]step{}
	var order []string
	for _, s := range steps {
		if byWork[s.of] == nil {
			order = append(order, s.of)
		}
		byWork[s.of] = append(byWork[s.of], s)
	}
	for _, of := range order {
		if slow := c.slowIn(byWork[of]); slow != nil {
			return slow
		}
	}
	return nil
}

func (c *cased) slowIn(steps []step) *memtrix.Slow {
	for i := fewest; i+fewest <= len(steps); i++ {
		if steps[i].seconds < slowLeast {
			continue
		}
		before, after := steps[max(0, i-slowSteps):i], steps[i:min(len(steps), i+slowSteps)]
		slow := memtrix.Slow{Before: medianSeconds(before), After: medianSeconds(after), Memory: memtrix.MemoryUnknown}
		if slow.Before <= 0 || slow.After < slowLeast || slow.After < slowTimes*slow.Before {
			continue
		}
		c.explain(&slow, before, after)
		return &slow
	}
	return nil
}

func medianSeconds(steps []step) float64 {
	all := make([]float64, len(steps))
	for i, s := range steps {
		all[i] = s.seconds
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// stepsOfEvents leaves out the first step of a node, which loads and compiles.
func (c *cased) stepsOfEvents() []step {
	var steps []step
	var last *memtrix.Event
	for i := range c.e.Events {
		ev := &c.e.Events[i]
		if ev.Kind != memtrix.EventProgress {
			last = nil
			continue
		}
		if last != nil && ev.Max == last.Max && ev.Value > last.Value {
			took := (ev.At - last.At).Seconds() / float64(ev.Value-last.Value)
			steps = append(steps, step{at: ev.At, seconds: took, of: strconv.Itoa(ev.Max)})
		}
		last = ev
	}
	return steps
}

// stepsOfLog reads progress bars, which tell a smoothed time of a step.
func (c *cased) stepsOfLog() []step {
	var steps []step
	for _, l := range c.lines {
		if !l.bar || l.step == "0" || l.step == "1" {
			continue
		}
		m := rateText.FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || n <= 0 {
			continue
		}
		if m[2] == "it/s" {
			n = 1 / n
		}
		steps = append(steps, step{at: l.at, seconds: n, of: l.steps})
	}
	return steps
}

// explain compares what was measured during the steps before and after.
func (c *cased) explain(slow *memtrix.Slow, before, after []step) {
	a0, a1 := before[0].at, before[len(before)-1].at
	b0, b1 := after[0].at, after[len(after)-1].at
	if a1 <= a0 || b1 <= b0 {
		return // no times
	}
	say := func(format string, args ...any) { slow.Moved = append(slow.Moved, fmt.Sprintf(format, args...)) }
	const notable = 256 << 20
	for _, m := range []struct{ meter, name string }{
		{memtrix.VRAMDeviceUsed, "VRAM used"}, {memtrix.RAMTreeRSS, "RAM of the server"}, {memtrix.SwapTreeUsed, "swap of the server"}, {memtrix.SwapHostUsed, "swap used"},
	} {
		was, ok1 := highest(c.series(m.meter), a0, a1)
		is, ok2 := highest(c.series(m.meter), b0, b1)
		if ok1 && ok2 && max(is-was, was-is) >= notable {
			say("%s: %s -> %s", m.name, bytesText(was), bytesText(is))
			if (m.meter == memtrix.SwapTreeUsed || m.meter == memtrix.SwapHostUsed) && is > was {
				slow.Memory = memtrix.MemoryRAM
			}
		}
	}
	for _, m := range []struct {
		meter, name string
		least       float64 // a second
	}{{memtrix.FaultsTreeMajor, "major page faults", faultRate}, {memtrix.DiskTreeRead, "bytes read from disk", 100 << 20}} {
		was, ok1 := growth(c.series(m.meter), a0, a1)
		is, ok2 := growth(c.series(m.meter), b0, b1)
		then, now := float64(was)/(a1-a0).Seconds(), float64(is)/(b1-b0).Seconds()
		if ok1 && ok2 && now >= m.least && now >= slowTimes*then {
			say("%s: %.0f -> %.0f a second", m.name, then, now)
			slow.Memory = memtrix.MemoryRAM
		}
	}
	if p := c.pressureIn(b0, b1); p.stalled || p.short {
		slow.Moved = append(slow.Moved, p.lines...)
		slow.Memory = memtrix.MemoryRAM
	}
	c.explainByCard(slow, b0, b1)
}

// explainByCard: under Windows a full card does not fail, it spills into memory of
// the host.
func (c *cased) explainByCard(slow *memtrix.Slow, start, end time.Duration) {
	const full = 512 << 20
	free, told := lowest(c.series(memtrix.VRAMDeviceFree), start, end)
	if !told {
		used, ok := highest(c.series(memtrix.VRAMDeviceUsed), start, end)
		if b := c.banner(); ok && b.vram > 0 {
			free, told = max(0, b.vram-used), true
		}
	}
	if !told || free > full {
		return
	}
	slow.Moved = append(slow.Moved, "VRAM free: "+bytesText(free))
	if slow.Memory == memtrix.MemoryUnknown && c.e.Platform == "windows" {
		slow.Memory = memtrix.MemorySharedGPU
	}
}
