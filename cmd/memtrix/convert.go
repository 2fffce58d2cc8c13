package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"memtrix"
	"memtrix/reports"
	"memtrix/workflows"
	"memtrix/workflows/convert"
)

// convertCmd turns a workflow file into the prompt that the front end would send.
type convertCmd struct {
	File       string `arg:"" help:"A workflow as the front end saves it (JSON), or a picture, video, sound or model that carries one." type:"path"`
	ObjectInfo string `name:"object-info" required:"" help:"The node classes of a server: its answer to GET /object_info as a file, or the address of the server." placeholder:"FILE|URL"`
	Output     string `short:"o" help:"Where the prompt (API format) goes; default: standard output." placeholder:"OUT" type:"path"`
	Lenient    bool   `help:"Drop nodes that cannot be converted, and all that depend on them, instead of refusing."`
}

func (c *convertCmd) Run(a *app) error {
	file, err := workflows.ReadFile(c.File)
	if err != nil {
		return c.unreadable(a, err)
	}
	if file.Warning != "" {
		fmt.Fprintln(a.stderr, reports.Lines("warning: "+file.Warning))
	}
	info, err := objectInfo(a.ctx, c.ObjectInfo)
	if err != nil {
		return err
	}
	defs, err := convert.ParseDefs(info)
	switch {
	case err == nil:
	case isURL(c.ObjectInfo):
		return cannot{fmt.Errorf("%s answered something else than node classes (%w): is a ComfyUI there?", c.ObjectInfo, err)}
	default:
		return usage{fmt.Errorf("%s: %w; it should hold a server's answer to GET /object_info", c.ObjectInfo, err)}
	}
	prompt, err := c.prompt(a, file, defs)
	if err != nil {
		return err
	}
	prompt, notes := convert.Native(prompt, defs)
	for _, n := range notes {
		fmt.Fprintln(a.stderr, reports.Lines("note: "+n))
	}
	var packs map[string]string
	if file.UI != nil {
		packs = convert.Packs(file.UI)
	}
	for _, f := range convert.Check(prompt, defs, packs) {
		fmt.Fprintln(a.stderr, reports.Lines("warning: "+f.String()))
	}
	return c.write(a, prompt)
}

// unreadable: a file that is not there, or a folder, is wrong usage; one that holds
// no workflow was looked into and has none.
func (c *convertCmd) unreadable(a *app, err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, workflows.ErrNoFile) {
		return usage{err}
	}
	return noAnswer(a, err)
}

// noAnswer says why there is none.
func noAnswer(a *app, err error) error {
	fmt.Fprintln(a.stderr, "memtrix:", reports.Lines(err.Error()))
	return status(exitFound)
}

// prompt converts, or gives the prompt that the file holds already.
func (c *convertCmd) prompt(a *app, file workflows.File, defs *convert.Defs) (map[string]memtrix.GraphNode, error) {
	if file.UI == nil {
		prompt, err := file.Prompt(c.File)
		if err != nil {
			return nil, noAnswer(a, err)
		}
		fmt.Fprintln(a.stderr, "note: the file holds a prompt in API format already; it is not converted")
		return prompt, nil
	}
	made, err := convert.Convert(file.UI, defs, convert.Options{Lenient: c.Lenient})
	for _, n := range made.Notes {
		fmt.Fprintln(a.stderr, reports.Lines("note: "+n))
	}
	var refusal *convert.Refusal
	switch {
	case errors.As(err, &refusal):
		for _, p := range refusal.Problems {
			fmt.Fprintln(a.stderr, reports.Lines(p.String()))
		}
		return nil, noAnswer(a, fmt.Errorf("%s is not converted; --lenient drops what is named above and all that depends on it", c.File))
	case err != nil:
		return nil, noAnswer(a, fmt.Errorf("%s: %w", c.File, err))
	}
	return made.Prompt, nil
}

// write gives nodes in the order of their ids, as the front end's export does.
func (c *convertCmd) write(a *app, prompt map[string]memtrix.GraphNode) error {
	var b bytes.Buffer
	b.WriteString("{")
	for i, id := range workflows.SortedIDs(prompt) {
		if i > 0 {
			b.WriteString(",")
		}
		key, _ := json.Marshal(id)
		var node bytes.Buffer
		enc := json.NewEncoder(&node)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(prompt[id]); err != nil {
			return cannot{fmt.Errorf("node %s: %w", id, err)}
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, bytes.TrimSpace(node.Bytes()), "  ", "  "); err != nil {
			return cannot{fmt.Errorf("node %s: %w", id, err)}
		}
		fmt.Fprintf(&b, "\n  %s: %s", key, pretty.Bytes())
	}
	b.WriteString("\n}\n")
	if c.Output == "" {
		_, err := a.stdout.Write(b.Bytes())
		return err
	}
	if err := output(a, c.Output, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return err
	}
	return nil
}

// maxObjectInfo bounds an answer: ComfyUI's own classes take 2 MB, with hundreds
// of custom ones and long model lists some tens.
const maxObjectInfo = 512 << 20

// hostPort is an address whose http:// was left out.
var hostPort = regexp.MustCompile(`^[A-Za-z0-9.-]+:[0-9]+/?$`)

func isURL(from string) bool {
	scheme, _, ok := strings.Cut(from, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// objectInfo reads the node classes from a file or a server.
func objectInfo(ctx context.Context, from string) ([]byte, error) {
	if !isURL(from) {
		data, err := os.ReadFile(from)
		if err != nil && hostPort.MatchString(from) {
			err = fmt.Errorf("%w; did you mean http://%s?", err, from)
		}
		if err != nil {
			return nil, usage{fmt.Errorf("read object info: %w", err)}
		}
		return data, nil
	}
	url := strings.TrimSuffix(from, "/")
	if !strings.HasSuffix(url, "/object_info") {
		url += "/object_info"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, usage{fmt.Errorf("object info: %w", err)}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, cannot{fmt.Errorf("ask the server for its node classes: %w", err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, cannot{fmt.Errorf("%s answered %s: is a ComfyUI there?", url, resp.Status)}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxObjectInfo+1))
	if err == nil && len(data) > maxObjectInfo {
		err = fmt.Errorf("it is larger than %d MiB", maxObjectInfo>>20)
	}
	if err != nil {
		return nil, cannot{fmt.Errorf("read %s: %w", url, err)}
	}
	return data, nil
}
