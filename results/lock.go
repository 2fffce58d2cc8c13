package results

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"memtrix/internal/filelock"
)

// lock is the right to write to a results folder. It belongs to the open file:
// the system takes it back when the process ends, however it ends.
type lock struct {
	file *os.File
	// unclean is set when the last holder did not release it.
	unclean bool
}

// acquire takes the lock of dir. It does not wait.
func acquire(dir string) (*lock, error) {
	path := filepath.Join(dir, LockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("results folder %s is not writable: %w", dir, err)
	}
	got, err := filelock.Try(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock results folder %s: %w", dir, err)
	}
	text, readErr := io.ReadAll(io.LimitReader(f, 256))
	if !got {
		f.Close()
		inUse := &InUseError{Dir: dir}
		if readErr == nil {
			inUse.PID, inUse.Since = parseHolder(string(text))
		}
		return nil, inUse
	}
	l := &lock{file: f, unclean: len(strings.TrimSpace(string(text))) > 0}
	if err := l.write(formatHolder(os.Getpid(), time.Now())); err != nil {
		f.Close()
		return nil, fmt.Errorf("results folder %s is not writable: %w", dir, err)
	}
	return l, nil
}

// release empties the file, so that the next holder knows that all is well, and
// gives the lock back. The file stays: removing it would let two processes hold
// the locks of two files of one name.
func (l *lock) release() error {
	err := l.write("")
	if closeErr := l.file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	return nil
}

func (l *lock) write(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

func formatHolder(pid int, since time.Time) string {
	return fmt.Sprintf("pid %d since %s\n", pid, since.UTC().Format(time.RFC3339))
}

// parseHolder gives zero values for what it cannot read: the holder may be
// writing at this moment.
func parseHolder(text string) (pid int, since time.Time) {
	var stamp string
	if _, err := fmt.Sscanf(text, "pid %d since %s", &pid, &stamp); err != nil {
		return 0, time.Time{}
	}
	since, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return 0, time.Time{}
	}
	return pid, since
}
