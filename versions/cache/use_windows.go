package cache

import "io/fs"

// useOf does not open files to learn of their other names.
func useOf(info fs.FileInfo) fileUse { return fileUse{bytes: info.Size(), links: 1} }
