package comfyui

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"memtrix"
	"memtrix/internal/comfysim"
)

// A recording is what a real server answered and sent, in order. The fake server
// below plays one back; it knows nothing of ComfyUI.
type recording []step

type step struct {
	Post         json.RawMessage `json:"post_prompt"`
	Frame        json.RawMessage `json:"frame"`
	HistoryAtEnd json.RawMessage `json:"history_at_end"`
	History      json.RawMessage `json:"history"`
	Closed       bool            `json:"closed"`
}

func gunzip(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadRecording(t testing.TB, name string) recording {
	t.Helper()
	var r recording
	for line := range strings.Lines(string(gunzip(t, filepath.Join("testdata", "events", name+".jsonl.gz")))) {
		var s step
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		r = append(r, s)
	}
	return r
}

// graph is the graph that was sent, as the history has it.
func (r recording) graph(t testing.TB) map[string]memtrix.GraphNode {
	t.Helper()
	for _, s := range r {
		var all map[string]struct{ Prompt []json.RawMessage }
		if s.History == nil || json.Unmarshal(s.History, &all) != nil {
			continue
		}
		for _, e := range all {
			var g map[string]memtrix.GraphNode
			if err := json.Unmarshal(e.Prompt[2], &g); err != nil {
				t.Fatal(err)
			}
			return g
		}
	}
	return map[string]memtrix.GraphNode{"1": {ClassType: "CheckpointLoaderSimple"}}
}

// fake plays a recording to one client.
type fake struct {
	rec recording
	// dropAt closes the socket before the n-th frame (1 for the first).
	dropAt int
	// mute sends no frames at all.
	mute bool
	// stall never ends a prompt.
	stall bool
	// die is called when the recording says that the server died.
	die func()

	mu       sync.Mutex
	conn     *websocket.Conn
	ready    chan struct{} // closed when a socket stands
	history  json.RawMessage
	next     int
	sent     int
	asked    []string          // method and path of every request but GET /history
	lastBody json.RawMessage   // of POST /prompt
	info     map[string]string // answers to /object_info/CLASS
}

func newFake(rec recording) *fake {
	return &fake{rec: rec, ready: make(chan struct{}), history: json.RawMessage("{}")}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if !strings.HasPrefix(r.URL.Path, "/history") {
		f.asked = append(f.asked, r.Method+" "+r.URL.Path)
	}
	f.mu.Unlock()
	switch {
	case r.URL.Path == "/ws":
		f.serveSocket(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/prompt":
		body, _ := io.ReadAll(r.Body)
		f.post(w, body)
	case r.URL.Path == "/prompt":
		io.WriteString(w, `{"exec_info": {"queue_remaining": 0}}`)
	case strings.HasPrefix(r.URL.Path, "/history/"):
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.stall {
			io.WriteString(w, "{}")
			return
		}
		w.Write(f.history)
	case strings.HasPrefix(r.URL.Path, "/object_info/"):
		io.WriteString(w, f.info[strings.TrimPrefix(r.URL.Path, "/object_info/")])
	}
}

func (f *fake) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.conn = conn
	close(f.ready)
	f.mu.Unlock()
	conn.CloseRead(r.Context())
	<-r.Context().Done()
}

func (f *fake) post(w http.ResponseWriter, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastBody = body
	at := slices.IndexFunc(f.rec[f.next:], func(s step) bool { return s.Post != nil })
	if at < 0 {
		http.Error(w, "the recording is over", http.StatusInternalServerError)
		return
	}
	at += f.next
	end := at + 1
	for end < len(f.rec) && f.rec[end].Post == nil {
		end++
	}
	f.next = end
	f.history = json.RawMessage("{}")
	var refused struct {
		HTTP int
		Body string
	}
	if json.Unmarshal(f.rec[at].Post, &refused) == nil && refused.HTTP != 0 {
		w.WriteHeader(refused.HTTP)
		io.WriteString(w, refused.Body)
		return
	}
	w.Write(f.rec[at].Post)
	go f.play(f.rec[at+1 : end])
}

// play sends the frames of one prompt as fast as it can.
func (f *fake) play(steps recording) {
	for _, s := range steps {
		switch {
		case s.Closed:
			if f.die != nil {
				f.die()
			}
			return
		case s.HistoryAtEnd != nil:
			f.setHistory(s.HistoryAtEnd)
		case s.History != nil:
			f.setHistory(s.History)
		case s.Frame != nil && !f.mute:
			f.send(s.Frame)
		}
	}
}

func (f *fake) setHistory(h json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = h
}

func (f *fake) send(frame json.RawMessage) {
	f.mu.Lock()
	ready := f.ready
	f.mu.Unlock()
	<-ready
	f.mu.Lock()
	conn := f.conn
	if f.sent++; f.sent == f.dropAt {
		f.ready = make(chan struct{})
		f.mu.Unlock()
		conn.CloseNow()
		// What is sent while nobody is connected is lost, as with the real one:
		// here this one frame.
		return
	}
	f.mu.Unlock()
	conn.Write(context.Background(), websocket.MessageText, frame)
}

func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// Environment variables by which the test binary becomes something else.
const (
	fakeServer = "MEMTRIX_FAKE_SERVER" // the name of a recording
	fakeMode   = "MEMTRIX_FAKE_MODE"
	fakeParent = "MEMTRIX_FAKE_PARENT" // a folder for the trial
	fakeHome   = "MEMTRIX_FAKE_HOME"   // the folder of this package
	simServer  = "MEMTRIX_SIM_SERVER"  // set: the simulated ComfyUI
	goRace     = "GORACE"              // keeps the race detector from sleeping at exit
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(simServer) != "":
		os.Exit(comfysim.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	case os.Getenv(fakeServer) != "":
		fakeMain()
	case os.Getenv(fakeParent) != "":
		parentMain()
	default:
		os.Exit(m.Run())
	}
}

// fakeMain is a server process that takes the flags of a ComfyUI.
func fakeMain() {
	mode := os.Getenv(fakeMode)
	fmt.Fprint(os.Stderr, "\x1b[32m[INFO]\x1b[0m Starting server\n\n")
	wd, _ := os.Getwd()
	fmt.Printf("in %s: argv %s\n", wd, strings.Join(os.Args[1:], " "))
	switch mode {
	case "no-module":
		fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'torchsde'")
		os.Exit(1)
	case "no-gpu":
		if !slices.Contains(os.Args, "--cpu") {
			fmt.Fprintln(os.Stderr, "RuntimeError: Found no NVIDIA driver on your system.")
			os.Exit(1)
		}
	case "port-taken":
		fmt.Fprintln(os.Stderr, "\x1b[1m\x1b[31m[ERROR]\x1b[0m Port 8470 is already in use on address 127.0.0.1. Please close the other application or use a different port with --port.")
		os.Exit(1)
	}
	if slices.Contains(os.Args, "--quick-test-for-ci") {
		os.Exit(0)
	}
	ignore := []os.Signal{}
	switch mode {
	case "deaf":
		ignore = []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	case "children":
		orphan()
	}
	signal.Ignore(ignore...)
	fakeServe()
}

// orphan leaves two processes behind: a child, and a grandchild that has a session
// of its own and no parent.
func orphan() {
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		panic(err)
	}
	out, err := exec.Command("sh", "-c", "setsid sleep 601 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		panic(err)
	}
	fmt.Printf("children %d %s", child.Process.Pid, out)
}

