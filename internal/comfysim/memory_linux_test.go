package comfysim

import (
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPagesAreReallyTouched: what the accounts hold, /proc shows.
func TestPagesAreReallyTouched(t *testing.T) {
	h, err := newHost(simArgs{ramScale: 0.5}, 8*gib, baseMemory{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.libs.close()
	var fs unix.Statfs_t
	inMemory := unix.Statfs(t.TempDir(), &fs) == nil && fs.Type == unix.TMPFS_MAGIC
	debug.FreeOSMemory() // what the tests before left would go back at any time
	before := procStatus(t)
	check := func(what, key string, want int64) {
		t.Helper()
		if inMemory && key != "RssAnon" { // there a mapped file is shared memory, too
			return
		}
		if d := procStatus(t)[key] - before[key]; d < want-12*mib || d > want+12*mib {
			t.Errorf("%s: %s moved by %.0f MiB, want %.0f", what, key, mb(d), mb(want))
		}
	}
	if err := h.alloc(300*mib, 0); err != nil {
		t.Fatal(err)
	}
	check("alloc", "RssAnon", 150*mib)
	if err := h.more(0, 200*mib, 100*mib); err != nil {
		t.Fatal(err)
	}
	check("libraries", "RssFile", 100*mib)
	check("shared", "RssShmem", 50*mib)
	h.free(300*mib, 0.5)
	check("free", "RssAnon", 75*mib)
	if err := h.more(0, -200*mib, 0); err != nil {
		t.Fatal(err)
	}
	check("drop", "RssFile", 0)
	if err := h.alloc(9*gib, 0); err == nil {
		t.Error("more than the machine has was given")
	}
}

func procStatus(t *testing.T) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for line := range strings.Lines(string(mustRead(t, "/proc/self/status"))) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[2] == "kB" {
			var kb int64
			for _, c := range fields[1] {
				kb = kb*10 + int64(c-'0')
			}
			out[strings.TrimSuffix(fields[0], ":")] = kb * kib
		}
	}
	return out
}
