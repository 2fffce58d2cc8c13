// Package diagnosis turns evidence into an outcome: what the server said (log,
// events), how its process ended and what was measured meanwhile go in; pass, or
// which memory ran out, where and how it showed, comes out, with the lines that
// prove it. Every rule about what a text means lives here.
//
// It is pure: it reads no files and no clocks, and does not know where evidence
// came from.
//
// It refuses to guess. A memory is named only where an allocator, the kernel or
// a measurement names it; "you ran out of memory on your GPU" is printed for
// host failures too and proves nothing, and neither does text that may be
// translated. What was not measured is not held against anybody: a process that
// was killed while nobody looked at the RAM is killed, memory unknown.
package diagnosis
