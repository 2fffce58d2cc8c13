package memtrix

// Keep says how finely a trial's series are kept. Peaks in spans and readings at
// rest are always kept as they are.
type Keep string

const (
	// KeepAuto keeps the whole series of trials that did not pass as expected and of
	// those that a person marks; of the others an envelope, from the next session
	// on.
	KeepAuto     Keep = "auto"
	KeepFull     Keep = "full"
	KeepEnvelope Keep = "envelope" // also of trials that failed
)
