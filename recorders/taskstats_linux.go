package recorders

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// taskstats is a socket to which the kernel sends what it counted for each thread
// that ends on the machine
// (https://docs.kernel.org/accounting/taskstats.html). To ask for it needs
// CAP_NET_ADMIN outside every container.
type taskstats struct {
	fd  int
	buf []byte
}

// taskstatsRoom is for some thousand ends between two looks.
const taskstatsRoom = 8 << 20

func openTaskstats() (*taskstats, error) {
	cpus, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return nil, fmt.Errorf("taskstats: %w", err)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("taskstats: %w", err)
	}
	t := &taskstats{fd, make([]byte, 64<<10)}
	if err := t.register(bytes.TrimSpace(cpus)); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// register asks for the ends on the given processors ("0-7").
func (t *taskstats) register(cpus []byte) error {
	if err := unix.Bind(t.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("taskstats: %w", err)
	}
	// A refusal is answered at once; this is against a kernel that does not answer.
	timeout := unix.NsecToTimeval(1e9)
	unix.SetsockoptTimeval(t.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	reply, err := t.ask(unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, unix.CTRL_ATTR_FAMILY_NAME, "TASKSTATS\x00")
	if errors.Is(err, unix.ENOENT) {
		return errors.New("the kernel has no taskstats here (CONFIG_TASKSTATS, and not in a container)")
	} else if err != nil {
		return fmt.Errorf("taskstats: %w", err)
	}
	id, ok := attribute(reply, unix.CTRL_ATTR_FAMILY_ID)
	if !ok || len(id) < 2 {
		return errors.New("taskstats: the kernel does not tell the family's number")
	}
	unix.SetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, taskstatsRoom)
	_, err = t.ask(binary.NativeEndian.Uint16(id), unix.TASKSTATS_CMD_GET, unix.TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, string(cpus)+"\x00")
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("taskstats needs CAP_NET_ADMIN outside every container: %w", err)
	case err != nil:
		return fmt.Errorf("taskstats: %w", err)
	}
	return unix.SetNonblock(t.fd, true)
}

const netlinkHeader, genericHeader = unix.SizeofNlMsghdr, unix.SizeofNlMsghdr + unix.GENL_HDRLEN

// ask sends one request with one attribute and gives the attributes of the answer,
// none where the kernel only agrees.
func (t *taskstats) ask(family uint16, command byte, kind uint16, text string) ([]byte, error) {
	n := genericHeader + unix.SizeofNlAttr + len(text)
	b := make([]byte, (n+3)&^3)
	order := binary.NativeEndian
	order.PutUint32(b[0:], uint32(n))
	order.PutUint16(b[4:], family)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b[netlinkHeader], b[netlinkHeader+1] = command, 1
	order.PutUint16(b[genericHeader:], uint16(unix.SizeofNlAttr+len(text)))
	order.PutUint16(b[genericHeader+2:], kind)
	copy(b[genericHeader+unix.SizeofNlAttr:], text)
	if _, err := unix.Write(t.fd, b); err != nil {
		return nil, err
	}
	var answer []byte
	for {
		n, err := unix.Read(t.fd, t.buf)
		if err != nil {
			return nil, err
		}
		for message := range messages(t.buf[:n]) {
			if order.Uint16(message[4:]) != unix.NLMSG_ERROR {
				answer = bytes.Clone(message[genericHeader:])
				continue
			}
			if code := -int32(order.Uint32(message[netlinkHeader:])); code != 0 {
				return nil, unix.Errno(code)
			}
			return answer, nil
		}
	}
}

// messages cuts what was read.
func messages(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) >= genericHeader {
			n := int(binary.NativeEndian.Uint32(b))
			if n < genericHeader || n > len(b) || !yield(b[:n]) {
				return
			}
			b = b[min((n+3)&^3, len(b)):]
		}
	}
}

// attribute finds one in a row of attributes.
func attribute(b []byte, kind uint16) ([]byte, bool) {
	for len(b) >= unix.SizeofNlAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofNlAttr || n > len(b) {
			return nil, false
		}
		if binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return b[unix.SizeofNlAttr:n], true
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil, false
}

// drain gives the ends that wait. Some were lost when the socket had no room.
func (t *taskstats) drain(got func(exit)) (lost bool, err error) {
	for {
		n, err := unix.Read(t.fd, t.buf)
		switch {
		case err == unix.EAGAIN:
			return lost, nil
		case err == unix.ENOBUFS:
			lost = true
			continue
		case err == unix.EINTR:
			continue
		case err != nil:
			return lost, fmt.Errorf("taskstats: %w", err)
		}
		for message := range messages(t.buf[:n]) {
			var s unix.Taskstats
			if ending(message[genericHeader:], &s) {
				got(exitOf(&s))
			}
		}
	}
}

// ending reads the numbers of one thread's end. An older kernel sends fewer of
// them, a newer one more.
func ending(b []byte, s *unix.Taskstats) bool {
	nest, ok := attribute(b, unix.TASKSTATS_TYPE_AGGR_PID)
	if !ok {
		return false
	}
	stats, ok := attribute(nest, unix.TASKSTATS_TYPE_STATS)
	if !ok {
		return false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(s)), unsafe.Sizeof(*s)), stats)
	return s.Ac_pid != 0
}

func (t *taskstats) close() error { return unix.Close(t.fd) }
