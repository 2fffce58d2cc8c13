//go:build !linux

package environment

import "memtrix"

// addModels and addLimits know nothing here yet.
func (c *Capturer) addModels(memtrix.Environment, string) {}

func addLimits(memtrix.Environment) {}
