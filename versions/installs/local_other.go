//go:build !windows

package installs

import (
	"io/fs"
	"os"
)

func localFS() fs.FS { return os.DirFS("/") }

func localDrives() []string { return nil }
