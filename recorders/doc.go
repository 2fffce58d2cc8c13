// Package recorders reads meters while a trial runs: memory of the card, of the
// process tree and of the host. It only observes. It starts, signals and limits
// nothing, and the one thing that it ever writes is the kernel's own peak of a
// process, or of one open file of its control group, back to the present size
// (Boundary, ResetPeak), and only when it is asked to.
//
// One family of meters is a Source and has a file of its own per operating
// system. A Sampler reads them on one clock (the time since the trial's epoch) and
// on several threads, so that one that blocks holds up no other: the cards' memory,
// at up to 1 kHz (in C, see watch.go); resident memory at
// 50 Hz, the list of processes at 10 Hz, all else of the kernel more slowly; what can
// block in the card's driver; and what walks through page tables. Each source has
// its own rate, and the dear ones slow themselves down. Every meter is kept as a
// series of changes. What reading takes is a meter, too (cost.SOURCE).
//
// What cannot be read is absent, with a reason that a person can act on
// (Sampler.Absent); it is never zero, and never ends a trial. What happened
// between two readings the kernel may still tell (KernelPeak).
//
// # Memory
//
// A change takes 16 bytes. At the worst (a card changes at every millisecond) a
// 10-minute trial has 600 000 changes of each of three meters; a real trial, most
// of whose time nothing changes, has a hundredth of that. A series never grows
// beyond 2^19 changes (8 MiB): then every second change is dropped, the smaller
// value of each pair, so that peaks stay exact.
package recorders
