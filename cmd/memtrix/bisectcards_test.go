package main

import (
	"strings"
	"testing"

	"memtrix/recorders/nvidia"
)

// Of several trials at once each has a card, and all cards are alike.
func TestEnough(t *testing.T) {
	card := func(index int, name string, gib int64) *nvidia.Card {
		return &nvidia.Card{Info: nvidia.Info{Index: index, Name: name, Total: gib << 30}}
	}
	for _, c := range []struct {
		name  string
		cards []*nvidia.Card
		jobs  int
		want  string
	}{
		{"alike", []*nvidia.Card{card(0, "A", 8), card(1, "A", 8)}, 2, ""},
		{"one too few", []*nvidia.Card{card(0, "A", 8), card(1, "A", 8)}, 3, "CUDA sees 2 here"},
		{"other name", []*nvidia.Card{card(0, "A", 8), card(1, "B", 8)}, 2, "card 0 (A, 8192 MiB) and card 1 (B, 8192 MiB) differ"},
		{"other size", []*nvidia.Card{card(0, "A", 8), card(2, "A", 16)}, 2, "card 2 (A, 16384 MiB) differ"},
		{"an unlike one that is not used", []*nvidia.Card{card(0, "A", 8), card(1, "A", 8), card(2, "B", 8)}, 2, ""},
	} {
		err := enough(c.cards, c.jobs)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
