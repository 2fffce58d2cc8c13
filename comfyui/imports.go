package comfyui

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// AllPacks is the name under which the import of several packs together stands.
const AllPacks = "*"

// importLog is what a server says of the custom node packs that it imports, see
// init_external_custom_nodes in nodes.py and execute_prestartup_script in main.py.
// The zero value has read nothing.
type importLog struct {
	list  []memtrix.PackImport
	table string // which table the last line was in: "import", "prestartup", ""
	ended bool   // the table of import times was begun
	begin time.Duration
	end   time.Duration
	begun bool
	// trying are the packs in the order in which they were begun (DEBUG only).
	trying []tried
	why    map[string]string
}

type tried struct {
	pack string
	at   time.Duration
}

var (
	tableHead   = regexp.MustCompile(`^(Import|Prestartup) times for custom nodes:$`)
	tableRow    = regexp.MustCompile(`^ *(\d+\.\d+) seconds( \((?:IMPORT|PRESTARTUP) FAILED\))?: (.+)$`)
	tryingLine  = regexp.MustCompile(`^Trying to load custom node (.+)$`)
	skippedMark = "Skipping " + markName + " due to "
	// failures hold the path of a pack and why it is not there.
	failures = []*regexp.Regexp{
		regexp.MustCompile(`^Cannot import (.+?) module for custom nodes: ?(.*)$`),
		regexp.MustCompile(`^Skip (.+) module for custom nodes (due to .+)$`),
		regexp.MustCompile(`^Error while calling comfy_entrypoint in (.+?): (.*)$`),
		regexp.MustCompile(`^(?:comfy_entrypoint in) (.+?) ((?:is not callable|did not return).*)$`),
		regexp.MustCompile(`^Failed to execute startup-script: (.+?)/prestartup_script\.py / (.*)$`),
	}
)

// read takes one more line of the output.
func (l *importLog) read(at time.Duration, line string) {
	for _, token := range Clean(line) {
		l.token(at, token.Text)
	}
}

func (l *importLog) token(at time.Duration, text string) {
	if m := tableHead.FindStringSubmatch(text); m != nil {
		l.table = strings.ToLower(m[1])
		if l.table == "import" && !l.ended {
			l.ended, l.end = true, at
		}
		return
	}
	if m := tableRow.FindStringSubmatch(text); m != nil && l.table != "" {
		l.row(m[1], m[2] != "", filepath.Base(m[3]))
		return
	}
	l.table = ""
	switch {
	case strings.HasPrefix(text, skippedMark):
		l.begin, l.begun = at, true
		return
	case l.ended:
		return // of what comes later, nothing is about imports
	}
	if m := tryingLine.FindStringSubmatch(text); m != nil {
		l.trying = append(l.trying, tried{filepath.Base(m[1]), at})
		return
	}
	for _, f := range failures {
		if m := f.FindStringSubmatch(text); m != nil {
			if l.why == nil {
				l.why = map[string]string{}
			}
			l.why[filepath.Base(m[1])] = strings.TrimSpace(m[2])
			return
		}
	}
}

// row is one pack's line in one of the two tables.
func (l *importLog) row(seconds string, failed bool, pack string) {
	n, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return
	}
	i := slices.IndexFunc(l.list, func(p memtrix.PackImport) bool { return p.Pack == pack })
	if i < 0 {
		i = len(l.list)
		l.list = append(l.list, memtrix.PackImport{Pack: pack})
	}
	p := &l.list[i]
	if l.table == "prestartup" {
		p.PrestartSeconds = &n
	} else {
		p.Seconds = &n
	}
	if failed {
		p.Failed = true
		if p.Reason = l.why[pack]; p.Reason == "" {
			p.Reason = "the server does not say why"
		}
	}
}

// of is what was said of a pack's import; false while its line has not come.
func (l *importLog) of(pack string) (memtrix.PackImport, bool) {
	for _, p := range l.list {
		if p.Pack == pack {
			return p, p.Seconds != nil || p.Failed
		}
	}
	return memtrix.PackImport{}, false
}

// imports are those of the given packs, with when each began and ended as far as
// the log tells, or why it does not.
func (l *importLog) imports(packs []memtrix.Pack) []memtrix.PackImport {
	var list []memtrix.PackImport
	for _, pack := range packs {
		p, listed := l.of(pack.Name)
		if !listed {
			continue
		}
		l.place(&p)
		list = append(list, p)
	}
	if len(list) > 1 && l.begun && l.ended {
		sum := 0.0
		for _, p := range list {
			if p.Seconds != nil {
				sum += *p.Seconds
			}
		}
		list = append(list, memtrix.PackImport{Pack: AllPacks, Seconds: &sum, Begin: begunBy(l.begin, l.end, sum, len(list)), End: l.end})
	}
	return list
}

// place finds when a pack was imported. Packs are imported one after another, and
// only with --verbose DEBUG each is named before.
func (l *importLog) place(p *memtrix.PackImport) {
	for i, t := range l.trying {
		if t.pack != p.Pack {
			continue
		}
		p.Begin, p.End = t.at, l.end
		if i+1 < len(l.trying) {
			p.End = l.trying[i+1].at
		}
		if p.Seconds != nil {
			p.Begin = begunBy(p.Begin, p.End, *p.Seconds, 1)
		}
		return
	}
	timed := 0
	for _, other := range l.list {
		if other.Seconds != nil {
			timed++
		}
	}
	switch {
	case !l.ended:
		p.RAMWhy = "the server did not say when its imports ended"
	case !l.begun:
		p.RAMWhy = "this release does not say when its imports begin (with args: [--verbose, DEBUG] it does)"
	case timed > 1:
		p.RAMWhy = "the log does not say when each of several imports begins (with args: [--verbose, DEBUG] it does)"
	case p.Seconds != nil:
		p.Begin, p.End = begunBy(l.begin, l.end, *p.Seconds, 1), l.end
	default:
		p.Begin, p.End = l.begin, l.end
	}
}

// begunBy is when an import began at the latest. On a busy machine a line comes up
// to tenths of a second after it was written, when memory is already taken; then the
// time that the server itself took, with what its rounding leaves out, tells better.
func begunBy(line, end time.Duration, seconds float64, imports int) time.Duration {
	const rounding = 50 * time.Millisecond
	took := time.Duration(seconds*float64(time.Second)) + time.Duration(imports)*rounding
	return max(min(line, end-took), 0)
}

// facts are for the trial's environment: which packs are there and which are not.
func (l *importLog) facts(packs []memtrix.Pack) memtrix.Environment {
	facts := memtrix.Environment{}
	for _, pack := range packs {
		p, listed := l.of(pack.Name)
		switch {
		case p.Failed:
			facts["pack."+pack.Name+".import"] = "failed: " + p.Reason
		case listed:
			facts["pack."+pack.Name+".import"] = "ok"
		}
	}
	return facts
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// Imports are what the server said of the import of the trial's packs.
func (i *Instance) Imports() []memtrix.PackImport {
	i.saying.Lock()
	defer i.saying.Unlock()
	return i.imports.imports(i.job.Cell.Version.Packs)
}

// notImported are the packs of the trial that are not there, as told by now.
func (i *Instance) notImported() []string {
	i.saying.Lock()
	defer i.saying.Unlock()
	return notImported(i.job.Cell.Version.Packs, i.imports, i.banner)
}
