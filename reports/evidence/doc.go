// Package evidence makes of a stored trial a bundle that a maintainer of ComfyUI
// can work with: a few lines to paste into an issue, a report in the layout of
// ComfyUI's bug form, the log, the workflow and the prompts as they were sent, the
// timeline, exact versions, the same cell on other versions and with other settings,
// and how to repeat it without memtrix and without a model.
//
// It is pure: Gather makes one model of what is known (Case), redacted, and each
// file of the bundle is written from that by a file of this package. The same trial
// gives the same bundle, byte for byte. It reads no files and no database.
//
// It refuses to fill gaps: what is not known is left out, and the report's end says
// what that is. Whatever a simulator made says so in the first line of every page.
package evidence
