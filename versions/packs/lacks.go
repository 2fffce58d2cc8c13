package packs

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"

	"memtrix"
	"memtrix/versions/child"
)

//go:embed lacks.py
var lacksScript string

// Lacks says which of a pack's requirements an environment does not meet, one line
// each. Options, URLs and paths among them name no package and are not looked at.
func Lacks(ctx context.Context, python string, p memtrix.Pack) ([]string, error) {
	if len(p.Requirements) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(p.Requirements)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	out, err := child.Run(ctx, child.Command{
		Argv: []string{python, "-I", "-B", "-c", lacksScript}, Env: os.Environ(), Dir: os.TempDir(), Stdin: bytes.NewReader(data),
	})
	if err != nil {
		return nil, fmt.Errorf("requirements of custom node %s: %w", p.Name, err)
	}
	var lacking []string
	if err := json.Unmarshal([]byte(out), &lacking); err != nil {
		return nil, fmt.Errorf("requirements of custom node %s: %s did not answer as Python does: %w", p.Name, python, err)
	}
	return lacking, nil
}
