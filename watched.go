package memtrix

// SourceWatched is the source of a workflow that nobody gave to memtrix: a server's
// user ran it while memtrix looked on.
const SourceWatched = "watched"

// WatchSpec is the spec to which sessions of watching belong.
const WatchSpec = "watch"

// Watched is the workflow of a watch that began at a time, given as any text that no
// other watch has. What ran is its user's choice: it is compared with no other trial,
// watched or not.
func Watched(began string) Workflow {
	return Workflow{Name: SourceWatched, Source: SourceWatched, Hash: SourceWatched + " " + began}
}

// Watched reports whether the trial was of a server at which memtrix only looked.
func (t *Trial) Watched() bool { return t.Cell.Workflow.Source == SourceWatched }
