package lab

import (
	"fmt"
	"math"
	"strings"

	"memtrix"
)

// MeterGrowth is one meter of a leak trial.
type MeterGrowth struct {
	Meter string `json:"meter"`
	Growth
	Readings []int64 `json:"readings"` // at rest after each prompt, bytes
}

// LeakReport is what the readings at rest of a trial show, VRAM and RAM apart.
type LeakReport struct {
	Trial     int64               `json:"trial"`
	Version   string              `json:"version"`
	Workflow  string              `json:"workflow"`
	Settings  memtrix.Settings    `json:"settings,omitempty"`
	Hardware  string              `json:"hardware,omitempty"`
	Simulated bool                `json:"simulated"`
	Outcome   memtrix.OutcomeKind `json:"outcome"`
	Prompts   int                 `json:"prompts"`
	Meters    []MeterGrowth       `json:"meters"`
	// Leaks are the kinds of memory that grow with every prompt: "VRAM", "RAM".
	Leaks []string `json:"leaks"`
	// Verdict is a sentence for each kind of memory.
	Verdict []string `json:"verdict"`
	// Keeps is what is known of what holds the growth.
	Keeps []string `json:"keeps,omitempty"`
	// Failure is how the trial ended before its last prompt was done, nil where it passed.
	Failure *LeakFailure `json:"failure,omitempty"`
}

// LeakFailure is why a trial has no more prompts: which memory ran out, or what else,
// where, and what to do.
type LeakFailure struct {
	Memory   memtrix.Memory `json:"memory,omitempty"`
	How      memtrix.How    `json:"how,omitempty"`
	Phase    memtrix.Phase  `json:"phase,omitempty"`
	Node     *memtrix.Node  `json:"node,omitempty"`
	Prompt   int            `json:"failed_prompt,omitempty"`
	Message  string         `json:"message,omitempty"`
	Evidence []string       `json:"evidence,omitempty"`
	Advice   []string       `json:"advice,omitempty"`
}

// The meters of each kind of memory, the one that says most first. A sum (RSS) stands
// behind its parts: what moves from one part to another is no growth of the sum. PSS
// and USS are read too seldom to be of the moment.
var (
	vramMeters = []string{memtrix.TorchAllocated, memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed, memtrix.VRAMTreeUsed, memtrix.TorchReserved, memtrix.WeightsResident}
	ramMeters  = []string{memtrix.RAMTreeAnon, memtrix.RAMTreeShmem, memtrix.RAMTreeRSS, memtrix.SwapTreeUsed, memtrix.RAMTreeFile, memtrix.RAMPinned}
	// asideMeters are shown and accuse nobody: address space holds nothing.
	asideMeters = []string{memtrix.RAMProcessSize}
)

// AtRest are the readings of a meter after each prompt of a trial, in order. A meter
// that is missing in one of them gives nothing.
func AtRest(t *memtrix.Trial, meter string) []int64 {
	var values []int64
	for _, r := range t.Readings {
		if r.Kind != memtrix.Between && r.Kind != memtrix.Rested {
			continue
		}
		v, ok := r.Values[meter]
		if !ok {
			return nil
		}
		values = append(values, v)
	}
	return values
}

// Leak judges a trial that has a reading at rest after each prompt. One that failed is
// told as such; where it has too few readings, what memory does is not.
func Leak(t *memtrix.Trial) (LeakReport, error) {
	c := t.Cell
	r := LeakReport{
		Trial: t.ID, Version: c.Version.Name, Workflow: c.Workflow.Name, Settings: c.Settings, Hardware: c.Hardware.Name,
		Simulated: t.Simulated, Outcome: t.Outcome.Kind, Prompts: len(AtRest(t, memtrix.RAMTreeRSS)),
		Meters: []MeterGrowth{}, Leaks: []string{}, Verdict: []string{},
	}
	if err := tell(t); err != nil {
		return r, err
	}
	if t.Outcome.Kind != memtrix.Pass {
		r.Failure = endingOf(t)
	}
	if r.Prompts < FewestPrompts {
		few := fmt.Sprintf("there are readings at rest after %d prompts, and %d or more tell start-up from growth", r.Prompts, FewestPrompts)
		if r.Failure == nil {
			return r, Settled{fmt.Errorf("trial %d passed, but %s", t.ID, few)}
		}
		r.Verdict = append(r.Verdict, "whether memory grows is not told: "+few)
		return r, nil
	}
	vram := r.add(t, vramMeters)
	ram := r.add(t, ramMeters)
	r.add(t, asideMeters)
	r.judge("RAM", ram)
	r.judge("VRAM", vram)
	r.Keeps = keeps(t, r)
	return r, nil
}

