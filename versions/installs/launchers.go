package installs

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// comfyCLI finds the workspaces that comfy-cli remembers in its config.ini
// (Comfy-Org/comfy-cli, comfy_cli/constants.py, comfy_cli/config_manager.py).
func (m Machine) comfyCLI() []Install {
	dir := m.Join(m.Home, ".config", "comfy-cli")
	switch m.OS {
	case "windows":
		dir = m.Join(m.localAppData(), "comfy-cli")
	case "darwin":
		dir = m.Join(m.Home, "Library", "Application Support", "comfy-cli")
	}
	data, err := m.Read(m.Join(dir, "config.ini"))
	if err != nil {
		return nil
	}
	keys := ini(string(data))
	var all []Install
	for _, key := range []string{"default_workspace", "recent_workspace"} {
		workspace := keys[key]
		if workspace == "" {
			continue
		}
		in, ok := m.exactly(m.Abs(m.Home, workspace))
		if !ok {
			continue
		}
		in.Config, in.Why = dir, "comfy-cli's "+strings.ReplaceAll(key, "_", " ")
		if in.Kind == Checkout || in.Kind == Archive {
			in.Kind = CLI
		}
		if key == "default_workspace" {
			in.Args = strings.Fields(keys["default_launch_extras"])
		}
		all = append(all, in)
	}
	return all
}

// ini reads "key = value" lines, of all sections together.
func ini(text string) map[string]string {
	keys := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(key, "#") && !strings.HasPrefix(key, ";") {
			keys[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return keys
}

// stabilityMatrix finds the ComfyUI packages of Stability Matrix: library.json in
// its data folder names the library, whose settings.json lists packages with their
// launch arguments (LykosAI/StabilityMatrix, Core/Services/SettingsManager.cs,
// Core/Models/InstalledPackage.cs, LaunchOption.cs).
func (m Machine) stabilityMatrix() []Install {
	var all []Install
	for _, library := range m.matrixLibraries() {
		data, err := m.Read(m.Join(library, "settings.json"))
		if err != nil {
			continue
		}
		var settings struct {
			InstalledPackages []matrixPackage
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &settings) != nil {
			continue
		}
		for _, p := range settings.InstalledPackages {
			dir := m.Abs(library, p.LibraryPath)
			if !strings.HasPrefix(strings.ToLower(p.PackageName), "comfyui") || p.LibraryPath == "" || !m.isTree(dir) {
				continue
			}
			in := m.tree(dir)
			in.Kind, in.Config, in.Name, in.Args = StabilityMatrix, library, p.DisplayName, p.args()
			in.Why = "the list of Stability Matrix"
			all = append(all, in)
		}
	}
	return all
}

type matrixPackage struct {
	DisplayName, PackageName, LibraryPath string
	LaunchArgs                            []struct {
		Name        string
		OptionValue any
	}
}

// args are the launch arguments as they are passed: a switch is true, an option
// without a name is what a person wrote.
func (p matrixPackage) args() []string {
	var args []string
	for _, a := range p.LaunchArgs {
		switch v := a.OptionValue.(type) {
		case bool:
			if v {
				args = append(args, a.Name)
			}
		case string:
			if a.Name != "" && v != "" {
				args = append(args, a.Name)
			}
			args = append(args, strings.Fields(v)...)
		case float64:
			args = append(args, a.Name, fmt.Sprint(v))
		}
	}
	return args
}

func (m Machine) matrixLibraries() []string {
	var all []string
	data, err := m.Read(m.Join(m.appData("StabilityMatrix"), "library.json"))
	if err == nil {
		var file struct{ LibraryPath string }
		if json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &file) == nil && file.LibraryPath != "" {
			all = append(all, m.Abs(m.Home, file.LibraryPath))
		}
	}
	// Its portable form keeps the library beside the program.
	for _, dir := range []string{m.Cwd, m.Join(m.Home, "StabilityMatrix"), m.Join(m.Home, "Downloads", "StabilityMatrix")} {
		if data := m.Join(dir, "Data"); dir != "" && m.IsFile(m.Join(data, ".sm-portable")) {
			all = append(all, data)
		}
	}
	for _, letter := range m.Drives {
		if data := m.Join(letter+`:\`, "StabilityMatrix", "Data"); m.IsFile(m.Join(data, ".sm-portable")) {
			all = append(all, data)
		}
	}
	return all
}

// pinokio finds ComfyUI below Pinokio's folder: a program lies in api/NAME, the clone
// in app beside its environment env or in app/env (pinokiofactory/comfy, install.js,
// start.js).
func (m Machine) pinokio() []Install {
	homes := []string{m.Join(m.Home, "pinokio")}
	for _, letter := range m.Drives {
		homes = append(homes, letter+`:\pinokio`)
	}
	var all []Install
	for _, home := range homes {
		api := m.Join(home, "api")
		for _, e := range m.List(api) {
			tree := m.Join(api, e.Name(), "app")
			if !m.isTree(tree) {
				continue
			}
			in := m.tree(tree)
			in.Kind, in.Config, in.Name = Pinokio, m.Join(api, e.Name()), strings.TrimSuffix(path.Base(e.Name()), ".git")
			in.Why = "Pinokio's folder"
			for _, env := range []string{m.Join(tree, "env"), m.Join(api, e.Name(), "env")} {
				if python := m.interpreter(env); python != "" {
					in.Env, in.Python = env, python
					break
				}
			}
			all = append(all, in)
		}
	}
	return all
}
