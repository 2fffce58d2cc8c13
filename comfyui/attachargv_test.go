package comfyui

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// TestAttachedSettings holds settings against the flags with which a server was
// started.
func TestAttachedSettings(t *testing.T) {
	check := func(release, argv string, s memtrix.Settings, want string) {
		t.Helper()
		v := memtrix.Version{Name: "mine", Release: release}
		v.Attached = &memtrix.Attached{Argv: lastingFlags(strings.Fields("main.py "+argv), knownFlags(v))}
		_, reason := (&AttachTarget{}).Argv(memtrix.Cell{Version: v, Settings: s})
		if (want == "") != (reason == "") || !strings.Contains(reason, want) {
			t.Errorf("%s %q, %s: got %q, want %q", release, argv, s, reason, want)
		}
	}
	type S = memtrix.Settings
	check("0.29.0", "", nil, "")
	check("0.29.0", "--port 8188", S{"dynamic-vram": "on"}, "")
	check("0.29.0", "--disable-dynamic-vram", S{"dynamic-vram": "on"}, "was started with --disable-dynamic-vram")
	check("0.29.0", "--disable-dynamic-vram", S{"dynamic-vram": "off"}, "")
	check("0.29.0", "", S{"dynamic-vram": "off"}, "was started without --disable-dynamic-vram")
	check("0.29.0", "--lowv", S{"vram-mode": "low"}, "")
	check("0.29.0", "--lowvram", S{"vram-mode": "normal"}, "was started with --lowvram")
	check("0.29.0", "--reserve-vram 2.0", S{"reserve-vram": "2"}, "")
	check("0.29.0", "--reserve-vram=3", S{"reserve-vram": "2"}, "without --reserve-vram 2")
	check("0.29.0", "--cache-lru 10", S{"cache": "classic"}, "was started with --cache-lru 10")
	check("0.29.0", "--cache-none", S{"cache": "none"}, "")
	check("0.29.0", "--cpu", S{"device": "gpu"}, "was started with --cpu")
	check("0.29.0", "--fast autotune fp16_accumulation", S{"autotune": "on"}, "")
	check("0.29.0", "--fast autotune", S{"autotune": "off"}, "was started with --fast autotune")
	check("0.29.0", "--async-offload 4", S{"async-offload": "on"}, "")
	check("0.3.64", "", S{"dynamic-vram": "on"}, "has no dynamic VRAM")
	small := memtrix.Cell{Version: memtrix.Version{Attached: &memtrix.Attached{}}, Hardware: memtrix.Hardware{Name: "small", RAM: 1}}
	if _, reason := (&AttachTarget{}).Argv(small); !strings.Contains(reason, "hardware small") {
		t.Errorf("hardware: %q", reason)
	}
}

func TestLastingFlags(t *testing.T) {
	known := knownFlags(memtrix.Version{Release: "0.29.0"})
	argv := strings.Fields("/opt/ComfyUI/main.py --port 8000 --listen --novram --base-directory /data --cache-lru=3 --auto-launch")
	if got, want := lastingFlags(argv, known), []string{"--cache-lru", "3", "--novram"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBaseURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8188/": "http://127.0.0.1:8188", "https://box/comfy/": "https://box/comfy", "http://[::1]:8188": "http://[::1]:8188",
		"127.0.0.1:8188": "", "http://": "", "ftp://a": "", "http://a:b@c": "", "http://a?x=1": "", "http://a:0": "", "http://a:99999": "",
	} {
		got, err := BaseURL(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestListening reads the kernel's form of sockets, of both families.
func TestListening(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tcp")
	text := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1FFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:1FFC 0100007F:D21B 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 00000000000000000000000001000000:1FFC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 333 1 0
   3: 00000000000000000000000000000000:1FFC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 444 1 0
   4: 0200007F:1FFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	addr, ok := parseSocketAddr("0100007F:1FFC")
	if !ok || addr.String() != "127.0.0.1:8188" {
		t.Fatalf("got %v, %v", addr, ok)
	}
	for _, c := range []struct {
		text string
		want []string
	}{{"0100007F:0000", []string{"111", "444"}}, {"00000000000000000000000001000000:0000", []string{"333", "444"}}} {
		at, _ := parseSocketAddr(c.text)
		inodes := map[string]bool{}
		if err := listening(file, []netip.Addr{at.Addr()}, 8188, inodes); err != nil {
			t.Fatal(err)
		}
		for _, inode := range c.want {
			if !inodes[inode] || len(inodes) != len(c.want) {
				t.Errorf("%v: got %v, want %v", at, inodes, c.want)
			}
		}
	}
}

func TestOwnerRuns(t *testing.T) {
	argv := []string{"main.py", "--cpu", "--port", "8188"}
	for line, want := range map[string]bool{
		"/venv/bin/python -s /opt/ComfyUI/main.py --cpu --port 8188": true,
		"ssh -L 8188:box:8188 box":                                   false,
		"docker-proxy --port 8188":                                   false,
		"memtrix comfysim-server --cpu --sim-speed 3 --port 8188":    true,
	} {
		if got := (owner{cmdline: strings.Fields(line)}).runs(argv); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	if (owner{cmdline: []string{"ssh", "box"}}).runs([]string{"main.py"}) {
		t.Error("a tunnel is taken for a server without flags")
	}
}

// TestCrowd counts stretches in which others' prompts ran.
func TestCrowd(t *testing.T) {
	at := time.Duration(0)
	c := newCrowd(func() time.Duration { return at })
	c.told(3) // before the first own one
	c.told(0)
	c.sent()
	c.told(1)
	c.begun()
	c.told(2) // waits behind ours
	if times, _, _ := c.met(); times != 0 || c.idle() || !c.works() {
		t.Fatalf("others %d times, idle %v, works %v", times, c.idle(), c.works())
	}
	at = 5 * time.Second
	c.told(1)
	c.ended()
	c.told(0)
	c.told(1)
	c.lost()
	c.told(0)
	c.sent()
	at = 9 * time.Second
	c.told(2) // in front of ours
	at = 10 * time.Second
	c.begun()
	times, first, waited := c.met()
	if times != 3 || first != 5*time.Second || waited != 5*time.Second {
		t.Errorf("%d times, first %v, waited %v", times, first, waited)
	}
}
