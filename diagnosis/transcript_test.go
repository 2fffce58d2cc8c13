package diagnosis

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"memtrix"
)

const transcripts = "testdata/transcripts"

// meta is what a recording says about itself.
type meta struct {
	Ready float64           `json:"ready_s"`
	End   float64           `json:"end_s"`
	Exit  *int              `json:"exit_before_stop"`
	Note  string            `json:"note"`
	Nodes map[string]string `json:"nodes"`
}

// expected is the right verdict of a recording.
type expected struct {
	Outcome   memtrix.OutcomeKind `json:"outcome"`
	Memory    memtrix.Memory      `json:"memory"`
	How       memtrix.How         `json:"how"`
	Phase     memtrix.Phase       `json:"phase"`
	Node      *memtrix.Node       `json:"node"`
	Requested *int64              `json:"requested_bytes"`
	Retries   int                 `json:"hidden_retries"`
	Exit      *int                `json:"exit_status"`
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// eachLine gives the lines of a gzip file; a file that is not there has none.
func eachLine(t testing.TB, path string, do func([]byte)) {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(z)
	s.Buffer(nil, 8<<20)
	for s.Scan() {
		do(s.Bytes())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// load turns a recording into evidence, as a runner would have gathered it.
func load(t testing.TB, name string) (Evidence, expected) {
	t.Helper()
	dir := filepath.Join(transcripts, name)
	var m meta
	var want expected
	readJSON(t, filepath.Join(dir, "meta.json"), &m)
	readJSON(t, filepath.Join(dir, "expected.json"), &want)
	e := Evidence{Nodes: m.Nodes, Platform: "linux", Ready: m.Ready > 0 && m.Ready < m.End}
	status := m.Exit
	if status == nil {
		status = want.Exit
	}
	switch {
	case status == nil:
		e.Exit = memtrix.Exit{Asked: true, BySignal: "INT"}
	case *status == -9:
		e.Exit, e.Died = memtrix.Exit{Signal: "KILL"}, true
	default:
		e.Exit, e.Died = memtrix.Exit{Status: *status}, true
	}
	if strings.Contains(m.Note, "without an event") {
		e.TimedOut = TimeOutSilence
	}
	eachLine(t, filepath.Join(dir, "log.jsonl.gz"), func(data []byte) {
		var l struct {
			At           float64 `json:"t_s"`
			Stream, Text string
		}
		if err := json.Unmarshal(data, &l); err != nil {
			t.Fatal(err)
		}
		e.Log = append(e.Log, memtrix.LogLine{At: seconds(l.At), Stream: l.Stream, Text: l.Text})
	})
	e.Events = loadEvents(t, dir, m.Nodes)
	e.Series = append(loadMemory(t, dir), loadSlow(t, dir, &e)...)
	return e, want
}

// loadEvents reads what a client saw.
func loadEvents(t testing.TB, dir string, nodes map[string]string) []memtrix.Event {
	t.Helper()
	var events []memtrix.Event
	prompt := 0
	eachLine(t, filepath.Join(dir, "events.jsonl.gz"), func(data []byte) {
		var r struct {
			At   float64 `json:"t_s"`
			Post *struct {
				HTTP       int
				Body       string
				NodeErrors json.RawMessage `json:"node_errors"`
			} `json:"post_prompt"`
			Frame *struct {
				Type string
				Data struct {
					Node     *string
					Nodes    []string
					Value    float64
					Max      float64
					NodeID   string   `json:"node_id"`
					NodeType string   `json:"node_type"`
					Message  string   `json:"exception_message"`
					Type     string   `json:"exception_type"`
					Trace    []string `json:"traceback"`
				}
			}
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		add := func(ev memtrix.Event) {
			ev.At, ev.Prompt = seconds(r.At), prompt
			events = append(events, ev)
		}
		if r.Post != nil {
			prompt++
			for _, f := range refusals(t, r.Post.Body, r.Post.NodeErrors) {
				add(memtrix.Event{Kind: memtrix.EventError, Node: f.Node, Failure: &f})
			}
			if r.Post.HTTP == 0 {
				add(memtrix.Event{Kind: memtrix.EventPromptStart})
			}
		}
		if r.Frame == nil {
			return
		}
		d := r.Frame.Data
		node := &memtrix.Node{ID: d.NodeID, ClassType: d.NodeType}
		switch r.Frame.Type {
		case "executing":
			if d.Node == nil {
				add(memtrix.Event{Kind: memtrix.EventPromptEnd})
			} else {
				add(memtrix.Event{Kind: memtrix.EventNodeStart, Node: &memtrix.Node{ID: *d.Node, ClassType: nodes[*d.Node]}})
			}
		case "progress":
			add(memtrix.Event{Kind: memtrix.EventProgress, Value: int(d.Value), Max: int(d.Max)})
		case "execution_cached":
			add(memtrix.Event{Kind: memtrix.EventCached, Nodes: d.Nodes})
		case "execution_error":
			add(memtrix.Event{Kind: memtrix.EventError, Node: node, Failure: &memtrix.Failure{
				Type: d.Type, Message: d.Message, Node: node, Traceback: strings.Join(d.Trace, "")}})
		case "execution_interrupted":
			add(memtrix.Event{Kind: memtrix.EventInterrupted, Node: node})
		}
	})
	return events
}

// refusals reads node errors: of an answer 400 in its body, of an answer 200
// beside the prompt's id.
func refusals(t testing.TB, body string, nodeErrors json.RawMessage) []memtrix.Failure {
	t.Helper()
	var answer struct {
		Error struct {
			Type, Message string
			Extra         struct {
				NodeID    string `json:"node_id"`
				ClassType string `json:"class_type"`
			} `json:"extra_info"`
		}
		NodeErrors json.RawMessage `json:"node_errors"`
	}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		nodeErrors = answer.NodeErrors
	}
	var errs map[string]struct {
		ClassType string `json:"class_type"`
		Errors    []struct{ Type, Message, Details string }
	}
	if err := json.Unmarshal(nodeErrors, &errs); err != nil {
		t.Fatal(err)
	}
	var found []memtrix.Failure
	for id, ne := range errs {
		for _, e := range ne.Errors {
			found = append(found, memtrix.Failure{Type: e.Type, Message: e.Message + ": " + e.Details, Refused: true,
				Node: &memtrix.Node{ID: id, ClassType: ne.ClassType}})
		}
	}
	if len(found) == 0 && body != "" {
		x := answer.Error.Extra
		found = append(found, memtrix.Failure{Type: answer.Error.Type, Message: answer.Error.Message, Refused: true,
			Node: &memtrix.Node{ID: x.NodeID, ClassType: x.ClassType}})
	}
	return found
}

func loadMemory(t testing.TB, dir string) []memtrix.Series {
	t.Helper()
	var text strings.Builder
	eachLine(t, filepath.Join(dir, "memory.csv.gz"), func(data []byte) { text.Write(data); text.WriteByte('\n') })
	r := csv.NewReader(strings.NewReader(text.String()))
	meters := []string{memtrix.VRAMDeviceUsed, memtrix.RAMTreeRSS, memtrix.RAMTreeAnon, memtrix.RAMTreeFile, memtrix.RAMTreeShmem, memtrix.SwapTreeUsed}
	series := make([]memtrix.Series, len(meters))
	for first := true; ; first = false {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if first {
			continue
		}
		at, err := strconv.ParseFloat(row[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		for i := range series {
			mib, err := strconv.ParseInt(row[i+1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			series[i].Meter = memtrix.Meter{Name: meters[i], Unit: memtrix.UnitBytes}
			series[i].T, series[i].V = append(series[i].T, seconds(at)), append(series[i].V, mib<<20)
		}
	}
	return series
}

var (
	psiFull   = regexp.MustCompile(`full .*total=(\d+)`)
	maxEvents = regexp.MustCompile(`(?m)^max (\d+)`)
	oomKills  = regexp.MustCompile(`(?m)^oom_kill (\d+)`)
)

// loadSlow reads major faults and PSI, and what the cgroup counted.
func loadSlow(t testing.TB, dir string, e *Evidence) []memtrix.Series {
	t.Helper()
	faults := memtrix.Series{Meter: memtrix.Meter{Name: memtrix.FaultsTreeMajor, Unit: memtrix.UnitCount, Counter: true}}
	psi := memtrix.Series{Meter: memtrix.Meter{Name: memtrix.PSIMemoryFull, Unit: memtrix.UnitNanoseconds, Counter: true}}
	number := func(p *regexp.Regexp, text string) int64 {
		m := p.FindStringSubmatch(text)
		if m == nil {
			return 0
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	eachLine(t, filepath.Join(dir, "slow.jsonl.gz"), func(data []byte) {
		var r struct {
			At     float64 `json:"t_s"`
			Faults int64   `json:"majflt"`
			PSI    string  `json:"psi_memory"`
			Events string  `json:"cgroup.memory.events"`
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		faults.T, faults.V = append(faults.T, seconds(r.At)), append(faults.V, r.Faults)
		psi.T, psi.V = append(psi.T, seconds(r.At)), append(psi.V, 1000*number(psiFull, r.PSI))
		if r.Events != "" {
			e.Cgroup = &Cgroup{Max: 5 << 30, MaxEvents: number(maxEvents, r.Events), OOMKills: number(oomKills, r.Events)}
		}
	})
	return []memtrix.Series{faults, psi}
}

func names(t testing.TB) []string {
	t.Helper()
	dirs, err := os.ReadDir(transcripts)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range dirs {
		found = append(found, d.Name())
	}
	if len(found) != 24 {
		t.Fatalf("want 24 transcripts, got %d", len(found))
	}
	return found
}

// compare checks an outcome field by field.
func compare(t *testing.T, want expected, got memtrix.Outcome) {
	t.Helper()
	if got.Kind != want.Outcome || got.Memory != want.Memory || got.How != want.How || got.Phase != want.Phase {
		t.Errorf("want %s %s %s %s, got %s %s %s %s", want.Outcome, want.Memory, want.How, want.Phase, got.Kind, got.Memory, got.How, got.Phase)
	}
	if (got.Node == nil) != (want.Node == nil) || got.Node != nil && (got.Node.ID != want.Node.ID || got.Node.ClassType != want.Node.ClassType) {
		t.Errorf("node: want %+v, got %+v", want.Node, got.Node)
	}
	if (got.Requested == nil) != (want.Requested == nil) || got.Requested != nil && *got.Requested != *want.Requested {
		t.Errorf("requested: want %v, got %v", want.Requested, got.Requested)
	}
	if got.HiddenRetries != want.Retries {
		t.Errorf("hidden retries: want %d, got %d", want.Retries, got.HiddenRetries)
	}
	if got.Kind != memtrix.Pass && (len(got.Evidence) == 0 && got.Phase != memtrix.PhaseValidation || got.Message == "") {
		t.Errorf("no message or evidence: %+v", got)
	}
}

// Ensure that every recording gets the verdict that is known to be right.
func TestTranscripts(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			e, want := load(t, name)
			got := Judge(e)
			compare(t, want, got)
			t.Logf("%s\n\t%s", got.Message, strings.Join(append(got.Evidence, got.Advice...), "\n\t"))
		})
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, name := range []string{"029-8gib-verbose-debug", "029-3gib-dynamic-oom-in-compute", "029-ram-capped-5gib-thrash"} {
		b.Run(name, func(b *testing.B) {
			e, _ := load(b, name)
			for b.Loop() {
				Judge(e)
			}
		})
	}
}
