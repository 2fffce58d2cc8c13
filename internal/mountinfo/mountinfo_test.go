package mountinfo

import (
	"reflect"
	"slices"
	"testing"
)

func TestMounts(t *testing.T) {
	text := "36 35 98:0 / /mnt/my\\040disk rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue\n" +
		"no line\n" +
		"37 35 0:30 /a\\134b /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"38 35 0:31 / /short rw - tmpfs tmpfs\n"
	want := []Mount{
		{Device: "98:0", Root: "/", Point: "/mnt/my disk", Kind: "ext4", Source: "/dev/sda1", Options: "rw,errors=continue"},
		{Device: "0:30", Root: `/a\b`, Point: "/sys/fs/cgroup/memory", Kind: "cgroup", Source: "cgroup", Options: "rw,memory"},
		{Device: "0:31", Root: "/", Point: "/short", Kind: "tmpfs", Source: "tmpfs"},
	}
	got := slices.Collect(Mounts(text))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !got[1].HasOption("memory") || got[0].HasOption("errors") {
		t.Error("options are not told apart")
	}
	for range Mounts(text) {
		break // a reader may stop
	}
}
