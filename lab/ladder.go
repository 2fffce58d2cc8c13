package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/workflows"
)

// Vary is what a ceiling raises.
type Vary string

const (
	VaryBatch  Vary = "batch"
	VaryFrames Vary = "frames"
	VaryPixels Vary = "pixels"
)

// frameInputs are the names that ComfyUI's video nodes give to a number of frames.
var frameInputs = []string{"length", "video_frames", "num_frames", "frames", "frame_count", "frames_number"}

// Bounds of ComfyUI's own nodes: MAX_RESOLUTION (nodes.py), the largest batch_size of
// EmptyLatentImage, and of lengths.
const (
	mostSide   = 16384
	mostBatch  = 4096
	mostFrames = mostSide
	// sideStep is what both sides are multiples of: latents take 8, video models 16 or
	// 32.
	sideStep = 32
)

// ladder is a workflow at ascending sizes. Rung First is the workflow as it is.
type ladder struct {
	vary        Vary
	first, last int64
	base        memtrix.Workflow
	at          func(rung int64) (memtrix.Workflow, error)
	// size is the number that people know, and label how it is written.
	size  func(rung int64) int64
	label func(rung int64) string
	// inputs are what is changed, for messages.
	inputs []string
}

// newLadder finds the inputs of a workflow that make it larger: all that say how many
// images, frames or pixels are made, as numbers and not as links. Without a wish it is
// frames where there are some, else pixels.
func newLadder(w memtrix.Workflow, vary Vary) (ladder, error) {
	if vary == "" {
		vary = VaryPixels
		if len(numbers(w, frameInputs...)) > 0 {
			vary = VaryFrames
		}
	}
	switch vary {
	case VaryBatch:
		return countLadder(w, vary, numbers(w, "batch_size"), mostBatch)
	case VaryFrames:
		return countLadder(w, vary, numbers(w, frameInputs...), mostFrames)
	case VaryPixels:
		return pixelLadder(w)
	}
	return ladder{}, fmt.Errorf("%q cannot be varied; batch, frames or pixels can", vary)
}

// number is an input with a literal whole number.
type number struct {
	node, name string
	value      int64
}

func (n number) path() string { return n.node + "." + n.name }

// numbers are the inputs of any of the names, the largest value first.
func numbers(w memtrix.Workflow, names ...string) []number {
	var all []number
	for _, id := range slices.Sorted(maps.Keys(w.Graph)) {
		for _, name := range names {
			raw, ok := w.Graph[id].Inputs[name]
			if v, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); ok && err == nil && v > 0 {
				all = append(all, number{id, name, v})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b number) int { return int(b.value - a.value) })
	return all
}

// countLadder raises images or frames, one at a time; frames in the steps that their
// model has: 4n+1 and 8n+1 stay that.
func countLadder(w memtrix.Workflow, vary Vary, inputs []number, most int64) (ladder, error) {
	if len(inputs) == 0 {
		return ladder{}, fmt.Errorf("workflow %s has no number of %s that could be raised", w.Name, map[Vary]string{VaryBatch: "images (batch_size)", VaryFrames: "frames (" + strings.Join(frameInputs, ", ") + ")"}[vary])
	}
	base := inputs[0].value
	step := int64(1)
	if vary == VaryFrames && base%8 == 1 && ltx(w, inputs[0].node) {
		step = 8
	} else if vary == VaryFrames && base%4 == 1 {
		step = 4
	}
	offset := base % step
	value := func(rung int64) int64 { return (rung-1)*step + max(offset, 1) }
	l := ladder{vary: vary, base: w, first: (base-max(offset, 1))/step + 1, last: (most-max(offset, 1))/step + 1, size: value}
	l.label = func(rung int64) string { return things(value(rung), vary) }
	l.at = func(rung int64) (memtrix.Workflow, error) {
		set := map[string]int64{}
		for _, in := range inputs {
			set[in.path()] = max((in.value*value(rung)+base/2)/base, 1)
		}
		return l.with(rung, set)
	}
	for _, in := range inputs {
		l.inputs = append(l.inputs, in.path())
	}
	return l, nil
}

// things is a number of images or frames in words.
func things(n int64, vary Vary) string {
	word := map[Vary]string{VaryBatch: "image", VaryFrames: "frame"}[vary]
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// ltx: LTX video takes 8n+1 frames, Wan, Hunyuan and Cosmos 4n+1.
func ltx(w memtrix.Workflow, node string) bool {
	return strings.Contains(w.Graph[node].ClassType, "LTX") || strings.Contains(w.Graph[node].ClassType, "Mochi")
}

// pixelLadder raises width and height together, in steps of sideStep of the shorter
// side.
func pixelLadder(w memtrix.Workflow) (ladder, error) {
	widths, heights := numbers(w, "width"), numbers(w, "height")
	type pair struct{ width, height number }
	var pairs []pair
	for _, a := range widths {
		for _, b := range heights {
			if a.node == b.node {
				pairs = append(pairs, pair{a, b})
			}
		}
	}
	if len(pairs) == 0 {
		return ladder{}, fmt.Errorf("workflow %s has no node with a width and a height that could be raised", w.Name)
	}
	// What makes the picture decides; others of the same size follow.
	slices.SortStableFunc(pairs, func(a, b pair) int { return maker(w, b.width.node) - maker(w, a.width.node) })
	lead := pairs[0]
	short, long := min(lead.width.value, lead.height.value), max(lead.width.value, lead.height.value)
	sides := func(rung int64) (width, height int64) {
		s := rung * sideStep
		l := max((long*s+short*sideStep/2)/(short*sideStep)*sideStep, s)
		if lead.width.value < lead.height.value {
			return s, l
		}
		return l, s
	}
	l := ladder{vary: VaryPixels, base: w, first: max(short/sideStep, 1)}
	l.last = mostSide * short / long / sideStep
	real := func(rung int64) (int64, int64) {
		if rung == l.first {
			return lead.width.value, lead.height.value
		}
		return sides(rung)
	}
	l.size = func(rung int64) int64 { a, b := real(rung); return a * b }
	l.label = func(rung int64) string { a, b := real(rung); return fmt.Sprintf("%dx%d", a, b) }
	var same []pair
	for _, p := range pairs {
		if p.width.value == lead.width.value && p.height.value == lead.height.value {
			same = append(same, p)
			l.inputs = append(l.inputs, p.width.path(), p.height.path())
		}
	}
	l.at = func(rung int64) (memtrix.Workflow, error) {
		set := map[string]int64{}
		for _, p := range same {
			set[p.width.path()], set[p.height.path()] = real(rung)
		}
		return l.with(rung, set)
	}
	return l, nil
}

// maker is 1 for nodes that make an empty latent, image or video.
func maker(w memtrix.Workflow, node string) int {
	class := w.Graph[node].ClassType
	if strings.HasPrefix(class, "Empty") || strings.Contains(class, "Latent") || strings.Contains(class, "ToVideo") {
		return 1
	}
	return 0
}

// with is the workflow with inputs set.
func (l ladder) with(rung int64, set map[string]int64) (memtrix.Workflow, error) {
	w := l.base
	if rung == l.first {
		return w, nil
	}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		var err error
		if w, err = workflows.Set(w, path, json.RawMessage(strconv.FormatInt(set[path], 10))); err != nil {
			return w, err
		}
	}
	w.Name += " " + strings.ReplaceAll(l.label(rung), " ", "-")
	return w, nil
}

// CanRaise says why a workflow has nothing that could be raised, nil where it has.
func CanRaise(w memtrix.Workflow, vary Vary) error {
	_, err := newLadder(w, vary)
	return err
}
