package runner

import (
	"context"
	"slices"
	"testing"

	"memtrix"
)

// checkedTarget starts servers that tell what is in force.
type checkedTarget struct {
	*fakeTarget
	answers [][]string // of each question
	facts   memtrix.Environment
}

type checkedInstance struct {
	*fakeInstance
	target *checkedTarget
}

func (c *checkedTarget) Start(ctx context.Context, job memtrix.Job) (memtrix.Instance, error) {
	i, err := c.fakeTarget.Start(ctx, job)
	if err != nil {
		return nil, err
	}
	return checkedInstance{i.(*fakeInstance), c}, nil
}

func (c checkedInstance) NotInForce(context.Context) []string {
	answer := c.target.answers[0]
	c.target.answers = c.target.answers[1:]
	return answer
}

func (c checkedInstance) Facts() memtrix.Environment { return c.target.facts }

func TestNotInForce(t *testing.T) {
	denied := []string{"dynamic-vram=on is not in force: the server says so", "cache=lru is not in force: it is not"}
	for _, c := range []struct {
		name    string
		answers [][]string
		kind    memtrix.OutcomeKind
		prompts int
	}{
		{"in force", [][]string{nil, nil}, memtrix.Pass, 2},
		{"denied at start", [][]string{denied}, memtrix.NotInForce, 0},
		{"denied by a model", [][]string{nil, denied}, memtrix.NotInForce, 1},
	} {
		target := &checkedTarget{
			fakeTarget: &fakeTarget{start: []error{memtrix.ErrAgain}, make: func(memtrix.Job) *fakeInstance { return &fakeInstance{do: passes} }},
			answers:    c.answers, facts: memtrix.Environment{"banner.cache": "ram"},
		}
		r, store := newRunner(t, target.fakeTarget, Options{Prompts: 2})
		r.Targets[memtrix.TargetComfyUI] = target
		shared := memtrix.Environment{"driver": "1"}
		r.Environment = func(context.Context, memtrix.Version) memtrix.Environment { return shared }
		plan := onePlan("a")
		plan.Cells[0].Notes = []string{"a note"}
		if _, err := r.Run(t.Context(), memtrix.Session{ID: 1}, plan); err != nil {
			t.Fatal(err)
		}
		got := store.trials[0]
		if got.Outcome.Kind != c.kind || len(got.Prompts) != c.prompts || got.AsExpected() != (c.kind == memtrix.Pass) {
			t.Errorf("%s: %s after %d prompts, want %s after %d", c.name, got.Outcome.Kind, len(got.Prompts), c.kind, c.prompts)
		}
		if c.kind == memtrix.NotInForce && (!slices.Equal(got.Outcome.Evidence, denied) || got.Outcome.Message != denied[0]+"; "+denied[1]) {
			t.Errorf("%s: %+v, want the reasons", c.name, got.Outcome)
		}
		if got.Environment["banner.cache"] != "ram" || got.Environment["driver"] != "1" || len(shared) != 1 {
			t.Errorf("%s: environment %v, shared %v", c.name, got.Environment, shared)
		}
		if !slices.Contains(got.Warnings, "a note") {
			t.Errorf("%s: warnings %q lack the note", c.name, got.Warnings)
		}
	}
}
