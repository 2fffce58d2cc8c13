package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix/workflows"
)

// workflowsCmd is about the workflows that memtrix brings.
type workflowsCmd struct {
	List workflowsListCmd `cmd:"" help:"The built-in workflows, with their models and parameters."`
	Show workflowsShowCmd `cmd:"" help:"A built-in workflow in API format."`
}

type workflowsListCmd struct {
	JSON bool `name:"json" help:"One JSON document on standard output."`
}

// workflowRow is a row of the list.
type workflowRow struct {
	Name       string            `json:"name"`
	About      string            `json:"about"`
	Models     []workflowModel   `json:"models"`
	Parameters map[string]string `json:"parameters"` // with their own values
}

type workflowModel struct {
	Folder string `json:"folder"`
	File   string `json:"file"`
	Class  string `json:"class_type"`
}

func (c *workflowsListCmd) Run(a *app) error {
	var rows []workflowRow
	for _, e := range workflows.Catalog() {
		w, err := workflows.BuiltIn(e.Name)
		if err != nil {
			return err
		}
		row := workflowRow{Name: e.Name, About: e.About, Models: []workflowModel{}}
		for _, m := range workflows.Needed(w) {
			row.Models = append(row.Models, workflowModel{m.Folder, m.Name, m.Class})
		}
		if row.Parameters, err = e.Defaults(); err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if c.JSON {
		return json.NewEncoder(a.stdout).Encode(map[string]any{"workflows": rows})
	}
	for _, r := range rows {
		fmt.Fprintf(a.stdout, "%-11s %s\n", r.Name, r.About)
		var params, files []string
		for _, k := range slices.Backward(slices.Sorted(maps.Keys(r.Parameters))) {
			params = append(params, k+" "+r.Parameters[k])
		}
		for _, m := range r.Models {
			files = append(files, m.Folder+"/"+m.File)
		}
		fmt.Fprintf(a.stdout, "%11s %s\n", "", strings.Join(params, ", "))
		if len(files) > 0 {
			fmt.Fprintf(a.stdout, "%11s %s\n", "", strings.Join(files, ", "))
		}
	}
	return nil
}

type workflowsShowCmd struct {
	Name string `arg:"" help:"A name of 'memtrix workflows list'."`
}

func (c *workflowsShowCmd) Run(a *app) error {
	w, err := workflows.BuiltIn(c.Name)
	if err != nil {
		return usage{err}
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(w.Graph)
}
