package recorders

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// watchReport is what a run with a library of our own in place of NVIDIA's saw: a
// library can be loaded only once in a process.
type watchReport struct {
	Series     []memtrix.Series
	Threads    []Thread
	Calm, Busy ticks // of the cards
	Costs      []Cost
	Absent     []Absence
}

// ticks are what became of those that were due in a stretch of about half a second,
// however long that was on a busy machine.
type ticks struct {
	Long                  time.Duration
	Samples, Missed, Held int64
}

func (k ticks) all() int64 { return k.Samples + k.Missed + k.Held }

// ticksIn lets half a second go by.
func ticksIn(s *Sampler) ticks {
	l := s.lanes[slices.IndexFunc(s.lanes, func(l *lane) bool { return l.name == laneCard })]
	before, from := l.watching.Watched(), time.Now()
	time.Sleep(500 * time.Millisecond)
	after := l.watching.Watched()
	return ticks{time.Since(from), after.Ticks - before.Ticks, after.Missed - before.Missed, after.Held - before.Held}
}

func watchChild() {
	first, others, closeAll, err := OpenCards(nil)
	if err != nil {
		panic(err)
	}
	defer closeAll()
	base := int64(gib)
	cfg := Config{Epoch: time.Now(), Card: first, Others: others, Baseline: &base}
	if os.Getenv("RECORDERS_CALM") != "" {
		cfg.CalmInterval = CalmCard
	}
	s := Start(cfg)
	for s.Threads()[0].Samples == 0 {
		time.Sleep(time.Millisecond)
	}
	var r watchReport
	r.Calm = ticksIn(s)
	if cfg.CalmInterval > 0 {
		s.Busy(true)
		r.Busy = ticksIn(s)
	}
	r.Series = s.Stop()
	r.Threads, r.Costs, r.Absent = s.Threads(), s.Costs(), s.Absent()
	json.NewEncoder(os.Stdout).Encode(r)
}

func watchRun(t *testing.T, env ...string) watchReport {
	t.Helper()
	dir := t.TempDir()
	lib := filepath.Join(dir, "libnvidia-ml.so.1")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, "nvidia/testdata/fakenvml.c").CombinedOutput(); err != nil {
		t.Skipf("no C compiler to build a library with: %v\n%s", err, out)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append([]string{"RECORDERS_WATCH=1", "LD_LIBRARY_PATH=" + dir}, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var r watchReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// A real card's memory is read in C; what comes out is the same as from Go.
func TestWatchedCard(t *testing.T) {
	r := watchRun(t, "FAKE_SPIKE=1")
	used := find(t, r.Series, memtrix.VRAMDeviceUsed)
	low, high := 0, 0
	for _, v := range used.V {
		switch v {
		case 2 * gib:
			low++
		case 3 * gib:
			high++
		default:
			t.Fatalf("used: %d is neither 2 nor 3 GiB", v)
		}
	}
	// Every 25th reading of the first card is a spike.
	card := r.Threads[0]
	if want := int(card.Samples) / 25; card.Name != laneCard || high < want-2 || high > want+2 || low == 0 {
		t.Errorf("want about %d spikes of one reading each in %d, got %d", want, card.Samples, high)
	}
	if due := int64(r.Calm.Long / FastCard); r.Calm.all() > due+2 || r.Calm.all() < due*3/5 {
		t.Errorf("want a tick a millisecond in %v, got %+v", r.Calm.Long, r.Calm)
	}
	for meter, want := range map[string]int64{
		memtrix.VRAMDeviceReserved: gib, memtrix.VRAMTrialUsed: gib, "vram.gpu1.used": 2 * gib, "vram.gpu1.free": 17 * gib,
		memtrix.GPUUtilization: 41, memtrix.PCIeReceived: 3000_000,
	} {
		if s := find(t, r.Series, meter); s.V[0] != want {
			t.Errorf("%s: want %d, got %d", meter, want, s.V[0])
		}
	}
	if last := used.T[len(used.T)-1]; last < 400*time.Millisecond {
		t.Errorf("read until %v only", last)
	}
	for i := 1; i < len(used.T); i++ {
		if used.T[i] <= used.T[i-1] {
			t.Fatalf("moments do not grow: %v, %v", used.T[i-1], used.T[i])
		}
	}
	for _, c := range r.Costs {
		if c.Source == "card" && (c.Reads != card.Samples || c.CPU <= 0) {
			t.Errorf("cost of the card's %d readings: %+v", card.Samples, c)
		}
	}
}

// While nothing works the card is read more seldom, and hardly at all while each
// call waits for the driver: one that takes a millisecond is followed by twenty
// without any, two ticks.
func TestCalmCard(t *testing.T) {
	for _, test := range []struct {
		name string
		env  []string
		held func(k ticks) bool
	}{
		{"quick calls", nil, func(k ticks) bool { return k.Held <= k.all()/2 }},
		{"slow calls", []string{"FAKE_SLOW=1000"}, func(k ticks) bool { return k.Held >= 2*(k.Samples-1) }},
	} {
		r := watchRun(t, append([]string{"RECORDERS_CALM=1"}, test.env...)...)
		if due := int64(r.Calm.Long / CalmCard); r.Calm.all() > due+2 || r.Calm.all() < due*3/5 || !test.held(r.Calm) {
			t.Errorf("%s: want about %d ticks in %v of calm, got %+v", test.name, due, r.Calm.Long, r.Calm)
		}
		if due := int64(r.Busy.Long / FastCard); r.Busy.all() > due+2 || r.Busy.all() < due*3/5 {
			t.Errorf("%s: want about %d ticks in %v of work, got %+v", test.name, due, r.Busy.Long, r.Busy)
		}
	}
}

// A card that answers with an error has its meters absent, with the reason.
func TestWatchedCardFails(t *testing.T) {
	r := watchRun(t, "FAKE_MEMORY=15")
	for _, a := range r.Absent {
		if a.Meter == memtrix.VRAMDeviceUsed {
			if !strings.Contains(a.Reason, "GPU is lost") {
				t.Errorf("reason: %q", a.Reason)
			}
			return
		}
	}
	t.Errorf("not absent: %v", r.Absent)
}