// endingOf is how a trial that did not pass ended.
func endingOf(t *memtrix.Trial) *LeakFailure {
	o := t.Outcome
	return &LeakFailure{
		Memory: o.Memory, How: o.How, Phase: o.Phase, Node: o.Node, Prompt: failedPrompt(t), Message: o.Message,
		Evidence: o.Evidence, Advice: o.Advice,
	}
}

// Clean says that all prompts passed and that no memory leaks.
func (r LeakReport) Clean() bool { return r.Failure == nil && len(r.Leaks) == 0 }

// add judges the meters that the trial has, and gives those.
func (r *LeakReport) add(t *memtrix.Trial, names []string) []MeterGrowth {
	var some []MeterGrowth
	for _, name := range names {
		readings := AtRest(t, name)
		g, err := Judge(readings)
		if err != nil {
			continue // a meter that this machine does not have
		}
		some = append(some, MeterGrowth{name, g, readings})
	}
	r.Meters = append(r.Meters, some...)
	return some
}

// judge adds the verdict on one kind of memory: that of the first meter that grows,
// else the first meter's that is not still, else the first one's.
func (r *LeakReport) judge(kind string, some []MeterGrowth) {
	if len(some) == 0 {
		r.Verdict = append(r.Verdict, kind+" was not measured")
		return
	}
	shown := some[0]
	for _, m := range some[1:] {
		if rank(m.Kind) > rank(shown.Kind) && leading(m.Meter) {
			shown = m
		}
	}
	if shown.Kind == Grows {
		r.Leaks = append(r.Leaks, kind)
	}
	r.Verdict = append(r.Verdict, kind+" "+shown.Growth.String()+" ("+shown.Meter+")")
}

// leading reports whether a meter may accuse: pages of files are the system's to keep
// or to drop, and torch's reserve is there to be used again.
func leading(meter string) bool {
	switch meter {
	case memtrix.RAMTreeFile, memtrix.TorchReserved, memtrix.WeightsResident:
		return false
	}
	return true
}

func rank(k GrowthKind) int {
	switch k {
	case Grows:
		return 3
	case Slowing, Stairs, Unclear:
		return 2
	case Stepped, GrowsLittle:
		return 1
	}
	return 0
}

// String says it for people, in MiB.
func (g Growth) String() string {
	rate := fmt.Sprintf("%s MiB a prompt [%s, %s]", mibs(g.Slope), mibs(g.Low), mibs(g.High))
	startUp := ""
	if g.StartUp >= 1<<20 {
		startUp = fmt.Sprintf(", after a start-up of %s MiB", mibs(float64(g.StartUp)))
	}
	switch g.Kind {
	case Grows:
		return fmt.Sprintf("grows %s from prompt %d on%s", rate, g.From, startUp)
	case GrowsLittle:
		return fmt.Sprintf("grows a little, %s from prompt %d on: less than what is called a leak (%s MiB)%s", rate, g.From, mibs(LeakLeast), startUp)
	case Still:
		return fmt.Sprintf("does not grow: %s from prompt %d on%s", rate, g.From, startUp)
	case Stepped:
		return fmt.Sprintf("made one step of %s MiB at prompt %d and does not grow otherwise: %s%s", mibs(float64(g.Height)), g.Steps[0], rate, startUp)
	case Stairs:
		return fmt.Sprintf("grows in %d steps of up to %s MiB, at prompts %s, and stands still between them: an allocator that takes large pieces, or tables that are enlarged; more prompts tell whether it goes on%s", len(g.Steps), mibs(float64(g.Height)), join(g.Steps), startUp)
	case Slowing:
		return fmt.Sprintf("still grows at the end, and less and less: %s from prompt %d on; more prompts tell where it comes to rest%s", rate, g.From, startUp)
	case Shrinks:
		return fmt.Sprintf("shrinks: %s from prompt %d on%s", rate, g.From, startUp)
	}
	return fmt.Sprintf("is unclear: %s from prompt %d on scatters too much; run more prompts%s", rate, g.From, startUp)
}

// mibs writes bytes in MiB with as many digits as mean something.
func mibs(bytes float64) string {
	v := bytes / (1 << 20)
	format := "%.1f"
	if v != 0 && math.Abs(v) < 0.095 {
		format = "%.2f"
	}
	return strings.Replace(fmt.Sprintf(format, v), "-0.00", "0.00", 1)
}

func join(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, ", ")
}

// Values are the slopes of a report as values that can be followed over time.
func (r LeakReport) Values() []memtrix.Value {
	var values []memtrix.Value
	for _, m := range r.Meters {
		values = append(values, memtrix.Value{
			Trial: r.Trial, Meter: memtrix.LeakPrefix + m.Meter, Unit: memtrix.UnitBytes,
			Value: int64(math.Round(m.Slope)), Low: int64(math.Floor(m.Low)), High: int64(math.Ceil(m.High)),
			Trials: []int64{r.Trial}, Note: string(m.Kind),
		})
	}
	return values
}
