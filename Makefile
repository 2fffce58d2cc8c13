# The two commands of the README are demo and test.
GO ?= go
# go-nvml calls deprecated entry points on purpose, for old drivers.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

# The names by which reports/html looks for a browser.
HAS_BROWSER = test -n "$$MEMTRIX_BROWSER" || \
  command -v chromium-headless-shell >/dev/null || command -v headless-shell >/dev/null || command -v chromium >/dev/null || \
  command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || command -v google-chrome-stable >/dev/null

.PHONY: actionlint calibrate-bisect demo build test fmt vet staticcheck unit kills cost night abba confusion calibrate suite-year fuzz fuzz-safetensors fuzz-log browser ci-browser page-paint windows clean

# make demo                        a simulated ComfyUI
# make demo COMFYUI=DIR [PYTHON=P] the same settings on a real one
# make demo REAL=1 [SOURCE=REPO]   the same, on a real one that memtrix gets by itself
#   [VERSION=0.29.0] [WHEELS=DIR]  which version; packages from a folder
demo: build
	./memtrix demo $(if $(COMFYUI),--comfyui "$(COMFYUI)") $(if $(PYTHON),--python "$(PYTHON)") \
	  $(if $(REAL),--real) $(if $(SOURCE),--source "$(SOURCE)") $(if $(VERSION),--version "$(VERSION)") $(if $(WHEELS),--wheels "$(WHEELS)")

build:
	$(GO) build -o memtrix ./cmd/memtrix

# memtrix.exe, for why, classify, convert and the like: needs a C compiler for Windows
# (Debian: gcc-mingw-w64-x86-64). What starts a ComfyUI has not been run there.
windows:
	GOOS=windows GOARCH=amd64 CGO_ENABLED=1 CC=$(or $(MINGW),x86_64-w64-mingw32-gcc) $(GO) build -o memtrix.exe ./cmd/memtrix

test: fmt vet staticcheck ci-browser unit

fmt:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) tool staticcheck ./...

# What the tests of a clean clone want beside Go: CI gets a browser, where it may.
ci-browser:
	@test -z "$$CI" || $(HAS_BROWSER) || timeout 120 $(MAKE) -s browser >/dev/null 2>&1 || true

# Packages that draw, compress and match, each call on what its caller owns: with the race
# detector in them they take ten times as long, and half of all time of the tests. What
# memtrix itself and every other library share between goroutines stays watched.
UNWATCHED = compress/... hash/... image/... regexp/... golang.org/x/image/... github.com/golang/freetype/... \
  gonum.org/v1/plot/... git.sr.ht/~sbinet/gg/... github.com/klauspost/compress/... github.com/cloudflare/ahocorasick
RACE = -race $(UNWATCHED:%='-gcflags=%=-race=false')

# The race detector sleeps for a second before each exit by default; tests start hundreds of programs.
unit:
	@$(HAS_BROWSER) || \
	  echo "no Chromium here: the HTML report is not tried in a browser (make browser installs one)"
	GORACE="atexit_sleep_ms=20 $$GORACE" $(GO) test $(RACE) ./...

# Long proofs; the tests have a short form of each.
kills:
	MEMTRIX_KILLS=20 $(GO) test -count 1 -v -run TestKilled ./cmd/memtrix

# What recording takes beside empty loops, and what a trial takes in the store.
# On a real card, with a busy program: MEMTRIX_GPU=1 MEMTRIX_BENCH_PID=PID make cost
cost:
	$(GO) test -count 1 -run 'TestGPU' -v ./recorders
	$(GO) test -run xxx -bench 'EmptyLoop|Sampler|Source|Server' -benchtime 100x ./recorders
	$(GO) test -run xxx -bench 'Trial' ./results

# What a night of 60 trials takes: make night MEMTRIX_NIGHT=COPY-OF-RESULTS:...
night:
	$(GO) test -count 1 -run TestNight -v ./results

# What the probe costs the server, or the recorders with SWITCH=recorders, measured in
# one server until the interval is narrow: make abba COMFYUI=DIR [PYTHON=P] [WORKFLOW=sdxl]
abba: build
	./memtrix abba --comfyui "$(COMFYUI)" $(if $(PYTHON),--python "$(PYTHON)") $(if $(WORKFLOW),--workflow "$(WORKFLOW)") \
	  --switch $(or $(SWITCH),probe) $(ARGS)

# Every parser of workflow files on inputs of chance: make fuzz [FUZZTIME=60s]
# (or a number of inputs, FUZZTIME=2500000x).
FUZZTIME ?= 60s
fuzz:
	@for f in FuzzRead:embedded FuzzConvert:convert FuzzDefs:convert FuzzText:convert FuzzDecode:. ; do \
	  $(GO) test -run xxx -fuzz "^$${f%%:*}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./workflows/$${f##*:} || exit 1; \
	done

# The reader and the writer of safetensors files, ten million inputs each.
fuzz-safetensors:
	$(GO) test -run xxx -fuzz '^FuzzRead$$' -fuzztime $(or $(RUNS),10000000)x -fuzzminimizetime 1x ./workflows/safetensors
	$(GO) test -run xxx -fuzz '^FuzzEncode$$' -fuzztime $(or $(RUNS),10000000)x -fuzzminimizetime 1x ./workflows/safetensors

# The readers of logs, events and tables, and the rules, on inputs of chance.
fuzz-log:
	$(GO) test -run xxx -fuzz '^FuzzJudge$$' -fuzztime $(FUZZTIME) ./diagnosis
	$(GO) test -run xxx -fuzz '^FuzzFiles$$' -fuzztime $(FUZZTIME) ./diagnosis/files

# How many runs a bisection takes and how often it is right, on programs made by
# chance, beside plain bisection with repeats: make calibrate-bisect [SEARCHES=1000] [ROW=TEXT] [SEED=N]
calibrate-bisect:
	MEMTRIX_SEARCHES=$(or $(SEARCHES),1000) MEMTRIX_ROW="$(ROW)" MEMTRIX_SEED=$(SEED) $(GO) test -count 1 -timeout 4h -v -run TestCalibration ./bisect

# What memtrix classify says of public reports, against their labels.
confusion:
	$(GO) test -count 1 -v -run TestCorpus ./diagnosis

# How often regress is wrong, and its rivals, and how soon it tells a drift: make calibrate [SERIES=2000]
calibrate:
	MEMTRIX_CALIBRATE=$(or $(SERIES),2000) $(GO) test -count 1 -v -timeout 1h -run "TestBars|TestDrifts" ./regress/calibrate

# The alarms of a whole suite in simulated years: make suite-year [YEARS=10]
suite-year:
	MEMTRIX_SUITE=$(or $(YEARS),10) $(GO) test -count 1 -v -timeout 1h -run TestSuite ./regress/calibrate

# A Chromium for the test of the HTML report, which is skipped without one. On Debian as
# root; elsewhere install any Chromium, or name one in MEMTRIX_BROWSER.
browser:
	@$(HAS_BROWSER) || \
	  { apt-get update -q && apt-get install -y -q --no-install-recommends chromium-headless-shell; }

# How long the HTML report of 500 trials takes to the first paint, and how large it is.
page-paint:
	$(GO) test -run xxx -bench . -benchtime 5x ./reports/html

# The example workflow for GitHub, with the checker that knows its language.
actionlint:
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 -config-file examples/nightly/actionlint.yaml examples/nightly/memtrix.yml

clean:
	rm -rf memtrix memtrix.exe demo-results
