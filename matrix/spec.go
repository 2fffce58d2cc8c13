// Package matrix turns the spec that a person writes (YAML) into a plan: the
// ordered cells, with those that cannot run and why.
//
// Parse reads a spec and reports every mistake in it at once, each with its
// file, line and column. Plan asks a World what the versions, workflows and
// launch flags are, and decides what runs in which order; the deciding itself
// is pure. The grammar is in docs/spec.md.
//
// The package refuses to guess: unknown keys, values of a wrong type, YAML
// anchors and tags, and settings outside memtrix.SettingDefs are errors. It
// does not know how anything is run, what a ComfyUI tree is, or what is inside
// a workflow.
package matrix

import (
	"encoding/json"
	"time"

	"memtrix"
)

// Spec is what a person asked for, with all defaults filled in.
type Spec struct {
	// File is the name that Parse was given; "" for a spec made from flags.
	File string
	// Name is the spec's own name; sessions of one spec belong together.
	Name      string
	Versions  []VersionEntry
	Workflows []WorkflowEntry
	Settings  SettingsEntry
	Hardware  []memtrix.Hardware
	// Prompts is the number of prompts a trial, Repeats of trials a cell.
	Prompts int
	Repeats int
	// Rest is how long a server idles before its memory at rest is read; 0 skips
	// that reading.
	Rest time.Duration
	// Free says whether memory is read after POST /free, too.
	Free bool
	// Probe says whether servers run with a probe inside; simulated ones never do.
	Probe bool
	// Interval is the time between two readings of the card while prompts run.
	Interval time.Duration
	// Order says how the repeats of cells follow each other.
	Order memtrix.Order
	// Keep is how finely series are kept.
	Keep     memtrix.Keep
	Timeouts Timeouts
	// Budget is the time that a session may take; 0 sets no limit.
	Budget time.Duration
	// Control are the settings of the frozen cell; nil for no control.
	Control memtrix.Settings
	Expect  []Expectation
	// Args are raw launch flags for every cell, put after those of its settings.
	Args []string
	// Env are environment variables for every server.
	Env map[string]string
	// Models are extra model folders, resolved as all paths are.
	Models []string
	// StandIns say which missing models are stood in for.
	StandIns StandIns
	// Warnings are about things that are allowed but hardly meant.
	Warnings Errors

	controlPos  pos
	argsPos     pos
	modelsPos   pos
	settingsPos pos
}

// VersionEntry names one version: Version, Path, Sim or URL is set, never two. Paths
// are resolved: relative ones against the spec's folder, ~ against the home folder.
type VersionEntry struct {
	// Version is a release, a commit, a branch, "pr:N", "latest" or "latest~N".
	Version string
	// Path is the folder of a ComfyUI tree.
	Path string
	// Sim is the release that internal/comfysim should act as.
	Sim string
	// URL is where a server listens that runs already. PID is its process, 0 to
	// find it; Interrupt and Free allow what would otherwise be its user's alone.
	URL       string
	PID       int
	Interrupt bool
	Free      bool
	// Name is the person's own name for it, "" for what the version says.
	Name string
	// Python is the interpreter, "" for one that is found. A word without a slash
	// is looked for on PATH.
	Python string
	// Source is the git URL or local repository of Version, "" for the official
	// one.
	Source string
	// Packages is required, as-of-date or keep; "" is what fits.
	Packages string
	// Overrides are packages in another version than required.
	Overrides map[string]string
	// Wheels is the folder with all packages, "" for the package index.
	Wheels string
	// Packs are the custom node packs.
	Packs PacksEntry

	pos pos
}

// WorkflowEntry names one workflow. BuiltIn or File is set, never both.
type WorkflowEntry struct {
	BuiltIn string
	File    string // resolved like VersionEntry.Path
	Name    string
	// Params are those of a built-in workflow.
	Params Params
	// Set are inputs with another value than the file's, in the spec's order.
	Set []Assignment
	// Vary are the inputs that change from prompt to prompt ("5.seed"); empty
	// leaves it to be found.
	Vary []string

	pos     pos
	varyPos []pos
}

// Params are parameters of a built-in workflow; 0 is the workflow's own value.
type Params struct {
	Width, Height, Frames, Batch, Steps int
}

// Assignment gives one input of a workflow a value.
type Assignment struct {
	Path  string          // node id or class type, a dot, the input's name
	Value json.RawMessage // as JSON

	pos pos
}

// Mode says how axes become cells.
type Mode string

const (
	// OneFlip is the base, and one cell for each value of an axis that is not
	// the base's: each of those changes exactly one setting.
	OneFlip Mode = "one-flip"
	// Full is every combination of the axes' values.
	Full Mode = "full"
)

// SettingsEntry says which settings are tried.
type SettingsEntry struct {
	Base    memtrix.Settings
	Mode    Mode
	Axes    []Axis
	Include []memtrix.Settings // further cells, each on top of Base
	Exclude []memtrix.Settings // cells that match all named values are dropped
	List    []memtrix.Settings // explicit cells, each on top of Base, instead of Axes

	includePos []pos
	excludePos []pos
	listPos    []pos
}

// Axis is a setting with the values that are tried.
type Axis struct {
	Setting string
	Values  []string
}

// Timeouts end what takes too long. None is 0.
type Timeouts struct {
	Start   time.Duration // process start until the server answers
	Prompt  time.Duration // one prompt
	Silence time.Duration // no sign of life within a prompt
	Free    time.Duration // until POST /free has acted
	Stop    time.Duration // until the server's processes are gone
	Card    time.Duration // until the card is empty before a trial
	Queue   time.Duration // until others' prompts on a server of theirs are done
}

// Expectation says which outcome counts as success for some cells. Where
// several match a cell, the last one counts.
type Expectation struct {
	Settings memtrix.Settings
	Version  string // "" for all
	Workflow string // "" for all
	Hardware string // "" for all
	Outcome  memtrix.OutcomeKind

	pos         pos
	versionPos  pos
	workflowPos pos
	hardwarePos pos
}

// NewSpec is a spec with the defaults and without versions and workflows.
func NewSpec() *Spec {
	return &Spec{
		Hardware: []memtrix.Hardware{AsIs},
		Prompts:  3,
		Repeats:  1,
		// ComfyUI empties torch's cache at most once in 10 s after a prompt
		// (main.py, prompt_worker): 11 s is past that.
		Rest:     11 * time.Second,
		Free:     true,
		Interval: time.Millisecond,
		Keep:     memtrix.KeepAuto,
		Order:    memtrix.OrderCells,
		Timeouts: Timeouts{
			Start:   5 * time.Minute,
			Prompt:  30 * time.Minute,
			Silence: 10 * time.Minute,
			Free:    15 * time.Second,
			Stop:    30 * time.Second,
			Card:    2 * time.Minute,
			Queue:   10 * time.Minute,
		},
	}
}

// AsIs is the machine as it stands.
var AsIs = memtrix.Hardware{Name: "as-is"}
