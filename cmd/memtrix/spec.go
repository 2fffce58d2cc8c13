package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/hardware"
	"memtrix/internal/comfysim"
	"memtrix/internal/files"
	"memtrix/matrix"
	"memtrix/recorders"
	"memtrix/recorders/nvidia"
	"memtrix/results"
	"memtrix/versions"
	"memtrix/workflows"
	"memtrix/workflows/standin"
)

// specFlags say what is to be run: a spec, or one ComfyUI and one workflow.
type specFlags struct {
	Spec     string `arg:"" optional:"" help:"The spec (YAML); see docs/spec.md." type:"path"`
	ComfyUI  string `name:"comfyui" help:"A ComfyUI folder (holds main.py), for a first look without a spec." placeholder:"DIR" type:"path"`
	Workflow string `help:"A workflow file (JSON, or a picture or video that carries one), or the name of a built-in one, for a first look." placeholder:"FILE"`
	Python   string `help:"The Python that runs that ComfyUI; found by itself where possible." placeholder:"PYTHON"`
	Probe    bool   `help:"Look from inside the servers, too: torch's own peak and the loaded models of each node."`
	versionFlags
	attachFlags
	Device string `help:"Where models run in a first look: gpu or cpu. By default gpu where there is an NVIDIA card." enum:",gpu,cpu" default:""`
}

// load reads the spec or makes one of the flags.
func (f *specFlags) load(ctx context.Context) (*matrix.Spec, error) {
	spec, err := f.read(ctx)
	if err == nil && f.Probe {
		spec.Probe = true
	}
	return spec, err
}

func (f *specFlags) read(ctx context.Context) (*matrix.Spec, error) {
	switch {
	case f.Spec != "" && (f.ComfyUI != "" || f.Workflow != "" || f.Version != "" || f.URL != ""):
		return nil, usage{errors.New("give a spec, or --comfyui, --version or --url, and --workflow, not both")}
	case f.Spec != "":
		data, err := readSpec(ctx, f.Spec)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, usage{fmt.Errorf("read spec: %w", err)}
		}
		spec, err := matrix.Parse(f.Spec, data)
		if err != nil {
			return nil, err
		}
		return spec, spec.CheckStandIns(standin.CheckMapped)
	case f.ComfyUI == "" && f.Version == "" && f.URL == "":
		return nil, usage{errors.New("nothing to run: give a spec ('memtrix init' writes one), or --comfyui DIR, --version VERSION or --url URL, and --workflow FILE")}
	case f.ComfyUI != "" && f.Version != "":
		return nil, usage{errors.New("give --comfyui or --version, not both")}
	case f.URL != "" && (f.ComfyUI != "" || f.Version != ""):
		return nil, usage{errors.New("give --url or --comfyui or --version, not both")}
	case f.PID != 0 && f.URL == "":
		return nil, usage{errors.New("--pid goes with --url")}
	case f.ComfyUI != "" && !files.Exist(filepath.Join(f.ComfyUI, "main.py")):
		return nil, usage{fmt.Errorf("--comfyui %s: there is no ComfyUI (no main.py)", f.ComfyUI)}
	}
	workflow := f.Workflow
	if workflow == "" {
		workflow = "sd15"
	}
	if f.URL != "" {
		if _, err := comfyui.BaseURL(f.URL); err != nil {
			return nil, usage{err}
		}
		return matrix.AttachLook(f.URL, f.PID, workflow), nil
	}
	spec := matrix.FirstLook(f.ComfyUI, f.Python, workflow, f.device())
	f.apply(spec, f.Python)
	f.applyPacks(ctx, spec)
	return spec, nil
}

// readSpec reads a spec from a file or a pipe, which may never end or never begin.
func readSpec(ctx context.Context, path string) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, matrix.MaxSize+1))
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *specFlags) device() string {
	if f.Device != "" {
		return f.Device
	}
	card, err := nvidia.Open(os.LookupEnv)
	if err != nil {
		return "cpu"
	}
	card.Close()
	return "gpu"
}

// world answers what a plan asks of the things around it.
type world struct {
	ctx     context.Context
	targets map[memtrix.TargetKind]memtrix.Target
	db      *results.DB  // nil where there are no results yet
	spec    *matrix.Spec // nil where it does not matter which models are there
	// provider has the versions; closed with the world.
	provider *versions.Provider
	known    map[string]memtrix.Version
	attach   *comfyui.AttachTarget
	// flows are the spec's workflows, whose nodes decide about packs; loadouts are
	// the packs of each version.
	flows    []matrix.WorkflowEntry
	loadouts map[string]*loadout
}

// warn tells people what they should know of a version.
func (w *world) warn(text string) {
	if w.provider != nil && w.provider.Warn != nil {
		w.provider.Warn(text)
	}
}

func newWorld(ctx context.Context, db *results.DB, provider *versions.Provider) (*world, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, cannot{fmt.Errorf("find memtrix itself: %w", err)}
	}
	target := &comfyui.Target{
		CacheDir:   cacheDir(db),
		Vary:       workflows.Vary,
		Fit:        workflows.Fit,
		SimCommand: simCommand(self),
		NoCard:     noCard,
	}
	attach := &comfyui.AttachTarget{Vary: workflows.Vary, Fit: workflows.Fit}
	return &world{
		ctx:    ctx,
		attach: attach,
		targets: map[memtrix.TargetKind]memtrix.Target{
			memtrix.TargetComfyUI: target, memtrix.TargetSim: target, memtrix.TargetAttached: attach,
		},
		db:       db,
		provider: provider,
		known:    map[string]memtrix.Version{},
		loadouts: map[string]*loadout{},
	}, nil
}

// noCard reports whether this machine has no card that can be read.
func noCard() bool {
	_, closeCard, err := recorders.OpenCard(nil)
	if err != nil {
		return true
	}
	closeCard()
	return false
}

