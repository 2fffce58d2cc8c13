package diagnosis

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// loadedModel is what a server said about a model that it loaded, bytes.
type loadedModel struct {
	class             string
	loaded, offloaded int64
	staged            int64 // under dynamic VRAM: what may be paged in
}

func (m loadedModel) size() int64 { return max(m.staged, m.loaded+m.offloaded) }

// The forms since August 2024; MB are MiB (comfy/model_management.py).
var (
	loadedText    = regexp.MustCompile(`^loaded (?:completely|partially)[;:]? .*?([\d.]+) MB loaded(?:, ([\d.]+) MB offloaded)?`)
	loadedOld     = regexp.MustCompile(`^loaded (?:completely|partially) [\d.e+]+ ([\d.]+)`)
	stagedText    = regexp.MustCompile(`^Model (\S+) prepared for dynamic VRAM loading\. (\d+)MB Staged`)
	weightDtype   = regexp.MustCompile(`^model weight dtype (?:torch\.)?(\w+)`)
	vramStateText = regexp.MustCompile(`^Set vram state to: ([A-Z_]+)$`)
)

// models are those that the log names, the last of each class.
func models(lines []line) []loadedModel {
	var found []loadedModel
	put := func(m loadedModel) {
		if i := slices.IndexFunc(found, func(o loadedModel) bool { return o.class == m.class }); i >= 0 {
			found[i] = m
			return
		}
		if len(found) < 64 {
			found = append(found, m)
		}
	}
	class := ""
	for _, l := range lines {
		if !strings.Contains(l.text, "load") {
			continue
		}
		if m := requestedToLoad.FindStringSubmatch(l.text); m != nil {
			class = m[1]
			continue
		}
		if m := stagedText.FindStringSubmatch(l.text); m != nil {
			put(loadedModel{class: m[1], staged: mib(m[2])})
			continue
		}
		if !strings.HasPrefix(l.text, "loaded ") {
			continue
		}
		if m := loadedText.FindStringSubmatch(l.text); m != nil {
			put(loadedModel{class: class, loaded: mib(m[1]), offloaded: mib(m[2])})
		} else if m := loadedOld.FindStringSubmatch(l.text); m != nil {
			put(loadedModel{class: class, loaded: mib(m[1])})
		}
	}
	return found
}

// mib reads a number of MiB, 0 for what is none.
func mib(s string) int64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n < 1<<40) {
		return 0
	}
	return int64(n * (1 << 20))
}

// resident are the weights in VRAM, as far as the log tells.
func (a *adviser) resident() int64 {
	var sum int64
	for _, m := range a.models {
		sum += m.loaded
	}
	return sum
}

// weights are the sizes of all models, as far as the log tells.
func (a *adviser) weights() int64 {
	var sum int64
	for _, m := range a.models {
		sum += m.size()
	}
	return sum
}

func (a *adviser) state() string {
	for _, l := range a.lines {
		if m := vramStateText.FindStringSubmatch(l.text); m != nil {
			return m[1]
		}
	}
	return ""
}

// denied says that a person turned dynamic VRAM off.
func (a *adviser) denied() bool {
	return len(a.matching("Dynamic vram disabled with argument")) > 0
}

// smaller advises the same model in fewer bytes: half of the largest, where it is
// one of two bytes a weight.
func (a *adviser) smaller() {
	dtype := ""
	for _, l := range a.lines {
		if !strings.HasPrefix(l.text, "model weight dtype") {
			continue
		}
		if m := weightDtype.FindStringSubmatch(l.text); m != nil {
			dtype = m[1]
		}
	}
	var largest int64
	for _, m := range a.models {
		largest = max(largest, m.size())
	}
	switch {
	case strings.HasPrefix(dtype, "float8"):
		a.add(costModel, 0, "the same model as GGUF in 4 or 5 bits")
	case dtype == "float32":
		a.add(costModel, largest*3/4, "the same model in FP8 or as GGUF (Q8)")
	case dtype == "float16" || dtype == "bfloat16":
		a.add(costModel, largest/2, "the same model in FP8 or as GGUF (Q8)")
	default:
		a.add(costModel, 0, "the same model in FP8 or as GGUF (Q8)")
	}
}

// elsewhere is the RAM that is neither available nor the server's at the end.
func (a *adviser) elsewhere() int64 {
	end := a.endOfWork()
	available, ok1 := lowest(a.series(memtrix.RAMHostAvailable), max(0, end-2*time.Second), end)
	own, ok2 := highest(a.series(memtrix.RAMTreeRSS), max(0, end-2*time.Second), end)
	const notable = 512 << 20
	if n := a.b.ram - available - own; a.b.ram > 0 && ok1 && ok2 && n > notable {
		return n
	}
	return 0
}

