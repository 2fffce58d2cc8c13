package comfyui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memtrix"
)

// packsOf are packs of a tree's custom_nodes.
func packsOf(tree string, names ...string) []memtrix.Pack {
	var list []memtrix.Pack
	for _, name := range names {
		list = append(list, memtrix.Pack{Name: name, Dir: filepath.Join(tree, "custom_nodes", name), Hash: name})
	}
	return list
}

// A version that cannot keep others off says so before anything runs.
func TestPacksOff(t *testing.T) {
	tree := smallTree(t)
	elsewhere := filepath.Join(tree, "elsewhere", "pack")
	put(t, filepath.Join(elsewhere, "__init__.py"), "")
	same, other := packsOf(tree, "pack"), packsOf(tree, "single.py")
	twin := []memtrix.Pack{{Name: "pack", Dir: elsewhere}}
	check := func(release string, packs, others []memtrix.Pack, want string) {
		t.Helper()
		v := memtrix.Version{Name: release, Dir: tree, Flags: version(t, release).Flags, Packs: packs, OtherPacks: others}
		got := PacksOff(v)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", release, got, want)
		}
		argv, reason := (&Target{}).Argv(memtrix.Cell{Version: v})
		if reason != got || want != "" && argv != nil {
			t.Errorf("%s: a cell's reason is %q with %q, want %q", release, reason, argv, got)
		}
	}
	for _, release := range []string{"0.29.0", "0.3.44"} {
		check(release, same, nil, "")
		check(release, same, other, "") // --whitelist-custom-nodes keeps it off
		check(release, same, same, "")
		check(release, same, twin, "have the same name")
		check(release, nil, other, "")
	}
	for _, release := range []string{"0.3.43", "0.3.13", "0.3.12"} {
		check(release, same, nil, "")
		check(release, same, same, "")
		check(release, same, twin, "have the same name")
		check(release, same, other, "0.3.44 is the first")
		check(release, nil, other, "") // --disable-all-custom-nodes keeps all off
	}
}

// What a server sees by itself is not shown to it twice.
func TestPacksSeenAnyway(t *testing.T) {
	tree, cache := smallTree(t), t.TempDir()
	v := memtrix.Version{Name: "0.3.12", Target: memtrix.TargetComfyUI, Dir: tree, Flags: version(t, "0.3.12").Flags, Packs: packsOf(tree, "pack"), OtherPacks: packsOf(tree, "pack")}
	folder, names, err := (&Target{CacheDir: cache}).showNodes(v.Flags, memtrix.Job{Cell: memtrix.Cell{Version: v}})
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if found, err := os.ReadDir(folder); err != nil || len(found) > 0 {
		t.Errorf("%s holds %v, %v, want nothing", folder, found, err)
	}
	v.OtherPacks = nil
	if folder, _, err = (&Target{CacheDir: cache}).showNodes(v.Flags, memtrix.Job{Cell: memtrix.Cell{Version: v}}); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(folder, "pack")); err != nil || to != v.Packs[0].Dir {
		t.Errorf("got %q, %v, want %q", to, err, v.Packs[0].Dir)
	}
}
