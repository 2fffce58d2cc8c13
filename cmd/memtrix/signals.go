package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// oneWish is how long further signals count as the one that came before: timeout(1)
// and some shells send theirs to the process and to its group.
const oneWish = time.Second

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
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-came
		first := time.Now()
		cancel()
		for range came {
			if time.Since(first) > oneWish {
				quit()
			}
		}
	}()
	return ctx
}
