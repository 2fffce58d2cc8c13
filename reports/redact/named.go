package redact

import (
	"regexp"
	"slices"
	"strings"
)

// A name and what it is set to, as logs, environments, command lines, JSON and
// Python write it.
var (
	assigned = regexp.MustCompile(`(?i)([A-Za-z0-9_.\-]*(?:password|passwd|passphrase|pwd|secret|api[_\-]?key|access[_\-]?key|private[_\-]?key|account[_\-]?key|token|credentials?|cookie|session[_\-]?id|auth|wandb[_\-]?key)[A-Za-z0-9_\-]*)` +
		`((?:\\*["'])?(?:\s*(?:=>|:=|=|:)\s*|,\s*)(?:\\*["'])?|\s+(?:\\*["'])?)` +
		`([^\s"'\\,;&<>()\[\]{}]+)`)
	identity = regexp.MustCompile(`(?i)\b(USERNAME|USER|LOGNAME|HOSTNAME|COMPUTERNAME)((?:\\*["'])?\s*[=:]\s*(?:\\*["'])?)([A-Za-z0-9_.\-]+)`)
)

// named takes out what stands under a name that says so.
func (r *Redactor) named(s string) string {
	return replace(assigned, s, func(m match) (string, bool) {
		name, sep, value := m.group(1), m.group(2), m.group(3)
		switch strings.Trim(sep, " \t\\\"'") {
		case "": // --token VALUE; in a sentence the next word is none
			if !strings.HasPrefix(name, "-") || strings.HasPrefix(value, "-") {
				return "", false
			}
		case ",": // ['--token', 'VALUE']
			if !strings.HasPrefix(name, "-") || !strings.ContainsAny(sep, `"'`) {
				return "", false
			}
		}
		if strings.HasSuffix(m.before(1), "<") || !opens(name, value, !strings.Contains(sep, ":")) {
			return "", false
		}
		return name + sep + r.secret(value), true
	})
}

// whoami takes out what the variables of a shell say about who and where one is.
func (r *Redactor) whoami(s string) string {
	return replace(identity, s, func(m match) (string, bool) {
		name, value := m.group(1), m.group(3)
		// Variables are written in capitals, words are not; fields of documents are quoted.
		if name != strings.ToUpper(name) && !strings.ContainsAny(m.group(2)[:1], "\"'\\") {
			return "", false
		}
		return name + m.group(2) + r.Value(name, value), true
	})
}

// Words in names of secrets. A "token" is mostly a piece of a text here, so what is
// set under that name must look like a key.
var (
	surely = regexp.MustCompile(`(?i)(?:password|passwd|passphrase|pwd|secret|api[_\-]?key|access[_\-]?key|private[_\-]?key|account[_\-]?key|wandb[_\-]?key|credentials?|cookie|session[_\-]?id)(?:$|[_\-](?:file|path|id|value|default|b64|[0-9]+)$)`)
	tokens = regexp.MustCompile(`(?i)(?:^|[_.\-]|auth|access|bearer)(?:token|auth)$`)
	// pieces of texts, in the settings of tokenizers
	texts = regexp.MustCompile(`(?i)(?:pad|bos|eos|unk|sep|cls|mask|special|image|video|audio|start|end|num|max|min|per|next|text|prompt|clip|bad|no|stop)[_\-]token$`)
	plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z_]*(?:\.[A-Za-z_]+)*$`)
)

// nothing are values that are no secrets.
var nothing = []string{"true", "false", "none", "null", "yes", "no", "on", "off", "required", "optional", "missing", "empty", "unset", "not", "is", "was", "default", "str", "string", "bytes", "optional[str]", "***", "****", "********", "..."}

// opens reports whether what is set under a name opens a door. Sure is set where
// the name is one of a variable or a flag and not a word in a sentence.
func opens(name, value string, sure bool) bool {
	low := strings.ToLower(value)
	if value == "" || value[0] == '<' || slices.Contains(nothing, low) || strings.HasPrefix(value, "$") || strings.HasPrefix(value, "%") {
		return false
	}
	switch {
	case texts.MatchString(name):
		return false
	case surely.MatchString(name):
		return sure || unlikely(value) || len(value) >= 6 && !plain.MatchString(value)
	case tokens.MatchString(name):
		if variable(name) {
			return !number(value)
		}
		return len(value) >= 8 && (unlikely(value) && !number(value) || len(value) >= 20 && !strings.ContainsAny(value, "._/"))
	}
	return false
}

// variable reports whether a name is one of an environment variable.
func variable(name string) bool {
	return strings.Contains(name, "_") && name == strings.ToUpper(name)
}

func number(s string) bool { return strings.Trim(s, "0123456789.,") == "" }

// secretFlag reports whether the word after this one is a secret.
func secretFlag(word string) bool {
	if !strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
		return false
	}
	name := strings.TrimLeft(word, "-")
	return surely.MatchString(name) || tokens.MatchString(name) && !texts.MatchString(name)
}
