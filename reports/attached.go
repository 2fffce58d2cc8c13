package reports

import "memtrix"

// marks are what a row's version is beside its name: a server that ran before, that
// others used meanwhile, a simulated one.
func (e entry) marks() []string {
	var marks []string
	if e.cell.Version.Attached != nil {
		marks = append(marks, "attached")
	}
	if e.cell.Workflow.Source == memtrix.SourceWatched {
		marks = append(marks, "watched")
	}
	if e.trial == nil {
		return marks
	}
	if e.trial.Shared {
		marks = append(marks, "shared")
	}
	if e.trial.Simulated {
		marks = append(marks, "sim")
	}
	return marks
}

// attachedText explains the marks, "" where there are none.
func attachedText(trials []*memtrix.Trial) string {
	text := ""
	for _, t := range trials {
		if t.Cell.Version.Attached == nil {
			continue
		}
		if text == "" {
			text = "attached: on a server that ran before; it has no start and may hold memory of earlier work, so it is not compared with fresh ones"
		}
		if t.Watched() {
			return text + "; watched: its user's own prompts ran, so it is compared with nothing"
		}
		if t.Shared {
			return text + "; shared: prompts of others ran on it during the trial, whose memory is in its numbers"
		}
	}
	return text
}
