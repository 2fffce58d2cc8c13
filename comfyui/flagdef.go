package comfyui

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// FlagDef is one launch flag as a version's own parser defines it: an action of
// Python's argparse (https://docs.python.org/3/library/argparse.html).
type FlagDef struct {
	Choices []string        `json:"choices"`
	Const   json.RawMessage `json:"const"`
	Default json.RawMessage `json:"default"`
	Dest    string          `json:"dest"`
	// Group is the exclusive group that the flag is in: of one group the
	// launcher takes one flag only.
	Group *int     `json:"group"`
	Kind  string   `json:"kind"` // "Store", "StoreTrue", "Append", "Enum"
	Names []string `json:"names"`
	// NArgs is null (one value), 0 (a switch), "?", "*" or "+".
	NArgs json.RawMessage `json:"nargs"`
	Type  *string         `json:"type"` // "int", "float", "str", a function's or class's name
}

//go:embed readflags.py
var readFlagsScript string

// readFlagsTimeout bounds the start of an interpreter on a cold disk.
const readFlagsTimeout = 30 * time.Second

// ReadFlags asks the Python interpreter for the launch flags of the tree in dir.
// Nothing of the tree but comfy/cli_args.py and what it imports is run, and that
// needs only the standard library: neither torch nor a GPU. Nothing is written.
func ReadFlags(ctx context.Context, python, dir string) ([]FlagDef, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("ComfyUI folder %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "comfy", "cli_args.py")); err != nil {
		return nil, fmt.Errorf("launch flags: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readFlagsTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", readFlagsScript, dir)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	cmd.Dir = os.TempDir()
	// A child that keeps the pipes open must not hold us, and what its parent said counts.
	cmd.WaitDelay = 3 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("launch flags of %s: %s: %w%s", dir, python, err, finalWords(errs.String()))
	}
	var flags []FlagDef
	if err := json.Unmarshal(out.Bytes(), &flags); err != nil {
		return nil, fmt.Errorf("launch flags of %s: %s: %w", dir, python, err)
	}
	if len(flags) == 0 {
		return nil, fmt.Errorf("launch flags of %s: %w", dir, errors.New("its parser has none"))
	}
	return flags, nil
}

// finalWords are the end of what a program said, for a message.
func finalWords(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return ": " + cut(lines[len(lines)-1], 400)
}

// Name is the flag as it is written.
func (d FlagDef) Name() string {
	for _, name := range d.Names {
		if strings.HasPrefix(name, "--") {
			return name
		}
	}
	return strings.Join(d.Names, ", ")
}

// Values says what follows the flag: "" for a switch, "INT", "[FLOAT]",
// "[STR ...]", "{none|auto}".
func (d FlagDef) Values() string {
	word := "VALUE"
	switch {
	case len(d.Choices) > 0:
		word = "{" + strings.Join(d.Choices, "|") + "}"
	case d.Type != nil:
		word = strings.ToUpper(*d.Type)
	}
	switch string(d.NArgs) {
	case "0":
		return ""
	case `"?"`:
		return "[" + word + "]"
	case `"*"`:
		return "[" + word + " ...]"
	case `"+"`:
		return word + " ..."
	}
	return word
}
