package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"memtrix/regress"
)

// SeriesChange is a change with the series that it is of, and the index of its first
// point as the source names it.
type SeriesChange struct {
	Series string
	Index  string
	regress.Change
}

// ChangesJSON is the document of memtrix changes --json. An index that is a whole
// number is written as one, any other as a string.
func ChangesJSON(w io.Writer, changes []SeriesChange) error {
	type row struct {
		Series     string       `json:"series"`
		Index      any          `json:"index"`
		Kind       regress.Kind `json:"kind"`
		Before     float64      `json:"before"`
		After      float64      `json:"after"`
		Confidence float64      `json:"confidence"`
		Reason     string       `json:"reason"`
	}
	rows := []row{}
	for _, c := range changes {
		var index any = c.Index
		if n, err := strconv.ParseInt(c.Index, 10, 64); err == nil && strconv.FormatInt(n, 10) == c.Index {
			index = n
		}
		rows = append(rows, row{c.Series, index, c.Kind, c.Before, c.After, c.Confidence, c.Reason})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"changes": rows})
}

// ChangesText is the same for a person, a line each.
func ChangesText(w io.Writer, changes []SeriesChange) error {
	for _, c := range changes {
		_, err := fmt.Fprintf(w, "%s at %s: %s: %s\n", Lines(c.Series), Lines(c.Index), c.Kind, Lines(c.Reason))
		if err != nil {
			return err
		}
	}
	return nil
}
