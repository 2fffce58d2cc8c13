// Package command bisects with any program: one command that is run for one candidate
// at a time, in a shell. It keeps what every execution told in a file, so that a search
// that was stopped goes on where it was, however it was stopped.
//
// A candidate is always one argument, whatever characters it has: it is never read by
// the shell. Where that cannot be promised (inside a quoted script) the command is
// refused.
package command
