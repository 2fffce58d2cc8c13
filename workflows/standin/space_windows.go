package standin

import (
	"os"

	"golang.org/x/sys/windows"
)

// errNoSpace is the system's error for a full disk.
var errNoSpace error = windows.ERROR_DISK_FULL

// makeSparse asks NTFS for holes (FSCTL_SET_SPARSE); other file systems refuse,
// and then the file takes its whole size.
func makeSparse(f *os.File) {
	var n uint32
	// A refusal shows in allocated.
	_ = windows.DeviceIoControl(windows.Handle(f.Fd()), windows.FSCTL_SET_SPARSE, nil, 0, nil, 0, &n, nil)
}

// allocated tells from the file's attribute whether it has holes.
func allocated(f *os.File) (int64, bool) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return 0, false
	}
	if info.FileAttributes&windows.FILE_ATTRIBUTE_SPARSE_FILE != 0 {
		return 0, true
	}
	return probeSize, true
}

// freeBytes is what the user may still write to dir's volume.
func freeBytes(dir string) (int64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, err
	}
	return int64(free), nil
}
