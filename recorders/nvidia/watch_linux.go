//go:build cgo

package nvidia

/*
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef int (*memory_call)(void *, memory_v2 *);

enum { CARDS = 64, ROOM = 8192, MEASURED = 16 };

// pmaInfo of page_linux.go.
typedef struct { unsigned long long seq, total, free; } pma;

// A card's page, and what makes NVML's answer of it. offset, off and unlike are
// written by the thread that checks, the rest by the one that reads.
typedef struct {
	const volatile pma *at; // NULL without one
	long long total, reserved; // as NVML told them at the start
	long long offset; // of NVML's free memory above the page's
	int off, unlike; // not believed any more; checks that found another offset
	unsigned long long seq; // of the last reading
	long long with; // the offset of that
} page;

// One new answer of a card.
typedef struct { long long at; long long total, reserved, free, used; int card, ret; } reading;

// The thread that reads writes to the ring and to the counters; another one reads
// both. Neither waits for the other.
typedef struct {
	memory_call call;
	int cards;
	void *device[CARDS];
	page page[CARDS];
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

// page_read gives 0 while the driver writes, for as long as ten looks take.
static int page_read(const volatile pma *p, pma *got) {
	enum { TRIES = 10 };
	const unsigned long long start = 0xffULL << 56; // RUSD_SEQ_START
	for (int i = 0; i < TRIES; i++) {
		got->seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE);
		got->free = p->free;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (got->seq >= start && got->seq % 2 == 0 && p->seq == got->seq) return 1;
	}
	return 0;
}

// page_ask reads a card without a call, where that can be done: 0 if not, 1 if
// nothing is new, 2 for a reading.
static int page_ask(page *p, reading *r, int first) {
	pma got;
	if (p->at == NULL || GET(p->off) || !page_read(p->at, &got)) return 0;
	long long offset = GET(p->offset);
	if (!first && got.seq == p->seq && offset == p->with) return 1;
	p->seq = got.seq;
	p->with = offset;
	r->total = p->total;
	r->reserved = p->reserved;
	r->free = (long long)got.free + offset;
	r->used = r->total - r->reserved - r->free;
	return 2;
}

static void watch_ask(watch *w, int i, long long now) {
	reading r = {now, 0, 0, 0, 0, i, 0};
	reading *l = &w->last[i];
	int quick = page_ask(&w->page[i], &r, l->at == 0 || l->ret != 0);
	if (quick == 1) return;
	if (quick == 0) {
		memory_v2 m = {sizeof m | 2u << 24};
		r.ret = w->call(w->device[i], &m);
		if (r.ret == 0) {
			r.total = m.total; r.reserved = m.reserved; r.free = m.free; r.used = m.used;
		}
	}
	if (l->at != 0 && l->ret == r.ret && l->used == r.used && l->free == r.free && l->reserved == r.reserved) return;
	if (w->head - GET(w->tail) == ROOM) { // tried again with the next reading
		SET(w->lost, w->lost + 1);
		w->page[i].seq = 0;
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

// Without calls there is nothing to be sparing with.
static int watch_paged(watch *w) {
	for (int i = 0; i < w->cards; i++) {
		if (w->page[i].at == NULL || GET(w->page[i].off)) return 0;
	}
	return w->cards > 0;
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
		int calm = w->calm > 0 && !GET(w->busy) && !watch_paged(w);
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

// watch_check holds a page against NVML: a page that something else than its card
// writes, or nothing, must not be believed. Nothing is said of a card whose memory
// changed meanwhile. A page that differs is believed with its new offset, up to
// UNLIKE times. It gives how often it differed so far, negative when given up.
static int watch_check(watch *w, int i) {
	enum { UNLIKE = 3 };
	page *p = &w->page[i];
	if (p->at == NULL || GET(p->off)) return -p->unlike;
	pma before, after;
	memory_v2 m = {sizeof m | 2u << 24};
	if (!page_read(p->at, &before) || w->call(w->device[i], &m) != 0) return p->unlike;
	if (!page_read(p->at, &after) || before.seq != after.seq) return p->unlike;
	long long offset = (long long)m.free - (long long)after.free;
	int alike = (long long)m.total == p->total && (long long)m.reserved == p->reserved;
	if (alike && offset == p->offset) return p->unlike;
	p->unlike++;
	if (!alike || p->unlike > UNLIKE) {
		SET(p->off, 1);
		return -p->unlike;
	}
	SET(p->offset, offset);
	return p->unlike;
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
		if c.page != nil {
			w.page[i] = C.page{
				at: (*C.pma)(unsafe.Pointer(c.page.pma())), offset: C.longlong(c.page.offset),
				total: C.longlong(c.page.known.Total), reserved: C.longlong(c.page.known.Reserved),
			}
		}
	}
	return &Watch{w, cards}
}

// Check holds what is read of a card without NVML against NVML, and gives how often
// they differed so far. After some times, and where it must not be, the page is not
// read any more but NVML asked at each tick: gaveUp. It may be called by one
// goroutine while another is in Run; the call can block as NVML's do.
func (w *Watch) Check(card int) (unlike int, gaveUp bool) {
	n := int(C.watch_check(w.w, C.int(card)))
	return max(n, -n), n < 0
}

// Calm sets a longer interval for the times in which nothing works; in them, ticks
// are left out after calls that had to wait for the driver. Call it before Run.
// Without it every tick is taken, as it is where all cards are read without calls.
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
