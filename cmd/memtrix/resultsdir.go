package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/alecthomas/kong"

	"memtrix/internal/files"
	"memtrix/results"
)

// resultsDir takes the results folder of a command that only looks: it must be there.
// Of one that is not there it says what makes one.
func resultsDir(ctx *kong.DecodeContext, target reflect.Value) error {
	var dir string
	if err := ctx.Scan.PopValueInto("folder", &dir); err != nil {
		return err
	}
	// A default is not looked at where another command runs, or a folder was named.
	if !ctx.Value.Active || ctx.Value.Set && ctx.Value.Target.Type() == target.Type() {
		return nil
	}
	dir = kong.ExpandPath(dir)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return noResults(dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder; results are a folder with %s in it", dir, results.DatabaseFile)
	}
	target.SetString(dir)
	return nil
}

func noResults(dir string) error {
	advice := "memtrix run and memtrix watch make one, there or where --results says; memtrix demo makes " + demoResults
	if here := filepath.Join(filepath.Dir(dir), demoResults); filepath.Base(dir) != demoResults && files.Exist(filepath.Join(here, results.DatabaseFile)) {
		advice = "those of memtrix demo are looked at with --results " + demoResults
	}
	return fmt.Errorf("there is no results folder %s yet: %s", dir, advice)
}

// openToWrite opens the results of a command that measures. close closes them; a folder
// that was made for it and has no session in the end, since nothing could be run, goes
// again.
func openToWrite(a *app, dir string) (db *results.DB, close func(), err error) {
	made := !files.Exist(dir)
	if db, err = results.Open(a.ctx, dir); err != nil {
		return nil, nil, cannot{err}
	}
	return db, func() {
		if made {
			if sessions, err := db.Sessions(context.WithoutCancel(a.ctx)); err == nil && len(sessions) == 0 {
				// While it is held: nobody else can have begun to write there.
				for _, name := range []string{results.DatabaseFile, results.DatabaseFile + "-wal", results.DatabaseFile + "-shm", results.LockFile} {
					_ = os.Remove(filepath.Join(dir, name))
				}
			}
		}
		db.Close()
		if made {
			_ = os.Remove(dir) // which fails where anything is left in it
		}
	}, nil
}
