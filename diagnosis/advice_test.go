package diagnosis

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// flags029 are the launch flags that advice needs, as one version has them.
func flags029(setting, value string) ([]string, bool) {
	switch setting + "=" + value {
	case "dynamic-vram=on", "pinned-memory=on", "cuda-malloc=on", "mmap=on", "smart-memory=on":
		return nil, true
	case "dynamic-vram=off", "pinned-memory=off", "mmap=off", "cuda-malloc=off", "smart-memory=off":
		return []string{"--disable-" + setting}, true
	case "vram-mode=high":
		return []string{"--highvram"}, true
	case "vram-mode=no":
		return []string{"--novram"}, true
	case "cache=none":
		return []string{"--cache-none"}, true
	case "cpu-vae=on":
		return []string{"--cpu-vae"}, true
	case "reserve-vram=1":
		return []string{"--reserve-vram", "1"}, true
	}
	return nil, false
}

func graphOf(t *testing.T, text string) map[string]memtrix.GraphNode {
	t.Helper()
	var g map[string]memtrix.GraphNode
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

const (
	bannerOff = "Total VRAM 8192 MB, total RAM 32000 MB\nSet vram state to: NORMAL_VRAM\nEnabled pinned memory 14400.0\n" +
		"model weight dtype torch.float16, manual cast: None\nRequested to load SDXL\nloaded completely; 6000.00 MB usable, 4897.00 MB loaded, full load: True\n"
	bannerOn = "Total VRAM 8192 MB, total RAM 32000 MB\nSet vram state to: NORMAL_VRAM\nDynamicVRAM support detected and enabled\n" +
		"model weight dtype torch.bfloat16, manual cast: None\nModel Flux prepared for dynamic VRAM loading. 22700MB Staged. 0 patches attached.\n"
	latent = `{"4": {"class_type": "EmptyLatentImage", "inputs": {"width": 2048, "height": 1024, "batch_size": 4}}}`
)

// Ensure that advice fits what was measured: other things help in another memory
// or phase, what costs least comes first, amounts follow from what was told, and
// flags are those of the version.
func TestAdvice(t *testing.T) {
	bytes := func(n int64) *int64 { return &n }
	graph := graphOf(t, latent)
	check := func(what string, o memtrix.Outcome, e Evidence, want ...string) {
		t.Helper()
		o.Kind, e.Flags = memtrix.OOM, flags029
		if e.Graph == nil {
			e.Graph = graph
		}
		var got []string
		for _, a := range Advise(o, e) {
			got = append(got, a.String())
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\nwant\n  %s\ngot\n  %s", what, strings.Join(want, "\n  "), strings.Join(got, "\n  "))
		}
	}
	holder := []memtrix.Holder{{PID: 581, Name: "jupyter", Bytes: 3 * gib}}
	check("VRAM in compute", memtrix.Outcome{Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseSample, Requested: bytes(gib), Holders: holder}, Evidence{Log: logOf(bannerOff)},
		"jupyter (process 581) holds 3.00 GiB of the card: end it, if it is not needed: frees about 3072 MiB",
		"leave out --disable-dynamic-vram, so that weights make room for what is computed",
		"vram-mode=no, weights stay in RAM and are copied while computing (--novram): saves about 4897 MiB",
		"the same model in FP8 or as GGUF (Q8): saves about 2448 MiB",
		"a batch of 2 instead of 4: saves about 512 MiB",
		"1536x768 instead of 2048x1024: saves about 448 MiB")
	check("VRAM in compute, dynamic", memtrix.Outcome{Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseSample, Requested: bytes(gib)}, Evidence{Log: logOf(bannerOn)},
		"a batch of 2 instead of 4: saves about 512 MiB",
		"1536x768 instead of 2048x1024: saves about 448 MiB")
	check("VRAM in load", memtrix.Outcome{Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseLoad, Requested: bytes(gib)},
		Evidence{Log: logOf(strings.Replace(bannerOff, "NORMAL", "HIGH", 1))},
		"start without --highvram, which keeps whole models in VRAM: saves about 4897 MiB",
		"the same model in FP8 or as GGUF (Q8): saves about 2448 MiB")
	check("VRAM in the VAE", memtrix.Outcome{Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseVAE, Requested: bytes(8 * gib)}, Evidence{Log: logOf(bannerOn)},
		"use the node VAE Decode (Tiled), or VAE Encode (Tiled) with tiles of 512: saves about 7168 MiB",
		"cpu-vae=on, the VAE computes in RAM, slowly (--cpu-vae)",
		"a batch of 2 instead of 4: saves about 4096 MiB",
		"1536x768 instead of 2048x1024: saves about 3584 MiB")
	check("fragments", memtrix.Outcome{Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseSample, Requested: bytes(gib), Unallocated: bytes(2 * gib)}, Evidence{Log: logOf(bannerOn)},
		"leave out --disable-cuda-malloc, so that the driver's allocator puts memory together that lies in fragments: saves about 2048 MiB",
		"a batch of 2 instead of 4: saves about 512 MiB",
		"1536x768 instead of 2048x1024: saves about 448 MiB")
	check("RAM in load", memtrix.Outcome{Memory: memtrix.MemoryRAM, Phase: memtrix.PhaseLoad, How: memtrix.HowThrash},
		Evidence{Log: logOf(bannerOff + "Dynamic vram disabled with argument. x\n"), Settings: memtrix.Settings{"mmap": "off"}, Cgroup: &Cgroup{Max: 5 * gib}},
		"close other programs that take RAM",
		"start without --disable-mmap, which reads whole files into RAM: saves about 4897 MiB",
		"start without --disable-dynamic-vram, which keeps a copy of the weights in RAM: saves about 4897 MiB",
		"raise the memory limit of 5.00 GiB of the container or group",
		"more swap does not help: the work already waits for the disk; it needs RAM, or a smaller model",
		"the same model in FP8 or as GGUF (Q8): saves about 2448 MiB")
	check("RAM of its group", memtrix.Outcome{Memory: memtrix.MemoryRAM, Phase: memtrix.PhaseLoad, How: memtrix.HowSignal},
		Evidence{Log: logOf(bannerOn), Cgroup: &Cgroup{Max: 5 * gib, MaxEvents: 3, OOMKills: 1}},
		"raise the memory limit of 5.00 GiB of the container or group",
		"give the machine swap on a fast disk, so that a short peak does not end the server",
		"the same model in FP8 or as GGUF (Q8): saves about 11350 MiB")
	check("RAM of the machine, in a group", memtrix.Outcome{Memory: memtrix.MemoryRAM, Phase: memtrix.PhaseLoad, How: memtrix.HowSignal},
		Evidence{Log: logOf(bannerOn), Cgroup: &Cgroup{Max: 50 * gib, OOMKills: 1}, Series: []memtrix.Series{seriesOf(memtrix.RAMTreeAnon, gib, 2*gib)}},
		"close other programs that take RAM",
		"raise the memory limit of 50.00 GiB of the container or group",
		"give the machine swap on a fast disk, so that a short peak does not end the server",
		"the same model in FP8 or as GGUF (Q8): saves about 11350 MiB")
	check("pinned", memtrix.Outcome{Memory: memtrix.MemoryPinned, Phase: memtrix.PhaseSample}, Evidence{Log: logOf(bannerOff)},
		"close programs that take RAM: what is pinned cannot be paged out",
		"pinned-memory=off, weights stay in ordinary RAM and are copied more slowly; VRAM is not what is missing (--disable-pinned-memory): saves about 14400 MiB",
		"the same model in FP8 or as GGUF (Q8): saves about 2448 MiB")
	check("page file", memtrix.Outcome{Memory: memtrix.MemoryCommit, Phase: memtrix.PhaseLoad, Requested: bytes(4 * gib)}, Evidence{Log: logOf(bannerOn), Platform: "windows"},
		"close programs that ask for much memory, browsers first: also what they do not use counts against the limit",
		"let Windows manage the page file (System, Advanced, Performance, Virtual memory), on a disk with space for it, and restart: needs about 4096 MiB",
		"look how much space the disk of the page file has: it cannot grow on a full disk",
		"the same model in FP8 or as GGUF (Q8): saves about 11350 MiB")
	check("not in force", memtrix.Outcome{Memory: memtrix.MemoryGPUAddressSpace}, Evidence{NotInForce: []string{"dynamic-vram=off is not in force: x"}},
		"restart the server: addresses that are not given back come back then",
		"a setting is not in force, take it out or make it work: dynamic-vram=off is not in force: x",
		"dynamic-vram=off, models are then loaded without reserving addresses (--disable-dynamic-vram)",
		"update comfy-aimdo: releases before 0.2.6 lose addresses with each prompt")
}

// Ensure that what brings less than was missing comes last and says so, and that
// nothing is said to be too little where that is not known.
func TestAdviceOfTooLittle(t *testing.T) {
	advised := func(free *int64) string {
		requested, e := gib, Evidence{Log: logOf(bannerOff), Flags: flags029, Graph: graphOf(t, latent)}
		var all []string
		for _, a := range Advise(memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseSample, Requested: &requested, Free: free,
			Holders: []memtrix.Holder{{PID: 7, Name: "Xorg", Bytes: 20 << 20}}}, e) {
			all = append(all, a.String())
		}
		return strings.Join(all, "\n")
	}
	free, plenty := int64(24<<20), 2*gib
	const short = " of the 1000 MiB that were missing, not enough by itself"
	want := strings.Join([]string{
		"leave out --disable-dynamic-vram, so that weights make room for what is computed",
		"vram-mode=no, weights stay in RAM and are copied while computing (--novram): saves about 4897 MiB",
		"the same model in FP8 or as GGUF (Q8): saves about 2448 MiB",
		"Xorg (process 7) holds 20.0 MiB of the card: end it, if it is not needed: frees about 20 MiB" + short,
		"a batch of 2 instead of 4: saves about 512 MiB" + short,
		"1536x768 instead of 2048x1024: saves about 448 MiB" + short}, "\n")
	if got := advised(&free); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, free := range []*int64{nil, &plenty} {
		if got := advised(free); strings.Contains(got, "missing") || !strings.HasPrefix(got, "Xorg") {
			t.Errorf("what was missing is not known, got\n%s", got)
		}
	}
}

