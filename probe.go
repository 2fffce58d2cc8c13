package memtrix

import (
	"context"
	"time"
)

// Meters that only code inside the server can tell (package comfyui/probe). They
// are read at the boundaries of prompts, nodes and loads of models and at sampling
// steps, not at an interval: between two readings their series stands still.
const (
	// What torch's allocator has given out, and what it has taken from the driver
	// for that.
	TorchAllocated = "vram.torch.allocated"
	TorchReserved  = "vram.torch.reserved"
	// TorchWork is the part of torch's peak that are no resident weights: a node's
	// need that cannot be streamed out. It is a peak of spans only.
	TorchWork = "vram.torch.work"
	// Free memory as ComfyUI counts it (with what torch holds and does not use),
	// and as the driver tells the server's process.
	VRAMComfyUIFree = "vram.comfyui.free"
	VRAMDriverFree  = "vram.driver.free"
	// WeightsResident are the resident bytes of all models that ComfyUI counts as
	// loaded on the device; WeightsPrefix and the class of a model is its own part.
	WeightsResident = "vram.weights.resident"
	WeightsPrefix   = "vram.weights.resident."
	// AimdoWeights are weights in aimdo's VBARs (dynamic VRAM), AimdoBuffers its
	// buffers for casting, AimdoUsed all that aimdo counts.
	AimdoWeights = "vram.aimdo.weights"
	AimdoBuffers = "vram.aimdo.buffers"
	AimdoUsed    = "vram.aimdo.used"
	// VRAMDriverTotal is the whole card as the driver tells the server's process.
	VRAMDriverTotal = "vram.driver.total"
	// RAMProcessAnon is the server's anonymous memory: resident minus file pages and
	// shared memory (proc_pid_statm(5)).
	RAMProcessAnon = "ram.process.anon"
	// RAMPinned are the bytes that ComfyUI has pinned.
	RAMPinned = "ram.pinned"
	// CacheEntries counts the node outputs that are kept.
	CacheEntries = "cache.entries"
)

// ProbeMeters are the meters of the probe but those of single models.
var ProbeMeters = []Meter{
	{Name: TorchAllocated, Unit: UnitBytes, Source: "probe: torch's allocator"},
	{Name: TorchReserved, Unit: UnitBytes, Source: "probe: torch's allocator"},
	{Name: TorchWork, Unit: UnitBytes, Source: "probe: torch's peak minus the weights in torch's memory"},
	{Name: VRAMComfyUIFree, Unit: UnitBytes, Source: "probe: model_management.get_free_memory"},
	{Name: VRAMDriverFree, Unit: UnitBytes, Source: "probe: the driver, asked by the server's process"},
	{Name: WeightsResident, Unit: UnitBytes, Source: "probe: loaded_size of the loaded models"},
	{Name: AimdoWeights, Unit: UnitBytes, Source: "probe: loaded_size of aimdo's VBARs"},
	{Name: AimdoBuffers, Unit: UnitBytes, Source: "probe: size of aimdo's VRAM buffers"},
	{Name: AimdoUsed, Unit: UnitBytes, Source: "probe: aimdo's own count"},
	{Name: RAMPinned, Unit: UnitBytes, Source: "probe: model_management.TOTAL_PINNED_MEMORY"},
	{Name: CacheEntries, Unit: UnitCount, Source: "probe: the node output cache"},
}

// Values are meters at one moment, by name. Absent is not available.
type Values map[string]int64

// Probe is what a probe inside the server told of a trial.
type Probe struct {
	// Missing are the hooks that this version does not have, with the reason: what
	// they would tell is absent.
	Missing []string `json:"missing,omitempty"`
	// Faults are exceptions of the probe itself, each kind once.
	Faults []string `json:"faults,omitempty"`
	// Dropped counts reports that the server did not wait to send.
	Dropped int64       `json:"dropped,omitempty"`
	Nodes   []NodeRun   `json:"nodes,omitempty"`
	Loads   []ModelLoad `json:"loads,omitempty"`
	// Events are collections, caches, caught errors, in order.
	Events []ProbeEvent `json:"events,omitempty"`
	// Prompts are the probe's values around each prompt.
	Prompts []ProbePrompt `json:"prompts,omitempty"`
	// Inventories are what the server held at rest, where that was asked for: at the
	// end of the start-up and after the last prompt.
	Inventories []Inventory `json:"inventories,omitempty"`
	// Idle is how things stood before the first prompt, Models the loaded models
	// when the probe was last heard of.
	Idle   *ProbeMoment `json:"idle,omitempty"`
	Models []Model      `json:"models,omitempty"`
	// Context is the device memory of the server before any model was loaded
	// beside what torch had reserved: the driver's context, code, libraries. Nil
	// where there is no card, or its use could not be measured from outside.
	Context *int64 `json:"context,omitempty"`
	// Code is what the server has on the card beside that context once models are
	// given back (POST /free): code that the driver loads when it is first called,
	// workspaces of libraries. They come with the first work and stay. Nil where
	// that was not read.
	Code *int64 `json:"code,omitempty"`
}

