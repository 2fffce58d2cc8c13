package memtrix

import "time"

// Pack is a custom node pack: a folder, or a single Python file, that ComfyUI
// imports from a custom_nodes folder.
type Pack struct {
	// Name is what ComfyUI sees in custom_nodes: "ComfyUI-GGUF", "single.py".
	Name string `json:"name"`
	// Dir is the folder, or the file; it is only read.
	Dir string `json:"dir"`
	// Source is the git URL or repository that it comes from, "" where that is not
	// known.
	Source string `json:"source,omitempty"`
	// Commit is its git commit, "" for a pack without git; Dirty says that its
	// files are others than that commit's.
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
	// Hash is a hash of its files. With the name it is what makes two packs the
	// same one.
	Hash string `json:"hash"`
	// Requirements are the packages that it asks for, as it writes them.
	Requirements []string `json:"requirements,omitempty"`
}

// Short is what tables call the pack: its name, and of which commit or content it
// is.
func (p Pack) Short() string {
	switch {
	case p.Commit == "":
		return p.Name + " #" + head(p.Hash)
	case p.Dirty:
		return p.Name + " " + head(p.Commit) + "+changes"
	}
	return p.Name + " " + head(p.Commit)
}

func head(s string) string { return s[:min(len(s), 8)] }

// PackImport is what the import of a pack cost in one trial.
type PackImport struct {
	Pack string `json:"pack"`
	// Seconds is the time of the import and PrestartSeconds that of its
	// prestartup script, as the server tells them: in tenths. Nil: not told.
	Seconds         *float64 `json:"seconds,omitempty"`
	PrestartSeconds *float64 `json:"prestart_seconds,omitempty"`
	// Failed is set when the server could not import it, Reason is why, in its
	// words.
	Failed bool   `json:"failed,omitempty"`
	Reason string `json:"reason,omitempty"`
	// RAM is by how many bytes the resident memory of the server's processes grew
	// over the import, nil where that cannot be had; RAMWhy is then why.
	RAM    *int64 `json:"ram_bytes,omitempty"`
	RAMWhy string `json:"ram_why,omitempty"`
	// Begin and End are when it was imported on the trial's clock, where the log
	// tells; zero otherwise.
	Begin time.Duration `json:"begin,omitempty"`
	End   time.Duration `json:"end,omitempty"`
}

// packIdentity is what makes a cell with packs another one.
func packIdentity(packs []Pack) [][2]string {
	var list [][2]string
	for _, p := range packs {
		list = append(list, [2]string{p.Name, p.Hash})
	}
	return list
}
