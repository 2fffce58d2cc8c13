package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"memtrix"
)

// File is the raw stream of the module in a trial's folder.
const File = "probe.jsonl"

// FDVariable tells the module which of its files is the socket.
const FDVariable = "MEMTRIX_PROBE_FD"

// longestLine bounds a record: an inventory is the longest, some 100 KB.
const longestLine = 8 << 20

// Link is the connection with the module of one server.
type Link struct {
	conn   net.Conn
	theirs *os.File
	clock  clock
	raw    *os.File
	done   chan struct{} // closed when nothing more comes

	writing sync.Mutex // of commands
	mu      sync.Mutex
	records []record
	waiting map[int64]chan reply
	last    int64
	broken  error // why reading ended early
}

type reply struct {
	record record
	line   []byte
}

// Open makes a link whose raw stream goes into the trial's folder. epoch is the zero
// of the trial's clock.
func Open(trial string, epoch time.Time) (*Link, error) {
	c, err := newClock(epoch)
	if err != nil {
		return nil, err
	}
	raw, err := os.Create(filepath.Join(trial, File))
	if err != nil {
		return nil, fmt.Errorf("raw stream of the probe: %w", err)
	}
	conn, theirs, err := pair()
	if err != nil {
		raw.Close()
		return nil, err
	}
	l := &Link{conn: conn, theirs: theirs, clock: c, raw: raw, done: make(chan struct{}), waiting: map[int64]chan reply{}}
	go l.read()
	return l, nil
}

// Theirs is the server's end, for its process to inherit. Started must be called
// when that has been made.
func (l *Link) Theirs() *os.File { return l.theirs }

// Started closes our copy of the server's end: from now on the end of the server is
// the end of the stream.
func (l *Link) Started() { l.theirs.Close() }

// Close ends the link and waits until what was sent has been read. The error is of
// the raw stream's file.
func (l *Link) Close() error {
	l.theirs.Close()
	// What the server has sent is in the socket already; a child of it may still
	// hold the other end.
	l.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	<-l.done
	l.conn.Close()
	return l.raw.Close()
}

func (l *Link) read() {
	defer close(l.done)
	lines := bufio.NewScanner(l.conn)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	for lines.Scan() {
		line := lines.Bytes()
		r, err := parse(line)
		if _, e := l.raw.Write(append(line, '\n')); e != nil {
			err = errors.Join(err, e)
		}
		l.mu.Lock()
		if l.broken == nil {
			l.broken = err // the first says most
		}
		if r.Kind != "" {
			l.take(r, line)
		}
		l.mu.Unlock()
	}
	err := lines.Err()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil && !atEnd(err) {
		l.broken = err
	}
	for id, wait := range l.waiting {
		close(wait)
		delete(l.waiting, id)
	}
}

// atEnd tells how a stream may end: with the server, which may leave a command unread,
// or with Close.
func atEnd(err error) bool {
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}

// take keeps a record and wakes who waits for it. Inventories are for who asked.
func (l *Link) take(r record, line []byte) {
	if r.Kind == "reply" {
		if wait, ok := l.waiting[r.number()]; ok {
			delete(l.waiting, r.number())
			wait <- reply{r, append([]byte(nil), line...)}
		}
	}
	l.records = append(l.records, r)
}

// errGone is of a command to a module that is not there: it never started, or the
// server has ended.
var errGone = errors.New("the probe is gone")

// ask sends a command and waits for its answer.
func (l *Link) ask(ctx context.Context, command map[string]any) (reply, error) {
	wait := make(chan reply, 1)
	l.mu.Lock()
	l.last++
	id := l.last
	l.waiting[id] = wait
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	command["id"] = id
	data, err := json.Marshal(command)
	if err != nil {
		return reply{}, fmt.Errorf("command to the probe: %w", err)
	}
	l.writing.Lock()
	l.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, err = l.conn.Write(append(data, '\n'))
	l.writing.Unlock()
	if err != nil {
		return reply{}, fmt.Errorf("command to the probe: %w", err)
	}
	select {
	case r, ok := <-wait:
		if !ok {
			return reply{}, errGone
		}
		if r.record.Fault != "" {
			return reply{}, fmt.Errorf("the probe says: %s", r.record.Fault)
		}
		return r, nil
	case <-l.done:
		return reply{}, errGone
	case <-ctx.Done():
		return reply{}, fmt.Errorf("the probe did not answer: %w", context.Cause(ctx))
	}
}

// Look lets the module read all its values, and say which hooks are in place.
func (l *Link) Look(ctx context.Context) (*memtrix.ProbeMoment, error) {
	r, err := l.ask(ctx, map[string]any{"cmd": "status"})
	if err != nil {
		return nil, err
	}
	return &memtrix.ProbeMoment{At: l.clock.at(r.record.T), Values: r.record.values()}, nil
}

// Switch turns the module's work on or off.
func (l *Link) Switch(ctx context.Context, on bool) error {
	command := "off"
	if on {
		command = "on"
	}
	r, err := l.ask(ctx, map[string]any{"cmd": command})
	if err == nil && r.record.On != on {
		err = fmt.Errorf("the probe did not turn %s", command)
	}
	return err
}

// Inventory lets the module count what the server holds.
func (l *Link) Inventory(ctx context.Context, trim bool) (*memtrix.Inventory, error) {
	r, err := l.ask(ctx, map[string]any{"cmd": "inventory", "trim": trim, "top": 40})
	if err != nil {
		return nil, err
	}
	return l.inventory(r)
}

// Told gives everything that the module has told so far. number gives the prompt that
// an id belongs to, 0 where it is not known.
func (l *Link) Told(number func(id string) int) (*memtrix.Probe, []memtrix.Series) {
	l.mu.Lock()
	records, broken := l.records, l.broken
	l.mu.Unlock()
	p, series := fold(records, l.clock, number)
	if broken != nil {
		p.Faults = append(p.Faults, "its stream: "+broken.Error())
	}
	return p, series
}

// Read folds a raw stream, e.g. File of a trial. zero is the zero of the trial's
// clock on CLOCK_MONOTONIC, ns. Lines that are no records are told as faults.
func Read(r io.Reader, zero int64, number func(id string) int) (*memtrix.Probe, []memtrix.Series, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	var records []record
	var faults []string
	for lines.Scan() {
		rec, err := parse(lines.Bytes())
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		records = append(records, rec)
	}
	p, series := fold(records, clock{zero}, number)
	p.Faults = append(p.Faults, faults...)
	return p, series, lines.Err()
}
