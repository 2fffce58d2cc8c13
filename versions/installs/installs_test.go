package installs

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// folder makes a machine with files; a name that ends in "/" is a ComfyUI tree.
func folder(os string, env map[string]string, files map[string]string) Machine {
	all := fstest.MapFS{}
	for name, text := range files {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			for _, part := range []string{"main.py", "nodes.py", "comfy/cli_args.py"} {
				all[dir+"/"+part] = &fstest.MapFile{}
			}
			continue
		}
		all[name] = &fstest.MapFile{Data: []byte(text), ModTime: time.Date(2026, 11, 1, 0, 0, len(text), 0, time.Local)}
	}
	m := Machine{OS: os, FS: all, Home: "/home/me", Cwd: "/home/me", Env: func(name string) string { return env[name] }}
	switch os {
	case "windows":
		m.Home, m.Cwd, m.Drives = `C:\Users\me`, `C:\Users\me`, []string{"C", "D"}
	case "darwin":
		m.Home, m.Cwd = "/Users/me", "/Users/me"
	}
	return m
}

// TestFind checks that each way in which ComfyUI is installed is found, once, with
// its environment and its flags.
func TestFind(t *testing.T) {
	appData := map[string]string{"APPDATA": `C:\Users\me\AppData\Roaming`, "LOCALAPPDATA": `C:\Users\me\AppData\Local`}
	for _, c := range []struct {
		name, os string
		files    map[string]string
		// kind, folder, tree, python and flags of each, in order
		want []string
	}{
		{"git", "linux", map[string]string{
			"home/me/ComfyUI/": "", "home/me/ComfyUI/.git/HEAD": "x", "home/me/ComfyUI/venv/bin/python": "",
		}, []string{"git /home/me/ComfyUI /home/me/ComfyUI /home/me/ComfyUI/venv/bin/python []"}},
		{"archive above the current folder", "linux", map[string]string{
			"home/": "", "home/.venv/bin/python3": "",
		}, []string{"archive /home /home /home/.venv/bin/python3 []"}},
		{"portable on another drive", "windows", map[string]string{
			"D/AI/ComfyUI_windows_portable/ComfyUI/": "", "D/AI/ComfyUI_windows_portable/ComfyUI/.git/HEAD": "x",
			"D/AI/ComfyUI_windows_portable/python_embeded/python.exe": "",
		}, []string{`portable D:\AI\ComfyUI_windows_portable D:\AI\ComfyUI_windows_portable\ComfyUI D:\AI\ComfyUI_windows_portable\python_embeded\python.exe []`}},
		{"Desktop", "windows", map[string]string{
			"C/Users/me/AppData/Roaming/ComfyUI/config.json":               `{"basePath": "D:\\Comfy", "installState": "installed"}`,
			"C/Users/me/AppData/Local/Programs/ComfyUI/resources/ComfyUI/": "",
			"D/Comfy/user/default/comfy.settings.json":                     `{"Comfy.Server.LaunchArgs": {"reserve-vram": "2", "highvram": ""}}`,
			"D/Comfy/models/x": "", "D/Comfy/custom_nodes/x": "",
			"D/Comfy/.venv/Scripts/python.exe": "",
		}, []string{`desktop D:\Comfy C:\Users\me\AppData\Local\Programs\ComfyUI\resources\ComfyUI D:\Comfy\.venv\Scripts\python.exe [--reserve-vram 2 --highvram]`}},
		{"a Desktop that its successor took over", "linux", map[string]string{
			"home/me/.config/ComfyUI/config.json": `{"basePath": "/home/me/c"}`, "home/me/c/.comfyui-desktop-2": "",
		}, []string{"desktop-2 /home/me/c   []"}},
		{"an older Desktop", "darwin", map[string]string{
			"Users/me/Library/Application Support/ComfyUI/extra_models_config.yaml": "comfyui_desktop:\n  is_default: \"true\"\n  base_path: /Users/me/Documents/ComfyUI\n",
			"Users/me/Documents/ComfyUI/user/x":                                     "", "Users/me/Documents/ComfyUI/models/x": "", "Users/me/Documents/ComfyUI/custom_nodes/x": "",
		}, []string{"desktop /Users/me/Documents/ComfyUI   []"}},
		{"Comfy Desktop 2", "linux", map[string]string{
			"home/me/.local/share/comfyui-desktop-2/installations.json": `[{"id": "cloud", "name": "Comfy Cloud", "installPath": "", "sourceId": "cloud"},
				{"id": "inst-1", "name": "Main", "installPath": "/home/me/ComfyUI-Installs/Main", "sourceId": "standalone", "launchArgs": "--enable-manager --lowvram"}]`,
			"home/me/ComfyUI-Installs/Main/ComfyUI/": "", "home/me/ComfyUI-Installs/Main/standalone-env/bin/python3": "",
		}, []string{"desktop-2 /home/me/ComfyUI-Installs/Main /home/me/ComfyUI-Installs/Main/ComfyUI /home/me/ComfyUI-Installs/Main/standalone-env/bin/python3 [--enable-manager --lowvram]"}},
		{"comfy-cli, which is also in the usual place", "linux", map[string]string{
			"home/me/.config/comfy-cli/config.ini": "[DEFAULT]\ndefault_workspace = /home/me/comfy/ComfyUI\ndefault_launch_extras = --listen --novram\nrecent_workspace = /home/me/comfy/ComfyUI\n",
			"home/me/comfy/ComfyUI/":               "", "home/me/comfy/ComfyUI/.venv/bin/python": "",
		}, []string{"comfy-cli /home/me/comfy/ComfyUI /home/me/comfy/ComfyUI /home/me/comfy/ComfyUI/.venv/bin/python [--listen --novram]"}},
		{"Stability Matrix", "windows", map[string]string{
			"C/Users/me/AppData/Roaming/StabilityMatrix/library.json": "\ufeff" + `{"LibraryPath": "D:\\SM"}`,
			"D/SM/settings.json": `{"InstalledPackages": [{"DisplayName": "forge", "PackageName": "stable-diffusion-webui-forge", "LibraryPath": "Packages\\forge"},
				{"DisplayName": "ComfyUI", "PackageName": "ComfyUI", "LibraryPath": "Packages\\ComfyUI", "LaunchArgs": [
				{"Name": "--lowvram", "Type": "Bool", "OptionValue": true}, {"Name": "--novram", "Type": "Bool", "OptionValue": false},
				{"Name": "", "Type": "String", "OptionValue": "--reserve-vram 1"}]}]}`,
			"D/SM/Packages/ComfyUI/": "", "D/SM/Packages/ComfyUI/venv/Scripts/python.exe": "", "D/SM/Packages/forge/x": "",
		}, []string{`stability-matrix D:\SM\Packages\ComfyUI D:\SM\Packages\ComfyUI D:\SM\Packages\ComfyUI\venv\Scripts\python.exe [--lowvram --reserve-vram 1]`}},
		{"Pinokio", "windows", map[string]string{
			"C/pinokio/api/comfy.git/app/": "", "C/pinokio/api/comfy.git/app/env/Scripts/python.exe": "", "C/pinokio/api/other/x": "",
		}, []string{`pinokio C:\pinokio\api\comfy.git\app C:\pinokio\api\comfy.git\app C:\pinokio\api\comfy.git\app\env\Scripts\python.exe []`}},
		{"nothing", "windows", map[string]string{"C/Users/me/x": ""}, nil},
	} {
		env := map[string]string{}
		if c.os == "windows" {
			env = appData
		}
		var got []string
		for _, in := range folder(c.os, env, c.files).Find() {
			got = append(got, strings.Join([]string{string(in.Kind), in.Dir, in.Tree, in.Python, "[" + strings.Join(in.Args, " ") + "]"}, " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestAt checks which installation a folder that a person names belongs to.
func TestAt(t *testing.T) {
	m := folder("windows", nil, map[string]string{
		"C/AI/ComfyUI_windows_portable/ComfyUI/": "", "C/AI/ComfyUI_windows_portable/python_embeded/python.exe": "",
		"C/AI/ComfyUI_windows_portable/ComfyUI/custom_nodes/x/y.py": "",
	})
	const want = `C:\AI\ComfyUI_windows_portable`
	for _, dir := range []string{want, `c:\AI\ComfyUI_windows_portable\ComfyUI\`, `C:\AI\ComfyUI_windows_portable\update`, `C:/AI`, `C:\AI\ComfyUI_windows_portable\ComfyUI\custom_nodes\x`, `"C:\AI"`} {
		in, ok := m.At(dir)
		if !ok || in.Dir != want || in.Kind != Portable {
			t.Errorf("%s: got %v %q %q", dir, ok, in.Dir, in.Kind)
		}
	}
	for _, dir := range []string{`C:\Windows`, `C:\AI\other`} { // the second lies beside one
		m.FS.(fstest.MapFS)[m.name(dir)+"/x"] = &fstest.MapFile{}
		if in, ok := m.At(dir); ok {
			t.Errorf("%s is taken for %v", dir, in)
		}
	}
}

// TestLogs checks families of names and that the newest is first.
func TestLogs(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 30, 21, minute, 0, 0, time.Local) }
	m := folder("linux", nil, map[string]string{"c/": "", "c/user/default/comfy.settings.json": "{}", "c/requirements.txt": "torch", "c/user/comfyui.db": "x"})
	for name, when := range map[string]int{
		"c/user/comfyui.log": 5, "c/user/comfyui.prev.log": 4, "c/user/comfyui.prev2.log": 3, "c/user/comfyui_8188.log": 8, "c/comfyui_detail.log": 6, "c/log.txt": 2, "c/nohup.out": 1,
	} {
		m.FS.(fstest.MapFS)[name] = &fstest.MapFile{Data: []byte("x"), ModTime: at(when)}
	}
	m.FS.(fstest.MapFS)["c/user/comfyui_8189.log"] = &fstest.MapFile{ModTime: at(9)} // empty
	in, _ := m.At("/c")
	var got []string
	for _, l := range in.Logs() {
		got = append(got, l.Path)
	}
	want := []string{"/c/user/comfyui_8188.log", "/c/comfyui_detail.log", "/c/user/comfyui.log", "/c/user/comfyui.prev.log", "/c/user/comfyui.prev2.log", "/c/log.txt", "/c/nohup.out"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDesktopLogs checks where the desktop program keeps logs on each system.
func TestDesktopLogs(t *testing.T) {
	for os, where := range map[string]string{"windows": "C/Users/me/AppData/Roaming/ComfyUI/logs", "darwin": "Users/me/Library/Logs/ComfyUI", "linux": "home/me/.config/ComfyUI/logs"} {
		m := folder(os, nil, map[string]string{where + "/comfyui.log": "x", where + "/comfyui.log_2026-11-30T20-00-00-000Z.log": "x", where + "/main.log": "x"})
		logs := Install{Kind: Desktop, Dir: m.Join(m.Home, "d"), Base: m.Join(m.Home, "d"), On: m}.Logs()
		if len(logs) != 2 || logs[0].Rotated != 0 || logs[1].Rotated != 1 {
			t.Errorf("%s: got %+v", os, logs)
		}
	}
}

// TestScripts checks which line starts the server and what it becomes.
func TestScripts(t *testing.T) {
	check := func(text string, line int, add, leave, want string) {
		t.Helper()
		s, ok := parseScript(text)
		if !ok || s.Line != line {
			t.Errorf("%q: found %v in line %d, want %d", text, ok, s.Line, line)
			return
		}
		if got := s.With(strings.Fields(add), strings.Fields(leave)); got != want {
			t.Errorf("%q with %q without %q:\n got %q\nwant %q", text, add, leave, got, want)
		}
	}
	const portable = ".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build\r\npause\r\n"
	check(portable, 1, "--lowvram", "", `.\python_embeded\python.exe -s ComfyUI\main.py --lowvram --windows-standalone-build`)
	check("@echo off\r\nrem python main.py\r\n"+portable, 3, "", "", `.\python_embeded\python.exe -s ComfyUI\main.py --windows-standalone-build`)
	check(`"D:\My AI\python.exe" -s "D:\My AI\ComfyUI\main.py" --highvram --reserve-vram 2 > log.txt 2>&1`, 1, "--reserve-vram 1", "--highvram",
		`"D:\My AI\python.exe" -s "D:\My AI\ComfyUI\main.py" --reserve-vram 1 > log.txt 2>&1`)
	check("python3 main.py --gpu-only $@", 1, "--novram", "", "python3 main.py --novram $@")
	check("exec python main.py --cache-lru 10 --listen 0.0.0.0", 1, "", "--cache-lru 10", "exec python main.py --listen 0.0.0.0")
	check("python main.py --cache-ram 4 8 --lowvram", 1, "--cache-none", "", "python main.py --cache-none --lowvram")
	check(`          "{{platform === 'win32' ? 'python main.py --directml' : 'python main.py'}}"`, 1, "--lowvram", "", `          "{{platform === 'win32' ? 'python main.py --lowvram --directml' : 'python main.py --lowvram'}}"`)
	if s, ok := parseScript("echo start python and then main\r\n"); ok {
		t.Errorf("no call is taken for one: %+v", s)
	}
	if got := WithArgs([]string{"--highvram", "--listen"}, []string{"--lowvram"}, nil); !slices.Equal(got, []string{"--lowvram", "--listen"}) {
		t.Errorf("flags: got %q", got)
	}
}

// TestUnit checks systemd's units and processes, of this installation only.
func TestUnit(t *testing.T) {
	m := folder("linux", nil, map[string]string{
		"home/me/ComfyUI/": "", "home/me/ComfyUI/venv/bin/python": "",
		"etc/systemd/system/comfy.service": "[Service]\nWorkingDirectory=/home/me/ComfyUI\nExecStart=/home/me/ComfyUI/venv/bin/python main.py --listen --highvram\n",
		"etc/systemd/system/other.service": "[Service]\nExecStart=/opt/x/bin/python main.py\n",
		"proc/1/cmdline":                   "/sbin/init\x00", "proc/7/cmdline": "/usr/bin/python\x00/other/ComfyUI/main.py\x00--cpu\x00",
		"proc/8/cmdline": "/home/me/ComfyUI/venv/bin/python\x00main.py\x00--listen\x00--highvram\x00",
	})
	in, _ := m.At("/home/me/ComfyUI")
	scripts := in.Scripts()
	if len(scripts) != 1 || scripts[0].Line != 3 || scripts[0].With(nil, []string{"--highvram"}) != "ExecStart=/home/me/ComfyUI/venv/bin/python main.py --listen" {
		t.Errorf("units: %+v", scripts)
	}
	if got := in.Running(); !slices.Equal(got, []string{"--listen", "--highvram"}) {
		t.Errorf("running: %q", got)
	}
}

// TestPaths checks that paths of another system are taken apart as that does.
func TestPaths(t *testing.T) {
	w, l := Machine{OS: "windows", Home: `C:\Users\me`}, Machine{OS: "linux", Home: "/home/me"}
	for _, c := range [][2]string{
		{w.Join(`C:\`, "a", "b/c"), `C:\a\b\c`}, {w.Parent(`C:\a\b`), `C:\a`}, {w.Parent(`C:\a`), `C:\`}, {w.Parent(`C:\`), `C:\`}, {w.Base(`C:\a\b.log`), "b.log"},
		{w.Abs(`C:\x`, `..\y`), `C:\y`}, {w.Abs(`C:\x`, `d:/z/`), `D:\z`}, {w.name(`\\?\C:\a`), "C/a"},
		{l.Join("/", "a"), "/a"}, {l.Parent("/a"), "/"}, {l.Parent("/"), "/"}, {l.Abs("/x", "../y"), "/y"}, {l.Abs("/x", "~/y"), "/home/me/y"}, {l.name("/"), "."},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}
