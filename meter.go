package memtrix

import "time"

// Unit of a meter's values. Values are always int64.
type Unit string

const (
	UnitBytes       Unit = "bytes"
	UnitCount       Unit = "count"
	UnitNanoseconds Unit = "ns"
)

// Meter is one measured quantity.
type Meter struct {
	// Name is dotted: family, scope, quantity ("vram.device.used").
	Name string `json:"name"`
	Unit Unit   `json:"unit"`
	// Source is where a value comes from, for people: "NVML memory v2".
	Source string `json:"source"`
	// Counter marks a meter that only grows; what matters is its difference.
	Counter bool `json:"counter,omitempty"`
	// Simulated marks a meter of internal/comfysim: it is not a measurement.
	Simulated bool `json:"simulated,omitempty"`
}

// Names of the meters of the first set. A meter that a machine does not have is
// absent from a trial.
const (
	// Device memory of the trial's card. Used excludes what the driver reserves
	// for itself (NVML memory v2), which is a meter of its own.
	VRAMDeviceUsed     = "vram.device.used"
	VRAMDeviceFree     = "vram.device.free"
	VRAMDeviceReserved = "vram.device.reserved"
	// VRAMTrialUsed is device used minus what was used just before the trial's
	// server was started: right as long as nobody else moves on the card.
	VRAMTrialUsed = "vram.trial.used"
	// VRAMTreeUsed is the sum NVML gives for the trial's processes. Absent in
	// containers and under WDDM, where the driver hides it.
	VRAMTreeUsed = "vram.tree.used"
	// VRAMOthersUsed is the sum NVML gives for all other processes.
	VRAMOthersUsed = "vram.others.used"

	// Resident memory of the trial's process tree, summed over processes; a page
	// shared by two of them counts twice.
	RAMTreeRSS   = "ram.tree.rss"
	RAMTreeAnon  = "ram.tree.anon"
	RAMTreeFile  = "ram.tree.file"
	RAMTreeShmem = "ram.tree.shmem"
	// RAMProcessRSS is the first process alone; its kernel peak is VmHWM.
	RAMProcessRSS   = "ram.process.rss"
	SwapTreeUsed    = "swap.tree.used"
	FaultsTreeMajor = "faults.tree.major"

	RAMHostAvailable = "ram.host.available"
	SwapHostUsed     = "swap.host.used"
	// Time that some or all tasks of the host stood still for memory
	// (https://docs.kernel.org/accounting/psi.html).
	PSIMemorySome = "psi.memory.some"
	PSIMemoryFull = "psi.memory.full"

	// RecorderCPU is the processor time of the recording thread itself.
	RecorderCPU = "recorder.cpu"
	// RecorderMissed counts ticks at which no reading was taken in time.
	RecorderMissed = "recorder.missed"
)

// Series is one meter over a trial, kept by change: V[i] holds from T[i] until
// T[i+1]. T does not decrease.
type Series struct {
	Meter Meter
	T     []time.Duration
	V     []int64
}

// PeakHow says how a peak was got.
type PeakHow string

const (
	PeakSampled PeakHow = "sampled"
	PeakKernel  PeakHow = "kernel" // VmHWM and the like: no reading is missed
	PeakProbe   PeakHow = "probe"  // the allocator's own counter
)

// Peak is the largest value of a meter in a span.
type Peak struct {
	Meter string        `json:"meter"`
	Value int64         `json:"value"`
	How   PeakHow       `json:"how"`
	At    time.Duration `json:"at"` // when, for sampled peaks
}

// ReadingKind tells readings at rest apart: they are different quantities.
type ReadingKind string

const (
	Rested ReadingKind = "rested" // idle for some seconds after the last prompt
	Freed  ReadingKind = "freed"  // after POST /free has acted
)

// Reading is every meter at one moment of rest.
type Reading struct {
	Kind   ReadingKind      `json:"kind"`
	At     time.Duration    `json:"at"`
	Values map[string]int64 `json:"values"`
	// Note says what was odd, e.g. that /free had not acted in time.
	Note string `json:"note,omitempty"`
}
