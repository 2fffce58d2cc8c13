package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter"

	"memtrix/versions/cache"
)

type cacheCmd struct {
	List  cacheListCmd  `cmd:"" help:"Show the sources, trees and environments that memtrix keeps, with size and last use."`
	Prune cachePruneCmd `cmd:"" help:"Remove what is not needed any more. What is in use stays."`
}

type cacheListCmd struct {
	JSON bool `name:"json" help:"One JSON document on standard output."`
}

func (c *cacheListCmd) Run(a *app) error {
	store, err := cache.Open("")
	if err != nil {
		return cannot{err}
	}
	items, err := store.List()
	if err != nil {
		return cannot{err}
	}
	if c.JSON {
		if items == nil {
			items = []cache.Item{}
		}
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"dir": store.Root(), "items": items})
	}
	return writeCache(a.stdout, store.Root(), items)
}

func writeCache(out io.Writer, root string, items []cache.Item) error {
	if len(items) == 0 {
		_, err := fmt.Fprintf(out, "nothing in %s\n", root)
		return err
	}
	var bytes, own int64
	table := tablewriter.NewWriter(out)
	table.Header("Kind", "Name", "Size", "Own", "Last use", "What")
	for _, i := range items {
		used := "-"
		switch {
		case i.InUse:
			used = "now"
		case !i.Used.IsZero():
			used = i.Used.Format("2006-01-02 15:04")
		}
		if err := table.Append(string(i.Kind), i.Name[:min(len(i.Name), 12)], diskSize(i.Bytes), diskSize(i.Own), used, i.About); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
		bytes, own = bytes+i.Bytes, own+i.Own
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	_, err := fmt.Fprintf(out, "in %s; removing all of it frees %s (the rest is shared, e.g. with uv's cache: uv cache prune)\n", root, diskSize(own))
	return err
}

func diskSize(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

type cachePruneCmd struct {
	Names []string `arg:"" optional:"" help:"Names as in the list, or at least six letters of their beginning."`
	Older string   `help:"Remove what was last used before so many days." placeholder:"DAYS"`
	All   bool     `help:"Remove everything."`
}

func (c *cachePruneCmd) Run(a *app) error {
	want, err := c.want()
	if err != nil {
		return usage{err}
	}
	store, err := cache.Open("")
	if err != nil {
		return cannot{err}
	}
	done, err := store.Prune(want)
	var freed int64
	kept := 0
	for _, p := range done {
		if p.Kept != "" {
			kept++
			fmt.Fprintf(a.stdout, "kept     %s %s: %s\n", p.Kind, p.Name, p.Kept)
			continue
		}
		freed += p.Own
		fmt.Fprintf(a.stdout, "removed  %s %s (%s) %s\n", p.Kind, p.Name, diskSize(p.Own), p.About)
	}
	if err != nil {
		return cannot{err}
	}
	if len(c.Names) > 0 && len(done) == 0 {
		return usage{fmt.Errorf("nothing in %s is called %s", store.Root(), strings.Join(c.Names, " or "))}
	}
	fmt.Fprintf(a.stdout, "%d removed, %s freed, %d in use\n", len(done)-kept, diskSize(freed), kept)
	if kept > 0 {
		return status(exitFound)
	}
	return nil
}

func (c *cachePruneCmd) want() (func(cache.Item) bool, error) {
	ways := 0
	for _, given := range []bool{len(c.Names) > 0, c.Older != "", c.All} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, errors.New("say what to remove: names, --older DAYS, or --all")
	case c.All:
		return func(cache.Item) bool { return true }, nil
	case c.Older != "":
		days, err := strconv.ParseFloat(c.Older, 64)
		if err != nil || days < 0 || days > 36500 {
			return nil, fmt.Errorf("--older takes a number of days, not %q", c.Older)
		}
		return cache.OlderThan(time.Duration(days * 24 * float64(time.Hour))), nil
	}
	return cache.ByName(c.Names), nil
}
