package diagnosis

import (
	"strings"
	"testing"

	"memtrix"
)

// ordinary are lines of programs that work, with words that failures have, too.
const ordinary = `Total VRAM 8192 MB, total RAM 32000 MB
pytorch version: 2.11.0+cu130
Set vram state to: NORMAL_VRAM
Device: cuda:0 NVIDIA GeForce RTX 3070 : cudaMallocAsync
Enabled pinned memory 14400.0
Using async weight offloading with 2 streams
comfy-aimdo inited for GPU: NVIDIA GeForce RTX 3070 (VRAM: 8191 MB)
aimdo: src/control.c:276:INFO:comfy-aimdo inited for GPU: NVIDIA GeForce RTX 3070 (VRAM: 8191 MB)
DynamicVRAM support detected and enabled
Error handling: errors of nodes are shown in the browser
working around nvidia conv3d memory bug.
[Manager] memory monitor started; OOM guard is off
OOM killer: not configured
oom_score_adj is 0
The OOM score of this process was lowered, so that the kernel kills others first
Memory: 12.3 GiB used, 19.7 GiB free, no swap
CUDA memory: 4.2 GiB allocated, 5.0 GiB reserved
Memory summary:
|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |
Freed 2.00 GiB of memory
Killed stale lock file of the last run
User killed the job; queue goes on
killed: 0 workers
1 models unloaded.
Potential memory leak detected with model Flux, doing a full garbage collect, for maximum performance avoid circular references in the model code.
If you get out of memory errors, use a smaller batch.
If you see "CUDA out of memory", lower the batch size.
--lowvram: use this when you run out of memory
to avoid an out of memory error set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
Allocation on device 0: 4096 MB reserved for weights
Trying to allocate memory pool of 4 GiB
mmap: /models/flux.safetensors (23.8 GB)
Attempting to release mmap (452)
loaded partially; 5167.08 MB usable, 5167.08 MB loaded, 4633.39 MB offloaded, 64.00 MB buffer reserved, lowvram patches: 0
Model Flux prepared for dynamic VRAM loading. 11350MB Staged. 0 patches attached.
Using page-locked memory for 14 tensors
paging file: managed by the system, 32 GB
loaded 1455 keys
1455 it/s
exit code: 0
process exited with code 0
python main.py exited normally
MemoryErrorHandler registered
class MemoryError handled by the guard: yes
    except torch.cuda.OutOfMemoryError:
    except MemoryError as e:
raise MemoryError
from torch.cuda import OutOfMemoryError
# torch.OutOfMemoryError is caught below
[TRT] [W] Using PyTorch allocator for memory
Safetensors header read in 0.01 s
signal: started workers
llama_model_loader: - kv  12: general.memory_f16 = true
llama_kv_cache_init: KV self size = 256.00 MiB
warning: failed to mlock 4096-byte buffer (after previously locking 0 bytes): Cannot allocate memory
ggml_cuda_init: found 1 CUDA devices
gpu_memory_utilization=0.9
INFO worker.py: Memory profiling takes 3.2 seconds, the current vLLM instance can use total_gpu_memory (23.6GiB) x gpu_memory_utilization (0.90)
Out of memory: Killed process 900 (chrome) total-vm:1kB, anon-rss:1kB
"OOMKilled": false,
container memory limit: 32 GiB
UserWarning: CUDA initialization took 3 s
0 errors, 0 out of memory events
The model needs 12 GiB; on smaller cards torch.OutOfMemoryError may be raised
This node can handle MemoryError and out of memory
Killed by user: false
sigkill handler installed
RAM: 93 % VRAM: 50 %
shared GPU memory: 0.1 GB
`

