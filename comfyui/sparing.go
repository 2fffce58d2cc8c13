package comfyui

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// spareShare is the share of a server's time that questions to it may take: a
// thousandth is 1 ms a second.
const spareShare = 1000

// sparing keeps what a server is asked below a share of its time: after a question
// that cost it 4 ms there is none for 4 s.
type sparing struct {
	now clock
	// busy is the processor time of the thread that answers, false where it cannot be
	// seen; then the whole time until the answer came counts as the server's.
	busy func() (time.Duration, bool)

	mu    sync.Mutex
	ready time.Duration
	spent time.Duration
	asked int
}

// wait is how long the next question has to wait.
func (s *sparing) wait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.ready-s.now(), 0)
}

// ask puts a question if it is time for one, and reports whether it did.
func (s *sparing) ask(question func() error) (asked bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	begin := s.now()
	if begin < s.ready {
		return false, nil
	}
	before, ok := s.busy()
	err = question()
	end := s.now()
	cost := end - begin
	if after, still := s.busy(); ok && still && after >= before {
		cost = min(cost, after-before)
	}
	s.asked++
	s.spent += cost
	s.ready = end + spareShare*cost
	return true, err
}

// total is what was asked so far and what that took of the server's time.
func (s *sparing) total() (asked int, spent time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.spent
}

// mainThread gives the processor time of a process's first thread, in which ComfyUI
// answers requests (main.py runs its event loop there, and prompts in another thread).
// The first number of schedstat is nanoseconds on a processor
// (https://docs.kernel.org/scheduler/sched-stats.html).
func mainThread(pid int) func() (time.Duration, bool) {
	file := filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "schedstat")
	return func() (time.Duration, bool) {
		if pid == 0 {
			return 0, false
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return 0, false
		}
		first, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		return time.Duration(n), err == nil
	}
}
