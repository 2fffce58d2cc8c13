package versions

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed ask.py
var askScript string

// askTimeout bounds one question to an interpreter; reading the packages of a
// full environment from a cold disk takes a few seconds.
const askTimeout = 60 * time.Second

// minPython is the oldest minor version of Python 3 that ComfyUI's code parses on.
const minPython = 9

// answer is what ask.py prints.
type answer struct {
	Version   []int             `json:"version"`
	Packages  map[string]string `json:"packages"`
	Flags     []string          `json:"flags"`
	FlagsFail string            `json:"flags_error"`
	Contents  map[string]struct {
		Hash    string   `json:"hash"`
		Changed []string `json:"changed"`
	} `json:"contents"`
}

// findPython gives the interpreter that most likely runs the tree, "" when there
// is none. env is os.Getenv.
func findPython(dir string, env func(string) string) string {
	roots := []string{filepath.Join(dir, "venv"), filepath.Join(dir, ".venv"),
		filepath.Join(filepath.Dir(dir), "python_embeded")}
	if v := env("VIRTUAL_ENV"); v != "" {
		roots = append(roots, v)
	}
	for _, root := range roots {
		for _, name := range interpreterNames(root) {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				return name
			}
		}
	}
	for _, name := range []string{"python3", "python"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

// interpreterNames are where an environment, or the portable build's embedded
// Python, keeps its interpreter.
func interpreterNames(root string) []string {
	if runtime.GOOS == "windows" {
		return []string{filepath.Join(root, "Scripts", "python.exe"), filepath.Join(root, "python.exe")}
	}
	return []string{filepath.Join(root, "bin", "python"), filepath.Join(root, "bin", "python3"), filepath.Join(root, "python")}
}

// resolvePython turns what a person wrote into the path of an executable file.
// The path is not followed through links: a virtual environment is one.
func resolvePython(python string) (string, error) {
	if !strings.ContainsRune(python, filepath.Separator) && !strings.Contains(python, "/") {
		p, err := exec.LookPath(python)
		if err != nil {
			return "", fmt.Errorf("python %q is not on PATH", python)
		}
		return p, nil
	}
	path, err := filepath.Abs(python)
	if err != nil {
		return "", fmt.Errorf("python %s: %w", python, err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("python %s does not exist", path)
	case err != nil:
		return "", fmt.Errorf("python: %w", err)
	case info.IsDir():
		for _, name := range interpreterNames(path) {
			if _, err := os.Stat(name); err == nil {
				return "", fmt.Errorf("python %s is a folder; did you mean %s?", path, name)
			}
		}
		return "", fmt.Errorf("python %s is a folder, not an interpreter", path)
	}
	return path, nil
}

// ask runs the interpreter once for all that it knows.
func ask(ctx context.Context, python, dir string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", askScript, dir)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	cmd.Dir = os.TempDir()
	// A child that keeps the pipes open must not hold us, and what its parent said counts.
	cmd.WaitDelay = 3 * time.Second
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return answer{}, fmt.Errorf("ask python %s: %w", python, err)
			}
			return answer{}, notPython(python, fmt.Errorf("it did not answer within %v", askTimeout), errs.buf.String())
		}
		return answer{}, notPython(python, err, errs.buf.String())
	}
	return readAnswer(python, out.buf.Bytes())
}

// maxAnswer is far above what any environment's list of packages takes.
const maxAnswer = 16 << 20

// bounded keeps what fits into maxAnswer, and then fails: an endless answer ends
// the interpreter instead of our memory.
type bounded struct{ buf bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > maxAnswer {
		return 0, fmt.Errorf("its answer has more than %d MiB", maxAnswer>>20)
	}
	return b.buf.Write(p)
}

func readAnswer(python string, out []byte) (answer, error) {
	var a answer
	if err := json.Unmarshal(out, &a); err != nil || len(a.Version) < 2 {
		return answer{}, notPython(python, errors.New("it did not answer as Python does"), string(out))
	}
	if a.Version[0] != 3 || a.Version[1] < minPython {
		return answer{}, fmt.Errorf("python %s is Python %d.%d; ComfyUI needs 3.%d or newer", python, a.Version[0], a.Version[1], minPython)
	}
	return a, nil
}

func notPython(python string, err error, said string) error {
	msg := fmt.Sprintf("%s does not work as a Python interpreter", python)
	if said = strings.TrimSpace(said); said != "" {
		return fmt.Errorf("%s: %w: %s", msg, err, lastBytes(said, 400))
	}
	return fmt.Errorf("%s: %w", msg, err)
}

func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "..." + s[len(s)-n:]
}
