package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// oneWish is how long further signals count as the one that came before: timeout(1)
// and some shells send theirs to the process and to its group.
const oneWish = time.Second

// stoppedBy says what ended a run. Its context's Err stays context.Canceled; this is
// its cause.
func stoppedBy(s os.Signal) error {
	switch s {
	case os.Interrupt:
		return errors.New("stopped by Ctrl-C")
	case syscall.SIGTERM:
		return errors.New("stopped by signal TERM")
	case syscall.SIGHUP:
		return errors.New("stopped because its terminal went away (signal HUP)")
	}
	return fmt.Errorf("stopped by %v", s)
}

// untilStopped gives a context that ends with the first Ctrl-C, SIGTERM, or with
// the terminal. After that everything is stopped cleanly; at a second Ctrl-C quit
// is called at once, and the kernel ends the servers.
//
// Whoever read the output may go away: that ends writing, not the run. (A program
// that does not ask for SIGPIPE is killed by it when standard output or standard
// error is closed, os/signal.)
func untilStopped(quit func()) context.Context {
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1)
		wanted = append(wanted, syscall.SIGHUP)
	}
	came := make(chan os.Signal, 4)
	signal.Notify(came, wanted...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		signal := <-came
		first := time.Now()
		cancel(stoppedBy(signal))
		for range came {
			if time.Since(first) > oneWish {
				quit()
			}
		}
	}()
	return ctx
}
