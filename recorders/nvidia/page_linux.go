//go:build cgo

package nvidia

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// page is memory of the driver's that it lets every program read: in it the driver
// itself writes how much of a card is free, at each allocation and release. To look
// takes nanoseconds and no lock, where each call of NVML takes about 12 us, and
// some milliseconds while another process initialises CUDA.
//
// It is class RM_USER_SHARED_DATA of the kernel module, in the driver since 545 and
// with the layout read here since 565
// (https://github.com/NVIDIA/open-gpu-kernel-modules, class/cl00de.h of each
// release). NVML remains what is believed: see watch_linux.go.
type page struct {
	data  []byte
	files []int
	// known is what NVML said when the page was opened, and offset what it called
	// free beyond what the page did.
	known  Memory
	offset int64
}

// pageDriver is the first driver whose page has the layout of pmaInfo.
const pageDriver = 565

// pmaInfo is RUSD_PMA_MEMORY_INFO of cl00de.h, at pmaAt of the page: bytes that
// the physical memory allocator has. The driver counts seq up before and after it
// writes; while it is odd the rest is not valid.
type pmaInfo struct {
	seq         uint64
	total, free uint64
}

const (
	pmaAt    = 16
	firstSeq = 0xff << 56 // RUSD_SEQ_START
)

// Of nv-ioctl-numbers.h, nv_escape.h, nvos.h, ctrl0000gpu.h and the classes' headers.
const (
	escFree      = 0x29
	escControl   = 0x2a
	escAlloc     = 0x2b
	escMapMemory = 0x4e

	classRoot      = 0x41
	classDevice    = 0x80
	classSubdevice = 0x2080
	classPage      = 0xde

	gpuAttachedIDs = 0x201
	gpuIDInfo      = 0x205
	gpuPCIInfo     = 0x21b

	noGPU       = 0xffffffff
	mapReadOnly = 1
	pageLength  = 4096 // of the mapping; what is asked for must not be longer than the driver's
)

// Handles are chosen by the caller; they need to be unique in a client only.
const (
	deviceHandle    = 0xcaf00001
	subdeviceHandle = 0xcaf00002
	pageHandle      = 0xcaf00003
)

type allocParams struct { // NVOS21_PARAMETERS
	root, parent, object, class uint32
	params                      unsafe.Pointer
	size, status                uint32
}

type controlParams struct { // NVOS54_PARAMETERS
	client, object, cmd, flags uint32
	params                     unsafe.Pointer
	size, status               uint32
}

type mapParams struct { // nv_ioctl_nvos33_parameters_with_fd
	client, device, memory uint32
	_                      uint32
	offset, length         uint64
	address                uint64
	status, flags          uint32
	fd                     int32
	_                      uint32
}

type deviceParams struct { // NV0080_ALLOC_PARAMETERS
	id                                        uint32
	clientShare, targetClient, targetDevice   uint32
	flags                                     uint32
	_                                         uint32
	vaSpaceSize, vaStartInternal, vaLimitIntr uint64
	vaMode                                    uint32
	_                                         uint32
}

type idInfo struct { // NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS
	id, flags, device, subdevice, sli, board, instance uint32
	numa                                               int32
}

type pciInfo struct { // NV0000_CTRL_GPU_GET_PCI_INFO_PARAMS
	id, domain uint32
	bus, slot  uint16
}

var errNoPage = errors.New("the driver has no page to read")

// resources is a client of the driver's resource manager.
type resources struct {
	fd     int
	client uint32
}

// openPage maps the page of the card at a place on the PCI bus. The error says why
// there is none, as in a virtual machine with a share of a card (vGPU).
func openPage(driver string, domain, bus, slot uint32) (_ *page, err error) {
	major, _, _ := strings.Cut(driver, ".")
	if n, err := strconv.Atoi(major); err != nil || n < pageDriver {
		return nil, fmt.Errorf("%w: driver %q is older than %d", errNoPage, driver, pageDriver)
	}
	p := &page{}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	control, err := p.open("/dev/nvidiactl")
	if err != nil {
		return nil, err
	}
	r := resources{fd: control}
	if r.client, err = r.alloc(0, 0, classRoot, nil, 0); err != nil {
		return nil, fmt.Errorf("open a client: %w", err)
	}
	gpu, err := r.find(domain, bus, slot)
	if err != nil {
		return nil, err
	}
	dev := deviceParams{id: gpu.device}
	if _, err := r.alloc(r.client, deviceHandle, classDevice, unsafe.Pointer(&dev), unsafe.Sizeof(dev)); err != nil {
		return nil, fmt.Errorf("open device %d: %w", gpu.device, err)
	}
	sub := gpu.subdevice
	if _, err := r.alloc(deviceHandle, subdeviceHandle, classSubdevice, unsafe.Pointer(&sub), unsafe.Sizeof(sub)); err != nil {
		return nil, fmt.Errorf("open subdevice %d: %w", gpu.subdevice, err)
	}
	var polled uint64 // nothing needs to be asked of the card for what is read here
	if _, err := r.alloc(subdeviceHandle, pageHandle, classPage, unsafe.Pointer(&polled), unsafe.Sizeof(polled)); err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	over, err := p.open("/dev/nvidiactl") // a file of its own: the mapping belongs to it
	if err != nil {
		return nil, err
	}
	m := mapParams{client: r.client, device: subdeviceHandle, memory: pageHandle, length: pmaAt + uint64(unsafe.Sizeof(pmaInfo{})), flags: mapReadOnly, fd: int32(over)}
	if err := r.call(escMapMemory, unsafe.Pointer(&m), unsafe.Sizeof(m), &m.status); err != nil {
		return nil, fmt.Errorf("map the page: %w", err)
	}
	if p.data, err = unix.Mmap(over, 0, pageLength, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map the page: %w", err)
	}
	return p, nil
}

