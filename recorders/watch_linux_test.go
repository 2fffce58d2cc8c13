package recorders

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// watchReport is what a run with a library of our own in place of NVIDIA's saw: a
// library can be loaded only once in a process.
type watchReport struct {
	Series  []memtrix.Series
	Threads []Thread
	Calm    Thread // of the cards, after the first half second
	Costs   []Cost
	Absent  []Absence
	Now     map[string]int64
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
	time.Sleep(500 * time.Millisecond)
	var r watchReport
	r.Calm = s.Threads()[0]
	if cfg.CalmInterval > 0 {
		s.Busy(true)
		time.Sleep(500 * time.Millisecond)
	}
	r.Now = s.Now()
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
	if card.Samples+card.Missed < 300 {
		t.Errorf("want about 500 ticks in half a second, got %+v", card)
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
		if c.Source == "card" && (c.Reads < 300 || c.CPU <= 0) {
			t.Errorf("cost of the card: %+v", c)
		}
	}
}

// While nothing works the card is read more seldom, and hardly at all while each
// call waits for the driver.
func TestCalmCard(t *testing.T) {
	for _, test := range []struct {
		name            string
		env             []string
		atLeast, atMost int64 // readings in half a second of calm; 50 are due
	}{
		{"quick calls", nil, 20, 60},
		{"slow calls", []string{"FAKE_SLOW=1000"}, 3, 25},
	} {
		r := watchRun(t, append([]string{"RECORDERS_CALM=1"}, test.env...)...)
		if calm := r.Calm.Samples; calm < test.atLeast || calm > test.atMost {
			t.Errorf("%s: want %d to %d readings in half a second of calm, got %d", test.name, test.atLeast, test.atMost, calm)
		}
		if busy := r.Threads[0].Samples + r.Threads[0].Missed - r.Calm.Samples; busy < 300 {
			t.Errorf("%s: want about 500 ticks in half a second of work, got %d", test.name, busy)
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
