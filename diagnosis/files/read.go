package files

import (
	"fmt"
	"io"
	"os"

	"memtrix"
	"memtrix/diagnosis"
)

// Paths name the files of a recording; "" is a file that there is not, "-" is
// standard input.
type Paths struct {
	Log, Events, Memory, Host string
}

// Read puts the files together as evidence. Errors name the file and the line;
// notes are what a person should know, e.g. that of a very long log not all was
// kept.
func Read(p Paths, stdin io.Reader) (e diagnosis.Evidence, notes []string, err error) {
	read := func(path string, do func(io.Reader) error) {
		if path == "" || err != nil {
			return
		}
		if path == "-" {
			if err = do(stdin); err != nil {
				err = fmt.Errorf("standard input: %w", err)
			}
			return
		}
		f, openErr := os.Open(path)
		if openErr != nil {
			err = openErr
			return
		}
		defer f.Close()
		if err = do(f); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	read(p.Log, func(r io.Reader) error {
		lines, note, err := Log(r)
		if note != "" {
			notes = append(notes, note)
		}
		e.Log = lines
		return err
	})
	read(p.Events, func(r io.Reader) error {
		events, err := ReadEvents(r)
		e.Events, e.Nodes, e.Graph = events.Events, events.Nodes, events.Graph
		return err
	})
	read(p.Memory, func(r io.Reader) error {
		series, err := Memory(r)
		e.Series = append(e.Series, series...)
		return err
	})
	read(p.Host, func(r io.Reader) error {
		host, err := ReadHost(r)
		e.Series, e.Cgroup = append(e.Series, host.Series...), host.Cgroup
		return err
	})
	return e, notes, err
}

// Empty says that there is nothing to judge: no line with a text, no event, no
// reading.
func Empty(e diagnosis.Evidence) bool {
	for _, l := range e.Log {
		if l.Text != "" {
			return false
		}
	}
	return len(e.Events) == 0 && len(e.Series) == 0 && e.Exit == (memtrix.Exit{})
}
