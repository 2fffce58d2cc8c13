package results

import (
	"memtrix"
)

// findings are the parts of an outcome that nobody searches for by themselves.
type findings struct {
	Unallocated *int64           `json:"unallocated_bytes,omitempty"`
	Holders     []memtrix.Holder `json:"holders,omitempty"`
	FallBacks   []string         `json:"fall_backs,omitempty"`
	Slow        *memtrix.Slow    `json:"slow,omitempty"`
	Rule        string           `json:"rule,omitempty"`
}

func findingsOf(o memtrix.Outcome) findings {
	return findings{Unallocated: o.Unallocated, Holders: o.Holders, FallBacks: o.FallBacks, Slow: o.Slow, Rule: o.Rule}
}

func (f findings) into(o *memtrix.Outcome) {
	o.Unallocated, o.Holders, o.FallBacks, o.Slow, o.Rule = f.Unallocated, f.Holders, f.FallBacks, f.Slow, f.Rule
}
