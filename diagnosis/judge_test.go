package diagnosis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// logOf makes a log of a text, without times.
func logOf(text string) []memtrix.LogLine {
	var log []memtrix.LogLine
	for l := range strings.Lines(text) {
		log = append(log, memtrix.LogLine{Text: strings.TrimSuffix(l, "\n")})
	}
	return log
}

// Ensure that the log alone gives as much as it can show.
func TestLogAlone(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			e, want := load(t, name)
			switch name {
			case "029-cpu-killed-in-sample", "029-ram-capped-5gib-thrash":
				want = expected{Outcome: memtrix.Pass} // it just ends
			}
			if want.Outcome != memtrix.InvalidWorkflow {
				want.Node = nil // never printed
			}
			only := Evidence{}
			for _, l := range e.Log {
				only.Log = append(only.Log, memtrix.LogLine{Text: l.Text})
			}
			compare(t, want, Judge(only))
		})
	}
}

// Ensure that readings alone, beside the log, show thrashing without anybody
// saying that a time was up.
func TestThrashWithoutTimeOut(t *testing.T) {
	e, want := load(t, "029-ram-capped-5gib-thrash")
	e.TimedOut = ""
	compare(t, want, Judge(e))
	e.Cgroup = nil
	compare(t, want, Judge(e))
	e.Events, want.Node = nil, nil
	compare(t, want, Judge(e))
	e.Series = nil
	compare(t, expected{Outcome: memtrix.Pass}, Judge(e))
}

// Ensure that a prompt of memtrix's own that was served from cache is no pass,
// while somebody else's recording of one is.
func TestCachedPrompt(t *testing.T) {
	e, want := load(t, "029-cpu-second-prompt-cached")
	compare(t, want, Judge(e))
	prompt := func(n int, executed, cached []string) memtrix.PromptResult {
		return memtrix.PromptResult{Index: n, Outcome: memtrix.Pass, Executed: executed, Cached: cached}
	}
	check := func(message string, prompts ...memtrix.PromptResult) {
		t.Helper()
		e.Prompts = prompts
		got := Judge(e)
		if message == "" {
			if got.Kind != memtrix.Pass {
				t.Errorf("want pass, got %+v", got)
			}
			return
		}
		if got.Kind != memtrix.Error || got.Message != message || got.Memory != memtrix.MemoryNone {
			t.Errorf("want error %q, got %+v", message, got)
		}
	}
	all := []string{"1", "2", "3"}
	check("", prompt(1, all, nil), prompt(2, all, nil))
	check("", prompt(1, all, nil), prompt(2, []string{"2", "3"}, []string{"1"}))
	check("", prompt(1, nil, nil)) // a target that tells no nodes
	check("prompt 2 did nothing: every node was served from cache", prompt(1, all, nil), prompt(2, nil, all))
	check("prompt 2 did nothing but save: all other nodes were served from cache", prompt(1, all, nil), prompt(2, []string{"3"}, []string{"1", "2"}))
}

const native = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.50 GiB is free. Process 77 has 4.00 GiB memory in use. Of the allocated memory 1.00 GiB is allocated by PyTorch."

