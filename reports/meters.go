package reports

import (
	"slices"
	"strings"

	"memtrix"
)

// vramMeter is the meter that a session's VRAM columns show: what the trials
// themselves used, or the whole card's use where no trial has that. One meter
// for all, since the two are different quantities; "" when there is neither.
func vramMeter(trials []*memtrix.Trial) string {
	for _, meter := range []string{memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed} {
		if slices.ContainsFunc(trials, func(t *memtrix.Trial) bool { _, ok := t.Peak(meter); return ok }) {
			return meter
		}
	}
	return ""
}

// peakMeters are the meters whose peaks a table shows and compares.
func peakMeters(trials []*memtrix.Trial) []string {
	return []string{vramMeter(trials), memtrix.RAMTreeRSS, memtrix.RAMTreeAnon}
}

// isBytes reports whether a meter counts bytes. Trials that were read without
// their series still have peaks; then the family of the name tells.
func isBytes(t *memtrix.Trial, meter string) bool {
	for _, s := range t.Series {
		if s.Meter.Name == meter {
			return s.Meter.Unit == memtrix.UnitBytes
		}
	}
	family, _, _ := strings.Cut(meter, ".")
	return family == "vram" || family == "ram" || family == "swap"
}

// meterSource is where a meter's values come from, as the trials tell: "" when
// none of them does.
func meterSource(trials []*memtrix.Trial, meter string) string {
	var sources []string
	for _, t := range trials {
		for _, s := range t.Series {
			if s.Meter.Name == meter && s.Meter.Source != "" && !slices.Contains(sources, s.Meter.Source) {
				sources = append(sources, s.Meter.Source)
			}
		}
	}
	return strings.Join(sources, " or ")
}

// commonHow is how the peaks of a meter were got, "" when trials differ or have
// none.
func commonHow(trials []*memtrix.Trial, meter string) memtrix.PeakHow {
	hows := allHows(trials, meter)
	if len(hows) != 1 {
		return ""
	}
	return hows[0]
}

func allHows(trials []*memtrix.Trial, meter string) []memtrix.PeakHow {
	var hows []memtrix.PeakHow
	for _, t := range trials {
		if p, ok := t.Peak(meter); ok && !slices.Contains(hows, p.How) {
			hows = append(hows, p.How)
		}
	}
	slices.Sort(hows)
	return hows
}

// scale is the unit of all byte columns of a sheet.
type scale struct {
	unit   string
	format func(int64) string
}

// scaleOf picks MiB, which keep whole numbers comparable, and GiB where MiB
// would have six digits.
func scaleOf(trials []*memtrix.Trial) scale {
	var most int64
	for _, t := range trials {
		for _, meter := range peakMeters(trials) {
			if p, ok := t.Peak(meter); ok {
				most = max(most, p.Value)
			}
		}
	}
	if most >= 100000*mib {
		return scale{"GiB", GiB}
	}
	return scale{"MiB", MiB}
}
