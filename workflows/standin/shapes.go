package standin

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"memtrix/workflows/safetensors"
)

//go:embed shapes/*.txt shapes/ltx2.json
var shapeFiles embed.FS

// lists keeps what was read: families share lists.
var lists sync.Map

// shapes gives the tensors of a list in shapes/, without types.
func shapes(list string) ([]safetensors.Tensor, error) {
	if known, ok := lists.Load(list); ok {
		return known.([]safetensors.Tensor), nil
	}
	text, err := shapeFiles.ReadFile("shapes/" + list + ".txt")
	if err != nil {
		return nil, fmt.Errorf("shapes of stand-ins: %w", err)
	}
	tensors, err := parseShapes(string(text))
	if err != nil {
		return nil, fmt.Errorf("shapes of stand-ins: %s: %w", list, err)
	}
	lists.Store(list, tensors)
	return tensors, nil
}

// parseShapes reads lines "blocks.{0-29}.attn.weight 1536x1536"; see
// shapes/README.md.
func parseShapes(text string) ([]safetensors.Tensor, error) {
	var tensors []safetensors.Tensor
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, size, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("line %d: no shape", number)
		}
		shape, err := parseShape(size)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		names, err := unfold(name)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		for _, n := range names {
			tensors = append(tensors, safetensors.Tensor{Name: n, Shape: shape})
		}
	}
	return tensors, nil
}

// parseShape reads "1536x1536", or "-" for a single value.
func parseShape(text string) ([]int64, error) {
	if text == "-" {
		return nil, nil
	}
	var shape []int64
	for word := range strings.SplitSeq(text, "x") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no shape", text)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// unfold turns "a.{0-2}.b" into a.0.b, a.1.b and a.2.b.
func unfold(name string) ([]string, error) {
	head, rest, ok := strings.Cut(name, "{")
	if !ok {
		return []string{name}, nil
	}
	span, tail, _ := strings.Cut(rest, "}")
	first, last, _ := strings.Cut(span, "-")
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || from > to || to > 10000 {
		return nil, fmt.Errorf("%q is no range", name)
	}
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, head+strconv.Itoa(i)+tail)
	}
	return names, nil
}
