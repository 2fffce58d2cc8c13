package comfysim

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain lets the test binary be the simulated server: real processes, real
// signals.
func TestMain(m *testing.M) {
	if os.Getenv("COMFYSIM_CHILD") == "1" {
		os.Exit(Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// child is a running server.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	addr string

	mu     sync.Mutex
	log    bytes.Buffer
	exited chan struct{}
}

func (c *child) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(p)
}

func (c *child) logText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

// start runs a server with a port of its own in dir.
func start(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	port := freePort(t)
	args = append([]string{"--listen", "127.0.0.1", "--port", strconv.Itoa(port)}, args...)
	c := startArgs(t, dir, args...)
	c.addr = "127.0.0.1:" + strconv.Itoa(port)
	return c
}

func startArgs(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	c := &child{t: t, dir: dir, exited: make(chan struct{})}
	c.cmd = exec.Command(os.Args[0], args...)
	c.cmd.Dir = dir
	// A race detector that is built in would wait a second at each end.
	c.cmd.Env = append(os.Environ(), "COMFYSIM_CHILD=1", "GORACE=atexit_sleep_ms=0")
	c.cmd.Stdout, c.cmd.Stderr = c, c
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // the state is what is asked for
		close(c.exited)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.exited
	})
	return c
}

// ports are below those that the kernel gives to whoever asks for any
// (ip_local_port_range) and above those of memtrix itself, and each is used once: of
// other tests' servers none has it by the time that ours does.
var ports = func() *atomic.Int32 {
	var p atomic.Int32
	p.Store(rand.Int32N(2700))
	return &p
}()

func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 30000 + int(ports.Add(1))%2700
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// ready waits until the port answers.
func (c *child) ready() {
	c.t.Helper()
	for {
		conn, err := net.Dial("tcp", c.addr)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-c.exited:
			c.t.Fatalf("server ended while starting:\n%s", c.logText())
		case <-c.t.Context().Done():
			c.t.Fatal("server did not become ready")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// waitLog waits until the log contains a text.
func (c *child) waitLog(text string) {
	c.t.Helper()
	c.waitLogTimes(text, 1)
}

func (c *child) waitLogTimes(text string, times int) {
	c.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for strings.Count(c.logText(), text) < times {
		if time.Now().After(deadline) {
			c.t.Fatalf("log never said %q:\n%s", text, c.logText())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// status waits for the end and gives the exit status, -1 for a signal.
func (c *child) status() int {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(30 * time.Second):
		c.t.Fatalf("server did not end:\n%s", c.logText())
	}
	return c.cmd.ProcessState.ExitCode()
}

func readGzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// headers are the safetensors headers of stand-ins by group, made once: names and
// shapes of real models, fp16.
var headers = sync.OnceValue(func() map[string]standIn {
	f, err := os.Open("testdata/shapes.json.gz")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		panic(err)
	}
	var shapes map[string][]tensorShape
	if err := json.NewDecoder(z).Decode(&shapes); err != nil {
		panic(err)
	}
	return map[string]standIn{
		"sdxl": newStandInFile(shapes["sdxl.unet"], shapes["sdxl.clip"], shapes["sd.vae"]),
		"sd15": newStandInFile(shapes["sd15.unet"], shapes["sd15.clip"], shapes["sd.vae"]),
	}
})

// tensorShape is ["name", [sizes]].
type tensorShape [2]json.RawMessage

// standIn is a sparse model file: its header and the length of its zeros.
type standIn struct {
	header []byte
	zeros  int64
}

func newStandInFile(groups ...[]tensorShape) standIn {
	header := object{}
	var s standIn
	for _, group := range groups {
		for _, entry := range group {
			var name string
			var shape []int64
			if json.Unmarshal(entry[0], &name) != nil || json.Unmarshal(entry[1], &shape) != nil {
				panic("shapes.json cannot be read")
			}
			size := int64(2)
			for _, n := range shape {
				size *= n
			}
			header = append(header, pair{name, object{{"dtype", "F16"}, {"shape", shape},
				{"data_offsets", []int64{s.zeros, s.zeros + size}}}})
			s.zeros += size
		}
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	s.header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	return s
}

func writeStandIn(t testing.TB, path, model string) {
	t.Helper()
	s := headers()[model]
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, s.header, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(s.header))+s.zeros); err != nil {
		t.Fatal(err)
	}
}

// newBase makes a base directory with the models, the user folder in it when
// the server is not to be new.
func newBase(t *testing.T, fresh bool, models ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, m := range models {
		writeStandIn(t, filepath.Join(dir, "models", "checkpoints", m+".safetensors"), m)
	}
	if !fresh {
		if err := os.MkdirAll(filepath.Join(dir, "user"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mibArg(n int64) string { return fmt.Sprint(n * mib) }
