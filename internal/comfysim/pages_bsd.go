//go:build unix && !linux

package comfysim

func populate(b []byte, write bool) { touchPages(b, write) }
