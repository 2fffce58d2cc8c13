package embedded

import (
	"bytes"
	"testing"
)

func FuzzRead(f *testing.F) {
	for _, data := range files() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(bytes.NewReader(data), int64(len(data)))
		if err == nil && c.Workflow == nil && c.Prompt == nil {
			t.Error("neither content nor error")
		}
		if len(c.Workflow) > maxText || len(c.Prompt) > maxText {
			t.Error("a text above the limit")
		}
	})
}
