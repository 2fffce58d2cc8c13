// Package environment captures everything about a machine that could explain a
// difference between two trials, as facts by name, and tells two captures apart.
//
// It refuses to identify people: no host name, no user name, no serial number is
// captured (a card's UUID is, since two alike cards can differ). It changes
// nothing, and a fact that cannot be had is left out.
//
// Sizes are bytes as decimal numbers. The facts:
//
//	os, arch, kernel, distro, cpu.model, cpu.count
//	ram.total, swap.total, swap.kind, cgroup.memory.max, cgroup.swap.max
//	vm.overcommit_memory, vm.overcommit_ratio, vm.swappiness, thp, zswap
//	limit.memlock, limit.address-space
//	container, virtual-machine
//	driver, cuda, gpu.N.name, gpu.N.uuid, gpu.N.vram.total, or gpu: why there is none
//	models.filesystem, models.disk
//	python.path, python.version, package.NAME, package-hash.NAME
//	pack.NAME.hash, .commit (with +changes where files differ from it), .source,
//	.requirements: custom node packs; a target adds pack.NAME.import
//	args: launch flags that a spec gives every server (whoever has the spec adds them)
//	env.NAME: variables in force that change what memory a server takes
//	memtrix, go
package environment

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"memtrix"
	"memtrix/recorders/nvidia"
)

// Input is what a capture needs to know about the trial.
type Input struct {
	// Version that is run: its interpreter and its packages.
	Version memtrix.Version
	// Env is the environment in which the server is started, "NAME=value".
	Env []string
	// Models is the folder with the models; "" where there is none.
	Models string
}

// Capturer captures environments. What cannot change while a session runs, or
// is slow to get, it looks up once. The zero value is ready; it may be used by
// several goroutines.
type Capturer struct {
	// Root is where the system's files are; "" means "/". For tests.
	Root string
	// Cards lists the cards; nil asks NVML.
	Cards func() (nvidia.Inventory, error)
	// Run runs a program and gives its standard output; nil runs it really.
	Run func(ctx context.Context, argv ...string) ([]byte, error)

	mu      sync.Mutex
	machine memtrix.Environment
	pythons map[string]string // version by path
}

// Capture is one capture by a fresh Capturer.
func Capture(ctx context.Context, in Input) memtrix.Environment {
	return new(Capturer).Capture(ctx, in)
}

// Capture gives the facts that hold now. It takes milliseconds, and the first
// time up to a second more for the driver and the interpreter.
func (c *Capturer) Capture(ctx context.Context, in Input) memtrix.Environment {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machine == nil {
		c.machine = c.lookAtMachine()
	}
	e := maps.Clone(c.machine)
	c.addSettings(e) // a person can change these between two trials
	c.addModels(e, in.Models)
	c.addPython(ctx, e, in.Version.Python)
	for name, version := range in.Version.Packages {
		e["package."+name] = version
	}
	for name, sum := range in.Version.PackageHashes {
		e["package-hash."+name] = sum
	}
	for _, p := range in.Version.Packs {
		addPack(e, p)
	}
	for _, pair := range in.Env {
		if name, value, ok := strings.Cut(pair, "="); ok && matters(name) {
			e["env."+name] = value
		}
	}
	return e
}

// addPack adds what a custom node pack is.
func addPack(e memtrix.Environment, p memtrix.Pack) {
	prefix := "pack." + p.Name + "."
	commit := p.Commit
	if p.Dirty {
		commit += "+changes"
	}
	put(e, prefix+"hash", p.Hash)
	put(e, prefix+"commit", commit)
	put(e, prefix+"source", p.Source)
	put(e, prefix+"requirements", strings.Join(p.Requirements, ", "))
}

// lookAtMachine gives what stays the same while the machine is up.
func (c *Capturer) lookAtMachine() memtrix.Environment {
	e := memtrix.Environment{
		"os":        runtime.GOOS,
		"arch":      runtime.GOARCH,
		"cpu.count": strconv.Itoa(runtime.NumCPU()),
		"go":        runtime.Version(),
		"memtrix":   ownVersion(debug.ReadBuildInfo()),
	}
	put(e, "kernel", c.line("proc/sys/kernel/osrelease"))
	put(e, "distro", distro(c.text("etc/os-release")))
	cpuinfo := c.text("proc/cpuinfo")
	put(e, "cpu.model", cpuModel(cpuinfo))
	put(e, "ram.total", meminfo(c.text("proc/meminfo"), "MemTotal"))
	put(e, "container", c.container())
	put(e, "virtual-machine", c.virtualMachine(cpuinfo))
	addLimits(e)
	c.addCards(e)
	return e
}

