//go:build unix

package cache

import (
	"io/fs"
	"syscall"
)

func useOf(info fs.FileInfo) fileUse {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileUse{bytes: info.Size(), links: 1}
	}
	// Blocks are 512 bytes whatever the file system's own are: stat(2).
	return fileUse{id: fileID{uint64(s.Dev), s.Ino}, bytes: int64(s.Blocks) * 512, links: int64(s.Nlink)}
}
