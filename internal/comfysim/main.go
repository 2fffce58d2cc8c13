package comfysim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Main runs a simulated ComfyUI until it is stopped, and returns the status that
// the process is to exit with: 0 after Ctrl-C (or when ctx ends) and with
// --quick-test-for-ci, 1 when it cannot start, 2 when its flags are wrong.
// SIGTERM ends the process at once, as it does the real one.
//
// args are ComfyUI's launch flags, with the simulator's own among them:
//
//	--sim-version NAME    one of Versions(); default 0.29.0
//	--sim-card BYTES      size of the simulated card; 0, the default: no card,
//	                      the server runs on the CPU as with --cpu
//	--sim-card-free BYTES what of it is free before the start; default all
//	--sim-card-file PATH  where the card is shown (memtrix.SimCardFile in the
//	                      working directory); what others hold counts as reserved
//	--sim-ram BYTES       RAM that the machine says it has; default the host's
//	--sim-scale F         factor on touched RAM and on the card's file
//	--sim-ram-scale F     the same for RAM alone
//	--sim-speed F         simulated seconds in a second
//	--sim-fault NAME      die-at-start, missing-module, hang-at-start, slow-start,
//	                      hang-in-load, hang-in-sample, kill-in-sample,
//	                      error-in-sample, drop-socket, no-aimdo
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	simArgs, rest, err := splitSimArgs(args)
	if err != nil {
		fmt.Fprintf(stderr, "comfysim: %v\n", err)
		return 2
	}
	ver, _ := versionNamed(simArgs.version) // checked with the flags
	defs := flagTable(ver.flags)
	for _, a := range rest {
		if a == "-h" || a == "--help" {
			fmt.Fprint(stdout, usageText(defs))
			return 0
		}
	}
	opts, err := parseFlags(defs, rest)
	if err != nil {
		fmt.Fprintf(stderr, "%smain.py: error: %v\n", usageText(defs), err)
		return 2
	}
	return serve(ctx, simArgs, ver, opts, rest, stdout, stderr)
}

func serve(ctx context.Context, simArgs simArgs, ver simVersion, opts options, argv []string, stdout, stderr io.Writer) int {
	// The process may have been told to catch SIGTERM; ComfyUI does not.
	signal.Reset(syscall.SIGTERM)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	log := newLogger(stdout, stderr, ver, opts)
	cfg, err := newConfig(simArgs, ver, opts, argv)
	if err != nil {
		log.raw(fmt.Sprintf("comfysim: %v\n", err))
		return 1
	}
	s, err := newSim(cfg, log)
	if err != nil {
		log.raw(fmt.Sprintf("comfysim: %v\n", err))
		return 1
	}
	defer s.close()
	err = s.run(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		log.info("\nStopped server")
		return 0
	case !errors.Is(err, errStartFailed):
		log.raw(fmt.Sprintf("Traceback (most recent call last):\n  File \"/opt/ComfyUI/main.py\", line 219, in <module>\n%v\n", err))
	}
	return 1
}

// close gives back files and memory, for tests that run several in one process.
func (s *sim) close() {
	if s.card != nil && s.card.file != nil {
		s.card.file.close()
	}
	for _, w := range s.mem.list {
		if w.file != nil {
			w.file.close()
		}
	}
	_ = s.host.anon.resize(0)
	_ = s.host.shmem.resize(0)
	s.host.libs.close()
}

func (s *sim) run(ctx context.Context) error {
	if err := s.runStart(ctx); err != nil {
		return s.mem.pythonize(err)
	}
	// The folder tells the next start that it is not the first.
	_ = os.MkdirAll(s.cfg.folders.user, 0o755)
	if s.cfg.opts.has("--quick-test-for-ci") {
		return nil
	}
	if line := s.cfg.cacheLine(); line != "" {
		s.log.info("%s", line)
	}
	if s.cfg.opts.has("--dont-print-server") {
		return s.listen(ctx, func(string, int) {})
	}
	s.log.info("Starting server\n")
	return s.listen(ctx, func(host string, port int) {
		s.log.info("To see the GUI go to: http://%s", net.JoinHostPort(host, strconv.Itoa(port)))
	})
}

func (s *sim) listen(ctx context.Context, ready func(host string, port int)) error {
	host, port := s.cfg.listen()
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		s.portInUse(host, port)
		return errStartFailed
	}
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	work, stopWork := context.WithCancel(ctx)
	defer stopWork()
	var wg sync.WaitGroup
	wg.Go(func() { s.work(work) })
	wg.Go(func() {
		<-work.Done()
		s.hub.closeAll()
		server.Close()
	})
	ready(host, port)
	err = server.Serve(l)
	stopWork()
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// portInUse tells it as the version does: a sentence, or an exception.
func (s *sim) portInUse(host string, port int) {
	if s.cfg.ver.tags {
		s.log.fail("Port %d is already in use on address %s. Please close the other application or use a different port with --port.", port, host)
		return
	}
	s.log.raw(fmt.Sprintf("Traceback (most recent call last):\n  File \"/opt/ComfyUI/main.py\", line 390, in <module>\n"+
		"  File \"/opt/ComfyUI/server.py\", line 1011, in start_multi_address\n"+
		"OSError: [Errno 98] error while attempting to bind on address ('%s', %d): address already in use\n", host, port))
}
