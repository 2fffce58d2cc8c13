package history

import (
	"time"

	"memtrix"
	"memtrix/regress"
)

// Axis is what a history goes along.
type Axis string

const (
	// ByDate follows what a spec calls one version ("master") from session to session.
	ByDate Axis = "date"
	// ByVersion follows a cell from version to version.
	ByVersion Axis = "version"
)

// Line is one series along an axis: what a chart shows as a line for each meter.
type Line struct {
	// Key tells lines apart and stays the same from night to night.
	Key    string
	Series string // memtrix.Cell.Series
	Axis   Axis
	// Version is the version's name in all places of a line by date, "" by version.
	Version  string
	Workflow string
	Settings memtrix.Settings
	Hardware string
	Card     string // names of the cards, "" where there is none
	Probe    bool
	Attached bool
	// Simulated lines are no measurements.
	Simulated bool
	// Control is set for the cell that is frozen in every respect: when it moves, the
	// machine did.
	Control bool
	Places  []Place
}

// Place is one point of a line: the trials of one version in one session, or, by
// version, in all sessions.
type Place struct {
	Session   int64 // the newest of its trials
	Name      string
	Started   time.Time // of its first trial
	Version   string
	Release   string
	Commit    string
	VersionID string
	// Trials in the order in which they ran. Those that say nothing about the version
	// (interrupted, not applicable) are not among them: a place without any is a gap.
	Trials []*memtrix.Brief
}

// Values are a meter's numbers of the place's trials that passed.
func (p Place) Values(meter string) []float64 {
	var all []float64
	for _, t := range p.Trials {
		if n, ok := t.Numbers[meter]; ok && t.Trial.Outcome.Kind == memtrix.Pass {
			all = append(all, float64(n.Value))
		}
	}
	return all
}

// Failed is how many of the place's trials did not pass, and how the first of them
// ended.
func (p Place) Failed() (n int, first memtrix.OutcomeKind) {
	for _, t := range p.Trials {
		if k := t.Trial.Outcome.Kind; k != memtrix.Pass {
			if n++; n == 1 {
				first = k
			}
		}
	}
	return n, first
}

// Change is a difference along a line that is not noise, as it is shown and kept.
type Change struct {
	Line     string `json:"line"` // Line.Key
	Workflow string `json:"workflow"`
	Settings string `json:"settings"`
	Hardware string `json:"hardware,omitempty"`
	Axis     Axis   `json:"axis"`
	// Meter is "" for a change of outcomes.
	Meter string       `json:"meter,omitempty"`
	Unit  memtrix.Unit `json:"unit,omitempty"`
	Kind  regress.Kind `json:"kind"`
	// Worse is set for what a person should look at: more memory, more time, new failures.
	Worse bool `json:"worse"`
	// Expected is set for new failures that the spec expects (expect:), which are not worse.
	Expected bool    `json:"expected,omitempty"`
	Before   float64 `json:"before"` // levels in the unit; of outcomes, shares
	After    float64 `json:"after"`
	// Confidence that it is no chance; see regress.Change, and P of regress.Comparison
	// where two places were compared (How is compared).
	Confidence float64 `json:"confidence"`
	How        How     `json:"how"`
	Reason     string  `json:"reason"`
	// Session is where the first place after the change is from; the versions are the
	// last before and the first after.
	Session    int64     `json:"session"`
	At         time.Time `json:"at"`
	From       string    `json:"from"`
	To         string    `json:"to"`
	FromCommit string    `json:"from_commit,omitempty"`
	ToCommit   string    `json:"to_commit,omitempty"`
	// Trials are the last before and the first after, for whoever wants to look.
	TrialBefore int64 `json:"trial_before"`
	TrialAfter  int64 `json:"trial_after"`
	// Causes are what else differs between those two, the likeliest first.
	Causes    []Cause `json:"causes,omitempty"`
	Control   bool    `json:"control,omitempty"`
	Simulated bool    `json:"simulated,omitempty"`
	// Growth is set of a drift; ControlMoved when the control drifts so, too.
	Growth       *Growth `json:"growth,omitempty"`
	ControlMoved bool    `json:"control_moved,omitempty"`

	// Place is the index in the line's places of the first after the change. It is
	// meant only together with the line it was found on.
	Place int `json:"-"`
	// Over is set of a known change whose alarm is fixed: what goes on is news again.
	Over bool `json:"-"`
}

