//go:build !unix

package probe

import (
	"errors"
	"net"
	"os"
)

var errNoPair = errors.New("this system has no pair of sockets that a child inherits: no probe here")

func pair() (net.Conn, *os.File, error) { return nil, nil, errNoPair }

func monotonic() (int64, error) { return 0, errNoPair }
