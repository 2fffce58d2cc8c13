package comfyui

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// aimdoLog reads the figures that comfy-aimdo prints with --verbose DEBUG (ComfyUI 0.25
// and later): its C code writes them to the server's stderr, also in the middle of a
// progress bar's line.
//
// Which of them hold was looked at in a recording (testdata/logs, 029-8gib-verbose-debug):
//   - "Cuda: F MB / T MB Free" is the driver's own free memory: with what NVML said to be
//     in use at the same time it made the card's total to the MiB, nine times of nine.
//     Zeros stand there before the card is ready, and are left out.
//   - "Total VRAM for VBARs: N MB" was the sum of the lines before it each time.
//   - "Aimdo Recorded Usage: N MB" was that and 97 to 130 MiB of aimdo's own; torch's
//     memory is not in it.
//
// "MB" are MiB. The figures are as fresh as the line: aimdo prints them at the end of
// nodes and at sampling steps only. Not read are the deficits and budgets, which are
// what aimdo intends, and addresses, which tell no model by name.
type aimdoLog struct {
	series [3]memtrix.Series // in the order of aimdoRules
}

var aimdoRules = [3]struct {
	line  *regexp.Regexp
	meter string
}{
	{regexp.MustCompile(`aimdo: \S*DEBUG:\s*Cuda:\s+(\d+) MB /\s+[1-9]\d* MB Free`), memtrix.VRAMDriverFree},
	{regexp.MustCompile(`aimdo: \S*DEBUG:\s*Total VRAM for VBARs: (\d+) MB`), memtrix.AimdoWeights},
	{regexp.MustCompile(`aimdo: \S*DEBUG:\s*Aimdo Recorded Usage:\s+(\d+) MB`), memtrix.AimdoUsed},
}

// read takes note of a line.
func (a *aimdoLog) read(at time.Duration, text string) {
	if !strings.Contains(text, "aimdo: ") {
		return
	}
	for i, rule := range aimdoRules {
		m := rule.line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > 1<<40 { // no card has so many MiB
			return
		}
		s := &a.series[i]
		s.Meter = memtrix.Meter{Name: rule.meter, Unit: memtrix.UnitBytes, Source: "aimdo's log (--verbose DEBUG), whole MiB"}
		s.T, s.V = append(s.T, at), append(s.V, n<<20)
		return
	}
}

// told gives the meters that were printed.
func (a *aimdoLog) told() []memtrix.Series {
	var all []memtrix.Series
	for _, s := range a.series {
		if len(s.T) > 0 {
			all = append(all, s)
		}
	}
	return all
}
