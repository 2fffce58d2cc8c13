package files

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"memtrix"
	"memtrix/diagnosis"
)

func texts(t *testing.T, r io.Reader) []string {
	t.Helper()
	lines, note, err := Log(r)
	if err != nil || note != "" {
		t.Fatalf("%v, %q", err, note)
	}
	var all []string
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all
}

// Ensure that a log is read however it was written: with or without a last
// newline, compressed, in UTF-16, in memtrix's own form.
func TestLog(t *testing.T) {
	check := func(what, data string, want ...string) {
		t.Helper()
		got := texts(t, strings.NewReader(data))
		if len(got) != len(want) || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: want %q, got %q", what, want, got)
		}
	}
	check("nothing", "")
	check("one line", "Killed", "Killed")
	check("two", "a\nb\n", "a", "b")
	check("bar", "\r 1%\r 2%\n", "\r 1%\r 2%")
	check("windows", "a\r\nb\r\n", "a\r", "b\r")
	check("mark", "\ufeffa\n", "a")
	check("bytes", "a\xff\xfeb\n", "a\ufffdb")
	check("own form", `{"t_s": 1.5, "stream": "stderr", "text": "got prompt"}`+"\n{\"t_s\": \n", "got prompt", `{"t_s": `)
	for _, big := range []bool{false, true} {
		var b bytes.Buffer
		for _, u := range utf16.Encode([]rune("\ufeffKilled 😀\nb")) {
			if big {
				b.Write([]byte{byte(u >> 8), byte(u)})
			} else {
				b.Write([]byte{byte(u), byte(u >> 8)})
			}
		}
		b.WriteByte(0) // half a character
		check("utf-16", b.String(), "Killed 😀", "b")
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, "zipped\n")
	w.Close()
	check("gzip", z.String(), "zipped")
	if lines, _, _ := Log(strings.NewReader(`{"t_s": 1.5, "stream": "stderr", "text": "x"}`)); len(lines) != 1 || lines[0].At != 1500*time.Millisecond || lines[0].Stream != "stderr" {
		t.Errorf("own form: got %+v", lines)
	}
	if _, _, err := Log(strings.NewReader("\x1f\x8bbroken")); err == nil {
		t.Error("broken gzip: no error")
	}
}

// repeated gives the same line so often.
type repeated struct {
	line []byte
	left int64
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, r.line[r.at:])
	n = min(n, int(r.left))
	r.at = (r.at + n) % len(r.line)
	r.left -= int64(n)
	return n, nil
}

// Ensure that a very long log takes bounded memory, wherever its failure stands,
// and that one endless line does.
func TestLongLog(t *testing.T) {
	const size = 12 << 20
	filler := func(n int64) io.Reader {
		return &repeated{line: []byte("[INFO] step of a node that talks a lot about what it does just now, 3.2 s/it, and goes on" + strings.Repeat(" and on", 100) + "\n"), left: n}
	}
	failure := "got prompt\n!!! Exception during processing !!! VBAR OOM\nTraceback (most recent call last):\nMemoryError: VBAR OOM\nPrompt executed in 3.00 seconds\n"
	for _, front := range []int64{1000, size / 2, size} {
		lines, note, err := Log(io.MultiReader(filler(front), strings.NewReader("\n"+failure), filler(size-front)))
		if err != nil || note == "" {
			t.Fatalf("%v, %q", err, note)
		}
		kept := 0
		for _, l := range lines {
			kept += len(l.Text)
		}
		if kept > 20<<20 {
			t.Errorf("%d bytes are kept", kept)
		}
		if got := diagnosis.Judge(diagnosis.Evidence{Log: lines}); got.Memory != memtrix.MemoryGPUAddressSpace {
			t.Errorf("failure behind %d bytes: got %+v", front, got)
		}
	}
	lines, _, err := Log(&repeated{line: []byte("x"), left: size})
	if err != nil || len(lines) != 1 || len(lines[0].Text) > 1<<20 {
		t.Errorf("an endless line: %d lines, %v", len(lines), err)
	}
}

