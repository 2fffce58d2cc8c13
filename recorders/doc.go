// Package recorders reads meters while a trial runs: memory of the card, of the
// process tree and of the host. It only observes. It starts, signals and limits
// nothing, and the one thing that it ever writes is the kernel's own peak of a
// process back to its present size (ResetPeak), and only when it is asked to.
//
// One family of meters is a Source and has a file of its own per operating
// system. A Sampler reads all sources on one thread and one clock (the time
// since the trial's epoch), each at its own rate, and keeps every meter as a
// series of changes.
//
// What cannot be read is absent, with a reason that a person can act on
// (Sampler.Absent); it is never zero, and never ends a trial.
//
// # Memory
//
// A change takes 16 bytes. At the worst (every fast meter changes at every
// 10 ms) a 10-minute trial takes 60 000 x 16 B, about 0.9 MiB, a fast meter: 8
// to 12 MiB for all of them. A real trial, most of whose time nothing changes, takes
// a tenth of it. A series never grows beyond 2^19 changes (8 MiB): then every
// second change is dropped, the smaller value of each pair, so that peaks stay
// exact.
package recorders
