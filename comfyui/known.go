package comfyui

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"memtrix"
)

// releaseFlags are the launch flags of 76 releases, each as ReadFlags gave them
// for its tree: release -> flags. They stand in for those of a version that
// cannot be asked (a simulated one), and are what the table in the docs is made
// of.
//
//go:embed releases/flags.json.gz
var releaseFlags []byte

// releases gives the flags of all releases that are known, each read when it is asked
// for, and their numbers from the oldest to the newest.
var releases = sync.OnceValues(func() (map[string]func() []FlagDef, []string) {
	all, err := readReleases(releaseFlags)
	if err != nil {
		panic(err) // embedded
	}
	return all, slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		older, newer := parseRelease(a), parseRelease(b)
		return slices.Compare(older.parts[:], newer.parts[:])
	})
})

func readReleases(data []byte) (map[string]func() []FlagDef, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("flags of releases: %w", err)
	}
	if data, err = io.ReadAll(z); err != nil {
		return nil, fmt.Errorf("flags of releases: %w", err)
	}
	texts := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf("flags of releases: %w", err)
	}
	all := map[string]func() []FlagDef{}
	for name, text := range texts {
		all[name] = sync.OnceValue(func() []FlagDef {
			var defs []FlagDef
			if err := json.Unmarshal(text, &defs); err != nil {
				panic(fmt.Errorf("flags of release %s: %w", name, err)) // embedded
			}
			return defs
		})
	}
	return all, nil
}

// KnownReleases are the releases whose flags memtrix carries, oldest first.
func KnownReleases() []string {
	_, names := releases()
	return slices.Clone(names)
}

// ReleaseFlags are the flags of the newest of those releases that is not newer
// than the named one; of the newest at all where the name is no release. The
// second result says which release that is.
func ReleaseFlags(name string) ([]FlagDef, string) {
	all, names := releases()
	asked, nearest := parseRelease(name), names[len(names)-1]
	if asked.known {
		nearest = names[0]
		for _, n := range names {
			if parts := parseRelease(n).parts; asked.atLeast(parts[0], parts[1], parts[2]) {
				nearest = n
			}
		}
	}
	return all[nearest](), nearest
}

// flagNames are what memtrix.Version.Flags holds of a version: the names of its
// flags, and for the features of --fast "--fast=NAME".
func flagNames(defs []FlagDef, r release) map[string]bool {
	known := map[string]bool{}
	for _, d := range defs {
		for _, name := range d.Names {
			known[name] = true
		}
	}
	for _, f := range fastFeatures {
		if r.known && f.in(r) {
			known["--fast="+f.name] = true
		}
	}
	return known
}

// knownFlags are the version's own, or those of its release where they could not
// be read and for simulated versions.
func knownFlags(v memtrix.Version) map[string]bool {
	if v.Flags != nil {
		return v.Flags
	}
	defs, name := ReleaseFlags(v.Release)
	return flagNames(defs, parseRelease(name))
}

// Knows reports whether a version knows a launch flag.
func Knows(v memtrix.Version, flag string) bool { return knownFlags(v)[flag] }
