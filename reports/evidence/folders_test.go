package evidence

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"memtrix"
)

// TestFolders checks that the trial's own folders are in no file, wherever they lie,
// and that its launch arguments have none.
func TestFolders(t *testing.T) {
	in := light(failing(t))
	trial := *in.Trial
	trial.Cell.Version.Dir, trial.Cell.Version.Python, trial.Dir = "/mnt/ClientX/ComfyUI", "/opt/ClientX-venv/bin/python", "/tmp/ClientX/res/trials/1-a-0"
	trial.Cell.Version.Packs = []memtrix.Pack{{Name: "p", Hash: "h", Dir: "/data/ClientX/custom_nodes/p", Source: "/data/ClientX/custom_nodes/p"}}
	trial.Cell.Workflow.Source = "/jobs/ClientX/flow.json"
	trial.Environment = maps.Clone(trial.Environment)
	trial.Environment["python.path"], trial.Environment["env.COMFY_TEMP"] = trial.Cell.Version.Python, "/mnt/ClientX/ComfyUI/temp"
	trial.Warnings = []string{"/tmp/ClientX/res/trials is nearly full", "left in /now/ClientX/res"}
	in.Trial, in.Results = &trial, "/now/ClientX/res"
	in.Command = []string{"/opt/ClientX-venv/bin/python", "/mnt/ClientX/ComfyUI/main.py", "--whitelist-custom-nodes", "p", "--extra-model-paths-config", "/tmp/ClientX/res/trials/1-a-0/extra.yaml", "/other/ClientX/more.yaml",
		"--temp-directory", "/scratch/ClientX/t", "--sim-card-file", "/tmp/ClientX/res/trials/1-a-0/card", "--listen", "127.0.0.1", "--port", "1", "--reserve-vram", "2", "--preview-method", "none", "--tls-keyfile", "/scratch/ClientX/t/key.pem", "--cache-ram"}
	in.Log += "[INFO] Adding extra search path loras /net/ClientX/models/loras\nAdding extra search path vae /vaes/ClientX\n  File \"/opt/ClientX-venv/lib/python3.12/site-packages/torch/nn.py\", line 1\nwrote /scratch/ClientX/t/x.png\n"
	c, files := bundled(t, in)
	for name, text := range files {
		// One that is none of the trial's own: it cannot be known.
		text = strings.ReplaceAll(text, "/other/ClientX/more.yaml", "")
		if i := strings.Index(text, "ClientX"); i >= 0 {
			t.Errorf("%s: %s", name, text[max(0, i-60):min(len(text), i+40)])
		}
	}
	if got, want := strings.Join(c.Launch.Plain, " "), "--whitelist-custom-nodes p --reserve-vram 2 --preview-method none --cache-ram"; got != want {
		t.Errorf("launch arguments %s, want %s", got, want)
	}
	if got := strings.Join(c.Launch.Extra, " "); got != "--preview-method none --cache-ram" {
		t.Errorf("args of the spec: %s", got)
	}
	for _, want := range []string{`File "<venv>/lib/python3.12/site-packages/torch/nn.py"`, "loras <models>/loras", "vae <models-vae>", "wrote <temp>/x.png", `File "/home/<user>/ComfyUI/execution.py"`} {
		if !strings.Contains(files["log.txt"], want) {
			t.Errorf("log.txt has no %s:\n%s", want, files["log.txt"])
		}
	}
	for _, want := range []string{"--tls-keyfile", "left out"} {
		if !strings.Contains(files["repeat.yaml"], want) {
			t.Errorf("repeat.yaml does not say %q", want)
		}
	}
}

// TestHidePrefixes checks that names of output files go with the prompts, in both forms
// of a workflow, in what a spec changed and in the log; and that they stay otherwise.
func TestHidePrefixes(t *testing.T) {
	for _, hide := range []bool{true, false} {
		in := kinds(t)["packs, front end's form, machine"]
		trial := *in.Trial
		trial.Cell.Workflow.UI = json.RawMessage(`{"nodes": [{"id": 7, "type": "SaveImage", "widgets_values": ["renders/secretproject"]},
			{"id": 8, "type": "VHS_VideoCombine", "widgets_values": {"filename_prefix": "secretvideo", "format": "h264"}}, {"id": 9, "type": "SaveImage", "widgets_values": ["ComfyUI"]}], "links": []}`)
		trial.Cell.Workflow.Changes = []memtrix.Change{{Path: "7.filename_prefix", Value: json.RawMessage(`"secretchange"`)}}
		graph := maps.Clone(trial.Cell.Workflow.Graph)
		graph["7"] = memtrix.GraphNode{ClassType: "SaveImage", Inputs: map[string]json.RawMessage{"filename_prefix": json.RawMessage(`"renders/secretproject"`)}}
		in.Prompt, _ = json.Marshal(graph)
		in.Trial, in.HidePrompts = &trial, hide
		in.Log += "saved secretproject_00001_.png\n"
		_, files := bundled(t, light(in))
		for _, name := range []string{"workflow.json", "prompt-1.json", "repeat.yaml", "log.txt"} {
			if got := strings.Contains(files[name], "secret"); got == hide {
				t.Errorf("hidden %v: %s has it: %v\n%s", hide, name, got, files[name])
			}
		}
		if !strings.Contains(files["workflow.json"], `"ComfyUI"`) {
			t.Error("ComfyUI's own prefix is hidden")
		}
	}
}
