package html

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browsers are the programs that can show the page, the one without a window first.
var browsers = []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// browser finds a Chromium, or skips the test: MEMTRIX_BROWSER names one, `make
// browser` installs one on Debian.
func browser(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("MEMTRIX_BROWSER"); path != "" {
		return path
	}
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tb.Skip("no Chromium here: the page was not tried in a browser (make browser installs one, MEMTRIX_BROWSER names one)")
	return ""
}

// tab is a page in a browser.
type tab struct {
	tb   testing.TB
	ctx  context.Context
	mu   sync.Mutex
	said []string // errors and warnings of the console, exceptions, violations of the policy
}

func openTab(tb testing.TB, path string, width, height int64, scheme string) *tab {
	tb.Helper()
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), chromedp.NoSandbox, chromedp.ExecPath(browser(tb)))
	tb.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	tb.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	tb.Cleanup(cancel)
	b := &tab{tb: tb, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		tb.Fatal(err)
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		tb.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate("file://"+path))
	return b
}

func (b *tab) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			b.said = append(b.said, fmt.Sprintf("console.%s: %s", e.Type, arg.Value))
		}
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+(&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		b.said = append(b.said, "log: "+e.Entry.Text)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.tb.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.tb.Fatal(err)
	}
}

func (b *tab) quiet() {
	b.tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.tb.Errorf("the browser said: %s", s)
	}
}

// ask evaluates an expression; a promise is waited for.
func ask[T any](b *tab, expression string) T {
	b.tb.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.tb.Fatalf("%s: %v", expression, err)
	}
	return v
}

// settle waits for two frames, after which what was asked for has been drawn.
const settle = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// until waits for what a click or a key brings about, for ten seconds at most.
func (b *tab) until(condition string) {
	b.tb.Helper()
	const poll = `new Promise((done) => { const end = Date.now() + 10000, look = () => (%s) || Date.now() > end ? done(true) : setTimeout(look, 10); look(); })`
	ask[bool](b, fmt.Sprintf(poll, condition))
	ask[bool](b, settle)
}

const (
	opened = `document.getElementById('trial').open`
	closed = `!document.getElementById('trial').open && location.hash === ''`
)

func saved(tb testing.TB, p Page) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(written(tb, p)), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// colours counts the colours of all canvases below a selector: a chart has many, an
// empty canvas one.
const colours = `[...document.querySelectorAll('%s canvas')].map((c) => {
  const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
  return new Set(d).size;
})`

func TestInBrowser(t *testing.T) {
	path := saved(t, page(night()))
	for _, size := range []struct {
		width, height int64
		scheme        string
	}{{1280, 900, "light"}, {390, 844, "dark"}} {
		t.Run(fmt.Sprintf("%d %s", size.width, size.scheme), func(t *testing.T) {
			b := openTab(t, path, size.width, size.height, size.scheme)
			ask[bool](b, settle)
			if got := ask[string](b, `document.documentElement.dataset.theme`); got != size.scheme {
				t.Errorf("want the %s theme, got %q", size.scheme, got)
			}
			b.painted()
			b.charts("#trend", 1)
			b.fits(size.width)
			b.trial(size.width)
			b.keyboard()
			b.toggle(size.scheme)
			b.notOwned()
			b.quiet()
		})
	}
}

// charts checks that so many charts were drawn below a selector.
func (b *tab) charts(selector string, want int) {
	b.tb.Helper()
	got := ask[[]int](b, fmt.Sprintf(colours, selector))
	if len(got) != want {
		b.tb.Errorf("%s: want %d charts, got %d", selector, want, len(got))
	}
	for i, n := range got {
		if n < 8 {
			b.tb.Errorf("%s: chart %d has %d colours: nothing was drawn", selector, i, n)
		}
	}
}

// fits checks that the page itself need not be scrolled sideways; wide tables scroll
// in their own boxes.
func (b *tab) fits(width int64) {
	b.tb.Helper()
	if got := ask[int64](b, `document.documentElement.scrollWidth`); got > width {
		b.tb.Errorf("the page is %d pixels wide in a window of %d", got, width)
	}
}

