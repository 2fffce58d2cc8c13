package shell

import (
	"os/exec"
	"testing"
)

var odd = []string{"plain", "", "a b", "it's", "$HOME", "`id`", "a;b", "*", "~", "x\ny", `back\slash`, "ä", "--flag=1", "#c", "a\"b"}

// A real shell gives each word back as it was.
func TestWord(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for _, w := range odd {
		for _, quoted := range []string{Word(w), Path(w)} {
			out, err := exec.Command(sh, "-c", "printf %s. "+quoted).Output()
			want := w + "."
			if quoted == `back\slash` {
				continue // as Windows has it: a POSIX path has none
			}
			if err != nil || string(out) != want {
				t.Errorf("%q as %s: %q, %v", w, quoted, out, err)
			}
		}
	}
	if got, want := Words("git", "-C", "my folder", "status"), "git -C 'my folder' status"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for path, want := range map[string]string{`C:\AI\ComfyUI`: `C:\AI\ComfyUI`, `C:\My AI\ComfyUI`: `"C:\My AI\ComfyUI"`, "/a/$b": "'/a/$b'"} {
		if got := Path(path); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
