package probe

import (
	"encoding/json"
	"fmt"
	"time"

	"memtrix"
)

// Version of the records that this package reads; the module says its own first.
const Version = 1

// record is one line of the module. See python/memtrix_probe/__init__.py.
type record struct {
	Kind    string            `json:"k"`
	T       int64             `json:"t"` // CLOCK_MONOTONIC, ns
	T0      int64             `json:"t0"`
	T1      int64             `json:"t1"`
	State   string            `json:"s"`
	Prompt  string            `json:"p"`
	ID      json.RawMessage   `json:"id"` // a node's id (text) or a command's number
	Display string            `json:"d"`
	Class   json.RawMessage   `json:"c"` // a class, or a list of them
	Values  json.RawMessage   `json:"v"` // values, or the version in hello
	Models  []modelRecord     `json:"m"`
	Loads   int               `json:"loads"`
	Peak    *int64            `json:"tp"`
	Reserve *int64            `json:"rp"`
	Work    *int64            `json:"work"`
	OOMs    int64             `json:"ooms"`
	Error   string            `json:"err"`
	How     string            `json:"how"`
	Asked   *int64            `json:"asked"`
	Was     *int64            `json:"was"`
	Count   int64             `json:"n"`
	Freed   *int64            `json:"freed"`
	Device  string            `json:"dev"`
	Type    string            `json:"type"`
	Text    string            `json:"text"`
	Where   string            `json:"where"`
	Fault   string            `json:"error"`
	On      bool              `json:"on"`
	Hooks   map[string]string `json:"hooks"`
	Pending []string          `json:"pending"`
	Dropped int64             `json:"dropped"`
	Faults  map[string]int64  `json:"faults"`
}

type modelRecord struct {
	Number  int    `json:"n"`
	Class   string `json:"c"`
	Size    int64  `json:"size"`
	Loaded  int64  `json:"loaded"`
	Device  string `json:"dev"`
	Dynamic bool   `json:"dyn"`
	VBAR    int64  `json:"vb"`
	Pinned  *int64 `json:"pin"`
	RAM     *int64 `json:"ram"`
}

func (m modelRecord) model() memtrix.Model {
	return memtrix.Model{
		Class: m.Class, Number: m.Number, Size: m.Size, Resident: m.Loaded, Device: m.Device,
		Dynamic: m.Dynamic, InVBAR: m.VBAR, Pinned: m.Pinned, Staged: m.RAM,
	}
}

func models(records []modelRecord) []memtrix.Model {
	var all []memtrix.Model
	for _, r := range records {
		all = append(all, r.model())
	}
	return all
}

// keys are the meters of a moment's values by the module's short names.
var keys = map[string]string{
	"ta": memtrix.TorchAllocated, "tr": memtrix.TorchReserved,
	"fd": memtrix.VRAMDriverFree, "td": memtrix.VRAMDriverTotal, "fc": memtrix.VRAMComfyUIFree,
	"vb": memtrix.AimdoWeights, "cb": memtrix.AimdoBuffers, "au": memtrix.AimdoUsed,
	"w": memtrix.WeightsResident, "pin": memtrix.RAMPinned, "ce": memtrix.CacheEntries,
	"rss": memtrix.RAMProcessRSS, "anon": memtrix.RAMProcessAnon,
}

// values are a record's, nil where it has none. Peaks are left out: those of a
// stretch are part of a node's and mean nothing alone.
func (r record) values() memtrix.Values {
	if len(r.Values) == 0 || r.Values[0] != '{' {
		return nil
	}
	var short map[string]int64
	if json.Unmarshal(r.Values, &short) != nil {
		return nil
	}
	v := memtrix.Values{}
	for key, value := range short {
		if meter, ok := keys[key]; ok {
			v[meter] = value
		}
	}
	// On the CPU ComfyUI counts RAM there.
	if _, card := v[memtrix.TorchReserved]; !card {
		delete(v, memtrix.VRAMComfyUIFree)
		delete(v, memtrix.WeightsResident)
		delete(v, memtrix.AimdoWeights)
		delete(v, memtrix.AimdoBuffers)
		delete(v, memtrix.AimdoUsed)
	}
	return v
}

// node is the id of a node, "" where the record has none.
func (r record) node() string {
	var id string
	_ = json.Unmarshal(r.ID, &id) // a number is a command's
	return id
}

// number is the number of a command, 0 where the record has none.
func (r record) number() int64 {
	var n int64
	_ = json.Unmarshal(r.ID, &n)
	return n
}

func (r record) class() string {
	var c string
	_ = json.Unmarshal(r.Class, &c)
	return c
}

func (r record) classes() []string {
	var c []string
	_ = json.Unmarshal(r.Class, &c)
	return c
}

// parse reads a line. Records of a kind that is not known are kept: a newer module
// may say more.
func parse(line []byte) (record, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("probe: %w in %.80q", err, line)
	}
	if r.Kind == "" {
		return r, fmt.Errorf("probe: no kind in %.80q", line)
	}
	return r, nil
}

// clock turns the module's times into the trial's.
type clock struct{ zero int64 }

// newClock finds the zero of the trial's clock on CLOCK_MONOTONIC.
func newClock(epoch time.Time) (clock, error) {
	now, err := monotonic()
	if err != nil {
		return clock{}, fmt.Errorf("read the clock: %w", err)
	}
	return clock{now - int64(time.Since(epoch))}, nil
}

func (c clock) at(ns int64) time.Duration {
	if ns == 0 {
		return 0
	}
	return time.Duration(ns - c.zero)
}
