package history

import (
	"fmt"
	"strings"

	"memtrix"
)

// pair finds the cells that both sides have, in the order of a.
func pair(a, b []*memtrix.Brief) (pairs [][2][]*memtrix.Brief, onlyA, onlyB [][]*memtrix.Brief) {
	x, y := byCell(a, b)
	taken := map[int]bool{}
	match := func(same func(p, q *memtrix.Brief) bool) {
		for i, p := range x {
			if p == nil {
				continue
			}
			for j, q := range y {
				if !taken[j] && same(p[0], q[0]) {
					pairs = append(pairs, [2][]*memtrix.Brief{p, q})
					taken[j], x[i] = true, nil
					break
				}
			}
		}
	}
	sameVersion := func(p, q *memtrix.Brief) bool { return p.Trial.Cell.Version.Name == q.Trial.Cell.Version.Name }
	several := versions(a) > 1 && versions(b) > 1
	match(func(p, q *memtrix.Brief) bool { return p.Series == q.Series && (!several || sameVersion(p, q)) })
	match(func(p, q *memtrix.Brief) bool {
		c, d := p.Trial.Cell, q.Trial.Cell
		return c.Workflow.Hash == d.Workflow.Hash && c.Settings.String() == d.Settings.String() && c.Hardware.Name == d.Hardware.Name && (!several || sameVersion(p, q))
	})
	if len(x) == 1 && len(y) == 1 {
		match(func(p, q *memtrix.Brief) bool { return true })
	}
	for _, p := range x {
		if p != nil {
			onlyA = append(onlyA, p)
		}
	}
	for j, q := range y {
		if !taken[j] {
			onlyB = append(onlyB, q)
		}
	}
	return pairs, onlyA, onlyB
}

// byCell groups the trials of both sides by cell.
func byCell(a, b []*memtrix.Brief) (x, y [][]*memtrix.Brief) {
	group := func(trials []*memtrix.Brief) [][]*memtrix.Brief {
		index := map[string]int{}
		var all [][]*memtrix.Brief
		for _, t := range trials {
			key := t.Cell + "|" + t.Trial.Cell.Version.Name
			i, ok := index[key]
			if !ok {
				i = len(all)
				index[key] = i
				all = append(all, nil)
			}
			all[i] = append(all[i], t)
		}
		return all
	}
	return group(a), group(b)
}

func versions(trials []*memtrix.Brief) int {
	names := map[string]bool{}
	for _, t := range trials {
		names[t.Trial.Cell.Version.Name] = true
	}
	return len(names)
}

func cellsText(cells [][]*memtrix.Brief) string {
	const shown = 3
	var words []string
	for i, c := range cells {
		if i == shown {
			words = append(words, fmt.Sprintf("%d more", len(cells)-shown))
			break
		}
		words = append(words, cellText(c[0].Trial.Cell))
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, "; ")
}

func cellText(c memtrix.Cell) string {
	text := Change{Workflow: c.Workflow.Name, Settings: c.Settings.String(), Hardware: hardwareText(c.Hardware.Name)}.Where()
	return text + " on " + c.Version.Name
}