func (p *page) open(name string) (int, error) {
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: name, Err: err}
	}
	p.files = append(p.files, fd)
	return fd, nil
}

// compare holds the page against NVML. Cards were seen to agree to the byte; up
// to a twentieth may be counted by one of them only.
func (p *page) compare(nvml func() (Memory, error)) error {
	const tries = 20
	for range tries {
		before := *p.pma()
		m, err := nvml()
		if err != nil {
			return err
		}
		if after := *p.pma(); after != before || after.seq%2 != 0 {
			continue // something allocates at this moment
		}
		p.known, p.offset = m, m.Free-int64(before.free)
		if before.seq < firstSeq || max(p.offset, -p.offset) > m.Total/20 {
			return fmt.Errorf("%w: %d bytes are free according to it, and %d to NVML", errNoPage, before.free, m.Free)
		}
		return nil
	}
	return fmt.Errorf("%w: the card's memory changed at each of %d looks", errNoPage, tries)
}

// pma is where the driver writes.
func (p *page) pma() *pmaInfo { return (*pmaInfo)(unsafe.Pointer(&p.data[pmaAt])) }

// Close gives the page back; the driver frees what hangs on its files.
func (p *page) Close() {
	if p.data != nil {
		unix.Munmap(p.data)
	}
	for _, fd := range p.files {
		unix.Close(fd)
	}
	p.data, p.files = nil, nil
}

// find gives the card at a place on the PCI bus.
func (r resources) find(domain, bus, slot uint32) (idInfo, error) {
	var ids [32]uint32
	if err := r.control(gpuAttachedIDs, unsafe.Pointer(&ids), unsafe.Sizeof(ids)); err != nil {
		return idInfo{}, fmt.Errorf("list cards: %w", err)
	}
	for _, id := range ids {
		if id == noGPU {
			break
		}
		pci := pciInfo{id: id}
		if err := r.control(gpuPCIInfo, unsafe.Pointer(&pci), unsafe.Sizeof(pci)); err != nil {
			return idInfo{}, fmt.Errorf("place of card %#x: %w", id, err)
		}
		if pci.domain != domain || uint32(pci.bus) != bus || uint32(pci.slot) != slot {
			continue
		}
		info := idInfo{id: id}
		if err := r.control(gpuIDInfo, unsafe.Pointer(&info), unsafe.Sizeof(info)); err != nil {
			return idInfo{}, fmt.Errorf("number of card %#x: %w", id, err)
		}
		return info, nil
	}
	return idInfo{}, fmt.Errorf("%w: no card at %04x:%02x:%02x among those that are attached", errNoPage, domain, bus, slot)
}

// alloc makes an object; with handle 0 the driver chooses one.
func (r resources) alloc(parent, handle, class uint32, params unsafe.Pointer, size uintptr) (uint32, error) {
	a := allocParams{root: r.client, parent: parent, object: handle, class: class, params: params, size: uint32(size)}
	err := r.call(escAlloc, unsafe.Pointer(&a), unsafe.Sizeof(a), &a.status)
	return a.object, err
}

func (r resources) control(cmd uint32, params unsafe.Pointer, size uintptr) error {
	c := controlParams{client: r.client, object: r.client, cmd: cmd, params: params, size: uint32(size)}
	return r.call(escControl, unsafe.Pointer(&c), unsafe.Sizeof(c), &c.status)
}

// call is one ioctl of the driver; status points into its argument.
func (r resources) call(number uintptr, arg unsafe.Pointer, size uintptr, status *uint32) error {
	const readWrite, magic = 3, 'F' // _IOWR of linux/ioctl.h
	request := uintptr(readWrite)<<30 | size<<16 | magic<<8 | number
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(r.fd), request, uintptr(arg)); errno != 0 {
		return fmt.Errorf("ioctl %#x: %w", number, errno)
	}
	if *status != 0 {
		return fmt.Errorf("%w: ioctl %#x: status %#x", errNoPage, number, *status) // nvstatuscodes.h
	}
	return nil
}
