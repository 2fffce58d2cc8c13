// Package diagnosis turns evidence into an outcome: what the server said (log,
// events), how its process ended and what was measured meanwhile go in; pass, or
// which memory ran out, where and how it showed, who else held it and what to do
// comes out, with the lines that prove it. Every rule about what a text means lives
// here, as data: rules/*.yaml, each with its source and examples.
//
// It is pure: it reads no files and no clocks, and does not know where evidence
// came from. Package files reads recordings into evidence.
//
// What was measured counts more than words: "you ran out of memory on your GPU" is
// printed for host failures too. So a kill with RAM at its limit is RAM, whatever the
// last line says; a full card is pinned memory where VRAM is free and the pinned
// memory at its cap; and numbers in a text overrule its words (75 TiB are a bug).
//
// It refuses to guess. A memory is named only where an allocator, the kernel or
// a measurement names it, and text that may be translated proves nothing. What was
// not measured is not held against anybody: a process that was killed while nobody
// looked at the RAM is killed, memory unknown. One thing is inferred, and said to
// be: a shell that prints "Killed" of a program in front of it reports, as a rule,
// the kernel's killer. What passes is never called out of memory.
package diagnosis
