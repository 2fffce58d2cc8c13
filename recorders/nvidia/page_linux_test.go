//go:build cgo

package nvidia

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pageChild follows a page that it writes itself, beside the library's answer: 2 GiB
// used, 1 reserved and 7 free of 10. Each line is what came of a step.
func pageChild() {
	card, err := Open(os.LookupEnv)
	if err != nil {
		panic(err)
	}
	data, err := unix.Mmap(-1, 0, pageLength, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	p := &page{data: data}
	*p.pma() = pmaInfo{firstSeq, 9 * gib, 7 * gib}
	if err := p.compare(card.Memory); err != nil {
		panic(err)
	}
	card.page = p
	w := NewWatch([]*Card{card}, time.Millisecond)
	w.Calm(100 * time.Millisecond) // heeded only after the page was given up
	ended := make(chan struct{})
	go func() { w.Run(); close(ended) }()
	step := func(name string, seq uint64, free int64, checks int) {
		p.pma().free = uint64(free)
		p.pma().seq = seq
		unlike, gaveUp := 0, false
		for range checks {
			unlike, gaveUp = w.Check(0)
		}
		for ticks := w.Watched().Ticks; w.Watched().Ticks < ticks+2; {
			time.Sleep(time.Millisecond)
		}
		var got []string
		w.Drain(func(c Change) { got = append(got, fmt.Sprintf("%d/%d/%d", c.Used/gib, c.Reserved/gib, c.Free/gib)) })
		fmt.Println(name, strings.Join(got, " "), unlike, gaveUp)
	}
	step("start", firstSeq, 7*gib, 1)
	step("less", firstSeq+2, 5*gib, 0)
	step("unchanged", firstSeq+2, 4*gib, 0) // nothing is read before seq changes
	step("more", firstSeq+4, 7*gib, 1)
	step("writing", firstSeq+5, gib, 0) // not valid: NVML is asked, whose answer is no other
	step("elsewhere", firstSeq+6, 6*gib, 1)
	step("again", firstSeq+8, 5*gib, 2)
	step("and again", firstSeq+10, 4*gib, 1)
	step("given up", firstSeq+12, 3*gib, 1)
	step("not read", firstSeq+14, gib, 1)
	w.Stop()
	<-ended
	w.Close()
	card.page = nil // the memory is not the driver's
	card.Close()
}

func TestPage(t *testing.T) {
	const want = `start 2/1/7 0 false
less 4/1/5 0 false
unchanged  0 false
more 2/1/7 0 false
writing  0 false
elsewhere 1 false
again 2 false
and again 3 false
given up 4 true
not read  4 true
`
	out := runChild(t, build(t), "NVIDIA_PROBE=page")
	// Between a write and the check that corrects it the thread may read, or not.
	var steps strings.Builder
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, " ")
		if name == "elsewhere" || name == "again" || name == "and" || name == "given" {
			f := strings.Fields(line)
			for _, v := range f {
				if strings.Contains(v, "/") {
					line = strings.Replace(line, v+" ", "", 1)
				}
			}
			line = strings.ReplaceAll(line, "  ", " ")
		}
		steps.WriteString(line)
	}
	if steps.String() != want {
		t.Errorf("want\n%s\ngot\n%s", want, out)
	}
}

// Memory that is not as the page says must be refused, and one that is not there.
func TestNoPage(t *testing.T) {
	for _, test := range []struct {
		name string
		pma  pmaInfo
	}{
		{"never written", pmaInfo{}},
		{"another layout", pmaInfo{firstSeq, 7 << 32, 150}},
		{"being written", pmaInfo{firstSeq + 1, 9 * gib, 7 * gib}},
	} {
		p := &page{data: make([]byte, pageLength)}
		*p.pma() = test.pma
		err := p.compare(func() (Memory, error) {
			return Memory{Total: 10 * gib, Used: 2 * gib, Free: 7 * gib, Reserved: gib}, nil
		})
		if err == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
	for _, driver := range []string{"", "560.35.03", "x"} {
		if _, err := openPage(driver, 0, 0, 0); err == nil || !strings.Contains(err.Error(), "565") {
			t.Errorf("driver %q: %v", driver, err)
		}
	}
}
