package redact

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kind is a kind of thing that is taken out.
type Kind string

// Kinds, as the words in angle brackets begin.
const (
	User   Kind = "user"
	Host   Kind = "host"
	IP     Kind = "ip"
	MAC    Kind = "mac"
	Email  Kind = "email"
	Secret Kind = "secret"
	GPU    Kind = "gpu"
	Prompt Kind = "prompt"
	// Place is a folder that has a name of its own, such as <results>.
	Place Kind = "folder"
)

// Options say what is known before any text is read. All of it may be empty.
type Options struct {
	// Users and Hosts are names of the person and the machine.
	Users, Hosts []string
	// Versions are versions of packages: never addresses, though some look so
	// ("13.1.0.3" of nvidia-cublas).
	Versions []string
	// Keep are words that mean something in the texts: classes of nodes, names of
	// packages. A user of that name is taken out of paths only.
	Keep []string
	// Prompts are texts to hide.
	Prompts []string
	// Folders are folders to be named by what they are for; of two that have the same
	// name, the second one gets a number.
	Folders []Folder
}

// Redactor takes things out of texts and remembers them. It is not for several
// goroutines at once.
type Redactor struct {
	versions map[string]bool
	keep     map[string]bool
	prompts  []hidden
	folders  []placed // the longest first
	// marks are the words by kind and thing, in lower case where that does not matter.
	marks map[Kind]map[string]string
	// used are the words that stand in some text by now.
	used  map[string]bool
	steps []step
	// known are the things that are looked for everywhere, the longest first.
	known []known
}

// known is a thing that was found, as it is looked for in all texts.
type known struct {
	re   *regexp.Regexp
	text string
	mark string
	// whole says where in a text it counts; nil: wherever it stands.
	whole func(match) bool
}

// New makes a Redactor.
func New(o Options) *Redactor {
	r := &Redactor{versions: map[string]bool{}, keep: map[string]bool{}, marks: map[Kind]map[string]string{}, used: map[string]bool{}, steps: stepsOf()}
	for _, v := range o.Versions {
		r.versions[v] = true
	}
	for _, w := range slices.Concat(ordinary, common, o.Keep) {
		r.keep[strings.ToLower(w)] = true
	}
	for _, u := range o.Users {
		r.user(valid(u))
	}
	for _, h := range o.Hosts {
		r.host(valid(h))
	}
	for _, p := range o.Prompts {
		r.hide(valid(p))
	}
	for _, f := range o.Folders {
		r.Learn(f.Path) // the user's name, before the path is gone
	}
	for _, f := range o.Folders {
		r.place(valid(f.Path), f.Name)
	}
	clear(r.used)
	return r
}

// Learn reads texts for what they show, in their order.
func (r *Redactor) Learn(texts ...string) {
	for _, t := range texts {
		r.Text(t)
	}
}

// Text gives a text of any number of lines without what must not be in it.
// Redacting twice is redacting once.
func (r *Redactor) Text(s string) string {
	if s == "" {
		return s
	}
	s = valid(s)
	s = r.keys(r.hideFolders(r.hidePrompts(s)))
	if !strings.Contains(s, "\n") {
		return r.line(s)
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		text := strings.TrimSuffix(line, "\n")
		b.WriteString(r.line(text) + line[len(text):])
	}
	return b.String()
}

// step is one kind of thing that is taken out of a line. Its pattern is looked for
// only where one of the hints stands in the line, in small letters: most lines of a
// log have none, and patterns are slow.
type step struct {
	hints []string
	do    func(r *Redactor, line string) string
}

// stepsOf are the steps in the order in which they are taken: what is a secret by its
// form is not taken for anything else.
func stepsOf() []step {
	return []step{
		{formHints, (*Redactor).secrets},
		{[]string{"pass", "pwd", "secret", "key", "token", "credential", "cookie", "session", "auth"}, (*Redactor).named},
		{[]string{"user", "logname", "hostname", "computername"}, (*Redactor).whoami},
		{[]string{"@", "%40"}, (*Redactor).emails},
		{[]string{"home", "users", "documents and settings", "/media/", "~"}, (*Redactor).homes},
		{[]string{`\\`, "@", ".", "desktop-", "laptop-", "win-", "ip-", "s-"}, (*Redactor).hosts},
		{[]string{"gpu-", "mig-"}, (*Redactor).cards},
		{[]string{":", "-", "."}, (*Redactor).addresses},
	}
}

