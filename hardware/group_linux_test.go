package hardware

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the child that eats memory in a group.
func TestMain(m *testing.M) {
	if path := os.Getenv("MEMTRIX_TEST_EAT"); path != "" {
		if err := (&Group{Path: path}).Enter(); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		eat(256 << 20)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func eat(n int) {
	data, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	for i := 0; i < n; i += os.Getpagesize() {
		data[i] = 1
	}
}

// TestGroupLimits makes a real group where this machine lets us, and sees a
// process that wants more than its limit killed by the kernel.
func TestGroupLimits(t *testing.T) {
	none := int64(0)
	g, err := MakeGroup(fmt.Sprintf("memtrix-test-%d", os.Getpid()), 64<<20, &none)
	if err != nil {
		t.Skipf("this machine makes no memory groups: %v", err)
	}
	defer g.End(5 * time.Second)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MEMTRIX_TEST_EAT="+g.Path)
	out, err := cmd.CombinedOutput()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGKILL {
		t.Errorf("the child ended with %v (%s), want SIGKILL", err, out)
	}
	u := g.Usage()
	if u.Kills == nil || *u.Kills < 1 {
		t.Errorf("kills: %v, want at least 1", u.Kills)
	}
	// The kernel counts in batches a processor, and keeps some for itself. What cannot
	// fail, and what a process takes that is being killed, it counts beyond the limit
	// (mm/memcontrol.c, try_charge_memcg, "force").
	if u.Peak == nil {
		// Version 2 counts it since Linux 5.19.
		if g.Version == 1 || g.has("memory.peak") {
			t.Error("no peak")
		}
	} else if *u.Peak < 32<<20 || *u.Peak > 68<<20 {
		t.Errorf("peak: %d bytes, want 64 MiB or so", *u.Peak)
	}
	if u.Limit == nil || *u.Limit != 64<<20 {
		t.Errorf("limit: %v, want 64 MiB", u.Limit)
	}
	if err := g.End(5 * time.Second); err != nil {
		t.Errorf("end: %v", err)
	}
	if _, err := os.Stat(g.Path); !os.IsNotExist(err) {
		t.Errorf("the group is still there: %v", err)
	}
}

// TestPlaces checks where a group would be made on each kind of system.
func TestPlaces(t *testing.T) {
	check := func(name, mounts, own, want string) {
		t.Helper()
		dir := t.TempDir()
		g := groupFS{mountinfo: filepath.Join(dir, "m"), own: filepath.Join(dir, "o")}
		for path, text := range map[string]string{g.mountinfo: mounts, g.own: own} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		places, err := g.places()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range places {
			got = append(got, fmt.Sprintf("%d:%s", p.version, p.dir))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: got %q, want %q", name, g, want)
		}
	}
	check("version 2", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/user.slice/a.scope\n",
		"2:/sys/fs/cgroup 2:/sys/fs/cgroup/user.slice 2:/sys/fs/cgroup/user.slice/a.scope")
	check("container", "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/\n", "2:/sys/fs/cgroup")
	check("version 1", "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n32 23 0:28 / /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,memory\n",
		"5:cpu:/\n4:memory:/a\n0::/\n", "1:/sys/fs/cgroup/mem ory 1:/sys/fs/cgroup/mem ory 1:/sys/fs/cgroup/mem ory/a")
	check("none", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "", "")
}

// TestSwapIsThere checks that a machine cannot be asked for more swap than it has.
func TestSwapIsThere(t *testing.T) {
	meminfo := filepath.Join(t.TempDir(), "meminfo")
	if err := os.WriteFile(meminfo, []byte("MemTotal: 100 kB\nSwapTotal:  1048576 kB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := groupFS{meminfo: meminfo}
	one, two := int64(1<<30), int64(2<<30)
	if err := g.checkSwap(&one); err != nil {
		t.Errorf("1 GiB of 1: %v", err)
	}
	if err := g.checkSwap(&two); err == nil || !strings.Contains(err.Error(), "mkswap") {
		t.Errorf("2 GiB of 1: %v, want what to do about it", err)
	}
}
