package source

import (
	"context"
	"slices"
	"strings"
)

// nearReleases gives two releases before and two after, and the last one.
func nearReleases(all []release, name string) []string {
	i, _ := slices.BinarySearchFunc(all, name, func(x release, name string) int { return compareReleases(x.name, name) })
	var near []string
	for _, x := range all[max(0, i-2):min(len(all), i+2)] {
		near = append(near, x.name)
	}
	if len(all) > 0 && i+2 < len(all) {
		near = append(near, "... "+all[len(all)-1].name)
	}
	return near
}

// nearBranches gives up to five branches and tags that look like a name.
func (r *Repo) nearBranches(ctx context.Context, name string) ([]string, error) {
	out, err := r.git(ctx, "for-each-ref", "--format=%(refname:strip=2)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return nil, err
	}
	all := strings.Fields(out)
	want := strings.ToLower(name)
	score := func(s string) int {
		s = strings.ToLower(s)
		if strings.Contains(s, want) || strings.Contains(want, s) {
			return 0
		}
		return edits(s, want)
	}
	near := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return score(s) > max(1, len(want)/3) })
	slices.SortStableFunc(near, func(a, b string) int { return score(a) - score(b) })
	if len(near) == 0 && len(all) <= 5 {
		near = all
	}
	return near[:min(len(near), 5)], nil
}

// edits is the number of letters to put in, take out or change between two words
// (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
