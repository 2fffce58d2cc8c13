package hardware

// Group is a memory group (cgroup) made for one trial: a big machine acts as a
// small one for what runs in it.
type Group struct {
	// Path is the group's folder.
	Path string `json:"path"`
	// Version of the cgroup interface, 1 or 2.
	Version int `json:"version"`
}

// Usage is what the kernel counted for a group. What it does not tell is nil.
type Usage struct {
	Limit *int64 // of RAM, bytes
	// Peak is the most RAM that the group held, SwapPeak the most swap, bytes.
	Peak, SwapPeak *int64
	// AtLimit counts how often the limit was hit, Kills the processes that the
	// kernel killed for it.
	AtLimit, Kills *int64
}
