package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memtrix/versions/cache"
)

// TestReleasesOfComfyUI finds every release in a clone of the real repository:
//
//	MEMTRIX_COMFYUI_REPO=DIR go test -run ReleasesOfComfyUI -v ./versions/source
func TestReleasesOfComfyUI(t *testing.T) {
	src := os.Getenv("MEMTRIX_COMFYUI_REPO")
	if src == "" {
		t.Skip("MEMTRIX_COMFYUI_REPO names no clone")
	}
	ctx := context.Background()
	r := open(t, ctx, t.TempDir(), src)
	data, err := os.ReadFile(filepath.Join("testdata", "versions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		words := strings.Split(line, "\t")
		c, err := r.Resolve(ctx, words[0])
		if err != nil || c.Hash != words[1] || c.Name != words[0] {
			wrong++
			t.Errorf("%s: got %s %s, %v, want %s", words[0], c.Name, c.Hash, err, words[1])
			continue
		}
		right++
	}
	t.Logf("%d right, %d wrong", right, wrong)
	// The order of numbers must be that of ancestry.
	out, err := r.git(ctx, "rev-list", "--first-parent", "--reverse", "HEAD", "--", versionFile)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.known(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var byNumber []string
	for _, x := range all {
		byNumber = append(byNumber, x.hash)
	}
	if want := strings.Fields(out); strings.Join(byNumber, " ") != strings.Join(want, " ") {
		t.Log("the source has tags too: order not compared")
	}
}

func open(t *testing.T, ctx context.Context, dir, src string) *Repo {
	t.Helper()
	c, err := cache.Open(filepath.Join(dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	warn := func(s string) { t.Log("warning: " + s) }
	say := func(s string) { t.Log(s) }
	r, err := Open(ctx, c, src, Options{Say: say, Warn: warn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}
