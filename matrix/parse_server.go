package matrix

import (
	"net/url"
	"regexp"

	"github.com/goccy/go-yaml/ast"
)

// address is what looks like a URL.
var address = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)

// serverKeys are about a server that runs, and stand beside url: only.
var serverKeys = []string{"pid", "interrupt", "free"}

// startKeys are about what is started, which beside url: nobody is.
var startKeys = append([]string{"custom-nodes", "custom-nodes-from"}, versionDefaults...)

// url reads where a server listens.
func (r *specReader) url(n ast.Node, v *VersionEntry) {
	text, ok := r.word(n, "url")
	if !ok {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		r.fail(position(n), "url %q: an address is http://HOST:PORT, as in the browser", shorten(text))
		return
	}
	if u.User != nil {
		r.fail(position(n), "url: an address with a password is not taken: it would be kept in the results")
		return
	}
	v.URL = text
}

// interrupt reads whether memtrix may end a prompt of its own that runs. Of others'
// prompts there is no choice.
func (r *specReader) interrupt(n ast.Node, v *VersionEntry) {
	text, ok := r.word(n, "interrupt")
	switch {
	case !ok:
	case text == "own":
		v.Interrupt = true
	case text == "off" || text == "no" || text == "never":
		v.Interrupt = false
	default:
		r.fail(position(n), "interrupt takes own (a prompt of memtrix that runs may be ended) or off, not %q", shorten(text))
	}
}

// running reports whether all versions of a spec are servers that run.
func (s *Spec) running() bool {
	for _, v := range s.Versions {
		if v.URL == "" {
			return false
		}
	}
	return len(s.Versions) > 0
}

// serverWarnings are about keys that are about the start of servers, in a spec in
// which none is started.
func (r *specReader) serverWarnings(seen map[string]pos) {
	if !r.spec.running() {
		return
	}
	for _, key := range []string{"env", "models", "custom-nodes"} {
		if at, ok := seen[key]; ok {
			r.warn(at, "%s: is not about servers that run already, and no other is named", key)
		}
	}
}

// AttachLook is the spec of `memtrix run --url URL --workflow FILE`: the workflow on
// a server that runs, as it is.
func AttachLook(url string, pid int, workflow string) *Spec {
	s := FirstLook("", "", workflow, "gpu")
	s.Name = "attached"
	s.Versions = []VersionEntry{{URL: url, PID: pid}}
	s.Settings = asItIs
	return s
}

// asItIs is one cell without any setting.
var asItIs = SettingsEntry{Mode: OneFlip}
