package probe

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed python/*.py python/memtrix_probe/*.py
var files embed.FS

// Folder is where Write puts the module, below a trial's folder.
const Folder = "probe"

// Write puts the module into a trial's folder and gives the script that is started
// in place of main.py, with main.py as its first word.
func Write(trial string) (start string, err error) {
	root := filepath.Join(trial, Folder)
	err = fs.WalkDir(files, "python", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel("python", path)
		if err != nil {
			return err
		}
		to := filepath.Join(root, below)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return "", fmt.Errorf("write the probe: %w", err)
	}
	return filepath.Join(root, "start.py"), nil
}

// Remove takes the module out of a trial's folder again: the program that ran is
// known, and each trial would keep a copy.
func Remove(trial string) { os.RemoveAll(filepath.Join(trial, Folder)) }