// ProbeMoment is what the probe read at one moment.
type ProbeMoment struct {
	At     time.Duration `json:"at"`
	Values Values        `json:"values"`
}

// NodeRun is one execution of one node. A node that a cache served did not run.
type NodeRun struct {
	Prompt int           `json:"prompt"`
	Node   Node          `json:"node"`
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"` // 0 when its end was never told
	// State is "success", "failure", "pending" (an asynchronous node that goes on),
	// or "" when its end was never told.
	State string `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
	// Before is without what only the driver tells: it was asked after the node
	// before.
	Before Values `json:"before,omitempty"`
	After  Values `json:"after,omitempty"`
	// Peaks are torch's own, reset when the node began: TorchAllocated,
	// TorchReserved and TorchWork.
	Peaks Values `json:"peaks,omitempty"`
	// Loads counts the models that were loaded for it, OOMs the allocations that
	// torch could not serve, also those that were got over.
	Loads int   `json:"loads,omitempty"`
	OOMs  int64 `json:"ooms,omitempty"`
}

// Model is a model as ComfyUI knows it; sizes in bytes.
type Model struct {
	Class string `json:"class"`
	// Number tells two models of one class apart.
	Number   int    `json:"number"`
	Size     int64  `json:"size"`
	Resident int64  `json:"resident"` // on its device
	Device   string `json:"device"`
	Dynamic  bool   `json:"dynamic,omitempty"`
	// InVBAR is the part of Resident that aimdo holds; Pinned and Staged are pinned
	// bytes and host memory of the model, under dynamic VRAM only.
	InVBAR int64  `json:"in_vbar,omitempty"`
	Pinned *int64 `json:"pinned,omitempty"`
	Staged *int64 `json:"staged,omitempty"`
}

// ModelLoad is one model that came or went.
type ModelLoad struct {
	// How is "load", "unload" (whole) or "part" (some of it was moved out).
	How   string        `json:"how"`
	Start time.Duration `json:"start"`
	End   time.Duration `json:"end"`
	Node  string        `json:"node,omitempty"` // id of the node that was running
	Model *Model        `json:"model,omitempty"`
	// Asked is the room for the load, or what was to be freed; nil for "all of it".
	Asked *int64 `json:"asked,omitempty"`
	// Before is what was resident before.
	Before int64  `json:"before"`
	Error  string `json:"error,omitempty"`
}

// ProbeEvent is something else that ComfyUI or Python did with memory.
type ProbeEvent struct {
	// Kind is "gc" (a full collection), "empty-cache" (torch's), "free-memory",
	// "unload-all", "load-models" (a request for some), "evict" (of the node cache)
	// or "oom" (an error that was caught).
	Kind  string        `json:"kind"`
	Start time.Duration `json:"start"`
	End   time.Duration `json:"end"`
	Node  string        `json:"node,omitempty"`
	// Count is of objects collected, models unloaded, entries evicted.
	Count int64 `json:"count,omitempty"`
	// Bytes is what was asked for, or given back.
	Bytes *int64 `json:"bytes,omitempty"`
	Text  string `json:"text,omitempty"`
}

// ProbePrompt is one prompt as the probe saw it.
type ProbePrompt struct {
	Prompt int           `json:"prompt"`
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"`
	Before Values        `json:"before,omitempty"`
	After  Values        `json:"after,omitempty"`
	// NonEvictable is the least device memory that the prompt's work needed beside
	// weights; nil where a part of it is not known. See NonEvictable.
	NonEvictable *int64 `json:"non_evictable,omitempty"`
}

// Inventory is what held memory in a server at rest, bytes and counts.
type Inventory struct {
	At time.Duration `json:"at"`
	// Took is how long the server stood still for it.
	Took time.Duration `json:"took"`
	CPU  TensorBytes   `json:"cpu"`
	// Devices are tensors elsewhere, by kind of device ("cuda").
	Devices map[string]TensorBytes `json:"devices,omitempty"`
	Pinned  *BytesCount            `json:"pinned,omitempty"`
	Cache   *CacheBytes            `json:"cache,omitempty"`
	// Malloc is glibc's own count (mallinfo2(3)); Trimmed in it is what RSS fell by
	// when malloc_trim(0) was asked for.
	Malloc *Malloc `json:"malloc,omitempty"`
	// Process is /proc/self/status, bytes by its names ("VmSize", "RssFile" ...).
	Process Values  `json:"process,omitempty"`
	Objects int64   `json:"objects,omitempty"` // of Python's collector
	Models  []Model `json:"models,omitempty"`
	Values  Values  `json:"values,omitempty"`
}

