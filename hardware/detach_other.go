//go:build !unix

package hardware

import "os/exec"

func detach(*exec.Cmd) {}
