package source

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Kind is what a name names.
type Kind string

const (
	KindRelease Kind = "release" // 0.29.0, v0.29.0
	KindLatest  Kind = "latest"  // latest, latest~3
	KindPull    Kind = "pull"    // pr:15886
	KindCommit  Kind = "commit"  // 7 to 40 hexadecimal digits
	KindBranch  Kind = "branch"  // anything else that git allows
)

// Name is what a person calls a version, taken apart.
type Name struct {
	Text string
	Kind Kind
	// Release without the v, e.g. "0.29.0".
	Release string
	// Number of a pull request, or of releases before the latest.
	Number int
}

var (
	releaseName = regexp.MustCompile(`^[vV]?([0-9]+(?:\.[0-9]+){2,3})$`)
	shortName   = regexp.MustCompile(`^[vV]?[0-9]+\.[0-9]+$`)
	commitName  = regexp.MustCompile(`^[0-9a-fA-F]{7,40}$`)
	latestName  = regexp.MustCompile(`^latest(?:~([0-9]{1,4}))?$`)
	pullName    = regexp.MustCompile(`^(?i:pr):([0-9]{1,9})$`)
	// What git-check-ref-format(1) forbids, and what would be taken for an
	// option or a revision expression.
	noBranch = regexp.MustCompile(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-./]|[./]$|\.lock$|/\.`)
)

// ParseName takes a name apart. It does not say whether there is such a version.
func ParseName(text string) (Name, error) {
	n := Name{Text: text}
	if m := latestName.FindStringSubmatch(text); m != nil {
		n.Kind = KindLatest
		n.Number, _ = strconv.Atoi(m[1]) // "" is 0
		return n, nil
	}
	if m := pullName.FindStringSubmatch(text); m != nil {
		n.Kind = KindPull
		n.Number, _ = strconv.Atoi(m[1])
		return n, nil
	}
	if m := releaseName.FindStringSubmatch(text); m != nil {
		n.Kind, n.Release = KindRelease, m[1]
		return n, nil
	}
	switch {
	case commitName.MatchString(text):
		n.Kind, n.Text = KindCommit, strings.ToLower(text)
		return n, nil
	case shortName.MatchString(text):
		return n, fmt.Errorf("%q is no release; releases have three numbers, for example %s.0", text, strings.TrimLeft(text, "vV"))
	case strings.HasPrefix(text, "latest"):
		return n, fmt.Errorf("%q: write latest, or latest~3 for three releases before it", text)
	case strings.HasPrefix(strings.ToLower(text), "pr"+":"):
		return n, fmt.Errorf("%q: write pr:15886", text)
	case text == "" || noBranch.MatchString(text):
		return n, fmt.Errorf("%q is no release (0.29.0), commit (7 digits or more), branch, pr:N or latest", text)
	}
	n.Kind = KindBranch
	return n, nil
}

// Moves reports whether the name may mean another commit tomorrow.
func (n Name) Moves() bool {
	return n.Kind == KindLatest || n.Kind == KindPull || n.Kind == KindBranch
}

// compareReleases orders releases by their numbers: 0.3.77 is before 0.12.0.
func compareReleases(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if d := part(as, i) - part(bs, i); d != 0 {
			return d
		}
	}
	return 0
}

func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // only digits; a number too big is no release
	return n
}
