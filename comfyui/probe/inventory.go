package probe

import (
	"encoding/json"
	"fmt"
	"time"

	"memtrix"
)

// inventoryRecord is the part of a reply that only an inventory has.
type inventoryRecord struct {
	CPU     memtrix.TensorBytes            `json:"cpu"`
	Devices map[string]memtrix.TensorBytes `json:"devices"`
	Pinned  *memtrix.BytesCount            `json:"pinned"`
	Cache   *memtrix.CacheBytes            `json:"cache"`
	Malloc  *struct {
		Arena   int64  `json:"arena"`
		Mapped  int64  `json:"hblkhd"`
		Used    int64  `json:"uordblks"`
		Free    int64  `json:"fordblks"`
		Top     int64  `json:"keepcost"`
		Trimmed *int64 `json:"trimmed"`
	} `json:"malloc"`
	Status memtrix.Values `json:"status"`
	GC     struct {
		Objects int64 `json:"objects"`
	} `json:"gc"`
}

func (l *Link) inventory(r reply) (*memtrix.Inventory, error) {
	var in inventoryRecord
	if err := json.Unmarshal(r.line, &in); err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	inv := &memtrix.Inventory{
		At:      l.clock.at(r.record.T0),
		Took:    time.Duration(r.record.T1 - r.record.T0),
		CPU:     in.CPU,
		Devices: in.Devices,
		Pinned:  in.Pinned,
		Cache:   in.Cache,
		Process: in.Status,
		Objects: in.GC.Objects,
		Models:  models(r.record.Models),
		Values:  r.record.values(),
	}
	if m := in.Malloc; m != nil {
		inv.Malloc = &memtrix.Malloc{Arena: m.Arena, Mapped: m.Mapped, Used: m.Used, Free: m.Free, Top: m.Top, Trimmed: m.Trimmed}
	}
	return inv, nil
}
