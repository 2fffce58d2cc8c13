package comfyui

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are chosen below the range from which systems take ports of outgoing
// connections (Linux: 32768 and up): a server binds many seconds after its port
// was chosen.
const (
	firstPort = 20000
	lastPort  = 30000
)

// freePort finds a port of 127.0.0.1 on which nothing listens.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("no free port from %d to %d: %w", firstPort, lastPort, last)
}