// Ensure that a memory is named by what only its allocator says, and by nothing
// else.
func TestShortage(t *testing.T) {
	const gib = int64(1) << 30
	check := func(typ, message string, memory memtrix.Memory, requested, free int64) {
		t.Helper()
		e := Evidence{Ready: true, Events: []memtrix.Event{
			{Kind: memtrix.EventPromptStart, Prompt: 1},
			{Kind: memtrix.EventError, Failure: &memtrix.Failure{Type: typ, Message: message + "\nThis error means you ran out of memory on your GPU.\n\nTIPS: ...", Node: &memtrix.Node{ID: "9", ClassType: "X"}}},
		}}
		got := Judge(e)
		if memory == "" {
			if got.Kind != memtrix.Error || got.Memory != memtrix.MemoryNone || got.How != "" {
				t.Errorf("%s: %s: want error, got %+v", typ, message, got)
			}
			return
		}
		value := func(p *int64) int64 {
			if p == nil {
				return -1
			}
			return *p
		}
		if got.Kind != memtrix.OOM || got.Memory != memory || got.How != memtrix.HowException || value(got.Requested) != requested || value(got.Free) != free {
			t.Errorf("%s: %s:\nwant %s %d %d, got %s %s %d %d", typ, message, memory, requested, free, got.Kind, got.Memory, value(got.Requested), value(got.Free))
		}
		if len(got.Evidence) == 0 || strings.Contains(strings.Join(got.Evidence, "\n"), "TIPS") {
			t.Errorf("%s: evidence %q", typ, got.Evidence)
		}
	}
	check("torch.OutOfMemoryError", native, memtrix.MemoryVRAM, 2*gib, gib*3/2)
	check("torch.cuda.OutOfMemoryError", strings.Replace(native, "CUDA", "HIP", 1), memtrix.MemoryVRAM, 2*gib, gib*3/2)
	check("torch.OutOfMemoryError", "Allocation on device ", memtrix.MemoryVRAM, -1, -1)
	check("torch.OutOfMemoryError", "Alocação no dispositivo", memtrix.MemoryVRAM, -1, -1)
	check("torch.OutOfMemoryError", "Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 1.00 GiB\nRequested               : 25.00 MiB\nDevice limit            : 8.00 GiB\nFree (according to CUDA): 0 bytes", memtrix.MemoryVRAM, 25<<20, 0)
	check("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 5.79 GiB of which 3.73 GiB is free.", memtrix.MemoryUnknown, 2<<20, 4005057004)
	check("RuntimeError", "[enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: you tried to allocate 31850496000 bytes.", memtrix.MemoryRAM, 31850496000, -1)
	check("MemoryError", "", memtrix.MemoryRAM, -1, -1)
	check("numpy._core._exceptions._ArrayMemoryError", "Unable to allocate 3.00 GiB for an array with shape (9, 9) and data type float32", memtrix.MemoryRAM, 3*gib, -1)
	check("MemoryError", "VBAR allocation failed", memtrix.MemoryGPUAddressSpace, -1, -1)
	check("OSError", "Die Auslagerungsdatei ist zu klein (os error 1455)", memtrix.MemoryCommit, -1, -1)
	check("RuntimeError", "unable to mmap 23802932552 bytes from file <flux.safetensors>: Cannot allocate memory (12)", memtrix.MemoryCommit, 23802932552, -1)
	check("RuntimeError", "MPS backend out of memory (MPS allocated: 16.91 GB, other allocations: 2.77 MB, max allowed: 18.13 GB). Tried to allocate 2.00 GB on private pool.", memtrix.MemoryUnified, 2*gib, 1307060469)
	check("RuntimeError", "CUDA error: out of memory", memtrix.MemoryUnknown, -1, -1)
	check("torch.AcceleratorError", "CUDA error: out of memory\nHostBuffer.read_file_slice failed", memtrix.MemoryPinned, -1, -1)
	check("RuntimeError", "Invalid buffer size: 2.00 GiB", memtrix.MemoryVRAM, 2*gib, -1)
	check("OSError", "[Errno 12] Cannot allocate memory", memtrix.MemoryUnknown, -1, -1)

	// Texts that speak of memory or of the GPU and are something else.
	check("RuntimeError", "CUDA error: an illegal memory access was encountered", "", 0, 0)
	check("RuntimeError", "out of resource: shared memory, Required: 106496, Hardware limit: 65536", "", 0, 0)
	check("RuntimeError", "hostbuf_file_reader_read failed", "", 0, 0)
	check("torch.AcceleratorError", "CUDA error: device-side assert triggered", "", 0, 0)
	check("ValueError", "mat1 and mat2 shapes cannot be multiplied", "", 0, 0)
}

// Ensure that a failure is told with its node, type and first line.
func TestError(t *testing.T) {
	e := Evidence{Ready: true, Nodes: map[string]string{"5": "KSampler"}, Events: []memtrix.Event{
		{Kind: memtrix.EventPromptStart, Prompt: 1},
		{Kind: memtrix.EventNodeStart, Node: &memtrix.Node{ID: "5.0.1", DisplayID: "5"}},
		{Kind: memtrix.EventProgress, Value: 1, Max: 4},
		{Kind: memtrix.EventError, Failure: &memtrix.Failure{Type: "ValueError", Message: "bad\nworse", Node: &memtrix.Node{ID: "5.0.1", DisplayID: "5"}}},
		{Kind: memtrix.EventPromptEnd},
		{Kind: memtrix.EventError, Failure: &memtrix.Failure{Type: "torch.OutOfMemoryError", Message: "Allocation on device "}},
	}}
	got := Judge(e)
	if got.Kind != memtrix.Error || got.Message != "ValueError: bad" || got.Phase != memtrix.PhaseSample || got.Node == nil || got.Node.ClassType != "KSampler" {
		t.Errorf("got %+v", got)
	}
	// A person who stops memtrix wins over all of it.
	e.UserInterrupted, e.StoppedBy = true, "stopped by signal TERM"
	if got := Judge(e); got.Kind != memtrix.Interrupted || got.Message != "stopped by signal TERM" {
		t.Errorf("Ctrl-C: got %+v", got)
	}
}

