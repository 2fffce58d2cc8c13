package runner

// ForgetFailures makes versions that could not be made ready be tried again: the next
// trial of one starts it anew, instead of failing by what was seen before. A search that
// counts how often something fails needs that; a session that runs each cell once does
// not.
func (r *Runner) ForgetFailures() {
	for key, err := range r.prepared {
		if err != nil {
			delete(r.prepared, key)
		}
	}
}
