package comfyui

import (
	"context"
	"fmt"
	"os"

	"memtrix"
	"memtrix/comfyui/probe"
)

var _ memtrix.Prober = (*Instance)(nil)

// openProbe makes the link with the probe of a server that has one, before the server
// is started: what it inherits, and its environment with that.
func (i *Instance) openProbe(env []string) ([]*os.File, []string, error) {
	v := i.job.Cell.Version
	if !i.job.Cell.Probe || v.Target == memtrix.TargetSim {
		return nil, env, nil
	}
	var err error
	if i.link, err = probe.Open(i.layout.dir, i.job.Epoch); err != nil {
		return nil, nil, fmt.Errorf("start with a probe: %w", err)
	}
	// The first inherited file is descriptor 3 (os/exec, ExtraFiles).
	return []*os.File{i.link.Theirs()}, append(env, probe.FDVariable+"=3"), nil
}

func (i *Instance) closeProbe() error {
	if i.link == nil {
		return nil
	}
	probe.Remove(i.layout.dir)
	return i.link.Close()
}

// number is the number of a prompt, 0 where the id is not known.
func (i *Instance) number(id string) int {
	i.saying.Lock()
	defer i.saying.Unlock()
	return i.prompts[id]
}

// Probe is what the server's probe told so far, nil without one; then the meters are
// those that the server printed itself, where it was told to.
func (i *Instance) Probe() (*memtrix.Probe, []memtrix.Series) {
	if i.link == nil {
		i.saying.Lock()
		defer i.saying.Unlock()
		return nil, i.aimdo.told()
	}
	return i.link.Told(i.number)
}

// Look lets the probe read all its values now.
func (i *Instance) Look(ctx context.Context) (*memtrix.ProbeMoment, error) {
	if i.link == nil {
		return nil, memtrix.ErrUnsupported
	}
	return i.link.Look(ctx)
}

// Inventory lets the server count what it holds; ask at rest only.
func (i *Instance) Inventory(ctx context.Context, trim bool) (*memtrix.Inventory, error) {
	if i.link == nil {
		return nil, memtrix.ErrUnsupported
	}
	return i.link.Inventory(ctx, trim)
}

// SwitchProbe turns the probe's work off and on again.
func (i *Instance) SwitchProbe(ctx context.Context, on bool) error {
	if i.link == nil {
		return memtrix.ErrUnsupported
	}
	return i.link.Switch(ctx, on)
}
