package source

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Between two commits lie those of first parents: a merge stands for its branch, and
// is opened where it is all that lies between.
func TestBetween(t *testing.T) {
	u := newUpstream(t)
	first := u.commit(map[string]string{"main.py": "1\n", "requirements.txt": "torch\n"})
	second := u.commit(map[string]string{"comfy/a.py": "1\n"})
	u.git("checkout", "-q", "-b", "side")
	inside := []string{u.commit(map[string]string{"side.py": "1\n"}), u.commit(map[string]string{"side.py": "2\n", "requirements.txt": "torch\naimdo==1\n"})}
	u.git("checkout", "-q", "master")
	third := u.commit(map[string]string{"comfy/b c.py": "1\n"})
	u.git("merge", "-q", "--no-ff", "-m", "bring side in", "side")
	merge := u.git("rev-parse", "HEAD")
	last := u.commit(map[string]string{"main.py": "2\n"})

	ctx := context.Background()
	r := open(t, ctx, t.TempDir(), u.dir)
	between := func(good, bad string) ([]Step, error) {
		return r.Between(ctx, Commit{Hash: good, Name: good[:10]}, Commit{Hash: bad, Name: bad[:10]})
	}
	steps, err := between(first, last)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hashes(steps), []string{second, third, merge, last}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if got, want := steps[2].Files, []string{"requirements.txt", "side.py"}; !steps[2].Merge() || !reflect.DeepEqual(got, want) {
		t.Errorf("the merge touches %q, want %q", got, want)
	}
	if got, want := steps[1].Files, []string{"comfy/b c.py"}; !reflect.DeepEqual(got, want) || steps[1].Merge() {
		t.Errorf("got %q, want %q", got, want)
	}
	if steps[1].Requirements != "torch\n" || steps[2].Requirements != "torch\naimdo==1\n" || steps[2].Subject != "bring side in" {
		t.Errorf("got %+v", steps)
	}

	steps, err = between(third, merge)
	if got, want := hashes(steps), append(inside, merge); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("inside the merge: got %q (%v), want %q", got, err, want)
	}

	var order *OrderError
	if _, err = between(last, first); !errors.As(err, &order) || !order.Swapped {
		t.Errorf("the wrong way round: got %v", err)
	}
	if _, err = between(third, inside[0]); !errors.As(err, &order) || order.Swapped {
		t.Errorf("beside each other: got %v", err)
	}
	if _, err = between(first, first); err == nil || !strings.Contains(err.Error(), "same commit") {
		t.Errorf("the same: got %v", err)
	}
	if s, err := r.Describe(ctx, Commit{Hash: merge}); err != nil || len(s.Parents) != 2 || s.Requirements == "" {
		t.Errorf("got %+v, %v", s, err)
	}
}

func hashes(steps []Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Hash)
	}
	return out
}
