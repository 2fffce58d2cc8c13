package matrix

import (
	"github.com/goccy/go-yaml/ast"

	"memtrix"
)

// order reads how the repeats of cells follow each other.
func (r *reader) order(n ast.Node, into *memtrix.Order) {
	text, ok := scalarText(n)
	switch o := memtrix.Order(text); o {
	case memtrix.OrderCells, memtrix.OrderABBA:
		if ok {
			*into = o
			return
		}
	}
	r.wrong(n, "order needs cells or abba")
}
