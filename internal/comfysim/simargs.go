package comfysim

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// simArgs are the flags of the simulator itself. They begin with --sim-, may
// stand anywhere and are taken out before ComfyUI's own flags are parsed.
type simArgs struct {
	version  string
	card     int64 // bytes of the whole card, what the driver reserves included; 0: no card
	cardFree int64 // bytes free for us before the start; -1: all
	cardFile string
	ram      int64 // bytes of RAM that the machine says it has; 0: what the host has
	scale    float64
	ramScale float64 // 0: as scale
	speed    float64
	fault    string
	leak     int64 // bytes of RAM that each prompt leaves behind, as /proc shows them
	leakVRAM int64 // bytes of VRAM, as the card's file shows them
}

// Faults that --sim-fault can ask for.
const (
	faultDieAtStart    = "die-at-start"    // killed by a signal before the port opens
	faultMissingModule = "missing-module"  // ModuleNotFoundError, status 1
	faultHangAtStart   = "hang-at-start"   // the port never opens
	faultSlowStart     = "slow-start"      // the start takes ten times as long
	faultHangInLoad    = "hang-in-load"    // a loader never comes back
	faultHangInSample  = "hang-in-sample"  // the sampler never does its second step
	faultKillInSample  = "kill-in-sample"  // killed by a signal after the first step
	faultErrorInSample = "error-in-sample" // an exception that is not about memory
	faultDropSocket    = "drop-socket"     // every socket is closed after the first step
	faultNoAimdo       = "no-aimdo"        // comfy-aimdo does not work: no dynamic VRAM, whatever is asked
)

var faults = []string{faultDieAtStart, faultMissingModule, faultHangAtStart, faultSlowStart,
	faultHangInLoad, faultHangInSample, faultKillInSample, faultErrorInSample, faultDropSocket, faultNoAimdo}

func splitSimArgs(args []string) (simArgs, []string, error) {
	sim := simArgs{version: "0.29.0", cardFree: -1, scale: 1, speed: 1, cardFile: memtrix.SimCardFile}
	var rest []string
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "--sim-") {
			rest = append(rest, args[i])
			continue
		}
		if !hasValue {
			if i++; i == len(args) {
				return sim, nil, fmt.Errorf("%s needs a value", name)
			}
			value = args[i]
		}
		if err := sim.set(name, value); err != nil {
			return sim, nil, fmt.Errorf("%s %s: %w", name, value, err)
		}
	}
	if sim.ramScale == 0 {
		sim.ramScale = sim.scale
	}
	return sim, rest, nil
}

func (s *simArgs) set(name, value string) (err error) {
	switch name {
	case "--sim-version":
		s.version = value
		_, err = versionNamed(value)
	case "--sim-card":
		s.card, err = parseBytes(value)
	case "--sim-card-free":
		s.cardFree, err = parseBytes(value)
	case "--sim-card-file":
		s.cardFile = value
	case "--sim-ram":
		s.ram, err = parseBytes(value)
	case "--sim-scale":
		s.scale, err = parsePositive(value)
	case "--sim-ram-scale":
		s.ramScale, err = parsePositive(value)
	case "--sim-speed":
		s.speed, err = parsePositive(value)
	case "--sim-leak":
		s.leak, err = parseBytes(value)
	case "--sim-leak-vram":
		s.leakVRAM, err = parseBytes(value)
	case "--sim-fault":
		if s.fault = value; !slices.Contains(faults, value) {
			err = fmt.Errorf("known faults are %s", strings.Join(faults, ", "))
		}
	default:
		err = fmt.Errorf("no such flag of the simulator")
	}
	return err
}

func parseBytes(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("a number of bytes is needed")
	}
	return n, nil
}

func parsePositive(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || f > 1e6 {
		return 0, fmt.Errorf("a number above 0 is needed")
	}
	return f, nil
}

// hostRAM is the RAM of this machine in bytes, 16 GiB where it cannot be read.
func hostRAM() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err == nil {
		var kib int64
		if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 16 << 30
}
