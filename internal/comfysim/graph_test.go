package comfysim

import (
	"strings"
	"testing"
)

// The order is ComfyUI's: from a stack, output nodes and what leads to one soon
// first (comfy_execution/graph.py).
func TestOrder(t *testing.T) {
	classes := map[string]bool{"SaveImage": true, "PreviewImage": true}
	for _, tc := range []struct{ name, graph, cached, want string }{
		{"text to image", "1 2<1 3<1 4 5<1,2,3,4 6<5,1 7<6!", "", "1 4 3 2 5 6 7"},
		{"second prompt", "1 2<1 3<1 4 5<1,2,3,4 6<5,1 7<6!", "1 2 3 4", "5 6 7"},
		{"a preview goes first", "1 2<1 3<2 4<3! 9<1!", "", "1 9 2 3 4"},
		{"what leads to an output goes first", "1 2<1 3<1 8<3! 4<2 5<4 6<5!", "", "1 3 8 2 4 5 6"},
		{"two before an output", "1 2 3<2 4<3! 5<1 6<5 7<6 8<7!", "", "2 3 4 1 5 6 7 8"},
		{"all cached", "1 2<1!", "1 2", "2"},
	} {
		g := &graph{nodes: map[string]*graphNode{}}
		var outputs []string
		for word := range strings.FieldsSeq(tc.graph) {
			id, from, _ := strings.Cut(strings.TrimSuffix(word, "!"), "<")
			n := &graphNode{id: id, class: "Any"}
			if strings.HasSuffix(word, "!") {
				n.class = "SaveImage"
				outputs = append(outputs, id)
			}
			for f := range strings.SplitSeq(from, ",") {
				if f != "" {
					n.inputs = append(n.inputs, pair{"in" + f, []any{f, parseNumber(0)}})
				}
			}
			g.ids, g.nodes[id] = append(g.ids, id), n
		}
		cached := strings.Fields(tc.cached)
		o := newOrder(g, func(c string) bool { return classes[c] }, func(id string) bool {
			for _, c := range cached {
				if c == id {
					return true
				}
			}
			return false
		})
		for _, id := range outputs {
			o.add(id)
		}
		var got []string
		for len(o.pending) > 0 {
			id, ok := o.next()
			if !ok {
				break
			}
			got = append(got, id)
			o.done(id)
		}
		if g := strings.Join(got, " "); g != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, g, tc.want)
		}
	}
}

func TestPythonTexts(t *testing.T) {
	for _, tc := range []struct{ json, want string }{
		{`"it's"`, `"it's"`}, {`"a\"b'c"`, `'a"b\'c'`}, {`{"a": [1, 2.5, null, true], "b": {}}`, `{'a': [1, 2.5, None, True], 'b': {}}`},
		{`"line\nbreak\\"`, `'line\nbreak\\'`},
	} {
		if got := pyRepr(parse(t, tc.json)); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.json, got, tc.want)
		}
	}
	for f, want := range map[float64]string{1: "1.0", 0.5: "0.5", 5388.010910797119: "5388.010910797119", 9.5367431640625e+25: "9.5367431640625e+25"} {
		if got := pyFloat(f); got != want {
			t.Errorf("%v: got %s", f, got)
		}
	}
	for n, want := range map[int64]string{512: "512 bytes", 2048: "2.00 KiB", 1006632960: "960.00 MiB", 150109880320: "139.80 GiB"} {
		if got := torchSize(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
