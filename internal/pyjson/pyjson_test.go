package pyjson

import "testing"

func TestStandard(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \" Infinity", "d\\": NaN}`: `{"a": null, "b": [null, null], "c": "NaN \" Infinity", "d\\": null}`,
		`{"a": 1}`: `{"a": 1}`,
		`NaN`:      `null`,
		`"\`:       `"\`,
		``:         ``,
	} {
		if got := string(Standard([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