func (r *Redactor) line(s string) string {
	low := strings.ToLower(s)
	for _, step := range r.steps {
		if !hasAny(low, step.hints) {
			continue
		}
		if done := step.do(r, s); done != s {
			s, low = done, strings.ToLower(done)
		}
	}
	return r.everywhere(s)
}

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// valid replaces what is no text: no pattern can be made of it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Args gives command line words: what follows a flag that takes a secret is one.
func (r *Redactor) Args(argv []string) []string {
	out := make([]string, len(argv))
	for i, word := range argv {
		if i > 0 && secretFlag(argv[i-1]) && !strings.HasPrefix(word, "-") && word != "" {
			out[i] = r.secret(valid(word))
			continue
		}
		out[i] = r.Text(word)
	}
	return out
}

// nameLike are names of users and hosts, and no addresses.
var nameLike = regexp.MustCompile(`^[A-Za-z\x80-\x{10FFFF}][\w.\-\x80-\x{10FFFF}]*(?: [\w.\-\x80-\x{10FFFF}]+)?$`)

// Value gives what stands under a name: an environment variable, a field.
func (r *Redactor) Value(name, value string) string {
	value = valid(value)
	switch {
	case value == "" || strings.HasPrefix(value, "<"):
		return value
	case !nameLike.MatchString(value):
	// A field "user" may be a prompt; as a variable it is a name.
	case slices.Contains([]string{"USER", "USERNAME", "LOGNAME", "username"}, name):
		return r.user(value)
	case slices.Contains([]string{"HOSTNAME", "COMPUTERNAME", "hostname", "computername"}, name):
		return r.host(value)
	}
	if opens(name, value, true) {
		return r.secret(value)
	}
	return r.Text(value)
}

// Count is how many different things of a kind were found.
type Count struct {
	Kind Kind
	N    int
}

// Found counts what was taken out, by kind.
func (r *Redactor) Found() []Count {
	var all []Count
	for _, k := range slices.Sorted(maps.Keys(r.marks)) {
		n := 0
		for _, m := range r.marks[k] {
			if r.used[m] {
				n++
			}
		}
		if n > 0 {
			all = append(all, Count{k, n})
		}
	}
	return all
}

// mark gives the word for a thing. The first user and host have no number: mostly
// there is one.
func (r *Redactor) mark(k Kind, thing string) string {
	if m, ok := r.marks[k][thing]; ok {
		r.used[m] = true
		return m
	}
	if r.marks[k] == nil {
		r.marks[k] = map[string]string{}
	}
	n := len(r.marks[k]) + 1
	m := "<" + string(k) + "-" + strconv.Itoa(n) + ">"
	if n == 1 && (k == User || k == Host) {
		m = "<" + string(k) + ">"
	}
	r.marks[k][thing] = m
	r.used[m] = true
	return m
}

// remember makes a thing be looked for everywhere.
func (r *Redactor) remember(k known) {
	if slices.ContainsFunc(r.known, func(o known) bool { return o.text == k.text && o.mark == k.mark }) {
		return
	}
	r.known = append(r.known, k)
	slices.SortStableFunc(r.known, func(a, b known) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), strings.Compare(a.text, b.text))
	})
}

// everywhere takes out what was found before, also where nothing shows what it is.
func (r *Redactor) everywhere(s string) string {
	low := strings.ToLower(s)
	for _, k := range r.known {
		if first, _, _ := strings.Cut(k.text, " "); !strings.Contains(low, strings.ToLower(first)) {
			continue
		}
		s = replace(k.re, s, func(m match) (string, bool) {
			if k.whole != nil && !k.whole(m) {
				return "", false
			}
			r.used[k.mark] = true
			return k.mark, true
		})
	}
	return s
}

// user gives the word for a user name. A name that is no ordinary word is looked
// for everywhere: as a part of other names if it is long enough for that.
func (r *Redactor) user(name string) string {
	name = strings.TrimSpace(name)
	low := strings.ToLower(name)
	switch {
	case low == "" || slices.Contains(ordinary, low) || strings.HasPrefix(name, "<"):
		return name
	}
	mark := r.mark(User, low)
	r.rememberName(low, mark)
	return mark
}

