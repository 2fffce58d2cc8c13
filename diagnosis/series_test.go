package diagnosis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"memtrix"
)

const gib = int64(1) << 30

// gpuFailure is a prompt that failed at 30 s with the words for a full card.
func gpuFailure(typ, message, banner string) Evidence {
	return Evidence{
		Ready: true, Log: logOf(banner + "\nTo see the GUI go to: http://127.0.0.1:8188\ngot prompt\n"),
		Nodes: map[string]string{"5": "KSampler"},
		Events: []memtrix.Event{
			{At: 10 * time.Second, Kind: memtrix.EventPromptStart, Prompt: 1},
			{At: 20 * time.Second, Kind: memtrix.EventNodeStart, Prompt: 1, Node: &memtrix.Node{ID: "5"}},
			{At: 30 * time.Second, Kind: memtrix.EventError, Prompt: 1, Failure: &memtrix.Failure{
				Type: typ, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"},
				Message: message + "\nThis error means you ran out of memory on your GPU.\n\nTIPS: ..."}},
			{At: 31 * time.Second, Kind: memtrix.EventPromptEnd, Prompt: 1},
		},
	}
}

// Ensure that what was measured counts more than the words "on your GPU".
func TestSeriesBeatText(t *testing.T) {
	const banner = "Total VRAM 12288 MB, total RAM 32000 MB\nEnabled pinned memory 8192.0"
	check := func(what string, e Evidence, want memtrix.Memory, says string) {
		t.Helper()
		got := Judge(e)
		if got.Kind != memtrix.OOM || got.Memory != want || !strings.Contains(strings.Join(got.Evidence, "\n"), says) {
			t.Errorf("%s: want %s with %q, got %+v", what, want, says, got)
		}
	}
	with := func(e Evidence, s ...memtrix.Series) Evidence { e.Series = s; return e }
	short := gpuFailure("torch.OutOfMemoryError", "Allocation on device ", banner)
	used := seriesOf(memtrix.VRAMDeviceUsed, gib, 6*gib, 6*gib, 6*gib, 6*gib)
	full := seriesOf(memtrix.VRAMDeviceUsed, gib, 6*gib, 12*gib, 12*gib, 12*gib)
	capped := seriesOf(memtrix.RAMTreeShmem, 0, 4*gib, 8*gib, 8*gib, 8*gib)
	some := seriesOf(memtrix.RAMTreeShmem, 0, gib, 2*gib, 2*gib, 2*gib)
	gone := seriesOf(memtrix.RAMHostAvailable, 20*gib, 10*gib, gib/8, gib/8, gib/8)
	check("nothing measured", short, memtrix.MemoryVRAM, "Allocation on device")
	check("6 GiB free, pinned at its cap", with(short, used, capped), memtrix.MemoryPinned, "pinned memory: 8.00 GiB")
	check("free told by a meter", with(short, seriesOf(memtrix.VRAMDeviceFree, 11*gib, 6*gib, 6*gib, 6*gib), capped), memtrix.MemoryPinned, "VRAM free at that moment: 6.00 GiB")
	check("a meter of pinned memory", with(short, used, seriesOf("probe.pinned", 0, 4*gib, 8*gib, 8*gib)), memtrix.MemoryPinned, "probe.pinned")
	check("card full, pinned at its cap", with(short, full, capped), memtrix.MemoryVRAM, "Allocation")
	check("6 GiB free, little pinned", with(short, used, some), memtrix.MemoryVRAM, "Allocation")
	check("6 GiB free, RAM gone", with(short, used, some, gone), memtrix.MemoryRAM, "RAM available on the host")
	check("told by the text", with(gpuFailure("torch.AcceleratorError", "CUDA error: out of memory", banner), used, capped), memtrix.MemoryPinned, "its cap: 8.00 GiB")
	told := gpuFailure("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 12.00 GiB of which 6.00 GiB is free. Of the allocated memory 5.00 GiB is allocated by PyTorch", banner)
	check("free told by the text", with(told, capped), memtrix.MemoryPinned, "pinned memory")
	large := gpuFailure("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 12.00 GiB of which 6.00 GiB is free.", banner)
	check("more asked for than free", with(large, capped), memtrix.MemoryVRAM, "8.00 GiB")
	anon := seriesOf(memtrix.RAMTreeAnon, gib, 2*gib, 10*gib, 11*gib)
	check("GPU without memory of its own", gpuFailure("torch.OutOfMemoryError", "Allocation on device ", "Device: cuda:0 NVIDIA GB10 : native"), memtrix.MemoryUnified, "Allocation")
	check("registered afterwards", with(gpuFailure("torch.OutOfMemoryError", "Allocation on device ", banner+"\nDynamicVRAM support detected and enabled"), used, anon),
		memtrix.MemoryPinned, "anonymous memory since the server was ready")
}

