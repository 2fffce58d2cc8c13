package reports

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// packJSON is a custom node pack of a version, with what its import cost in a
// trial.
type packJSON struct {
	Name         string   `json:"name"`
	Commit       string   `json:"commit,omitempty"`
	Dirty        bool     `json:"dirty,omitempty"`
	Hash         string   `json:"hash,omitempty"`
	Source       string   `json:"source,omitempty"`
	Requirements []string `json:"requirements,omitempty"`

	ImportSeconds   *float64 `json:"import_seconds,omitempty"`
	PrestartSeconds *float64 `json:"prestart_seconds,omitempty"`
	ImportRAM       *int64   `json:"import_ram_bytes,omitempty"`
	// ImportRAMWhy says why there is no ImportRAM.
	ImportRAMWhy string `json:"import_ram_why,omitempty"`
	Failed       bool   `json:"import_failed,omitempty"`
	Reason       string `json:"import_reason,omitempty"`
}

// packsJSON are a version's packs; "*" is the import of all of them together.
func packsJSON(packs []memtrix.Pack, imports []memtrix.PackImport) []packJSON {
	var list []packJSON
	for _, p := range packs {
		list = append(list, packJSON{Name: p.Name, Commit: p.Commit, Dirty: p.Dirty, Hash: p.Hash, Source: p.Source, Requirements: p.Requirements})
	}
	for _, i := range imports {
		n := slices.IndexFunc(list, func(p packJSON) bool { return p.Name == i.Pack })
		if n < 0 {
			n, list = len(list), append(list, packJSON{Name: i.Pack})
		}
		p := &list[n]
		p.ImportSeconds, p.PrestartSeconds, p.ImportRAM, p.ImportRAMWhy = i.Seconds, i.PrestartSeconds, i.RAM, i.RAMWhy
		p.Failed, p.Reason = i.Failed, i.Reason
	}
	return list
}

// packNotes say, for each version that loads custom nodes, which they are and what
// their import cost in the first of its trials that tells.
func packNotes(trials []*memtrix.Trial) []string {
	var lines []string
	said := map[string]bool{}
	for _, t := range trials {
		if len(t.Cell.Version.Packs) == 0 || len(t.Imports) == 0 {
			continue
		}
		var texts []string
		list := packsJSON(t.Cell.Version.Packs, t.Imports)
		why := onlyWhy(list)
		for _, p := range list {
			if why != "" {
				p.ImportRAMWhy = ""
			}
			texts = append(texts, p.text(t.Cell.Version.Packs))
		}
		if why != "" {
			texts = append(texts, "RAM of each not told: "+why)
		}
		key := t.Cell.Version.Name
		for _, p := range t.Cell.Version.Packs {
			key += "\x00" + p.Name + p.Hash
		}
		if !said[key] {
			said[key] = true
			lines = append(lines, fmt.Sprintf("custom nodes of %s (trial %d): %s", t.Cell.Version.Name, t.ID, strings.Join(texts, "; ")))
		}
	}
	return lines
}

// onlyWhy is the reason that several packs share for not telling their RAM: it is said
// once.
func onlyWhy(list []packJSON) string {
	why, n := "", 0
	for _, p := range list {
		switch {
		case p.ImportRAMWhy == "":
		case why != "" && p.ImportRAMWhy != why:
			return ""
		default:
			why = p.ImportRAMWhy
			n++
		}
	}
	if n < 2 {
		return ""
	}
	return why
}

func (p packJSON) text(packs []memtrix.Pack) string {
	name := p.Name
	if i := slices.IndexFunc(packs, func(q memtrix.Pack) bool { return q.Name == p.Name }); i >= 0 {
		name = packs[i].Short()
	} else if name == "*" {
		name = "all together"
	}
	var words []string
	switch {
	case p.Failed:
		words = append(words, "import failed")
	case p.ImportSeconds != nil:
		words = append(words, fmt.Sprintf("imported in %.1f s", *p.ImportSeconds))
	}
	if p.PrestartSeconds != nil {
		words = append(words, fmt.Sprintf("its prestartup script took %.1f s", *p.PrestartSeconds))
	}
	switch {
	case p.ImportRAM != nil:
		words = append(words, "RAM "+signedBytes(*p.ImportRAM))
	case p.ImportRAMWhy != "":
		words = append(words, "RAM not told: "+p.ImportRAMWhy)
	}
	if len(words) == 0 {
		return name
	}
	return name + " (" + strings.Join(words, ", ") + ")"
}

func signedBytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(-n)
	}
	return "+" + Bytes(n)
}