// sampling is a prompt in the middle of its sampler.
func sampling() Evidence {
	return Evidence{
		Ready: true, Nodes: map[string]string{"5": "KSampler"},
		Log: []memtrix.LogLine{{At: 20 * time.Second, Text: "got prompt"}, {At: 21 * time.Second, Text: "\r 25%|##  | 1/4 [00:01<00:03, 1.0s/it]"}},
		Events: []memtrix.Event{
			{At: 20 * time.Second, Kind: memtrix.EventPromptStart, Prompt: 1},
			{At: 21 * time.Second, Kind: memtrix.EventNodeStart, Prompt: 1, Node: &memtrix.Node{ID: "5"}},
		},
	}
}

func seriesOf(meter string, values ...int64) memtrix.Series {
	s := memtrix.Series{Meter: memtrix.Meter{Name: meter}}
	for i, v := range values {
		s.T, s.V = append(s.T, time.Duration(i)*10*time.Second), append(s.V, v)
	}
	return s
}

// Ensure that the end of a process is laid to RAM only where that was seen.
func TestDied(t *testing.T) {
	const gib = int64(1) << 30
	plenty, gone := seriesOf(memtrix.RAMHostAvailable, 20*gib, 15*gib, 14*gib, 13*gib), seriesOf(memtrix.RAMHostAvailable, 20*gib, 10*gib, gib, gib/8)
	calm := seriesOf(memtrix.PSIMemoryFull, 0, 0, 0, 1000)
	kill := memtrix.Exit{Signal: "KILL"}
	check := func(what string, exit memtrix.Exit, change func(*Evidence), kind memtrix.OutcomeKind, memory memtrix.Memory, how memtrix.How, says string) {
		t.Helper()
		e := sampling()
		e.Died, e.Exit = true, exit
		if change != nil {
			change(&e)
		}
		got := Judge(e)
		if got.Kind != kind || got.Memory != memory || got.How != how || got.Phase != memtrix.PhaseSample || got.Node == nil || got.Node.ClassType != "KSampler" || !strings.Contains(got.Message, says) {
			t.Errorf("%s: got %+v", what, got)
		}
	}
	with := func(s ...memtrix.Series) func(*Evidence) { return func(e *Evidence) { e.Series = s } }
	check("nothing measured", kill, nil, memtrix.Killed, memtrix.MemoryUnknown, "", "RAM was not measured")
	check("plenty", kill, with(plenty), memtrix.Killed, memtrix.MemoryNone, "", "RAM was plentiful")
	check("calm", kill, with(calm), memtrix.Killed, memtrix.MemoryNone, "", "RAM was plentiful")
	check("gone", kill, with(gone), memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal, "ram")
	check("a tenth left", kill, with(seriesOf(memtrix.RAMHostAvailable, 20*gib, 5*gib, 2*gib, 2*gib)), memtrix.Killed, memtrix.MemoryNone, "", "RAM was plentiful")
	check("137", memtrix.Exit{Status: 137}, with(gone), memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal, "ram")
	check("-9", memtrix.Exit{Status: -9}, with(gone), memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal, "ram")
	check("recovered before", kill, with(seriesOf(memtrix.RAMHostAvailable, 20*gib, gib/8, 15*gib, 15*gib, 15*gib)), memtrix.Killed, memtrix.MemoryNone, "", "")
	check("recovered after death", kill, with(
		seriesOf(memtrix.RAMHostAvailable, 20*gib, 10*gib, gib/8, 20*gib, 20*gib, 20*gib),
		seriesOf(memtrix.RAMTreeRSS, gib, 10*gib, 20*gib, 0)), memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal, "ram")
	check("stalled", kill, with(seriesOf(memtrix.PSIMemoryFull, 0, 0, 0, int64(5*time.Second))), memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal, "ram")
	check("cgroup", kill, func(e *Evidence) { e.Cgroup = &Cgroup{Max: 4 * gib, OOMKills: 1} }, memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal, "ram")
	check("cgroup not full", kill, func(e *Evidence) {
		e.Cgroup = &Cgroup{Max: 4 * gib}
		e.Series = []memtrix.Series{seriesOf(memtrix.RAMTreeAnon, gib, gib)}
	}, memtrix.Killed, memtrix.MemoryNone, "", "plentiful")
	check("kernel's word", kill, func(e *Evidence) {
		e.Log = append(e.Log, memtrix.LogLine{Text: "[  962.89] Out of memory: Killed process 77 (python) total-vm:1kB"})
	}, memtrix.OOM, memtrix.MemoryRAM, memtrix.HowSignal, "ram")
	check("segv", memtrix.Exit{Signal: "SIGSEGV"}, with(gone), memtrix.Killed, memtrix.MemoryNone, "", "signal SEGV")
	check("139", memtrix.Exit{Status: 139}, nil, memtrix.Killed, memtrix.MemoryNone, "", "signal SEGV")
	check("status", memtrix.Exit{Status: 3}, nil, memtrix.Killed, memtrix.MemoryNone, "", "exit status 3")
	check("status 0", memtrix.Exit{}, nil, memtrix.Killed, memtrix.MemoryNone, "", "exit status 0")
	check("windows", memtrix.Exit{Status: -1073741819}, nil, memtrix.Killed, memtrix.MemoryUnknown, "", "0xC0000005 (access violation)")
	check("commit", memtrix.Exit{Status: 0xC000012D}, nil, memtrix.OOM, memtrix.MemoryCommit, memtrix.HowSignal, "commitment limit")
	check("its own last words", memtrix.Exit{Status: 1}, func(e *Evidence) {
		e.Log = append(e.Log, logOf("Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nMemoryError\n")...)
	}, memtrix.OOM, memtrix.MemoryRAM, memtrix.HowException, "ram")

	// Stopped by memtrix itself: no death.
	e := sampling()
	e.Exit = memtrix.Exit{Asked: true, Signal: "KILL", BySignal: "KILL"}
	if got := Judge(e); got.Kind != memtrix.Pass {
		t.Errorf("asked: got %+v", got)
	}
	// Between prompts.
	e = sampling()
	e.Events = append(e.Events, memtrix.Event{At: 30 * time.Second, Kind: memtrix.EventPromptEnd, Prompt: 1})
	e.Died, e.Exit = true, kill
	if got := Judge(e); got.Kind != memtrix.Killed || got.Phase != memtrix.PhaseBetweenPrompts || got.Node != nil {
		t.Errorf("between prompts: got %+v", got)
	}
}

