package comfysim

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// The usage is computed; what 0.29.0 printed when it was recorded proves it.
func TestUsageIsThatOfTheRecording(t *testing.T) {
	want, _, ok := strings.Cut(readTranscript(t, "029-startup-unknown-flag").log, "main.py: error")
	if !ok {
		t.Fatal("the recording has no error line")
	}
	if got := usageText(flagTable("0.29.0")); got != want {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

func TestFlagErrors(t *testing.T) {
	for _, c := range []struct{ version, args, want string }{
		{"0.29.0", "--no-such-flag word", "unrecognized arguments: --no-such-flag word"},
		{"0.29.0", "--highvram --lowvram", "argument --lowvram: not allowed with argument --highvram"},
		{"0.29.0", "--cache-ram 4 --cache-none", "argument --cache-none: not allowed with argument --cache-ram"},
		{"0.29.0", "--normalvram", "unrecognized arguments: --normalvram"},
		{"0.18.1", "--normalvram", ""},
		{"0.29.0", "--port", "argument --port: expected one argument"},
		{"0.29.0", "--port x", "argument --port: invalid int value: 'x'"},
		{"0.29.0", "--reserve-vram lots", "argument --reserve-vram: invalid float value: 'lots'"},
		{"0.29.0", "--verbose LOUD", "argument --verbose: invalid choice: 'LOUD' (choose from 'DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL')"},
		{"0.29.0", "--cpu=yes", "argument --cpu: ignored explicit argument 'yes'"},
		{"0.29.0", "--fast warp", "argument --fast: invalid PerformanceFeature value: 'warp'"},
		{"0.29.0", "--front-end-root /no/such/folder", "argument --front-end-root: The path '/no/such/folder' does not exist."},
		{"0.29.0", "--whitelist-custom-nodes", "argument --whitelist-custom-nodes: expected at least one argument"},
		{"0.29.0", "--disable-p", ""},
		{"0.29.0", "--disable-m --cpu", "ambiguous option: --disable-m could match --disable-manager-ui, --disable-mmap, --disable-metadata"},
		{"0.29.0", "--cache-ram 4 8 --async-offload --cpu", ""},
		{"0.18.1", "--cache-ram 4 8", "unrecognized arguments: 8"},
		{"0.3.64", "--async-offload 3", "unrecognized arguments: 3"},
		{"0.3.64", "--disable-dynamic-vram", "unrecognized arguments: --disable-dynamic-vram"},
	} {
		ver, err := versionNamed(c.version)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := parseFlags(flagTable(ver.flags), strings.Fields(c.args)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s:\nwant %s\n got %s", c.version, c.args, c.want, got)
		}
	}
}

func TestSimFlagErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--sim-version 9.9", "known versions are 0.3.64, 0.18.1, 0.29.0, 0.29.1-demo"},
		{"--sim-card 8GiB", "a number of bytes is needed"},
		{"--sim-scale 0", "a number above 0 is needed"},
		{"--sim-speed NaN", "a number above 0 is needed"},
		{"--sim-fault warp", "known faults are die-at-start"},
		{"--sim-colour red", "no such flag of the simulator"},
		{"--sim-card", "--sim-card needs a value"},
	} {
		var out, errs bytes.Buffer
		if got := Main(context.Background(), strings.Fields(c.args), &out, &errs); got != 2 {
			t.Errorf("%s: status %d, want 2", c.args, got)
		}
		if !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: want %q in\n%s", c.args, c.want, errs.String())
		}
	}
}

func TestHelpGoesToStdout(t *testing.T) {
	var out, errs bytes.Buffer
	if got := Main(context.Background(), []string{"--help"}, &out, &errs); got != 0 || errs.Len() > 0 ||
		!strings.HasPrefix(out.String(), "usage: main.py [-h]") {
		t.Errorf("status %d, stdout %q, stderr %q", got, out.String(), errs.String())
	}
}

// What is in force follows from flags and version.
func TestConfig(t *testing.T) {
	for _, c := range []struct {
		version, args string
		want          string
	}{
		{"0.29.0", "", "NORMAL_VRAM dynamic pinned streams=2 cache=1"},
		{"0.29.0", "--disable-dynamic-vram", "NORMAL_VRAM pinned streams=2 cache=1"},
		{"0.29.0", "--novram", "NO_VRAM pinned streams=2 cache=1"},
		{"0.29.0", "--highvram", "HIGH_VRAM pinned streams=2 cache=1"},
		{"0.29.0", "--highvram --enable-dynamic-vram", "HIGH_VRAM dynamic pinned streams=2 cache=1"},
		{"0.29.0", "--lowvram", "LOW_VRAM dynamic pinned streams=2 cache=1"},
		{"0.29.0", "--cpu", "DISABLED streams=0 cache=1"},
		{"0.29.0", "--cache-none --async-offload 4", "NORMAL_VRAM dynamic pinned streams=4 cache=3"},
		{"0.29.0", "--cache-lru 3 --disable-async-offload", "NORMAL_VRAM dynamic pinned streams=0 cache=2"},
		{"0.29.0", "--high-ram --disable-pinned-memory", "NORMAL_VRAM dynamic streams=2 cache=0"},
		{"0.18.1", "", "NORMAL_VRAM dynamic pinned streams=2 cache=0"},
		{"0.18.1", "--cache-ram", "NORMAL_VRAM dynamic pinned streams=2 cache=1"},
		{"0.3.64", "", "NORMAL_VRAM streams=0 cache=0"},
		{"0.3.64", "--async-offload", "NORMAL_VRAM streams=2 cache=0"},
	} {
		ver, err := versionNamed(c.version)
		if err != nil {
			t.Fatal(err)
		}
		opts, err := parseFlags(flagTable(ver.flags), strings.Fields(c.args))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := newConfig(simArgs{card: 8 * gib, cardFree: -1, scale: 1, ramScale: 1, speed: 1}, ver, opts, nil)
		if err != nil {
			t.Fatal(err)
		}
		words := []string{string(cfg.state)}
		if cfg.dynamic {
			words = append(words, "dynamic")
		}
		if cfg.pinned {
			words = append(words, "pinned")
		}
		words = append(words, "streams="+itoa(cfg.streams), "cache="+itoa(int(cfg.cache)))
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.version, c.args, got, c.want)
		}
	}
}

func TestVersions(t *testing.T) {
	if got, want := Versions(), []string{"0.3.64", "0.18.1", "0.29.0", "0.29.1-demo"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
