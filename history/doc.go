// Package history makes lines of stored trials, finds what changed along them with
// package regress, and makes alarms of changes: one for all that has one cause.
//
// It is pure: trials in short (memtrix.Brief) go in, lines, changes and alarms come
// out. It does not read the store, does not draw, and gives no verdict of its own on
// numbers: what is noise is package regress's to say. It never puts simulated and
// measured trials, or trials of different cards, on one line.
package history