func TestEvents(t *testing.T) {
	e, err := ReadEvents(strings.NewReader(`
{"t_s": 1, "post_prompt": {"prompt_id": "a", "number": 0, "node_errors": {}}}
{"t_s": 1.5, "frame": {"type": "executing", "data": {"node": "5.0", "display_node": "5", "prompt_id": "a"}}}
{"t_s": 2, "frame": {"type": "progress", "data": {"value": 1, "max": 4, "node": "5.0"}}}
{"t_s": 2, "frame": {"type": "other", "data": []}}
{"t_s": 2, "binary": 77}
{"t_s": 3, "frame": {"type": "execution_error", "data": {"node_id": 5, "node_type": "KSampler", "exception_type": "ValueError", "exception_message": "bad\n", "traceback": ["x"]}}}
{"t_s": 3, "frame": {"type": "executing", "data": {"node": null}}}
{"t_s": 4, "history": {"a": {"prompt": [0, "a", {"5": {"class_type": "KSampler", "inputs": {}}}, {}, []]}}}
{"t_s": 5, "post_prompt": {"http": 400, "body": "{\"error\": {\"type\": \"missing_node_type\", \"message\": \"no such node\", \"extra_info\": {\"node_id\": \"2\", \"class_type\": \"N\"}}, \"node_errors\": []}"}}
{"t_s": 6, "post_prompt": {"http": 400, "body": "Bad Gateway"}}
{"t_s": 7, "closed": true}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range e.Events {
		text := fmt.Sprintf("%v %d %s", ev.At, ev.Prompt, ev.Kind)
		if ev.Node != nil {
			text += " " + ev.Node.ID + ":" + ev.Node.ClassType
		}
		if ev.Failure != nil {
			text += " " + ev.Failure.Message
		}
		got = append(got, text)
	}
	want := []string{"1s 1 prompt-start", "1.5s 1 node-start 5.0:KSampler", "2s 1 progress", "3s 1 error 5:KSampler bad", "3s 1 prompt-end", "5s 2 error 2:N no such node"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || !e.Closed || e.Graph["5"].ClassType != "KSampler" {
		t.Errorf("want %q, got %q, %+v", want, got, e)
	}
}

// Ensure that errors of all forms name the line, and odd values are refused.
func TestBadFiles(t *testing.T) {
	memory := func(text string) error { _, err := Memory(strings.NewReader(text)); return err }
	host := func(text string) error { _, err := ReadHost(strings.NewReader(text)); return err }
	events := func(text string) error { _, err := ReadEvents(strings.NewReader(text)); return err }
	check := func(err error, says string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error with %q, got %v", says, err)
		}
	}
	check(memory(""), "no header")
	check(memory("a,b\n1,2\n"), "no column t_s")
	check(memory("t_s,rss_mib\n1,2\nx,2\n"), "line 3")
	check(memory("t_s,rss_mib\n1,two\n"), `"two" is no number of MiB`)
	check(memory("t_s,rss_mib\n1,-2\n"), "no number of MiB")
	check(memory("t_s,rss_mib\n2,2\n1,2\n"), "before the line above")
	check(memory("t_s,rss_mib\n1,2,3\n"), "wrong number of fields")
	check(memory("t_s,rss_mib\n1e300,2\n"), "out of range")
	check(host("{}\n"), "line 1: no time")
	check(host("{\"t_s\": 1}\n[\n"), "line 2")
	check(events("{\"t_s\": 1}\n{\n"), "line 2")
	check(events(`{"frame": {}}`), "no time")
	_, _, err := Read(Paths{Log: filepath.Join(t.TempDir(), "none.txt")}, nil)
	check(err, "none.txt")
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("t_s,rss_mib\nx,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = Read(Paths{Memory: bad}, nil)
	check(err, "bad.csv: memory: line 2")
}

func TestMemoryAndHost(t *testing.T) {
	s, err := Memory(strings.NewReader("rss_mib,t_s,device_used_mib,other\n100,0.5,,x\n200,1.5,8000.5,x\n"))
	if err != nil || len(s) != 2 {
		t.Fatalf("%v, %+v", err, s)
	}
	if s[0].Meter.Name != memtrix.RAMTreeRSS || s[0].V[1] != 200<<20 || s[1].T[0] != 1500*time.Millisecond || s[1].V[0] != 8000<<20+1<<19 {
		t.Errorf("got %+v", s)
	}
	h, err := ReadHost(strings.NewReader(`{"t_s": 1, "majflt": 7, "psi_memory": "some avg10=0 total=1\nfull avg10=0 total=2\n", "meminfo": "MemAvailable:  10 kB\nSwapTotal: 5 kB\nSwapFree: 3 kB\n"}
{"t_s": 2, "majflt": 9, "cgroup.memory.peak": "500\n", "cgroup.memory.events": "low 0\nmax 3\noom_kill 1\n", "cgroup.memory.pressure": "full avg10=0 total=20\n", "cgroup.memory.max": "max\n"}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int64{}
	for _, s := range h.Series {
		got[s.Meter.Name] = s.V
	}
	want := map[string][]int64{memtrix.FaultsTreeMajor: {7, 9}, memtrix.PSIMemoryFull: {20000}, memtrix.PSIMemorySome: {1000},
		memtrix.RAMHostAvailable: {10240}, memtrix.SwapHostUsed: {2048}, memtrix.CgroupEventsMax: {3}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("want %v, got %v", want, got)
	}
	if h.Cgroup == nil || *h.Cgroup != (diagnosis.Cgroup{Max: 500, MaxEvents: 3, OOMKills: 1}) {
		t.Errorf("cgroup: got %+v", h.Cgroup)
	}
}

// Ensure that no bytes make the readers or the judge panic.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("got prompt\n!!! Exception during processing !!! x\n"), []byte(`{"t_s": 1, "frame": {"type": "executing", "data": {"node": "1"}}}`), []byte("t_s,rss_mib\n1,2\n"), []byte(`{"t_s": 1, "majflt": 1}`))
	f.Add([]byte("\xff\xfeK\x00"), []byte(`{"t_s": 1, "post_prompt": {"http": 400, "body": "{}"}}`), []byte("t_s,swap_mib\n1,\n"), []byte(`{"t_s": 9e8, "cgroup.memory.events": "max 9"}`))
	f.Add([]byte("\x1f\x8b"), []byte(`{"t_s": 1, "history": {"a": {"prompt": [1, 2, {"x": {"class_type": "y"}}]}}}`), []byte("t_s\n"), []byte(`{"t_s": 1, "meminfo": "MemAvailable: 99999999999999999999 kB"}`))
	f.Fuzz(func(t *testing.T, log, events, memory, host []byte) {
		var e diagnosis.Evidence
		e.Log, _, _ = Log(bytes.NewReader(log))
		if ev, err := ReadEvents(bytes.NewReader(events)); err == nil {
			e.Events, e.Nodes, e.Graph = ev.Events, ev.Nodes, ev.Graph
		}
		e.Series, _ = Memory(bytes.NewReader(memory))
		if h, err := ReadHost(bytes.NewReader(host)); err == nil {
			e.Series, e.Cgroup = append(e.Series, h.Series...), h.Cgroup
		}
		if o := diagnosis.Judge(e); o.Kind == "" {
			t.Errorf("no outcome: %+v", e)
		}
	})
}

func BenchmarkLog(b *testing.B) {
	line := []byte("\x1b[32m[INFO]\x1b[0m got memory 1234.5 MB loaded, full load: True, offloaded 17.25 MB, lowvram patches: 0\n")
	const size = 200 << 20
	b.SetBytes(size)
	for b.Loop() {
		if lines, _, err := Log(&repeated{line: line, left: size}); err != nil {
			b.Fatal(err)
		} else if got := diagnosis.Judge(diagnosis.Evidence{Log: lines}); got.Kind != memtrix.Pass {
			b.Fatalf("%+v", got)
		}
	}
}
