package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

type mode int

const (
	shared mode = iota
	exclusive
)

// errHeld means that another process has the lock.
var errHeld = errors.New("held by another process")

// Lock is a held lock. Its file stays when it is let go: removing it would let
// two processes hold "the same" lock.
type Lock struct {
	path string
	file *os.File
}

// Unlock lets the lock go. It may be called more than once.
func (l *Lock) Unlock() {
	if l == nil || l.file == nil {
		return
	}
	l.file.Close() // which ends the lock
	l.file = nil
}

// pollTime is how often a lock that another process holds is tried: the system
// calls that wait cannot be stopped by a context.
const pollTime = 50 * time.Millisecond

func acquire(ctx context.Context, path string, m mode, waiting func()) (*Lock, error) {
	l, err := try(path, m)
	for told := false; errors.Is(err, errHeld); l, err = try(path, m) {
		if !told && waiting != nil {
			told = true
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pollTime):
		}
	}
	return l, err
}

func try(path string, m mode) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := lockFile(f, m); err != nil {
		f.Close()
		if errors.Is(err, errHeld) {
			return nil, err
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{path: path, file: f}, nil
}
