package nvidia

import (
	"errors"
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	alike := []Info{{0, "A", "GPU-aa11", 1}, {1, "A", "GPU-aa22", 1}, {2, "A", "GPU-bb33", 1}}
	mixed := []Info{{0, "A", "GPU-aa11", 1}, {1, "B", "GPU-aa22", 1}}
	check := func(env map[string]string, cards []Info, want int, wantNote, wantOK bool) {
		t.Helper()
		got, note, err := Choose(func(k string) (string, bool) { v, ok := env[k]; return v, ok }, cards)
		if (err == nil) != wantOK || err != nil && !errors.Is(err, ErrNoCard) {
			t.Errorf("%v: got %v", env, err)
			return
		}
		if got != want || (note != "") != wantNote {
			t.Errorf("%v: want %d (note %v), got %d %q", env, want, wantNote, got, note)
		}
	}
	const cvd, cdo = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
	check(nil, alike, 0, false, true)
	check(map[string]string{cvd: "2,0"}, alike, 2, false, true)
	check(map[string]string{cvd: " 1"}, alike, 1, false, true)
	check(map[string]string{cvd: "GPU-bb33"}, alike, 2, false, true)
	check(map[string]string{cvd: "GPU-aa2,GPU-bb"}, alike, 1, false, true)
	check(map[string]string{cvd: "GPU-cc"}, alike, 0, false, false)
	check(map[string]string{cvd: ""}, alike, 0, false, false)
	check(map[string]string{cvd: "-1"}, alike, 0, false, false)
	check(map[string]string{cvd: "3"}, alike, 0, false, false)
	check(map[string]string{cvd: "x"}, alike, 0, false, false)
	check(nil, nil, 0, false, false)
	// Different cards: CUDA may number them otherwise.
	check(nil, mixed, 0, true, true)
	check(map[string]string{cvd: "1"}, mixed, 1, true, true)
	check(map[string]string{cvd: "GPU-aa22"}, mixed, 1, false, true)
	check(map[string]string{cvd: "1", cdo: "PCI_BUS_ID"}, mixed, 1, false, true)
}

func TestVisible(t *testing.T) {
	cards := []Info{{0, "A", "GPU-aa11", 1}, {1, "A", "GPU-aa22", 1}, {2, "A", "GPU-bb33", 1}}
	check := func(list string, set bool, want ...int) {
		t.Helper()
		got := visible(func(string) (string, bool) { return list, set }, cards)
		if !slices.Equal(got, want) {
			t.Errorf("%q: want %v, got %v", list, want, got)
		}
	}
	check("", false, 0, 1, 2)
	check("", true)
	check("2,0", true, 2, 0)
	check("1, GPU-bb", true, 1, 2)
	check("0,7,1", true, 0)
	check("0,0", true, 0)
}
