package runner

import (
	"context"
	"time"

	"memtrix"
)

// inventoryLimit is how long a server may stand still for an inventory.
const inventoryLimit = time.Minute

// takeInventory lets the probe count what the server holds at rest; nothing without a
// probe. It comes after the reading, so that it does not show in it.
func (t *trialRun) takeInventory(ctx context.Context, trim bool) {
	p, ok := t.instance.(memtrix.Prober)
	if !ok || !t.trial.Cell.Probe || !t.opts.Inventory {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, inventoryLimit)
	defer cancel()
	t.wait(func() {
		inv, err := p.Inventory(ctx, trim)
		if err != nil {
			t.warn("no inventory of what the server held: %v", err)
			return
		}
		t.inventories = append(t.inventories, *inv)
	})
}

// StartUpShare is the part of a trial's prompts that count as start-up; the first
// inventory is taken after them.
const StartUpShare = 0.2
