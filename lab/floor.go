package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// Sizes of a floor search.
const (
	floorGrain      = 16 << 20
	floorHardest    = 128 << 20 // no server starts with less
	floorResolution = 128 << 20
)

// FloorMeter is the memory of which the least is looked for.
type FloorMeter string

const (
	FloorOfVRAM FloorMeter = "vram"
	FloorOfRAM  FloorMeter = "ram"
)

// FloorOptions are how a floor is looked for.
type FloorOptions struct {
	Meter FloorMeter
	// Most is how many trials there may be, that of the cell as it is included.
	Most int
	// Slower: a size does not pass at which a prompt takes so many times as long as
	// the slowest one of the cell as it is. Too little RAM seldom kills: files are
	// thrown out and read again for ever.
	Slower float64
	// Swap of the trials that get less RAM, bytes; nil: what the machine has.
	Swap *int64
	// Before is the floor that was found the last time, and BeforeFails the next size
	// that did not pass then, 0 for none: the search begins with whether they still
	// hold.
	Before, BeforeFails int64
	// Cold makes files that were read before count again; nil does nothing. It is called
	// before each trial but that of the cell as it is.
	Cold func()
	// Limit sets the time that a prompt may take from here on.
	Limit func(time.Duration)
}

// leastLimit keeps chance from ending a short prompt.
const leastLimit = 30 * time.Second

// Point is one trial of a search.
type Point struct {
	Trial int64 `json:"trial"`
	// Size is what was left free for it, or the number of pixels, frames or images.
	Size    int64               `json:"size"`
	Label   string              `json:"label,omitempty"`
	AsIs    bool                `json:"as_is,omitempty"`
	Pass    bool                `json:"pass"`
	Outcome memtrix.OutcomeKind `json:"outcome"`
	Memory  memtrix.Memory      `json:"memory,omitempty"`
	Phase   memtrix.Phase       `json:"phase,omitempty"`
	Message string              `json:"message,omitempty"`
	// First and Last are the seconds of the first and the last prompt that passed, 0
	// for none; they are one where there is one prompt.
	First float64 `json:"first_prompt_seconds,omitempty"`
	Last  float64 `json:"last_prompt_seconds,omitempty"`
	// Peak is what the trial took of the memory in question, bytes.
	Peak          int64 `json:"peak_bytes,omitempty"`
	HiddenRetries int   `json:"hidden_retries,omitempty"`
	// Seconds are those of the whole trial.
	Seconds float64 `json:"trial_seconds,omitempty"`
}

// FloorReport is the answer of a floor search.
type FloorReport struct {
	Meter     FloorMeter       `json:"meter"`
	Cell      string           `json:"cell"`
	Series    string           `json:"series"`
	Version   string           `json:"version"`
	Workflow  string           `json:"workflow"`
	Settings  memtrix.Settings `json:"settings"`
	Hardware  string           `json:"hardware"`
	Probe     bool             `json:"probe,omitempty"`
	Simulated bool             `json:"simulated"`
	// Found says that there is a floor: the smallest size that passes on this card or
	// machine, bytes, and the next one that does not.
	Found bool  `json:"found"`
	Floor int64 `json:"floor_bytes,omitempty"`
	Fails int64 `json:"fails_bytes,omitempty"`
	// Plain is the smallest size that was tried from which on no allocation failed and
	// was got over.
	Plain int64   `json:"without_retries_bytes,omitempty"`
	Near  bool    `json:"near"`
	Sure  bool    `json:"sure"`
	Mixed []int64 `json:"mixed_bytes,omitempty"`
	// Beyond are smaller sizes that passed.
	Beyond    []int64 `json:"beyond_bytes,omitempty"`
	Monotonic bool    `json:"monotonic"`
	// Peak is what the cell took as it is, NonEvictable the least that it needs by
	// one trial's figures (see memtrix.NonEvictable).
	Peak         int64   `json:"peak_bytes,omitempty"`
	NonEvictable int64   `json:"non_evictable_bytes,omitempty"`
	Swap         *int64  `json:"swap_bytes,omitempty"`
	Limit        float64 `json:"prompt_limit_seconds,omitempty"`
	Verdict      string  `json:"verdict"`
	Tries        []Point `json:"tries"`
}

