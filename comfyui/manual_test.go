package comfyui

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// TestRealComfyUI drives a real ComfyUI on the CPU. It runs only when
// MEMTRIX_COMFYUI names its folder. MEMTRIX_VERSION is a memtrix.Version as JSON
// (its flags as a list in a file of that name plus ".flags"), MEMTRIX_MODELS a
// folder with checkpoints/sd15.safetensors, MEMTRIX_CACHE the cache folder,
// MEMTRIX_JOB the trial's; MEMTRIX_FLAGS and MEMTRIX_NODES add flags and packs.
func TestRealComfyUI(t *testing.T) {
	dir := os.Getenv("MEMTRIX_COMFYUI")
	if dir == "" {
		t.Skip("MEMTRIX_COMFYUI is not set")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
	defer cancel()
	var v memtrix.Version
	readJSON(t, os.Getenv("MEMTRIX_VERSION"), &v)
	var known []string
	readJSON(t, os.Getenv("MEMTRIX_VERSION")+".flags", &known)
	v.Flags = map[string]bool{}
	for _, f := range known {
		v.Flags[f] = true
	}
	cache := os.Getenv("MEMTRIX_CACHE")
	target := &Target{CacheDir: cache, Vary: func(w memtrix.Workflow, n int) map[string]memtrix.GraphNode {
		g := map[string]memtrix.GraphNode{}
		for id, node := range w.Graph {
			g[id] = node
		}
		k := g["5"]
		in := map[string]json.RawMessage{}
		for name, value := range k.Inputs {
			in[name] = value
		}
		in["seed"], _ = json.Marshal(n)
		k.Inputs = in
		g["5"] = k
		return g
	}}
	before := treeState(t, dir)
	begin := time.Now()
	if err := target.Prepare(ctx, v, func(s string) { t.Log(s) }); err != nil {
		t.Fatal(err)
	}
	t.Logf("prepare: %v", time.Since(begin))
	cell := memtrix.Cell{Version: v, Settings: memtrix.Settings{"device": "cpu"}, Workflow: memtrix.Workflow{Graph: sd15Graph(t)}}
	argv, reason := target.Argv(cell)
	if reason != "" {
		t.Fatal(reason)
	}
	job := memtrix.Job{Cell: cell, Argv: argv, Extra: strings.Fields(os.Getenv("MEMTRIX_FLAGS")), Dir: t.TempDir(),
		Models: []string{os.Getenv("MEMTRIX_MODELS")}, Epoch: time.Now(),
		Event: func(e memtrix.Event) {
			e.Raw = nil
			text, _ := json.Marshal(e)
			t.Logf("%8.3f %s", e.At.Seconds(), text)
		}}
	if keep := os.Getenv("MEMTRIX_JOB"); keep != "" {
		job.Dir = keep
	}
	// A node that nothing uses, so that its file is shown to the server.
	job.Cell.Workflow.Graph["9"] = memtrix.GraphNode{ClassType: "LoadImage", Inputs: map[string]json.RawMessage{"image": json.RawMessage(`"example.png"`)}}
	begin = time.Now()
	i, err := target.Start(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("start: %v", time.Since(begin))
	if err := i.Ready(ctx); err != nil {
		i.Stop(ctx)
		t.Fatal(err)
	}
	t.Logf("ready: %v, argv %q", time.Since(job.Epoch), i.(*Instance).Command())
	for n := 1; n <= 2; n++ {
		r, err := i.Do(ctx, n)
		t.Logf("prompt %d: %+v, %v", n, r, err)
		if err != nil || r.Outcome != memtrix.Pass {
			t.Error("want pass")
		}
	}
	realExtras(t, ctx, i.(*Instance))
	t.Logf("free: %v", i.Free(ctx))
	stats, err := i.(*Instance).SystemStats(ctx)
	t.Logf("stats: %+v, %v", stats, err)
	begin = time.Now()
	exit := i.Stop(ctx)
	t.Logf("stop: %+v in %v", exit, time.Since(begin))
	// The status is not checked: 0.3.64 aborts when it is stopped while it frees.
	if !exit.Asked || exit.BySignal != "INT" {
		t.Errorf("exit = %+v, want an end by SIGINT", exit)
	}
	if err := i.(*Instance).FilesError(); err != nil {
		t.Error(err)
	}
	if after := treeState(t, dir); after != before {
		t.Error("the tree changed")
	}
}

// realExtras sends what goes wrong, and what reads the person's input folder.
func realExtras(t *testing.T, ctx context.Context, i *Instance) {
	t.Helper()
	missing := sd15Graph(t)
	missing["1"].Inputs["ckpt_name"] = json.RawMessage(`"sd15.safetensor"`)
	var image map[string]memtrix.GraphNode
	if err := json.Unmarshal([]byte(`{"1":{"class_type":"LoadImage","inputs":{"image":"example.png"}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"y"}}}`), &image); err != nil {
		t.Fatal(err)
	}
	long := sd15Graph(t)
	long["5"].Inputs["steps"] = json.RawMessage(`200`)
	for n, c := range []struct {
		name  string
		graph map[string]memtrix.GraphNode
		wait  time.Duration
		want  memtrix.OutcomeKind
	}{{"missing model", missing, time.Minute, memtrix.InvalidWorkflow}, {"image", image, time.Minute, memtrix.Pass},
		{"cut short", long, 4 * time.Second, ""}, {"image again", image, time.Minute, memtrix.Pass}} {
		short, cancel := context.WithTimeout(ctx, c.wait)
		r, err := i.talk.do(short, n+3, c.graph)
		cancel()
		t.Logf("%s: %+v, %v", c.name, r, err)
		if r.Outcome != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: want %q", c.name, c.want)
		}
	}
	// The server is stopped in the middle of this one.
	go i.talk.do(ctx, 9, long)
	time.Sleep(3 * time.Second)
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sd15Graph(t *testing.T) map[string]memtrix.GraphNode {
	t.Helper()
	var g map[string]memtrix.GraphNode
	err := json.Unmarshal([]byte(`{"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"sd15.safetensors"}},
		"2":{"class_type":"CLIPTextEncode","inputs":{"clip":["1",1],"text":"a cat"}},
		"3":{"class_type":"CLIPTextEncode","inputs":{"clip":["1",1],"text":"bad"}},
		"4":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
		"5":{"class_type":"KSampler","inputs":{"model":["1",0],"positive":["2",0],"negative":["3",0],"latent_image":["4",0],
			"seed":1,"steps":2,"cfg":7.0,"sampler_name":"euler","scheduler":"normal","denoise":1.0}},
		"6":{"class_type":"VAEDecode","inputs":{"samples":["5",0],"vae":["1",2]}},
		"7":{"class_type":"SaveImage","inputs":{"images":["6",0],"filename_prefix":"x"}}}`), &g)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// treeState lists every file of a tree with size and time of change.
func treeState(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.ModTime().String() + " " + info.Mode().String() + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
