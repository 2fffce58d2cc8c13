package recorders

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// What a thread did before it became a sampler's is not the sampler's cost: it cannot
// have taken more than the time that has passed.
func TestThreadsBegin(t *testing.T) {
	var busy sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for cpu, _ := threadCPU(); cpu < 600*time.Millisecond; cpu, _ = threadCPU() {
			}
		})
	}
	busy.Wait()
	began := time.Now()
	s := Start(Config{Env: noCard})
	stop, empty := make(chan struct{}), make(chan time.Duration)
	go func() { empty <- EmptyLoop(stop, Fast, false) }()
	time.Sleep(Slow + Medium)
	close(stop)
	if cpu := <-empty; cpu > time.Since(began) {
		t.Errorf("an empty loop took %v in %v", cpu, time.Since(began))
	}
	for _, th := range s.Threads() {
		if th.CPU > time.Since(began) {
			t.Errorf("thread %s took %v in %v", th.Name, th.CPU, time.Since(began))
		}
	}
	s.Stop()
}
