package evidence

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"memtrix"
)

func at(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func ptr[T any](v T) *T { return &v }

const gib = int64(1 << 30)

// failing is a trial that ran out of VRAM, with what a store keeps of one.
func failing(t testing.TB) Input {
	t.Helper()
	graph := map[string]memtrix.GraphNode{}
	must(t, json.Unmarshal([]byte(`{
		"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "sdxl.safetensors"}},
		"2": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": "a lighthouse on a cliff at dawn"}},
		"3": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": "bad"}},
		"4": {"class_type": "EmptyLatentImage", "inputs": {"width": 2048, "height": 2048, "batch_size": 24}},
		"5": {"class_type": "KSampler", "inputs": {"model": ["1", 0], "positive": ["2", 0], "negative": ["3", 0], "latent_image": ["4", 0], "seed": 18446744073709551615, "steps": 4, "cfg": 7.0}, "_meta": {"title": "Sampler"}},
		"6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
		"7": {"class_type": "SaveImage", "inputs": {"images": ["6", 0], "filename_prefix": "out"}}}`), &graph))
	node := &memtrix.Node{ID: "5", DisplayID: "5", ClassType: "KSampler", Title: "Sampler"}
	trial := &memtrix.Trial{
		ID: 12, Session: 1,
		Cell: memtrix.Cell{
			Version: memtrix.Version{Name: "0.29.0", Target: memtrix.TargetComfyUI, Dir: "/home/alice/ComfyUI", Python: "/home/alice/venv/bin/python",
				Release: "0.29.0", Commit: "3e8cf83f7c1d2a9b4e5f60718293a4b5c6d7e8f9",
				Packages: map[string]string{"torch": "2.11.0", "comfy-aimdo": "0.4.10", "comfy-kitchen": "0.2.22", "nvidia-cublas": "13.1.0.3", "comfyui-frontend-package": "1.28.7"}},
			Settings: memtrix.Settings{"reserve-vram": "2"},
			Hardware: memtrix.Hardware{Name: "card-3g", VRAM: 3 * gib},
			Workflow: memtrix.Workflow{Name: "big", Source: "/home/alice/big.json", Hash: "w1", Graph: graph, Vary: []memtrix.Input{{Node: "5", Name: "seed"}},
				StandIns: []memtrix.StandIn{{Name: "sdxl.safetensors", Family: "sdxl", DType: "fp16", Fill: "zero", Bytes: 6938040464}}},
		},
		Argv: []string{"--reserve-vram", "2"}, Started: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), Seconds: 13,
		Outcome: memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, How: memtrix.HowException, Phase: memtrix.PhaseSample, Node: node,
			Requested: ptr(int64(960 << 20)), Free: ptr(int64(34 << 20)), Message: "out of memory: vram, in KSampler (5), 960.0 MiB requested, 34.0 MiB free",
			Evidence: []string{"torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)", "Requested               : 960.00 MiB"},
			Advice:   []string{"a lower resolution, fewer frames or a smaller batch"}},
		Prompts: []memtrix.PromptResult{{Index: 1, ID: "p1", Seconds: 8.2, Outcome: memtrix.Pass}, {Index: 2, ID: "p2", Seconds: 2.5, Outcome: memtrix.Error}},
		Spans: []memtrix.Span{
			{Kind: memtrix.SpanStart, End: at(8)},
			{Kind: memtrix.SpanPrompt, Prompt: 1, Start: at(8), End: at(9), Peaks: peaks(2800, 2000)},
			{Kind: memtrix.SpanPrompt, Prompt: 2, Start: at(9), End: at(12), Peaks: peaks(3034, 2078)},
			{Kind: memtrix.SpanNode, Prompt: 2, Node: node, Start: at(9), End: at(12), Peaks: peaks(3034, 2078)},
		},
		Series: []memtrix.Series{
			{Meter: memtrix.Meter{Name: memtrix.VRAMTrialUsed, Unit: memtrix.UnitBytes, Source: "NVML memory v2 minus the baseline"}, T: []time.Duration{0, at(9), at(12)}, V: []int64{0, 2 * gib, 3 * gib}},
			{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS, Unit: memtrix.UnitBytes, Source: "resident of /proc/PID/statm, summed"}, T: []time.Duration{0, at(9), at(12)}, V: []int64{gib, gib, 2 * gib}},
		},
		Exit: memtrix.Exit{Asked: true}, Dir: "/home/alice/memtrix-results/trials/1-a-0",
		Environment: memtrix.Environment{
			"banner.comfyui": "0.29.0", "banner.torch": "2.11.0+cu130", "banner.device": "cuda:0 NVIDIA GeForce RTX 4090", "banner.allocator": "cudaMallocAsync", "banner.dynamic-vram": "yes",
			"cuda": "13.0", "driver": "580.159.04", "gpu.0.name": "NVIDIA GeForce RTX 4090", "gpu.0.uuid": "GPU-57761561-1aea-8f36-e5e2-6476bd8c0380", "gpu.0.vram.total": "25757220864",
			"os": "linux", "arch": "amd64", "distro": "Ubuntu 24.04.3 LTS", "kernel": "6.8.0-45-generic", "ram.total": "67445919744", "swap.total": "4294967296", "swap.kind": "file",
			"models.filesystem": "ext4", "models.disk": "solid-state", "python.path": "/home/alice/venv/bin/python", "python.version": "CPython 3.12.3", "memtrix": "1.0",
			"package.torch": "2.11.0", "package-hash.torch": "1d59a7b01e251e4f", "env.PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512", "env.CUDA_VISIBLE_DEVICES": "0", "cpu.model": "AMD Ryzen 9 5950X", "cpu.count": "32",
		},
	}
	in := Input{Trial: trial, Command: []string{"/home/alice/venv/bin/python", "/home/alice/ComfyUI/main.py", "--disable-all-custom-nodes",
		"--base-directory", trial.Dir, "--listen", "127.0.0.1", "--port", "20647", "--reserve-vram", "2", "--preview-method", "none"}}
	in.Log = "\x1b[32m[INFO]\x1b[0m Adding extra search path loras /home/alice/models/loras\n[INFO] pytorch version: 2.11.0+cu130\ngot prompt\n" +
		"\r  0%|          | 0/4\r 25%|##        | 1/4 [00:01<00:03]\n!!! Exception during processing !!! Allocation on device 0 would exceed allowed memory. (out of memory)\n" +
		"  File \"/home/alice/ComfyUI/execution.py\", line 543, in execute\n    ^^^^^\nRequested               : 960.00 MiB\n"
	history, err := json.Marshal(map[string]any{"p1": map[string]any{"prompt": []any{0, "p1", graph, nil, nil}}})
	must(t, err)
	in.Events = []byte("{\"t_s\": 8.2, \"history\": " + string(history) + "}\n")
	in.Others = []*memtrix.Trial{trial, other(trial, 7, "0.28.0", nil), other(trial, 8, "0.28.0", nil), other(trial, 5, "0.27.1", nil),
		other(trial, 9, "0.29.0", memtrix.Settings{"reserve-vram": "2", "dynamic-vram": "off"}), other(trial, 10, "0.29.0", memtrix.Settings{"cache": "none", "dynamic-vram": "off"})}
	return in
}

