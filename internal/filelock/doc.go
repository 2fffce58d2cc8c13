// Package filelock locks an open file for one program at a time, as the operating
// system does it: the lock goes with the program, however it ends. It does not wait.
//
// Where there is nothing to lock with (Solaris, AIX, Plan 9) the lock is always given:
// SQLite's own locks still keep two writers of results from damaging them, and two
// searches on one state must not run at once.
package filelock
