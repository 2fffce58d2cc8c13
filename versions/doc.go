// Package versions makes the ComfyUI that a person names ready to run, and tells
// exactly what it is: its release, its commit, the Python that runs it, the
// packages of that Python with a hash of the files that matter, and the launch
// flags that the tree knows.
//
// Resolve looks at a folder that is there. A Provider also gets versions by name
// from a git repository, with packages as they are required: see the packages
// source, pyenv and cache, which do the work.
//
// What a person has is only looked at: no tree or environment of theirs is ever
// written into (git runs without optional locks, Python without writing compiled
// files), and no server is stopped or asked anything but its public figures. All
// that is made lies in memtrix's cache folder.
package versions
