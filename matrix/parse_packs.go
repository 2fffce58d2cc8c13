package matrix

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// PacksMode says which custom node packs of a version load.
type PacksMode string

const (
	// PacksAuto loads those that a cell's workflow needs.
	PacksAuto PacksMode = "auto"
	// PacksOff loads none.
	PacksOff PacksMode = "off"
	// PacksListed loads those that are named, in every cell.
	PacksListed PacksMode = "list"
)

// PacksEntry says which custom node packs of a version load, and where they are
// looked for.
type PacksEntry struct {
	// Mode is "" where nothing was said, which means PacksAuto.
	Mode PacksMode
	// List are the packs of PacksListed.
	List []PackEntry
	// From are installations in which packs are looked for besides the version's own
	// tree: ComfyUI folders, base directories or custom_nodes folders.
	From []string
	// Own says that the version names them itself, not the top of the spec.
	Own bool

	pos     pos
	fromPos []pos
}

// PackEntry names one pack. Name alone is looked for in the installations; Path or
// Git says where it is.
type PackEntry struct {
	// Name is what ComfyUI sees in custom_nodes, "" beside Path and Git for what
	// those say.
	Name string
	Path string
	// Git is a URL or a local repository, Commit a commit, branch or tag there, "" for
	// the tip of its default branch.
	Git    string
	Commit string
	// Ignore leaves its requirements out of the version's environment.
	Ignore bool

	pos pos
}

var packKeys = []string{"name", "path", "git", "commit", "requirements"}

// asCommit are keys that people write where commit: is meant.
var asCommit = []string{"branch", "tag", "ref", "version", "rev"}

// customNodes reads "auto", "off" or a list of packs.
func (r *specReader) customNodes(f field, into *PacksEntry) {
	into.pos = f.at
	if text, scalar := scalarText(f.value); scalar {
		switch asSwitch(text) {
		case string(PacksAuto):
			into.Mode = PacksAuto
		case string(PacksOff), "none":
			into.Mode = PacksOff
		default:
			r.fail(position(f.value), "custom-nodes is auto (what the workflow needs), off, or a list of packs, not %q", shorten(text))
		}
		return
	}
	into.Mode = PacksListed
	for _, item := range r.sequence(f.value, "custom-nodes") {
		p, ok := r.pack(item)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(into.List, func(q PackEntry) bool { return p.Name != "" && q.Name == p.Name }); i >= 0 {
			r.fail(p.pos, "custom node %q is there twice; the first is in line %d", p.Name, into.List[i].pos.line)
			continue
		}
		into.List = append(into.List, p)
	}
}

func (r *specReader) pack(n ast.Node) (PackEntry, bool) {
	p := PackEntry{pos: position(n)}
	if _, scalar := scalarText(n); scalar {
		text, ok := r.word(n, "an item of custom-nodes")
		switch {
		case !ok:
			return p, false
		case text == string(PacksAuto):
			r.fail(p.pos, "custom-nodes: auto stands alone; in a list each pack is named")
			return p, false
		case remote.MatchString(text):
			r.fail(p.pos, "custom node %q is a URL; write {git: %s}", shorten(text), shorten(text))
			return p, false
		}
		p.Name = text
		return p, r.packName(p.pos, text)
	}
	before := len(r.errs)
	fields, ok := r.mapping(n, "a custom node")
	for _, f := range fields {
		r.packField(f, &p)
	}
	if !ok || len(r.errs) > before {
		return p, false
	}
	return p, r.onePack(p)
}

// onePack reports an entry that names no pack, or several.
func (r *specReader) onePack(p PackEntry) bool {
	switch {
	case p.Path != "" && p.Git != "":
		r.fail(p.pos, "a custom node has path: or git:, not both")
	case p.Path == "" && p.Git == "" && p.Name == "":
		r.fail(p.pos, "a custom node needs name: (of a folder in custom_nodes), path: (a folder) or git: (a URL or repository)")
	case p.Git == "" && p.Commit != "":
		r.fail(p.pos, "commit: says which one of git:, and there is no git:")
	default:
		return true
	}
	return false
}

// dotted and Windows' own words make names that ComfyUI would not load, or not
// under that name.
var packNamed = regexp.MustCompile(`^[^./\\:\x00][^/\\:\x00]*$`)

func (r *specReader) packName(at pos, name string) bool {
	switch {
	case !packNamed.MatchString(name):
		r.fail(at, "custom-nodes takes names of folders in custom_nodes, not the path %q; for a path write {path: %s}", name, name)
	case strings.HasSuffix(name, ".disabled"):
		r.fail(at, "custom node %q: ComfyUI loads nothing whose name ends with .disabled", name)
	default:
		return true
	}
	return false
}

func (r *specReader) packField(f field, p *PackEntry) {
	switch f.key {
	case "name":
		if text, ok := r.word(f.value, "name"); ok && r.packName(position(f.value), text) {
			p.Name = text
		}
	case "path":
		if text, ok := r.word(f.value, "path"); ok {
			p.Path = r.path(text)
		}
	case "git":
		if text, ok := r.word(f.value, "git"); ok {
			p.Git = r.location(text)
		}
	case "commit":
		if text, ok := r.word(f.value, "commit"); ok {
			p.Commit = text
		}
	case "requirements":
		switch text, _ := scalarText(f.value); text {
		case "install":
		case "ignore":
			p.Ignore = true
		default:
			r.fail(position(f.value), "requirements of a custom node is install or ignore, not %q", shorten(text))
		}
	default:
		if slices.Contains(asCommit, f.key) {
			r.fail(f.at, "unknown key %q in a custom node; commit: takes a commit, a branch or a tag", f.key)
			return
		}
		r.fail(f.at, "unknown key %q in a custom node%s", f.key, suggest(f.key, packKeys))
	}
}

// customNodesFrom reads one folder or a list of them.
func (r *specReader) customNodesFrom(f field, into *PacksEntry) {
	if _, scalar := scalarText(f.value); scalar {
		if text, ok := r.word(f.value, "custom-nodes-from"); ok {
			into.From, into.fromPos = []string{r.path(text)}, []pos{position(f.value)}
		}
		return
	}
	for _, item := range r.sequence(f.value, "custom-nodes-from") {
		if text, ok := r.word(item, "an item of custom-nodes-from"); ok {
			into.From, into.fromPos = append(into.From, r.path(text)), append(into.fromPos, position(item))
		}
	}
}

// packsDefault gives a version what the top of the spec says and it does not.
func (v *VersionEntry) packsDefault(d PacksEntry) {
	if v.Packs.Mode == "" {
		v.Packs.Mode, v.Packs.List, v.Packs.pos = d.Mode, d.List, d.pos
	}
	if v.Packs.From == nil {
		v.Packs.From, v.Packs.fromPos = d.From, d.fromPos
	}
}

// about is the place of the pack, or of the installation, that an error is about,
// else that of the version.
func (e VersionEntry) about(err error) pos {
	var about interface{ PackIndex() (list, from int) }
	if !errors.As(err, &about) {
		return e.pos
	}
	list, from := about.PackIndex()
	switch {
	case list >= 0 && list < len(e.Packs.List):
		return e.Packs.List[list].pos
	case from >= 0 && from < len(e.Packs.fromPos):
		return e.Packs.fromPos[from]
	}
	return e.pos
}
