package memtrix

// Fitted is a workflow made ready for one server, with what that server is going
// to say against it.
type Fitted struct {
	Workflow Workflow
	// Notes are what a person should know, e.g. what was converted otherwise than
	// by ComfyUI's front end.
	Notes []string
	// Wrong are reasons for which the server cannot run it at all. Doubts are what
	// a server refuses unless a node's own checks allow it; whether they hold shows
	// when it is sent.
	Wrong, Doubts []Failure
}
