package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"memtrix/workflows/standin"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"memtrix": main})
}

// TestScripts runs the command as people do. Servers are simulated ones.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("MEMTRIX_UPDATE_SCRIPTS") != "", // rewrites what cmp compares with
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			// The race detector sleeps for a second before each exit by default
			// (https://go.dev/doc/articles/race_detector), and scripts run hundreds of commands.
			e.Setenv("GORACE", "atexit_sleep_ms=20")
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/cache")
			return setPort(e)
		},
		Condition: func(name string) (bool, error) {
			if name != "hup" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return !signal.Ignored(syscall.SIGHUP), nil // nohup(1), and what it starts
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "standin": standIn, "stored": stored},
	})
}

// setPort names a port that nobody listens on. It lies below those that the kernel gives
// to whoever asks for any (ip_local_port_range) and above those of memtrix itself: nobody
// shall have it by the time that the script uses it.
func setPort(e *testscript.Env) error {
	for range 100 {
		port := strconv.Itoa(30000 + rand.IntN(2700))
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			e.Setenv("PORT", port)
			return l.Close()
		}
	}
	return errors.New("no free port")
}

// standIn writes a stand-in model: standin sd15 models/checkpoints/sd15.safetensors
func standIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: standin FAMILY FILE")
	}
	path := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	family, err := standin.Find(args[0])
	ts.Check(err)
	ts.Check(standin.Write(context.Background(), path, standin.Plan{Family: family, DType: family.DTypes[0], FullSize: true}))
}

// exits runs a command and checks its exit status: exits 2 memtrix plan bad.yaml
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("usage: exits STATUS COMMAND ARGS...")
	}
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
