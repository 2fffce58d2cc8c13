package command

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Variable is the environment variable that holds the candidate.
const Variable = "MEMTRIX_CANDIDATE"

const place = "{}"

// plain are candidates that mean the same in every context of a shell. One that begins
// with a dash is plain, too: it is an option to whatever program reads it.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:@%+,=-]*$`)

// harmless is text beside {} in quotes that shows that it is a name, not a script.
var harmless = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]*$`)

// Check reports what is wrong with a command whatever the candidates are.
func Check(command string) error {
	if strings.TrimSpace(command) == "" {
		return errors.New("the command is empty")
	}
	if !strings.Contains(command, place) && !strings.Contains(command, Variable) {
		return fmt.Errorf("the command %q does not say where the candidate goes: put {} there (or use $%s)", command, Variable)
	}
	return nil
}

// Script is the command for one candidate as a shell reads it. A candidate of letters,
// digits and _ . / : @ % + , = - stands there as it is; any other one as a reference to
// Variable, which the shell passes on as one argument and does not read.
func Script(command, candidate string) (string, error) {
	if strings.ContainsRune(candidate, 0) {
		return "", fmt.Errorf("candidate %q holds a zero byte, which no argument can", candidate)
	}
	if plain.MatchString(candidate) {
		return strings.ReplaceAll(command, place, candidate), nil
	}
	var out strings.Builder
	var quote byte // ' or ", 0 outside
	start := 0     // of the quoted text
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(command):
			out.WriteString(command[i : i+2])
			i++
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote, start = c, i+1
		case c == quote:
			quote = 0
		case strings.HasPrefix(command[i:], place):
			if err := inQuotes(command, start, quote, candidate); err != nil {
				return "", err
			}
			if quote == 0 {
				out.WriteString(`"$` + Variable + `"`)
			} else {
				out.WriteString(`${` + Variable + `}`)
			}
			i += len(place) - 1
			continue
		}
		out.WriteByte(c)
	}
	return out.String(), nil
}

// inQuotes refuses {} where another shell might read the candidate.
func inQuotes(command string, start int, quote byte, candidate string) error {
	if quote == 0 {
		return nil
	}
	text, _, _ := strings.Cut(command[start:], string(quote))
	if quote == '"' && harmless.MatchString(strings.ReplaceAll(text, place, "")) {
		return nil
	}
	return fmt.Errorf("{} stands inside quotes (%s), where candidate %q could be read as a part of a script: use \"$%s\" there instead of {}",
		text, candidate, Variable)
}