// Floor looks for the smallest free memory at which a cell passes on this card (VRAM)
// or this machine (RAM). The cell itself is the first try. An error means that it
// could not be told; a cell that does not pass as it is has no floor.
func Floor(ctx context.Context, o FloorOptions, c memtrix.PlannedCell, try Try) (FloorReport, error) {
	r := newFloorReport(o, c)
	first, err := try(ctx, c, 0)
	if err == nil {
		err = tell(first)
	}
	if err != nil {
		return r, err
	}
	r.Simulated = first.Simulated
	r.add(first, capacity(o.Meter, first), true)
	if first.Outcome.Kind != memtrix.Pass {
		r.Verdict = fmt.Sprintf("there is no floor: it does not pass as it is (%s)", outcomeWords(first))
		return r, nil
	}
	if r.Tries[0].Size == 0 {
		return r, Settled{fmt.Errorf("%s, %s: how much %s there is was not measured", c.Cell.Version.Name, c.Cell.Workflow.Name, strings.ToUpper(string(o.Meter)))}
	}
	r.limit(o, first)
	r.Peak, r.NonEvictable = r.Tries[0].Peak, nonEvictable(o.Meter, first)
	s := floorSearch(r.Peak, r.NonEvictable, o.Most)
	if o.Before > floorHardest && o.BeforeFails > 0 {
		s.Likely, s.Unlikely = o.Before, o.BeforeFails
	}
	tried := []Tried{{r.Tries[0].Size, true}}
	for {
		size, more := s.Next(tried)
		if !more {
			break
		}
		if o.Cold != nil {
			o.Cold()
		}
		t, err := try(ctx, sized(o, c, size), repeats(tried, size))
		if err == nil {
			err = tell(t)
		}
		if err != nil {
			return r, err
		}
		pass := r.add(t, size, false)
		tried = append(tried, Tried{size, pass})
	}
	b, _ := s.Border(tried)
	r.conclude(b)
	return r, nil
}

func newFloorReport(o FloorOptions, c memtrix.PlannedCell) FloorReport {
	return FloorReport{
		Meter: o.Meter, Cell: c.Cell.ID(), Series: c.Cell.Series(), Version: c.Cell.Version.Name,
		Workflow: c.Cell.Workflow.Name, Settings: c.Cell.Settings, Hardware: c.Cell.Hardware.Name, Probe: c.Cell.Probe,
		Swap: o.Swap, Monotonic: true,
	}
}

// floorSearch looks for the smallest size that passes. peak is what the cell took as
// it is, and guess what it is thought to need: the non-evictable peak, 0 where that is
// not known.
func floorSearch(peak, guess int64, most int) Search {
	s := Search{
		Down: true, Hardest: floorHardest, Grain: floorGrain, Most: most,
		Resolution: func(size int64) int64 { return max(floorResolution, size/100) },
	}
	switch {
	case guess > floorHardest:
		s.Likely, s.Unlikely = s.by(guess, 1/1.06), s.by(guess, 1.06)
	case peak > floorHardest:
		s.Likely, s.Unlikely = s.by(peak, 1/1.05), s.by(peak, 2)
	}
	return s
}

// sized is the cell on a machine with so much free memory.
func sized(o FloorOptions, c memtrix.PlannedCell, size int64) memtrix.PlannedCell {
	h := c.Cell.Hardware
	name := fmt.Sprintf("%s-%dMiB", o.Meter, size>>20)
	if h.Name != "" && h.Name != "as-is" {
		name = h.Name + " " + name
	}
	h.Name = name
	if o.Meter == FloorOfRAM {
		h.RAM = size
		if o.Swap != nil {
			h.Swap = o.Swap
		}
	} else {
		h.VRAM = size
	}
	c.Cell.Hardware = h
	c.Expect = "" // a failure is an answer, and no surprise
	return c
}

func repeats(tried []Tried, size int64) int {
	n := 0
	for _, t := range tried[1:] { // the first is another cell
		if t.Size == size {
			n++
		}
	}
	return n
}

