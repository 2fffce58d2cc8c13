package results

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"memtrix"
)

// The test binary is also the other process: what it does is in childEnv.
const childEnv = "MEMTRIX_RESULTS_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		if err := child(job, os.Args[1]); err != nil {
			fmt.Println("child:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child does its job in dir, says so, and then waits to be killed.
func child(job, dir string) error {
	ctx := context.Background()
	db, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	switch job {
	case "hold":
	case "begin":
		session, err := db.LastSession(ctx, "nightly")
		if err != nil {
			return err
		}
		tx, err := db.sql.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := db.saveTrial(ctx, tx, fullTrial(session.ID)); err != nil {
			return err
		}
	case "commit":
		session, err := db.LastSession(ctx, "nightly")
		if err != nil {
			return err
		}
		if err := db.SaveTrial(ctx, fullTrial(session.ID)); err != nil {
			return err
		}
	default:
		return errors.New("unknown job " + job)
	}
	fmt.Println("ready")
	time.Sleep(time.Minute)
	return nil
}

// startChild waits until the child has done its job.
func startChild(t *testing.T, job, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), childEnv+"="+job)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.Wait()
}

// Ensure that a second writer is told who holds the folder, that a reader is
// not kept out, and that a killed holder holds nothing.
func TestLock(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	cmd := startChild(t, "hold", dir)
	_, err := Open(ctx, dir)
	var inUse *InUseError
	if !errors.As(err, &inUse) {
		t.Fatalf("want InUseError, got %v", err)
	}
	if inUse.PID != cmd.Process.Pid || time.Since(inUse.Since) > time.Minute || inUse.Dir != dir {
		t.Errorf("want PID %d in %s, got %+v", cmd.Process.Pid, dir, inUse)
	}
	says(t, err, dir, fmt.Sprintf("in use by PID %d since ", cmd.Process.Pid))
	reader, err := OpenReadOnly(ctx, dir)
	if err != nil {
		t.Fatalf("reader beside a writer: %v", err)
	}
	reader.Close()
	kill(cmd)
	mustClose(t, mustOpen(t, dir))
	// And once more within one process, with a holder that says nothing.
	db := mustOpen(t, dir)
	write(t, filepath.Join(dir, LockFile), "")
	_, err = Open(ctx, dir)
	says(t, err, dir, "in use by another run")
	mustClose(t, db)
}

// Ensure that a writer killed in the middle of a trial leaves the state before
// it, and one killed after it leaves the trial.
func TestKilledWriter(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir)
	session := mustStart(t, db, "nightly", "one")
	kept := fullTrial(session.ID)
	mustSave(t, db, kept)
	mustClose(t, db)

	count := func(want int) {
		t.Helper()
		reader, err := OpenReadOnly(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := reader.Trials(ctx, session.ID)
		reader.Close()
		if err != nil || len(got) != want {
			t.Errorf("reader: want %d trials, got %d, %v", want, len(got), err)
		}
		db := mustOpen(t, dir)
		defer db.Close()
		trial, err := db.Trial(ctx, kept.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, kept, trial)
		for _, table := range []string{"trials", "ticks"} {
			var n int
			if err := db.sql.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != want {
				t.Errorf("%s: want %d rows, got %d, %v", table, want, n, err)
			}
		}
		if err := db.check(ctx); err != nil {
			t.Error(err)
		}
	}
	kill(startChild(t, "begin", dir))
	count(1)
	kill(startChild(t, "commit", dir))
	count(2)
}

// Ensure that readers beside a writer see whole trials only, and more and more
// of them.
func TestReaderBesideWriter(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir)
	session := mustStart(t, db, "nightly", "one")
	const trials = 30
	finished := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			reader, err := OpenReadOnly(ctx, dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer reader.Close()
			seen := 0
			for last := false; !last; {
				select {
				case <-finished:
					last = true
				default:
				}
				got, err := reader.Trials(ctx, session.ID)
				if err != nil || len(got) < seen {
					t.Errorf("after %d trials: got %d, %v", seen, len(got), err)
					return
				}
				seen = len(got)
				for _, trial := range got {
					if len(trial.Spans) != 3 || len(trial.Prompts) != 2 || len(trial.Readings) != 2 {
						t.Errorf("trial %d is not whole", trial.ID)
					}
				}
			}
			if seen != trials {
				t.Errorf("at the end: want %d trials, got %d", trials, seen)
			}
		})
	}
	for i := range trials {
		trial := fullTrial(session.ID)
		trial.Repeat = i
		mustSave(t, db, trial)
	}
	close(finished)
	readers.Wait()
}

// Ensure that results in a folder that takes no new files can be read.
func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir)
	session := mustStart(t, db, "nightly", "one")
	mustSave(t, db, &memtrix.Trial{Session: session.ID})
	mustClose(t, db)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	reader, err := OpenReadOnly(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, err := reader.Trials(ctx, session.ID); err != nil || len(got) != 1 {
		t.Errorf("want 1 trial, got %d, %v", len(got), err)
	}
}
