package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Git runs a reading git command that takes no locks and runs nothing that the
// repository names, whoever owns the folder and whatever GIT_ variables are set
// around us.
func Git(ctx context.Context, dir string, args ...string) (string, error) {
	full := append([]string{"--no-optional-locks", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-C", dir}, args...)
	cmd := exec.CommandContext(ctx, "git", full...)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w", args[0], dir, withStderr(err))
	}
	return string(out), nil
}

// IsGitTop is false for a folder that merely lies inside somebody's repository.
func IsGitTop(ctx context.Context, dir string) bool {
	out, err := Git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return false
	}
	top, err1 := filepath.EvalSymlinks(strings.TrimSpace(out))
	here, err2 := filepath.EvalSymlinks(dir)
	return err1 == nil && err2 == nil && top == here
}

func withStderr(err error) error {
	const most = 300
	var exit *exec.ExitError
	if !errors.As(err, &exit) || len(exit.Stderr) == 0 {
		return err
	}
	text := string(exit.Stderr)
	if len(text) > most {
		text = "..." + text[len(text)-most:]
	}
	return fmt.Errorf("%w: %s", err, strings.TrimSpace(text))
}
