package past

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix/versions/installs"
)

// repository is a git folder, read without git: HEAD, loose and packed references
// and the reflog (https://git-scm.com/docs/gitrepository-layout).
type repository struct {
	m installs.Machine
	// dir holds HEAD and logs/HEAD; common holds the references, and is another
	// folder in a worktree. Both are "" without git.
	dir, common string
}

// gitOf finds the git folder of a tree. A file ".git" names it (worktrees, modules).
func gitOf(m installs.Machine, tree string) repository {
	if tree == "" {
		return repository{m: m}
	}
	dot := m.Join(tree, ".git")
	if m.IsDir(dot) {
		return repository{m: m, dir: dot, common: dot}
	}
	data, err := m.Read(dot)
	if err != nil {
		return repository{m: m}
	}
	dir, ok := strings.CutPrefix(string(data), "gitdir:")
	if !ok {
		return repository{m: m}
	}
	g := repository{m: m, dir: m.Abs(tree, dir)}
	g.common = g.dir
	if data, err := m.Read(m.Join(g.dir, "commondir")); err == nil {
		g.common = m.Abs(g.dir, string(data))
	}
	return g
}

var hexHash = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

var errNoGit = errors.New("no git folder")

// head is the commit that is checked out.
func (g repository) head() (string, error) {
	if g.dir == "" {
		return "", errNoGit
	}
	data, err := g.m.Read(g.m.Join(g.dir, "HEAD"))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return g.ref(strings.TrimSpace(ref))
	}
	if !hexHash.MatchString(text) {
		return "", fmt.Errorf("HEAD holds no commit: %q", text)
	}
	return text, nil
}

// ref resolves a full name such as refs/heads/master.
func (g repository) ref(name string) (string, error) {
	if data, err := g.m.Read(g.m.Join(g.common, name)); err == nil {
		if hash := strings.TrimSpace(string(data)); hexHash.MatchString(hash) {
			return hash, nil
		}
	}
	if hash, ok := g.packed()[name]; ok {
		return hash, nil
	}
	return "", fmt.Errorf("reference %s names no commit", name)
}

// packed are the references in packed-refs.
func (g repository) packed() map[string]string {
	refs := map[string]string{}
	data, err := g.m.Read(g.m.Join(g.common, "packed-refs"))
	if err != nil {
		return refs
	}
	for line := range strings.Lines(string(data)) {
		hash, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && hexHash.MatchString(hash) {
			refs[name] = hash
		}
	}
	return refs
}

// releases are ComfyUI's releases by commit: its tags are v0.29.0 and so on. An
// annotated tag's commit stands in the line below it ("^").
func (g repository) releases() map[string]string {
	all := map[string]string{}
	if g.dir == "" {
		return all
	}
	tag := func(name, hash string) {
		if release, ok := strings.CutPrefix(name, "refs/tags/v"); ok {
			all[hash] = release
		}
	}
	if data, err := g.m.Read(g.m.Join(g.common, "packed-refs")); err == nil {
		last := ""
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			if peeled, ok := strings.CutPrefix(line, "^"); ok {
				tag(last, peeled)
				continue
			}
			hash, name, _ := strings.Cut(line, " ")
			tag(name, hash)
			last = name
		}
	}
	for _, e := range g.m.List(g.m.Join(g.common, "refs/tags")) {
		data, err := g.m.Read(g.m.Join(g.common, "refs/tags", e.Name()))
		if err == nil {
			tag("refs/tags/"+e.Name(), strings.TrimSpace(string(data)))
		}
	}
	return all
}

// branches are the local branches with their commits.
func (g repository) branches() map[string]string {
	const under = "refs/heads/"
	all := map[string]string{}
	for name, hash := range g.packed() {
		if branch, ok := strings.CutPrefix(name, under); ok {
			all[branch] = hash
		}
	}
	for _, e := range g.m.List(g.m.Join(g.common, under)) {
		data, err := g.m.Read(g.m.Join(g.common, under, e.Name()))
		if hash := strings.TrimSpace(string(data)); err == nil && hexHash.MatchString(hash) {
			all[e.Name()] = hash
		}
	}
	return all
}

// move is one line of a reflog: HEAD went from one commit to another.
type move struct {
	old, new string
	when     time.Time
	message  string
}

