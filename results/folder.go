package results

import (
	"os"
	"path/filepath"
)

// trialsFolder is the folder of a results folder that holds those of its trials.
const trialsFolder = "trials"

// within is how a trial's folder is kept: relative to the results folder where it lies
// in it, so that a results folder that was moved or copied is whole. Reports draw
// pictures there, and those of a copy must not go into the original.
func within(results, dir string) string {
	whole, err := filepath.Abs(results)
	if err != nil || !filepath.IsAbs(dir) {
		return dir
	}
	rel, err := filepath.Rel(whole, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return dir
	}
	return filepath.ToSlash(rel)
}

// found is where a trial's folder is now. An older memtrix kept whole paths: where the
// results folder has one of that name, it is that one.
func (db *DB) found(dir string) string {
	switch {
	case dir == "":
		return ""
	case !filepath.IsAbs(dir):
		return filepath.Join(db.absolute(), filepath.FromSlash(dir))
	}
	moved := filepath.Join(db.absolute(), trialsFolder, filepath.Base(dir))
	if _, err := os.Stat(moved); err == nil {
		return moved
	}
	return dir
}

// absolute is the results folder as a whole path.
func (db *DB) absolute() string {
	if whole, err := filepath.Abs(db.dir); err == nil {
		return whole
	}
	return db.dir
}
