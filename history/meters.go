package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"memtrix"
	"memtrix/regress"
)

// DefaultMeters are what is followed and compared unless a person names others, in the
// order in which they are shown. Those that no trial has are left out. Values
// (floors, ceilings, leaks) are followed, too, whatever their names.
var DefaultMeters = []string{
	memtrix.VRAMDeviceUsed,
	memtrix.VRAMNonEvictable,
	memtrix.WeightsResident,
	memtrix.RAMTreeRSS,
	memtrix.RAMTreeAnon,
	memtrix.RAMPinned,
	memtrix.SwapTreeUsed,
	memtrix.PromptSeconds(1),
	memtrix.PromptSeconds(2),
	memtrix.IdlePrefix + memtrix.RAMTreeAnon,
	memtrix.RestedPrefix + memtrix.VRAMDeviceUsed,
	memtrix.RestedPrefix + memtrix.RAMTreeRSS,
	memtrix.RestedPrefix + memtrix.RAMTreeAnon,
	memtrix.FreedPrefix + memtrix.VRAMDeviceUsed,
	memtrix.FreedPrefix + memtrix.RAMTreeRSS,
	memtrix.FreedPrefix + memtrix.RAMTreeAnon,
}

// FilePages says of a meter of resident memory which meter is the part of it that is the
// program's own, "" where there is none. The rest of it are pages of mapped files
// (libraries, models). How many of those are resident is up to the page cache: the same
// library, touched at the same places, has a third as many after it was written as
// after it was read back from the disk, since the kernel maps what lies in one folio with
// one fault (mm/filemap.c, filemap_map_pages).
func FilePages(meter string) string {
	if prefix, ok := strings.CutSuffix(meter, memtrix.RAMTreeRSS); ok {
		return prefix + memtrix.RAMTreeAnon
	}
	return ""
}

// Meters are the meters to follow of some trials: those that a person named, as far as
// any trial has them, else the default ones. Of names that no trial has, unknown
// gives the list, and known what there is instead.
func Meters(trials []*memtrix.Brief, named []string) (meters, unknown, known []string) {
	have, ever := map[string]bool{}, map[string]bool{}
	for _, t := range trials {
		for m, n := range t.Numbers {
			have[m] = true
			ever[m] = ever[m] || n.Value != 0
		}
	}
	known = slices.Sorted(maps.Keys(have))
	if len(named) == 0 {
		for _, m := range DefaultMeters {
			if ever[m] { // swap that nobody ever used is no news
				meters = append(meters, m)
			}
		}
		for _, m := range known {
			if isValue(m) {
				meters = append(meters, m)
			}
		}
		return meters, nil, known
	}
	for _, m := range named {
		if have[m] {
			meters = append(meters, m)
		} else {
			unknown = append(unknown, m)
		}
	}
	return meters, unknown, known
}

// UnknownMeters is an error about names that no trial has: which of the known ones they
// resemble, and how to see all.
func UnknownMeters(unknown, known []string) error {
	var words []string
	for _, m := range unknown {
		if near := nearMeters(m, known); len(near) > 0 {
			m += " (did you mean " + strings.Join(near, " or ") + "?)"
		}
		words = append(words, m)
	}
	how := "no trial has any meter"
	if len(known) > 0 {
		how = fmt.Sprintf("--meter all shows all %d that there are", len(known))
	}
	return fmt.Errorf("no trial has the meter %s; %s", strings.Join(words, ", "), how)
}

// nearMeters are up to three meters of which a word is a part, or from which it differs by
// few letters, the usual ones first.
func nearMeters(word string, known []string) []string {
	const shown = 3
	word = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "_", ".")
	score := func(m string) int {
		if word != "" && strings.Contains(m, word) {
			return 0
		}
		return levenshtein.ComputeDistance(word, m)
	}
	near := slices.DeleteFunc(slices.Clone(known), func(m string) bool { return score(m) > max(1, len(word)/3) })
	slices.SortStableFunc(near, func(a, b string) int {
		if c := cmp.Compare(score(a), score(b)); c != 0 {
			return c
		}
		usual := func(m string) int {
			if i := slices.Index(DefaultMeters, m); i >= 0 {
				return i
			}
			return len(DefaultMeters)
		}
		return cmp.Compare(usual(a), usual(b))
	})
	return near[:min(len(near), shown)]
}

// isValue tells meters of memtrix.Value from others. What torch held in an
// out-of-memory is an explanation and no series.
func isValue(meter string) bool {
	return meter == memtrix.FloorVRAM || meter == memtrix.FloorRAM ||
		strings.HasPrefix(meter, memtrix.CeilingPrefix) || strings.HasPrefix(meter, memtrix.LeakPrefix)
}

// moreIsBetter is the direction of the few meters of which one wants much.
func moreIsBetter(meter string) bool {
	return strings.HasPrefix(meter, memtrix.CeilingPrefix) || strings.HasSuffix(meter, ".free") ||
		strings.HasSuffix(meter, "host.available") || strings.HasSuffix(meter, memtrix.WeightsResident)
}

// Label is a meter's name for people: "peak vram.device.used", "prompt 2".
func Label(meter string) string {
	if rest, ok := strings.CutPrefix(meter, memtrix.RestedPrefix); ok {
		return "rested " + rest
	}
	if rest, ok := strings.CutPrefix(meter, memtrix.IdlePrefix); ok {
		return "idle " + rest
	}
	if rest, ok := strings.CutPrefix(meter, memtrix.FreedPrefix); ok {
		return "freed " + rest
	}
	if rest, ok := strings.CutPrefix(meter, "prompt."); ok {
		return "seconds of prompt " + strings.TrimSuffix(rest, ".seconds")
	}
	if isValue(meter) || meter == memtrix.OOMHeld {
		return meter
	}
	return "peak " + meter
}

// unitOf is the unit of a meter in some trials.
func unitOf(trials []*memtrix.Brief, meter string) memtrix.Unit {
	for _, t := range trials {
		if n, ok := t.Numbers[meter]; ok {
			return n.Unit
		}
	}
	return ""
}

// What matters in practice. Sizes have regress's own floor; times vary by a few
// percent from night to night on the same machine, and a person who repeats them
// side by side may want to see less.
const (
	floorTimeNights = 0.05
	floorTimePair   = 0.02
)

// options say how a meter's numbers are judged. Times are judged in seconds: see inUnit.
func options(meter string, unit memtrix.Unit, timeFloor float64) regress.Options {
	o := regress.Options{What: Label(meter)}
	switch unit {
	case memtrix.UnitBytes, memtrix.UnitBytesPerSecond:
		o.Unit = regress.Bytes
	}
	o.Floor = regress.DefaultFloor(o.Unit)
	if unit == memtrix.UnitNanoseconds {
		o.Floor = regress.Floor{Share: timeFloor}
	}
	return o
}

// inUnit turns a meter's numbers into those that are judged and shown: nanoseconds
// become seconds.
func inUnit(v float64, unit memtrix.Unit) float64 {
	if unit == memtrix.UnitNanoseconds {
		return v / 1e9
	}
	return v
}
