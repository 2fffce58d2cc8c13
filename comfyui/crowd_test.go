package comfyui

import (
	"testing"
	"time"
)

// TestCrowdMeets tells when others' prompts ran, by the length of the queue and by what
// is said of ours.
func TestCrowdMeets(t *testing.T) {
	t.Parallel()
	type step struct {
		at time.Duration
		do func(*crowd)
	}
	told := func(n int) func(*crowd) { return func(c *crowd) { c.told(n) } }
	sent, begun, ended, lost := (*crowd).sent, (*crowd).begun, (*crowd).ended, (*crowd).lost
	const s = time.Second
	tests := []struct {
		name   string
		steps  []step
		times  int
		first  time.Duration
		waited time.Duration
	}{
		{"alone", []step{{0, told(0)}, {s, sent}, {s, told(1)}, {s, begun}, {5 * s, ended}, {5 * s, told(0)}}, 0, 0, 0},
		{"slow to begin", []step{{0, told(0)}, {s, sent}, {s, told(1)}, {4 * s, begun}, {5 * s, ended}, {5 * s, told(0)}}, 0, 0, 0},
		{"theirs after ours", []step{{s, sent}, {s, told(1)}, {s, begun}, {2 * s, told(2)}, {5 * s, ended}, {5 * s, told(1)}}, 1, 5 * s, 0},
		{"theirs came in between", []step{{0, told(0)}, {s, sent}, {s, told(2)}, {4 * s, told(1)}, {4 * s, begun}, {5 * s, ended}, {5 * s, told(0)}}, 1, s, 3 * s},
		{"two of theirs came in between", []step{{s, sent}, {s, told(3)}, {3 * s, told(2)}, {4 * s, told(1)}, {4 * s, begun}, {5 * s, ended}}, 1, 3 * s, 3 * s},
		{"theirs runs on", []step{{s, sent}, {s, told(1)}, {s, begun}, {2 * s, told(2)}, {5 * s, told(1)}, {5 * s, ended}, {9 * s, told(0)}}, 1, 5 * s, 0},
		{"ours first, theirs at once", []step{{s, sent}, {s, told(2)}, {s, begun}, {5 * s, ended}, {5 * s, told(1)}, {6 * s, told(0)}}, 1, 5 * s, 0},
		{"before the trial", []step{{0, told(1)}, {s, told(0)}, {s, sent}, {s, begun}, {2 * s, ended}}, 0, 0, 0},
		{"without a connection", []step{{s, sent}, {s, lost}, {4 * s, begun}, {5 * s, ended}}, 0, 0, 0},
	}
	for _, tt := range tests {
		var now time.Duration
		c := newCrowd(func() time.Duration { return now })
		for _, step := range tt.steps {
			now = step.at
			step.do(c)
		}
		if times, first, waited := c.met(); times != tt.times || first != tt.first || waited != tt.waited {
			t.Errorf("%s: %d times, first at %v, waited %v, want %d, %v, %v", tt.name, times, first, waited, tt.times, tt.first, tt.waited)
		}
	}
}
