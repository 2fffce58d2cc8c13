//go:build unix

package versions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memtrix"
)

// What packs require is part of an environment that is made, and nothing of one that
// is kept.
func TestPackRequirements(t *testing.T) {
	src, _ := upstream(t)
	p, _ := provider(t)
	ctx := context.Background()
	plain := get(t, p, Request{Version: "0.29.0", Source: src})
	with := Request{Version: "0.29.0", Source: src, Requirements: []string{"gguf>=0.9"}}
	packed := get(t, p, with)
	if packed.Python == plain.Python {
		t.Error("a version with packs shares the environment of one without")
	}
	asked, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(packed.Python)), "asked"))
	if err != nil || !strings.Contains(string(asked), "\ngguf>=0.9\n") {
		t.Errorf("installed: %q, %v", asked, err)
	}
	if kept, err := p.Kept(ctx, with); kept || err != nil {
		t.Errorf("an environment to be made is kept: %v, %v", kept, err)
	}
	for _, r := range []Request{
		{Path: src}, {Path: src, Packages: Keep, Python: "python3.12"}, {Version: "0.29.0", Source: src, Packages: Keep, Python: "python3.12"},
	} {
		if kept, err := p.Kept(ctx, r); !kept || err != nil {
			t.Errorf("%+v is not kept: %v", r, err)
		}
	}
	look, _ := provider(t)
	look.Look = true
	if v := get(t, look, with); !Unbuilt(v) || Unbuilt(packed) {
		t.Errorf("unbuilt: %v and %v, want true and false", Unbuilt(v), Unbuilt(packed))
	}
}

// A pack that cannot be had is the machine's matter, one that does not exist is not.
func TestGitPackErrors(t *testing.T) {
	src, commits := upstream(t)
	p, _ := provider(t)
	ctx := context.Background()
	pack, missing, err := p.GitPack(ctx, src, commits[0][:10], "")
	if err != nil || len(missing) > 0 || pack.Name != "upstream" || pack.Commit != commits[0] {
		t.Errorf("got %+v, %v, %v", pack, missing, err)
	}
	if _, _, err := p.GitPack(ctx, src, "nosuchbranch", ""); err == nil || errors.Is(err, memtrix.ErrUnavailable) {
		t.Errorf("an unknown branch: %v", err)
	}
	if _, _, err := p.GitPack(ctx, filepath.Join(src, "gone"), "", ""); !errors.Is(err, memtrix.ErrUnavailable) {
		t.Errorf("a repository that is gone: %v", err)
	}
}