// How a change was found.
type How string

const (
	HowOutcomes How = "outcomes" // regress.Outcomes
	HowLevels   How = "levels"   // regress.Levels over the whole line
	HowTonight  How = "tonight"  // regress.Tonight: the newest night against the others
	HowCompared How = "compared" // regress.Compare of neighbours: one test, uncorrected
)

// Cause is something else that differs across a change.
type Cause struct {
	Kind   CauseKind `json:"kind"`
	Name   string    `json:"name"` // "torch", "driver", "--lowvram"
	Before string    `json:"before,omitempty"`
	After  string    `json:"after,omitempty"`
}

// CauseKind orders causes by how likely they are to move memory.
type CauseKind string

const (
	CauseComfyUI     CauseKind = "comfyui" // commit, or changed files
	CauseNode        CauseKind = "custom-node"
	CausePackage     CauseKind = "package"
	CauseFlag        CauseKind = "flag"
	CauseVariable    CauseKind = "variable"
	CauseServer      CauseKind = "server" // what it says of itself: attention, dtypes
	CauseDriver      CauseKind = "driver" // and CUDA
	CauseCard        CauseKind = "card"
	CauseKernel      CauseKind = "kernel"
	CauseMachine     CauseKind = "machine" // RAM, swap, disks, limits
	CauseInterpreter CauseKind = "python"
	CauseMemtrix     CauseKind = "memtrix"
	CauseOther       CauseKind = "other"
)

// State of an alarm.
type State string

const (
	Open         State = "open"
	Acknowledged State = "acknowledged"
	// Expected: the new level is meant, from a version on.
	Expected State = "expected"
	// Fixed: what had changed went back, or a person closed it.
	Fixed State = "fixed"
)

// Alarm is changes with one cause that somebody should act on.
type Alarm struct {
	ID    int64 `json:"id"`
	State State `json:"state"`
	// Machine is set when the control moved, too: what changed is the machine or its
	// driver, and not ComfyUI.
	Machine bool `json:"machine,omitempty"`
	// Title is one line: what changed, where, and since which version.
	Title string `json:"title"`
	// Cause is what is likeliest behind it, "" where nothing known differs.
	Cause     string    `json:"cause,omitempty"`
	CauseKey  string    `json:"-"` // tells causes of one session apart
	Session   int64     `json:"session"`
	Name      string    `json:"session_name"`
	Opened    time.Time `json:"opened"`
	Changed   time.Time `json:"changed"` // its state, last
	Simulated bool      `json:"simulated,omitempty"`
	// From is the version from which on it is expected; Note is a person's.
	From string `json:"expected_from,omitempty"`
	Note string `json:"note,omitempty"`
	// Confirming is how many repeats were run for it, Confirmed how many agreed.
	Confirming int `json:"confirming,omitempty"`
	Confirmed  int `json:"confirmed,omitempty"`
	// Floor is what trials on either side of an earlier floor told, nil where nobody asked.
	Floor   *FloorTold `json:"floor,omitempty"`
	Changes []Change   `json:"changes"`
}

// FloorTold says whether the floor of a cell of an alarm moved: whether more memory is
// needed, or only more is used.
type FloorTold struct {
	Where  string  `json:"where"`
	Move   string  `json:"move"` // holds, rose, fell, not sharp
	Words  string  `json:"words"`
	Trials []int64 `json:"trials"`
}
