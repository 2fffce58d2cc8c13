package diagnosis

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Ensure that each rule decides its own examples, and not the texts that it must
// leave alone.
func TestRules(t *testing.T) {
	for _, r := range Rules() {
		for _, example := range r.Examples {
			// The first line is the text, or for a rule with near any line of it.
			var got *Rule
			for _, l := range strings.Split(example, "\n") {
				l = plain(0, l).text
				if found := ruleFor(r.Means, l, func() string { return example }); found != nil && (got == nil || found.Priority > got.Priority) {
					got = found
				}
			}
			if got == nil {
				got = ruleFor(r.Means, example, noLines)
			}
			switch {
			case got == nil:
				t.Errorf("%s: no rule for its example %q", r.ID, example)
			case got.ID != r.ID:
				t.Errorf("%s: its example %q is decided by %s", r.ID, example, got.ID)
			}
		}
		for _, other := range r.Others {
			if r.matches(other, strings.ToLower(other), noLines) {
				t.Errorf("%s: matches %q", r.ID, other)
			}
		}
	}
}

// Ensure that a rule that cannot work is refused with its file and name.
func TestBadRules(t *testing.T) {
	const good = "- {id: a, says: s, text: some words, memory: ram, source: 'https://x', examples: [some words]}\n"
	check := func(text, says string) {
		t.Helper()
		_, err := readRules(fstest.MapFS{"rules/a.yaml": {Data: []byte(text)}, "rules/b.yaml": {Data: []byte("[]")}})
		switch {
		case says == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "rules/a.yaml")):
			t.Errorf("%q: want an error with %q, got %v", text, says, err)
		}
	}
	check(good, "")
	check(good+good, "rule a is in a.yaml, too")
	check(strings.Replace(good, "some words,", "'(',", 1), "missing closing")
	check(strings.Replace(good, "some words,", "'.*',", 1), "no word that a match must hold")
	check(strings.Replace(good, "memory: ram", "memory: disc", 1), `memory "disc"`)
	check(strings.Replace(good, "memory: ram", "memory: ram, means: x", 1), `means "x"`)
	check(strings.Replace(good, "memory: ram", "memory: ram, colour: x", 1), "colour")
	check(strings.Replace(good, "https://x", "somewhere", 1), "source")
	check("- \n", "empty")
}

func TestNeedles(t *testing.T) {
	check := func(expression, want string) {
		t.Helper()
		if got := strings.Join(needlesOf(expression), "|"); got != want {
			t.Errorf("%s: want %q, got %q", expression, want, got)
		}
	}
	check(`CUDA out of memory`, "cuda out of memory")
	check(`\b(CUDA|HIP) out of memory\. Tried`, " out of memory. tried")
	check(`(?i)foo bar|baz\d+`, "baz|foo bar")
	check(`foo|\d+`, "")
	check(`(abc)?defg`, "defg")
	check(`(abcde)+x`, "abcde")
}

// Ensure that the cheap test which comes before all rules lets every one of them
// through.
func TestInteresting(t *testing.T) {
	for _, r := range Rules() {
		for _, text := range append(r.needles, r.Examples...) {
			if !Interesting(text) || !Interesting("x "+strings.ToUpper(text)+" y") {
				t.Errorf("%s: %q is found not interesting", r.ID, text)
			}
		}
	}
	for _, text := range []string{"", "got prompt", "  0%|          | 0/4 [00:00<?, ?it/s]"} {
		if Interesting(text) {
			t.Errorf("%q is found interesting", text)
		}
	}
}
