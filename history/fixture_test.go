package history

import (
	"fmt"
	"time"

	"memtrix"
)

// book makes trials as a store would give them.
type book struct {
	trials []*memtrix.Brief
	nights int64
	next   int64
}

// run is one trial of a night.
type run struct {
	version  string // name
	commit   string
	release  string
	workflow string
	settings memtrix.Settings
	outcome  memtrix.OutcomeKind // "" is pass
	mib      float64             // peak of RAM; 0 is none
	confirms bool
	control  bool
	expect   memtrix.OutcomeKind
	facts    memtrix.Environment
	sim      bool
	argv     []string
}

func (b *book) night(runs ...run) int64 {
	b.nights++
	for _, r := range runs {
		b.add(r)
	}
	return b.nights
}

func (b *book) session() memtrix.Session {
	return memtrix.Session{ID: b.nights, Name: fmt.Sprintf("nightly-%03d", b.nights), Spec: "nightly", Started: b.when()}
}

func (b *book) when() time.Time {
	return time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, int(b.nights))
}

func (b *book) add(r run) {
	b.next++
	v := memtrix.Version{Name: r.version, Target: memtrix.TargetComfyUI, Release: r.release, Commit: r.commit}
	if r.workflow == "" {
		r.workflow = "sdxl"
	}
	if r.outcome == "" {
		r.outcome = memtrix.Pass
	}
	cell := memtrix.Cell{Version: v, Settings: r.settings, Hardware: memtrix.Hardware{Name: "as-is"}, Workflow: memtrix.Workflow{Name: r.workflow, Hash: r.workflow}}
	facts := memtrix.Environment{"driver": "580", "gpu.0.name": "RTX 4070"}
	for k, v := range r.facts {
		facts[k] = v
	}
	t := &memtrix.Trial{ID: b.next, Session: b.nights, Cell: cell, Started: b.when().Add(time.Duration(b.next) * time.Second), Expect: r.expect,
		Outcome: memtrix.Outcome{Kind: r.outcome}, Confirms: r.confirms, Control: r.control, Environment: facts, Simulated: r.sim, Argv: r.argv}
	if r.outcome == memtrix.OOM {
		t.Outcome.Memory = memtrix.MemoryVRAM
	}
	brief := &memtrix.Brief{Trial: t, Session: b.session(), Cell: cell.ID(), Series: cell.Series(), VersionID: r.version + r.commit, Numbers: map[string]memtrix.Number{}}
	if r.mib > 0 {
		brief.Numbers[memtrix.RAMTreeAnon] = memtrix.Number{Value: int64(r.mib * (1 << 20)), Unit: memtrix.UnitBytes}
	}
	b.trials = append(b.trials, brief)
}
