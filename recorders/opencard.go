package recorders

import (
	"fmt"
	"runtime"
	"strconv"

	"memtrix/recorders/amd"
	"memtrix/recorders/nvidia"
)

// Card is what the sampler needs of a card; *nvidia.Card and *amd.Card are two.
type Card interface {
	// Memory of the card now.
	Memory() (nvidia.Memory, error)
	// Processes appends those that hold memory of the card to buf.
	Processes(buf []nvidia.Process) ([]nvidia.Process, error)
}

// NamedCard is a further card of the machine.
type NamedCard struct {
	// Name becomes part of its meters: vram.NAME.used.
	Name string
	Card
}

// OpenCard opens the card that a program with the given environment (nil for our
// own) uses first: an NVIDIA card, else an AMD card. The error says why there is
// none.
func OpenCard(env nvidia.Lookup) (Card, func() error, error) {
	if env == nil {
		env = ownEnv
	}
	n, err := nvidia.Open(env)
	if err == nil {
		return n, n.Close, nil
	}
	if runtime.GOOS == "darwin" {
		return nil, nil, fmt.Errorf("%w; a Mac's card shares the machine's memory and has none of its own to read", err)
	}
	a, amdErr := amd.Open(env)
	if amdErr == nil {
		return a, a.Close, nil
	}
	return nil, nil, fmt.Errorf("%w; %w", err, amdErr)
}

// OpenCards is OpenCard for all the cards that such a program sees. The first is
// apart; further ones are named after NVML's index ("gpu1").
func OpenCards(env nvidia.Lookup) (first Card, others []NamedCard, closeAll func() error, err error) {
	if env == nil {
		env = ownEnv
	}
	all, err := nvidia.OpenAll(env)
	if err != nil {
		first, closeAll, err = OpenCard(env)
		return first, nil, closeAll, err
	}
	for _, c := range all[1:] {
		others = append(others, NamedCard{"gpu" + strconv.Itoa(c.Index), c})
	}
	return all[0], others, func() error {
		var err error
		for _, c := range all {
			err = c.Close()
		}
		return err
	}, nil
}
