package recorders

import (
	"time"

	"memtrix"
)

// selfSource is what recording itself costs.
type selfSource struct {
	s      *Sampler
	slots  []*slot // all but its own
	meters []memtrix.Meter
	card   *lane // nil where no card is read
}

func newSelf(s *Sampler) *selfSource {
	f := &selfSource{s: s, slots: s.slots, meters: []memtrix.Meter{
		nsMeter(memtrix.RecorderCPU, "CLOCK_THREAD_CPUTIME_ID of the recording threads, summed"),
		countMeter(memtrix.RecorderMissed, "ticks that passed during a late reading of processes"),
	}}
	for _, l := range s.lanes {
		if l.name == laneCard && len(l.slots) > 0 {
			f.card = l
			f.meters = append(f.meters, countMeter(memtrix.RecorderMissedCard, "ticks that passed during a late reading of a card"))
		}
	}
	for _, sl := range f.slots {
		source := "CLOCK_THREAD_CPUTIME_ID around each reading"
		if sl.source.Every() < Medium {
			source = "CLOCK_THREAD_CPUTIME_ID around one reading in 16, times 16"
		}
		f.meters = append(f.meters, nsMeter(memtrix.CostPrefix+sl.name, source))
	}
	return f
}

func (f *selfSource) Meters() []memtrix.Meter { return f.meters }

func (f *selfSource) Every() time.Duration { return Seldom }

func (f *selfSource) Read(_ time.Duration, put func(int, int64)) error {
	var cpu, missed int64
	for _, l := range f.s.lanes {
		cpu += l.cpu.Load()
		if l.name == laneProcess {
			missed = l.missed.Load()
		}
	}
	i := 2
	put(1, missed)
	if f.card != nil {
		put(i, f.card.missed.Load())
		i++
	}
	if _, err := threadCPU(); err != nil {
		return err // absent, not 0
	}
	put(0, cpu)
	for k, sl := range f.slots {
		if sl.cost.measured.Load() > 0 {
			put(i+k, sl.cost.cpu.Load())
		}
	}
	return nil
}

func (f *selfSource) Close() error { return nil }

// drain moves what the cards' thread has read to where it is kept.
type drain struct{ lane *lane }

func (d *drain) Meters() []memtrix.Meter { return nil }

func (d *drain) Every() time.Duration { return Medium }

func (d *drain) Read(time.Duration, func(int, int64)) error {
	d.lane.store()
	return nil
}

func (d *drain) Close() error { return nil }
