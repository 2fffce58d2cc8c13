package diagnosis

import (
	"regexp"
	"strings"
)

// cause is why a server did not start, by a text that its program prints.
type cause struct {
	text *regexp.Regexp
	// say and advice may use $1, $2 of text.
	say, advice string
}

// causes are tried on each of the last lines, the last line first.
var causes = []cause{
	// argparse.
	{regexp.MustCompile(`error: unrecognized arguments: (.+)`), "this version does not know the flags: $1", "take $1 out of the spec for this version"},
	{regexp.MustCompile(`error: (argument .+)`), "bad launch flags: $1", ""},
	// ComfyUI since 0.30, aiohttp before.
	{regexp.MustCompile(`Port (\d+) is already in use on address (\S+?)\.?( |$)`), "port $1 on $2 is taken by another program", "stop the program that listens on port $1, or use another port"},
	{regexp.MustCompile(`error while attempting to bind on address \('([^']+)', (\d+)`), "port $2 on $1 is taken by another program", "stop the program that listens on port $2, or use another port"},
	{regexp.MustCompile(`ModuleNotFoundError: No module named '([^']+)'`), "the Python package $1 is missing", "install this version's requirements with the Python that runs it: python -m pip install -r requirements.txt"},
	{regexp.MustCompile(`(ImportError: .+)`), "a Python package does not fit: $1", "install this version's requirements with the Python that runs it: python -m pip install -r requirements.txt"},
	{regexp.MustCompile(`(AttributeError: function '\w+' not found.*)`), "a Python package does not fit: $1", "install this version's requirements with the Python that runs it: python -m pip install -r requirements.txt"},
	{regexp.MustCompile(`ASSETS_STARTUP_FAILED: (\w+)`), "the assets database could not be opened ($1)", ""},
	{regexp.MustCompile(`(Database is locked)`), "ComfyUI's database is locked by another server", "stop the other server, or give this one a database of its own"},
	// torch at its first touch of the device.
	{regexp.MustCompile(`(Torch not compiled with CUDA enabled|Found no NVIDIA driver on your system|No CUDA GPUs are available|CUDA driver version is insufficient[^.]*|CUDA driver initialization failed[^.]*|CUDA unknown error[^.]*|no CUDA-capable device is detected|No HIP GPUs are available)`),
		"torch cannot use a GPU here: $1", "set device: cpu, or use a Python whose torch fits this machine's GPU and driver"},
	{regexp.MustCompile(`can't open file '([^']+)': \[Errno 2\]`), "there is no $1", "name the folder that holds ComfyUI's main.py"},
	{regexp.MustCompile(`comfyui-frontend-package is not installed`), "the package comfyui-frontend-package is missing", "install this version's requirements with the Python that runs it: python -m pip install -r requirements.txt"},
	{regexp.MustCompile(`^(SyntaxError: .+)`), "this Python cannot read the program: $1", "use a Python of the version that this ComfyUI asks for"},
}

// found is a recognised cause with its line.
type found struct {
	message, advice, line string
	last                  bool // nothing was printed behind it
}

// startCause looks for the reason at the end of the log.
func startCause(lines []line) (found, bool) {
	const far = 40
	quiet := true
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-far; i-- {
		l := lines[i]
		if l.text == "" || l.bar {
			continue
		}
		for _, c := range causes {
			m := c.text.FindStringSubmatchIndex(l.text)
			if m == nil || survived(lines[i+1:]) {
				continue
			}
			expand := func(template string) string { return string(c.text.ExpandString(nil, template, l.text, m)) }
			return found{message: expand(c.say), advice: expand(c.advice), line: strings.TrimSpace(l.text), last: quiet}, true
		}
		quiet = false
	}
	return found{}, false
}

// survived says that the program went on without what could not be imported.
func survived(rest []line) bool {
	for _, l := range rest {
		if strings.Contains(l.text, "Cannot import") || strings.Contains(l.text, "IMPORT FAILED") || strings.Contains(l.text, "Starting server") {
			return true
		}
	}
	return false
}
