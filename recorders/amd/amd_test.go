package amd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memtrix/recorders/nvidia"
)

// machine makes a root folder with the files of two AMD cards, one Intel card
// and some processes, after the kernel's documentation.
func machine(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"sys/class/drm/card0/device/vendor":              "0x8086\n",
		"sys/class/drm/card1/device/vendor":              "0x1002\n",
		"sys/class/drm/card1/device/uevent":              "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_SLOT_NAME=0000:0b:00.0\n",
		"sys/class/drm/card1/device/mem_info_vram_total": "17163091968\n",
		"sys/class/drm/card1/device/mem_info_vram_used":  "3221225472\n",
		"sys/class/drm/card1/device/gpu_busy_percent":    "37\n",
		"sys/class/drm/card2/device/uevent":              "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n",
		"sys/class/drm/card2/device/mem_info_vram_total": "8589934592\n",
		"sys/class/drm/card2/device/mem_info_vram_used":  "1000\n",
		"sys/class/drm/card1-DP-1/device/vendor":         "0x1002\n",
		"proc/100/fdinfo/5":                              fdinfo("0000:0b:00.0", "7", "drm-memory-vram:\t2097152 KiB\n"),
		"proc/100/fdinfo/6":                              fdinfo("0000:0b:00.0", "7", "drm-memory-vram:\t2097152 KiB\n"), // the same client
		"proc/100/fdinfo/7":                              fdinfo("0000:0b:00.0", "9", "drm-memory-vram:\t9 KiB\ndrm-resident-vram:\t3 MiB\n"),
		"proc/100/fdinfo/8":                              fdinfo("0000:03:00.0", "10", "drm-memory-vram:\t50 KiB\n"), // the other card
		"proc/101/fdinfo/3":                              "pos:\t0\n",
		// ROCm: 100 has less there than in its fdinfo, 102 no fdinfo that may be read.
		"sys/class/kfd/kfd/topology/nodes/0/gpu_id":     "0\n",
		"sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 16\nlocation_id 0\ndomain 0\n",
		"sys/class/kfd/kfd/topology/nodes/1/gpu_id":     "51234\n",
		"sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 96\nlocation_id 768\ndomain 0\ndrm_render_minor 129\n",
		"sys/class/kfd/kfd/topology/nodes/2/gpu_id":     "4660\n",
		"sys/class/kfd/kfd/topology/nodes/2/properties": "simd_count 96\nlocation_id 2816\ndomain 0\ndrm_render_minor 128\n",
		"sys/class/kfd/kfd/topology/nodes/3/gpu_id":     "77\n",
		"sys/class/kfd/kfd/topology/nodes/3/properties": "location_id 2816\ndomain 1\n",
		"sys/class/kfd/kfd/proc/100/vram_4660":          "1073741824\n",
		"sys/class/kfd/kfd/proc/102/vram_4660":          "5368709120\n",
		"sys/class/kfd/kfd/proc/102/vram_51234":         "999\n",
		"proc/102/stat":                                 "102 (python) S\n",
	}
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(pid, fd, target string) {
		dir := filepath.Join(root, "proc", pid, "fd")
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Symlink(target, filepath.Join(dir, fd))); err != nil {
			t.Fatal(err)
		}
	}
	for _, fd := range []string{"5", "6", "7", "8"} {
		link("100", fd, "/dev/dri/renderD128")
	}
	link("100", "9", "/dev/dri/renderD129") // closed meanwhile: no fdinfo
	link("101", "3", "/dev/null")
	return root
}

func fdinfo(pdev, client, more string) string {
	return "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t" + client + "\ndrm-pdev:\t" + pdev + "\n" + more
}

func TestCard(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	second := func(name string) (string, bool) { return "1,0", name == "HIP_VISIBLE_DEVICES" }
	root := machine(t)
	first, err := open(root, none)
	if err != nil || first.Name != "0000:03:00.0" || first.Index != 0 {
		t.Fatalf("want the first on the bus, got %+v, %v", first, err)
	}
	c, err := open(root, second)
	if err != nil {
		t.Fatal(err)
	}
	if want := (nvidia.Memory{Total: 17163091968, Used: 3 << 30, Free: 17163091968 - 3<<30}); true {
		if got, err := c.Memory(); err != nil || got != want {
			t.Errorf("memory: want %+v, got %+v, %v", want, got, err)
		}
	}
	if got, err := c.Utilization(); err != nil || got != 37 {
		t.Errorf("utilization: want 37, got %d, %v", got, err)
	}
	want := []nvidia.Process{{PID: 100, Used: 2<<30 + 3<<20, Known: true}, {PID: 102, Used: 5 << 30, Known: true}}
	if got, err := c.Processes(nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("processes: want %v, got %v, %v", want, got, err)
	}
	if got, err := first.Processes(nil); err != nil || !slices.Equal(got, []nvidia.Process{{PID: 100, Used: 50 << 10, Known: true}, {PID: 102, Used: 999, Known: true}}) {
		t.Errorf("processes of the other card: got %v, %v", got, err)
	}
	// The second card has no such file.
	if _, err := first.Utilization(); err == nil {
		t.Error("want an error for what the kernel does not show")
	}
}

func TestNoCard(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	check := func(root string, env nvidia.Lookup, want string) {
		t.Helper()
		_, err := open(root, env)
		if !errors.Is(err, ErrNoCard) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	check(t.TempDir(), none, "shows none")
	check(machine(t), func(name string) (string, bool) { return "", name == "ROCR_VISIBLE_DEVICES" }, "hides every card (2 in this machine)")
	intel := machine(t)
	for _, card := range []string{"card1", "card2"} {
		os.RemoveAll(filepath.Join(intel, "sys/class/drm", card))
	}
	check(intel, none, "an Intel card")
}
