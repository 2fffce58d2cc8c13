//go:build unix

package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// opened gives a link and the server's end of it.
func opened(t *testing.T) (*Link, net.Conn) {
	t.Helper()
	l, err := Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server, err := net.FileConn(l.Theirs())
	if err != nil {
		t.Fatal(err)
	}
	l.Started()
	t.Cleanup(func() { server.Close(); l.Close() })
	return l, server
}

// answer reads one command and sends lines; %ID is the command's number.
func answer(server net.Conn, lines ...string) {
	command, err := bufio.NewReader(server).ReadString('\n')
	if err != nil {
		return
	}
	_, id, _ := strings.Cut(command, `"id":`)
	id = strings.TrimRight(id[:strings.IndexAny(id, ",}")], " ")
	for _, line := range lines {
		fmt.Fprintln(server, strings.ReplaceAll(line, "%ID", id))
	}
}

func TestLinkAsks(t *testing.T) {
	l, server := opened(t)
	go answer(server, `garbage`, `{"k":"gc","t0":1,"t1":2,"n":3}`, `{"k":"reply","id":%ID,"t":5,"hooks":{},"v":{"rss":7}}`)
	m, err := l.Look(t.Context())
	if err != nil || m.Values["ram.process.rss"] != 7 {
		t.Errorf("got %+v, %v", m, err)
	}
	go answer(server, `{"k":"reply","id":%ID,"t":5,"on":true}`)
	if err := l.Switch(t.Context(), false); err == nil || !strings.Contains(err.Error(), "did not turn off") {
		t.Errorf("err = %v, want that it did not turn off", err)
	}
	go answer(server, `{"k":"reply","id":%ID,"t":5,"error":"KeyError: 'inventory'"}`)
	if _, err := l.Inventory(t.Context(), false); err == nil || !strings.Contains(err.Error(), "KeyError") {
		t.Errorf("err = %v, want the module's own", err)
	}
	// Silence ends with the caller's patience.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Look(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the deadline", err)
	}
	server.Close()
	if _, err := l.Look(t.Context()); err == nil {
		t.Error("a server that is gone answered")
	}
	p, _ := l.Told(nil)
	if len(p.Events) != 1 || len(p.Faults) != 1 || !strings.Contains(p.Faults[0], "garbage") {
		t.Errorf("told %+v", p)
	}
}

// A child of the server may hold its end for ever: closing does not wait for it, and
// what was sent before is there and in the raw file.
func TestLinkCloseWithHolder(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server, err := net.FileConn(l.Theirs())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	l.Started()
	fmt.Fprintln(server, `{"k":"gc","t0":1,"t1":2,"n":3}`)
	fmt.Fprint(server, `{"k":"half`)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if p, _ := l.Told(nil); len(p.Events) != 1 {
		t.Errorf("told %+v", p)
	}
	raw, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || !strings.HasPrefix(string(raw), `{"k":"gc"`) {
		t.Errorf("raw file %q, %v", raw, err)
	}
}
