package hardware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"memtrix"
)

// TestKeeper checks that a keeper says what it holds, stays until its input or its
// context ends, and gives everything back also when only a part could be made.
func TestKeeper(t *testing.T) {
	released := 0
	hold := func(leave int64) (int64, func(), error) { return 100 - leave, func() { released++ }, nil }
	noGroup := func(string, int64, *int64) (*Group, error) { return nil, errors.New("no group") }
	noCard := func(int64) (int64, func(), error) { return 0, nil, errors.New("no card") }
	folder := t.TempDir() + "/g"
	group := func(string, int64, *int64) (*Group, error) { return &Group{folder, 2}, nil }

	in, feed := io.Pipe()
	said, out := io.Pipe()
	done := make(chan error)
	go func() { done <- keepUntil(t.Context(), `{"vram":30}`, in, out, hold, noGroup) }()
	var k Keeper
	if err := json.NewDecoder(said).Decode(&k); err != nil || k.Held != 70 {
		t.Errorf("said %+v, %v; want 70 held", k, err)
	}
	feed.Close()
	if err := <-done; err != nil || released != 1 {
		t.Errorf("got %v, released %d times, want once", err, released)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, feed = io.Pipe() // stays open
	defer feed.Close()
	if err := keepUntil(ctx, `{"vram":30}`, in, io.Discard, hold, noGroup); err != nil || released != 2 {
		t.Errorf("got %v, released %d times, want twice", err, released)
	}

	check := func(ask, want string, hold func(int64) (int64, func(), error), group func(string, int64, *int64) (*Group, error)) {
		t.Helper()
		var b bytes.Buffer
		if err := keepUntil(t.Context(), ask, in, &b, hold, group); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", ask, err, want)
		}
		var k Keeper
		if err := json.Unmarshal(b.Bytes(), &k); err != nil || k.Error != want {
			t.Errorf("%s: said %q, want the error %s", ask, b.String(), want)
		}
	}
	check(`{"ram":5}`, "no group", hold, noGroup)
	check(`{"ram":5,"vram":3}`, "no card", noCard, group)
}

// TestUnfaithful checks which settings are marked on a card made small.
func TestUnfaithful(t *testing.T) {
	check := func(h memtrix.Hardware, s memtrix.Settings, want bool) {
		t.Helper()
		if got := Unfaithful(h, s) != ""; got != want {
			t.Errorf("%v %v: marked %v, want %v", h, s, got, want)
		}
	}
	small := memtrix.Hardware{VRAM: 8 << 30}
	check(small, memtrix.Settings{"reserve-vram": "2"}, true)
	check(small, memtrix.Settings{"reserve-vram": "2", "dynamic-vram": "off"}, false)
	check(small, memtrix.Settings{"vram-mode": "low"}, false)
	check(memtrix.Hardware{RAM: 8 << 30}, memtrix.Settings{"reserve-vram": "2"}, false)
}
