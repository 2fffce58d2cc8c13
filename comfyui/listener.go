package comfyui

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listeners finds the processes that listen on a port of this machine at any of
// the addresses, or at all addresses. No process and no error: somebody listens,
// and the kernel does not show us who (another user's process). proc is /proc.
//
// A socket is a line of /proc/net/tcp or tcp6 with its inode, and a link
// "socket:[INODE]" among the open files of its processes (proc_pid_net(5)).
func listeners(proc string, addrs []netip.Addr, port uint16) ([]int, error) {
	inodes := map[string]bool{}
	var errs []error
	for _, name := range []string{"tcp", "tcp6"} {
		err := listening(filepath.Join(proc, "net", name), addrs, port, inodes)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // no IPv6
			errs = append(errs, err)
		}
	}
	if len(inodes) == 0 {
		return nil, errors.Join(append(errs, fmt.Errorf("nothing listens on port %d in this network namespace", port))...)
	}
	return holders(proc, inodes), nil
}

// listening collects the inodes of sockets that listen there.
func listening(file string, addrs []netip.Addr, port uint16, inodes map[string]bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	const listen = "0A"
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listen {
			continue
		}
		at, ok := parseSocketAddr(fields[1])
		if !ok || at.Port() != port {
			continue
		}
		if at.Addr().IsUnspecified() || slices.Contains(addrs, at.Addr().Unmap()) {
			inodes[fields[9]] = true
		}
	}
	return lines.Err()
}

// parseSocketAddr reads "0100007F:1F90": words of 32 bits in the machine's own
// byte order, the port in hexadecimal.
func parseSocketAddr(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	data, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(data)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(data); i += 4 {
		binary.BigEndian.PutUint32(data[i:], binary.NativeEndian.Uint32(data[i:]))
	}
	addr, ok := netip.AddrFromSlice(data)
	return netip.AddrPortFrom(addr, uint16(n)), ok
}

// holders are the processes that have one of the sockets open. Those whose files
// we may not see are left out.
func holders(proc string, inodes map[string]bool) []int {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && holds(filepath.Join(proc, e.Name(), "fd"), inodes) {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return found
}

func holds(folder string, inodes map[string]bool) bool {
	files, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, f := range files {
		link, err := os.Readlink(filepath.Join(folder, f.Name()))
		inode, ok := strings.CutPrefix(link, "socket:[")
		if err == nil && ok && inodes[strings.TrimSuffix(inode, "]")] {
			return true
		}
	}
	return false
}
