package redact

import (
	"strings"
	"testing"
)

// Ensure that folders are named by what they are for, however a text writes them, and
// that others of a like name stay.
func TestFolders(t *testing.T) {
	r := New(Options{Folders: []Folder{
		{"/tmp/x/res", "results"}, {"/mnt/ClientX/ComfyUI", "comfyui"}, {"/mnt/ClientX/big models", "models"}, {"/srv/models", "models"}, {"/home/wilhelmina/res", "results"},
		{`D:\ClientY\ComfyUI`, "comfyui"}, {`\\nas\ClientZ\models`, "models"}, {"/", "root"}, {`C:\`, "root"}, {"relative/folder", "none"}, {"/tmp/x/res/", "again"},
	}})
	for _, c := range []struct{ text, want string }{
		{"/tmp/x/res", "<results>"},
		{"at /tmp/x/res.", "at <results>."},
		{"--base-directory=/tmp/x/res/trials/1", "--base-directory=<results>/trials/1"},
		{`File "/mnt/ClientX/ComfyUI/execution.py", line 3`, `File "<comfyui>/execution.py", line 3`},
		{`a\n/tmp/x/res/y`, `a\n<results>/y`},
		{"sqlite:////tmp/x/res/comfyui.db", "sqlite:///<results>/comfyui.db"},
		{"?path=%2Ftmp%2Fx%2Fres%2Flog", "?path=<results>%2Flog"},
		{"/mnt/ClientX/big models/loras, /mnt/ClientX/big%20models/vae", "<models>/loras, <models>/vae"},
		{"/srv/models/vae", "<models-2>/vae"},
		{`'D:\\ClientY\\ComfyUI\\main.py' d:/clienty/comfyui/main.py`, `'<comfyui-2>\\main.py' <comfyui-2>/main.py`},
		{`\\nas\ClientZ\models\x.gguf`, `<models-3>\x.gguf`},
		{"/tmp/x/results /tmp/x/res-2 /tmp/x/res.bak /data/tmp/x/res/y", "/tmp/x/results /tmp/x/res-2 /tmp/x/res.bak /data/tmp/x/res/y"},
		{"/ and relative/folder", "/ and relative/folder"},
		// The name below /home is known although the folder's path is gone.
		{"/home/wilhelmina/res/a of wilhelmina", "<results-2>/a of <user>"},
	} {
		if got := r.Text(c.text); got != c.want {
			t.Errorf("%s\nwant %s\ngot  %s", c.text, c.want, got)
		} else if again := r.Text(got); again != got {
			t.Errorf("redacted twice: %s, once: %s", again, got)
		}
	}
	found := ""
	for _, n := range r.Found() {
		if n.Kind == Place {
			found = strings.Repeat("x", n.N)
		}
	}
	if len(found) != 7 {
		t.Errorf("%d folders are counted, want 7", len(found))
	}
}