// capacity is the memory that the cell had as it is: what it asks for, else all that the
// card or the machine has, some of which is others'.
func capacity(m FloorMeter, t *memtrix.Trial) int64 {
	asked, facts := t.Cell.Hardware.VRAM, []string{"banner.total-vram", "gpu.0.vram.total"}
	if m == FloorOfRAM {
		asked, facts = t.Cell.Hardware.RAM, []string{"ram.total"}
	}
	if asked > 0 {
		return asked
	}
	for _, name := range facts {
		if n, err := strconv.ParseInt(t.Environment[name], 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

func peakOf(m FloorMeter, t *memtrix.Trial) int64 {
	meters := []string{memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed}
	if m == FloorOfRAM {
		meters = []string{memtrix.RAMTreeRSS}
	}
	for _, name := range meters {
		if p, ok := t.Peak(name); ok {
			return p.Value
		}
	}
	return 0
}

// nonEvictable is the largest of the trial's prompts, 0 where it is not known.
func nonEvictable(m FloorMeter, t *memtrix.Trial) int64 {
	var most int64
	if m == FloorOfVRAM && t.Probe != nil {
		for _, p := range t.Probe.Prompts {
			if p.NonEvictable != nil {
				most = max(most, *p.NonEvictable)
			}
		}
	}
	return most
}

// limit bounds the prompts that follow by those of the cell as it is.
func (r *FloorReport) limit(o FloorOptions, first *memtrix.Trial) {
	if o.Slower <= 0 || o.Limit == nil {
		return
	}
	var slowest float64
	for _, p := range first.Prompts {
		slowest = max(slowest, p.Seconds)
	}
	limit := max(time.Duration(o.Slower*slowest*float64(time.Second)), leastLimit)
	r.Limit = limit.Seconds()
	o.Limit(limit)
}

func (r *FloorReport) add(t *memtrix.Trial, size int64, asIs bool) (pass bool) {
	p := point(t, size)
	p.AsIs, p.Peak = asIs, peakOf(r.Meter, t)
	r.Tries = append(r.Tries, p)
	return p.Pass
}

func point(t *memtrix.Trial, size int64) Point {
	o := t.Outcome
	p := Point{
		Trial: t.ID, Size: size, Pass: o.Kind == memtrix.Pass, Outcome: o.Kind, Memory: o.Memory, Phase: o.Phase,
		Message: o.Message, HiddenRetries: o.HiddenRetries, Seconds: t.Seconds,
	}
	for _, prompt := range t.Prompts {
		if prompt.Outcome != memtrix.Pass {
			continue
		}
		if p.First == 0 {
			p.First = prompt.Seconds
		}
		p.Last = prompt.Seconds
	}
	return p
}

func outcomeWords(t *memtrix.Trial) string {
	words := string(t.Outcome.Kind)
	if m := t.Outcome.Memory; m != "" && m != memtrix.MemoryNone {
		words += " of " + string(m)
	}
	if t.Outcome.Message != "" {
		words += ": " + t.Outcome.Message
	}
	return words
}

// conclude takes the border over and says it in words.
func (r *FloorReport) conclude(b Border) {
	r.Found, r.Floor, r.Fails = true, b.Size, b.Fails
	r.Near, r.Sure, r.Mixed, r.Beyond, r.Monotonic = b.Near, b.Sure, b.Mixed, b.Beyond, len(b.Beyond) == 0
	what, where := "VRAM", "on this card"
	if r.Meter == FloorOfRAM {
		what, where = "RAM", "on this machine"
		switch {
		case r.Swap == nil:
			where += ", with its swap"
		case *r.Swap == 0:
			where += ", without swap"
		default:
			where += fmt.Sprintf(", with %d MiB of swap", *r.Swap>>20)
		}
	}
	if b.Fails == 0 {
		r.Verdict = fmt.Sprintf("passes with as little as %d MiB of free %s %s: the smallest size that is tried", b.Size>>20, what, where)
		return
	}
	r.Verdict = fmt.Sprintf("passes with %d MiB of free %s %s, and not with %d MiB", b.Size>>20, what, where, b.Fails>>20)
	r.Verdict += borderWords(b, func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) })
	if r.Plain = plainFrom(r.Tries); r.Plain > r.Floor {
		r.Verdict += fmt.Sprintf("; below %d MiB only after allocations that failed and were got over (a VAE in tiles, split attention)", r.Plain>>20)
	}
}

// plainFrom is the smallest size from which on nothing had to be tried again, of those
// that were tried.
func plainFrom(tries []Point) int64 {
	var retried, plain int64
	for _, p := range tries {
		if !p.Pass || p.HiddenRetries > 0 {
			retried = max(retried, p.Size)
		}
	}
	for _, p := range tries {
		if p.Size > retried && (plain == 0 || p.Size < plain) {
			plain = p.Size
		}
	}
	return plain
}

// borderWords says how sure a border is.
func borderWords(b Border, size func(int64) string) string {
	list := func(sizes []int64) string {
		var words []string
		for _, n := range sizes {
			words = append(words, size(n))
		}
		return strings.Join(words, ", ")
	}
	var words string
	if len(b.Mixed) > 0 {
		words += "; not sharp: at " + list(b.Mixed) + " it passed at one time and not at another"
	}
	if len(b.Beyond) > 0 {
		words += "; not monotonic: it passed also at " + list(b.Beyond)
	}
	if !b.Near {
		words += "; nothing nearer was tried (--trials)"
	}
	if b.Sure && b.Near {
		words += " (each tried twice)"
	}
	return words
}

// Value is the floor as a value that can be followed, or false where there is none.
func (r FloorReport) Value() (memtrix.Value, bool) {
	if !r.Found {
		return memtrix.Value{}, false
	}
	meter := memtrix.FloorVRAM
	if r.Meter == FloorOfRAM {
		meter = memtrix.FloorRAM
	}
	v := memtrix.Value{
		Trial: r.Tries[0].Trial, Meter: meter, Unit: memtrix.UnitBytes,
		Value: r.Floor, Low: r.Fails, High: r.Floor, Note: r.Verdict,
	}
	for _, p := range r.Tries {
		v.Trials = append(v.Trials, p.Trial)
	}
	return v, true
}
