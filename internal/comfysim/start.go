package comfysim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// runStart plays a version's start-up script: what is printed, what memory the
// process gets meanwhile, and how long it takes.
func (s *sim) runStart(ctx context.Context) error {
	script, err := texts.Open("text/start-" + s.cfg.ver.banner + ".txt")
	if err != nil {
		return err
	}
	defer script.Close()
	lines := bufio.NewScanner(script)
	holds, fill := s.startConditions(), s.startFill()
	for lines.Scan() {
		head, text, ok := strings.Cut(lines.Text(), "|")
		if !ok || strings.HasPrefix(head, "#") {
			continue
		}
		kind, conditions, _ := strings.Cut(head, " ")
		if !allHold(conditions, holds) {
			continue
		}
		if err := s.startLine(ctx, kind, fill.Replace(text)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func allHold(conditions string, holds map[string]bool) bool {
	for name := range strings.SplitSeq(conditions, ",") {
		want := !strings.HasPrefix(name, "!")
		if name != "" && holds[strings.TrimPrefix(name, "!")] != want {
			return false
		}
	}
	return true
}

func (s *sim) startLine(ctx context.Context, kind, text string) error {
	switch kind {
	case "D":
		s.log.log(levelDebug, "%s", text)
	case "I":
		s.log.info("%s", text)
	case "W":
		s.log.warn("%s", text)
	case "E":
		s.log.fail("%s", text)
	case "R":
		s.log.raw(text + "\n")
	case "K":
		data, err := texts.ReadFile("text/" + text + ".txt")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			s.log.info("%s", strings.TrimSuffix(line, "\n"))
		}
	case "S":
		return s.startStep(ctx, text)
	}
	return nil
}

// startStep does the parts of a start that are not a line.
func (s *sim) startStep(ctx context.Context, text string) error {
	word, arg, _ := strings.Cut(text, " ")
	n, _ := strconv.ParseFloat(arg, 64) // scripts are embedded
	switch word {
	case "wait":
		if s.cfg.sim.fault == faultSlowStart {
			n *= 10
		}
		return s.clock.wait(ctx, seconds(n))
	case "base":
		return s.host.setBase(n)
	case "torch":
		return s.startFault(ctx)
	case "context":
		return s.card.openContext()
	case "packs":
		return s.importPacks(ctx)
	case "database":
		s.makeDatabase()
		return nil
	}
	return fmt.Errorf("start-up script: no step %q", text)
}

// makeDatabase leaves a file, so that the next start on the same one has nothing
// to upgrade. Where it cannot be written the server goes on, as ComfyUI does.
func (s *sim) makeDatabase() {
	if path := s.cfg.databasePath(); path != "" {
		_ = os.WriteFile(path, []byte("simulated by comfysim\n"), 0o644)
	}
}

func (s *sim) startConditions() map[string]bool {
	c := s.cfg
	path := c.databasePath()
	_, err := os.Stat(path)
	return map[string]bool{
		"cuda": c.cuda, "dynamic": c.dynamic, "noaimdo": c.aimdoAsked && !c.dynamic, "dynoff": c.opts.has("--disable-dynamic-vram"),
		"smart": c.smart, "pinned": c.pinned, "streams": c.streams > 0,
		"bare": c.bareEnv(), "freshuser": c.folders.userIsNew && !c.opts.has("--multi-user"),
		"freshdb": path == "" || err != nil, "basedir": c.opts.has("--base-directory"),
		"deterministic": c.opts.has("--deterministic"), "fp32": c.opts.has("--force-fp32"),
		"fp16acc": slices.Contains(c.opts["--fast"], "fp16_accumulation") ||
			c.opts.has("--fast") && len(c.opts["--fast"]) == 0,
	}
}

func (s *sim) startFill() *strings.Replacer {
	c := s.cfg
	vram := c.ram
	if c.cuda {
		vram = s.card.capacity()
	}
	base, err := filepath.Abs(c.folders.base)
	if err != nil {
		base = c.folders.base
	}
	pinned := int64(float64(c.ram) * c.ver.pinShare / float64(mib))
	return strings.NewReplacer("{base}", base, "{vram}", c.mbOf(vram), "{ram}", c.mbOf(c.ram),
		"{torch}", c.torchVersion(), "{state}", string(c.state), "{device}", c.deviceName(),
		"{streams}", strconv.Itoa(c.streams), "{pinned}", fmt.Sprintf("%d.0", pinned),
		"{attention}", c.attentionLine(), "{gpu}", gpuName, "{python}", c.pythonVersion(),
		"{version}", c.ver.name, "{kitchen}", c.kitchenVersion(), "{webroot}", c.webRoot(),
		"{database}", c.databaseURL())
}

// errStartFailed ends a start with status 1; what to say has been printed.
var errStartFailed = errors.New("start failed")

// startFault is called where torch is imported.
func (s *sim) startFault(ctx context.Context) error {
	switch s.cfg.sim.fault {
	case faultDieAtStart:
		killSelf()
	case faultMissingModule:
		s.log.raw("Traceback (most recent call last):\n" +
			"  File \"/opt/ComfyUI/main.py\", line 219, in <module>\n" +
			"  File \"/opt/ComfyUI/execution.py\", line 15, in <module>\n" +
			"  File \"/opt/ComfyUI/comfy/model_management.py\", line 20, in <module>\n" +
			"ModuleNotFoundError: No module named 'einops'\n")
		return errStartFailed
	case faultHangAtStart:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// killSelf ends the process as the kernel's OOM killer or a crash would: at
// once, without a word.
func killSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}
