package memtrix

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Cell is one point of the matrix.
type Cell struct {
	Version  Version  `json:"version"`
	Settings Settings `json:"settings"`
	Hardware Hardware `json:"hardware"`
	Workflow Workflow `json:"workflow"`
	// Probe says whether the trial runs with a probe inside the server. Cells
	// with and without are never compared silently.
	Probe bool `json:"probe,omitempty"`
}

// ID is a hash of exactly what makes a cell: commit, packages, node packs, settings,
// hardware, workflow content and probe, and of an attached server that it is one
// and its flags. Names and paths are not in it.
func (c Cell) ID() string {
	return hash("cell", c.identity(), c.versionIdentity())
}

// Series is the cell without its version: the key that a history follows.
func (c Cell) Series() string {
	return hash("series", c.identity(), nil)
}

func (c Cell) identity() []any {
	h := c.Hardware
	parts := []any{sortedPairs(c.Settings), h.Name, h.VRAM, h.RAM, h.Swap, c.Workflow.Hash, c.Probe}
	// Of an attached server the flags are its user's choice, and it was warm: its
	// cells are never those of fresh servers, and neither is their history.
	return append(parts, c.Version.Attached.identity()...)
}

func (c Cell) versionIdentity() []any {
	v := c.Version
	// None and an empty list are the same, whichever a store gave back.
	dirty := append([]string{}, v.Dirty...)
	parts := []any{v.Target, v.Commit, dirty, sortedPairs(v.Packages)}
	if len(v.Packs) > 0 {
		parts = append(parts, packIdentity(v.Packs))
	}
	return parts
}

func sortedPairs(m map[string]string) [][2]string {
	pairs := make([][2]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, [2]string{k, m[k]})
	}
	return pairs
}

func hash(kind string, parts ...[]any) string {
	// Marshal of strings, numbers, booleans and slices of them cannot fail.
	data, err := json.Marshal(parts)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(append([]byte(kind+"\x00"), data...))
	return hex.EncodeToString(sum[:6])
}

// Plan is the ordered cells of a spec, with those that cannot run and why.
type Plan struct {
	// Spec is the spec's name; sessions of one spec belong together.
	Spec string
	// Cells in the order in which they should run.
	Cells []PlannedCell
	// Order says how the repeats of cells follow each other.
	Order Order
	// Warnings are things that a person should know, e.g. what a budget left out.
	Warnings []string
}

// Order of the repeats of a plan's cells.
type Order string

const (
	// OrderCells: all repeats of a cell one after the other. The default.
	OrderCells Order = "cells"
	// OrderABBA: the versions of a cell in turn, forth and back (A B B A A B ...), so that
	// what drifts (warmth, caches, other programs) does the same to all of them.
	OrderABBA Order = "abba"
)

// Status of a planned cell.
type Status string

const (
	StatusRun           Status = "run"
	StatusNotApplicable Status = "not-applicable"
	StatusLeftOut       Status = "left-out" // by a budget; said, never hidden
)

// PlannedCell is a cell with what the plan decided about it.
type PlannedCell struct {
	Cell   Cell
	Status Status
	Reason string   // why it does not run
	Argv   []string // launch flags that the settings become on this version
	// Notes are what a person should know before it runs, e.g. that a setting
	// will have no effect beside another.
	Notes   []string
	Repeats int
	// First is the repeat to begin with: 0, but for a search that asks for one of them.
	First int
	// Seconds is how long one trial of the cell is expected to take, all in
	// all; a guess where it never ran.
	Seconds float64
	// Expect is the outcome that counts as success; "" means pass.
	Expect OutcomeKind
	// Control marks the frozen cell that shows when the machine itself moved.
	Control bool
	// Confirm marks a cell whose repeats beyond the stored ones are run only to see
	// whether a change is one.
	Confirm bool
}
