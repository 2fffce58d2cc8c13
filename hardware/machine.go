package hardware

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"memtrix"
)

// Keeper is what a keeper process is asked to make, and says of what it made. A
// keeper is a child of memtrix that holds the card's memory and owns the memory
// group: when memtrix ends, however, the keeper's standard input does, and it
// gives everything back.
type Keeper struct {
	Name string `json:"name,omitempty"` // of the group
	VRAM int64  `json:"vram,omitempty"` // to leave free on the card, bytes; 0: do not touch it
	RAM  int64  `json:"ram,omitempty"`
	Swap *int64 `json:"swap,omitempty"`

	Held  int64  `json:"held,omitempty"` // on the card, bytes
	Group *Group `json:"group,omitempty"`
	Error string `json:"error,omitempty"`
}

// Keep is the whole of a keeper process. It makes what it is asked to, answers
// with one line of JSON, and gives everything back when in ends or ctx does.
func Keep(ctx context.Context, ask string, in io.Reader, out io.Writer) error {
	return keepUntil(ctx, ask, in, out, HoldVRAM, MakeGroup)
}

func keepUntil(ctx context.Context, ask string, in io.Reader, out io.Writer,
	hold func(int64) (int64, func(), error), group func(string, int64, *int64) (*Group, error)) error {
	var k Keeper
	if err := json.Unmarshal([]byte(ask), &k); err != nil {
		return fmt.Errorf("read what to keep: %w", err)
	}
	release, err := k.make(hold, group)
	defer release()
	if err != nil {
		k.Error = err.Error()
	}
	if err := json.NewEncoder(out).Encode(k); err != nil {
		return fmt.Errorf("say what is kept: %w", err)
	}
	if k.Error != "" {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, in)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}

// make takes what was asked for. The function it returns gives it back, also
// after an error.
func (k *Keeper) make(hold func(int64) (int64, func(), error), group func(string, int64, *int64) (*Group, error)) (release func(), err error) {
	var undo []func()
	release = func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	if k.RAM > 0 || k.Swap != nil {
		if k.Group, err = group(k.Name, k.RAM, k.Swap); err != nil {
			return release, err
		}
		undo = append(undo, func() { _ = k.Group.End(10 * time.Second) })
	}
	if k.VRAM > 0 {
		held, free, err := hold(k.VRAM)
		if err != nil {
			return release, err
		}
		k.Held = held
		undo = append(undo, free)
	}
	return release, nil
}

// Machine is a machine of another size that a trial runs on.
type Machine struct {
	Kept  Keeper
	self  string
	cmd   *exec.Cmd
	input io.Closer
}

// Make makes the machine that a cell asks for, by a keeper process: self is this
// program, whose "keeper" command is Keep. A machine as it is needs none, and is
// returned as nil. env are the trial's own variables: of several cards those say which
// one is made small.
func Make(ctx context.Context, self string, h memtrix.Hardware, name string, env map[string]string) (*Machine, error) {
	if h.VRAM == 0 && h.RAM == 0 && h.Swap == nil {
		return nil, nil
	}
	ask, err := json.Marshal(Keeper{Name: name, VRAM: h.VRAM, RAM: h.RAM, Swap: h.Swap})
	if err != nil {
		return nil, err
	}
	m := &Machine{self: self, cmd: exec.Command(self, "keeper", string(ask))}
	detach(m.cmd) // Ctrl-C is for memtrix; the keeper ends after it
	m.cmd.Stderr = os.Stderr
	m.cmd.Env = os.Environ()
	for _, which := range cardVariables {
		if value, ok := env[which]; ok {
			m.cmd.Env = append(m.cmd.Env, which+"="+value) // of two the last one counts
		}
	}
	if m.input, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper of %s: %w", h.Name, err)
	}
	if err := m.await(ctx, out); err != nil {
		m.Release()
		return nil, fmt.Errorf("hardware %s: %w", h.Name, err)
	}
	return m, nil
}

// cardVariables say which cards a program of CUDA sees, and in which order.
var cardVariables = []string{"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}

// await reads the keeper's answer.
func (m *Machine) await(ctx context.Context, out io.Reader) error {
	answer := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &m.Kept)
		}
		if err == nil && m.Kept.Error != "" {
			err = errors.New(m.Kept.Error)
		}
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Prefix is put before a command so that it runs in the machine; empty where
// only the card is small.
func (m *Machine) Prefix() []string {
	if m == nil || m.Kept.Group == nil {
		return nil
	}
	return []string{m.self, "enter-group", m.Kept.Group.Path}
}

// Usage is what the kernel counted for the machine's memory group, or false
// where it has none.
func (m *Machine) Usage() (Usage, bool) {
	if m == nil || m.Kept.Group == nil {
		return Usage{}, false
	}
	return m.Kept.Group.Usage(), true
}

// Release gives everything back and waits until the keeper has ended.
func (m *Machine) Release() {
	if m == nil {
		return
	}
	m.input.Close()
	// What it says as it ends is on our standard error; there is nothing to add.
	_ = m.cmd.Wait()
}

// Unfaithful says which settings do not see a small card but the whole one: a
// card made small by holding its memory keeps its total.
func Unfaithful(h memtrix.Hardware, s memtrix.Settings) string {
	if h.VRAM == 0 {
		return ""
	}
	var names []string
	if _, ok := s["reserve-vram"]; ok && s["dynamic-vram"] != "off" {
		names = append(names, "reserve-vram under dynamic VRAM")
	}
	if len(names) == 0 {
		return ""
	}
	return "not faithful on a card made small: " + strings.Join(names, ", ") + " counts the card's whole capacity"
}