// Ensure that standing still is laid to RAM only where that was seen.
func TestStoodStill(t *testing.T) {
	const gib = int64(1) << 30
	stall := seriesOf(memtrix.PSIMemoryFull, 0, 0, 0, int64(3*time.Second), int64(7*time.Second))
	calm := seriesOf(memtrix.PSIMemoryFull, 0, 0, 0, int64(time.Millisecond), int64(2*time.Millisecond))
	busy, idle := seriesOf(memtrix.FaultsTreeMajor, 0, 100, 200, 4000, 9000), seriesOf(memtrix.FaultsTreeMajor, 0, 100, 200, 200, 201)
	short := seriesOf(memtrix.RAMHostAvailable, 20*gib, 10*gib, gib/10, gib/10, gib/10)
	check := func(what string, limit TimeOut, kind memtrix.OutcomeKind, memory memtrix.Memory, how memtrix.How, s ...memtrix.Series) {
		t.Helper()
		e := sampling()
		e.TimedOut, e.Series, e.Exit = limit, s, memtrix.Exit{Asked: true}
		if got := Judge(e); got.Kind != kind || got.Memory != memory || got.How != how {
			t.Errorf("%s: got %+v", what, got)
		}
	}
	check("no readings", TimeOutSilence, memtrix.Hang, memtrix.MemoryUnknown, "")
	check("calm", TimeOutSilence, memtrix.Hang, memtrix.MemoryNone, "", calm, busy)
	check("calm, prompt", TimeOutPrompt, memtrix.Hang, memtrix.MemoryNone, "", calm)
	check("thrash", TimeOutSilence, memtrix.OOM, memtrix.MemoryRAM, memtrix.HowThrash, stall, busy)
	check("thrash, prompt", TimeOutPrompt, memtrix.OOM, memtrix.MemoryRAM, memtrix.HowThrash, stall)
	check("another program thrashes", TimeOutSilence, memtrix.Hang, memtrix.MemoryNone, "", stall, idle)
	check("faults of a cold start", TimeOutSilence, memtrix.Hang, memtrix.MemoryUnknown, "", busy)
	check("faults and no RAM, no PSI", TimeOutSilence, memtrix.OOM, memtrix.MemoryRAM, memtrix.HowThrash, busy, short)
	check("no time-out, calm", "", memtrix.Pass, "", "", calm, busy)
	check("no time-out, thrash", "", memtrix.OOM, memtrix.MemoryRAM, memtrix.HowThrash, stall, busy)

	start := Evidence{TimedOut: TimeOutStart, Log: logOf("Total VRAM 1 MB, total RAM 1 MB\n"), Exit: memtrix.Exit{Asked: true}}
	if got := Judge(start); got.Kind != memtrix.Hang || got.Phase != memtrix.PhaseStartup || !strings.Contains(got.Message, "not ready in time") {
		t.Errorf("start: got %+v", got)
	}
}

