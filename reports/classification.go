package reports

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"memtrix"
)

// Classification writes a verdict for a person: what ran out and where, who held
// it, the lines that prove it, what to do.
func Classification(w io.Writer, o memtrix.Outcome) error {
	b := bufio.NewWriter(w)
	head := string(o.Kind)
	if o.Memory != "" && o.Memory != memtrix.MemoryNone {
		head += ": " + string(o.Memory)
	}
	if o.How != "" && o.How != memtrix.HowException {
		head += " by " + string(o.How)
	}
	if o.Node != nil {
		head += ", " + nodeText(*o.Node)
	}
	if o.Phase != "" {
		head += ", in " + string(o.Phase)
	}
	fmt.Fprintln(b, OneLine(head))
	if o.Message != "" {
		fmt.Fprintln(b, "  "+OneLine(o.Message))
	}
	for _, h := range o.Holders {
		who := OneLine(h.Name)
		if h.PID != 0 {
			who += fmt.Sprintf(" (process %d)", h.PID)
		}
		fmt.Fprintf(b, "  held by others: %s, %.2f GiB\n", who, float64(h.Bytes)/(1<<30))
	}
	if o.HiddenRetries > 0 {
		fmt.Fprintln(b, "  "+plural(o.HiddenRetries, "hidden oom retry", "hidden oom retries"))
	}
	for _, f := range o.FallBacks {
		fmt.Fprintln(b, "  a slower way was taken: "+OneLine(f))
	}
	if len(o.Evidence) > 0 {
		fmt.Fprintln(b, "because of")
		for _, e := range o.Evidence {
			fmt.Fprintln(b, "  | "+OneLine(e))
		}
	}
	if len(o.Advice) > 0 {
		fmt.Fprintln(b, "what to do, what costs least first")
		for i, a := range o.Advice {
			fmt.Fprintf(b, "  %d. %s\n", i+1, OneLine(a))
		}
	}
	return b.Flush()
}

// ClassificationJSON writes a verdict as one document.
func ClassificationJSON(w io.Writer, o memtrix.Outcome) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(o)
}
