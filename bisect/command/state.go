package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"memtrix/bisect"
	"memtrix/internal/filelock"
)

// head is the first line of a state file: which search it is of.
type head struct {
	Bisect     string        `json:"bisect"` // the identity of the search
	Command    string        `json:"command"`
	Metric     bisect.Metric `json:"metric"`
	Candidates int           `json:"candidates"`
	First      string        `json:"first"`
	Last       string        `json:"last"`
}

// Identity of a search: the same list, command and options. A state file is only gone on
// with by the search that it is of.
func Identity(candidates []string, command string, cfg bisect.Config) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%q\n%s %v %v %v %v %s\n", candidates, command, cfg.Metric, cfg.Sure, cfg.Deterministic, rates(cfg), levels(cfg), cfg.Find)
	return hex.EncodeToString(h.Sum(nil))[:12]
}

func rates(c bisect.Config) bisect.Rates {
	if c.Rates == nil {
		return bisect.Rates{}
	}
	return *c.Rates
}

func levels(c bisect.Config) bisect.Levels {
	if c.Levels == nil {
		return bisect.Levels{}
	}
	return *c.Levels
}

// State is a file with a line for each execution, written when it has ended.
type State struct {
	file *os.File
	Path string
	Old  []Execution // of the search that was stopped
}

// ErrBusy is of a state file that another memtrix writes to.
var ErrBusy = errors.New("another memtrix is at this search")

// OpenState opens or makes a state file, and holds it: another search of the same list
// and command gets ErrBusy. One of a search that came to its end is begun anew; one of
// another search is an error.
func OpenState(path string, h head) (*State, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, fmt.Errorf("state of the search: %w", err)
		}
		s := &State{file: f, Path: path}
		err = s.begin(h)
		if err == nil {
			return s, nil
		}
		f.Close()
		if !errors.Is(err, errGone) {
			return nil, fmt.Errorf("state of the search %s: %w", path, err)
		}
	}
}

// errGone is of a file that the search which held it removed at its end, after it was
// opened here: a lock on it keeps nobody away.
var errGone = errors.New("it is gone")

func (s *State) begin(h head) error {
	if ok, err := filelock.Try(s.file); err != nil {
		return fmt.Errorf("lock: %w", err)
	} else if !ok {
		return ErrBusy
	}
	held, err := s.file.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(s.Path); err != nil || !os.SameFile(held, there) {
		return errGone
	}
	text, err := io.ReadAll(s.file)
	if err != nil {
		return err
	}
	good, done, err := s.read(text, h)
	if err != nil {
		return err
	}
	if done || good == 0 {
		s.Old, good = nil, 0
	}
	// What was cut off in the middle of a line goes.
	if err := s.file.Truncate(int64(good)); err != nil {
		return err
	}
	if _, err := s.file.Seek(int64(good), io.SeekStart); err != nil {
		return err
	}
	if good == 0 {
		return s.line(h)
	}
	return nil
}

// read takes the whole lines of a state; good is where they end.
func (s *State) read(text []byte, h head) (good int, done bool, err error) {
	for n := 0; ; n++ {
		i := bytes.IndexByte(text[good:], '\n')
		if i < 0 {
			if n == 0 && len(text) > 0 && !strings.HasPrefix(string(text), `{"bisect"`) && !strings.HasPrefix(`{"bisect"`, string(text)) {
				return 0, false, errors.New("it is no state of a bisection, and is left as it is")
			}
			return good, done, nil
		}
		line := text[good : good+i]
		if n == 0 {
			var was head
			if json.Unmarshal(line, &was) != nil || was.Bisect == "" {
				return 0, false, errors.New("it is no state of a bisection, and is left as it is")
			}
			if was.Bisect != h.Bisect {
				return 0, false, fmt.Errorf("it is of another search (%d candidates from %q to %q, command %q, or other options): name another file, or remove it",
					was.Candidates, was.First, was.Last, was.Command)
			}
		} else {
			var e struct {
				Execution
				End bisect.Verdict `json:"end"`
			}
			if err := json.Unmarshal(line, &e); err != nil || e.Index < 0 || e.Index >= h.Candidates {
				return 0, false, fmt.Errorf("line %d is damaged: remove the file to begin again", n+1)
			}
			if e.End != "" {
				done = true
			} else {
				s.Old = append(s.Old, e.Execution)
			}
		}
		good += i + 1
	}
}

// Save adds an execution, and returns when it is on the disk.
func (s *State) Save(e Execution) error { return s.line(e) }

// End says that the search is over: the same command begins a new one.
func (s *State) End(v bisect.Verdict) error {
	return s.line(struct {
		End bisect.Verdict `json:"end"`
	}{v})
}

func (s *State) line(doc any) error {
	text, err := json.Marshal(doc)
	if err == nil {
		_, err = s.file.Write(append(text, '\n'))
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the state of the search %s: %w", s.Path, err)
	}
	return nil
}

// Remove ends the search and leaves nothing behind. The file goes while it is still held,
// so that it is never taken from a search that has just begun with it; where a file that
// is open cannot be removed (Windows), it says that it has ended until it is.
func (s *State) Remove() error {
	if os.Remove(s.Path) == nil {
		return nil
	}
	if err := s.End(bisect.Found); err != nil {
		return err
	}
	_ = s.file.Close()
	_ = os.Remove(s.Path) // it says that it has ended: the next search begins anew
	return nil
}

// Close gives the file to others.
func (s *State) Close() error { return s.file.Close() }
