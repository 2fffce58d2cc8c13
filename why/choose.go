package why

import (
	"fmt"
	"regexp"
	"time"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/versions/installs"
)

// Read is a log with what its runs were, oldest first.
type Read struct {
	Log  installs.Log
	Runs []Run
	// In is the installation whose log it is, nil where that is not known.
	In *installs.Install
	// Note says what of a very long log was not looked at.
	Note string
}

// Choice is the run to explain.
type Choice struct {
	Read *Read
	Run  *Run
	// Repeats counts the runs right before that ended in the same way.
	Repeats int
	// Newer says what was read first and has nothing to explain.
	Newer []string
	// Good is the last run before it with a prompt that went well, nil for none.
	Good *Good
}

// Good is a run that worked.
type Good struct {
	When   time.Time
	Log    string
	Banner comfyui.Banner
	// Same is set when it is the run that failed later.
	Same bool
}

// Choose takes the newest run that failed from logs in the order in which they were
// written, the newest first. False: nothing failed in any.
func Choose(reads []Read) (Choice, bool) {
	var c Choice
	for i := range reads {
		r := &reads[i]
		for k := len(r.Runs) - 1; k >= 0; k-- {
			if !r.Runs[k].Failed() {
				c.Newer = append(c.Newer, fmt.Sprintf("%s, %s: %s", r.Log.Path, r.when(k).Format("2006-01-02 15:04"), r.Runs[k]))
				continue
			}
			c.Read, c.Run = r, &r.Runs[k]
			c.before(reads[i:], k)
			return c, true
		}
	}
	return c, false
}

// when is the time of a run's end: its own stamps, or for the last one when the
// file was written.
func (r *Read) when(k int) time.Time {
	if !r.Runs[k].Ended.IsZero() {
		return r.Runs[k].Ended
	}
	return r.Log.Changed
}

// Ended is when the chosen run ended.
func (c Choice) Ended() time.Time {
	for k := range c.Read.Runs {
		if &c.Read.Runs[k] == c.Run {
			return c.Read.when(k)
		}
	}
	return c.Read.Log.Changed
}

// before looks at what was before the chosen run, in its log and in older ones of
// the same installation.
func (c *Choice) before(reads []Read, k int) {
	if c.Run.Well > c.Run.After {
		c.Good = &Good{When: c.Ended(), Log: c.Read.Log.Path, Banner: c.Run.Banner, Same: true}
	}
	same := true
	for i := range reads {
		r := &reads[i]
		if i > 0 && (r.In == nil || c.Read.In == nil || r.In.Dir != c.Read.In.Dir) {
			continue
		}
		last := len(r.Runs) - 1
		if i == 0 {
			last = k - 1
		}
		for j := last; j >= 0; j-- {
			run := &r.Runs[j]
			// Another file may tell of the same starts.
			if family(r.Log.Path) == family(c.Read.Log.Path) {
				if same = same && alike(run.Outcome, c.Run.Outcome); same {
					c.Repeats++
				}
			}
			if run.Well > 0 && c.Good == nil {
				c.Good = &Good{When: r.when(j), Log: r.Log.Path, Banner: run.Banner}
			}
		}
	}
}

// rotated is what names of a family differ in.
var rotated = regexp.MustCompile(`\.prev2?|(?:_\d{4}-\d\d-\d\dT[\d-]+Z\.log)$`)

func family(path string) string { return rotated.ReplaceAllString(path, "") }

func alike(a, b memtrix.Outcome) bool {
	return a.Kind == b.Kind && a.Memory == b.Memory && a.Phase == b.Phase
}