// Ensure that a kill by the host with RAM at its limit is RAM, whatever the last
// line says, unless an earlier prompt had failed already.
func TestKillBeatsText(t *testing.T) {
	e := gpuFailure("torch.OutOfMemoryError", "Allocation on device ", "")
	e.Events = e.Events[:3]
	e.Died, e.Exit = true, memtrix.Exit{Signal: "KILL"}
	e.Series = []memtrix.Series{seriesOf(memtrix.RAMHostAvailable, 20*gib, 10*gib, gib, gib/8, gib/8)}
	if got := Judge(e); got.Kind != memtrix.OOM || got.Memory != memtrix.MemoryRAM || got.How != memtrix.HowSignal {
		t.Errorf("in its prompt: got %+v", got)
	}
	e.Events = append(e.Events, memtrix.Event{At: 31 * time.Second, Kind: memtrix.EventPromptEnd, Prompt: 1}, memtrix.Event{At: 32 * time.Second, Kind: memtrix.EventPromptStart, Prompt: 2})
	if got := Judge(e); got.Memory != memtrix.MemoryVRAM {
		t.Errorf("in a later prompt: got %+v", got)
	}
	e.Events, e.Series = e.Events[:3], nil
	if got := Judge(e); got.Memory != memtrix.MemoryVRAM {
		t.Errorf("nothing measured: got %+v", got)
	}
}

// Ensure that thrashing shows in the readings alone, also without PSI, and that
// calm readings are no failure.
func TestReadingsAlone(t *testing.T) {
	check := func(what string, kind memtrix.OutcomeKind, s ...memtrix.Series) {
		t.Helper()
		if got := Judge(Evidence{Series: s}); got.Kind != kind || kind == memtrix.OOM && (got.Memory != memtrix.MemoryRAM || got.How != memtrix.HowThrash) {
			t.Errorf("%s: got %+v", what, got)
		}
	}
	stall := seriesOf(memtrix.PSIMemoryFull, 0, 0, int64(3*time.Second), int64(7*time.Second))
	busy, idle := seriesOf(memtrix.FaultsTreeMajor, 0, 100, 4000, 9000), seriesOf(memtrix.FaultsTreeMajor, 0, 100, 100, 101)
	check("stall", memtrix.OOM, stall, busy)
	check("another's stall", memtrix.Pass, stall, idle)
	check("limit hit without end, no PSI", memtrix.OOM, seriesOf(memtrix.CgroupEventsMax, 0, 100, 200000, 400000), busy)
	check("limit hit now and then", memtrix.Pass, seriesOf(memtrix.CgroupEventsMax, 0, 10, 20, 30), busy)
	check("calm", memtrix.Pass, seriesOf(memtrix.PSIMemoryFull, 0, 0, 0, 1000), busy)
}

// Ensure that a server that was gone amid a prompt is told from one that was
// stopped after its prompts.
func TestWentAway(t *testing.T) {
	e := sampling()
	e.Series = []memtrix.Series{seriesOf(memtrix.RAMTreeRSS, gib, 4*gib, 4*gib, 0), seriesOf(memtrix.PSIMemoryFull, 0, 0, 0, 0)}
	if got := Judge(e); got.Kind != memtrix.Killed || got.Memory != memtrix.MemoryNone || got.Phase != memtrix.PhaseSample {
		t.Errorf("calm: got %+v", got)
	}
	e.Series = append(e.Series, seriesOf(memtrix.RAMHostAvailable, 20*gib, gib, gib/8, gib/8))
	if got := Judge(e); got.Kind != memtrix.OOM || got.Memory != memtrix.MemoryRAM {
		t.Errorf("short: got %+v", got)
	}
	e.Series = e.Series[:1]
	if got := Judge(e); got.Kind != memtrix.Killed || got.Memory != memtrix.MemoryUnknown {
		t.Errorf("not measured: got %+v", got)
	}
	e.Events = append(e.Events, memtrix.Event{At: 25 * time.Second, Kind: memtrix.EventPromptEnd, Prompt: 1})
	if got := Judge(e); got.Kind != memtrix.Pass {
		t.Errorf("after its prompt: got %+v", got)
	}
}

// stepsOf are the events of a prompt whose steps took so long each.
func stepsOf(each ...float64) []memtrix.Event {
	events := []memtrix.Event{{At: time.Second, Kind: memtrix.EventPromptStart, Prompt: 1}, {At: 2 * time.Second, Kind: memtrix.EventNodeStart, Node: &memtrix.Node{ID: "5"}}}
	at := 2.0
	for i, s := range each {
		at += s
		events = append(events, memtrix.Event{At: time.Duration(at * 1e9), Kind: memtrix.EventProgress, Value: i + 1, Max: len(each)})
	}
	return append(events, memtrix.Event{At: time.Duration(at*1e9) + 1, Kind: memtrix.EventPromptEnd, Prompt: 1})
}

