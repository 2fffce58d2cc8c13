package comfyui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memtrix"
)

const settingsDoc = "../docs/settings.md"

const settingsHead = `# Settings

<!-- Made by the tests of package comfyui: go test ./comfyui -run SettingsDoc -update -->

A setting is an intent. Each release of ComfyUI turns it into its own flags; where
it does by itself what is asked, no flag is needed ("none" below). What a release
cannot do makes the cell not applicable, with the reason. The tables are made from
the flags of the %d releases from %s to %s; others are asked for theirs
(` + "`memtrix flags --comfyui DIR`" + ` shows them).

- **Exclusive**: of the node caches, vram-modes and dtypes of one model the launcher
  takes one. A cell that asks for two is not applicable.
- **Ignored**: what ComfyUI accepts and ignores runs, and the plan says
  ` + "`no-effect-expected`" + `: a flag that does nothing is a finding.
- **In force or not**: after the start the server's banner (where it is silent,
  ` + "`/system_stats`" + `) is held against the settings, and after the first prompt the
  dtypes of the models that it loaded. A setting that the server denies ends the
  trial as ` + "`not-in-force`" + ` with the server's words. What the server said is in the
  trial's environment as ` + "`banner.*`" + `. With ` + "`args: [--verbose, WARNING]`" + ` there is no
  banner, and the trial has a warning that nothing could be checked.
- **Raw flags** in ` + "`args:`" + ` come after those of the settings. The plan warns about
  flags that a version does not know and about abbreviations.
- **Which card**: set CUDA_VISIBLE_DEVICES under ` + "`env:`" + `; memtrix then reads that card.
  A raw ` + "`--cuda-device`" + ` would move the server, but not what is read.

With ` + "`device: cpu`" + ` the settings that need a card are not applicable. The tables are
about a card.
`

// traps are what a person should know about a setting beside its flags.
var traps = map[string]string{
	"device":        "On the CPU the banner says that all of the RAM is VRAM.",
	"dynamic-vram":  "On by itself on NVIDIA cards with torch 2.8 or newer and a working comfy-aimdo, not under WSL until 0.33. Where it is not, it falls back with one line in the log: such a trial is not-in-force. Under it the peak of VRAM is what was free, not what was needed.",
	"vram-mode":     "`low` moves the text encoder to the CPU and does nothing else since August 2024; under dynamic VRAM it does nothing at all since 0.16.4. `no`, `high` and `gpu-only` turn dynamic VRAM off since 0.16.0 (`high` and `gpu-only` since there is any), unless `dynamic-vram: on` can force it (0.18.0).",
	"pinned-memory": "Never on the CPU, MPS or XPU. 0.3.68 prints nothing about it.",
	"async-offload": "On by itself on NVIDIA since 0.3.76, on AMD since 0.7.0.",
	"smart-memory":  "`off` frees everything else before each load and unloads all after each prompt. Dynamic VRAM stays on.",
	"cache":         "`ram` is the default since 0.23.0, `classic` before. The classic cache prints nothing; a line of another kind denies it. `high-ram` is the classic cache and also lifts the limit on pinned memory.",
	"cache-lru":     "0 means no such cache to ComfyUI and is not applicable.",
	"cache-ram":     "Changed its meaning twice. 0.3.68 to 0.18: GB of RAM that stay free, 4 by default. 0.19: a quarter of the RAM by default. Since 0.23.0: the headroom while a prompt runs, a tenth of the RAM by default; 0 is no headroom there, and not off. The second number that 0.23.0 takes (headroom between prompts) is for `args:`.",
	"reserve-vram":  "Only in estimates until 0.25.0: ignored under dynamic VRAM. Since then a cap on what ComfyUI itself uses.",
	"vram-headroom": "Ignored without dynamic VRAM. Counts what other programs use.",
	"cuda-malloc":   "The driver's allocator is on by itself where torch was built for CUDA and the card is not an old one. `autotune: on` turns it off.",
	"mmap":          "About safetensors files; others are mapped with a raw `--mmap-torch-files`.",
	"fast-disk":     "Ignored without dynamic VRAM. From September 2026 on decided for each model by the kind of disk.",
	"attention":     "`sage` and `flash` need a package, `xformers` has no flag: what is installed is used. An installed xformers would win over split and quad without a word, so it is turned off then.",
	"unet-dtype":    "`force-fp: fp16` is looked at before the fp8 ones. A loader node may ask for another dtype; the trial is not-in-force then.",
	"force-fp":      "`fp16` sets the dtype of diffusion models, too, since 0.3.15.",
	"deterministic": "Also stops copies that do not block.",
	"cublas-ops":    "Ignored without the package cublas_ops.",
	"autotune":      "Also turns the driver's allocator off since 0.3.66.",
}

// span is releases in a row that do the same.
type span struct{ first, last, does string }

func spansOf(setting, value string) []span {
	var all []span
	for _, name := range KnownReleases() {
		defs, _ := ReleaseFlags(name)
		v := memtrix.Version{Name: "it", Release: name, Flags: flagNames(defs, parseRelease(name))}
		argv, reason := (&Target{}).Argv(memtrix.Cell{Version: v, Settings: memtrix.Settings{setting: value}})
		does := "not applicable: " + reason
		switch {
		case reason == "" && len(argv) == 0:
			does = "none"
		case reason == "":
			does = "`" + strings.Join(argv, " ") + "`"
		}
		if n := len(all); n > 0 && all[n-1].does == does {
			all[n-1].last = name
			continue
		}
		all = append(all, span{name, name, does})
	}
	return all
}

func writeSettings() string {
	var b strings.Builder
	names := KnownReleases()
	fmt.Fprintf(&b, settingsHead, len(names), names[0], names[len(names)-1])
	for _, d := range memtrix.SettingDefs {
		fmt.Fprintf(&b, "\n## %s\n\n%s.", d.Name, strings.ToUpper(d.Doc[:1])+d.Doc[1:])
		if d.Default != "" {
			fmt.Fprintf(&b, " Default: %s.", d.Default)
		}
		if trap := traps[d.Name]; trap != "" {
			fmt.Fprintf(&b, " %s", trap)
		}
		b.WriteString("\n\n| value | releases | flags |\n|---|---|---|\n")
		values := d.Words
		if d.Number != "" {
			values = append(values[:len(values):len(values)], "3")
		}
		for _, value := range values {
			label := value
			if value == "3" {
				label = "a number (" + d.Number + "), e.g. 3"
			}
			for _, s := range spansOf(d.Name, value) {
				releases := s.first + " - " + s.last
				if s.first == s.last {
					releases = s.first
				}
				fmt.Fprintf(&b, "| %s | %s | %s |\n", label, releases, s.does)
				label = ""
			}
		}
	}
	return b.String()
}

// TestSettingsDoc keeps docs/settings.md current; -update writes it.
func TestSettingsDoc(t *testing.T) {
	want := writeSettings()
	if *update {
		if err := os.WriteFile(filepath.FromSlash(settingsDoc), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.FromSlash(settingsDoc))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the code says; go test ./comfyui -run SettingsDoc -update", settingsDoc)
	}
	for name := range traps {
		if _, ok := memtrix.Setting(name); !ok {
			t.Errorf("a trap of no setting: %s", name)
		}
	}
}