// Ensure that a start that failed says why, and that what was survived is not
// the reason.
func TestStartup(t *testing.T) {
	survived := "ModuleNotFoundError: No module named 'comfy_angle'\n\nCannot import /opt/nodes_glsl.py module for custom nodes: No module named 'comfy_angle'\n"
	check := func(log string, exit memtrix.Exit, says string) {
		t.Helper()
		got := Judge(Evidence{Log: logOf(log), Exit: exit, Died: true})
		if got.Kind != memtrix.StartupFailure || got.Memory != memtrix.MemoryNone || got.Phase != memtrix.PhaseStartup || !strings.Contains(got.Message, says) {
			t.Errorf("want %q, got %+v", says, got)
		}
	}
	one := memtrix.Exit{Status: 1}
	check("usage: main.py [-h]\nmain.py: error: unrecognized arguments: --listen --gpu-only\n", memtrix.Exit{Status: 2}, "does not know the flags: --listen --gpu-only")
	check("main.py: error: argument --lowvram: not allowed with argument --highvram\n", memtrix.Exit{Status: 2}, "argument --lowvram: not allowed")
	check("OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8188): address already in use\n", one, "port 8188 on 127.0.0.1 is taken")
	check("Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\nModuleNotFoundError: No module named 'torch'\n", one, "package torch is missing")
	check("\x1b[31m[ERROR]\x1b[0m ASSETS_STARTUP_FAILED: locked\n", one, "assets database could not be opened (locked)")
	check("RuntimeError: Found no NVIDIA driver on your system. Please check\n", one, "torch cannot use a GPU here: Found no NVIDIA driver")
	check("AssertionError: Torch not compiled with CUDA enabled\n", one, "Torch not compiled with CUDA enabled")
	check("python: can't open file '/srv/main.py': [Errno 2] No such file or directory\n", memtrix.Exit{Status: 2}, "there is no /srv/main.py")
	check(survived+"something else\n", memtrix.Exit{Status: 7}, "ended before it was ready, exit status 7")
	check("", memtrix.Exit{Signal: "SEGV"}, "signal SEGV")
	check("", memtrix.Exit{}, "exit status 0")

	// Killed while nobody looked at the RAM.
	got := Judge(Evidence{Exit: memtrix.Exit{Signal: "KILL"}, Died: true})
	if got.Kind != memtrix.StartupFailure || got.Memory != memtrix.MemoryUnknown {
		t.Errorf("killed: got %+v", got)
	}
	// Ready, and dead only then: not the start's fault.
	got = Judge(Evidence{Log: logOf("To see the GUI go to: http://127.0.0.1:8188\n"), Exit: one, Died: true})
	if got.Kind != memtrix.Killed {
		t.Errorf("after ready: got %+v", got)
	}
	// No memory for the start.
	got = Judge(Evidence{Log: logOf("Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n    import torch\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"), Exit: one, Died: true})
	if got.Kind != memtrix.OOM || got.Memory != memtrix.MemoryVRAM || got.Phase != memtrix.PhaseStartup {
		t.Errorf("no memory: got %+v", got)
	}
}

// Ensure that a refusal tells node, input and what is allowed as the server told
// it.
func TestInvalid(t *testing.T) {
	e := Evidence{Ready: true, Events: []memtrix.Event{{Kind: memtrix.EventError, Failure: &memtrix.Failure{
		Type: "value_not_in_list", Refused: true, Node: &memtrix.Node{ID: "1", ClassType: "CheckpointLoaderSimple"},
		Message: `node 1 (CheckpointLoaderSimple), input "ckpt_name": Value not in list: ckpt_name: 'x' not in ['y']`,
	}}}}
	got := Judge(e)
	if got.Kind != memtrix.InvalidWorkflow || got.Memory != memtrix.MemoryNone || got.Phase != memtrix.PhaseValidation || got.Message != e.Events[0].Failure.Message {
		t.Errorf("got %+v", got)
	}
}