// TensorBytes are tensors on one kind of device; a shared storage counts once.
type TensorBytes struct {
	BytesCount
	// Owners with the most bytes first; not all of them.
	Owners []TensorOwner `json:"owners,omitempty"`
}

// BytesCount is a number of things and their bytes.
type BytesCount struct {
	Bytes int64 `json:"bytes"`
	Count int64 `json:"count"`
}

// TensorOwner is what holds tensors: "model SDXL", "node cache", "class a.B".
type TensorOwner struct {
	Name string `json:"name"`
	BytesCount
}

// CacheBytes is the node output cache.
type CacheBytes struct {
	Entries int64 `json:"entries"`
	CPU     int64 `json:"cpu"`   // bytes of tensors in RAM
	Other   int64 `json:"other"` // elsewhere
}

// Malloc is glibc's allocator (mallinfo2(3)), bytes.
type Malloc struct {
	Arena   int64  `json:"arena"`  // taken from the system, without mapped blocks
	Mapped  int64  `json:"mapped"` // in mapped blocks of their own
	Used    int64  `json:"used"`   // given out
	Free    int64  `json:"free"`   // taken and not given out
	Top     int64  `json:"top"`    // that could be given back at the top
	Trimmed *int64 `json:"trimmed,omitempty"`
}

// Prober is an Instance that may have a probe inside its server. Without one, its
// methods give ErrUnsupported, and Probe nothing.
type Prober interface {
	// Look lets the probe read all its values now.
	Look(ctx context.Context) (*ProbeMoment, error)
	// Probe gives what the probe told so far and its meters, nil where the trial
	// has none; meters may be there all the same, where the server prints some.
	// After Stop it is all there is.
	Probe() (*Probe, []Series)
	// Inventory lets the server count what it holds; it stands still meanwhile, for
	// about a second a million objects, and collects Python's garbage first. Ask at
	// rest only, and after what it could change was read. With trim it gives back
	// what glibc keeps, and says how much that was.
	Inventory(ctx context.Context, trim bool) (*Inventory, error)
	// SwitchProbe turns the probe's work off and on again within one server.
	SwitchProbe(ctx context.Context, on bool) error
}

// NonEvictable is the least device memory that work needed beside the weights of
// models, bytes: what the process holds outside of torch and of weights (the context,
// loaded code, libraries' workspaces, aimdo's buffers), at its largest after a node,
// plus torch's largest peak without weights. It is a floor of what a card must have,
// and not the floor: the weights that must be there in the moment of their use are
// counted where torch copies them (no dynamic VRAM) and not where aimdo pages them.
//
// used is the trial's device memory at each of the nodes' ends, from outside; a nil
// of it is not known. False where there is nothing to be told.
func NonEvictable(nodes []NodeRun, used func(NodeRun) (int64, bool)) (int64, bool) {
	var work, outside int64
	known := false
	for _, n := range nodes {
		w, ok := n.Peaks[TorchWork]
		if !ok {
			continue
		}
		work = max(work, w)
		device, ok := used(n)
		if !ok {
			continue
		}
		known = true
		outside = max(outside, Outside(device, n.After))
	}
	return work + outside, known
}

// Outside is the part of a trial's device memory that is neither in torch's hands nor
// weights that aimdo holds.
func Outside(device int64, v Values) int64 {
	return device - v[TorchReserved] - v[AimdoWeights]
}

// Account says where a trial's device memory was at one moment, bytes.
type Account struct {
	Used    int64 `json:"used"` // by the trial, all in all
	Context int64 `json:"context"`
	// Code is loaded as it is called: at any moment it is at most Probe.Code, and
	// so much of what nothing else explains counts as it.
	Code    int64 `json:"code,omitempty"`
	Torch   int64 `json:"torch"`   // reserved; weights are in it without dynamic VRAM
	Aimdo   int64 `json:"aimdo"`   // weights in VBARs
	Buffers int64 `json:"buffers"` // aimdo's, for casting
	Rest    int64 `json:"rest"`    // what is left unexplained
}

// Account splits up the device memory at a moment of which v are the values. False
// where there is no card, or its use was not measured from outside.
func (p *Probe) Account(v Values) (Account, bool) {
	free, ok := v[VRAMDriverFree]
	if !ok || p.Context == nil || p.Idle == nil {
		return Account{}, false
	}
	idle := p.Idle.Values
	a := Account{
		// What was used when idle is the context and what torch and aimdo had then.
		Used:    *p.Context + idle[TorchReserved] + idle[AimdoWeights] + idle[VRAMDriverFree] - free,
		Context: *p.Context, Torch: v[TorchReserved], Aimdo: v[AimdoWeights], Buffers: v[AimdoBuffers],
	}
	a.Rest = a.Used - a.Context - a.Torch - a.Aimdo - a.Buffers
	if p.Code != nil {
		a.Code = min(max(a.Rest, 0), max(*p.Code, 0))
		a.Rest -= a.Code
	}
	return a, true
}