func (c *Capturer) addCards(e memtrix.Environment) {
	list := c.Cards
	if list == nil {
		list = nvidia.List
	}
	inv, err := list()
	put(e, "driver", inv.Driver)
	put(e, "cuda", inv.CUDA)
	if err != nil {
		e["gpu"] = err.Error()
	}
	for _, card := range inv.Cards {
		prefix := "gpu." + strconv.Itoa(card.Index) + "."
		put(e, prefix+"name", card.Name)
		put(e, prefix+"uuid", card.UUID)
		e[prefix+"vram.total"] = strconv.FormatInt(card.Total, 10)
	}
}

// addSettings adds what can be changed while the machine runs.
func (c *Capturer) addSettings(e memtrix.Environment) {
	put(e, "swap.total", meminfo(c.text("proc/meminfo"), "SwapTotal"))
	put(e, "swap.kind", swapKind(c.text("proc/swaps")))
	for _, name := range []string{"overcommit_memory", "overcommit_ratio", "swappiness"} {
		put(e, "vm."+name, c.line("proc/sys/vm/"+name))
	}
	put(e, "thp", bracketed(c.line("sys/kernel/mm/transparent_hugepage/enabled")))
	put(e, "zswap", c.line("sys/module/zswap/parameters/enabled"))
	memory, swap := c.cgroupLimits()
	put(e, "cgroup.memory.max", memory)
	put(e, "cgroup.swap.max", swap)
}

// pythonTimeout is for an interpreter on a slow disk.
const pythonTimeout = 20 * time.Second

func (c *Capturer) addPython(ctx context.Context, e memtrix.Environment, path string) {
	if path == "" {
		return
	}
	e["python.path"] = path
	if _, known := c.pythons[path]; !known {
		ctx, cancel := context.WithTimeout(ctx, pythonTimeout)
		defer cancel()
		run := c.Run
		if run == nil {
			run = runProgram
		}
		// Isolated and without site: quick, and nothing of the user's runs.
		out, err := run(ctx, path, "-I", "-S", "-c", "import platform; print(platform.python_implementation(), platform.python_version())")
		if err != nil && ctx.Err() != nil {
			return // stopped: ask again next time
		}
		if c.pythons == nil {
			c.pythons = map[string]string{}
		}
		c.pythons[path] = strings.TrimSpace(string(out)) // "" where it does not run
	}
	put(e, "python.version", c.pythons[path])
}

func runProgram(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// A child that keeps the pipe open must not hold us, and what its parent said counts.
	cmd.WaitDelay = 3 * time.Second
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return out, err
}

// matters reports whether a variable can change how much memory a server takes,
// or on which card.
func matters(name string) bool {
	exact := []string{"LD_PRELOAD", "GLIBC_TUNABLES", "PYTHONMALLOC", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
	prefixes := []string{"CUDA_", "NVIDIA_", "PYTORCH_", "TORCH_", "TORCHINDUCTOR_", "CUBLAS", "CUDNN_", "NCCL_", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "HIP_", "HSA_", "ROCR_", "COMFY", "AIMDO_", "XFORMERS_"}
	return slices.Contains(exact, name) ||
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// ownVersion is memtrix's release, or the commit that it was built from.
func ownVersion(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (version == "" || version == "(devel)") {
			version = s.Value
		}
	}
	if version == "" {
		return "unknown"
	}
	return version
}

// text reads a file of the system; "" where it cannot be read.
func (c *Capturer) text(path string) string {
	data, err := os.ReadFile(c.path(path))
	if err != nil {
		return ""
	}
	return string(data)
}

func (c *Capturer) line(path string) string { return strings.TrimSpace(c.text(path)) }

func (c *Capturer) path(path string) string {
	root := c.Root
	if root == "" {
		root = "/"
	}
	return filepath.Join(root, path)
}

func (c *Capturer) exists(path string) bool {
	_, err := os.Stat(c.path(path))
	return !errors.Is(err, os.ErrNotExist)
}

// put adds a fact that there is.
func put(e memtrix.Environment, name, value string) {
	if value != "" {
		e[name] = value
	}
}
