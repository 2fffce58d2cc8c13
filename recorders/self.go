package recorders

import (
	"time"

	"memtrix"
)

// selfSource is what recording itself costs. It is read on the sampler's thread.
type selfSource struct {
	missed *int64
}

func (s *selfSource) Meters() []memtrix.Meter {
	return []memtrix.Meter{
		countMeter(memtrix.RecorderMissed, "ticks that passed during a late reading"),
		nsMeter(memtrix.RecorderCPU, "CLOCK_THREAD_CPUTIME_ID of the recording thread"),
	}
}

func (s *selfSource) Every() time.Duration { return Slow }

func (s *selfSource) Read(_ time.Duration, put func(int, int64)) error {
	put(0, *s.missed)
	cpu, err := threadCPU()
	if err != nil {
		return err
	}
	put(1, int64(cpu))
	return nil
}

func (s *selfSource) Close() error { return nil }
