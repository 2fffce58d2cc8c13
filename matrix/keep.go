package matrix

import (
	"github.com/goccy/go-yaml/ast"

	"memtrix"
)

// keep reads how finely series are kept.
func (r *reader) keep(n ast.Node, into *memtrix.Keep) {
	text, ok := scalarText(n)
	switch k := memtrix.Keep(text); k {
	case memtrix.KeepAuto, memtrix.KeepFull, memtrix.KeepEnvelope:
		if ok {
			*into = k
			return
		}
	}
	r.wrong(n, "keep needs full, envelope or auto")
}
