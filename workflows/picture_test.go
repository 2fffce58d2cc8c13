package workflows

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
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