// Ensure that ordinary text is no failure: as a log, amid a prompt that goes on, and
// each line by itself.
func TestOrdinaryText(t *testing.T) {
	ready := "To see the GUI go to: http://127.0.0.1:8188\ngot prompt\n"
	for what, log := range map[string]string{
		"alone":             ordinary,
		"amid a prompt":     ready + ordinary,
		"in a whole log":    ordinary + ready + ordinary + "Prompt executed in 3.00 seconds\n" + ordinary,
		"with level tags":   "\x1b[32m[INFO]\x1b[0m " + strings.ReplaceAll(strings.TrimSpace(ordinary), "\n", "\n\x1b[33m[WARNING]\x1b[0m "),
		"with time stamps":  "[2026-02-20 08:30:23.426] " + strings.ReplaceAll(strings.TrimSpace(ordinary), "\n", "\n[2026-02-20 08:30:23.426] "),
		"with Windows ends": strings.ReplaceAll(ordinary, "\n", "\r\n"),
	} {
		if got := Judge(Evidence{Log: logOf(log)}); got.Kind != memtrix.Pass || got.Memory != "" || got.HiddenRetries != 0 {
			t.Errorf("%s: got %s %s (rule %q): %q", what, got.Kind, got.Memory, got.Rule, got.Evidence)
		}
	}
	for line := range strings.Lines(ordinary) {
		if got := Judge(Evidence{Log: logOf(line)}); got.Kind != memtrix.Pass || got.Memory != "" {
			t.Errorf("%q: got %s %s (rule %q)", line, got.Kind, got.Memory, got.Rule)
		}
	}
}

// Ensure that no recording of a pass is called anything else, whatever else stands
// in its log.
func TestPassesWithOrdinaryText(t *testing.T) {
	for _, name := range names(t) {
		e, want := load(t, name)
		if want.Outcome != memtrix.Pass {
			continue
		}
		for _, events := range []bool{true, false} {
			e := e
			e.Log = append(append(logOf(ordinary), e.Log...), logOf(ordinary)...)
			if !events {
				e.Events, e.Series, e.Exit = nil, nil, memtrix.Exit{}
			}
			if got := Judge(e); got.Kind != memtrix.Pass || got.Memory != "" || got.Slow != nil {
				t.Errorf("%s: got %s %s (rule %q): %q", name, got.Kind, got.Memory, got.Rule, got.Evidence)
			}
		}
	}
}

// Ensure that a failure is read in every form of a log.
func TestLogForms(t *testing.T) {
	const said = "!!! Exception during processing !!! CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.50 GiB is free."
	for what, line := range map[string]string{
		"old":             strings.Replace(said, "processing !!!", "processing!!!", 1),
		"plain":           said,
		"level tag":       "[ERROR] " + said,
		"colours":         "\x1b[1m\x1b[31m[ERROR]\x1b[0m " + said,
		"Desktop":         "[error] " + said,
		"newer Desktop":   "[2026-11-30 21:00:00.000] [info]  [ERROR] " + said,
		"time stamp":      "[2026-02-20 08:30:23.426] " + said,
		"stamp and level": "[2026-02-20 08:30:23.426] [ERROR] " + said,
		"behind a bar":    "\r 50%|#####     | 2/4 [00:03<00:03,  1.55s/it]" + said,
		"carriage return": said + "\r",
		"old front end":   "Error occurred when executing KSampler:\n\n" + strings.TrimPrefix(said, "!!! Exception during processing !!! "),
		"report":          "- **Node Type:** KSampler\n- **Exception Type:** torch.OutOfMemoryError\n- **Exception Message:** " + strings.TrimPrefix(said, "!!! Exception during processing !!! "),
		"dialog":          "torch.OutOfMemoryError 3 KSampler torch.OutOfMemoryError " + strings.TrimPrefix(said, "!!! Exception during processing !!! "),
	} {
		got := Judge(Evidence{Log: logOf(line)})
		if got.Kind != memtrix.OOM || got.Memory != memtrix.MemoryVRAM || got.Requested == nil || *got.Requested != 2<<30 || got.Free == nil || *got.Free != 3<<29 {
			t.Errorf("%s: got %+v", what, got)
		}
		if (what == "old front end" || what == "report" || what == "dialog") && (got.Node == nil || got.Node.ClassType != "KSampler" || got.Phase != memtrix.PhaseSample) {
			t.Errorf("%s: node %+v, phase %s", what, got.Node, got.Phase)
		}
	}
}
