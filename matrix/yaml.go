package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSize, in bytes, and maxDepth bound what the YAML parser is given: it is recursive
// and partly quadratic, and no spec that a person writes comes near.
const (
	MaxSize  = 128 << 10
	maxDepth = 32
)

// reader walks the YAML tree and collects every mistake on the way.
type reader struct {
	file  string
	errs  Errors
	warns Errors
}

func (r *reader) fail(at pos, format string, args ...any) {
	r.errs = append(r.errs, SpecError{File: r.file, Line: at.line, Col: at.col, Msg: fmt.Sprintf(format, args...)})
}

func (r *reader) warn(at pos, format string, args ...any) {
	r.warns = append(r.warns, SpecError{File: r.file, Line: at.line, Col: at.col, Msg: fmt.Sprintf(format, args...)})
}

// document gives the root node of the spec's only document, or nil after a
// mistake.
func (r *reader) document(data []byte) ast.Node {
	text, ok := r.text(data)
	if !ok {
		return nil
	}
	file, err := parseYAML(text)
	if err != nil {
		r.syntax(err)
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.DirectiveNode:
			r.fail(position(body), "YAML directives (%%) are not supported in a spec; leave the line out")
		default:
			if root != nil {
				r.fail(position(body), "a second YAML document (---) begins before this; a spec is one document")
				return root
			}
			root = body
		}
	}
	if root == nil && len(r.errs) == 0 {
		r.fail(pos{1, 1}, "the spec is empty; it needs at least versions: and workflows:")
	}
	return root
}

// text checks what the YAML parser would choke on or misplace.
func (r *reader) text(data []byte) (string, bool) {
	if len(data) > MaxSize {
		r.fail(pos{1, 1}, "the spec has more than %d bytes", MaxSize)
		return "", false
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	for i, c := range text {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			r.fail(place(text, i), "the spec is not UTF-8 text (byte 0x%02x); save it as UTF-8", text[i])
			return "", false
		case c == 0:
			r.fail(place(text, i), "the spec holds a NUL byte; is it UTF-16 or a binary file? save it as UTF-8 text")
			return "", false
		}
	}
	// The parser counts lines wrongly when they end in CR LF.
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if at, deep := tooDeep(text); deep {
		r.fail(at, "nested deeper than %d levels; that is not a spec", maxDepth)
		return "", false
	}
	return text, true
}

// tooDeep finds nesting that would make the recursive parser slow. It does not
// know quotes: that many brackets left open within a text are refused, too.
func tooDeep(text string) (pos, bool) {
	open, dashes, lineStart := 0, 0, true
	for i, c := range text {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		}
		switch {
		case c == '\n':
			dashes, lineStart = 0, true
		case lineStart && (c == '-' || c == '?' || c == '!' || c == '&' || c == ':'):
			dashes++
		case c != ' ':
			lineStart = false
		}
		if open > maxDepth || dashes > maxDepth && lineStart {
			return place(text, i), true
		}
	}
	return pos{}, false
}

// place turns a byte offset into line and column.
func place(text string, offset int) pos {
	before := text[:offset]
	line := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	return pos{line + 1, utf8.RuneCountInString(before[start:]) + 1}
}

// parseYAML keeps a panic of the parser from ending the program: what makes it
// panic is a broken file, and that is the user's to mend.
func parseYAML(text string) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be read as YAML (%v)", p)
		}
	}()
	return parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
}

func (r *reader) syntax(err error) {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) || syntax.Token == nil || syntax.Token.Position == nil {
		r.fail(pos{1, 1}, "not YAML: %v", err)
		return
	}
	at, msg := tokenPos(syntax.Token), syntax.Message
	if strings.Contains(msg, "tab character") || strings.Contains(msg, "'\t'") {
		msg = "a tab is used for indentation; YAML allows only spaces there"
	}
	r.fail(at, "not YAML: %s", msg)
}

func tokenPos(t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{1, 1}
	}
	return pos{max(1, t.Position.Line), max(1, t.Position.Column)}
}

// position of a node is that of its first character. A block mapping's own
// token is the colon of its first key, so the key is taken.
func position(n ast.Node) pos {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return position(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(n.Key)
	}
	return tokenPos(n.GetToken())
}

// unsupported says why a node is not one that a spec may use, or "".
func unsupported(n ast.Node) string {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		return "YAML anchors (&name) and aliases (*name) are not supported in a spec; write the value out"
	case *ast.MergeKeyNode:
		return "YAML merges (<<) are not supported in a spec; write the values out"
	case *ast.TagNode:
		return "YAML tags (!name) are not supported in a spec; write the value alone"
	}
	return ""
}

// field is one key of a mapping with its value.
type field struct {
	key   string
	at    pos
	value ast.Node
}

// mapping reads a mapping's keys in order. Keys that are no plain words and
// keys that were there before are mistakes and left out.
func (r *reader) mapping(n ast.Node, what string) ([]field, bool) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.wrong(n, what+" needs keys and values (key: value)")
		return nil, false
	}
	seen := map[string]pos{}
	var fields []field
	for _, v := range values {
		key, ok := r.key(v)
		if !ok {
			continue
		}
		at := position(v.Key)
		if first, again := seen[key]; again {
			r.fail(at, "%q is there twice; the first is in line %d", key, first.line)
			continue
		}
		seen[key] = at
		fields = append(fields, field{key, at, v.Value})
	}
	return fields, true
}

func (r *reader) key(v *ast.MappingValueNode) (string, bool) {
	if reason := unsupported(v.Key); reason != "" {
		r.fail(position(v.Key), "%s", reason)
		return "", false
	}
	key, ok := scalarText(v.Key)
	if !ok {
		r.fail(position(v.Key), "a key must be a plain word")
	}
	return key, ok
}

// keys dispatches a mapping's keys to their readers and reports unknown ones.
func (r *reader) keys(n ast.Node, what string, known []string, read func(field)) bool {
	fields, ok := r.mapping(n, what)
	for _, f := range fields {
		if !slices.Contains(known, f.key) {
			r.fail(f.at, "unknown key %q in %s%s", f.key, what, suggest(f.key, known))
			continue
		}
		read(f)
	}
	return ok
}

// sequence gives the items of a list that must not be empty.
func (r *reader) sequence(n ast.Node, what string) []ast.Node {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.wrong(n, what+" needs a list (- item, or [item, item])")
		return nil
	}
	if len(list.Values) == 0 {
		r.fail(position(n), "%s is an empty list; leave it out or put something in", what)
	}
	return list.Values
}

// wrong reports a value of a wrong kind, with what it is.
func (r *reader) wrong(n ast.Node, needs string) {
	if reason := unsupported(n); reason != "" {
		r.fail(position(n), "%s", reason)
		return
	}
	is := "something else"
	switch n := n.(type) {
	case *ast.NullNode:
		is = "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		is = "keys and values"
	case *ast.SequenceNode:
		is = "a list"
	default:
		if text, ok := scalarText(n); ok {
			is = fmt.Sprintf("%q", shorten(text))
		}
	}
	r.fail(position(n), "%s, not %s", needs, is)
}

func shorten(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return s
}

// scalarText gives a scalar as it was written, so that 0.30 stays 0.30 and the
// word no stays no.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
