// Package memtrix holds the nouns of memtrix as plain types, and the interface
// of a target (a program whose memory is measured).
//
// Data walks one way through the program:
//
//	spec -> plan -> trial -> readings + log + events -> outcome -> store -> comparison -> report
//
// and each step is a package of its own that knows these nouns and none of its
// neighbours. This package imports nothing of ours, needs no cgo, and does not
// touch files, processes or SQL.
//
// # Units
//
// Bytes are int64 bytes and times are time.Duration (nanoseconds) everywhere in
// code, SQLite and JSON files; only reports scale them. All times within a trial
// are measured on one clock: the time since the trial's epoch, which is the
// moment just before its server process was started. What is not available is
// absent (no map entry, no series), never zero.
package memtrix
