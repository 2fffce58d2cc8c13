package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// exitWord begins the line of a command's help that tells its exit statuses.
const exitWord = "Exit status"

// plainStatus is that line for commands that find nothing which scripts would ask for.
const plainStatus = exitWord + ": 0 when it was done, 2 for wrong usage or a bad spec, 3 when it could not be done, 130 stopped by Ctrl-C."

// tellStatuses gives each command a line about its exit statuses that has none of its own,
// nor one of the command that it belongs to.
func tellStatuses(k *kong.Kong) error {
	for _, n := range k.Model.Leaves(false) {
		told := false
		for at := n; at != nil; at = at.Parent {
			told = told || strings.Contains(at.Detail, exitWord)
		}
		if told {
			continue
		}
		if n.Detail != "" {
			n.Detail += "\n\n"
		}
		n.Detail += plainStatus
	}
	return nil
}

// Help is shown under --help.
func (runCmd) Help() string {
	return `Exit status: 0 when all trials ended as expected and no alarm opened, 1 when one did not or an alarm opened (with --fail-on: only on the changes that it names), 2 for wrong usage or a bad spec, 3 when something could not be measured, 130 stopped by Ctrl-C; the same command goes on from there.`
}

// Help is shown under --help.
func (demoCmd) Help() string {
	return `Exit status: 0 when all trials ended as expected, 1 when one did not, 2 for wrong usage, 3 when something could not be measured, 130 stopped by Ctrl-C.`
}

// Help is shown under --help.
func (recordCmd) Help() string {
	return `Exit status: that of the command that is recorded; without one 0. 2 for wrong usage, 3 when nothing could be recorded, 130 stopped by Ctrl-C.`
}

// Help is shown under --help.
func (convertCmd) Help() string {
	return `Exit status: 0 when it is converted, 1 when the file holds no workflow or one that cannot be converted, 2 for wrong usage or a file that cannot be read, 3 when it could not be done.`
}

// Help is shown under --help.
func (cachePruneCmd) Help() string {
	return `Exit status: 0 when it is removed, 1 when some of it is in use and was kept, 2 for wrong usage, 3 when it could not be done.`
}
