//go:build cgo

package nvidia

/*
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef int (*memory_call)(void *, memory_v2 *);

enum { CARDS = 64, ROOM = 8192, MEASURED = 16 };

// One new answer of a card.
typedef struct { long long at; long long total, reserved, free, used; int card, ret; } reading;

// The thread that reads writes to the ring and to the counters; another one reads
// both. Neither waits for the other.
typedef struct {
	memory_call call;
	int cards;
	void *device[CARDS];
	reading last[CARDS];
	long long interval, calm; // ns; calm: while nothing works, 0 for no difference
	int busy, stop;
	// ns of CLOCK_MONOTONIC when the cards were last read, and counts of ticks: of
	// those that were due and late, and of those left out on purpose.
	long long seen, ticks, missed, lost, held;
	// ns: of the thread, and what it had taken before; of the calls, one tick in MEASURED, times MEASURED for cpu.
	long long thread, before, cpu, wall, longest, measured;
	unsigned head, tail; // written and read so far
	reading ring[ROOM];
} watch;

#define GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define SET(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELEASE)

static long long clock_ns(clockid_t id) {
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void watch_ask(watch *w, int i, long long now) {
	memory_v2 m = {sizeof m | 2u << 24};
	reading r = {now, 0, 0, 0, 0, i, w->call(w->device[i], &m)};
	if (r.ret == 0) {
		r.total = m.total; r.reserved = m.reserved; r.free = m.free; r.used = m.used;
	}
	reading *l = &w->last[i];
	if (l->at != 0 && l->ret == r.ret && l->used == r.used && l->free == r.free && l->reserved == r.reserved) return;
	if (w->head - GET(w->tail) == ROOM) { // tried again with the next reading
		SET(w->lost, w->lost + 1);
		return;
	}
	*l = r;
	w->ring[w->head % ROOM] = r;
	SET(w->head, w->head + 1);
}

// watch_tick reads all cards and gives how long that took, ns.
static long long watch_tick(watch *w) {
	long long now = clock_ns(CLOCK_MONOTONIC);
	int measure = w->ticks % MEASURED == MEASURED / 2;
	long long cpu = measure ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	for (int i = 0; i < w->cards; i++) watch_ask(w, i, now);
	long long wall = clock_ns(CLOCK_MONOTONIC) - now;
	SET(w->seen, now);
	SET(w->ticks, w->ticks + 1);
	if (!measure) return wall;
	long long after = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	SET(w->thread, after - w->before);
	SET(w->cpu, w->cpu + MEASURED * (after - cpu));
	SET(w->wall, w->wall + wall);
	SET(w->measured, w->measured + 1);
	if (wall > w->longest) SET(w->longest, wall);
	return wall;
}

static void sleep_until(long long at) {
	struct timespec t = {at / 1000000000LL, at % 1000000000LL};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {}
}

// A call that takes SLOW waits for the driver's lock, and spins: while another
// process initialises CUDA ten such calls a second can take a quarter of a core.
// While nothing works that is answered with PATIENCE times as long without one.
enum { SLOW = 300000, PATIENCE = 20, HOLD = 250000000 };

// watch_run reads until it is stopped. Ticks are at fixed times from the first
// one; those that passed while a call was stuck are not made up for.
static void watch_run(watch *w) {
	w->before = clock_ns(CLOCK_THREAD_CPUTIME_ID); // Go may have used the thread
	long long next = clock_ns(CLOCK_MONOTONIC);
	while (!GET(w->stop)) {
		long long took = watch_tick(w);
		int calm = w->calm > 0 && !GET(w->busy);
		long long interval = calm ? w->calm : w->interval;
		next += interval;
		long long late = clock_ns(CLOCK_MONOTONIC) - next;
		if (late >= interval) {
			SET(w->missed, w->missed + late / interval);
			next += late / interval * interval;
		}
		sleep_until(next);
		if (!calm || took < SLOW) continue;
		long long until = next + (took * PATIENCE < HOLD ? took * PATIENCE : HOLD);
		for (; next + interval <= until && !GET(w->stop) && !GET(w->busy); sleep_until(next)) {
			SET(w->held, w->held + 1);
			next += interval;
		}
	}
}

// watch_next takes the oldest reading out of the ring.
static int watch_next(watch *w, reading *r) {
	if (w->tail == GET(w->head)) return 0;
	*r = w->ring[w->tail % ROOM];
	SET(w->tail, w->tail + 1);
	return 1;
}

static void watch_stop(watch *w) { SET(w->stop, 1); }

static void watch_busy(watch *w, int busy) { SET(w->busy, busy); }

typedef struct { long long seen, ticks, missed, lost, held, thread, cpu, wall, longest, measured; } watched;

static watched watch_so_far(watch *w) {
	watched s = {GET(w->seen), GET(w->ticks), GET(w->missed), GET(w->lost), GET(w->held), GET(w->thread), GET(w->cpu), GET(w->wall), GET(w->longest), GET(w->measured)};
	return s;
}
*/
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Watch reads the memory of cards at an interval on the thread that runs it. The
// loop is in C: a thread that Go must look after costs about as much again for
// each time it wakes up, at 1 kHz some per cent of a core.
type Watch struct {
	w     *C.watch
	cards []*Card
}

