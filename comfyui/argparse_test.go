package comfyui

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"memtrix"
)

// accepts says why a version's parser would refuse a command line, as Python's
// argparse does with one flat parser.
func accepts(defs []FlagDef, features map[string]bool, argv []string) error {
	groups := map[int]string{}
	seen := map[string]bool{}
	for len(argv) > 0 {
		name, value, joined := strings.Cut(argv[0], "=")
		i := slices.IndexFunc(defs, func(d FlagDef) bool { return slices.Contains(d.Names, name) })
		if i < 0 {
			return fmt.Errorf("unrecognized arguments: %s", argv[0])
		}
		d := defs[i]
		if seen[name] {
			return fmt.Errorf("%s twice: the first is forgotten", name)
		}
		seen[name] = true
		if d.Group != nil {
			if other := groups[*d.Group]; other != "" {
				return fmt.Errorf("%s: not allowed with %s", name, other)
			}
			groups[*d.Group] = name
		}
		var values []string
		argv = argv[1:]
		if joined {
			values = []string{value}
		} else {
			n := slices.IndexFunc(argv, func(w string) bool { return strings.HasPrefix(w, "-") })
			if n < 0 {
				n = len(argv)
			}
			values, argv = argv[:n], argv[n:]
		}
		if err := d.takes(values, features); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (d FlagDef) takes(values []string, features map[string]bool) error {
	count := map[string][2]int{"0": {0, 0}, "null": {1, 1}, `"?"`: {0, 1}, `"*"`: {0, 99}, `"+"`: {1, 99}}
	want, ok := count[string(d.NArgs)]
	if !ok {
		return fmt.Errorf("nargs %s?", d.NArgs)
	}
	if n := len(values); n < want[0] || n > want[1] {
		return fmt.Errorf("%d values, want %v", n, want)
	}
	for _, v := range values {
		if d.Choices != nil && !slices.Contains(d.Choices, v) {
			return fmt.Errorf("%q is not one of %v", v, d.Choices)
		}
		if d.Type == nil {
			continue
		}
		var err error
		switch *d.Type {
		case "int":
			_, err = strconv.Atoi(v)
		case "float":
			_, err = strconv.ParseFloat(v, 64)
		case "PerformanceFeature":
			if !features["--fast="+v] {
				err = fmt.Errorf("invalid PerformanceFeature value: %s", v)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestAcceptsRefuses(t *testing.T) {
	defs, _ := ReleaseFlags("0.29.0")
	old, _ := ReleaseFlags("0.3.75")
	features := map[string]bool{"--fast=autotune": true, "--fast=cublas_ops": true}
	for _, c := range []struct {
		defs []FlagDef
		argv string
		ok   bool
	}{
		{defs, "", true}, {defs, "--lowvram", true}, {defs, "--normalvram", false}, {defs, "--lowvram --cpu", false},
		{defs, "--lowvram x", false}, {defs, "--async-offload=4", true}, {old, "--async-offload=4", false}, {old, "--async-offload", true},
		{defs, "--cache-lru", false}, {defs, "--cache-lru 3", true}, {defs, "--cache-lru 3.5", false}, {defs, "--cache-ram 3 4", true},
		{old, "--cache-ram 3 4", false}, {defs, "--fast autotune cublas_ops --cpu", true}, {defs, "--fast=dynamic_vram", false},
		{defs, "--fast=autotune --fast=cublas_ops", false}, {defs, "--reserve-vram two", false},
	} {
		if err := accepts(c.defs, features, strings.Fields(c.argv)); (err == nil) != c.ok {
			t.Errorf("%q: %v, want ok %v", c.argv, err, c.ok)
		}
	}
}

// values are what a spec may write for a setting, the odd ones too.
func values(d memtrix.SettingDef) []string {
	if d.Number == "" {
		return d.Words
	}
	return append(slices.Clone(d.Words), "0", "2", "0.5", "1e1")
}

// Whatever is asked of any release, it gets a command line that its parser takes,
// or a reason; on the releases that brought or lost a flag also of two settings.
func TestArgvOfAllReleases(t *testing.T) {
	cells := 0
	before := map[string]bool{}
	for _, name := range KnownReleases() {
		defs, _ := ReleaseFlags(name)
		v := version(t, name)
		changed := !maps.Equal(before, v.Flags)
		before = v.Flags
		check := func(s memtrix.Settings) {
			cells++
			cell := memtrix.Cell{Version: v, Settings: s}
			argv, reason := (&Target{}).Argv(cell)
			switch {
			case reason != "" && argv != nil:
				t.Errorf("%s {%s}: both %q and %q", name, s, argv, reason)
			case reason == "":
				if err := accepts(defs, v.Flags, argv); err != nil {
					t.Errorf("%s {%s}: %q: %v", name, s, argv, err)
				}
			}
			for _, note := range (&Target{}).Notes(cell) {
				if strings.TrimSpace(note) == "" {
					t.Errorf("%s {%s}: an empty note", name, s)
				}
			}
		}
		for i, a := range memtrix.SettingDefs {
			for _, av := range values(a) {
				check(memtrix.Settings{a.Name: av})
				if !changed {
					continue
				}
				for _, b := range memtrix.SettingDefs[i+1:] {
					for _, bv := range values(b) {
						check(memtrix.Settings{a.Name: av, b.Name: bv})
					}
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

// Every value of every setting is reachable somewhere, and nothing is asked that
// cannot differ from the default anywhere.
func TestEverySettingDoesSomething(t *testing.T) {
	for _, d := range memtrix.SettingDefs {
		for _, value := range d.Words {
			if value == "ck" {
				continue // newer than the releases here
			}
			reached := false
			for _, name := range KnownReleases() {
				_, reason := (&Target{}).Argv(memtrix.Cell{Version: version(t, name), Settings: memtrix.Settings{d.Name: value}})
				reached = reached || reason == ""
			}
			if !reached {
				t.Errorf("%s=%s: no release can", d.Name, value)
			}
		}
		if intents()[d.Name] == nil {
			t.Errorf("%s: nothing turns it into flags", d.Name)
		}
	}
}

func TestReleaseFlags(t *testing.T) {
	if n := len(KnownReleases()); n != 76 {
		t.Errorf("%d releases, want 76", n)
	}
	for _, c := range [][2]string{
		{"0.29.0", "0.29.0"}, {"0.3.64", "0.3.62"}, {"0.29.1-demo", "0.29.0"}, {"0.30.1", "0.29.0"}, {"0.3.1", "0.3.10"},
		{"", "0.29.0"}, {"nightly", "0.29.0"}, {"0.9.1", "0.9.1"}, {"0.8.0", "0.5.1"},
	} {
		if _, got := ReleaseFlags(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	// What is read is written again.
	defs, _ := ReleaseFlags("0.23.0")
	data, err := json.Marshal(defs)
	if err != nil || !strings.Contains(string(data), `{"choices":null,"const":null,"default":[],"dest":"cache_ram","group":5,"kind":"Store","names":["--cache-ram"],"nargs":"*","type":"float"}`) {
		t.Errorf("%s, %v", data, err)
	}
}
