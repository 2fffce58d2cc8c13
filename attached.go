package memtrix

import (
	"context"
	"errors"
	"time"
)

// Attached is a server that runs already, as it was when it was looked at. It
// belongs to its user: it is never stopped or freed, and its queue is never
// cleared.
type Attached struct {
	// URL is where it listens: "http://127.0.0.1:8188".
	URL string `json:"url"`
	// Argv are the launch flags with which its user started it, without those that
	// only say where it listens and where its files lie.
	Argv []string `json:"argv"`
	// Local is set when it runs on this machine: its memory can be read.
	Local bool `json:"local"`
	// Simulated is set when it says that it is internal/comfysim.
	Simulated bool `json:"simulated,omitempty"`

	// PID is its process, 0 where none is known; NoPID says why not.
	PID   int    `json:"-"`
	NoPID string `json:"-"`
	// Interrupt allows memtrix to interrupt a prompt of its own that runs.
	Interrupt bool `json:"-"`
	// Free allows POST /free, which drops the models of the server's user.
	Free bool `json:"-"`
}

// identity is what of a server makes trials on it comparable: its flags stand for
// the settings that nobody could choose, and of another machine its address is all
// that is known.
func (a *Attached) identity() []any {
	if a == nil {
		return nil
	}
	where := "here"
	if !a.Local {
		where = a.URL
	}
	return []any{"attached", where, append([]string{}, a.Argv...)}
}

// Sharer is an Instance whose server others use, too.
type Sharer interface {
	// AwaitTurn waits until no prompt of somebody else is in front, and says who
	// it waits for. Its error wraps ErrBusy when that lasts longer than limit; 0
	// sets no limit.
	AwaitTurn(ctx context.Context, limit time.Duration, say func(string)) error
	// Shared reports whether prompts of others ran since the first own one.
	Shared() bool
	// Told are sizes that the server itself tells, in bytes by meter, nil where it
	// does not answer. Asking costs the server a few milliseconds.
	Told(ctx context.Context) map[string]int64
	// Remarks are what a person should know about how the trial met the server.
	// They are complete after Stop.
	Remarks() []string
}

// ErrBusy is wrapped by errors of a server that worked for others for too long.
var ErrBusy = errors.New("the server is busy with prompts of others")

// Sizes that a server tells of itself (GET /system_stats), bytes. Its free VRAM
// counts what torch keeps for later as free, which VRAMDeviceFree does not.
const (
	ServerVRAMFree  = "server.vram.free"
	ServerVRAMTotal = "server.vram.total"
	// ServerTorchTotal is what torch's allocator holds, ServerTorchFree the part of
	// it that is not in use.
	ServerTorchTotal = "server.torch.total"
	ServerTorchFree  = "server.torch.free"
	ServerRAMFree    = "server.ram.free"
)