// Ensure that a person sees all that is wrong with a workflow, each thing once.
func TestInvalidTwice(t *testing.T) {
	event := func(message string) memtrix.Event {
		return memtrix.Event{Kind: memtrix.EventError, Failure: &memtrix.Failure{
			Type: "x", Refused: true, Node: &memtrix.Node{ID: "1", ClassType: "EmptyImage"}, Message: message}}
	}
	a, b := `node 1 (EmptyImage), input "width": too small`, `node 1 (EmptyImage), input "height": no number`
	got := Judge(Evidence{Ready: true, Events: []memtrix.Event{event(a), event(b), event(a)}})
	if want := a + " (and 1 more)"; got.Message != want || !slices.Equal(got.Evidence, []string{a, b}) {
		t.Errorf("want %q, got %+v", want, got)
	}
}

// Ensure that the proof of a hang is what the server did, not what it said when it
// was ended for that.
func TestHangEvidence(t *testing.T) {
	got := Judge(Evidence{Ready: true, TimedOut: TimeOutSilence, Events: []memtrix.Event{{Kind: memtrix.EventPromptStart, Prompt: 1}}, Log: logOf("got prompt\nRequested to load BaseModel\n" +
		"Global interrupt (no prompt_id specified)\nProcessing interrupted\nStopped server\n")})
	if want := []string{"got prompt", "Requested to load BaseModel"}; got.Kind != memtrix.Hang || !slices.Equal(got.Evidence, want) {
		t.Errorf("want a hang with %q, got %+v", want, got)
	}
}

// Ensure that memory which ran out unseen is counted, and that the prompt still
// passes.
func TestHiddenRetries(t *testing.T) {
	log := "got prompt\n\x1b[1m\x1b[33m[WARNING]\x1b[0m Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.\n" +
		"out of memory error, emptying cache and trying again\nout of memory error, increasing steps and trying again 2\nPrompt executed in 3.00 seconds\n"
	for what, e := range map[string]Evidence{
		"log alone":   {Log: logOf(log)},
		"with events": {Log: logOf(log), Events: []memtrix.Event{{Kind: memtrix.EventPromptStart, Prompt: 1}, {Kind: memtrix.EventPromptEnd, Prompt: 1}}},
	} {
		if got := Judge(e); got.Kind != memtrix.Pass || got.HiddenRetries != 3 || len(got.Evidence) != 3 || got.Message == "" {
			t.Errorf("%s: got %+v", what, got)
		}
	}
	once := "got prompt\nWarning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.\nPrompt executed in 3.00 seconds\n"
	if got, want := Judge(Evidence{Log: logOf(once)}).Message, "passed, but memory ran out once and was got round"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	// What a node caught and printed is no failure of a prompt that ended well.
	caught := "got prompt\ntorch.OutOfMemoryError: Allocation on device \nPrompt executed in 3.00 seconds\n"
	if got := Judge(Evidence{Log: logOf(caught)}); got.Kind != memtrix.Pass {
		t.Errorf("caught: got %+v", got)
	}
}

func TestHarness(t *testing.T) {
	e := sampling()
	e.DoError, e.Exit = "GET /history: connection refused", memtrix.Exit{Asked: true}
	if got := Judge(e); got.Kind != memtrix.HarnessFailure || got.Message != e.DoError {
		t.Errorf("got %+v", got)
	}
	e.Died = true
	if got := Judge(e); got.Kind != memtrix.Killed {
		t.Errorf("died: got %+v", got)
	}
	e = Evidence{Ready: true, Prompts: []memtrix.PromptResult{{Index: 1, Outcome: memtrix.Pass}, {Index: 2, Outcome: memtrix.Error}}}
	if got := Judge(e); got.Kind != memtrix.Error || got.Message != "prompt 2 ended as error" {
		t.Errorf("told by the prompt alone: got %+v", got)
	}
	if got := Judge(Evidence{}); got.Kind != memtrix.Pass {
		t.Errorf("no evidence: got %+v", got)
	}
}

