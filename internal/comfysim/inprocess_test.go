package comfysim

import (
	"bytes"
	"strings"
	"testing"
)

// ran is what a server did that was run inside the test's own process: no
// socket, no port, but the whole start, graph and memory model.
type ran struct {
	log      string
	ok       []bool // each prompt
	messages string // of all prompts
	vram     int64  // peaks, unscaled bytes
	host     hostPeak
	resting  []int64 // anonymous bytes after each prompt
}

// runHere runs prompts on a server with the given flags.
func runHere(t *testing.T, dir string, flags []string, graphs ...any) ran {
	t.Helper()
	sim, rest, err := splitSimArgs(append([]string{"--sim-scale", "0.001", "--sim-speed", "10000",
		"--sim-ram", mibArg(128888), "--sim-card-file", "", "--base-directory", dir}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	ver, err := versionNamed(sim.version)
	if err != nil {
		t.Fatal(err)
	}
	opts, err := parseFlags(flagTable(ver.flags), rest)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := newConfig(sim, ver, opts, rest)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := newSim(cfg, newLogger(&log, &log, ver, opts))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.runStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out ran
	for i, g := range graphs {
		graph := newGraph(g.(object))
		v := s.validate(graph)
		if v.err != nil {
			t.Fatalf("not accepted: %s", pyRepr(v.err))
		}
		item := &queueItem{id: itoa(i), serial: i, prompt: g.(object), graph: graph, outputs: v.good}
		result, err := s.execute(t.Context(), item)
		if err != nil {
			t.Fatal(err)
		}
		out.ok = append(out.ok, result.ok)
		out.messages += pyRepr(result.messages)
		out.resting = append(out.resting, s.host.live+s.host.retained)
	}
	out.log, out.host = log.String(), s.host.peak
	if s.card != nil {
		out.vram = s.card.peakOwn
	}
	return out
}

// twoSeeds are the prompts of the measurements: the same, but for the seed.
func twoSeeds(ckpt string, size, steps int) []any { return seeds(2, ckpt, size, steps) }

func seeds(n int, ckpt string, size, steps int) []any {
	var out []any
	for seed := range n {
		g := textToImage(ckpt, size, steps).(object)
		sampler, _ := g.get("5")
		inputs, _ := sampler.(object).get("inputs")
		changed := sampler.(object).with("inputs", inputs.(object).with("seed", parseNumber(seed)))
		out = append(out, g.with("5", changed))
	}
	return out
}

// tail is the log from the prompt on, and not all of that.
func tail(text string) string {
	if i := strings.Index(text, "model weight"); i >= 0 {
		text = text[i:]
	}
	return text[:min(len(text), 6000)]
}
