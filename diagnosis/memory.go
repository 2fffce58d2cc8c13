package diagnosis

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"memtrix"
)

// shortage is what a text says about memory that ran out.
type shortage struct {
	memory          memtrix.Memory
	requested, free *int64
}

// rule names a memory by text that only one allocator prints.
type rule struct {
	text   *regexp.Regexp
	memory memtrix.Memory
}

// rules are tried in this order on "type: message" of an exception.
var rules = []rule{
	// aimdo; the text really spells it so. Addresses ran out, not bytes.
	{regexp.MustCompile(`rese?r?ve Virtual Address space|VBAR (allocation failed|OOM)`), memtrix.MemoryGPUAddressSpace},
	// c10/core/impl/alloc_cpu.cpp; Linux and Windows say it differently.
	{regexp.MustCompile(`DefaultCPUAllocator: (can't allocate|not enough) memory`), memtrix.MemoryRAM},
	// ERROR_COMMITMENT_LIMIT; the number stays when the text is translated.
	{regexp.MustCompile(`(?i)(os error|WinError) 1455\b|paging file is too small|\b0xc000012d\b`), memtrix.MemoryCommit},
	// A private writable mapping counts against the commit limit as a whole.
	{regexp.MustCompile(`unable to mmap \d+ bytes from file.*Cannot allocate memory`), memtrix.MemoryCommit},
	{regexp.MustCompile(`MPS backend out of memory`), memtrix.MemoryUnified},
	// torch's caching allocators.
	{regexp.MustCompile(`\b(CUDA|HIP|XPU) out of memory\. Tried to allocate`), memtrix.MemoryVRAM},
	{regexp.MustCompile(`Allocation on device( \d+)?( would exceed allowed memory|\s*$|\s*\n)`), memtrix.MemoryVRAM},
	// torch-directml.
	{regexp.MustCompile(`Could not allocate tensor with \S+ bytes\. There is not enough GPU video memory available`), memtrix.MemoryVRAM},
	// numpy and Python itself: malloc.
	{regexp.MustCompile(`Unable to allocate [\d.]+ \w+ for an array`), memtrix.MemoryRAM},
	{regexp.MustCompile(`(^|[\s.:])(_Array)?MemoryError\b`), memtrix.MemoryRAM},
	// Only device allocators raise this class, whatever language the text is in.
	{regexp.MustCompile(`\btorch\.(cuda\.)?OutOfMemoryError\b`), memtrix.MemoryVRAM},
}

var (
	// deviceError is what the driver answers to any call: allocating on the card
	// and pinning host memory fail with the same words.
	deviceError = regexp.MustCompile(`\b(CUDA|HIP) error: out of memory|AcceleratorError.*out of memory`)
	// hostBuffer are aimdo's and ComfyUI's words around host memory.
	hostBuffer = regexp.MustCompile(`HostBuffer\.\w+ failed|hostbuf\w*: .*(failed result=2|beyond reserved host buffer)|Pin error\.|cudaHostRegister|cudaHostAlloc|pin_memory`)
	// someMemory tells that memory ran out, but not which: ENOMEM of any call, and
	// Metal's largest single buffer.
	someMemory = regexp.MustCompile(`\[Errno 12\]|Invalid buffer size: [\d.]+ [MGT]i?B`)

	requestedText = []*regexp.Regexp{
		regexp.MustCompile(`Tried to allocate ([\d.]+) (bytes|[KMGT]i?B)`),
		regexp.MustCompile(`(?m)^Requested\s*: ([\d.]+) (bytes|[KMGT]i?B)`),
		regexp.MustCompile(`you tried to allocate (\d+) (bytes)`),
		regexp.MustCompile(`unable to mmap (\d+) (bytes)`),
		regexp.MustCompile(`Could not allocate tensor with (\d+) (bytes)`),
		regexp.MustCompile(`Unable to allocate ([\d.]+) (bytes|[KMGT]i?B) for an array`),
		regexp.MustCompile(`Invalid buffer size: ([\d.]+) ([KMGT]i?B)`),
	}
	freeText = []*regexp.Regexp{
		regexp.MustCompile(`of which ([\d.]+) (bytes|[KMGT]i?B) is free`),
		regexp.MustCompile(`(?m)^Free \(according to CUDA\)\s*: ([\d.]+) (bytes|[KMGT]i?B)`),
	}
	holderText = regexp.MustCompile(`Process (\d+) has ([\d.]+) ([KMGT]i?B) memory in use`)
)

// readShortage says what an exception means for memory; around gives the log
// lines in front of it, for texts that do not suffice. The second result is
// false when it is not about memory.
func readShortage(exception string, around func() string) (shortage, bool) {
	s, ok := matchRules(exception, around)
	if !ok {
		return shortage{}, false
	}
	s.requested, s.free = findBytes(exception, requestedText), findBytes(exception, freeText)
	if s.memory == memtrix.MemoryVRAM && s.plentyFree() {
		// The card had room: fragments, a limit or a failing driver. The text does
		// not say which.
		s.memory = memtrix.MemoryUnknown
	}
	return s, true
}

func matchRules(exception string, around func() string) (s shortage, ok bool) {
	for _, r := range rules {
		if r.text.MatchString(exception) {
			s.memory = r.memory
			return s, true
		}
	}
	switch {
	case deviceError.MatchString(exception):
		s.memory = memtrix.MemoryUnknown
		if hostBuffer.MatchString(exception) || hostBuffer.MatchString(around()) {
			s.memory = memtrix.MemoryPinned
		}
		return s, true
	case hostBuffer.MatchString(exception) && strings.Contains(around(), "failed result=2"):
		// 2 is CUDA_ERROR_OUT_OF_MEMORY.
		s.memory = memtrix.MemoryPinned
		return s, true
	case someMemory.MatchString(exception):
		s.memory = memtrix.MemoryUnknown
		return s, true
	}
	return shortage{}, false
}

// plentyFree says that much more was free than asked for, beyond what rounding
// and the driver's own pages explain.
func (s shortage) plentyFree() bool {
	const slack = 256 << 20
	return s.requested != nil && s.free != nil && *s.free > 2**s.requested && *s.free-*s.requested > slack
}

// findBytes finds the first amount that any of the patterns matches.
func findBytes(text string, patterns []*regexp.Regexp) *int64 {
	for _, p := range patterns {
		if m := p.FindStringSubmatch(text); m != nil {
			if n, ok := parseBytes(m[1], m[2]); ok {
				return &n
			}
		}
	}
	return nil
}

// parseBytes reads an amount as torch writes it: "KB", "MB" and "GB" of its MPS
// allocator are powers of 1024, too (aten/src/ATen/mps/MPSAllocator.h).
func parseBytes(number, unit string) (int64, bool) {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	switch unit[0] {
	case 'K':
		n *= 1 << 10
	case 'M':
		n *= 1 << 20
	case 'G':
		n *= 1 << 30
	case 'T':
		n *= 1 << 40
	}
	if n < 0 || n > math.MaxInt64/2 {
		return 0, false
	}
	return int64(math.Round(n)), true
}
