package hardware

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"memtrix/recorders/nvidia"
)

func TestDecide(t *testing.T) {
	const m = 1 << 20
	check := func(name string, want State, allowed int64, atMs_usedMiB ...int64) {
		t.Helper()
		var looks []Look
		for i := 0; i < len(atMs_usedMiB); i += 2 {
			looks = append(looks, Look{time.Duration(atMs_usedMiB[i]) * time.Millisecond, atMs_usedMiB[i+1] * m})
		}
		if got := Decide(looks, allowed); got != want {
			t.Errorf("%s: want %d, got %d", name, want, got)
		}
	}
	check("nothing seen", Moving, 0)
	check("empty at once", Ready, 0, 0, 0)
	check("a little beyond what is allowed", Ready, 500*m, 0, 516)
	check("too much beyond it", Moving, 500*m, 0, 517)
	check("less than before: wait for rest", Moving, 500*m, 0, 100)
	check("less than before, at rest", Ready, 500*m, 0, 100, 1000, 100)
	check("leftover, at rest", Busy, 0, 0, 3000, 500, 3000, 1000, 3001)
	check("leftover going", Moving, 0, 0, 3000, 500, 2000, 1000, 1000)
	check("leftover gone", Ready, 0, 0, 3000, 500, 2000, 1000, 10)
	check("first look of a session, too soon", Moving, Anything, 0, 3000, 790, 3000)
	check("first look of a session, at rest", Ready, Anything, 0, 3000, 500, 3010, 1000, 3000)
	check("first look of a session, moving", Moving, Anything, 0, 3000, 500, 3017, 1000, 3000)
	check("moved long ago", Ready, Anything, 0, 9000, 500, 3000, 1000, 3000, 1500, 3000)
	check("slow creep: each second less than 16 MiB", Busy, 0, 0, 1000, 1000, 1015, 2000, 1030)
}

// card is a card that follows a script: what is used at each time.
type card struct {
	at    *time.Duration
	used  func(at time.Duration) int64
	list  []nvidia.Process
	fails error
}

func (c *card) Memory() (nvidia.Memory, error) {
	used := c.used(*c.at)
	return nvidia.Memory{Total: 10 << 30, Used: used, Free: 10<<30 - used, Apart: true}, c.fails
}

func (c *card) Processes(buf []nvidia.Process) ([]nvidia.Process, error) {
	return append(buf, c.list...), nil
}

// testGate has a clock that only sleeping moves.
func testGate(allowed int64) (Gate, *time.Duration, *[]string) {
	at := new(time.Duration)
	said := new([]string)
	epoch := time.Unix(0, 0)
	return Gate{
		Allowed: allowed,
		Say:     func(s string) { *said = append(*said, s) },
		Name:    func(pid int) string { return map[int]string{581: "python"}[pid] },
		Now:     func() time.Time { return epoch.Add(*at) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			*at += d
			return ctx.Err()
		},
	}, at, said
}

const gib = 1 << 30

func TestGateWaitsForLeftovers(t *testing.T) {
	g, at, said := testGate(gib)
	c := &card{at: at, used: func(at time.Duration) int64 {
		if at < 5*time.Second {
			return 4 * gib
		}
		return gib
	}, list: []nvidia.Process{{PID: 581, Used: 3 * gib, Known: true}}}
	b, err := g.Wait(context.Background(), c, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if b.Used != gib || b.Waited != 5*time.Second || !b.Present || b.Free != 9*gib {
		t.Errorf("got %+v", b)
	}
	if len(*said) != 1 || !strings.Contains((*said)[0], "PID 581 python, 3.0 GiB") {
		t.Errorf("said %q", *said)
	}
}

func TestGateGivesUp(t *testing.T) {
	check := func(list []nvidia.Process, used func(time.Duration) int64, moving bool, want string) {
		t.Helper()
		g, at, _ := testGate(0)
		_, err := g.Wait(context.Background(), &card{at: at, used: used, list: list}, 10*time.Second)
		var busy *BusyError
		if !errors.As(err, &busy) || busy.Moving != moving {
			t.Fatalf("want a BusyError (moving %v), got %v", moving, err)
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %q", want, err)
		}
		if *at != 10*time.Second {
			t.Errorf("gave up after %v", *at)
		}
	}
	still := func(time.Duration) int64 { return 31 * gib / 10 }
	check([]nvidia.Process{{PID: 9, Known: true, Used: 1 << 20}, {PID: 581, Used: 3 * gib, Known: true}}, still, false,
		"the card is not empty after 10 s: PID 581 python, 3.0 GiB; PID 9, 1 MiB (3.1 GiB used, 0 MiB allowed)")
	check(nil, still, false, "unknown holders, 3.1 GiB: the driver does not name them here")
	check([]nvidia.Process{{PID: 581}}, still, false, "PID 581 python, size hidden")
	check(nil, func(at time.Duration) int64 { return gib + int64(at/time.Millisecond)<<20 }, true, "its memory kept changing for 10 s")
}

// What was there before the session is tolerated, and is the baseline.
func TestGateBallast(t *testing.T) {
	g, at, _ := testGate(Anything)
	c := &card{at: at, used: func(time.Duration) int64 { return 127 * gib }}
	first, err := g.Wait(context.Background(), c, 10*time.Second)
	if err != nil || first.Used != 127*gib || first.Waited < calm {
		t.Fatalf("first look: got %+v, %v", first, err)
	}
	g.Allowed = first.Used
	*at = 0
	again, err := g.Wait(context.Background(), c, 10*time.Second)
	if err != nil || again.Waited != 0 {
		t.Errorf("before a trial: want no wait, got %+v, %v", again, err)
	}
}

func TestGateWithoutCard(t *testing.T) {
	var none *nvidia.Card
	for _, c := range []Card{nil, none} {
		b, err := Gate{}.Wait(context.Background(), c, time.Second)
		if err != nil || b.Present {
			t.Errorf("got %+v, %v", b, err)
		}
	}
}

func TestGateTrouble(t *testing.T) {
	g, at, _ := testGate(0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := &card{at: at, used: func(time.Duration) int64 { return gib }}
	if _, err := g.Wait(ctx, c, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: got %v", err)
	}
	c.fails = errors.New("GPU is lost")
	if _, err := g.Wait(context.Background(), c, time.Minute); !errors.Is(err, c.fails) {
		t.Errorf("lost: got %v", err)
	}
	// The real clock, too, ends with its context.
	c.fails = nil
	if _, err := (Gate{}).Wait(ctx, c, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped, real clock: got %v", err)
	}
}