// trial opens a trial by a click on its box.
func (b *tab) trial(width int64) {
	b.tb.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.map:not([hidden]) a.failed[data-trials^="6 "]').click()`))
	b.until(opened)
	if got := ask[bool](b, `document.getElementById('trial').open`); !got {
		b.tb.Fatal("a click on a box opened no trial")
	}
	b.charts("#trial", 2)
	b.fits(width)
	if got := ask[string](b, `document.querySelector('#trial pre').textContent`); got != "torch.OutOfMemoryError: Allocation on device" {
		b.tb.Errorf("evidence: %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(closed)
	if got := ask[bool](b, `document.getElementById('trial').open || location.hash !== ''`); got {
		b.tb.Error("Escape closed no trial")
	}
}

// keyboard walks the map and opens a trial without a mouse, and moves in its chart.
func (b *tab) keyboard() {
	b.tb.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.map:not([hidden]) a.box').focus()`), chromedp.KeyEvent(kb.ArrowRight))
	if got := ask[string](b, `document.activeElement.getAttribute('aria-label').split(':')[0]`); got != "default, sdxl, as-is, 0.2.0" {
		b.tb.Errorf("an arrow key went to %q", got)
	}
	if got := ask[string](b, `getComputedStyle(document.activeElement).outlineStyle`); got != "solid" {
		b.tb.Errorf("the focus cannot be seen: outline %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(opened)
	if got := ask[string](b, `document.getElementById('trial-title').textContent`); got != "Trial 9: 0.2.0, default" {
		b.tb.Errorf("Enter opened %q", got)
	}
	if got := ask[string](b, `document.activeElement.id`); got != "trial-title" {
		b.tb.Errorf("the dialog opened with the focus on %q", got)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-label^="next trial"]').focus()`), chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById('trial-title').textContent.startsWith('Trial 10:')`)
	if got := ask[string](b, `document.getElementById('trial-title').textContent + ', ' + document.activeElement.textContent`); got != "Trial 10: 0.2.0, default, ›" {
		b.tb.Errorf("Enter on the button went to %q", got)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#trial .chart [tabindex]').focus()`), chromedp.KeyEvent(kb.ArrowRight))
	ask[bool](b, settle)
	if got := ask[string](b, `document.querySelector('#trial .at').textContent`); got == "" {
		b.tb.Error("an arrow key in a chart tells nothing")
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(closed)
	if got := ask[bool](b, `document.activeElement.classList.contains('box')`); !got {
		b.tb.Error("after Escape the focus is not where it came from")
	}
}

// toggle switches the colours.
func (b *tab) toggle(scheme string) {
	b.tb.Helper()
	before := ask[string](b, `getComputedStyle(document.body).backgroundColor`)
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	ask[bool](b, settle)
	if got := ask[string](b, `document.documentElement.dataset.theme`); got == scheme {
		b.tb.Errorf("the theme is still %q", got)
	}
	if got := ask[string](b, `getComputedStyle(document.body).backgroundColor`); got == before {
		b.tb.Errorf("the page is still %s", got)
	}
	b.charts("#trend", 1)
}

// notOwned opens everything that shows planted text, and looks whether any of it ran.
func (b *tab) notOwned() {
	b.tb.Helper()
	last := len(night())
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = 'trial-%d'`, last)))
	b.until(opened)
	b.do(chromedp.Evaluate[chromedp.Void](`for (const s of document.querySelectorAll('select')) for (const o of s.options) { s.value = o.value; s.dispatchEvent(new Event('change')); }`))
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('th button').forEach((e) => e.click())`))
	ask[bool](b, settle)
	if got := ask[string](b, `String(window.owned)`); got != "undefined" {
		b.tb.Errorf("planted text ran: %s", got)
	}
	if got := ask[int](b, `document.querySelectorAll('img, iframe, svg, a[href^="javascript"]').length`); got != 0 {
		b.tb.Errorf("planted text became %d elements", got)
	}
	if got := ask[int](b, `document.querySelectorAll('script:not([type])').length`); got != 1 {
		b.tb.Errorf("want one script, got %d", got)
	}
}

// painted looks at the page as it is shown.
func (b *tab) painted() {
	b.tb.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.tb.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.tb.Fatal(err)
	}
	if n := distinct(picture); n < 100 {
		b.tb.Errorf("the page has %d colours: nothing was painted", n)
	}
}

func distinct(m image.Image) int {
	found := map[[3]uint32]bool{}
	r := m.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y += 3 {
		for x := r.Min.X; x < r.Max.X; x += 3 {
			red, green, blue, _ := m.At(x, y).RGBA()
			found[[3]uint32{red, green, blue}] = true
		}
	}
	return len(found)
}

// BenchmarkFirstPaint500 is the time from the navigation to the first paint, and until
// the page can be used, of a report of 500 trials.
func BenchmarkFirstPaint500(b *testing.B) {
	path := saved(b, page(many(500)))
	t := openTab(b, path, 1280, 900, "light")
	var paint, ready float64
	for b.Loop() {
		t.do(chromedp.Navigate("file://" + path))
		ask[bool](t, settle)
		paint += ask[float64](t, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)
		ready += ask[float64](t, `performance.getEntriesByType('navigation')[0].loadEventEnd`)
	}
	t.quiet()
	b.ReportMetric(paint/float64(b.N), "ms-to-paint")
	b.ReportMetric(ready/float64(b.N), "ms-to-loaded")
}