// limited reports whether the limit of the server's own group was met, however much the
// machine has. Kills alone do not tell: the group counts those for want of the machine's
// memory, too.
func (a *adviser) limited() bool {
	g := a.e.Cgroup
	if g == nil || g.Max <= 0 {
		return false
	}
	anon, ok := highest(a.series(memtrix.RAMTreeAnon), 0, a.endOfWork())
	return g.MaxEvents > 0 || ok && float64(anon) >= limitPart*float64(g.Max)
}

// letGo is about a failure in a later prompt than the first: what had stayed when
// it began, and the settings that let go of it.
func (a *adviser) letGo(meter string) {
	if a.at.prompt < 2 {
		return
	}
	var starts []time.Duration
	for _, ev := range a.e.Events {
		if ev.Kind == memtrix.EventPromptStart {
			starts = append(starts, ev.At)
		}
	}
	if len(starts) < 2 {
		return
	}
	first, ok1 := highest(a.series(meter), starts[0], starts[0])
	last, ok2 := highest(a.series(meter), starts[len(starts)-1], starts[len(starts)-1])
	stayed := int64(0)
	if ok1 && ok2 {
		stayed = last - first
	}
	why := fmt.Sprintf("prompt 1 went well and prompt %d did not", a.at.prompt)
	if stayed > 0 {
		why += ": so much had stayed from those before"
	}
	if meter == memtrix.VRAMDeviceUsed {
		a.setting(costLetGo, "smart-memory", "off", stayed, "models leave VRAM after each prompt; "+why)
		return
	}
	a.setting(costLetGo, "cache", "none", stayed, "nothing is kept between prompts; "+why)
}

// tiles advises to decode in tiles: what was asked for shrinks with the area.
func (a *adviser) tiles() {
	const side = 512
	text := "use the node VAE Decode (Tiled), or VAE Encode (Tiled)"
	d := a.dimensions()
	if area := d["width"] * d["height"]; a.o.Requested != nil && area > side*side {
		a.add(costSetting-1, *a.o.Requested-int64(float64(*a.o.Requested)*side*side/area), text+" with tiles of 512")
	} else {
		a.add(costSetting-1, 0, text)
	}
	a.setting(costSetting+2, "cpu-vae", "on", 0, "the VAE computes in RAM, slowly")
}

// less advises another result: what was asked for is in proportion to batch,
// frames and area.
func (a *adviser) less() {
	d := a.dimensions()
	part := func(keep float64) int64 {
		if a.o.Requested == nil {
			return 0
		}
		return int64(float64(*a.o.Requested) * (1 - keep))
	}
	if n := d["batch_size"]; n > 1 {
		half := float64(int(n) / 2)
		a.add(costLess, part(half/n), fmt.Sprintf("a batch of %.0f instead of %.0f", half, n))
	}
	for _, name := range frameInputs {
		if n := d[name]; n > 8 {
			half := float64(int(n)/2/4*4 + 1)
			a.add(costLess+1, part(half/n), fmt.Sprintf("%.0f frames instead of %.0f", half, n))
			break
		}
	}
	w, h := d["width"], d["height"]
	if w < 64 || h < 64 {
		a.add(costLess+2, 0, "a lower resolution, fewer frames or a smaller batch")
		return
	}
	to := func(n float64) float64 { return float64(int(n*3/4) / 64 * 64) }
	if to(w) < 64 || to(h) < 64 {
		return
	}
	a.add(costLess+2, part(to(w)*to(h)/(w*h)), fmt.Sprintf("%.0fx%.0f instead of %.0fx%.0f", to(w), to(h), w, h))
}

var frameInputs = []string{"length", "num_frames", "frames", "video_frames"}

// dimensions are the largest width x height, batch and number of frames that a
// node of the workflow takes, of the node that failed where it has them.
func (a *adviser) dimensions() map[string]float64 {
	names := append([]string{"width", "height", "batch_size"}, frameInputs...)
	read := func(n memtrix.GraphNode) map[string]float64 {
		found := map[string]float64{}
		for _, name := range names {
			var v float64
			if json.Unmarshal(n.Inputs[name], &v) == nil && v > 0 && v < 1e6 {
				found[name] = v
			}
		}
		return found
	}
	if a.o.Node != nil {
		if d := read(a.e.Graph[a.o.Node.ID]); d["width"] > 0 {
			return d
		}
	}
	best := map[string]float64{}
	for _, id := range slices.Sorted(maps.Keys(a.e.Graph)) {
		d := read(a.e.Graph[id])
		if d["width"]*d["height"] > best["width"]*best["height"] {
			best = d
		}
	}
	return best
}
