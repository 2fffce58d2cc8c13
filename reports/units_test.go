package reports

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	check(Bytes(0), "0 MiB")
	check(Bytes(400<<10), "0.4 MiB")
	check(Bytes(512<<20), "512 MiB")
	check(Bytes(7964<<20), "7.78 GiB")
	check(Bytes(-2<<30), "-2.00 GiB")
	check(MiB(7964<<20+400<<10), "7964")
	check(MiB(-1), "0")
	check(GiB(-1), "0.00")
	check(GiB(8<<30), "8.00")
	check(Seconds(0), "0.00")
	check(Seconds(0.994), "0.99")
	check(Seconds(0.996), "1.0")
	check(Seconds(99.94), "99.9")
	check(Seconds(99.96), "100")
	check(Duration(850*time.Millisecond), "0.85 s")
	check(Duration(8200*time.Millisecond), "8.2 s")
	check(Duration(119600*time.Millisecond), "2 min 00 s")
	check(Duration(125*time.Second), "2 min 05 s")
	check(Duration(3*time.Hour+20*time.Minute), "3 h 20 min")
	check(Duration(59*time.Minute+59*time.Second+900*time.Millisecond), "1 h 00 min")
	check(Duration(-time.Second), "-1.0 s")
	check(Percent(0.124), "+12 %")
	check(Percent(-0.1), "-10 %")
	check(Percent(0.0001), "0 %")
	check(Percent(-0.0001), "0 %")
}
