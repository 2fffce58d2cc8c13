package main

import (
	"fmt"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/environment"
	"memtrix/matrix"
	"memtrix/versions"
)

// attachFlags name a server that runs already.
type attachFlags struct {
	URL string `name:"url" help:"A ComfyUI that runs already, for a run without a spec: http://127.0.0.1:8188. It is left as it is: never stopped, its queue and its models untouched." placeholder:"URL"`
	PID int    `name:"pid" help:"Its process on this machine, where it cannot be found by its port." placeholder:"PID"`
}

// attached looks at a server that runs, and at the folder and the environment that
// it runs from where they lie here.
func (w *world) attached(e matrix.VersionEntry) (memtrix.Version, error) {
	v, err := w.attach.Look(w.ctx, comfyui.AttachRequest{URL: e.URL, PID: e.PID, Interrupt: e.Interrupt, Free: e.Free})
	if err != nil || v.Dir == "" || v.Python == "" {
		v.Dir, v.Python = "", ""
		return v, err
	}
	tree, err := versions.Resolve(w.ctx, "", v.Dir, v.Python)
	switch {
	case w.ctx.Err() != nil:
		return v, w.ctx.Err()
	case err != nil:
		w.warn(fmt.Sprintf("%s: only what the server says of itself is known: %v", v.Attached.URL, err))
	case tree.Release != v.Release:
		w.warn(fmt.Sprintf("%s: its folder %s was changed since it was started (%s there, %s runs): its commit and packages are not known",
			v.Attached.URL, v.Dir, tree.Release, v.Release))
	default:
		tree.Name, tree.Target, tree.Attached = v.Name, v.Target, v.Attached
		return tree, nil
	}
	v.Dir, v.Python = "", ""
	return v, nil
}

// attachedEnvironment is what could explain a difference between trials on a server
// that runs: of another machine, what the server tells, and that is added later.
func attachedEnvironment(v memtrix.Version) (in environment.Input, here bool) {
	a := v.Attached
	if !a.Local {
		return in, false
	}
	return environment.Input{Version: v, Env: comfyui.ServerEnviron(a.PID)}, true
}
