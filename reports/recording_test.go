package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"memtrix"
)

func aRecording() Recording {
	return Recording{
		Command: []string{"python3", "train.py"}, PID: 4242, Seconds: 12.5, Exit: &memtrix.Exit{Status: 3},
		Meters: map[string]memtrix.Meter{
			memtrix.RAMTreeRSS:       {Name: memtrix.RAMTreeRSS, Unit: memtrix.UnitBytes, Source: "VmRSS of /proc/PID/status, summed"},
			memtrix.GPUUtilization:   {Name: memtrix.GPUUtilization, Unit: memtrix.UnitPercent, Source: "the driver's utilization rate"},
			memtrix.RAMHostAvailable: {Name: memtrix.RAMHostAvailable, Unit: memtrix.UnitBytes, Source: "MemAvailable of /proc/meminfo"},
			memtrix.FaultsTreeMajor:  {Name: memtrix.FaultsTreeMajor, Unit: memtrix.UnitCount, Counter: true, Source: "majflt of /proc/PID/stat, summed"},
			"cost.tree":              {Name: "cost.tree", Unit: memtrix.UnitNanoseconds, Counter: true},
		},
		Peaks: []memtrix.Peak{
			{Meter: memtrix.RAMTreeRSS, Value: 3 << 30, How: memtrix.PeakKernel, At: 5 * time.Second},
			{Meter: memtrix.GPUUtilization, Value: 97, How: memtrix.PeakSampled, At: 6 * time.Second},
		},
		Lows:    []memtrix.Peak{{Meter: memtrix.RAMHostAvailable, Value: 1 << 30, How: memtrix.PeakSampled}},
		Growth:  map[string]int64{memtrix.FaultsTreeMajor: 12, "cost.tree": 5},
		Samples: 12490, Missed: 10, Overhead: 0.0042,
		Threads: []RecordingThread{{Name: "card", Interval: 0.001, Samples: 12490, Missed: 10, ProcessorSecond: 0.05}},
		Absent:  map[string]string{"pcie.sent": "no card", "pcie.received": "no card"},
	}
}

// A thread that reads more seldom than it would, since its readings are dear, says so.
func TestRecordingThreadThatMakesWay(t *testing.T) {
	r := aRecording()
	r.Threads = append(r.Threads, RecordingThread{Name: "maps", Interval: 1, Samples: 4, Missed: 1})
	notes := strings.Join(recordingNotes(r), "\n")
	for _, want := range []string{"thread card: every 1 ms, 12490 readings,", "thread maps: every 1000 ms at most (a reading is dear: every 2.5 s), 4 readings, 1 missed,"} {
		if !strings.Contains(notes, want) {
			t.Errorf("want %q in\n%s", want, notes)
		}
	}
}

// Scripts depend on these names.
func TestRecordingJSON(t *testing.T) {
	var b bytes.Buffer
	if err := RecordingJSON(&b, aRecording()); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	check := func(name string, want any) {
		t.Helper()
		if got := doc[name]; got != want {
			t.Errorf("%s: want %v, got %v", name, want, got)
		}
	}
	check("samples", 12490.0)
	check("missed", 10.0)
	check("overhead_cpu_fraction", 0.0042)
	check("seconds", 12.5)
	peaks := doc["peaks"].(map[string]any)
	if len(peaks) != 1 || peaks[memtrix.RAMTreeRSS] != float64(3<<30) {
		t.Errorf("peaks are bytes by meter; got %v", peaks)
	}
	exit := func(e *memtrix.Exit) string {
		r := aRecording()
		r.Exit = e
		var b bytes.Buffer
		RecordingJSON(&b, r)
		var doc struct{ Exit json.RawMessage }
		json.Unmarshal(b.Bytes(), &doc)
		return strings.Join(strings.Fields(string(doc.Exit)), "")
	}
	for want, e := range map[string]*memtrix.Exit{
		`{"status":0}`:      {},
		`{"status":3}`:      {Status: 3},
		`{"signal":"KILL"}`: {Status: -1, Signal: "KILL"},
		"":                  nil,
	} {
		if got := exit(e); got != want {
			t.Errorf("exit: want %s, got %s", want, got)
		}
	}
}

func TestRecordingTable(t *testing.T) {
	var b bytes.Buffer
	if err := RecordingTable(&b, aRecording(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ram.tree.rss", "3.00 GiB", "kernel", "97 %", "lowest", "grew by", "exit status 3",
		"thread card: every 1 ms, 12490 readings, 10 missed", "recording took 0.42 % of one core",
		"not recorded: pcie.received, pcie.sent (no card)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "cost.tree") {
		t.Error("the recorder's own meters are in the table")
	}
}

func TestDoctor(t *testing.T) {
	h := Health{
		Facts: memtrix.Environment{"kernel": "6.18", "ram.total": "25769803776"},
		Meters: []HealthMeter{
			{Meter: memtrix.Meter{Name: "ram.tree.rss", Unit: memtrix.UnitBytes, Source: "VmRSS"}, Value: 5 << 20, Every: 10 * time.Millisecond, Each: 5 * time.Microsecond, Longest: 2 * time.Millisecond, Thread: "process"},
			{Meter: memtrix.Meter{Name: "vram.device.used"}, Reason: "no NVIDIA card"},
		},
		Wakes:    []HealthWake{{time.Millisecond, "C", 0.02}},
		Recorder: 0.03,
	}
	var table, doc bytes.Buffer
	if err := DoctorTable(&table, h, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ram.total: 24.00 GiB", "5.0 µs", "2.0 ms", "10 ms", "no NVIDIA card", "every 1 ms (in C) and nothing else takes 2.00 %"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
	if err := DoctorJSON(&doc, h); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Meters []struct {
			Name, Reason string
			Available    bool
			Value        *int64
		}
	}
	if err := json.Unmarshal(doc.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if m := got.Meters; len(m) != 2 || !m[0].Available || *m[0].Value != 5<<20 || m[1].Available || m[1].Value != nil || m[1].Reason == "" {
		t.Errorf("meters: %s", doc.String())
	}
}
