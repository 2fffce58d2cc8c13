package comfyui

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// AttachTarget implements memtrix.Target for servers that run already: started by
// hand, by the desktop program or by the portable build's scripts, on this machine
// or another one. They belong to their users. AttachTarget queues prompts of its
// own and listens; it never stops a server, never clears its queue, and frees its
// models or interrupts a prompt only where the spec says so.
type AttachTarget struct {
	// Vary gives the graph of the n-th prompt, see Target.
	Vary func(w memtrix.Workflow, n int) map[string]memtrix.GraphNode
	// Fit makes a workflow ready for the server, see Target.
	Fit Fit
	// Proc is where the kernel's process files are; "" means /proc.
	Proc string
}

var _ memtrix.Target = (*AttachTarget)(nil)

// AttachRequest names a server.
type AttachRequest struct {
	URL string
	// PID is its process on this machine; 0 finds it by its port.
	PID int
	// Interrupt and Free are as in memtrix.Attached.
	Interrupt, Free bool
}

// ErrNoServer is wrapped by errors about a server that does not answer, or that
// answers otherwise than a ComfyUI.
var ErrNoServer = fmt.Errorf("no ComfyUI can be reached (%w)", memtrix.ErrUnavailable)

// serverError is why no ComfyUI can be reached at an address.
type serverError struct {
	base string
	err  error
}

func (e *serverError) Error() string {
	return fmt.Sprintf("no ComfyUI answers at %s: %v", e.base, e.err)
}

func (e *serverError) Unwrap() []error { return []error{ErrNoServer, e.err} }

// Look asks a server once what it is, and finds its process where it runs on this
// machine. Dir and Python of the result are those of the process, where they can
// be seen; commit and packages are only what the server itself tells.
func (t *AttachTarget) Look(ctx context.Context, r AttachRequest) (memtrix.Version, error) {
	base, err := BaseURL(r.URL)
	if err != nil {
		return memtrix.Version{}, err
	}
	c := newClient(base)
	defer c.close()
	stats, simulated, err := c.lookAt(ctx)
	if err != nil {
		return memtrix.Version{}, err
	}
	_, name, _ := strings.Cut(base, "://")
	v := memtrix.Version{
		Name:   name,
		Target: memtrix.TargetAttached, Release: stats.System.Release, Commit: "release:" + stats.System.Release, Packages: stats.packages(),
	}
	if r.Interrupt && !interruptsOne(v.Release) {
		return v, fmt.Errorf("interrupt: own: ComfyUI %s would end the prompt of whoever is at work; prompts can be told apart since %d.%d.%d",
			v.Release, targetedSince[0], targetedSince[1], targetedSince[2])
	}
	a := &memtrix.Attached{
		URL: base, Argv: lastingFlags(stats.System.Argv, knownFlags(v)), Simulated: simulated, Interrupt: r.Interrupt, Free: r.Free,
	}
	v.Attached = a
	own, err := t.find(ctx, base, r.PID, stats.System.Argv, a)
	switch {
	case err != nil && r.PID != 0:
		return v, fmt.Errorf("pid %d: %w", r.PID, err)
	case err != nil:
		a.NoPID = err.Error()
	case own.pid != 0:
		a.PID = own.pid
		v.Dir, v.Python = own.tree(stats.System.Argv), own.python()
	}
	return v, nil
}

func interruptsOne(name string) bool {
	r := parseRelease(name)
	return r.known && r.atLeast(targetedSince[0], targetedSince[1], targetedSince[2])
}

// BaseURL checks the address of a server and gives it without a slash at its end.
func BaseURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("url %q: it is no address; write http://127.0.0.1:8188", text)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", fmt.Errorf("url %q: an address begins with http:// or https:// and names a host: http://127.0.0.1:8188", text)
	case u.User != nil:
		return "", errors.New("url: an address with a password is not taken: it would be kept in the results")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("url %q: leave out what follows ? and #", text)
	}
	if p, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || p == 0) {
		return "", fmt.Errorf("url %q: %s is no port", text, u.Port())
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String(), nil
}