// light takes the pictures and the model's stand-in away, which take the most time.
func light(in Input) Input {
	t := *in.Trial
	t.Spans = nil
	graph := maps.Clone(t.Cell.Workflow.Graph)
	if _, ok := graph["1"]; ok {
		graph["1"] = memtrix.GraphNode{ClassType: "CheckpointLoaderSimple", Inputs: map[string]json.RawMessage{"ckpt_name": json.RawMessage(`"mix.safetensors"`)}}
	}
	t.Cell.Workflow.Graph = graph
	if t.Cell.Workflow.StandIns != nil {
		t.Cell.Workflow.StandIns = []memtrix.StandIn{{Name: "mix.safetensors"}}
	}
	in.Trial, in.Events = &t, nil
	return in
}

func peaks(vram, ram int64) []memtrix.Peak {
	return []memtrix.Peak{{Meter: memtrix.VRAMTrialUsed, Value: vram << 20, How: memtrix.PeakSampled}, {Meter: memtrix.RAMTreeRSS, Value: ram << 20, How: memtrix.PeakKernel}}
}

// other is a trial that passed, on another version or with other settings.
func other(t *memtrix.Trial, id int64, release string, s memtrix.Settings) *memtrix.Trial {
	o := *t
	o.ID = id
	if release != t.Cell.Version.Release {
		o.Cell.Version.Name, o.Cell.Version.Release, o.Cell.Version.Commit = release, release, "c"+release
	}
	if s != nil {
		o.Cell.Settings = s
	}
	o.Outcome = memtrix.Outcome{Kind: memtrix.Pass}
	o.Prompts = []memtrix.PromptResult{{Index: 1, Seconds: 9, Outcome: memtrix.Pass}, {Index: 2, Seconds: float64(id), Outcome: memtrix.Pass}}
	o.Spans = []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, Peaks: peaks(2000+id, 1500)}}
	o.Series = nil
	o.Environment = maps.Clone(t.Environment)
	o.Environment["driver"] = "575.51.03"
	return &o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bundled makes the bundle, by name.
func bundled(t testing.TB, in Input) (*Case, map[string]string) {
	t.Helper()
	c, err := Gather(in)
	must(t, err)
	files, err := Bundle(c)
	must(t, err)
	byName := map[string]string{}
	for _, f := range files {
		if _, twice := byName[f.Name]; twice {
			t.Errorf("%s is there twice", f.Name)
		}
		byName[f.Name] = string(f.Data)
	}
	return c, byName
}

