package evidence

import (
	"path"
	"regexp"
	"strings"

	"memtrix/comfyui"
	"memtrix/reports/redact"
)

// folderFlags are flags by which a server is given a folder, with what it is for.
var folderFlags = map[string]string{
	"--base-directory": "base", "--user-directory": "user-folder", "--output-directory": "output", "--temp-directory": "temp", "--input-directory": "input",
	"--front-end-root": "front-end",
}

// searchPath is what ComfyUI says about each folder of an extra_model_paths file
// (utils/extra_config.py).
var searchPath = regexp.MustCompile(`Adding extra search path ([\w\-]+) (.+)$`)

// folders are the trial's own ones, by what they are for: where a person keeps results,
// ComfyUI and models is nobody's business.
func folders(in Input) []redact.Folder {
	t := in.Trial
	var list []redact.Folder
	add := func(name, folder string) {
		if folder != "" && folder != "." {
			list = append(list, redact.Folder{Path: folder, Name: name})
		}
	}
	add("results", in.Results)
	add("results", resultsOf(t.Dir))
	v := t.Cell.Version
	add("comfyui", v.Dir)
	argv := in.Command
	if v.Attached != nil {
		argv = v.Attached.Argv
	}
	if t.Simulated && len(argv) > 0 {
		add("memtrix", argv[0])
	}
	python := v.Python
	for i, word := range argv {
		if base := slashed(word); i <= 2 && path.Base(base) == "main.py" {
			add("comfyui", parent(word))
			if i > 0 && python == "" {
				python = argv[0]
			}
		}
		flag, value, joined := strings.Cut(word, "=")
		if name := folderFlags[flag]; name != "" && joined {
			add(name, value)
		} else if name != "" && i+1 < len(argv) && !inFolder(resultsOf(t.Dir), argv[i+1]) {
			add(name, argv[i+1])
		}
	}
	add("venv", venvOf(python))
	for _, p := range v.Packs {
		for _, dir := range []string{p.Dir, p.Source} {
			if up := parent(dir); path.Base(slashed(up)) == "custom_nodes" {
				add("packs", up)
			} else {
				add("pack", dir)
			}
		}
	}
	add("workflow", t.Cell.Workflow.Source)
	return append(list, modelFolders(in, list)...)
}

// modelFolders are those that the log names, but not those within other known ones.
func modelFolders(in Input, known []redact.Folder) []redact.Folder {
	var list []redact.Folder
	seen := map[string]bool{}
	for line := range strings.Lines(in.Log) {
		if !strings.Contains(line, "Adding extra search path") {
			continue
		}
		for _, token := range comfyui.Clean(strings.TrimSuffix(line, "\n")) {
			m := searchPath.FindStringSubmatch(strings.TrimRight(token.Text, " \r"))
			if m == nil || !redact.Absolute(m[2]) || seen[m[2]] {
				continue
			}
			seen[m[2]] = true
			// The folder above is often one of models, and often one of everything.
			folder, name := m[2], "models-"+m[1]
			if up := parent(folder); strings.Contains(strings.ToLower(path.Base(slashed(up))), "model") {
				folder, name = up, "models"
			}
			if m[1] == "custom_nodes" {
				name = "packs"
			}
			inside := false
			for _, k := range known {
				inside = inside || inFolder(k.Path, folder)
			}
			if !inside {
				list = append(list, redact.Folder{Path: folder, Name: name})
			}
		}
	}
	return list
}

func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }

// parent is the folder that a file lies in, "" where that is not told.
func parent(file string) string {
	i := strings.LastIndexAny(strings.TrimRight(file, `/\`), `/\`)
	if i <= 0 || !redact.Absolute(file) {
		return ""
	}
	return file[:i]
}

func inFolder(folder, file string) bool {
	return folder != "" && (file == folder || strings.HasPrefix(slashed(file), strings.TrimSuffix(slashed(folder), "/")+"/"))
}

// resultsOf is the results folder of a trial's own, which lies in its "trials".
func resultsOf(dir string) string {
	if up := parent(dir); path.Base(slashed(up)) == "trials" {
		return parent(up)
	}
	return dir
}

// venvOf is the environment of an interpreter, "" for one of the system.
func venvOf(python string) string {
	bin := parent(python)
	switch strings.ToLower(path.Base(slashed(bin))) {
	case "bin", "scripts":
		bin = parent(bin)
	}
	for _, system := range []string{"/usr", "/bin", "/opt/homebrew", "/Library", "/nix"} {
		if inFolder(system, bin) {
			return ""
		}
	}
	return bin
}
