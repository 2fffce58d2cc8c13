package matrix

import (
	"slices"
	"strings"

	"memtrix"
)

// Loading is what is known of a workflow on a version before anything runs.
type Loading struct {
	// Missing are node types that nobody provides, one text each, with who has them
	// where that is known.
	Missing []string
	// Warnings are of the choice of packs, Notes of what will be loaded.
	Warnings, Notes []string
}

// loaded is a version as one workflow runs on it.
type loaded struct {
	version memtrix.Version
	Loading
}

// load asks which packs each version loads for each workflow. A workflow with node
// types that no version has is a mistake of the spec; one that only some lack is not
// applicable there.
func (p *planner) load(versions []memtrix.Version, workflows []memtrix.Workflow) {
	p.loads = map[[2]string]loaded{}
	if p.world.Load == nil {
		return
	}
	said := map[string]bool{}
	for j, w := range workflows {
		var lacking [][]string
		able := 0
		for i, v := range versions {
			if v.Trouble != "" {
				continue
			}
			with, l := p.world.Load(p.spec.Versions[i], v, w)
			p.loads[[2]string{v.Name, w.Name}] = loaded{with, l}
			for _, warning := range l.Warnings {
				if msg := "workflow " + w.Name + ": " + warning; !said[msg] {
					said[msg] = true
					p.warn(p.spec.Workflows[j].pos, "%s", msg)
				}
			}
			if len(l.Missing) == 0 {
				able++
				continue
			}
			lacking = append(lacking, append([]string{v.Name}, l.Missing...))
		}
		p.lacking(p.spec.Workflows[j].pos, w.Name, able, lacking)
	}
}

// lacking says which node types are missing: each is the name of a version and its
// texts.
func (p *planner) lacking(at pos, workflow string, able int, lacking [][]string) {
	if able > 0 {
		for _, l := range lacking {
			p.warn(at, "workflow %s cannot run on %s: %s", workflow, l[0], strings.Join(l[1:], "; "))
		}
		return
	}
	var said []string
	for _, l := range lacking {
		for _, text := range l[1:] {
			if !slices.Contains(said, text) {
				said = append(said, text)
				p.fail(at, nil, "workflow %s: %s", workflow, text)
			}
		}
	}
}

// with gives a cell the packs of its version and workflow, and says why it cannot
// run.
func (p *planner) with(c memtrix.Cell) (cell memtrix.Cell, notes []string, reason string) {
	l, ok := p.loads[[2]string{c.Version.Name, c.Workflow.Name}]
	if !ok {
		return c, nil, ""
	}
	c.Version = l.version
	return c, l.Notes, strings.Join(l.Missing, "; ")
}
