package comfyui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"memtrix"
	"memtrix/internal/filelock"
)

// Prepare starts a version once, so that its Python files are compiled before
// anything is measured; a cold first start costs tens of MiB and seconds. It does
// so once for the same tree, commit, packages and interpreter. The error says what
// is missing and how to get it.
func (t *Target) Prepare(ctx context.Context, v memtrix.Version, say func(string)) error {
	if v.Target == memtrix.TargetSim {
		return nil
	}
	t, err := t.absolute()
	if err != nil {
		return err
	}
	if err := runnable(v); err != nil {
		return err
	}
	root := t.CacheDir
	if root == "" {
		if root, err = os.MkdirTemp("", "memtrix-warm-"); err != nil {
			return fmt.Errorf("warm %s: %w", v.Name, err)
		}
		defer os.RemoveAll(root)
	}
	dir := filepath.Join(root, "warm", t.warmKey(v))
	done := filepath.Join(dir, "done")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("warm %s: %w", v.Name, err)
	}
	unlock, err := lockFirstStart(ctx, dir)
	if err != nil {
		return fmt.Errorf("warm %s: %w", v.Name, err)
	}
	defer unlock()
	if _, err := os.Stat(done); err == nil {
		return nil // somebody else has done it meanwhile
	}
	if say == nil {
		say = func(string) {}
	}
	if err := t.warm(ctx, v, dir, say); err != nil {
		return err
	}
	if err := os.WriteFile(done, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o644); err != nil {
		return fmt.Errorf("warm %s: %w", v.Name, err)
	}
	return nil
}

// lockFirstStart keeps two from starting a version for the first time at once: another
// memtrix, or another trial of this one. Both would write into the same folder.
func lockFirstStart(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		got, err := filelock.Try(f)
		if err == nil && got {
			return func() { f.Close() }, nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("another first start of it is on its way: %w", context.Cause(ctx))
		case <-time.After(readyPoll):
		}
	}
}

// runnable checks what can be checked without a start.
func runnable(v memtrix.Version) error {
	if v.Python == "" {
		return fmt.Errorf("version %s: no Python interpreter", v.Name)
	}
	for _, path := range []string{v.Python, filepath.Join(v.Dir, "main.py")} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("version %s: %w", v.Name, err)
		}
	}
	return nil
}

// warmKey names all that makes compiled files of an earlier start useless.
func (t *Target) warmKey(v memtrix.Version) string {
	// Maps of strings and slices cannot fail; maps come in order.
	data, _ := json.Marshal([]any{v.Dir, v.Commit, v.Dirty, v.Python, v.Packages, v.Packs})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// warm starts the version once, with the card that it has or, where there is
// none, on the CPU.
func (t *Target) warm(ctx context.Context, v memtrix.Version, dir string, say func(string)) error {
	say(fmt.Sprintf("warming %s: one start before anything is measured", v.Name))
	if t.NoCard != nil && t.NoCard() {
		return t.warmStart(ctx, v, dir, []string{"--cpu"})
	}
	err := t.warmStart(ctx, v, dir, nil)
	var failed *warmError
	if errors.As(err, &failed) && failed.noGPU() {
		say(fmt.Sprintf("warming %s on the CPU: it finds no GPU", v.Name))
		err = t.warmStart(ctx, v, dir, []string{"--cpu"})
	}
	return err
}

// warmError is a first start that failed.
type warmError struct {
	version memtrix.Version
	argv    []string
	err     error
	lines   []string
}

func (e *warmError) Error() string {
	return fmt.Sprintf("%s does not start: %v\n  command: %s\n%s%s", e.version.Name, e.err, strings.Join(e.argv, " "), tail(e.lines), advice(e.lines, e.version))
}

func (e *warmError) Unwrap() error { return e.err }

// noGPU tells a machine without a usable card, as torch says it, from other
// failures.
func (e *warmError) noGPU() bool {
	for _, line := range e.lines {
		for _, sign := range []string{"not compiled with CUDA enabled", "Found no NVIDIA driver", "No CUDA GPUs are available", "no NVIDIA driver on your system", "No HIP GPUs are available"} {
			if strings.Contains(line, sign) {
				return true
			}
		}
	}
	return false
}

func (t *Target) warmStart(ctx context.Context, v memtrix.Version, dir string, flags []string) error {
	job := memtrix.Job{Cell: memtrix.Cell{Version: v}, Argv: flags, Dir: dir, Env: t.Env, Epoch: time.Now()}
	quick := knownFlags(v)["--quick-test-for-ci"]
	if quick {
		// All of the start-up, then exit 0 instead of listening.
		job.Argv = append(job.Argv, "--quick-test-for-ci")
	}
	started, err := t.Start(ctx, job)
	if err != nil {
		return fmt.Errorf("warm %s: %w", v.Name, err)
	}
	i := started.(*Instance)
	defer i.Stop(context.WithoutCancel(ctx))
	if !quick {
		if err := i.Ready(ctx); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		return nil
	}
	select {
	case <-i.Exited():
	case <-ctx.Done():
		return &warmError{version: v, argv: i.argv, err: context.Cause(ctx), lines: i.log.last(15)}
	}
	if exit := i.Stop(ctx); exit.Status != 0 || exit.Signal != "" {
		return &warmError{version: v, argv: i.argv, err: errors.New(i.process.ended()), lines: i.log.last(15)}
	}
	return nil
}

var missingModule = regexp.MustCompile(`ModuleNotFoundError: No module named '([^']+)'`)

// advice says what to do about a start that failed, where its lines tell.
func advice(lines []string, v memtrix.Version) string {
	text := strings.Join(lines, "\n")
	if m := missingModule.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("\nThe package that holds %q is missing. Install what this version needs:\n  %s -m pip install -r %s",
			m[1], v.Python, filepath.Join(v.Dir, "requirements.txt"))
	}
	switch {
	case strings.Contains(text, "not compiled with CUDA enabled"):
		return "\nThis torch was built without CUDA: install a build for your card, or set device: cpu."
	case strings.Contains(text, "NVIDIA driver"), strings.Contains(text, "No CUDA GPUs are available"):
		return "\nNo usable NVIDIA card or driver: set device: cpu to run on the CPU."
	}
	return ""
}
