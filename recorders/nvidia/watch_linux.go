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

typedef struct {
	memory_call call;
	int cards;
	void *device[CARDS];
	reading last[CARDS];
	long long interval, next;      // ns of CLOCK_MONOTONIC
	long long seen;                // when the cards were last read
	long long ticks, missed;
	long long cpu, wall, longest, measured; // ns of the calls; one tick in MEASURED, times MEASURED for cpu
	int stop;
	int n;
	reading out[ROOM];
} watch;

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
	if (l->at == 0 || l->ret != r.ret || l->used != r.used || l->free != r.free || l->reserved != r.reserved) {
		*l = r;
		w->out[w->n++] = r;
	}
}

static void watch_tick(watch *w) {
	long long now = clock_ns(CLOCK_MONOTONIC);
	int measure = w->ticks++ % MEASURED == MEASURED / 2;
	long long cpu = measure ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	for (int i = 0; i < w->cards; i++) watch_ask(w, i, now);
	w->seen = now;
	if (measure) {
		w->cpu += MEASURED * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
		long long wall = clock_ns(CLOCK_MONOTONIC) - now;
		w->wall += wall;
		w->measured++;
		if (wall > w->longest) w->longest = wall;
	}
}

// watch_run reads until a moment, or until there is no room for another tick.
static void watch_run(watch *w, long long until) {
	w->n = 0;
	if (w->next == 0) w->next = clock_ns(CLOCK_MONOTONIC);
	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED) && w->n + w->cards <= ROOM) {
		watch_tick(w);
		w->next += w->interval;
		long long now = clock_ns(CLOCK_MONOTONIC);
		if (now - w->next >= w->interval) { // passed, and not made up for
			long long skip = (now - w->next) / w->interval;
			w->missed += skip;
			w->next += skip * w->interval;
		}
		struct timespec t = {w->next / 1000000000LL, w->next % 1000000000LL};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {}
		if (w->next >= until) return;
	}
}

static void watch_stop(watch *w) { __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED); }
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

// Change is a new answer of one card.
type Change struct {
	Card int   // of those given to NewWatch
	At   int64 // ns of CLOCK_MONOTONIC, which is Go's own
	Memory
	Err error
}

// Run reads until a moment of CLOCK_MONOTONIC in ns, and gives each answer that
// differs from the one before to got. It takes no memory of Go's.
func (w *Watch) Run(until int64, got func(Change)) {
	C.watch_run(w.w, C.longlong(until))
	for i := range int(w.w.n) {
		r := &w.w.out[i]
		c := Change{Card: int(r.card), At: int64(r.at)}
		if ret := nvml.Return(r.ret); ret != nvml.SUCCESS {
			c.Err = fmt.Errorf("NVML memory of %s: %s", w.cards[r.card].Name, nvml.ErrorString(ret))
		} else {
			c.Memory = Memory{Total: int64(r.total), Used: int64(r.used), Free: int64(r.free), Reserved: int64(r.reserved), Apart: true}
		}
		got(c)
	}
}

// Stop makes Run return at its next tick. It may be called from any goroutine.
func (w *Watch) Stop() { C.watch_stop(w.w) }

// Close gives the memory back, after Run has returned.
func (w *Watch) Close() {
	C.free(unsafe.Pointer(w.w))
	w.w = nil
}

// Watched is what a watch did so far.
type Watched struct {
	Seen          int64 // ns of CLOCK_MONOTONIC: when the cards were last read
	Ticks, Missed int64
	// Measured ticks took Wall together, the longest Longest; CPU is what all
	// ticks took.
	Measured           int64
	CPU, Wall, Longest time.Duration
}

// Watched is to be asked by who runs the watch.
func (w *Watch) Watched() Watched {
	return Watched{
		Seen: int64(w.w.seen), Ticks: int64(w.w.ticks), Missed: int64(w.w.missed), Measured: int64(w.w.measured),
		CPU: time.Duration(w.w.cpu), Wall: time.Duration(w.w.wall), Longest: time.Duration(w.w.longest),
	}
}