// Ensure that an end which the log itself tells counts.
func TestExitInLog(t *testing.T) {
	check := func(log string, kind memtrix.OutcomeKind, memory memtrix.Memory) {
		t.Helper()
		if got := Judge(Evidence{Log: logOf("got prompt\n" + log)}); got.Kind != kind || got.Memory != memory {
			t.Errorf("%q: got %+v", log, got)
		}
	}
	check("run.sh: line 52:     9 Killed                  python3 ./ComfyUI/main.py --listen\n", memtrix.OOM, memtrix.MemoryRAM)
	check("run.sh: line 52:     9 Killed                  python3 ./ComfyUI/main.py --listen\ncomfyui exited with code 137\n", memtrix.OOM, memtrix.MemoryRAM)
	check("Killed\n", memtrix.OOM, memtrix.MemoryRAM)
	check("zsh: killed     python main.py\n", memtrix.OOM, memtrix.MemoryRAM)
	check("Process finished with exit code -1073741523 (0xC000012D)\n", memtrix.OOM, memtrix.MemoryCommit)
	check("Fatal Python error: Segmentation fault\n", memtrix.Killed, memtrix.MemoryNone)
	check("Windows fatal exception: access violation\n", memtrix.Killed, memtrix.MemoryUnknown)
	check("comfyui.service: Main process exited, code=killed, status=9/KILL\n", memtrix.Killed, memtrix.MemoryUnknown)
	check("Requested to load WanVAE\n\nC:\\ComfyUI_windows_portable>pause\n", memtrix.Killed, memtrix.MemoryUnknown)
	check("Stopped server\n\nC:\\ComfyUI_windows_portable>pause\n", memtrix.Pass, "")
	// It went on, so another process was meant.
	check("Killed\nPrompt executed in 3.00 seconds\n", memtrix.Pass, "")
	check("comfyui exited with code 137\n", memtrix.Killed, memtrix.MemoryUnknown)
	check("comfyui exited with code 0\n", memtrix.Pass, "")
	check("Python process exited with code 3221225477 and signal null\n", memtrix.Killed, memtrix.MemoryUnknown)
}

func TestLogPhase(t *testing.T) {
	check := func(log string, want memtrix.Phase) {
		t.Helper()
		if got := logPhase(clean(logOf(log))); got != want {
			t.Errorf("%q: want %q, got %q", log, want, got)
		}
	}
	check("", "")
	check("got prompt\n", "")
	check("got prompt\nmodel_type EPS\n", memtrix.PhaseLoad)
	check("Requested to load SDXLClipModel\n", memtrix.PhaseLoad)
	check("Requested to load SDXLClipModel\nloaded completely; 1 MB usable\n", memtrix.PhaseTextEncode)
	check("Requested to load CLIPVisionModelProjection\nloaded completely 1 1 True\n", memtrix.PhaseLoad)
	check("Requested to load SDXL\nloaded partially 1 1 0\n", memtrix.PhaseLoad)
	check("Requested to load SDXL\n[INFO] Model SDXL prepared for dynamic VRAM loading. 1MB Staged.\n\r  0%|          | 0/4 [00:00<?, ?it/s]\n", memtrix.PhaseSample)
	check("Requested to load WanVAE\nloaded completely\n", memtrix.PhaseVAE)
	check("Prompt executed in 1.00 seconds\n", memtrix.PhaseBetweenPrompts)
}