// host gives the word for a host name; known without its domain, too.
func (r *Redactor) host(name string) string {
	low := strings.ToLower(strings.Trim(name, ". "))
	if low == "" || slices.Contains(ordinary, low) || strings.HasPrefix(low, "localhost") || strings.HasPrefix(name, "<") {
		return name
	}
	mark := r.mark(Host, low)
	r.rememberName(low, mark)
	if short, _, ok := strings.Cut(low, "."); ok && len(short) >= 5 {
		r.rememberName(short, mark)
	}
	return mark
}

// Names of fewer letters are parts of too many words.
const (
	shortestPart = 4
	shortestWord = 3
)

// rememberName looks for a name without regard to case, with spaces as paths in
// addresses write them. Of two letters it is looked for nowhere; one of three must
// stand alone.
func (r *Redactor) rememberName(low, mark string) {
	same := func(k known) bool { return k.text == low && k.mark == mark }
	if r.keep[low] || len(low) < shortestWord || slices.ContainsFunc(r.known, same) {
		return
	}
	text := strings.ReplaceAll(regexp.QuoteMeta(low), " ", `(?: |%20|\+|_)`)
	whole := wholeName
	if len(low) < shortestPart {
		whole = alone
	}
	r.remember(known{re: regexp.MustCompile(`(?i)` + text), text: low, mark: mark, whole: whole})
}

// wholeName reports whether a match is a name of its own: between other characters
// than letters and digits, or where small and capital letters meet ("AlicesLora" has
// "Alices").
func wholeName(m match) bool {
	name := m.group(0)
	first, last := name[0], name[len(name)-1]
	if b := m.before(2); b != "" {
		c := b[len(b)-1]
		escaped := len(b) == 2 && b[0] == '\\' && strings.IndexByte("nrt", c) >= 0 // "\nalice" in JSON
		if alphanumeric(c) && !escaped && !(lower(c) && upper(first)) {
			return false
		}
	}
	a := m.after(1)
	return a == "" || !alphanumeric(a[0]) || lower(last) && upper(a[0])
}

// alone reports whether a match is a word between spaces, quotes or slashes.
func alone(m match) bool {
	const joins = "_.-<"
	b, a := m.before(1), m.after(1)
	return wholeName(m) && (b == "" || !strings.Contains(joins, b)) && (a == "" || !strings.Contains(joins, a))
}

func lower(c byte) bool        { return c >= 'a' && c <= 'z' }
func upper(c byte) bool        { return c >= 'A' && c <= 'Z' }
func alphanumeric(c byte) bool { return lower(c) || upper(c) || c >= '0' && c <= '9' || c >= 0x80 }

// secret gives the word for a secret. What nobody writes by chance is looked for
// everywhere.
func (r *Redactor) secret(text string) string {
	if strings.HasPrefix(text, "<") {
		return text
	}
	mark := r.mark(Secret, text)
	if unlikely(text) {
		r.remember(known{re: regexp.MustCompile(regexp.QuoteMeta(text)), text: text, mark: mark})
	}
	return mark
}

// unlikely reports whether a text is one that does not come up by chance.
func unlikely(s string) bool {
	return len(s) >= 8 && strings.ContainsAny(s, "0123456789!@#$%^&*+/=~") && strings.ContainsFunc(s, func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	})
}

// match is one match of a pattern in a text.
type match struct {
	in  string
	loc []int
}

func (m match) group(n int) string {
	if m.loc[2*n] < 0 {
		return ""
	}
	return m.in[m.loc[2*n]:m.loc[2*n+1]]
}

// before and after give what stands beside the match, at most n bytes.
func (m match) before(n int) string { return m.in[max(0, m.loc[0]-n):m.loc[0]] }
func (m match) after(n int) string  { return m.in[m.loc[1]:min(len(m.in), m.loc[1]+n)] }

// replace gives a text with matches replaced where do says so.
func replace(re *regexp.Regexp, s string, do func(match) (string, bool)) string {
	found := re.FindAllStringSubmatchIndex(s, -1)
	if found == nil {
		return s
	}
	var b strings.Builder
	last := 0
	for _, loc := range found {
		with, ok := do(match{s, loc})
		if !ok {
			continue
		}
		b.WriteString(s[last:loc[0]])
		b.WriteString(with)
		last = loc[1]
	}
	b.WriteString(s[last:])
	return b.String()
}
