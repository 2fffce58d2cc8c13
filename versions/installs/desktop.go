package installs

import (
	"encoding/json"
	"strings"

	"github.com/goccy/go-yaml"
)

// appData is where Electron keeps what a program called name knows
// (https://www.electronjs.org/docs/latest/api/app#appgetpathname, userData).
func (m Machine) appData(name string) string {
	switch m.OS {
	case "windows":
		if dir := m.env("APPDATA"); dir != "" {
			return m.Join(dir, name)
		}
		return m.Join(m.Home, "AppData", "Roaming", name)
	case "darwin":
		return m.Join(m.Home, "Library", "Application Support", name)
	}
	if dir := m.env("XDG_CONFIG_HOME"); dir != "" {
		return m.Join(dir, name)
	}
	return m.Join(m.Home, ".config", name)
}

// localAppData is where Windows installs programs for one user.
func (m Machine) localAppData() string {
	if dir := m.env("LOCALAPPDATA"); dir != "" {
		return dir
	}
	return m.Join(m.Home, "AppData", "Local")
}

// electronLogs is where electron-log and app.getPath("logs") put files.
func (m Machine) electronLogs(name string) string {
	if m.OS == "darwin" {
		return m.Join(m.Home, "Library", "Logs", name)
	}
	return m.Join(m.appData(name), "logs")
}

// adopted is what Comfy Desktop 2 writes into the folder of a Desktop that it took
// over (Comfy-Org/Comfy-Desktop, src/main/lib/desktopDetect.ts).
const adopted = ".comfyui-desktop-2"

// desktop finds the desktop program. Its config.json names the folder that a person
// chose (basePath); before release 0.3.19 only extra_models_config.yaml did
// (Comfy-Org/desktop, src/store/desktopSettings.ts, src/config/comfyServerConfig.ts).
// Its code lies in the program's own folder.
func (m Machine) desktop() []Install {
	config := m.appData("ComfyUI")
	base := m.desktopBase(config)
	if base == "" || !m.IsDir(base) {
		return nil
	}
	in := Install{Kind: Desktop, Dir: base, Base: base, Config: config, Why: "the desktop program's settings", On: m}
	for _, dir := range m.desktopPrograms() {
		if m.isTree(dir) {
			in.Tree = dir
			break
		}
	}
	if env := m.Join(base, ".venv"); m.interpreter(env) != "" {
		in.Env, in.Python = env, m.interpreter(env)
	}
	in.Args = m.desktopArgs(base)
	if _, err := m.Stat(m.Join(base, adopted)); err == nil {
		in.Kind, in.Args = Desktop2, nil // which keeps them elsewhere
	}
	return []Install{in}
}

func (m Machine) desktopBase(config string) string {
	if data, err := m.Read(m.Join(config, "config.json")); err == nil {
		var file struct {
			BasePath string `json:"basePath"`
		}
		if json.Unmarshal(data, &file) == nil && file.BasePath != "" {
			return m.Abs(config, file.BasePath)
		}
	}
	data, err := m.Read(m.Join(config, "extra_models_config.yaml"))
	if err != nil {
		return ""
	}
	var file map[string]any
	if yaml.Unmarshal(data, &file) != nil {
		return ""
	}
	for _, section := range []string{"comfyui_desktop", "comfyui"} {
		if fields, ok := file[section].(map[string]any); ok {
			if base, ok := fields["base_path"].(string); ok && base != "" {
				return m.Abs(config, base)
			}
		}
	}
	return ""
}

// desktopPrograms are where installers put the program's copy of ComfyUI.
func (m Machine) desktopPrograms() []string {
	switch m.OS {
	case "windows":
		var dirs []string
		for _, name := range []string{"ComfyUI", "@comfyorgcomfyui-electron", "comfyui-electron"} {
			dirs = append(dirs, m.Join(m.localAppData(), "Programs", name, "resources", "ComfyUI"))
		}
		return dirs
	case "darwin":
		return []string{"/Applications/ComfyUI.app/Contents/Resources/ComfyUI"}
	}
	return []string{"/opt/ComfyUI/resources/ComfyUI"}
}

// launchArgs is the setting in which Desktop keeps the flags of its Server-Config
// page: names without hyphens, and values (src/config/comfySettings.ts).
const launchArgs = "Comfy.Server.LaunchArgs"

// DesktopSettings is the file that holds them.
func (in Install) DesktopSettings() string {
	return in.On.Join(in.Base, "user", "default", "comfy.settings.json")
}

func (m Machine) desktopArgs(base string) []string {
	data, err := m.Read(Install{Base: base, On: m}.DesktopSettings())
	if err != nil {
		return nil
	}
	var file map[string]json.RawMessage
	if json.Unmarshal(data, &file) != nil {
		return nil
	}
	return orderedArgs(file[launchArgs])
}

// orderedArgs reads {"cpu": "", "reserve-vram": "2"} as --cpu --reserve-vram 2, in
// the order of the file.
func orderedArgs(raw json.RawMessage) []string {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var args []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return args
		}
		var value any
		if d.Decode(&value) != nil {
			return args
		}
		args = append(args, "--"+name.(string)) // a key of an object is a string
		if text, ok := value.(string); ok && text != "" {
			args = append(args, text)
		}
	}
	return args
}

// desktop2 finds the installations of Comfy Desktop 2: installations.json in its data
// folder names them all (src/main/installations.ts, src/main/lib/paths.ts).
func (m Machine) desktop2() []Install {
	const app = "comfyui-desktop-2"
	dir := m.appData(app)
	if m.OS == "linux" {
		if dir = m.Join(m.Home, ".local", "share", app); m.env("XDG_DATA_HOME") != "" {
			dir = m.Join(m.env("XDG_DATA_HOME"), app)
		}
	}
	data, err := m.Read(m.Join(dir, "installations.json"))
	if err != nil {
		return nil
	}
	var records []struct {
		Name        string `json:"name"`
		InstallPath string `json:"installPath"`
		LaunchArgs  string `json:"launchArgs"`
	}
	if json.Unmarshal(data, &records) != nil {
		return nil
	}
	var all []Install
	for _, r := range records {
		if r.InstallPath == "" {
			continue // the cloud
		}
		in, ok := m.exactly(m.Abs(dir, r.InstallPath))
		if !ok {
			continue
		}
		in.Kind, in.Config, in.Name = Desktop2, dir, r.Name
		in.Args = strings.Fields(r.LaunchArgs)
		in.Why = "the list of Comfy Desktop"
		all = append(all, in)
	}
	return all
}