// Ensure that a sampler which still loads its model is told from one that
// samples, and that the node counts before the traceback, and that before the log.
func TestPhaseOf(t *testing.T) {
	frames := func(places ...string) string {
		var b strings.Builder
		for _, p := range places {
			file, fn, _ := strings.Cut(p, ":")
			b.WriteString("  File \"/opt/ComfyUI/" + file + "\", line 1, in " + fn + "\n")
		}
		return b.String()
	}
	const (
		sampler = "comfy/samplers.py:sample"
		apply   = "comfy/model_base.py:_apply_model"
		move    = "comfy/model_management.py:load_models_gpu"
		asked   = "Requested to load SDXL\n"
		bar     = "\r  0%|          | 0/4 [00:00<?, ?it/s]\n"
	)
	check := func(class, traceback, log string, stepped bool, want memtrix.Phase) {
		t.Helper()
		var node *memtrix.Node
		if class != "" {
			node = &memtrix.Node{ID: "5", ClassType: class}
		}
		if got := phaseOf(node, traceback, clean(logOf(log)), stepped); got != want {
			t.Errorf("%s %q %q %v: want %q, got %q", class, traceback, log, stepped, want, got)
		}
	}
	check("KSampler", frames("nodes.py:sample", sampler, apply), asked+bar, false, memtrix.PhaseSample)
	check("KSampler", frames("nodes.py:sample", sampler, move), asked, false, memtrix.PhaseLoad)
	check("KSampler", frames(sampler, apply, move), asked+bar, false, memtrix.PhaseSample)
	check("KSampler", "", asked, false, memtrix.PhaseLoad)
	check("KSampler", "", asked, true, memtrix.PhaseSample)
	check("KSampler", "", asked+bar, false, memtrix.PhaseSample)
	check("KSampler", "", "", false, memtrix.PhaseSample)
	check("CLIPTextEncode", frames("comfy/sd.py:encode_from_tokens", move), asked, false, memtrix.PhaseTextEncode)
	check("VAEDecodeTiled", "", asked+bar, true, memtrix.PhaseVAE)
	check("VAELoader", "", "", false, memtrix.PhaseLoad)
	check("LoadImage", "", "", false, memtrix.PhaseLoad)
	check("SaveImage", "", "", false, memtrix.PhaseSave)
	check("EmptyImage", "", asked+bar, false, "")
	check("MyNode", frames("nodes.py:f", "comfy/sd.py:decode"), "", false, memtrix.PhaseVAE)
	check("", frames("nodes.py:load_checkpoint"), asked+bar, false, memtrix.PhaseLoad)
	check("", strings.ReplaceAll(frames("nodes.py:load_unet"), "/", `\\`), "", false, memtrix.PhaseLoad)
	check("", frames("comfy/sd1_clip.py:forward"), "", false, memtrix.PhaseTextEncode)
	check("", "", asked, false, memtrix.PhaseLoad)
	check("", "", "Prompt executed in 1.00 seconds\n", false, "")
}

// Ensure that logs are read through colours, tags, stamps and bars.
func TestClean(t *testing.T) {
	got := clean(logOf("\x1b[1m\x1b[31m[ERROR]\x1b[0m boom\r\n" +
		"[2026-02-20 08:30:23.426] [INFO] stamped\n" +
		"\r 50%|#####     | 1/2 [00:01<00:01, 1.0s/it]\r100%|##########| 2/2 [00:02<00:00]\x1b[32m[INFO]\x1b[0m behind\n" +
		"[Prompt Server] web root: /srv\n   - indented  \n" +
		"[2026-11-30 21:00:00.000] [info]  [INFO] got prompt\r\n[2026-11-30 21:00:00.000] [info]    Desktop's own\n"))
	want := []line{
		{text: "boom", level: "ERROR"}, {text: "stamped", level: "INFO"},
		{text: "50%|#####     | 1/2 [00:01<00:01, 1.0s/it]", bar: true, step: "1", steps: "2"},
		{text: "100%|##########| 2/2 [00:02<00:00]", bar: true, step: "2", steps: "2"},
		{text: "behind", level: "INFO"}, {text: "[Prompt Server] web root: /srv"}, {text: "   - indented"},
		{text: "got prompt", level: "INFO"}, {text: "  Desktop's own", level: "INFO"},
	}
	if len(got) != len(want) {
		t.Fatalf("want %d lines, got %+v", len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("want %+v, got %+v", want[i], got[i])
		}
	}
}

// Ensure that no text makes Judge panic or name a node that is not there.
func FuzzJudge(f *testing.F) {
	f.Add("got prompt\n!!! Exception during processing !!! "+native+"\nTraceback (most recent call last):\n  File \"/nodes.py\", line 1, in sample\nValueError: x\n", 1, "")
	f.Add("Failed to validate prompt for output 4:\n* ImageScale 9:\n  - Value not in list: x\nOutput will be ignored\n", 0, "KILL")
	f.Add("Tried to allocate 99999999999999999999.9 TiB\nCUDA out of memory. Tried to allocate . GiB\n", -9, "")
	f.Add("- **Exception Message:** CUDA error: out of memory\n- **Node Type:** KSampler\n\r%|", 137, "SIGSEGV")
	f.Fuzz(func(t *testing.T, log string, status int, signal string) {
		e := Evidence{Log: logOf(log), Exit: memtrix.Exit{Status: status, Signal: signal}}
		if got := Judge(e); got.Kind == "" || got.Kind == memtrix.OOM && (got.Memory == "" || got.How == "") {
			t.Errorf("%q: %+v", log, got)
		}
	})
}