// Ensure that steps which become ten times slower without an error are told, with
// what moved, and that a slow first step, another picture size and noise are not.
func TestSlow(t *testing.T) {
	check := func(what string, e Evidence, memory memtrix.Memory, moved string) {
		t.Helper()
		got := Judge(e)
		switch {
		case got.Kind != memtrix.Pass || got.Memory != "":
			t.Errorf("%s: got %+v", what, got)
		case memory == "" && got.Slow != nil:
			t.Errorf("%s: got slow %+v", what, got.Slow)
		case memory != "" && (got.Slow == nil || got.Slow.Memory != memory || got.Slow.After < 10*got.Slow.Before || !strings.Contains(strings.Join(got.Slow.Moved, "\n"), moved) || got.Message == ""):
			t.Errorf("%s: want %s and %q, got %+v, %q", what, memory, moved, got.Slow, got.Message)
		}
	}
	became := stepsOf(9, 1, 1, 1, 1, 20, 20, 20, 20, 20)
	check("became slow", Evidence{Events: became}, memtrix.MemoryUnknown, "")
	check("swap", Evidence{Events: became, Series: []memtrix.Series{seriesOf(memtrix.SwapTreeUsed, 0, 0, 5*gib, 6*gib, 9*gib, 9*gib, 9*gib, 9*gib, 9*gib, 9*gib, 9*gib, 9*gib)}}, memtrix.MemoryRAM, "swap of the server: 0.0 MiB -> 9.00 GiB")
	full := Evidence{Platform: "windows", Events: became, Log: logOf("Total VRAM 8192 MB, total RAM 32000 MB\n"), Series: []memtrix.Series{seriesOf(memtrix.VRAMDeviceUsed, gib, 6*gib, 8*gib, 8*gib)}}
	check("Windows spills", full, memtrix.MemorySharedGPU, "VRAM free: 0.0 MiB")
	check("slow first step", Evidence{Events: stepsOf(60, 1, 1, 1, 1, 1, 1, 1, 1)}, "", "")
	check("even", Evidence{Events: stepsOf(3, 3, 3, 3, 3, 3, 3, 3)}, "", "")
	check("one odd step", Evidence{Events: stepsOf(1, 1, 1, 1, 40, 1, 1, 1, 1, 1)}, "", "")
	check("quick ones", Evidence{Events: stepsOf(.01, .01, .01, .01, .2, .2, .2, .2)}, "", "")
	check("three times", Evidence{Events: stepsOf(1, 1, 1, 1, 3, 3, 3, 3, 3)}, "", "")
	bars := func(steps int, rate string) string {
		var b strings.Builder
		for i := range steps {
			fmt.Fprintf(&b, "\r%3d%%|##   | %d/%d [00:03<00:03,  %s]", 100*(i+1)/steps, i+1, steps, rate)
		}
		return b.String() + "\n"
	}
	log := "got prompt\n" + bars(8, "2.00it/s") + "Prompt executed in 4.00 seconds\ngot prompt\n" + bars(8, "15.00s/it") + "Prompt executed in 120.00 seconds\n"
	check("log", Evidence{Log: logOf(log)}, memtrix.MemoryUnknown, "")
	other := "got prompt\n" + bars(8, "2.00it/s") + "Prompt executed in 4.00 seconds\ngot prompt\n" + bars(20, "15.00s/it") + "Prompt executed in 120.00 seconds\n"
	check("other work", Evidence{Log: logOf(other)}, "", "")
}

