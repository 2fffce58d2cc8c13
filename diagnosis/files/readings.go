package files

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/diagnosis"
)

// columns of a table of memory, MiB, and the meters that they are.
var columns = map[string]string{
	"device_used_mib": memtrix.VRAMDeviceUsed,
	"device_free_mib": memtrix.VRAMDeviceFree,
	"rss_mib":         memtrix.RAMTreeRSS,
	"rss_anon_mib":    memtrix.RAMTreeAnon,
	"rss_file_mib":    memtrix.RAMTreeFile,
	"rss_shmem_mib":   memtrix.RAMTreeShmem,
	"swap_mib":        memtrix.SwapTreeUsed,
	"available_mib":   memtrix.RAMHostAvailable,
	"pinned_mib":      "pinned.process.used",
}

// Memory reads a table of memory: a CSV with t_s (seconds) and columns of MiB, by
// name: device_used_mib, rss_mib, rss_anon_mib, rss_file_mib, rss_shmem_mib,
// swap_mib and some more. Columns of other names pass by, as do empty cells.
func Memory(r io.Reader) ([]memtrix.Series, error) {
	in, err := open(r)
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	c := csv.NewReader(in)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("memory: no header with t_s and columns of MiB: %w", err)
	}
	at := -1
	series := make([]*memtrix.Series, len(head))
	for i, name := range head {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if name == "t_s" {
			at = i
		} else if meter := columns[name]; meter != "" {
			series[i] = &memtrix.Series{Meter: memtrix.Meter{Name: meter, Unit: memtrix.UnitBytes}}
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("memory: the header has no column t_s: %s", strings.Join(head, ","))
	}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		line, _ := c.FieldPos(0)
		if err := addRow(row, at, series); err != nil {
			return nil, fmt.Errorf("memory: line %d: %w", line, err)
		}
	}
	var found []memtrix.Series
	for _, s := range series {
		if s != nil && len(s.T) > 0 {
			found = append(found, *s)
		}
	}
	return found, nil
}

func addRow(row []string, at int, series []*memtrix.Series) error {
	t, err := strconv.ParseFloat(row[at], 64)
	if err != nil {
		return fmt.Errorf("t_s: %w", err)
	}
	when, err := seconds(t)
	if err != nil {
		return err
	}
	for i, s := range series {
		if s == nil || row[i] == "" {
			continue
		}
		mib, err := strconv.ParseFloat(row[i], 64)
		if err != nil || !(mib >= 0 && mib < 1<<40) {
			return fmt.Errorf("%q is no number of MiB", row[i])
		}
		if n := len(s.T); n > 0 && when < s.T[n-1] {
			return fmt.Errorf("the time %s s comes before the line above it", row[at])
		}
		s.T, s.V = append(s.T, when), append(s.V, int64(mib*(1<<20)))
	}
	return nil
}

// Host is what the machine and the memory group told beside the server.
type Host struct {
	Series []memtrix.Series
	Cgroup *diagnosis.Cgroup
}

// hostLine: texts are files of Linux as they were read.
type hostLine struct {
	At        *float64        `json:"t_s"`
	Faults    *int64          `json:"majflt"`
	PSI       string          `json:"psi_memory"`
	Meminfo   string          `json:"meminfo"`
	GroupPSI  string          `json:"cgroup.memory.pressure"`
	Current   json.RawMessage `json:"cgroup.memory.current"`
	Peak      json.RawMessage `json:"cgroup.memory.peak"`
	Max       json.RawMessage `json:"cgroup.memory.max"`
	Events    string          `json:"cgroup.memory.events"`
	SwapUsed  json.RawMessage `json:"cgroup.memory.swap.current"`
	Available *int64          `json:"mem_available_bytes"`
}

var (
	psiFull   = regexp.MustCompile(`(?m)^full .*total=(\d+)`)
	psiSome   = regexp.MustCompile(`(?m)^some .*total=(\d+)`)
	maxEvents = regexp.MustCompile(`(?m)^max (\d+)`)
	oomKills  = regexp.MustCompile(`(?m)^oom_kill (\d+)`)
	available = regexp.MustCompile(`(?m)^MemAvailable:\s+(\d+) kB`)
	swapTotal = regexp.MustCompile(`(?m)^SwapTotal:\s+(\d+) kB`)
	swapFree  = regexp.MustCompile(`(?m)^SwapFree:\s+(\d+) kB`)
)

