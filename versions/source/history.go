package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix/versions/child"
)

// Step is a commit on the way from one to another.
type Step struct {
	Commit
	Subject string
	// Parents are more than one for a merge, which stands for all of its branch.
	Parents []string
	// Files are those that differ from the first parent.
	Files []string
	// Requirements is the text of requirements.txt, "" where it has none.
	Requirements string
}

// Merge reports whether the step brings a branch in.
func (s Step) Merge() bool { return len(s.Parents) > 1 }

// OrderError means that there is no way from one commit to the other.
type OrderError struct {
	Good, Bad string
	// Swapped is set when the way leads from the bad one to the good one.
	Swapped bool
}

func (e *OrderError) Error() string {
	if e.Swapped {
		return fmt.Sprintf("the good commit %s comes after the bad one %s: the good one must be the older one", e.Good, e.Bad)
	}
	return fmt.Sprintf("the good commit %s is none of the ancestors of the bad one %s: name one that is, such as the one that they have in common", e.Good, e.Bad)
}

// Between lists the commits after good up to bad along first parents, the oldest
// first: a merge stands for the branch that it brings in. Where a single merge lies
// between the two, its branch is listed, then the merge.
func (r *Repo) Between(ctx context.Context, good, bad Commit) ([]Step, error) {
	if err := r.checkOrder(ctx, good, bad); err != nil {
		return nil, err
	}
	steps, err := r.firstParents(ctx, good.Hash, bad.Hash)
	if err != nil || len(steps) != 1 || !steps[0].Merge() {
		return steps, r.withRequirements(ctx, steps, err)
	}
	inside, err := r.firstParents(ctx, steps[0].Parents[0], steps[0].Parents[1])
	steps = append(inside, steps[0])
	return steps, r.withRequirements(ctx, steps, err)
}

func (r *Repo) checkOrder(ctx context.Context, good, bad Commit) error {
	_, err := r.git(ctx, "merge-base", "--is-ancestor", good.Hash, bad.Hash)
	if err == nil && good.Hash != bad.Hash {
		return nil
	}
	var failed *child.Error
	if err != nil && (ctx.Err() != nil || !errors.As(err, &failed)) {
		return err
	}
	wrong := &OrderError{Good: good.Name, Bad: bad.Name}
	if good.Hash != bad.Hash {
		_, err = r.git(ctx, "merge-base", "--is-ancestor", bad.Hash, good.Hash)
		wrong.Swapped = err == nil
		return wrong
	}
	return fmt.Errorf("good and bad are the same commit %s", good.Hash[:10])
}

// firstParents reads `git log`. Renames are left alone: to see them git would need the
// contents of files, which a source may lack.
func (r *Repo) firstParents(ctx context.Context, good, bad string) ([]Step, error) {
	const begin = "\x01"
	out, err := r.git(ctx, "log", "--first-parent", "--diff-merges=first-parent", "--reverse", "--no-renames", "--name-only",
		"--format="+begin+"%H%n%ct%n%P%n%s", good+".."+bad, "--")
	if err != nil {
		return nil, fmt.Errorf("commits from %s to %s: %w", good[:10], bad[:10], whyGit(err))
	}
	var steps []Step
	for _, text := range strings.Split(out, begin)[1:] {
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) < 4 {
			return nil, fmt.Errorf("commits from %s to %s: git said %q", good[:10], bad[:10], text)
		}
		seconds, err := strconv.ParseInt(lines[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("date of commit %s: %w", lines[0], err)
		}
		s := Step{Commit: Commit{Hash: lines[0], Date: time.Unix(seconds, 0).UTC(), Name: lines[0][:10]}, Parents: strings.Fields(lines[2]), Subject: lines[3]}
		s.Files = slices.DeleteFunc(slices.Clone(lines[4:]), func(f string) bool { return f == "" })
		steps = append(steps, s)
	}
	return steps, nil
}

// withRequirements reads what each commit requires, where nothing went wrong before.
func (r *Repo) withRequirements(ctx context.Context, steps []Step, err error) error {
	if err != nil {
		return err
	}
	var ask strings.Builder
	for _, s := range steps {
		ask.WriteString(s.Hash + ":requirements.txt\n")
	}
	var out bytes.Buffer
	if _, err := runGit(ctx, r.dir, strings.NewReader(ask.String()), &out, nil, "cat-file", "--batch"); err != nil {
		return fmt.Errorf("requirements: %w", whyGit(err))
	}
	in := bufio.NewReader(&out)
	for i := range steps {
		text, _, err := nextObject(in)
		if err != nil {
			return err
		}
		steps[i].Requirements = string(text)
	}
	return nil
}

// Describe gives one commit as a step, its requirements included.
func (r *Repo) Describe(ctx context.Context, c Commit) (Step, error) {
	s := Step{Commit: c}
	out, err := r.git(ctx, "log", "-1", "--format=%s%n%P", c.Hash, "--")
	if err != nil {
		return s, fmt.Errorf("commit %s: %w", c.Hash, whyGit(err))
	}
	subject, parents, _ := strings.Cut(strings.TrimRight(out, "\n"), "\n")
	s.Subject, s.Parents = subject, strings.Fields(parents)
	one := []Step{s}
	err = r.withRequirements(ctx, one, nil)
	return one[0], err
}