// Ensure that absurd requests are bugs, and a driver that refuses the first one is
// no small machine.
func TestNumbersOverruleWords(t *testing.T) {
	check := func(text string, kind memtrix.OutcomeKind, memory memtrix.Memory, says string) {
		t.Helper()
		got := Judge(Evidence{Log: logOf("!!! Exception during processing !!! " + text)})
		if got.Kind != kind || got.Memory != memory || !strings.Contains(got.Message, says) || got.Requested == nil {
			t.Errorf("%s: want %s %s %q, got %+v", text, kind, memory, says, got)
		}
		if kind == memtrix.Error && (got.How != "" || len(got.Advice) == 0 && memory == memtrix.MemoryNone && strings.Contains(says, "bug")) {
			t.Errorf("%s: got %+v", text, got)
		}
	}
	const bug = "which is a bug"
	check("[enforce fail at alloc_cpu.cpp:113] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 82463372083200 bytes. Error code 12 (Cannot allocate memory)", memtrix.Error, memtrix.MemoryNone, bug)
	check("CUDA out of memory. Tried to allocate 76800.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 20.00 GiB is free.", memtrix.Error, memtrix.MemoryNone, bug)
	check("CUDA out of memory. Tried to allocate 75.00 TiB. GPU 0", memtrix.Error, memtrix.MemoryNone, bug)
	check("[enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: you tried to allocate 18446744073709551615 bytes.", memtrix.Error, memtrix.MemoryNone, bug)
	check("Unable to allocate 90.1 PiB for an array with shape (9,) and data type float32", memtrix.Error, memtrix.MemoryNone, bug)
	check("Invalid buffer size: 20.50 TiB", memtrix.Error, memtrix.MemoryNone, bug)
	check("CUDA out of memory. Tried to allocate 2400.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 20.00 GiB is free.", memtrix.Error, memtrix.MemoryNone, bug)
	check("[enforce fail at alloc_cpu.cpp:113] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes.", memtrix.OOM, memtrix.MemoryRAM, "64.00 GiB")
	check("CUDA out of memory. Tried to allocate 512.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 20.00 GiB is free.", memtrix.OOM, memtrix.MemoryVRAM, "512.00 GiB")
	check("CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 5.79 GiB of which 3.73 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.", memtrix.Error, memtrix.MemoryNone, "very first allocation")
	check("CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 0.20 GiB is free. Of the allocated memory 14.00 GiB is allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated.", memtrix.OOM, memtrix.MemoryVRAM, "6.00 GiB in fragments")
	check("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 5.00 GiB already allocated; 0.20 GiB free; 7.50 GiB reserved in total by PyTorch)", memtrix.OOM, memtrix.MemoryVRAM, "2.50 GiB in fragments")
}

// Ensure that holders are named as far as they show.
func TestHolders(t *testing.T) {
	const text = "!!! Exception during processing !!! CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 0.20 GiB is free. Process 581 has 12.00 GiB memory in use. Process 77 has 2.00 GiB memory in use.\n"
	const smi = "|    0   N/A  N/A             581      C   /opt/jupyter/bin/python               12288MiB |\n|    0   N/A  N/A             900      G   /usr/lib/xorg/Xorg                    300MiB |\n"
	check := func(e Evidence, want ...memtrix.Holder) {
		t.Helper()
		got := Judge(e).Holders
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("want %v, got %v", want, got)
		}
	}
	check(Evidence{Log: logOf(text)}, memtrix.Holder{PID: 581, Name: "unknown", Bytes: 12 * gib}, memtrix.Holder{PID: 77, Name: "unknown", Bytes: 2 * gib})
	check(Evidence{Log: logOf(text + smi)}, memtrix.Holder{PID: 581, Name: "/opt/jupyter/bin/python", Bytes: 12 * gib},
		memtrix.Holder{PID: 77, Name: "unknown", Bytes: 2 * gib}, memtrix.Holder{PID: 900, Name: "/usr/lib/xorg/Xorg", Bytes: 300 << 20})
	plain := logOf("!!! Exception during processing !!! Allocation on device \n")
	check(Evidence{Log: plain, Series: []memtrix.Series{seriesOf(memtrix.VRAMDeviceUsed, 9*gib, 20*gib)}}, memtrix.Holder{Name: "unknown", Bytes: 9 * gib})
	check(Evidence{Log: plain, Series: []memtrix.Series{seriesOf(memtrix.VRAMDeviceUsed, gib/2, 20*gib)}})
	check(Evidence{Log: plain, Series: []memtrix.Series{seriesOf(memtrix.VRAMOthersUsed, 0, 3*gib), seriesOf(memtrix.VRAMDeviceUsed, gib/2, 20*gib)}}, memtrix.Holder{Name: "unknown", Bytes: 3 * gib})
	// The message names the process that makes a small card of a large one, too.
	check(Evidence{Log: logOf(text), Kept: 12*gib - 300<<20}, memtrix.Holder{PID: 77, Name: "unknown", Bytes: 2 * gib})
	check(Evidence{Log: logOf(text), Kept: 40 * gib}, memtrix.Holder{PID: 581, Name: "unknown", Bytes: 12 * gib}, memtrix.Holder{PID: 77, Name: "unknown", Bytes: 2 * gib})
	// What memtrix holds to make a small card of a large one is nobody's to give back.
	held := seriesOf(memtrix.VRAMOthersUsed, 130*gib+gib/2)
	check(Evidence{Log: plain, Kept: 130 * gib, Series: []memtrix.Series{held}})
	check(Evidence{Log: plain, Kept: 120 * gib, Series: []memtrix.Series{held}}, memtrix.Holder{Name: "unknown", Bytes: 10*gib + gib/2})
	check(Evidence{Log: plain, Kept: 130 * gib, Series: []memtrix.Series{seriesOf(memtrix.VRAMDeviceUsed, 130*gib, 138*gib)}})
}