// ReadHost reads one JSON object a line, with t_s (seconds) and what was read:
// majflt (major faults of the server's processes), psi_memory and the files of the
// memory group as text. Where the group's pressure is told, it counts: that of the
// host includes what others do.
func ReadHost(r io.Reader) (Host, error) {
	var h hostReader
	if err := eachLine(r, h.line); err != nil {
		return Host{}, fmt.Errorf("host: %w", err)
	}
	return h.host(), nil
}

type hostReader struct {
	series    map[string]*memtrix.Series
	order     []string
	max, peak int64
	events    string
}

func (h *hostReader) line(_ int, data []byte) error {
	var l hostLine
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	if l.At == nil {
		return errors.New("no time (t_s)")
	}
	at, err := seconds(*l.At)
	if err != nil {
		return err
	}
	add := func(meter string, unit memtrix.Unit, counter bool, v int64, ok bool) {
		if !ok {
			return
		}
		s := h.series[meter]
		if s == nil {
			s = &memtrix.Series{Meter: memtrix.Meter{Name: meter, Unit: unit, Counter: counter}}
			if h.series == nil {
				h.series = map[string]*memtrix.Series{}
			}
			h.series[meter] = s
			h.order = append(h.order, meter)
		}
		if n := len(s.T); n > 0 && at < s.T[n-1] {
			return
		}
		s.T, s.V = append(s.T, at), append(s.V, v)
	}
	if l.Faults != nil {
		add(memtrix.FaultsTreeMajor, memtrix.UnitCount, true, *l.Faults, true)
	}
	const microsecond, kB = 1000, 1024
	for prefix, text := range map[string]string{"": l.PSI, ofGroup: l.GroupPSI} {
		full, ok := number(psiFull, text, microsecond)
		add(prefix+memtrix.PSIMemoryFull, memtrix.UnitNanoseconds, true, full, ok)
		some, ok := number(psiSome, text, microsecond)
		add(prefix+memtrix.PSIMemorySome, memtrix.UnitNanoseconds, true, some, ok)
	}
	left, ok := number(available, l.Meminfo, kB)
	if l.Available != nil {
		left, ok = *l.Available, true
	}
	add(memtrix.RAMHostAvailable, memtrix.UnitBytes, false, left, ok)
	total, ok1 := number(swapTotal, l.Meminfo, kB)
	free, ok2 := number(swapFree, l.Meminfo, kB)
	add(memtrix.SwapHostUsed, memtrix.UnitBytes, false, total-free, ok1 && ok2)
	current, ok := whole(l.Current)
	add(memtrix.CgroupMemoryCurrent, memtrix.UnitBytes, false, current, ok)
	swap, ok := whole(l.SwapUsed)
	add(memtrix.CgroupSwapCurrent, memtrix.UnitBytes, false, swap, ok)
	hits, ok := number(maxEvents, l.Events, 1)
	add(memtrix.CgroupEventsMax, memtrix.UnitCount, true, hits, ok)
	if n, ok := whole(l.Max); ok {
		h.max = n
	}
	if n, ok := whole(l.Peak); ok {
		h.peak = max(h.peak, n)
	}
	if l.Events != "" {
		h.events = l.Events
	}
	return nil
}

// ofGroup marks the pressure of the memory group until it is clear which counts.
const ofGroup = "group."

func (h *hostReader) host() Host {
	var found Host
	slices.Sort(h.order)
	for _, name := range h.order {
		if h.series[ofGroup+name] != nil {
			continue
		}
		s := *h.series[name]
		s.Meter.Name = strings.TrimPrefix(name, ofGroup)
		found.Series = append(found.Series, s)
	}
	if h.events == "" {
		return found
	}
	hits, _ := number(maxEvents, h.events, 1)
	kills, _ := number(oomKills, h.events, 1)
	found.Cgroup = &diagnosis.Cgroup{Max: h.max, MaxEvents: hits, OOMKills: kills}
	if h.max == 0 && hits > 0 {
		// A group that was held at its limit has been exactly that large.
		found.Cgroup.Max = h.peak
	}
	return found
}

// number finds a count, times a factor.
func number(p *regexp.Regexp, text string, factor int64) (int64, bool) {
	m := p.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > 1<<62/factor {
		return 0, false
	}
	return n * factor, true
}

// whole reads a number, or a file with one; "max" is none.
func whole(raw json.RawMessage) (int64, bool) {
	text := string(raw)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		text = s
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}