// find finds the process of a server and notes whether it is on this machine. An
// owner without a number and without an error is on another one.
func (t *AttachTarget) find(ctx context.Context, base string, pid int, argv []string, a *memtrix.Attached) (owner, error) {
	proc := t.Proc
	if proc == "" {
		proc = "/proc"
	}
	addrs, port, err := addresses(ctx, base)
	if err != nil {
		return owner{}, err
	}
	a.Local = pid != 0 || slices.ContainsFunc(addrs, here())
	switch {
	case pid != 0:
		own, err := readOwner(proc, pid)
		if err == nil && len(own.cmdline) > 0 && !own.runs(argv) {
			err = fmt.Errorf("%s was not started with the server's arguments (%s)", own.name(), strings.Join(argv, " "))
		}
		return own, err
	case !a.Local:
		return owner{}, nil
	}
	return findOwner(proc, addrs, port, argv)
}

// here tells addresses of this machine.
func here() func(netip.Addr) bool {
	own := map[netip.Addr]bool{}
	list, err := net.InterfaceAddrs()
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own[p.Addr().Unmap()] = true
		}
	}
	return func(a netip.Addr) bool { return a.IsLoopback() || err == nil && own[a] }
}

// addresses are those of the host of a URL, and the port.
func addresses(ctx context.Context, base string) ([]netip.Addr, uint16, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, 0, err
	}
	port := uint64(map[string]uint16{"http": 80, "https": 443}[u.Scheme])
	if u.Port() != "" {
		port, _ = strconv.ParseUint(u.Port(), 10, 16) // BaseURL has looked at it
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, 0, err
	}
	for i := range found {
		found[i] = found[i].Unmap()
		switch found[i] { // as servers name themselves; a connection to it is one to this machine
		case netip.IPv4Unspecified():
			found[i] = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		case netip.IPv6Unspecified():
			found[i] = netip.IPv6Loopback()
		}
	}
	return found, uint16(port), nil
}

// lookLimit bounds the first question to a server.
const lookLimit = 15 * time.Second

// SimHeader begins the header Server of internal/comfysim's answers.
const SimHeader = "comfysim"

// lookAt asks for GET /system_stats, and whether the server is a simulated one.
func (c *client) lookAt(ctx context.Context) (s Stats, simulated bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	no := func(format string, args ...any) (Stats, bool, error) {
		return s, false, &serverError{c.base, fmt.Errorf(format, args...)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/system_stats", nil)
	if err != nil {
		return no("%w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return no("%w", c.explain(ctx, err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	switch to := resp.Header.Get("Location"); {
	case err != nil:
		return no("%w", c.explain(ctx, err))
	case resp.StatusCode/100 == 3 && to != "":
		return no("it sends on to %s: name that address", strings.TrimSuffix(to, "/system_stats"))
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return no("it asks who you are (HTTP %d); name the server behind it", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return no("GET /system_stats: HTTP %d; is it another program, or another path?", resp.StatusCode)
	}
	err = json.Unmarshal(standardJSON(data), &s)
	if err != nil || s.System.Release == "" && s.System.Torch == "" && len(s.Devices) == 0 {
		return no("what it answers to GET /system_stats is not what a ComfyUI says")
	}
	return s, strings.HasPrefix(resp.Header.Get("Server"), SimHeader), nil
}

// explain says what a person can do about a server that was not reached.
func (c *client) explain(ctx context.Context, err error) error {
	err = unwrapURL(err)
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("what listens there said nothing within %v, or not all: is it another program, or does the server stand still?", lookLimit)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"): // no error of its own
		return fmt.Errorf("it does not speak https: write http%s", strings.TrimPrefix(c.base, "https"))
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; the environment variable SSL_CERT_FILE can name its certificate", err)
	}
	return err
}

// unwrapURL leaves out method and address, which the message has already.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Prepare has nothing to warm: the server is as its user left it.
func (t *AttachTarget) Prepare(context.Context, memtrix.Version, func(string)) error { return nil }

// Refuses finds nothing: what a spec says about the start of servers is not about
// one that runs.
func (t *AttachTarget) Refuses(memtrix.Version, memtrix.Job) map[string]error { return nil }

// CheckArgs says that raw flags are for others.
func (t *AttachTarget) CheckArgs(v memtrix.Version, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s runs already: it is not given these flags", v.Name)}
}

// Notes says what a trial on such a server is not.
func (t *AttachTarget) Notes(c memtrix.Cell) []string {
	a := c.Version.Attached
	if a == nil {
		return nil
	}
	notes := []string{fmt.Sprintf("attached to %s, which was not started for this trial: models and results of before may lie in its memory", a.URL)}
	switch {
	case !a.Local:
		notes = append(notes, "it runs on another machine: its memory is not recorded, only what it tells itself at rest")
	case a.PID == 0:
		notes = append(notes, "the memory of its processes is not recorded: "+a.NoPID)
	}
	return notes
}
