package comfysim

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

//go:embed text
var texts embed.FS

// flagDef is one launch flag of ComfyUI. The tables in text/ hold what the real
// parsers of those versions say.
type flagDef struct {
	name    string
	nargs   string // "0" a switch, "1" one value, "?", "*", "+"
	typ     string
	group   string // flags of one group exclude each other
	constv  string // value of a "?" flag without one
	choices []string
	metavar string
}

func flagTable(version string) []flagDef {
	data, err := texts.ReadFile("text/flags-" + version + ".txt")
	if err != nil {
		panic(err) // embedded
	}
	var defs []flagDef
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if strings.HasPrefix(line, "#") || len(f) != 7 {
			continue
		}
		d := flagDef{name: f[0], nargs: f[1], typ: f[2], group: f[3], constv: f[4], metavar: f[6]}
		if f[5] != "" {
			d.choices = strings.Split(f[5], ",")
		}
		defs = append(defs, d)
	}
	return defs
}

// options are parsed launch flags: the values of each flag that was given.
type options map[string][]string

func (o options) has(name string) bool { _, ok := o[name]; return ok }

// str is the last value of a flag, or def.
func (o options) str(name, def string) string {
	if v := o[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return def
}

func (o options) float(name string, def float64) float64 {
	if f, err := strconv.ParseFloat(o.str(name, ""), 64); err == nil {
		return f
	}
	return def
}

// usageError is what argparse says before it exits with status 2.
type usageError struct{ msg string }

func (e usageError) Error() string { return e.msg }

// argParser does what Python's argparse does with one flat parser.
type argParser struct {
	defs   []flagDef
	out    options
	groups map[string]string // group to the flag that was seen in it
	extras []string
}

// parseFlags parses ComfyUI's launch flags. The error is a usageError.
func parseFlags(defs []flagDef, args []string) (options, error) {
	p := &argParser{defs: defs, out: options{}, groups: map[string]string{}}
	for i := 0; i < len(args); {
		n, err := p.take(args[i:])
		if err != nil {
			return nil, err
		}
		i += n
	}
	if len(p.extras) > 0 {
		return nil, usageError{"unrecognized arguments: " + strings.Join(p.extras, " ")}
	}
	return p.out, nil
}

// take consumes one flag with its values, or one stray word.
func (p *argParser) take(args []string) (int, error) {
	name, explicit, hasExplicit := strings.Cut(args[0], "=")
	if !isFlagWord(args[0]) {
		p.extras = append(p.extras, args[0])
		return 1, nil
	}
	if name == "-h" {
		name = "--help"
	}
	def, err := p.find(name)
	if err != nil {
		return 0, err
	}
	if def == nil {
		p.extras = append(p.extras, args[0])
		return 1, nil
	}
	values := followers(args[1:])
	if hasExplicit {
		values = []string{explicit}
	}
	used, err := p.store(*def, values, hasExplicit)
	if hasExplicit {
		used = 0
	}
	return 1 + used, err
}

// find resolves a flag or an unambiguous beginning of one, as argparse does.
func (p *argParser) find(name string) (*flagDef, error) {
	var matches []string
	var found *flagDef
	for i, d := range p.defs {
		if d.name == name {
			return &p.defs[i], nil
		}
		if strings.HasPrefix(name, "--") && len(name) > 2 && strings.HasPrefix(d.name, name) {
			matches = append(matches, d.name)
			found = &p.defs[i]
		}
	}
	if len(matches) > 1 {
		return nil, usageError{fmt.Sprintf("ambiguous option: %s could match %s", name, strings.Join(matches, ", "))}
	}
	return found, nil
}

func (p *argParser) store(d flagDef, values []string, explicit bool) (int, error) {
	if other, ok := p.groups[d.group]; d.group != "" && ok && other != d.name {
		return 0, usageError{fmt.Sprintf("argument %s: not allowed with argument %s", d.name, other)}
	}
	p.groups[d.group] = d.name
	values, err := d.count(values, explicit)
	if err != nil {
		return 0, err
	}
	for _, v := range values {
		if err := d.check(v); err != nil {
			return 0, usageError{fmt.Sprintf("argument %s: %s", d.name, err)}
		}
	}
	used := len(values)
	if used == 0 && d.nargs == "?" {
		values = []string{d.constv}
	}
	p.out[d.name] = append(p.out[d.name], values...)
	return used, nil
}

// count takes as many values as the flag wants.
func (d flagDef) count(values []string, explicit bool) ([]string, error) {
	switch d.nargs {
	case "0":
		if explicit {
			return nil, usageError{fmt.Sprintf("argument %s: ignored explicit argument %s", d.name, pyRepr(values[0]))}
		}
		return nil, nil
	case "1":
		if len(values) == 0 {
			return nil, usageError{fmt.Sprintf("argument %s: expected one argument", d.name)}
		}
		return values[:1], nil
	case "?":
		return values[:min(1, len(values))], nil
	case "+":
		if len(values) == 0 {
			return nil, usageError{fmt.Sprintf("argument %s: expected at least one argument", d.name)}
		}
	}
	return values, nil
}

func (d flagDef) check(v string) error {
	if len(d.choices) > 0 && !slices.Contains(d.choices, v) {
		quoted := make([]string, len(d.choices))
		for i, c := range d.choices {
			quoted[i] = pyRepr(c)
		}
		return fmt.Errorf("invalid choice: %s (choose from %s)", pyRepr(v), strings.Join(quoted, ", "))
	}
	switch d.typ {
	case "int":
		if _, err := strconv.Atoi(v); err != nil {
			return fmt.Errorf("invalid int value: %s", pyRepr(v))
		}
	case "float":
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return fmt.Errorf("invalid float value: %s", pyRepr(v))
		}
	case "PerformanceFeature":
		if !slices.Contains([]string{"fp16_accumulation", "fp8_matrix_mult", "cublas_ops", "autotune"}, v) {
			return fmt.Errorf("invalid PerformanceFeature value: %s", pyRepr(v))
		}
	case "is_valid_directory":
		return checkDirectory(v)
	}
	return nil
}

func checkDirectory(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return usageError{fmt.Sprintf("The path '%s' does not exist.", path)}
	}
	if !info.IsDir() {
		return usageError{fmt.Sprintf("'%s' is not a directory.", path)}
	}
	return nil
}

// isFlagWord reports whether argparse takes a word for a flag: a dash that does
// not begin a negative number, and no blank.
func isFlagWord(s string) bool {
	if len(s) < 2 || s[0] != '-' || strings.Contains(s, " ") {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err != nil
}

// followers are the words up to the next flag.
func followers(args []string) []string {
	i := slices.IndexFunc(args, isFlagWord)
	if i < 0 {
		i = len(args)
	}
	return slices.Clone(args[:i])
}
