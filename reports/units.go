package reports

import (
	"math"
	"strconv"
	"time"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Bytes writes a number of bytes for people: "7.78 GiB", "512 MiB", "0.4 MiB".
func Bytes(n int64) string {
	switch size := math.Abs(float64(n)); {
	case size >= gib:
		return GiB(n) + " GiB"
	case size >= 10*mib || n == 0:
		return MiB(n) + " MiB"
	}
	return strconv.FormatFloat(float64(n)/mib, 'f', 1, 64) + " MiB"
}

// MiB writes bytes as whole mebibytes, without the unit.
func MiB(n int64) string {
	return strconv.FormatFloat(positiveZero(math.Round(float64(n)/mib)), 'f', 0, 64)
}

// GiB writes bytes as gibibytes with two decimals, without the unit.
func GiB(n int64) string {
	return strconv.FormatFloat(positiveZero(math.Round(float64(n)/gib*100)/100), 'f', 2, 64)
}

// positiveZero keeps "-0" out of reports.
func positiveZero(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x
}

// Seconds writes a time as tables do, without the unit: "0.85", "8.2", "104".
func Seconds(s float64) string {
	decimals := 1
	switch size := math.Abs(s); {
	case size < 0.995:
		decimals = 2
	case size >= 99.95:
		decimals = 0
	}
	return strconv.FormatFloat(s, 'f', decimals, 64)
}

// Duration writes a time for people: "0.85 s", "8.2 s", "2 min 05 s",
// "3 h 20 min".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(max(-d, 0)) // the least Duration has no positive one
	case d < 99950*time.Millisecond:
		return Seconds(d.Seconds()) + " s"
	case d < time.Hour-500*time.Millisecond:
		d = d.Round(time.Second)
		return twoUnits(int(d/time.Minute), "min", int(d%time.Minute/time.Second), "s")
	}
	d = d.Round(time.Minute)
	return twoUnits(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min")
}

func twoUnits(big int, bigUnit string, small int, smallUnit string) string {
	pad := ""
	if small < 10 {
		pad = "0"
	}
	return strconv.Itoa(big) + " " + bigUnit + " " + pad + strconv.Itoa(small) + " " + smallUnit
}

// Percent writes a relative change with its sign: 0.12 is "+12 %".
func Percent(change float64) string {
	p := positiveZero(math.Round(change * 100))
	sign := ""
	if p > 0 {
		sign = "+"
	}
	return sign + strconv.FormatFloat(p, 'f', 0, 64) + " %"
}