func fakeServe() {
	port := os.Args[slices.Index(os.Args, "--port")+1]
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		panic(err)
	}
	if err := os.Chdir(os.Getenv(fakeHome)); err != nil {
		panic(err)
	}
	var tb mainTB
	f := newFake(loadRecording(&tb, os.Getenv(fakeServer)))
	f.die = func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	go http.Serve(l, f)
	fmt.Fprint(os.Stderr, "\r  0%|          | 0/2\r 50%|#####     | 1/2\n")
	if os.Getenv(fakeMode) == "deaf" {
		select {}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT)
	<-stop
	fmt.Fprint(os.Stderr, "\nStopped server")
}

// mainTB lets helpers of tests run outside of one.
type mainTB struct{ testing.TB }

func (mainTB) Helper()           {}
func (mainTB) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// parentMain starts a server as memtrix does, tells its process id and waits to
// be killed.
func parentMain() {
	target := &Target{SimCommand: simFake}
	job := simJob(os.Getenv(fakeParent), "029-cpu-sd15", "")
	i, err := target.Start(context.Background(), job)
	if err != nil {
		panic(err)
	}
	if err := i.Ready(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(i.PID())
	time.Sleep(time.Minute)
}

func simFake(memtrix.Version, memtrix.Job) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{self}
}

// simJob is a trial of the fake server.
func simJob(dir, recorded, mode string) memtrix.Job {
	home, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return memtrix.Job{
		Cell:  memtrix.Cell{Version: memtrix.Version{Name: "fake", Target: memtrix.TargetSim}},
		Dir:   dir,
		Env:   map[string]string{fakeServer: recorded, fakeMode: mode, fakeHome: home, fakeParent: "", goRace: "atexit_sleep_ms=0"},
		Epoch: time.Now(),
	}
}

// alive reports whether a process runs (and is not a zombie).
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	s := string(data)
	return s[strings.LastIndexByte(s, ')')+2] != 'Z'
}

func scanLine(r io.Reader) string {
	s := bufio.NewScanner(r)
	s.Scan()
	return s.Text()
}