// moves are the lines of logs/HEAD, oldest first.
func (g repository) moves() ([]move, error) {
	data, err := g.m.Read(g.m.Join(g.dir, "logs", "HEAD"))
	if err != nil {
		return nil, err
	}
	var all []move
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(make([]byte, 0, 1<<12), 1<<20)
	for s.Scan() {
		if mv, ok := parseMove(s.Text()); ok {
			all = append(all, mv)
		}
	}
	return all, s.Err()
}

// parseMove reads "OLD NEW Name <mail> SECONDS ZONE\tmessage".
func parseMove(line string) (move, bool) {
	head, message, _ := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if len(fields) < 4 || !hexHash.MatchString(fields[0]) || !hexHash.MatchString(fields[1]) {
		return move{}, false
	}
	seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
	if err != nil {
		return move{}, false
	}
	return move{old: fields[0], new: fields[1], when: time.Unix(seconds, 0), message: strings.TrimSpace(message)}, true
}

// reflog adds the commit before each update. What follows within minutes is one
// update: the portable updater goes to the branch, pulls, and goes to a tag.
func (f *finder) reflog() {
	g := gitOf(f.in.On, f.in.Tree)
	if f.in.Tree == "" || g.dir == "" {
		return
	}
	moves, err := g.moves()
	if err != nil {
		f.warn("no reflog: when the code was updated is not known (%v)", err)
		f.originalHead(g)
		return
	}
	for _, u := range updates(moves) {
		f.add(State{When: u.when, Commit: u.old, Source: fmt.Sprintf("reflog: before %s on %s", u.message, u.when.Format(time.DateOnly))})
	}
}

// originalHead is the commit before the last pull or reset, where nothing else
// tells.
func (f *finder) originalHead(g repository) {
	data, err := g.m.Read(g.m.Join(g.dir, "ORIG_HEAD"))
	hash := strings.TrimSpace(string(data))
	if err != nil || !hexHash.MatchString(hash) {
		return
	}
	info, err := g.m.Stat(g.m.Join(g.dir, "ORIG_HEAD"))
	if err != nil {
		return
	}
	f.add(State{When: info.ModTime(), Commit: hash, Source: "git: before the last pull or reset (ORIG_HEAD) on " + info.ModTime().Format(time.DateOnly)})
}

// updates puts moves of one time together; those that ended where they began did
// nothing.
func updates(moves []move) []move {
	const apart = 10 * time.Minute
	var all []move
	for i := 0; i < len(moves); {
		if strings.Trim(moves[i].old, "0") == "" {
			i++ // a clone, perhaps right before an update
			continue
		}
		u := move{old: moves[i].old, when: moves[i].when}
		var did []string
		last := moves[i].when
		for ; i < len(moves) && moves[i].when.Sub(last) < apart; i++ {
			last, u.new = moves[i].when, moves[i].new
			if word := deed(moves[i].message); moves[i].old != moves[i].new && !slices.Contains(did, word) {
				did = append(did, word)
			}
		}
		if u.old == u.new || len(did) == 0 {
			continue
		}
		u.message = strings.Join(did, ", ")
		all = append(all, u)
	}
	return all
}

// deed is what a reflog's message says was done, in a word or two. libgit2, which
// the portable updater uses, writes no message when it moves a branch.
func deed(message string) string {
	word, rest, _ := strings.Cut(message, ":")
	word, _, _ = strings.Cut(word, " ")
	switch {
	case word == "":
		return "update"
	case word == "checkout":
		if _, to, ok := strings.Cut(rest, " to "); ok {
			return "checkout of " + short(strings.TrimSpace(to))
		}
	}
	return word
}

var backupBranch = regexp.MustCompile(`^backup_branch_(\d{4}-\d\d-\d\d_\d\d_\d\d_\d\d)$`)

// branches adds what the portable updater kept before each update
// (ComfyUI, .ci/update_windows/update.py: backup_branch_ and the local time).
func (f *finder) branches() {
	if f.in.Tree == "" {
		return
	}
	for name, hash := range gitOf(f.in.On, f.in.Tree).branches() {
		m := backupBranch.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		when, err := time.ParseInLocation("2006-01-02_15_04_05", m[1], time.Local)
		if err != nil {
			continue
		}
		s := State{When: when, Commit: hash, Source: fmt.Sprintf("updater's branch %s: before the update on %s", name, when.Format(time.DateOnly))}
		s.Back = checkout(f.in, "refs/heads/"+name)
		f.add(s)
	}
}
