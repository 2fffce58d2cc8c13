package runner

import (
	"memtrix"
	"memtrix/recorders"
)

// importer is an instance that can tell what the import of custom nodes cost.
type importer interface {
	Imports() []memtrix.PackImport
}

// imports notes what the server said of its custom nodes, with by how much the
// memory of its processes grew over each import.
func (t *trialRun) imports() {
	i, ok := t.instance.(importer)
	if !ok {
		return
	}
	t.trial.Imports = i.Imports()
	for n := range t.trial.Imports {
		growth(&t.trial.Imports[n], t.trial.Series)
	}
}

// growth is a difference of two readings: what an import frees again is not in it.
func growth(p *memtrix.PackImport, series []memtrix.Series) {
	switch {
	case p.RAMWhy != "":
		return
	case p.End == 0:
		p.RAMWhy = "the log does not say when it was imported"
		return
	case p.End <= p.Begin:
		p.RAMWhy = "its import ended before the server's word of its begin was read"
		return
	}
	for _, s := range series {
		if s.Meter.Name != memtrix.RAMTreeRSS {
			continue
		}
		before, ok1 := recorders.ValueAt(s, p.Begin)
		after, ok2 := recorders.ValueAt(s, p.End)
		if ok1 && ok2 {
			grown := after - before
			p.RAM = &grown
			return
		}
	}
	p.RAMWhy = "the memory of the server's processes was not read then"
}
