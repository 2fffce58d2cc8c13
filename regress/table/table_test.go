package table

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	all, err := Read(strings.NewReader("\ufeffseries, index ,outcome,value,note\r\nb,v1,pass,8589934592,x\r\na,2026-01-01,PASS,,\r\nb,v2,oom,100,\r\n\"b\",v3,pass, 7e3,\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name != "b" || all[1].Name != "a" {
		t.Fatalf("got %+v, want b and a", all)
	}
	b := all[0]
	if got, want := strings.Join(b.Index, " "), "v1 v2 v3"; got != want {
		t.Errorf("index: got %q, want %q", got, want)
	}
	if p := b.Points; !p[0].Known || p[0].Value != 8<<30 || p[1].Known || p[1].Outcome != "oom" || p[2].Value != 7000 {
		t.Errorf("points: %+v", p)
	}
	if b.Dropped != 1 || !b.Bytes() {
		t.Errorf("dropped %d, bytes %v", b.Dropped, b.Bytes())
	}
	if p := all[1].Points[0]; p.Known || all[1].Bytes() {
		t.Errorf("a pass without a value: %+v", p)
	}
}

func TestReadBad(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	const header = "series,index,value,outcome\n"
	check("", "empty")
	check("series,index,value\n", `no column "outcome"`)
	check("a,1,2,pass\n", `no column "series"`)
	check(header+"a,1,2,pass\na,2,x,pass\n", `line 3: value "x"`)
	check(header+"a,1,NaN,pass\n", `line 2: value "NaN"`)
	check(header+"a,1,2,passed\n", `line 2: outcome "passed"`)
	check(header+"a,1,2,\n", `line 2: outcome ""`)
	check(header+"a,1,2\n", "line 2")
	check(header+"\"a,1,2,pass\n", "line 2")
}
