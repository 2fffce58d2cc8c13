package diagnosis

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/cloudflare/ahocorasick"
)

// needlesOf gives words of which any text that an expression matches holds at
// least one, in lower case: looking for them first makes a long log cheap. Nil
// where no such words can be told.
func needlesOf(expression string) []string {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	words := needles(re.Simplify())
	slices.Sort(words)
	return slices.Compact(words)
}

// shortest word that is worth looking for.
const shortest = 3

func needles(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) >= shortest {
			return []string{strings.ToLower(string(re.Rune))}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needles(re.Sub[0])
	case syntax.OpConcat:
		return best(re.Sub)
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			words := needles(sub)
			if words == nil {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

// best takes of the parts that all must match the one that says most.
func best(parts []*syntax.Regexp) []string {
	var found []string
	length := 0
	for _, p := range parts {
		words := needles(p)
		if words == nil {
			continue
		}
		least := len(slices.MinFunc(words, func(a, b string) int { return len(a) - len(b) }))
		if least > length {
			found, length = words, least
		}
	}
	return found
}

// words finds in one pass over a text whether any rule could match it.
var words = sync.OnceValue(func() *ahocorasick.Matcher {
	var all []string
	for _, r := range ruleSet() {
		all = append(all, r.needles...)
	}
	slices.Sort(all)
	return ahocorasick.NewStringMatcher(slices.Compact(all))
})

// Interesting is a cheap test that all lines pass which mean anything to a rule.
func Interesting(text string) bool {
	lower := make([]byte, 0, 512)
	for i := range len(text) {
		b := text[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		lower = append(lower, b)
	}
	return words().Contains(lower)
}
