package comfyui

import (
	"bufio"
	"cmp"
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
	all, err := allListening(file)
	for _, l := range all {
		if l.at.Port() == port && (l.at.Addr().IsUnspecified() || slices.Contains(addrs, l.at.Addr().Unmap())) {
			inodes[l.inode] = true
		}
	}
	return err
}

// listenSocket is a socket that listens.
type listenSocket struct {
	at    netip.AddrPort
	inode string
}

func allListening(file string) ([]listenSocket, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const listen = "0A"
	var all []listenSocket
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listen {
			continue
		}
		if at, ok := parseSocketAddr(fields[1]); ok {
			all = append(all, listenSocket{at, fields[9]})
		}
	}
	return all, lines.Err()
}

// ListensAt are the addresses at which a process of this machine listens, the smallest
// port first. That at all addresses is named by this machine's own.
func ListensAt(pid int) ([]netip.AddrPort, error) { return listensAt("/proc", pid) }

func listensAt(proc string, pid int) ([]netip.AddrPort, error) {
	own, err := sockets(filepath.Join(proc, strconv.Itoa(pid), "fd"))
	if err != nil {
		return nil, fmt.Errorf("the open files of process %d: %w", pid, err)
	}
	var found []netip.AddrPort
	for _, name := range []string{"tcp", "tcp6"} {
		// Those of the process's own network, which may be a container's.
		all, err := allListening(filepath.Join(proc, strconv.Itoa(pid), "net", name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, l := range all {
			if !own[l.inode] {
				continue
			}
			addr := l.at.Addr().Unmap()
			switch addr {
			case netip.IPv4Unspecified(), netip.IPv6Unspecified():
				addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
			}
			found = append(found, netip.AddrPortFrom(addr, l.at.Port()))
		}
	}
	slices.SortFunc(found, func(a, b netip.AddrPort) int {
		return cmp.Or(cmp.Compare(a.Port(), b.Port()), a.Addr().Compare(b.Addr()))
	})
	return slices.Compact(found), nil
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
	own, err := sockets(folder)
	if err != nil {
		return false
	}
	for inode := range own {
		if inodes[inode] {
			return true
		}
	}
	return false
}

// sockets are the inodes of those among a process's open files.
func sockets(folder string) (map[string]bool, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, f := range files {
		link, err := os.Readlink(filepath.Join(folder, f.Name()))
		inode, ok := strings.CutPrefix(link, "socket:[")
		if err == nil && ok {
			found[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return found, nil
}
