package memtrix

import "time"

// Unit of a meter's values. Values are always int64.
type Unit string

const (
	UnitBytes       Unit = "bytes"
	UnitCount       Unit = "count"
	UnitNanoseconds Unit = "ns"
	UnitPercent     Unit = "percent"
	// UnitBytesPerSecond is for what is only told as a rate.
	UnitBytesPerSecond Unit = "bytes/s"
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
	RAMProcessRSS = "ram.process.rss"
	// RAMProcessSize is the address space of the first process, most of which holds
	// nothing; it is in readings at rest only.
	RAMProcessSize  = "ram.process.size"
	SwapTreeUsed    = "swap.tree.used"
	FaultsTreeMajor = "faults.tree.major"
	// RAMTreePSS counts a page that n processes share as 1/n in each, so nothing
	// twice; RAMTreeUSS is what would come back if the tree ended: pages that no
	// other process has. Both are read seldom: they cost more than all others.
	RAMTreePSS = "ram.tree.pss"
	RAMTreeUSS = "ram.tree.uss"
	// TreeProcesses is how many processes the tree has, TreeExits how many of it
	// have ended.
	TreeProcesses = "processes.tree"
	TreeExits     = "exits.tree"
	// DiskTreeRead is what the tree caused to be read from disks, bytes: weights
	// that are streamed, or read again and again.
	DiskTreeRead = "disk.tree.read"

	RAMHostAvailable = "ram.host.available"
	// RAMHostCached is the page cache, tmpfs and shared memory in it.
	RAMHostCached = "ram.host.cached"
	SwapHostUsed  = "swap.host.used"
	// What the whole machine moved from and to swap, bytes.
	SwapHostIn  = "swap.host.in"
	SwapHostOut = "swap.host.out"
	// Time that some or all tasks of the host stood still for memory
	// (https://docs.kernel.org/accounting/psi.html).
	PSIMemorySome = "psi.memory.some"
	PSIMemoryFull = "psi.memory.full"

	// The control group of the trial's first process: with its limit memory, page
	// cache included, is taken back or a process is killed. A limit is the
	// smallest on the way to the root, and absent where there is none.
	CgroupMemoryCurrent = "cgroup.memory.current"
	CgroupMemoryPeak    = "cgroup.memory.peak" // the kernel's own, since the group was made
	CgroupMemoryLimit   = "cgroup.memory.limit"
	CgroupSwapCurrent   = "cgroup.swap.current"
	CgroupSwapPeak      = "cgroup.swap.peak"
	CgroupSwapLimit     = "cgroup.swap.limit"
	// How often the limit was reached, an allocation failed, a process was killed.
	CgroupEventsMax     = "cgroup.events.max"
	CgroupEventsOOM     = "cgroup.events.oom"
	CgroupEventsOOMKill = "cgroup.events.oom_kill"

	GPUUtilization = "gpu.utilization" // of the time in which the card did anything
	PCIeReceived   = "pcie.received"   // by the card
	PCIeSent       = "pcie.sent"       // by the card

	// RecorderCPU is the processor time of all recording threads.
	RecorderCPU = "recorder.cpu"
	// RecorderMissed counts ticks of the thread that reads processes at which no
	// reading was taken in time; RecorderMissedCard those of the card's thread.
	RecorderMissed     = "recorder.missed"
	RecorderMissedCard = "recorder.missed.card"
	// RecorderUnlike counts checks at which NVML said something else of a card's
	// memory than the page of the driver's that is read in its place.
	RecorderUnlike = "recorder.unlike.card"
	// CostPrefix and the name of a source is the meter of the processor time that
	// reading it took ("cost.card").
	CostPrefix = "cost."
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
	// Between is the same after a prompt that is not the last: one reading a prompt,
	// in order, where they were asked for.
	Between ReadingKind = "between"
	Freed   ReadingKind = "freed" // after POST /free has acted
)

// Reading is every meter at one moment of rest.
type Reading struct {
	Kind   ReadingKind      `json:"kind"`
	At     time.Duration    `json:"at"`
	Values map[string]int64 `json:"values"`
	// Note says what was odd, e.g. that /free had not acted in time.
	Note string `json:"note,omitempty"`
}
