package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"memtrix/versions/child"
)

// ErrNoGit means that there is no git to fetch sources with.
var ErrNoGit = errors.New("git is not on PATH: releases, commits and branches need it; install git, or say path: and a folder instead")

// git runs git on the clone.
func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	return runGit(ctx, r.dir, nil, nil, nil, args...)
}

// runGit runs git on a bare repository ("" for none), whoever owns it and
// whatever variables about another repository are set around us.
func runGit(ctx context.Context, dir string, stdin io.Reader, stdout io.Writer, say func(string), args ...string) (string, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", ErrNoGit
	}
	argv := []string{path, "-c", "safe.directory=*", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}
	if dir != "" {
		argv = append(argv, "--git-dir="+dir)
	}
	return child.Run(ctx, child.Command{
		Argv: append(argv, args...), Env: gitEnviron(os.Environ()),
		Stdin: stdin, Stdout: stdout, Say: say,
	})
}

// gitEnviron drops the variables that bind git to a repository
// (git rev-parse --local-env-vars) and keeps it from asking for a password.
func gitEnviron(base []string) []string {
	local := map[string]bool{
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": true, "GIT_CONFIG": true, "GIT_CONFIG_PARAMETERS": true,
		"GIT_CONFIG_COUNT": true, "GIT_OBJECT_DIRECTORY": true, "GIT_DIR": true, "GIT_WORK_TREE": true,
		"GIT_IMPLICIT_WORK_TREE": true, "GIT_GRAFT_FILE": true, "GIT_INDEX_FILE": true,
		"GIT_NO_REPLACE_OBJECTS": true, "GIT_REPLACE_REF_BASE": true, "GIT_PREFIX": true,
		"GIT_SHALLOW_FILE": true, "GIT_COMMON_DIR": true, "GIT_NAMESPACE": true, "GIT_QUARANTINE_PATH": true,
	}
	env := make([]string, 0, len(base)+2)
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if !local[name] {
			env = append(env, kv)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// whyGit shortens git's own words for a message.
func whyGit(err error) error {
	var failed *child.Error
	if !errors.As(err, &failed) {
		return err
	}
	var fatal []string
	for _, line := range failed.Lines {
		for _, sign := range []string{"fatal: ", "error: ", "remote: "} {
			if text, ok := strings.CutPrefix(line, sign); ok {
				fatal = append(fatal, text)
				break
			}
		}
	}
	if len(fatal) == 0 {
		return err
	}
	return fmt.Errorf("git says: %s", strings.Join(fatal[:min(len(fatal), 4)], "; "))
}
