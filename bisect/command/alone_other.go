//go:build !unix

package command

import (
	"os/exec"
	"time"
)

// alone leaves the command as it is: there are no process groups to be signalled.
func alone(cmd *exec.Cmd) { cmd.WaitDelay = 5 * time.Second }

func endRest(*exec.Cmd) {}
