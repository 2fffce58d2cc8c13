package workflows

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func objectInfo(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open("convert/testdata/object_info.json.gz")
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

// A picture's workflow becomes the prompt that the real front end made of it.
func TestPictures(t *testing.T) {
	info := objectInfo(t)
	files, err := filepath.Glob("testdata/traps/*.*")
	if err != nil {
		t.Fatal(err)
	}
	pictures := 0
	for _, file := range files {
		name, isPicture := strings.CutSuffix(file, ".png")
		if !isPicture {
			name, isPicture = strings.CutSuffix(file, ".webp")
		}
		if !isPicture {
			continue
		}
		pictures++
		w, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		fitted := Fit(w, info)
		if len(fitted.Wrong) > 0 {
			t.Errorf("%s: %v", file, fitted.Wrong)
			continue
		}
		if fitted.Workflow.UI != nil || fitted.Workflow.Hash != w.Hash || len(fitted.Workflow.Vary) == 0 {
			t.Errorf("%s: got %+v", file, fitted.Workflow)
		}
		if strings.HasSuffix(name, "compressed") {
			// The front end hangs on it; the workflow in it is that of another trap.
			name = "testdata/traps/png_itxt"
		}
		if got, want := Hash(fitted.Workflow.Graph), mustLoad(t, name+".api.json").Hash; got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
	if pictures < 5 {
		t.Errorf("%d pictures, want 5", pictures)
	}
}

// Ensure that a picture whose workflow is damaged gives its prompt, and says so,
// whatever is set.
func TestPictureWithBadWorkflow(t *testing.T) {
	text := func(key, value string) []byte {
		body := append([]byte("tEXt"+key+"\x00"), value...)
		return binary.BigEndian.AppendUint32(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)-4)), body...), 0)
	}
	prompt := text("prompt", `{"1": {"class_type": "EmptyImage", "inputs": {"width": 8, "color": 1}}}`)
	check := func(workflow, want string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "a.png")
		data := slices.Concat([]byte("\x89PNG\r\n\x1a\n"), prompt, text("workflow", workflow))
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Build(Request{File: file, Set: []Value{{Path: "1.width", Value: []byte("16")}}})
		if err != nil || w.UI != nil || string(w.Graph["1"].Inputs["width"]) != "16" {
			t.Fatalf("got %+v, %v", w, err)
		}
		if got := strings.Join(w.Warnings, "\n"); !strings.Contains(got, want) {
			t.Errorf("warnings %q lack %q", got, want)
		}
	}
	check(`{"nodes": [`, "the workflow in ")
	check(`{"nodes": [`, "its prompt is taken")
}
