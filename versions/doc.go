// Package versions finds out what a ComfyUI folder is: its release, its commit,
// the Python that runs it, the packages of that Python and the launch flags that
// the tree knows.
//
// It only looks. It never writes into a tree (git runs without optional locks,
// Python without writing compiled files), never installs anything and never
// stops or asks anything of a server but its public figures.
package versions
