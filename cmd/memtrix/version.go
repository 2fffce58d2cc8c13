package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCmd says which memtrix this is, for a bug report.
type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.stdout, programWords())
	return nil
}

// programWords say which memtrix this is.
func programWords() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "memtrix (built without module information)"
	}
	return buildWords(info)
}

// buildWords are version, commit and whether it was changed, and Go's version.
func buildWords(info *debug.BuildInfo) string {
	words := "memtrix " + info.Main.Version
	facts := map[string]string{}
	for _, s := range info.Settings {
		facts[s.Key] = s.Value
	}
	if commit := facts["vcs.revision"]; commit != "" {
		words += ", commit " + commit
		if facts["vcs.modified"] == "true" {
			words += " with changes"
		}
	}
	return fmt.Sprintf("%s, %s %s/%s", words, info.GoVersion, runtime.GOOS, runtime.GOARCH)
}
