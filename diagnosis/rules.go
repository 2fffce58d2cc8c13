package diagnosis

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"memtrix"
)

//go:embed rules/*.yaml
var ruleFiles embed.FS

// Meaning is what a rule's text stands for.
type Meaning string

const (
	MeansFailure  Meaning = "failure"
	MeansStartup  Meaning = "startup"   // the server did not start
	MeansRetry    Meaning = "retry"     // memory ran out and was got round
	MeansFallBack Meaning = "fall-back" // a slower way was taken
)

// Rule says what a text means. Rules are data (rules/*.yaml; rules/README.md
// explains the fields), so that a person can read, check and add to them.
type Rule struct {
	ID       string              `yaml:"id"`
	Says     string              `yaml:"says"`
	Text     string              `yaml:"text"`
	Near     string              `yaml:"near"`
	Unless   string              `yaml:"unless"`
	Memory   memtrix.Memory      `yaml:"memory"`
	Means    Meaning             `yaml:"means"`
	Outcome  memtrix.OutcomeKind `yaml:"outcome"`
	How      memtrix.How         `yaml:"how"`
	Phase    memtrix.Phase       `yaml:"phase"`
	Priority int                 `yaml:"priority"`
	Advice   []string            `yaml:"advice"`
	Source   string              `yaml:"source"`
	Examples []string            `yaml:"examples"`
	Others   []string            `yaml:"others"`

	text, near, unless *regexp.Regexp
	// needles: a text without any of them, in lower case, cannot match.
	needles []string
}

// ruleSet are all rules, the most important first, in the files' order where they
// are equal.
var ruleSet = sync.OnceValue(func() []*Rule {
	rules, err := readRules(ruleFiles)
	if err != nil {
		panic(err) // embedded, and tested
	}
	return rules
})

// Rules gives a copy of all rules in the order in which they are tried.
func Rules() []Rule {
	all := ruleSet()
	rules := make([]Rule, len(all))
	for i, r := range all {
		rules[i] = *r
	}
	return rules
}

// readRules reads every rules/*.yaml. Errors name the file and the rule.
func readRules(files fs.FS) ([]*Rule, error) {
	names, err := fs.Glob(files, "rules/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	var all []*Rule
	seen := map[string]string{}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("rules: %w", err)
		}
		var rules []*Rule
		if err := yaml.UnmarshalWithOptions(data, &rules, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("rules: %s: %w", name, err)
		}
		for i, r := range rules {
			if r == nil {
				return nil, fmt.Errorf("rules: %s: rule %d is empty", name, i+1)
			}
			if err := r.prepare(); err != nil {
				return nil, fmt.Errorf("rules: %s: rule %d (%s): %w", name, i+1, r.ID, err)
			}
			if other, ok := seen[r.ID]; ok {
				return nil, fmt.Errorf("rules: %s: rule %s is in %s, too", name, r.ID, other)
			}
			seen[r.ID] = path.Base(name)
		}
		all = append(all, rules...)
	}
	slices.SortStableFunc(all, func(a, b *Rule) int { return cmp.Compare(b.Priority, a.Priority) })
	return all, nil
}

// prepare checks a rule, fills in what it leaves out and compiles its expressions.
func (r *Rule) prepare() error {
	if r.ID == "" || r.Says == "" || r.Text == "" || !strings.HasPrefix(r.Source, "https://") || len(r.Examples) == 0 {
		return fmt.Errorf("a rule needs id, says, text, source (https) and examples")
	}
	r.fill()
	switch r.Means {
	case MeansFailure, MeansStartup, MeansRetry, MeansFallBack:
	default:
		return fmt.Errorf("means %q is none of failure, startup, retry, fall-back", r.Means)
	}
	if !slices.Contains(memories, r.Memory) {
		return fmt.Errorf("memory %q is none of %v", r.Memory, memories)
	}
	for _, e := range []struct {
		from string
		to   **regexp.Regexp
	}{{r.Text, &r.text}, {r.Near, &r.near}, {r.Unless, &r.unless}} {
		if e.from == "" {
			continue
		}
		compiled, err := regexp.Compile(e.from)
		if err != nil {
			return err
		}
		*e.to = compiled
	}
	r.needles = needlesOf(r.Text)
	if len(r.needles) == 0 {
		return fmt.Errorf("text has no word that a match must hold: %s", r.Text)
	}
	return nil
}

var memories = []memtrix.Memory{
	memtrix.MemoryVRAM, memtrix.MemoryPinned, memtrix.MemoryRAM, memtrix.MemoryCommit, memtrix.MemoryGPUAddressSpace,
	memtrix.MemoryUnified, memtrix.MemorySharedGPU, memtrix.MemoryNone, memtrix.MemoryUnknown,
}

func (r *Rule) fill() {
	if r.Means == "" {
		r.Means = MeansFailure
	}
	if r.Memory == "" {
		r.Memory = memtrix.MemoryNone
	}
	if r.Priority == 0 {
		r.Priority = 50
	}
	switch {
	case r.Outcome != "":
	case r.Means == MeansStartup:
		r.Outcome = memtrix.StartupFailure
	case r.Memory == memtrix.MemoryNone:
		r.Outcome = memtrix.Error
	default:
		r.Outcome = memtrix.OOM
	}
	if r.How == "" && r.Outcome == memtrix.OOM {
		r.How = memtrix.HowException
	}
}

// matches says whether the rule applies to a text; lower is the text in lower
// case, around gives the lines about it.
func (r *Rule) matches(text, lower string, around func() string) bool {
	if !slices.ContainsFunc(r.needles, func(n string) bool { return strings.Contains(lower, n) }) {
		return false
	}
	if !r.text.MatchString(text) || r.unless != nil && r.unless.MatchString(text) {
		return false
	}
	return r.near == nil || r.near.MatchString(text) || r.near.MatchString(around())
}

// ruleFor finds the most important rule of a meaning for a text, nil for none.
func ruleFor(means Meaning, text string, around func() string) *Rule {
	lower := strings.ToLower(text)
	for _, r := range ruleSet() {
		if r.Means == means && r.matches(text, lower, around) {
			return r
		}
	}
	return nil
}

// words fills the groups of the rule's match into a template.
func (r *Rule) words(template, text string) string {
	if !strings.Contains(template, "$") {
		return template
	}
	m := r.text.FindStringSubmatchIndex(text)
	if m == nil {
		return template
	}
	return string(r.text.ExpandString(nil, template, text, m))
}

func noLines() string { return "" }