// NewWatch gives nil where cards cannot be watched so: before driver 510.
// Without cards it only wakes up, which is what the machine takes for that alone.
func NewWatch(cards []*Card, interval time.Duration) *Watch {
	if len(cards) > C.CARDS {
		return nil
	}
	for _, c := range cards {
		if c == nil || c.quick == nil {
			return nil
		}
	}
	w := (*C.watch)(C.calloc(1, C.sizeof_watch))
	w.cards, w.interval = C.int(len(cards)), C.longlong(max(interval, time.Microsecond))
	for i, c := range cards {
		w.call, w.device[i] = C.memory_call(c.quick.call), c.quick.device
	}
	return &Watch{w, cards}
}

// Calm sets a longer interval for the times in which nothing works; in them, ticks
// are left out after calls that had to wait for the driver. Call it before Run.
// Without it every tick is taken.
func (w *Watch) Calm(interval time.Duration) { w.w.calm = C.longlong(interval) }

// Busy says whether something works now. It may be called from any goroutine and
// is heeded at the next tick of the longer interval.
func (w *Watch) Busy(busy bool) {
	var b C.int
	if busy {
		b = 1
	}
	C.watch_busy(w.w, b)
}

// Change is a new answer of one card.
type Change struct {
	Card int   // of those given to NewWatch
	At   int64 // ns of CLOCK_MONOTONIC, which is Go's own
	Memory
	Err error
}

// Run reads on the calling thread until Stop. It takes no memory.
func (w *Watch) Run() { C.watch_run(w.w) }

// Stop makes Run return at its next tick. It may be called from any goroutine.
func (w *Watch) Stop() { C.watch_stop(w.w) }

// Drain gives each answer that differs from the one before, since the last call,
// in the order of time. Answers wait in a ring with room for some seconds. It may
// be called by one goroutine while another is in Run.
func (w *Watch) Drain(got func(Change)) {
	var r C.reading
	for C.watch_next(w.w, &r) != 0 {
		c := Change{Card: int(r.card), At: int64(r.at)}
		if ret := nvml.Return(r.ret); ret != nvml.SUCCESS {
			c.Err = fmt.Errorf("NVML memory of %s: %s", w.cards[r.card].Name, nvml.ErrorString(ret))
		} else {
			c.Memory = Memory{Total: int64(r.total), Used: int64(r.used), Free: int64(r.free), Reserved: int64(r.reserved), Apart: true}
		}
		got(c)
	}
}

// Close gives the memory back, after Run has returned.
func (w *Watch) Close() {
	C.free(unsafe.Pointer(w.w))
	w.w = nil
}

// Watched is what a watch did so far.
type Watched struct {
	Seen          int64 // ns of CLOCK_MONOTONIC: when the cards were last read, 0 before
	Ticks, Missed int64
	Held          int64         // ticks left out after slow calls, see Calm
	Lost          int64         // changes for which there was no room in the ring
	Thread        time.Duration // processor time of the thread, calls and all
	// Measured ticks took Wall together, the longest Longest; CPU is what the calls
	// of all ticks took.
	Measured           int64
	CPU, Wall, Longest time.Duration
}

// Watched may be asked at any time before Close.
func (w *Watch) Watched() Watched {
	s := C.watch_so_far(w.w)
	return Watched{
		Seen: int64(s.seen), Ticks: int64(s.ticks), Missed: int64(s.missed), Lost: int64(s.lost), Held: int64(s.held), Measured: int64(s.measured),
		Thread: time.Duration(s.thread), CPU: time.Duration(s.cpu), Wall: time.Duration(s.wall), Longest: time.Duration(s.longest),
	}
}
