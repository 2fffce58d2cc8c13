package convert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// The widgets and sockets of a new node are those that the real front end gives
// it, for every class of the server.
func TestWidgetTable(t *testing.T) {
	defs := testDefs(t)
	type entry struct {
		Class   string `json:"class"`
		Widgets []struct {
			Name      string `json:"name"`
			Stored    *bool  `json:"stored"`
			Sent      *bool  `json:"sent"`
			Value     any    `json:"value"`
			Long      any    `json:"value_long"`
			Undefined bool   `json:"value_undefined"`
			Dynamic   bool   `json:"dynamicPrompts"`
		} `json:"widgets"`
		Inputs []struct {
			Name   string `json:"name"`
			Type   string `json:"type"`
			Widget string `json:"widget"`
		} `json:"inputs"`
		Outputs []struct {
			Type string `json:"type"`
		} `json:"outputs"`
		Virtual bool `json:"virtual"`
	}
	// A page without a file: a choice that was not made yet.
	byPage := map[string]bool{"CustomCombo.choice": true}
	classes := 0
	in := bufio.NewScanner(bytes.NewReader(unzipped(t, "testdata/node_widgets.jsonl.gz")))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var want entry
		if err := json.Unmarshal(in.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if want.Virtual {
			if !slices.Contains(virtualTypes, want.Class) {
				t.Errorf("%s is virtual", want.Class)
			}
			continue
		}
		classes++
		n := &node{}
		n.populate(defs.class(want.Class))
		if len(n.widgets) != len(want.Widgets) {
			t.Errorf("%s: got %d widgets, want %d", want.Class, len(n.widgets), len(want.Widgets))
			continue
		}
		for i, w := range want.Widgets {
			got := n.widgets[i]
			yes := func(b *bool) bool { return b == nil || *b }
			if got.name != w.Name || got.stored != yes(w.Stored) || got.sent != yes(w.Sent) || got.byPrompt != w.Dynamic {
				t.Errorf("%s: widget %d: got %s, stored %v, sent %v, want %+v", want.Class, i, got.name, got.stored, got.sent, w)
			}
			value := w.Value
			if w.Undefined {
				value = absent{}
			}
			if w.Long == nil && !byPage[want.Class+"."+w.Name] && !reflect.DeepEqual(got.value, value) {
				t.Errorf("%s: widget %s: got %#v, want %#v", want.Class, w.Name, got.value, value)
			}
		}
		type socket struct{ name, typ, widget string }
		var gotSlots, wantSlots []socket
		for _, s := range n.slots {
			gotSlots = append(gotSlots, socket{s.name, s.typ, s.widget})
		}
		for _, s := range want.Inputs {
			wantSlots = append(wantSlots, socket{s.Name, s.Type, s.Widget})
		}
		if !reflect.DeepEqual(gotSlots, wantSlots) {
			t.Errorf("%s: sockets:\ngot  %v\nwant %v", want.Class, gotSlots, wantSlots)
		}
		for i, o := range want.Outputs {
			if i >= len(n.outputs) || n.outputs[i].typ != o.Type {
				t.Errorf("%s: output %d: want %s", want.Class, i, o.Type)
			}
		}
	}
	if classes != 818 {
		t.Errorf("%d classes, want 818", classes)
	}
}
