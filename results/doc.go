// Package results keeps what was measured in SQLite: sessions, trials with
// their outcome, spans, peaks and readings, and every series by change.
//
// One folder holds one database (memtrix.db) and one folder of raw files a
// trial. One process writes to it at a time (memtrix.lock says which); any
// number read beside it. A trial is one transaction: it is there whole or not
// at all, also when the machine stops in the middle.
//
// The package refuses to repair, to delete and to guess: a database that is
// damaged, of another program or of a newer memtrix is left as it is, and the
// error says so. It does not draw, compare or judge.
package results
