package memtrix

// OutcomeKind says how a trial or a prompt ended.
type OutcomeKind string

const (
	Pass            OutcomeKind = "pass"
	OOM             OutcomeKind = "oom"
	Error           OutcomeKind = "error"  // a node failed, not for memory
	Killed          OutcomeKind = "killed" // the process died, not for memory
	Hang            OutcomeKind = "hang"
	StartupFailure  OutcomeKind = "startup-failure"
	InvalidWorkflow OutcomeKind = "invalid-workflow"
	NotApplicable   OutcomeKind = "not-applicable"
	NotInForce      OutcomeKind = "not-in-force" // asked for, but the server's banner denies it
	Interrupted     OutcomeKind = "interrupted"
	HarnessFailure  OutcomeKind = "harness-failure" // memtrix itself could not measure
)

// Memory names the memory that ran out.
type Memory string

const (
	MemoryVRAM            Memory = "vram"
	MemoryPinned          Memory = "pinned"
	MemoryRAM             Memory = "ram"
	MemoryCommit          Memory = "commit"
	MemoryGPUAddressSpace Memory = "gpu-address-space"
	MemoryUnified         Memory = "unified"
	MemorySharedGPU       Memory = "shared-gpu"
	MemoryNone            Memory = "none"
	MemoryUnknown         Memory = "unknown"
)

// How says by what an out-of-memory showed itself.
type How string

const (
	HowException How = "exception"
	HowSignal    How = "signal"
	HowThrash    How = "thrash"
)

// Phase says where in the work something happened.
type Phase string

const (
	PhaseStartup        Phase = "startup"
	PhaseValidation     Phase = "validation"
	PhaseLoad           Phase = "load"
	PhaseTextEncode     Phase = "text-encode"
	PhaseSample         Phase = "sample"
	PhaseVAE            Phase = "vae"
	PhaseSave           Phase = "save"
	PhaseBetweenPrompts Phase = "between-prompts"
)

// Outcome is the verdict on a trial, with the lines that prove it.
type Outcome struct {
	Kind   OutcomeKind `json:"outcome"`
	Memory Memory      `json:"memory,omitempty"`
	How    How         `json:"how,omitempty"`
	Phase  Phase       `json:"phase,omitempty"`
	Node   *Node       `json:"node,omitempty"`
	// Requested and Free are bytes as the failing allocator told them; nil when
	// it did not.
	Requested *int64 `json:"requested_bytes,omitempty"`
	Free      *int64 `json:"free_bytes,omitempty"`
	// Unallocated are bytes that the allocator holds and has given to nobody: where
	// they would have sufficed, the memory is in fragments. Nil where it is not told.
	Unallocated *int64 `json:"unallocated_bytes,omitempty"`
	// Holders are other processes that hold the memory that ran out.
	Holders []Holder `json:"holders,omitempty"`
	// HiddenRetries counts out-of-memory events that did not fail the prompt
	// (tiled VAE, split attention).
	HiddenRetries int `json:"hidden_retries"`
	// FallBacks are slower ways that were taken without a word to the client.
	FallBacks []string `json:"fall_backs,omitempty"`
	// Slow is set when steps became ten times slower without an error.
	Slow *Slow `json:"slow,omitempty"`
	// Rule is the id of the rule of diagnosis that decided, "" where none did.
	Rule string `json:"rule,omitempty"`
	// Message is one line for tables and terminals.
	Message string `json:"message,omitempty"`
	// Evidence are the lines that a person can check.
	Evidence []string `json:"evidence,omitempty"`
	// Advice are things that a person can do.
	Advice []string `json:"advice,omitempty"`
}

// Holder is another process that holds memory.
type Holder struct {
	PID   int    `json:"pid,omitempty"` // 0 where it is hidden
	Name  string `json:"name"`          // "unknown" where it is hidden
	Bytes int64  `json:"bytes"`
}

// Slow says that the steps of a sampler became much slower without an error.
type Slow struct {
	// Before and After are seconds a step.
	Before float64 `json:"before_seconds"`
	After  float64 `json:"after_seconds"`
	// Memory is what explains it, "unknown" where nothing that was measured does.
	Memory Memory `json:"memory"`
	// Moved is what changed between the two, with numbers.
	Moved []string `json:"moved,omitempty"`
}
