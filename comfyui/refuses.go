package comfyui

import (
	"errors"

	"memtrix"
)

// Refuses says what of a job keeps each of its trials on a version from being
// started, whatever the cell: its flags ("args"), its folders of models
// ("models"). It looks and starts nothing.
func (*Target) Refuses(v memtrix.Version, job memtrix.Job) map[string]error {
	refused := map[string]error{}
	add := func(key string, err error) {
		if err != nil {
			refused[key] = errors.Join(refused[key], err)
		}
	}
	add("args", checkExtra(job.Extra, knownFlags(v)))
	for _, root := range job.Models {
		_, err := modelFolders(root)
		add("models", err)
	}
	return refused
}
