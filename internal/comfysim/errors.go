package comfysim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pyError is a Python exception that a node raises.
type pyError struct {
	typ     string // with its module, as full_type_name gives it
	message string
	oom     bool // the prompt's error adds tips and models are unloaded
	table   string
	stage   string // which traceback goes with it: "KSampler.sample"
}

func (e *pyError) Error() string { return e.typ + ": " + e.message }

// at names the place where an exception came up, once.
func at(stage string, err error) error {
	if e, ok := errors.AsType[*pyError](err); ok && e.stage == "" {
		e.stage = stage
	}
	return err
}

var errInterrupted = errors.New("interrupted")

const oomTips = "This error means you ran out of memory on your GPU.\n\n" +
	"TIPS: If the workflow worked before you might have accidentally set the batch_size to a large number."

// pythonize turns a failed allocation into the exception torch raises.
func (m *memory) pythonize(err error) error {
	if oom, ok := errors.AsType[*outOfMemory](err); ok {
		return &pyError{typ: "torch.OutOfMemoryError", message: m.oomText(oom), oom: true, table: m.oomTable(oom)}
	}
	if h, ok := errors.AsType[*hostFailure](err); ok {
		return &pyError{typ: "RuntimeError", message: h.Error()}
	}
	return err
}

// oomText is torch's text: five lines from the driver's asynchronous allocator,
// one long line from torch's own.
func (m *memory) oomText(e *outOfMemory) string {
	s := e.stats
	if !m.cfg.native {
		return "Allocation on device 0 would exceed allowed memory. (out of memory)\n" +
			"Currently allocated     : " + torchSize(s.torch) + "\n" +
			"Requested               : " + torchSize(e.requested) + "\n" +
			"Device limit            : " + torchSize(s.total) + "\n" +
			"Free (according to CUDA): " + torchSize(s.free) + "\n" +
			"PyTorch limit (set by user-supplied memory fraction)\n" +
			"                        : 17179869184.00 GiB"
	}
	other := ""
	if s.others > 0 {
		other = "Process 1613 has " + torchSize(s.others) + " memory in use. "
	}
	return fmt.Sprintf("CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which %s is free. "+
		"%sIncluding non-PyTorch memory, this process has %s memory in use. Of the allocated memory %s is allocated by "+
		"PyTorch, and %s is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "+
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "+
		"(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)",
		torchSize(e.requested), torchSize(s.total), torchSize(s.free), other, torchSize(s.own), torchSize(s.torch),
		torchSize(s.cached+s.torch/fragments))
}

// fragments: torch's own allocator holds a fiftieth more than it has given out.
const fragments = 50

// torchSize is c10's format_size.
func torchSize(n int64) string {
	switch {
	case n <= 1024:
		return fmt.Sprintf("%d bytes", n)
	case n <= mib:
		return fmt.Sprintf("%.2f KiB", float64(n)/float64(kib))
	case n <= gib:
		return fmt.Sprintf("%.2f MiB", float64(n)/float64(mib))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/float64(gib))
}

// oomTable is torch.cuda.memory_summary(). With cudaMallocAsync only the current
// and the peak use are known.
func (m *memory) oomTable(e *outOfMemory) string {
	s := e.stats
	reserved := s.torch + s.cached + s.torch/fragments
	used, res := [4]int64{s.torch, s.peakActive}, [4]int64{reserved, max(s.peakReserved, reserved)}
	t := &summaryTable{pools: m.cfg.native}
	var requested, rest, counts [4]int64
	ooms, retries := 0, 0
	if m.cfg.native {
		ooms, retries = 1, 2
		used[2], used[3] = s.sumActive+s.torch, s.sumActive
		res[2], res[3] = s.sumActive+reserved, s.sumActive
		requested, rest = used, [4]int64{s.cached + s.torch/fragments, s.cached + s.torch/fragments}
		n := int64(s.allocations)
		counts = [4]int64{2, n, n, n - 2}
	}
	t.head(ooms, retries)
	t.size("Allocated memory", used)
	t.size("Active memory", used)
	t.size("Requested memory", requested)
	t.size("GPU reserved memory", res)
	t.size("Non-releasable memory", rest)
	t.count("Allocations", counts)
	t.count("Active allocs", counts)
	t.count("GPU reserved segments", counts)
	t.count("Non-releasable allocs", [4]int64{})
	t.row("Oversize allocations", [4]int64{}, [4]int64{}, countColumn)
	t.row("Oversize GPU segments", [4]int64{}, [4]int64{}, countColumn)
	t.b.WriteString("|" + strings.Repeat("=", 75) + "|\n")
	return t.b.String()
}

type summaryTable struct {
	b     strings.Builder
	pools bool // the allocator knows its pools
}

func (t *summaryTable) head(ooms, retries int) {
	double, single := "|"+strings.Repeat("=", 75)+"|\n", "|"+strings.Repeat("-", 75)+"|\n"
	t.b.WriteString(double)
	t.b.WriteString("|                  PyTorch CUDA memory summary, device ID 0                 |\n")
	t.b.WriteString(single)
	fmt.Fprintf(&t.b, "|            CUDA OOMs: %-12d |        cudaMalloc retries: %-9d |\n", ooms, retries)
	t.b.WriteString(double)
	t.b.WriteString("|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n")
}

// size writes a metric and its two pools. Everything is in the large pool: what
// is simulated is large.
func (t *summaryTable) size(name string, v [4]int64) { t.metric(name, v, torchColumn) }

func (t *summaryTable) count(name string, v [4]int64) { t.metric(name, v, countColumn) }

func (t *summaryTable) metric(name string, v [4]int64, column func(n, like int64) string) {
	t.row(name, v, v, column)
	large := v
	if !t.pools {
		large = [4]int64{}
	}
	t.row("      from large pool", large, v, column)
	t.row("      from small pool", [4]int64{}, v, column)
}

// row writes v in the units of like.
func (t *summaryTable) row(name string, v, like [4]int64, column func(n, like int64) string) {
	if !strings.HasPrefix(name, " ") {
		t.b.WriteString("|" + strings.Repeat("-", 75) + "|\n")
	}
	fmt.Fprintf(&t.b, "| %-21s ", name)
	for i := range v {
		fmt.Fprintf(&t.b, "| %s ", column(v[i], like[i]))
	}
	t.b.WriteString("|\n")
}

func countColumn(n, _ int64) string { return fmt.Sprintf("%7d   ", n) }

// torchColumn is torch's _format_size: n in the unit that like is shown in.
func torchColumn(n, like int64) string {
	units := []string{"B  ", "KiB", "MiB", "GiB"}
	i := 0
	for like >= 768*1024 && i < len(units)-1 {
		i++
		n /= 1024
		like /= 1024
	}
	return fmt.Sprintf("%6d %s", n, units[i])
}

// frames are the lines of the traceback that goes with a stage, without the
// quoted source (as in the recordings).
func (e *pyError) frames() []string {
	data, err := texts.ReadFile("text/trace-" + e.stage + ".txt")
	if err != nil {
		data, _ = texts.ReadFile("text/trace-any.txt")
		data = []byte(strings.ReplaceAll(string(data), "{function}", e.stage[strings.IndexByte(e.stage, '.')+1:]))
	}
	return slices.Collect(strings.Lines(string(data)))
}