// Ensure that a server which ended without a word is looked for where its system
// keeps one, and that nothing is said about resolution.
func TestAdviceOfSilence(t *testing.T) {
	for platform, want := range map[string]string{"windows": "Event Viewer", "linux": "journalctl -k", "": "exit status"} {
		o := Judge(Evidence{Log: logOf(bannerOff + "got prompt\nRequested to load SDXL\n"), Died: true, Exit: memtrix.Exit{Unknown: true}, Platform: platform})
		all := strings.Join(o.Advice, "\n")
		if o.Kind != memtrix.Killed || !strings.Contains(all, want) || strings.Contains(all, "resolution") || strings.Contains(all, "batch") {
			t.Errorf("%q: %s, advice %q", platform, o.Kind, o.Advice)
		}
	}
}

// Ensure that advice to leave something out names the flags.
func TestAdviceWithout(t *testing.T) {
	log := Evidence{Log: logOf(strings.Replace(bannerOff, "NORMAL", "HIGH", 1)), Flags: flags029}
	got := Advise(memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseLoad}, log)
	if len(got) == 0 || strings.Join(got[0].Without, " ") != "--highvram" || len(got[0].Flags) > 0 {
		t.Errorf("got %+v", got)
	}
}

// Ensure that a later prompt which failed is told what had stayed, and that a page
// file is never answered with less resolution.
func TestAdviceOfLaterPrompts(t *testing.T) {
	e := Evidence{Log: logOf(bannerOff), Flags: flags029, Graph: graphOf(t, latent), Events: []memtrix.Event{
		{At: 10 * time.Second, Kind: memtrix.EventPromptStart, Prompt: 1}, {At: 20 * time.Second, Kind: memtrix.EventPromptEnd, Prompt: 1},
		{At: 30 * time.Second, Kind: memtrix.EventPromptStart, Prompt: 2}},
		Series: []memtrix.Series{seriesOf(memtrix.VRAMDeviceUsed, gib, gib, 6*gib, 5*gib), seriesOf(memtrix.RAMTreeAnon, gib, gib, 6*gib, 3*gib)},
	}
	has := func(memory memtrix.Memory, says string, want bool) {
		t.Helper()
		var all []string
		for _, a := range Advise(memtrix.Outcome{Kind: memtrix.OOM, Memory: memory, Phase: memtrix.PhaseSample}, e) {
			all = append(all, a.String())
		}
		if text := strings.Join(all, "\n"); strings.Contains(text, says) != want {
			t.Errorf("%s: %q is %v, want %v:\n%s", memory, says, !want, want, text)
		}
	}
	has(memtrix.MemoryVRAM, "prompt 1 went well and prompt 2 did not: so much had stayed from those before (--disable-smart-memory): saves about 4096 MiB", true)
	has(memtrix.MemoryRAM, "so much had stayed from those before (--cache-none): saves about 2048 MiB", true)
	for _, word := range []string{"instead of 2048x1024", "batch", "resolution", "frames"} {
		has(memtrix.MemoryCommit, word, false)
		has(memtrix.MemoryPinned, word, false)
	}
	has(memtrix.MemoryVRAM, "instead of 2048x1024", true)
	// A setting that the version does not have is not advised, and without a version
	// it is named by itself.
	has(memtrix.MemorySharedGPU, "--reserve-vram 1", true)
	has(memtrix.MemoryPinned, "fast-disk", false)
	e.Flags = nil
	has(memtrix.MemoryPinned, "fast-disk=on", true)
	// What passes needs none.
	if got := Judge(Evidence{Log: logOf("got prompt\nWarning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.\nPrompt executed in 3.00 seconds\n")}); len(got.Advice) != 0 {
		t.Errorf("a pass: got %q", got.Advice)
	}
}

// Ensure that what an allocator held is read from the messages of all of them, the most
// of several, and the server's own only.
func TestHeld(t *testing.T) {
	for text, want := range map[string]int64{
		"Currently allocated     : 7.50 GiB\nRequested               : 9.00 GiB": 15 * gib / 2,
		"GPU 0 has a total capacity of 8.00 GiB of which 38.00 MiB is free. Process 7 has 6.00 GiB memory in use. Including non-PyTorch memory, this process has 1.75 GiB memory in use. Of the allocated memory 1.50 GiB is allocated by PyTorch": 7 * gib / 4,
		"(GPU 0; 8.00 GiB total capacity; 2.00 GiB already allocated; 0 bytes free)\n(GPU 0; 8.00 GiB total capacity; 3.00 GiB already allocated; 0 bytes free)":                                                                                   3 * gib,
		"all is well": 0,
	} {
		if got := Held(text); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}
