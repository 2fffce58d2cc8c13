package why

import "testing"

// FuzzLook checks that no text makes it panic, that no line gets lost between runs,
// and that what failed can be told in words.
func FuzzLook(f *testing.F) {
	f.Add("got prompt\n!!! Exception during processing !!! CUDA out of memory. Tried to allocate 2.00 GiB.\nPrompt executed in 1.00 seconds\n")
	f.Add("Total VRAM 8188 MB, total RAM 16000 MB\nTo see the GUI go to: http://127.0.0.1:8188\nTotal VRAM 8188 MB, total RAM 16000 MB\n")
	f.Add("C:\\AI>.\\python_embeded\\python.exe -s ComfyUI\\main.py --lowvram\r\n** ComfyUI Path: C:\\AI\r\nC:\\AI>pause\r\n")
	f.Add("main.py: error: unrecognized arguments: --x\n[2026-11-30 10:00:00.000] [info]  [ERROR] x\nPrompt executed in ")
	f.Fuzz(func(t *testing.T, text string) {
		log := lines(text)
		runs := Split(log)
		n := 0
		for _, run := range runs {
			n += len(run)
			r := Look(run, given{gone: true, platform: "windows"})
			if r.String() == "" || r.Failed() && what(&r) == "" {
				t.Errorf("%q: no words for %+v", text, r.Outcome)
			}
			steps(&r, nil, nil)
		}
		if n != len(log) {
			t.Errorf("%d of %d lines in runs", n, len(log))
		}
	})
}