// kinds are trials of every kind, by name.
func kinds(t testing.TB) map[string]Input {
	all := map[string]Input{"oom": failing(t)}
	change := func(name string, do func(in *Input, t *memtrix.Trial)) {
		in := failing(t)
		trial := *in.Trial
		trial.Spans = nil // without spans there are no pictures, which take the most time
		do(&in, &trial)
		in.Trial = &trial
		all[name] = in
	}
	change("pass", func(in *Input, t *memtrix.Trial) {
		t.Outcome = memtrix.Outcome{Kind: memtrix.Pass}
		t.Prompts[1].Outcome = memtrix.Pass
	})
	change("killed", func(in *Input, t *memtrix.Trial) {
		t.Outcome = memtrix.Outcome{Kind: memtrix.Killed, Memory: memtrix.MemoryNone, Message: "killed: the server was ended by signal SEGV"}
		t.Exit = memtrix.Exit{Signal: "SEGV"}
		in.Events = nil
	})
	change("startup-failure", func(in *Input, t *memtrix.Trial) {
		t.Outcome = memtrix.Outcome{Kind: memtrix.StartupFailure, Memory: memtrix.MemoryNone, Phase: memtrix.PhaseStartup, Message: "the Python package sqlalchemy is missing", Evidence: []string{"ModuleNotFoundError: No module named 'sqlalchemy'"}}
		t.Prompts, t.Spans, t.Series, t.Exit = nil, nil, nil, memtrix.Exit{Status: 1}
		in.Log, in.Events, in.Command, in.Missing = "", nil, nil, []string{"the log: gone"}
	})
	change("invalid-workflow", func(in *Input, t *memtrix.Trial) {
		t.Outcome = memtrix.Outcome{Kind: memtrix.InvalidWorkflow, Message: "node 1: ckpt_name is not in the list", Phase: memtrix.PhaseValidation}
		t.Prompts, in.Events = []memtrix.PromptResult{{Index: 1, Outcome: memtrix.InvalidWorkflow}}, nil
	})
	change("simulated", func(in *Input, t *memtrix.Trial) {
		t.Simulated, t.Cell.Version.Target, t.Cell.Version.Commit, t.Cell.Version.Dir = true, memtrix.TargetSim, "", ""
		in.Others = nil
		in.Command = []string{"/usr/bin/memtrix", "comfysim-server", "--sim-release", "0.29.0", "--disable-all-custom-nodes", "--port", "1", "--reserve-vram", "2", "--sim-speed", "200"}
	})
	change("attached", func(in *Input, t *memtrix.Trial) {
		t.Cell.Version.Target, t.Cell.Version.Attached = memtrix.TargetAttached, &memtrix.Attached{URL: "http://127.0.0.1:8188", Argv: []string{"--lowvram"}, Local: true}
		t.Cell.Hardware, t.Exit, in.Command = memtrix.Hardware{Name: "as-is"}, memtrix.Exit{Unknown: true}, nil
	})
	change("packs, front end's form, machine", func(in *Input, t *memtrix.Trial) {
		t.Cell.Version.Packs = []memtrix.Pack{{Name: "ComfyUI-GGUF", Source: "city96/ComfyUI-GGUF", Commit: "6ea2651e7df66d7585f6ffee804b20e92fb38b8a", Hash: "h", Dirty: true}}
		t.Cell.Workflow.UI = json.RawMessage(`{"nodes": [{"id": 1, "type": "CLIPTextEncode", "widgets_values": ["a lighthouse on a cliff at dawn"]}], "links": []}`)
		t.Cell.Workflow.Changes = []memtrix.Change{{Path: "5.steps", Value: json.RawMessage("4")}}
		t.Cell.Hardware = memtrix.Hardware{Name: "ram-5g", RAM: 5 * gib, Swap: ptr(int64(0))}
		in.Prompt, _ = json.Marshal(t.Cell.Workflow.Graph)
		in.Events = nil
	})
	change("real models of names that tell nothing", func(in *Input, t *memtrix.Trial) {
		t.Cell.Workflow.StandIns = nil
		graph := maps.Clone(t.Cell.Workflow.Graph)
		graph["1"] = memtrix.GraphNode{ClassType: "CheckpointLoaderSimple", Inputs: map[string]json.RawMessage{"ckpt_name": json.RawMessage(`"mix.safetensors"`)}}
		t.Cell.Workflow.Graph, in.Events = graph, nil
	})
	change("nothing but an outcome", func(in *Input, t *memtrix.Trial) {
		*t = memtrix.Trial{ID: 3, Outcome: memtrix.Outcome{Kind: memtrix.HarnessFailure}}
		*in = Input{}
	})
	return all
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
