package versions

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// olderNames are folders that ComfyUI looks into for a kind of model beside the
// one of its name (folder_paths.py).
var olderNames = map[string]string{"diffusion_models": "unet", "text_encoders": "clip"}

// ModelPlaces are the paths at which a models folder may have a file of a kind
// ("checkpoints"), the likeliest first. name is its path in the kind's folder,
// with slashes.
func ModelPlaces(models, kind, name string) []string {
	places := []string{filepath.Join(models, kind, filepath.FromSlash(name))}
	if older := olderNames[kind]; older != "" {
		places = append(places, filepath.Join(models, older, filepath.FromSlash(name)))
	}
	return places
}

// FindModel finds a model file as a ComfyUI in tree finds it: in its models folder,
// and in those that its own extra_model_paths.yaml names. What cannot be read
// counts as not there.
func FindModel(tree, kind, name string) (path string, ok bool) {
	places := ModelPlaces(filepath.Join(tree, "models"), kind, name)
	for _, dir := range extraModelFolders(tree, kind) {
		places = append(places, filepath.Join(dir, filepath.FromSlash(name)))
	}
	for _, p := range places {
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p, true
		}
	}
	return "", false
}

// extraModelFolders are the folders of a kind of model that extra_model_paths.yaml
// of a tree names (utils/extra_config.py): sections with a base_path, and for each
// kind one folder a line.
func extraModelFolders(tree, kind string) []string {
	data, err := os.ReadFile(filepath.Join(tree, "extra_model_paths.yaml"))
	if err != nil {
		return nil
	}
	var sections map[string]map[string]any
	if yaml.Unmarshal(data, &sections) != nil {
		return nil
	}
	var folders []string
	for _, section := range sections {
		base, _ := section["base_path"].(string)
		base = os.ExpandEnv(homeFolder(base))
		if !filepath.IsAbs(base) {
			base = filepath.Join(tree, base)
		}
		for _, key := range []string{kind, olderNames[kind]} {
			text, _ := section[key].(string)
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				if !filepath.IsAbs(line) {
					line = filepath.Join(base, line)
				}
				folders = append(folders, line)
			}
		}
	}
	return folders
}

func homeFolder(path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(dir, path[1:])
}