// cacheDir is the person's cache folder, else (no HOME: services, containers) one
// in the results folder; "" keeps nothing.
func cacheDir(db *results.DB) string {
	dir, err := os.UserCacheDir()
	switch {
	case err == nil:
		return filepath.Join(dir, "memtrix")
	case db != nil:
		return filepath.Join(db.Dir(), "cache")
	}
	return ""
}

// simCommand starts the simulated ComfyUI that this program carries.
func simCommand(self string) func(memtrix.Version, memtrix.Job) []string {
	return func(v memtrix.Version, job memtrix.Job) []string {
		return []string{
			self, "comfysim-server",
			"--sim-version", v.Release,
			"--sim-card", strconv.FormatInt(job.Cell.Hardware.VRAM, 10),
			"--sim-card-file", filepath.Join(job.Dir, memtrix.SimCardFile),
		}
	}
}

// startWith gives a version's first start the variables of its trials.
func (w *world) startWith(env map[string]string) {
	if t, ok := w.targets[memtrix.TargetComfyUI].(*comfyui.Target); ok {
		t.Env = env
	}
}

// targetsWith are the targets for trials that have other variables, beside others.
func (w *world) targetsWith(env map[string]string) map[memtrix.TargetKind]memtrix.Target {
	all := maps.Clone(w.targets)
	if t, ok := all[memtrix.TargetComfyUI].(*comfyui.Target); ok {
		own := *t
		own.Env = env
		all[memtrix.TargetComfyUI], all[memtrix.TargetSim] = &own, &own
	}
	return all
}

func (w *world) matrix() matrix.World {
	return matrix.World{
		Version:  w.version,
		Workflow: w.workflow,
		Load:     w.load,
		Argv:     w.argv,
		Notes:    w.notes,
		Args:     w.args,
		Refuses:  w.refuses,
		Last:     w.last,
	}
}

func (w *world) version(e matrix.VersionEntry) (memtrix.Version, error) {
	if e.URL != "" {
		return w.attached(e)
	}
	if e.Sim != "" && !slices.Contains(comfysim.Versions(), e.Sim) {
		return memtrix.Version{}, fmt.Errorf("no release %q can be simulated; those that can are %s", e.Sim, strings.Join(comfysim.Versions(), ", "))
	}
	if e.Sim != "" {
		v, err := simVersion(e)
		if err != nil {
			return v, err
		}
		return w.simPacks(e, v)
	}
	return w.withPacks(e, request(e))
}

// get gives each version once.
func (w *world) get(r versions.Request) (memtrix.Version, error) {
	key := fmt.Sprintf("%q", r)
	if v, ok := w.known[key]; ok {
		return v, nil
	}
	v, err := w.provider.Get(w.ctx, r)
	if err == nil {
		w.known[key] = v
	}
	return v, err
}

func (w *world) argv(c memtrix.Cell) ([]string, string) {
	return w.targets[c.Version.Target].Argv(c)
}

// notes and args are of the targets that have something to say.
func (w *world) notes(c memtrix.Cell) []string {
	var notes []string
	if t, ok := w.targets[c.Version.Target].(interface{ Notes(memtrix.Cell) []string }); ok {
		notes = t.Notes(c)
	}
	if note := hardware.Unfaithful(c.Hardware, c.Settings); note != "" && c.Version.Target != memtrix.TargetSim {
		notes = append(notes, note)
	}
	return notes
}

func (w *world) args(v memtrix.Version, args []string) []string {
	t, ok := w.targets[v.Target].(interface {
		CheckArgs(memtrix.Version, []string) []string
	})
	if ok {
		return t.CheckArgs(v, args)
	}
	return nil
}

func (w *world) refuses(v memtrix.Version, s *matrix.Spec) map[string]error {
	t, ok := w.targets[v.Target].(interface {
		Refuses(memtrix.Version, memtrix.Job) map[string]error
	})
	if ok {
		return t.Refuses(v, memtrix.Job{Extra: s.Args, Models: s.Models})
	}
	return nil
}

// simVersion is a release that the simulator knows.
func simVersion(e matrix.VersionEntry) (memtrix.Version, error) {
	if known := comfysim.Versions(); !slices.Contains(known, e.Sim) {
		return memtrix.Version{}, fmt.Errorf("there is no simulation of it; there are %s", strings.Join(known, ", "))
	}
	return memtrix.Version{
		Name:    e.Name,
		Target:  memtrix.TargetSim,
		Release: e.Sim,
		Commit:  "sim:" + e.Sim,
	}, nil
}

func (w *world) workflow(e matrix.WorkflowEntry) (memtrix.Workflow, error) {
	built, err := workflows.Build(requestOf(e))
	if err == nil && w.spec != nil {
		markStandIns(&built, w.spec)
	}
	return built, err
}

// requestOf is what a spec's entry asks for.
func requestOf(e matrix.WorkflowEntry) workflows.Request {
	r := workflows.Request{BuiltIn: e.BuiltIn, File: e.File, Name: e.Name, Params: workflows.Params(e.Params), Vary: e.Vary}
	for _, a := range e.Set {
		r.Set = append(r.Set, workflows.Value{Path: a.Path, Value: a.Value})
	}
	return r
}

// last finds what is known of a cell. What cannot be read counts as not known:
// it only decides about order and expected times.
func (w *world) last(cellID string) (matrix.LastTrial, bool) {
	if w.db == nil {
		return matrix.LastTrial{}, false
	}
	kind, seconds, ok, err := w.db.LastOf(w.ctx, cellID)
	if err != nil || !ok {
		return matrix.LastTrial{}, false
	}
	return matrix.LastTrial{Outcome: kind, Seconds: seconds}, true
}
